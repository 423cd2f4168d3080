"""What the entries of a sparse matrix have in common."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import routine


@routine
def entries(data, out):
    """out = [1 if all entries are 1, smallest and largest size of those that are not 0]."""
    ones = True
    least = np.inf
    most = 0.0
    for p in range(data.shape[0]):
        v = abs(np.float64(data[p]))
        if data[p] != 1.0:
            ones = False
        if v > 0.0:
            least = min(least, v)
            most = max(most, v)
    out[0] = 1.0 if ones else 0.0
    out[1] = least
    out[2] = most
