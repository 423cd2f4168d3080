"""Newton steps on the free variables of a working set.

Pairs of variables converge slowly where many variables are free. The variables strictly inside
their box have a linear system instead: K d + mu = -f, sum d = 0. A step goes towards its
solution, brought into the box, as far as the dual objective grows; it never falls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from linsep.solvers.additive_blocks import taken_from
from linsep.solvers.additive_choice import project

__all__ = ["newton_rounds"]

Array = NDArray[np.float64]

_RIDGES = {8: 1e-14, 4: 1e-6}  # share of the diagonal that rounding may take from the matrix


def newton_rounds(K: Any, y: Array, top: Array, a: Array, f: Array, eps: float, rounds: int) -> int:
    """Steps on the free variables, in place, until no violation among them exceeds eps.

    Variables that reach a bound stay there. Gives back the number of steps taken.
    """
    for taken in range(rounds):
        free = np.flatnonzero((a > 0) & (a < top))
        if len(free) < 2 or float(np.ptp(f[free])) <= eps:
            return taken
        step = _direction(taken_from(K, free, free), f[free])
        if step is None:
            return taken
        beta, bound = a[free] * y[free], top[free] * y[free]
        low, high = np.minimum(0.0, bound), np.maximum(0.0, bound)
        change = project(beta + step, low, high, float(beta.sum())) - beta
        slope = float(change @ f[free])
        if not slope < 0:
            return taken
        image = K[free].T @ change.astype(K.dtype)
        curvature = float(change @ image[free])
        t = 1.0 if curvature <= 0 else min(1.0, -slope / curvature)
        a[free] = np.clip((beta + t * change) * y[free], 0.0, top[free])
        f += t * image[: len(f)]
    return rounds


def _direction(K: Any, f: Array) -> Any:
    """d with K d + mu = -f and sum d = 0, or None where rounding spoils it."""
    scale = float(K.diagonal().max())
    if not scale > 0:
        return None
    own = np.arange(len(f))
    short = K.dtype == np.float32
    factorise, solve = (lapack.spotrf, lapack.spotrs) if short else (lapack.dpotrf, lapack.dpotrs)
    ridge = _RIDGES[K.dtype.itemsize]
    right = np.column_stack([f.mean() - f, np.ones(len(f))])
    while ridge < 1e-2:
        system = K.T.copy()  # by columns, as LAPACK wants it
        system[own, own] += ridge * scale
        factor, info = factorise(system, lower=1, overwrite_a=1)
        if info == 0:
            found = np.asarray(solve(factor, right.astype(K.dtype), lower=1)[0], dtype=np.float64)
            step = found[:, 0] - found[:, 1] * (found[:, 0].sum() / found[:, 1].sum())
            step -= step.mean()
            return step if np.isfinite(step).all() else None
        ridge *= 100.0
    return None
