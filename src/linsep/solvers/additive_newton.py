"""Newton steps on the free variables of a working set.

Pairs of variables converge slowly where the kernel matrix is nearly singular and C is large.
The variables strictly inside their box have a linear system instead: K d + mu = -f, sum d = 0.
A step goes to its solution or to the first bound on the way, so the dual objective never falls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

__all__ = ["newton_rounds"]

Array = NDArray[np.float64]

_RIDGES = {8: 1e-14, 4: 1e-6}  # share of the diagonal that rounding may take from the matrix


def newton_rounds(K: Array, y: Array, top: Array, a: Array, f: Array, rounds: int) -> int:
    """Steps on the free variables, in place; variables that reach a bound stay there.

    Gives back the number of steps taken.
    """
    for taken in range(rounds):
        free = np.flatnonzero((a > 0) & (a < top))
        if len(free) < 2:
            return taken
        step = _direction(K[np.ix_(free, free)], f[free])
        if step is None or not float(step @ f[free]) < 0:
            return taken
        change = y[free] * step
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(change > 0, (top[free] - a[free]) / change, -a[free] / change)
        room[change == 0] = np.inf
        t = min(1.0, float(room.min()))
        a[free] = np.clip(a[free] + t * change, 0.0, top[free])
        if t < 1.0:
            hit = free[room <= t * (1 + 1e-12)]
            a[hit] = np.where(y[hit] * step[room <= t * (1 + 1e-12)] > 0, top[hit], 0.0)
        f += K[:, free] @ (t * step)
        if t == 1.0:
            return taken + 1
    return rounds


def _direction(K: Array, f: Array) -> Any:
    """d with K d + mu = -f and sum d = 0, or None where rounding spoils it."""
    scale = float(K.diagonal().max())
    if not scale > 0:
        return None
    own = np.arange(len(f))
    ridge = _RIDGES[K.dtype.itemsize]
    while ridge < 1e-2:
        system = K / scale if K.dtype == np.float64 else K.astype(np.float64) / scale
        system[own, own] += ridge
        factor, info = lapack.dpotrf(system, lower=1, overwrite_a=1)
        if info == 0:
            right = np.column_stack([-f / scale, np.ones(len(f))])
            found, _ = lapack.dpotrs(factor, right, lower=1)
            step = found[:, 0] - found[:, 1] * (found[:, 0].sum() / found[:, 1].sum())
            step -= step.mean()
            return step if np.isfinite(step).all() else None
        ridge *= 100.0
    return None
