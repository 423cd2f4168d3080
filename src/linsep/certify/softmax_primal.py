"""The objective of a softmax model from above, with all errors of its computation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.certify.survey import survey
from linsep.core.problem import Problem
from linsep.losses.softmax import shares

__all__ = ["objective_above"]

Array = NDArray[np.float64]

_U = 2.0**-53
_SUM = 64 * _U  # of a sum by numpy, which adds by halves
_FUNCTION = 16 * _U  # of exp, log and log1p, generously


def objective_above(
    problem: Problem, W: Array, b: Array, S: Array, cost: Array, *, penalty: bool
) -> tuple[float, float, float]:
    """Upper bound of P(W, b), how far it can be too high, and how far off a score can be."""
    now = shares(S, problem.label)
    wrong = np.minimum(now.rivals.sum(axis=0), 1.0)
    # scores are off by e_i <= (d + 4) u (sum_j |x_ij| max_k |w_kj| + |b|), and the loss by
    # 2 e_i times the largest share of the rivals on the way, at most exp(2 e_i) times the present
    step = (problem.d + 4) * _U
    reach = float(np.abs(W).max(axis=0) @ survey(problem).column_lengths())
    offset = float(np.abs(b).max())
    worst = step * (reach + offset)
    slope = cost * np.minimum(wrong * np.exp(min(2 * worst, 700.0)), 1.0)
    off = 2 * step * (float(np.linalg.norm(slope)) * reach + float(slope.sum()) * offset)
    total = float((cost * now.losses).sum())
    half = 0.5 * float(np.vdot(W, W)) if penalty else 0.0
    doubt = total * (_SUM + problem.K * _U + _FUNCTION) + half * (W.size + 8) * _U + off * 1.001
    doubt += 16 * _U * (half + total)
    return half + total + doubt, 2 * doubt, worst
