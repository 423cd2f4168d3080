"""Directions, lengths of steps and dual values of the Newton method for the hinge."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from linsep.core.lanes import sum_of_pieces
from linsep.jit import newton_hinge as loops
from linsep.losses.hinge import slopes_along
from linsep.solvers.hinge_near import far_slope
from linsep.solvers.hinge_pass import Reading
from linsep.solvers.hinge_state import NewtonState

__all__ = ["direction", "dual_of", "minimum_along"]

Array = NDArray[np.float64]


def direction(C: float, state: NewtonState, offset: bool) -> tuple[Array, float]:
    """Newton direction and the decrease it predicts, by Cholesky on scaled columns."""
    width = len(state.a) if offset else len(state.a) - 1
    bend = C * (0.5 / state.h if state.h > 0 else 2.0)
    g = state.gradient[:width]
    while True:
        H = bend * state.curvature[:width, :width]
        diagonal = H.diagonal() + bend * state.kappa * state.columns[:width]
        diagonal[: len(state.a) - 1] += 1.0
        scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-300))
        H *= scale[:, None]
        H *= scale
        np.fill_diagonal(H, 1.0 + 1e-14)
        # the triangle above the diagonal, which is the one below it of the transpose
        _, step, failed = lapack.dposv(H.T, scale * g, lower=True, overwrite_a=True)
        if not failed:
            break
        state.kappa = max(10 * state.kappa, 1e-12)
    p = np.zeros_like(state.a)
    p[:width] = -scale * step
    return p, -0.5 * float(g @ p[:width])


def minimum_along(C: float, state: NewtonState, cost: Array, p: Array, u1: Array) -> float:
    """Exact minimum of the rounded objective along p, from the two stored violations."""
    w, q = state.a[:-1], p[:-1]
    wq, qq = float(w @ q), float(q @ q)
    change = u1 - state.u
    center: Any = state.center if state.center.size else np.full(len(cost), 0.5)
    if state.near.size:
        wq += C * far_slope(state.far, p)
        center = center[state.near] if state.center.size else center
    low, high, t = 0.0, 1.0, 0.1
    for _ in range(40):
        out = sum_of_pieces(partial(slopes_along, state.h, t), state.u, change, cost, center)
        first, second = C * out[0] + wq + t * qq, C * out[1] + qq
        low, high = (low, t) if first > 0 else (t, high)
        new = t - first / second if second > 0 else -1.0
        if not low < new < high:
            new = 0.5 * (low + high) if low > 0 else 0.1 * high
        done = abs(new - t) < 0.02 * t or high - low < 0.05 * high
        t = new
        if done:
            break
    return t


def dual_of(C: float, loss: str, reading: Reading, offset: bool) -> float:
    """Dual value of alpha = C s z, made feasible."""
    sums = reading.sums
    plus, minus = float(sums[loops.PLUS]), float(sums[loops.MINUS])
    up, down = 1.0, 1.0
    v = C * reading.v
    if offset:
        if min(plus, minus) <= 0.0:
            return 0.0
        up, down = min(1.0, minus / plus), min(1.0, plus / minus)
        v = C * (up * reading.v_plus - down * (reading.v_plus - reading.v))
    value = C * (up * plus + down * minus) - 0.5 * float(v @ v)
    if loss == "squared_hinge":
        squares = up**2 * sums[loops.SQUARE_PLUS] + down**2 * sums[loops.SQUARE_MINUS]
        value -= C * float(squares) / 4.0
    return value
