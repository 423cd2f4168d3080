"""Sparse rows in few bytes, for sweeps that wait for memory.

Column numbers take two bytes where there are few columns, entries four, and none at all where
all of them are 1. Weights found with rounded entries are judged on the rows as they are given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.layouts import CSR, Marks, Matrix
from linsep.core.once import reads
from linsep.core.problem import Problem
from linsep.rows.loops import matrix_of
from linsep.rows.survey import survey

NARROW = 1e-4  # relative gaps down to which float32 is as good
_LEAST, _MOST = 100_000, 16_000_000  # entries of a matrix that is worth a copy, and small enough
_STEEP = 100.0  # C |x| up to which a rounding of scores is forgiven
_SAFE = (1e-12, 1e12)  # lengths of columns whose entries may be rounded to float32


def packed(problem: Problem, *, narrow: bool = False) -> Matrix:
    """The rows of a problem in few bytes, made once and kept with it.

    narrow allows entries to be rounded to float32.
    """
    if not problem.sparse or not _LEAST <= problem.matrix.nnz <= _MOST:
        return matrix_of(problem)
    return problem.once(_narrow if narrow else _places)


def may_round(problem: Problem, C: float, tol: float) -> bool:
    """Whether entries rounded to float32 can lead to a relative gap of tol.

    A score is off by about 1e-7 |x| |w|, which costs C times as much on every row inside.
    """
    mean = float(survey(problem).columns.sum()) / problem.n  # of |x|^2, from the shorter list
    return tol >= NARROW and C * np.sqrt(mean) <= _STEEP


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
    least, most = _SAFE
    return bool(len(columns) and columns.min() > least**2 and columns.max() < most**2)
