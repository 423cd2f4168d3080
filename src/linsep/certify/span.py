"""Whether rows lie in the span of a few rows, decided exactly.

Two ways, each cheap where the other is not. With few directions outside the span, a basis of
those directions is computed once and every row has to be orthogonal to it. With many columns
and few rows, each row is written as a combination of the few.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.exact import (
    Tick,
    independent_columns,
    integer_products,
    least_rank,
    no_tick,
    null_space,
    reflected,
    to_integers,
)
from linsep.core.problem import Problem

__all__ = ["orthogonal", "small_values", "spans"]

_DIRECTIONS = 200  # outside the span, up to which a basis of them is computed
_SMALL = 1 << 20  # entries that are multiplied at once
_CHUNK = 1 << 15  # entries that stay in the cache


def spans(
    problem: Problem, few: NDArray[np.int64], rows: NDArray[np.int64], *, tick: Tick = no_tick
) -> bool:
    """Whether the reflected rows ``rows`` all lie in the span of the reflected rows ``few``."""
    block = reflected(problem, few)
    rank, D = least_rank(block), block.shape[1]
    if rank == D:
        return True
    rows = np.setdiff1d(rows, few)
    if not len(rows):
        return True
    tick()
    if D - rank <= _DIRECTIONS:
        return orthogonal(problem, rows, null_space(block), tick=tick)
    return _combinations(problem, block, rows, tick)


def orthogonal(
    problem: Problem,
    rows: NDArray[np.int64],
    basis: NDArray[Any],
    *,
    tick: Tick = no_tick,
) -> bool:
    """Whether the products of all the rows with all the vectors are zero."""
    quick = small_values(problem, basis) if 2 * len(rows) > problem.n else None
    if quick is not None:
        return not quick[rows].any()
    used = np.flatnonzero((basis != 0).any(axis=0))
    if not len(used):
        return True
    few = len(used) < basis.shape[1] / 8  # picking columns is slower than multiplying by zero
    columns = basis[:, used] if few else basis
    step = max(1, _CHUNK // max(1, problem.d))
    for at in range(0, len(rows), step):
        tick()
        block = reflected(problem, rows[at : at + step])
        block = block[:, used] if few else block
        if integer_products(block, columns)[0].any():
            return False
    return True


def small_values(problem: Problem, vectors: NDArray[Any]) -> NDArray[np.int64] | None:
    """Products of all reflected rows with integer vectors, where all are small integers.

    None where floats do not hold every partial sum, or where there is no matrix of float64.
    """
    X = problem.matrix
    small = isinstance(X, np.ndarray) and X.dtype == np.float64 and X.size <= _SMALL
    if not small or not problem.binary or vectors.dtype != np.int64 or not len(vectors):
        return None
    floats = vectors.T.astype(np.float64)
    largest = max(float(X.max()), -float(X.min()), 1.0)
    if not largest * float(np.abs(floats).sum(axis=0).max()) < 2.0**52:
        return None
    if not (np.rint(X) == X).all():
        return None
    values = X @ floats[: problem.d]
    if problem.fit_intercept:
        values += floats[-1]
    return np.asarray((problem.sign[:, None] * values).astype(np.int64))


def _combinations(
    problem: Problem, block: NDArray[np.float64], rows: NDArray[np.int64], tick: Tick
) -> bool:
    """Write each row as a combination of an independent part of the block."""
    import flint

    for at in range(0, len(rows), 64):
        tick()
        some = reflected(problem, rows[at : at + 64])
        table = to_integers(np.vstack([block, some])).table
        table = table[:, (table != 0).any(axis=0)]
        top, bottom = table[: len(block)], table[len(block) :]
        chosen = independent_columns(np.ascontiguousarray(top.T))  # rows that are independent
        top = top[chosen]
        columns = independent_columns(top)
        left = _fmpz(top[:, columns].T, flint)
        try:
            factor, denominator = left.solve(_fmpz(bottom[:, columns].T, flint)).numer_denom()
        except ZeroDivisionError:
            return False
        whole = factor.transpose() * _fmpz(top, flint)
        if whole != _fmpz(bottom, flint) * denominator:
            return False
    return True


def _fmpz(table: NDArray[Any], flint: Any) -> Any:
    return flint.fmpz_mat(*table.shape, np.ascontiguousarray(table).ravel().tolist())
