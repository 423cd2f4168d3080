"""The length of a proximal Newton step: an exact minimum along a line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.jit import proximal_newton as loops
from linsep.solvers.proximal_state import ProximalState, Terms

__all__ = ["minimum_along"]

Array = NDArray[np.float64]

_ENOUGH = 0.01  # relative accuracy of the length of a step


def minimum_along(
    problem: Problem, state: ProximalState, terms: Terms, p: Array, step: Array
) -> float:
    """The best length of a step p that moves the scores by ``step``."""
    w, q, b, db = state.a[:-1], p[:-1], float(state.a[-1]), float(p[-1])
    wq, qq = float(w @ q), float(q @ q)
    out, size = np.zeros(2), int(problem.rows.X[0].size)
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(30):
        loops.slope(
            state.scores, step, problem.sign, b, db, *terms, t, out, size=size, work=4 * problem.n
        )  # fmt: skip
        first, second = out[0] + wq + t * qq, out[1] + qq
        if first > 0:
            high = t
        else:
            low = t
        new = t - first / second if second > 0 else -1.0
        if not low < new < high:
            new = 0.5 * (low + high) if np.isfinite(high) else 2.0 * t
        done = abs(new - t) < _ENOUGH * t
        t = new
        if done:
            break
    return float(t)
