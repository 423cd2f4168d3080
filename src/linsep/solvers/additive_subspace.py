"""A step of all free variables at once, where they are more than a working set holds.

The variables strictly inside their box solve K d + mu = -f, sum d = 0. Conjugate gradients need
products with K only, which cost one pass over the free rows. The end point is projected onto
the box, and the exact minimum on the way there is taken, so the dual objective never falls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.kernels.additive_levels import Levels
from linsep.solvers.additive_choice import project

__all__ = ["subspace_step"]

Array = NDArray[np.float64]

_REDUCTION = 0.05  # of the residual


def subspace_step(
    levels: Levels, y: Array, top: Array, alpha: Array, score: Array, iterations: int
) -> tuple[NDArray[np.int64], Array, int]:
    """Rows, their change of y alpha, and the number of products with K."""
    rows = np.flatnonzero((alpha > 0) & (alpha < top))
    f = score[rows] - y[rows]
    beta = alpha[rows] * y[rows]
    low, high = np.minimum(0.0, top[rows] * y[rows]), np.maximum(0.0, top[rows] * y[rows])
    step, products = _conjugate(levels, rows, f, iterations)
    goal = project(beta + step, low, high, float(beta.sum()))
    change = goal - beta
    slope = float(change @ f)
    if not slope < 0:
        return rows, np.zeros(len(rows)), products
    curvature = float(change @ levels.product_at(rows, change))
    t = 1.0 if curvature <= 0 else min(1.0, -slope / curvature)
    return rows, t * change if t < 1.0 else change, products + 1


def _conjugate(
    levels: Levels, rows: NDArray[np.int64], f: Array, iterations: int
) -> tuple[Array, int]:
    """Conjugate gradients on the vectors of sum zero."""
    step = np.zeros(len(rows))
    rest = f.mean() - f
    p, size = rest.copy(), float(rest @ rest)
    goal = _REDUCTION**2 * size
    for k in range(iterations):
        q = levels.product_at(rows, p)
        q -= q.mean()
        curvature = float(p @ q)
        if not curvature > 1e-14 * float(p @ p):
            return step, k + 1
        t = size / curvature
        step += t * p
        rest -= t * q
        new = float(rest @ rest)
        if new <= goal:
            return step, k + 1
        p *= new / size
        p += rest
        size = new
    return step, iterations
