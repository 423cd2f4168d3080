"""Histogram kernels of a block: columns of the second matrix lie in rows, so that sums of
different entries run side by side and none is reordered."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import routine


@routine
def intersections(X, ZT, out):
    """out[i, j] = sum over k of min(X[i, k], ZT[k, j])."""
    n, d = X.shape
    for i in range(n):
        row = out[i]
        row[:] = 0.0
        for k in range(d):
            v = X[i, k]
            if v > 0.0:
                row += np.minimum(v, ZT[k])


@routine
def harmonic_means(X, ZT, out):
    """out[i, j] = sum over k of 2 x z / (x + z), with x = X[i, k] and z = ZT[k, j].

    It is written as 2 z / (1 + z / x) or 2 x / (1 + x / z), by the smaller of the two, so
    that neither product nor sum overflows; a zero on either side adds nothing.
    """
    n, d = X.shape
    for i in range(n):
        row = out[i]
        row[:] = 0.0
        for k in range(d):
            v = X[i, k]
            if v > 0.0:
                z = ZT[k]
                small = np.minimum(v, z)
                row += (small + small) / (1.0 + small / np.maximum(v, z))
