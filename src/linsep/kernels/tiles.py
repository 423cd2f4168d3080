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

from linsep.core.costs import TILE
from linsep.core.lanes import one_blas_thread, run_all
from linsep.errors import CapabilityError, DataError, SettingError
from linsep.kernels.rows import Rows

if TYPE_CHECKING:
    from linsep.kernels.base import Kernel


Array = NDArray[Any]


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
        partial(_tile, kernel, one, two, out, mirror=mirror)
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
    """Pieces of at most TILE rows, each with the number of its first row."""
    return [(lo, rows.slice(lo, min(rows.n, lo + TILE))) for lo in range(0, rows.n, TILE)]


def _tile(
    kernel: Kernel, one: tuple[int, Rows], two: tuple[int, Rows], out: Array, *, mirror: bool
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
        raise DataError(kernel.unusable(values[i, j], lo + i, at + j))
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


# -- The domain of histogram kernels: no entry below zero -----------------------------------------


def negative_entry(matrix: Any, names: Any = None) -> str | None:
    """The first negative entry of a dense or CSR matrix and its place in words; None without."""
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if not values.size or values.min() >= 0:
        return None
    if isinstance(matrix, np.ndarray):
        row, column = (int(k) for k in np.argwhere(matrix < 0)[0])
        value, count = matrix[row, column], int((matrix < 0).sum())
    else:
        places = np.flatnonzero(values < 0)
        row = int(np.searchsorted(matrix.indptr, places[0], side="right") - 1)
        column, value, count = int(matrix.indices[places[0]]), values[places[0]], places.size
    name = "" if names is None else f" ('{names[column]}')"
    others = "" if count == 1 else f", {count} negative values in all"
    return f"X is {value:g} at row {row}, column {column}{name}{others}"


def require_nonnegative(kernel: object, matrix: Any, X: Any) -> None:
    """Raise DataError at the first negative entry, with its place."""
    found = negative_entry(matrix, getattr(X, "columns", None))
    if found is not None:
        raise DataError(
            f"{kernel!r} compares histograms, whose entries are >= 0, but {found}; give counts "
            "or frequencies, or use RBF."
        )


# -- The rows that a verdict about a kernel looks at: all, or some drawn by a seed ----------------


def look(
    kernel: Kernel, X: Any, sample: int, random_state: int
) -> tuple[Kernel, Rows, Rows, NDArray[Any]]:
    """The resolved kernel, all rows, those looked at, and their Gram matrix."""
    if not isinstance(sample, int | np.integer) or isinstance(sample, bool) or sample < 2:
        raise SettingError(f"sample is {sample!r}; give a whole number of rows >= 2.")
    rows = kernel.rows(X)
    if kernel.given and rows.n != rows.d:
        raise DataError(f"a precomputed Gram matrix is square; X has shape {rows.n} x {rows.d}.")
    kernel = kernel.resolve(rows.matrix)
    part = rows
    if rows.n > sample:
        drawn = np.random.default_rng(random_state).choice(rows.n, int(sample), replace=False)
        part = rows.take(np.sort(drawn))
    return kernel, rows, part, fill(kernel, part, None)
