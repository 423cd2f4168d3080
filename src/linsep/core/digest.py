"""Numbers that stand for rows: equal for equal values in any layout and float type."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["row_hashes"]


def row_hashes(matrix: Any, d: int) -> NDArray[np.uint64]:
    """Sum of mixed non-zero entries modulo 2^64, one sum a row.

    An entry is mixed with a key of its column; zero always gives zero, so a sparse and a
    dense matrix of the same values agree, and so do float32 and float64.
    """
    # splitmix64 of the column number: well spread odd keys without a table
    keys = np.arange(1, d + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) | np.uint64(1)

    def mixed(values: NDArray[Any], key: NDArray[np.uint64]) -> NDArray[np.uint64]:
        plain: NDArray[np.float64] = np.add(values, 0.0, dtype=np.float64)  # -0.0 becomes 0.0
        bits = plain.view(np.uint64)
        bits ^= bits >> np.uint64(32)
        bits *= np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(29)
        bits *= key
        return bits

    n = matrix.shape[0]
    out = np.zeros(n, dtype=np.uint64)
    if isinstance(matrix, np.ndarray):
        step = max(1, (1 << 15) // d)  # a block of mixed values stays in the cache
        for at in range(0, n, step):
            block = np.ascontiguousarray(matrix[at : at + step])
            out[at : at + step] = mixed(block, keys).sum(axis=1, dtype=np.uint64)
        return out
    total = np.zeros(matrix.data.size + 1, dtype=np.uint64)
    np.cumsum(mixed(matrix.data, keys[matrix.indices]), out=total[1:])
    out[:] = total[matrix.indptr[1:]] - total[matrix.indptr[:-1]]
    return out
