"""Drawing rows with their own chances, from numbers that belong to seed and row alone."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import routine


@routine
def draw(lengths, weight, lo, hi, even, more, key, limit, rows, rate, from_size):
    """Rows lo..hi whose uniform number is below limit times their rate; how many there are.

    rate = weight (even + more |x|^2). The numbers are those of splitmix64: a tenth of the work
    of a stream, and as good for choosing rows.
    """
    k = 0
    for i in range(lo, hi):
        z = key + np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        u = np.float64(np.int64(z >> np.uint64(11))) * 2.0**-53
        r = weight[i] * (even + more * lengths[i])
        if u < limit * r:
            rows[k] = i
            rate[k] = r
            from_size[k] = u / r
            k += 1
    return k
