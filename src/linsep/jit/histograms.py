"""Histogram kernels of a block.

Columns of the second matrix lie in rows, so that the sums of different pairs run side by side and
none is reordered.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import routine


@routine
def intersections(X, ZT, out):
    """out[i, j] += sum over k of min(X[i, k], ZT[k, j])."""
    n, d = X.shape
    m = ZT.shape[1]
    for i in range(n):
        for k in range(d):
            v = X[i, k]
            if v > 0.0:
                for j in range(m):
                    z = ZT[k, j]
                    out[i, j] += v if v < z else z


@routine
def harmonic_means(X, ZT, tiny, out):
    """out[i, j] += sum over k of 2 x z / (x + z), with x = X[i, k] and z = ZT[k, j].

    With the smaller number s and the larger one m it is computed as s (m / (m / 2 + s / 2)), whose
    ratio lies between 1 and 2: nothing overflows, and a zero adds nothing. tiny is the least
    number above zero, half of which is zero.
    """
    n, d = X.shape
    m = ZT.shape[1]
    half = X.dtype.type(0.5)
    for i in range(n):
        for k in range(d):
            v = X[i, k]
            if v > 0.0:
                for j in range(m):
                    z = ZT[k, j]
                    small = v if v < z else z
                    large = z if v < z else v
                    # Not /, whose test for zero in compiled code keeps the loop out of SIMD.
                    out[i, j] += small * np.divide(large, half * large + half * small + tiny)
