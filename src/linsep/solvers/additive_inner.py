"""The problem of a working set: pairs of variables, in smaller sets where it is large."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.jit.additive_inner import solve_in_sets
from linsep.jit.smo import solve_block

__all__ = ["solve_set"]

Array = NDArray[np.float64]

_INNER = 256  # rows of a smaller set


def solve_set(K: Any, y: Array, top: Array, a: Array, f: Array, eps: float, limit: int) -> int:
    """Change a and f until no violation exceeds eps; gives back the steps taken.

    The arrays are padded to whole lanes with rows of y = 0.
    """
    q, m = len(y), _INNER
    if q <= 2 * m:
        scratch, likely = np.zeros((6, q)), 8 * q * min(limit, 2 * q)
        return int(solve_block(K, y, top, a, f, eps, limit, scratch, size=K.size, work=likely))
    rows, moved = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    steps = solve_in_sets(
        K, y, top, a, f, eps, limit, rows, np.zeros((m, m), dtype=K.dtype),
        np.zeros(q, dtype=bool), np.zeros((2, q)), np.zeros((4, m)), np.zeros((6, m)), moved,
        np.zeros(m), size=K.size, work=400 * q,
    )  # fmt: skip
    return int(steps)
