"""Dense tables that are mostly zeros, as sparse ones: the same numbers in less room."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linsep.core.compile import routine
from linsep.core.lanes import run_all
from linsep.core.problem import Problem

_COLUMNS = 200  # from which reading the zeros of a row takes most of the time
_ENTRIES = 1_000_000  # of a table, from which a copy pays
_SHARE = 0.1  # of entries that are not zero, at most: the copy then takes a sixth of the room
_LOOKED_AT = 256  # rows that are asked
_PIECES = 8


def lend_without_zeros(problem: Problem) -> None:
    """Lend solvers a sparse matrix, if hardly any entry of the table counts."""
    X = problem.matrix
    if problem.sparse or problem.d < _COLUMNS or X.size < _ENTRIES or not X.flags.c_contiguous:
        return
    some = X[:: max(1, problem.n // _LOOKED_AT)]
    if np.count_nonzero(some) >= _SHARE * some.size:
        return
    starts = np.zeros(problem.n + 1, np.int64)
    _in_pieces(count, X, starts[1:])
    np.cumsum(starts, out=starts)
    total = int(starts[-1])
    if total >= _SHARE * X.size:
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


# -- A dense table without its zeros --------------------------------------------------------------


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
