"""The best point on a line, for Newton's method of softmax regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.solvers.softmax_pass import SoftmaxRows
from linsep.solvers.softmax_state import SoftmaxState

__all__ = ["minimum_along"]


def minimum_along(
    state: SoftmaxState,
    rows: SoftmaxRows,
    dW: NDArray[np.float64],
    dS: NDArray[Any],
    ridge: float,
) -> float:
    """t > 0 where the objective along dW is least, nearly; dS are the scores of dW."""
    W, D = state.W[:, :-1], dW[:, :-1]
    wd, dd = ridge * float(np.vdot(W, D)), ridge * float(np.vdot(D, D))
    start = float(np.vdot(state.gradient, D))
    half = 0.5 * ridge * float(np.vdot(W, W))
    room = (1e-6 if rows.dtype == np.float32 else 1e-14) * abs(state.primal)  # of rounding
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(60):
        loss, first, second = rows.along(state.S, dS, t)
        value = half + t * (wd + 0.5 * t * dd) + loss
        first, second = first + wd + t * dd, second + dd
        gained = value <= state.primal + 0.01 * t * start + room
        if gained and abs(first) <= 0.1 * abs(start):
            break
        # where the slope is all but zero, rounding may hide its sign but not a loss
        low, high = (t, high) if first <= 0 and np.isfinite(value) else (low, t)
        new = t - first / second if second > 0 else -1.0
        if not low < new < high:
            new = 2.0 * t if high == np.inf else (0.5 * (low + high) if low else 0.1 * high)
        if new == t:
            break
        t = new
    return t
