"""Sums of losses and of entropies with all rounding errors taken off.

Functions of numpy are trusted to 8 ulp.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import sum_of_pieces
from linsep.losses.logistic import loss, probability

__all__ = ["SUM", "entropy_below", "loss_above", "margin_errors"]

Array = NDArray[np.float64]

_U = 2.0**-53
SUM = 64 * _U  # of a sum by numpy, which adds by halves: fewer than 64 roundings in a row


def loss_above(values: Array, cost: Array, a: Array, columns: Array) -> float:
    """Upper bound of the sum of cost log(1 + exp(-m)); m_i is off by at most
    e_i = (d + 4) u (sum_j |x_ij w_j| + |b|), the loss by e_i sigma(-m_i) exp(e_i), and
    sum c_i |x_ij| <= |c| |column j|."""
    total, slopes, squares = sum_of_pieces(_losses, values, cost).tolist()
    off = margin_errors(a, columns, slopes, float(np.sqrt(squares)), cost)
    return float(total * (1 + SUM + 32 * _U) + off + len(values) * 5e-324)


def margin_errors(
    a: Array, columns: Array, total: float, length: float, weight: Array, C: float = 1.0
) -> float:
    """What errors of the margins may add to the losses; total and length are the sum and the
    length of cost sigma(-m), cost = C weight."""
    step = (len(a) + 3) * _U
    reach, offset = float(np.abs(a[:-1]) @ columns), abs(float(a[-1]))
    worst = step * (reach + offset)
    if worst < 0.5:
        return 1.7 * step * (length * reach + total * offset)
    sizes = float(np.linalg.norm(weight)) * reach + float(weight.sum()) * offset
    return 1.001 * step * C * sizes


def _losses(values: Array, cost: Array) -> Array:
    slope = cost * probability(values)
    return np.array([(cost * loss(values)).sum(), slope.sum(), slope @ slope])


def entropy_below(alpha: Array, cost: Array, slack: float) -> float:
    """Lower bound of the sum of cost H(alpha / cost) where each alpha has a relative error of
    ``slack`` and alpha / cost was rounded. An error e of q changes H by no more than
    e (|log q| + |log(1 - q)| + 1) as long as it is small against 1 - q; rows nearer to 1 than
    that count as 0."""
    total, size = sum_of_pieces(partial(_entropies, slack), alpha, cost)
    return float(total - (32 * _U + SUM + 2 * slack) * size)


def _entropies(slack: float, alpha: Array, cost: Array) -> Array:
    q = alpha / cost
    q[~(q < 1.0 - 1e3 * (slack + 4 * _U))] = 0.0
    q[q < 1e-290] = 0.0
    r = 1.0 - q
    log_q, log_r = np.log(np.where(q > 0, q, 1.0)), np.log1p(-q)  # not log(r): r was rounded
    left, right = -q * log_q, -r * log_r
    size = left + right + q * (2.0 - log_r)
    return np.array([(cost * (left + right)).sum(), (cost * size).sum()])
