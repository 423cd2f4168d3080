"""A whole lane of rows in one compiled call, for data that are always large.

The same arithmetic as solvers/hinge_pass.py does block by block, without going back to Python
between two products: with two threads that is what takes the time. Sums may differ in their
last bits, so a set of rows uses one of the two for good.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import inner, routine
from linsep.jit.newton_hinge import bend_block
from linsep.jit.rows import sample_block


@inner
def add_curvature(block, cost, even, band, k, curved, root, out, offset):
    """out += cost [x, 1] [x, 1]' over the rows of the block that band names."""
    d = block.shape[1]
    total = 0.0
    for r in range(k):
        i = band[r]
        c = np.sqrt(cost[i])
        root[r] = c
        total += cost[i]
        if even:
            for j in range(d):
                curved[r, j] = block[i, j]
        else:
            for j in range(d):
                curved[r, j] = block[i, j] * root[r]
    B = curved[:k]
    product = np.dot(B.T, B)
    factor = cost[0] if even else 1.0
    for j in range(d):
        for m in range(d):
            out[j, m] += factor * product[j, m]
    if offset:
        line = np.dot(root[:k], B)
        side = np.sqrt(cost[0]) if even else 1.0
        for j in range(d):
            out[j, d] += side * line[j]
        out[d, d] += total


@routine
def lane(X, sign, cost, center, even, w, b, h, lo, hi, rows, u, scratch, curved, root, z, band,
         v, sums, curvature, offset, curve):  # fmt: skip
    """Rows lo..hi in blocks: violations, sums, gradient parts and, if asked for, curvature."""
    d = w.shape[0]
    for start in range(lo, hi, rows):
        stop = min(hi, start + rows)
        n = stop - start
        block = sample_block(X, start, stop, scratch)
        scores = np.dot(block, w)
        k = bend_block(
            scores, sign[start:stop], cost[start:stop], center[start:stop], b, h, u[start:stop],
            z[0, :n], z[1, :n], band, sums,
        )  # fmt: skip
        part = np.dot(z[0, :n], block)
        for j in range(d):
            v[0, j] += part[j]
        if offset:
            part = np.dot(z[1, :n], block)
            for j in range(d):
                v[1, j] += part[j]
        if curve and k > 0:
            add_curvature(block, cost[start:stop], even, band, k, curved, root, curvature, offset)
