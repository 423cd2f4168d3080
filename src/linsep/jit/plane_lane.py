"""Values of a plane and a combination of rows, a lane of a large dense table in one call."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import inner, routine


@inner
def plane_block(block, w, c, out, v):
    """out = block w and v += c block."""
    out[:] = np.dot(block, w)
    part = np.dot(c, block)
    for j in range(v.shape[0]):
        v[j] += part[j]


@routine
def plane_lane(X, w, c, lo, hi, rows, out, v):
    """out = X w and v += c X over the rows lo..hi of a table in float64, block by block."""
    for start in range(lo, hi, rows):
        stop = min(hi, start + rows)
        plane_block(X[start:stop], w, c[start:stop], out[start:stop], v)


@routine
def widened_lane(X, w, c, lo, hi, rows, out, v):
    """The same for float32, in float64."""
    wide = np.empty((rows, v.shape[0]))
    for start in range(lo, hi, rows):
        stop = min(hi, start + rows)
        block = wide[: stop - start]
        block[:] = X[start:stop]
        plane_block(block, w, c[start:stop], out[start:stop], v)
