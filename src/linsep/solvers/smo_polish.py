"""The last digits of a small kernel machine: equations instead of steps.

Once it is known which variables are free, 0 < alpha < C, they follow from y_i f(x_i) = 1 for the
free rows and sum alpha_i y_i = 0: linear equations. Their solution is taken if it stays in the
box and violates the conditions of optimality less than before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.solvers.smo_facts import take_facts

__all__ = ["polish"]

Array = NDArray[np.float64]

_EXACT = 1e-12  # missed by more than this share, equations are nearly dependent
_NEAR = 1e-9  # share of C within which a variable counts as being at its bound


def polish(K: NDArray[Any], y: Array, cost: Array, alpha: Array, f: Array, free: bool) -> Any:
    """Better (alpha, f), or None; K is the Gram matrix of all rows."""
    best = None
    least = take_facts(y, cost, alpha, f, free).violation
    top = np.where(np.isfinite(cost), cost, alpha.max(initial=0.0))
    for _ in range(3):
        inside = (alpha > _NEAR * top) & (alpha < cost - _NEAR * top)
        rows = np.flatnonzero(inside)
        if not len(rows):
            break
        fixed = np.where(alpha >= cost - _NEAR * top, cost, 0.0)
        fixed[rows] = 0.0
        new = _solved(K, y, fixed, rows, free)
        if new is None:
            break
        new = np.clip(new, 0.0, cost)
        f = K @ (new * y) - y
        facts = take_facts(y, cost, new, f, free)
        balance = abs(float(new @ y)) if free else 0.0
        if facts.violation < least and balance <= 1e-12 * float(new.sum()):
            best, least = (new, f), facts.violation
        if np.array_equal(new, alpha):
            break
        alpha = new
    return best


def _solved(K: Array, y: Array, fixed: Array, rows: NDArray[np.int64], free: bool) -> Array | None:
    """The free variables from their equations."""
    m = len(rows)
    signs = y[rows]
    square = np.zeros((m + free, m + free))
    square[:m, :m] = K[np.ix_(rows, rows)]
    right = np.empty(m + free)
    right[:m] = signs - K[rows] @ (fixed * y)
    scale = float(np.abs(np.diagonal(square)[:m]).max(initial=0.0)) or 1.0
    if free:
        square[:m, m] = square[m, :m] = scale
        right[m] = -scale * float(fixed @ y)
    if not (np.isfinite(square).all() and np.isfinite(right).all()):
        return None
    solution = _solution(square, right)
    out = fixed.copy()
    out[rows] = solution[:m] * signs
    return out if np.isfinite(out).all() else None


def _solution(square: Array, right: Array) -> Array:
    """By elimination, or where rows depend on each other by singular values."""
    try:
        found = np.linalg.solve(square, right)
    except np.linalg.LinAlgError:
        found = np.full(len(right), np.nan)
    if np.abs(square @ found - right).max() <= _EXACT * np.abs(right).max():
        return np.asarray(found)
    return np.asarray(np.linalg.lstsq(square, right, rcond=None)[0])
