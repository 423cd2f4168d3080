"""Sparse rows in few bytes, for sweeps that wait for memory.

Column numbers take two bytes where there are few columns, entries four, and none at all where
all of them are 1. Weights found with rounded entries are judged on the rows as they are given.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.rows import CSR, Marks, Matrix
from linsep.jit import packed as loops
from linsep.solvers.dual_point import matrix_of

__all__ = ["NARROW", "entry_sizes", "packed"]

NARROW = 1e-4  # relative gaps down to which float32 is as good
_LEAST, _MOST = 100_000, 16_000_000  # entries of a matrix that is worth a copy, and small enough
_SAFE = (1e-12, 1e12)  # sizes of entries that may be rounded to float32


def packed(problem: Problem, tol: float) -> Matrix:
    """The rows of a problem for sweeps to a relative gap of tol, made once and kept with it."""
    if not problem.sparse or not _LEAST <= problem.matrix.nnz <= _MOST:
        return matrix_of(problem)
    name = "_packed_narrow" if tol >= NARROW else "_packed"
    kept: Matrix | None = problem.__dict__.get(name)
    if kept is None:
        kept = problem.__dict__[name] = _copy(problem, tol >= NARROW)
    return kept


def _copy(problem: Problem, narrow: bool) -> Matrix:
    M = problem.matrix
    if problem.d <= 1 << 16:
        indices = M.indices.astype(np.uint16)
    else:
        indices = M.indices.view(np.dtype(f"u{M.indices.dtype.itemsize}"))
    ones, least, most = entry_sizes(M.data)
    if ones:
        return Marks(indices, M.indptr)
    narrow = narrow and _SAFE[0] < least and most < _SAFE[1]
    return CSR(M.data.astype(np.float32) if narrow else M.data, indices, M.indptr)


def entry_sizes(data: NDArray[np.floating]) -> tuple[bool, float, float]:
    """Whether all entries are 1, and the sizes of the smallest and the largest that is not 0."""
    out = np.empty(3)
    loops.entries(data, out, size=len(data), work=len(data))
    return bool(out[0]), float(out[1]), float(out[2])
