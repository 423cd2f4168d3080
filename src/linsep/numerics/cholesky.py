"""Solving H p = q where columns may be of any size and may depend on each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]


def solved(H: Array, q: Array) -> Array:
    """H^-1 q by Cholesky on columns scaled to 1; those of diagonal 0 stay where they are.

    H is positive semidefinite up to rounding. What it lacks is added to its diagonal.
    """
    width = len(H)
    diagonal = H.diagonal().copy()
    moving = diagonal > 0
    scale = np.where(moving, 1.0 / np.sqrt(np.where(moving, diagonal, 1.0)), 0.0)
    H = H * scale[:, None] * scale
    np.fill_diagonal(H, 1.0)
    H.flat[:: width + 1] += 1e-15 * width
    jitter = 1e-13 * width
    while True:
        factor, failed = lapack.dpotrf(H, lower=0, clean=0)
        if not failed:
            break
        H.flat[:: width + 1] += jitter
        jitter *= 10
        if jitter > 1e3:
            return np.zeros_like(q)
    found, _ = lapack.dpotrs(factor, scale * q, lower=0)
    return np.asarray(scale * found)
