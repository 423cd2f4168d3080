"""A Gram matrix by tiles, worked on by threads; the same bits for any number of them.

Of a symmetric one the tiles above the diagonal are computed and mirrored, so that it is symmetric
to the last bit.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import one_blas_thread, run_all
from linsep.errors import CapabilityError, DataError
from linsep.kernels.domain import unusable
from linsep.kernels.rows import Rows

if TYPE_CHECKING:
    from linsep.kernels.base import Kernel

__all__ = ["fill"]

Array = NDArray[Any]

_STEP = 512  # rows and columns of a tile


def fill(kernel: Kernel, A: Rows, B: Rows | None) -> Array:
    """All values of a kernel between rows A and B, or A and itself."""
    other = A if B is None else B
    _require_memory(A.n, other.n, A.dtype.itemsize)
    kernel.prepare(A)
    kernel.prepare(other)
    mirror = B is None and kernel.symmetric
    out: Array = np.empty((A.n, other.n), A.dtype)
    left = _cut(A)
    right = left if B is None else _cut(B)
    jobs = [
        partial(_tile, kernel, one, two, mirror, out)
        for one in left
        for two in right
        if not mirror or one[0] <= two[0]
    ]
    if len(jobs) == 1 or not kernel.symmetric:  # a user's function may not bear two threads
        for job in jobs:
            job()
    else:
        with one_blas_thread():
            run_all(jobs)
    return out


def _cut(rows: Rows) -> list[tuple[int, Rows]]:
    """Pieces of at most _STEP rows, each with the number of its first row."""
    return [(lo, rows.slice(lo, min(rows.n, lo + _STEP))) for lo in range(0, rows.n, _STEP)]


def _tile(
    kernel: Kernel, one: tuple[int, Rows], two: tuple[int, Rows], mirror: bool, out: Array
) -> None:
    (lo, A), (at, B) = one, two
    hi, end = lo + A.n, at + B.n
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        values = kernel.block(A, B)
        if mirror and lo == at:
            low = np.tril_indices(A.n, -1)
            values[low] = values.T[low]
            np.fill_diagonal(values, kernel._diagonal(A))
    if not np.isfinite(values).all():
        i, j = (int(k) for k in np.argwhere(~np.isfinite(values))[0])
        raise DataError(unusable(kernel, values[i, j], lo + i, at + j))
    out[lo:hi, at:end] = values
    if mirror and lo != at:
        out[at:end, lo:hi] = values.T


def _require_memory(n: int, m: int, itemsize: int) -> None:
    """Refuse a Gram matrix that the machine cannot hold, before it starts to swap."""
    need, have = n * m * itemsize, _memory()
    if have is not None and need > have:
        raise CapabilityError(
            f"a Gram matrix of {n} x {m} needs {need / 2**30:.1f} GiB, more than this machine has "
            f"({have / 2**30:.1f} GiB); estimators work without it, or give fewer rows."
        )


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
