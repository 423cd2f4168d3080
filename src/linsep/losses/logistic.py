"""The logistic loss, its derivatives, and probabilities that do not overflow.

All are functions of the margin m = y f(x) of one row, or of the score f(x) itself:

loss          log(1 + exp(-m)), minus the logarithm of the probability of the row's own class
derivative    -sigma(-m), sigma(t) = 1 / (1 + exp(-t))
curvature     sigma(m) sigma(-m)
conjugate     a row of cost c and dual variable alpha adds c H(alpha / c) to the lower bound,
              H(q) = -q log q - (1 - q) log(1 - q), the entropy

A positive score means the positive class: P(+ | x) = exp(f) / (1 + exp(f)), the odds are
exp(f) and the log odds f itself.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import PROBABILITIES_AT_ONCE
from linsep.core.lanes import run_all, sum_of_pieces
from linsep.losses.base import Loss
from linsep.numerics.line import Bracket

Array = NDArray[np.float64]
LAST_DIGIT_ROWS = 20_000  # rows up to which the offset is found to the last digit


def loss(m: Array) -> Array:
    """log(1 + exp(-m)) for any size of m.

    >>> loss(np.array([-1000.0, 0.0, 1000.0])).round(3).tolist()
    [1000.0, 0.693, 0.0]
    """
    out = np.log1p(np.exp(-np.abs(m)))
    out += np.maximum(-m, 0.0)
    return np.asarray(out)


def probability(m: Array) -> Array:
    """sigma(-m) with full relative accuracy on both sides: minus the derivative of the loss."""
    e = np.exp(-np.abs(m))
    return np.asarray(np.where(m > 0, e, 1.0) / (1.0 + e))


def posteriors(scores: Array, *, lead: bool = False) -> Array:
    """Probabilities of the classes: logistic of log odds (n,), softmax of scores (n, K).

    A row without a finite score knows nothing. With lead, the class of the largest score (of log
    odds of 0 or more the last) is the only most probable one: where another is as probable up to
    rounding, that is lowered by the last bit.
    """
    n, classes = len(scores), 2 if scores.ndim == 1 else scores.shape[1]
    out = np.empty((n, classes))
    one = _two_posteriors if scores.ndim == 1 else _softmax
    step = max(1, PROBABILITIES_AT_ONCE // classes)
    run_all(
        [
            partial(one, scores[lo : lo + step], out[lo : lo + step], lead=lead)
            for lo in range(0, n, step)
        ]
    )
    return out


def _two_posteriors(scores: Array, out: Array, *, lead: bool) -> None:
    e = np.exp(-np.abs(scores))
    more, less = 1.0 / (1.0 + e), e / (1.0 + e)
    if lead:
        less[less == more] = np.nextafter(0.5, 0.0)
    last = scores >= 0
    out[:, 0] = np.where(last, less, more)
    out[:, 1] = np.where(last, more, less)


def _softmax(scores: Array, out: Array, *, lead: bool) -> None:
    p = np.array(scores.T, order="C")  # few classes: numpy is quick along the rows
    top = p.max(axis=0)
    unknown = ~np.isfinite(top)
    top[unknown] = 0.0
    with np.errstate(over="ignore"):  # a score so much smaller has the probability 0
        p -= top
    p[:, unknown] = 0.0
    np.exp(p, out=p)
    p /= p.sum(axis=0)
    if lead:
        own = p.max(axis=0)
        for i in np.flatnonzero((p >= own).sum(axis=0) > 1).tolist():
            p[:, i] = np.minimum(p[:, i], np.nextafter(own[i], 0.0))
            p[scores[i].argmax(), i] = own[i]
    out[:] = p.T


def curvature(m: Array) -> Array:
    """sigma(m) sigma(-m)."""
    e = np.exp(-np.abs(m))
    return np.asarray(e / np.square(1.0 + e))


def entropy(q: Array) -> Array:
    """-q log q - (1 - q) log(1 - q), with 0 at both ends."""
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(q > 0, q * np.log(q), 0.0)
        right = np.where(q < 1, (1.0 - q) * np.log1p(-q), 0.0)
    return np.asarray(-left - right)


class Logistic(Loss):
    """log(1 + exp(u)), u = -y f(x).

    >>> LOGISTIC.value(np.array([0.0])).round(4).tolist(), LOGISTIC.slope(np.array([0.0])).tolist()
    ([0.6931], [0.5])
    """

    name, words = "logistic", "logistic"
    corner, top = 0.0, 1.0

    def value(self, u: Array) -> Array:
        return loss(-u)

    def slope(self, u: Array) -> Array:
        return probability(-u)

    def curvature(self, u: Array) -> Array:
        return curvature(-u)

    def conjugate(self, t: Array) -> Array:
        return np.asarray(np.where((t >= 0.0) & (t <= 1.0), -entropy(np.clip(t, 0.0, 1.0)), np.inf))

    def best_offset(self, scores: Array, sign: Array, cost: Array, start: float = 0.0) -> float:
        return start + best_shift(sign * (scores + start), sign, cost)

    def best_constant(self, plus: float, minus: float) -> float:
        return float(np.log(plus / minus))


LOGISTIC = Logistic()


def best_shift(values: Array, sign: Array, cost: Array) -> float:
    """What to add to b so that sum of cost sigma(-m) y vanishes, by guarded Newton steps."""
    bracket, t = Bracket(-np.inf, np.inf, unit=1.0), 0.0
    goal = 1e-15 if len(values) <= LAST_DIGIT_ROWS else 1e-7
    for _ in range(60):
        r, total, bend = sum_of_pieces(partial(_slopes, t), values, sign, cost)
        if abs(r) <= goal * total or not np.isfinite(r):
            break
        new = bracket.after(t, -r, bend)
        if new == t:
            break
        t = new
    return float(t) if np.isfinite(t) else 0.0


def _slopes(t: float, values: Array, sign: Array, cost: Array) -> Array:
    """Sums of cost sigma(-m) y, of cost sigma(-m) and of the curvature at m = values + t y."""
    m = values + t * sign if t else values
    e = np.exp(-np.abs(m))
    q = 1.0 / (1.0 + e)
    p = np.where(m > 0, e, 1.0)
    p *= q
    p *= cost
    e *= q
    e *= q
    return np.array([p @ sign, p.sum(), e @ cost])
