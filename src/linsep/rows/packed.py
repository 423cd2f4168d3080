"""The same rows in less room, for sweeps that wait for memory.

Dense tables that are mostly zeros are lent to solvers as sparse ones. Of sparse rows column
numbers take two bytes where there are few columns, entries four, and none at all where all of
them are 1. Weights found with rounded entries are judged on the rows as they are given.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linsep.core.compile import routine
from linsep.core.costs import PACKED_ENTRIES, READ_DENSELY, UNPACKED, UNPACKED_DENSE
from linsep.core.lanes import run_all
from linsep.core.layouts import CSR, Marks, Matrix
from linsep.core.problem import Problem, reads
from linsep.rows.loops import matrix_of
from linsep.rows.reader import survey

NARROW = 1e-4  # relative gaps down to which float32 is as good
_LEAST_ENTRIES, _MOST_ENTRIES = 100_000, 16_000_000  # of a matrix that is worth a copy
_STEEP_COST = 100.0  # C |x| up to which a rounding of scores is forgiven
_SAFE_LENGTHS = (1e-12, 1e12)  # lengths of columns whose entries may be rounded to float32
_WIDE_ROW = 16  # from which reading the zeros of a row takes most of the time
_LOOKED_AT = 256  # rows that are asked
_PIECES = 8


def packed(problem: Problem, *, narrow: bool = False) -> Matrix:
    """The rows of a problem in few bytes, made once and kept with it.

    narrow allows entries to be rounded to float32.
    """
    if not problem.sparse or not _LEAST_ENTRIES <= problem.matrix.nnz <= _MOST_ENTRIES:
        return matrix_of(problem)
    return problem.once(_narrow if narrow else _places)


def may_round(problem: Problem, C: float, tol: float) -> bool:
    """Whether entries rounded to float32 can lead to a relative gap of tol.

    A score is off by about 1e-7 |x| |w|, which costs C times as much on every row inside.
    """
    mean = float(survey(problem).columns.sum()) / problem.n  # of |x|^2, from the shorter list
    return tol >= NARROW and C * np.sqrt(mean) <= _STEEP_COST


@reads("matrix")
def _narrow(problem: Problem) -> Matrix:
    X = problem.once(_places)
    if isinstance(X, CSR) and X.data.dtype != np.float32 and fits_float32(problem):
        return X._replace(data=X.data.astype(np.float32))
    return X


@reads("matrix")
def _places(problem: Problem) -> Matrix:
    M = problem.matrix
    if problem.d <= 1 << 16:
        indices = M.indices.astype(np.uint16)
    else:
        indices = M.indices.view(np.dtype(f"u{M.indices.dtype.itemsize}"))
    return Marks(indices, M.indptr) if _all_ones(M.data) else CSR(M.data, indices, M.indptr)


def _all_ones(data: NDArray[Any]) -> bool:
    return bool((data[:64] == 1).all() and (data == 1).all())


def fits_float32(problem: Problem) -> bool:
    """Whether no column is so short or so long that its entries leave float32."""
    columns = survey(problem).columns
    columns = columns[columns > 0]
    least, most = _SAFE_LENGTHS
    return bool(len(columns) and columns.min() > least**2 and columns.max() < most**2)


def least_share(problem: Problem) -> float:
    """Share of entries from which rows are best worked on as dense ones."""
    return READ_DENSELY if problem.n * problem.d > UNPACKED else UNPACKED_DENSE


def mostly_zero(problem: Problem) -> bool:
    """Whether a dense table of many columns is a sparse one written out, by some of its rows."""
    if problem.sparse or problem.d < _WIDE_ROW:
        return False
    some = problem.matrix[:: max(1, problem.n // _LOOKED_AT)]
    return bool(np.count_nonzero(some) < least_share(problem) * some.size)


def lend_without_zeros(problem: Problem) -> None:
    """Lend solvers a sparse matrix, if hardly any entry of the table counts."""
    X = problem.matrix
    if problem.sparse or X.size < PACKED_ENTRIES or not X.flags.c_contiguous:
        return
    if not mostly_zero(problem):
        return
    starts = np.zeros(problem.n + 1, np.int64)
    _in_pieces(count, X, starts[1:])
    np.cumsum(starts, out=starts)
    total = int(starts[-1])
    if total >= least_share(problem) * X.size:
        return
    indices, data = np.empty(total, np.int32), np.empty(total, X.dtype)
    _in_pieces(fill, X, starts, indices, data)
    small = starts.astype(np.int32) if total < 2**31 else starts
    problem.lend(scipy.sparse.csr_array((data, indices, small), shape=X.shape))


def _in_pieces(loop: Any, X: NDArray[Any], *arrays: NDArray[Any]) -> None:
    edges = [len(X) * k // _PIECES for k in range(_PIECES + 1)]
    run_all(
        [partial(loop, X, lo, hi, *arrays, size=X.size, work=X.size) for lo, hi in pairwise(edges)]
    )


@routine
def count(X, lo, hi, counts):
    """counts[i] = entries of row i that are not zero."""
    for i in range(lo, hi):
        x = X[i]
        k = 0
        for j in range(x.shape[0]):
            k += 1 if x[j] != 0.0 else 0
        counts[i] = k


@routine
def fill(X, lo, hi, starts, indices, data):
    """Columns and values of the entries that are not zero, row after row."""
    for i in range(lo, hi):
        x = X[i]
        p = starts[i]
        end = starts[i + 1]
        for j in range(x.shape[0]):
            if p == end:
                break
            if x[j] != 0.0:
                indices[p] = j
                data[p] = x[j]
                p += 1
