"""How far a ridge model is from the best one.

P = |t - X w - b|^2 + lam |w|^2 is a parabola: for the best b its least value is no smaller than
P - |gradient|^2 / (4 lam).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.certify.gap import Gap
from linsep.certify.logistic_gap import facts
from linsep.certify.passes import one_pass
from linsep.core.problem import Problem

__all__ = ["ridge_gap"]

Array = NDArray[np.float64]


def ridge_gap(problem: Problem, a: Array, lam: float, offset: bool) -> Gap:
    """Bounds for a binary ridge model with targets -1 and +1."""
    s = problem.weight
    values = problem.values(a)
    residual = problem.sign * (1.0 - values)  # t - f
    shift = float(s @ residual) / float(s.sum()) if offset else 0.0
    centred = residual - shift
    totals = one_pass(problem, a, np.abs(centred) * s * 0.0)
    gradient = 2.0 * (lam * a[:-1] - _weighted_sum(problem, s * centred))
    best_b = float((s * centred * centred).sum()) + lam * float(a[:-1] @ a[:-1])
    high = float((s * residual * residual).sum()) + lam * float(a[:-1] @ a[:-1])
    size = float(np.linalg.norm(gradient))
    size += 1e-13 * float(np.linalg.norm(s * centred)) * float(np.linalg.norm(totals.columns))
    low = best_b - size * size / (4.0 * lam) if lam > 0 else 0.0
    free = "the intercept is not penalised" if offset else "no intercept"
    words = f"sum of squared distances to the targets -1, +1 + {lam:.6g} |w|^2; {free}"
    slack = 1e-12 * high
    return facts(values, a, high + slack, max(low - slack, 0.0), words)


def _weighted_sum(problem: Problem, c: Array) -> Array:
    """sum of c_i x_i."""
    zero = np.zeros(problem.d + 1)
    return one_pass(problem, zero, c * problem.sign).v
