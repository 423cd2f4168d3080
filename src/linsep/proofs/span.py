"""Whether rows lie in the span of a few rows, decided exactly.

Two ways, each cheap where the other is not. With few directions outside the span, a basis of
those directions is computed once and every row has to be orthogonal to it. With many columns
and few rows, each row is written as a combination of the few.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.once import reads
from linsep.core.problem import Problem
from linsep.numerics.integers import (
    independent_columns,
    integer_products,
    least_rank,
    null_space,
    solve_seconds,
    to_integers,
)
from linsep.rows.exact import Tick, no_tick, reflected

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


# -- Columns of a table that are exact combinations of others, checked in integers ----------------


_EXACT = 20_000_000  # entries beyond which dependences are not checked
_INTEGERS = 200_000_000  # the same for small integers
_SECONDS, _SOLUTIONS = 3.0, 20  # for solutions in integers; how many cost as much as the first


def dependent_columns(problem: Problem) -> NDArray[np.int64] | None:
    """Columns of [X, 1] that are exact combinations of the others; None if that is unknown.

    Column d stands for the intercept. What is left when they are dropped spans the same space.
    """
    return problem.once(_dependent)


@reads("matrix", "fit_intercept")
def _dependent(problem: Problem) -> NDArray[np.int64] | None:
    if problem.n * problem.width > _EXACT and not _whole(problem):
        return None
    if problem.n < problem.width:
        return _of_few_rows(problem)
    for rows in _candidates(problem):
        basis = null_space(reflected(problem, _spanning_rows(problem, rows)))
        if orthogonal(problem, np.arange(problem.n), basis):
            break
    else:
        return None
    none = [problem.d] if not problem.fit_intercept else []
    if not len(basis):
        return np.array(none, dtype=np.int64)
    # prefer to keep the intercept, then the first columns
    order = [*range(problem.d)[::-1], *range(problem.d, problem.width)]
    pivots = independent_columns(np.ascontiguousarray(np.array(basis)[:, order]))
    if len(pivots) != len(basis):
        return None
    return np.array(sorted([order[j] for j in pivots] + none), dtype=np.int64)


def _whole(problem: Problem) -> bool:
    """Whether all entries are integers of few digits, which are multiplied fast."""
    if problem.n * problem.width > _INTEGERS:
        return False
    entries = problem.matrix.data if problem.sparse else problem.matrix
    step = max(1, _EXACT // problem.width)
    for at in range(0, len(entries), step):
        some = entries[at : at + step]
        if not ((np.abs(some) < 2.0**20) & (np.rint(some) == some)).all():
            return False
    return True


def _of_few_rows(problem: Problem) -> NDArray[np.int64] | None:
    """The same where there are more columns than rows: columns in the span of a few of them.

    The null space of the rows has many dimensions there, that of the columns has few; rows that
    are repeated add none. The intercept is kept.
    """
    matrix = problem.matrix.toarray() if problem.sparse else problem.matrix
    rows = np.unique(np.asarray(matrix, dtype=np.float64), axis=0)
    if problem.fit_intercept:
        rows = np.column_stack([rows, np.ones(len(rows))])
    kept = _spanning_columns(rows, problem.fit_intercept)
    if len(kept) < len(rows):
        missing = 1 + (len(rows) - len(kept)) / _SOLUTIONS
        if solve_seconds(to_integers(rows[:, kept].T).table) * missing > _SECONDS:
            return None
    half = np.arange(rows.shape[1]) % 2
    columns = Problem(np.ascontiguousarray(rows.T), half, fit_intercept=False)
    if not spans(columns, kept, np.arange(rows.shape[1])):
        return None
    return np.setdiff1d(np.arange(problem.d + 1), kept)


def _spanning_columns(rows: NDArray[np.float64], intercept: bool) -> NDArray[np.int64]:
    """Columns that look as if they span all, by QR with pivoting; the last one if told so."""
    size = np.abs(rows).max(axis=0)
    scaled = rows / np.where(size > 0, size, 1.0)
    if intercept:
        scaled = scaled[:, :-1] - scaled[:, :-1].mean(axis=0)
    triangle, order = scipy.linalg.qr(scaled, mode="r", pivoting=True)
    left = np.abs(np.diagonal(triangle))
    rank = int((left > 1e-10 * np.sqrt(len(rows))).sum())
    last = [rows.shape[1] - 1] if intercept else []
    return np.array(sorted([*order[:rank].tolist(), *last]), dtype=np.int64)


def _candidates(problem: Problem) -> Iterator[NDArray[np.int64]]:
    """Rows among which to look for some that span all: first a few, then all."""
    n, few = problem.n, 20 * problem.width
    if 4 * few < n:
        longest = abs(problem.matrix).argmax(axis=0)  # so that no column is left without entry
        spread = np.linspace(0, n - 1, few).astype(np.int64)
        yield np.union1d(np.ravel(longest), spread)
    yield np.arange(n)


def _spanning_rows(problem: Problem, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows that look as if they span all rows, by QR with pivoting on scaled columns."""
    block = reflected(problem, rows)
    size = np.abs(block).max(axis=0)
    block /= np.where(size > 0, size, 1.0)
    count = min(len(rows), problem.width)
    _, order = scipy.linalg.qr(block.T, mode="r", pivoting=True)
    return np.sort(rows[order[:count]])
