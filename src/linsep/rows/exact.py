"""Rational arithmetic on reflected rows.

Which rows sum to zero with positive multipliers, which lie in the span of others, and which
columns depend on each other. Everything here is exact; floats only suggest where to look.

Rows are given as a block of floats: for two classes y [x, 1], for K > 2 classes the Kesler
rows without the block of the last class (adding one vector to all blocks changes no decision,
so the last block may be taken as zero). Without an intercept the constant column is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.costs import AT_ONCE, EXACT_IN_CACHE
from linsep.core.problem import Problem, reads
from linsep.numerics.integers import (
    flint_matrix,
    independent_columns,
    integer_products,
    least_rank,
    null_space,
    scaled_integers,
    solve_seconds,
    to_integers,
)

Array = NDArray[np.float64]
Tick = Callable[..., None]
"""Called now and then; it raises when the time is up, or will be in so many seconds ahead."""

_FLOAT_DIGITS = 16  # of a number, up to which floats are faster than integers


def no_tick(ahead: float = 0.0) -> None:
    """Time is not limited."""


def reflected(problem: Problem, rows: NDArray[np.int64] | Sequence[int]) -> Array:
    """Reflected rows as a dense block of floats, in the coordinates described above."""
    index = np.asarray(rows, dtype=np.int64)
    sample = index if problem.binary else index // (problem.K - 1)
    block = problem.matrix[sample]
    block = np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), np.float64)
    if problem.binary:
        sign = problem.sign[index]
        both = np.empty((len(index), problem.width))
        np.multiply(block, sign[:, None], out=both[:, : problem.d])
        if problem.fit_intercept:
            both[:, -1] = sign
        return both
    if problem.fit_intercept:
        block = np.column_stack([block, np.ones(len(block))])
    own = problem.label[sample]
    rival = index % (problem.K - 1)
    rival = rival + (rival >= own)
    out = np.zeros((len(index), problem.K, block.shape[1]))
    at = np.arange(len(index))
    out[at, own] = block
    out[at, rival] = -block
    return out[:, :-1].reshape(len(index), (problem.K - 1) * block.shape[1])


def equal_rows(problem: Problem) -> tuple[int, int] | None:
    """Two equal samples of different classes, the first ones; None if there are none."""
    hashes = problem.row_hashes
    ranked = np.sort(hashes)
    if not (ranked[1:] == ranked[:-1]).any():
        return None
    order = np.argsort(hashes, kind="stable")
    same = hashes[order[1:]] == hashes[order[:-1]]
    other = problem.label[order[1:]] != problem.label[order[:-1]]
    for at in np.flatnonzero(same & other).tolist():
        i, j = sorted((int(order[at]), int(order[at + 1])))
        if np.array_equal(sample(problem, i), sample(problem, j)):
            return i, j
    return None


def sample(problem: Problem, i: int) -> Array:
    """One row, written out."""
    row = problem.matrix[[i]]
    return np.ravel(row if isinstance(row, np.ndarray) else row.toarray())


def dependency(block: NDArray[Any], *, tick: Tick = no_tick) -> list[Fraction] | None:
    """Multipliers > 0 of sum 1 that combine the rows to zero, if there is just one such way.

    None when the rows are independent, when they depend on each other in more than one way,
    or when the only way has a multiplier that is not positive.
    """
    k = len(block)
    if k < 2:
        return None if np.any(block) or not k else [Fraction(1)]
    table = to_integers(block).table
    table = table[:, (table != 0).any(axis=0)]
    numbers = None
    tick(solve_seconds(table))
    if k - 1 <= table.shape[1]:
        numbers = _one_relation(table, _pivots(table, k - 1))
    if numbers is None:  # floats chose columns that depend on each other
        columns = independent_columns(table)
        if len(columns) != k - 1:
            return None
        numbers = _one_relation(table, columns)
    if numbers is None or min(numbers) <= 0 or not _zero_sum(table, numbers):
        return None
    total = sum(numbers)
    return [Fraction(number, total) for number in numbers]


def _pivots(table: NDArray[Any], count: int) -> list[int]:
    """Columns that look independent in floats, by QR with pivoting."""
    from scipy.linalg import lapack

    size = np.abs(table).max(axis=0)
    floats = np.asarray(table / np.where(size == 0, 1, size), dtype=np.float64)
    _, order, *_ = lapack.dgeqp3(floats)
    return sorted((order[:count] - 1).tolist())


def _one_relation(table: NDArray[Any], columns: list[int]) -> list[int] | None:
    """Integers n with n @ table[:, columns] = 0, the last one fixed; one column less than rows."""
    part = flint_matrix(np.ascontiguousarray(table[:-1, columns].T))
    right = flint_matrix(-table[-1:, columns].T)
    try:
        numerators, denominator = part.solve(right).numer_denom()
    except ZeroDivisionError:
        return None
    return [int(n) for n in numerators.entries()] + [int(denominator)]


def _zero_sum(table: NDArray[Any], numbers: Sequence[int]) -> bool:
    """Whether numbers @ table is zero."""
    return not any(_combined(table, numbers))


def vanishes(block: NDArray[Any], multipliers: Sequence[Fraction]) -> bool:
    """Whether the multipliers combine the rows to exactly zero."""
    table = to_integers(block).table
    numbers, _ = scaled_integers(multipliers)
    return _zero_sum(table, numbers)


def positive_combination(
    base: NDArray[Any], weights: Sequence[int], support: NDArray[Any], *, tick: Tick = no_tick
) -> list[Fraction] | None:
    """Multipliers m > 0 with weights @ base + m @ support = 0; support rows independent.

    None when there are none, or when the rows of support depend on each other.
    """
    both = to_integers(np.vstack([base, support])).table
    table, count = both[len(base) :], len(support)
    goal = _combined(both[: len(base)], weights)
    if count == 0:
        return None if any(goal) else []
    if count > table.shape[1]:  # more rows than columns depend on each other
        return None
    tick(solve_seconds(table))
    try:
        columns = _pivots(table, count)
        solution = _solve_rows(table, goal, columns)
    except ZeroDivisionError:
        columns = independent_columns(table)
        if len(columns) != count:
            return None
        solution = _solve_rows(table, goal, columns)
    numerators, denominator = solution
    if denominator < 0:
        numerators, denominator = [-n for n in numerators], -denominator
    if min(numerators) <= 0:
        return None
    left = _combined(table, numerators)
    if any(a + b * denominator for a, b in zip(left, goal)):
        return None
    return [Fraction(n, denominator) for n in numerators]


def _combined(table: NDArray[Any], numbers: Sequence[int]) -> list[int]:
    """numbers @ table."""
    if table.dtype != object and len(numbers):
        # written with digits so short that all sums of products with the table fit into floats
        most = np.abs(table).sum(axis=0, dtype=np.float64).max(initial=1.0)
        width = 51 - int(most).bit_length()
        if width > 0 and width * _FLOAT_DIGITS >= max(max(numbers), -min(numbers)).bit_length():
            return _by_digits(table, numbers, width)
    import flint

    row = flint.fmpz_mat(1, len(numbers), list(numbers))
    return [int(v) for v in (row * flint_matrix(table)).entries()]


def _by_digits(table: NDArray[Any], numbers: Sequence[int], width: int) -> list[int]:
    rest, digits, mask = list(numbers), [], (1 << width) - 1
    while any(n not in (0, -1) for n in rest):
        digits.append([n & mask for n in rest])
        rest = [n >> width for n in rest]
    digits.append(rest)  # what is left is the sign
    sums = np.array(digits, dtype=np.float64) @ table.astype(np.float64)
    total = [0] * table.shape[1]
    for row in reversed(sums.astype(np.int64).tolist()):
        total = [(t << width) + v for t, v in zip(total, row)]
    return total


def _solve_rows(
    table: NDArray[Any], goal: Sequence[int], columns: list[int]
) -> tuple[list[int], int]:
    import flint

    part = flint_matrix(np.ascontiguousarray(table[:, columns].T))
    right = flint.fmpz_mat(len(columns), 1, [-goal[j] for j in columns])
    numerators, denominator = part.solve(right).numer_denom()
    return [int(n) for n in numerators.entries()], int(denominator)


# -- Whether rows lie in the span of a few rows ---------------------------------------------------
#
# Two ways, each cheap where the other is not. With few directions outside the span, a basis of
# those directions is computed once and every row has to be orthogonal to it. With many columns
# and few rows, each row is written as a combination of the few.

_DIRECTIONS = 200  # outside the span, up to which a basis of them is computed


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
    step = max(1, EXACT_IN_CACHE // max(1, problem.d))
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
    small = isinstance(X, np.ndarray) and X.dtype == np.float64 and X.size <= AT_ONCE
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
    for at in range(0, len(rows), 64):
        tick()
        some = reflected(problem, rows[at : at + 64])
        table = to_integers(np.vstack([block, some])).table
        table = table[:, (table != 0).any(axis=0)]
        top, bottom = table[: len(block)], table[len(block) :]
        chosen = independent_columns(np.ascontiguousarray(top.T))  # rows that are independent
        top = top[chosen]
        columns = independent_columns(top)
        left = flint_matrix(top[:, columns].T)
        try:
            factor, denominator = left.solve(flint_matrix(bottom[:, columns].T)).numer_denom()
        except ZeroDivisionError:
            return False
        whole = factor.transpose() * flint_matrix(top)
        if whole != flint_matrix(bottom) * denominator:
            return False
    return True


# -- Columns of a table that are exact combinations of others, checked in integers ----------------

_CHECKED_ENTRIES = 20_000_000  # entries beyond which dependences are not checked
_CHECKED_INTEGERS = 200_000_000  # the same for small integers
_SECONDS, _SOLUTIONS = 3.0, 20  # for solutions in integers; how many cost as much as the first


def dependent_columns(problem: Problem) -> NDArray[np.int64] | None:
    """Columns of [X, 1] that are exact combinations of the others; None if that is unknown.

    Column d stands for the intercept. What is left when they are dropped spans the same space.
    """
    return problem.once(_dependent)


@reads("matrix", "fit_intercept")
def _dependent(problem: Problem) -> NDArray[np.int64] | None:
    if problem.n * problem.width > _CHECKED_ENTRIES and not _whole(problem):
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
    if problem.n * problem.width > _CHECKED_INTEGERS:
        return False
    entries = problem.matrix.data if problem.sparse else problem.matrix
    step = max(1, _CHECKED_ENTRIES // problem.width)
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
    kept = _spanning_columns(rows, intercept=problem.fit_intercept)
    if len(kept) < len(rows):
        missing = 1 + (len(rows) - len(kept)) / _SOLUTIONS
        if solve_seconds(to_integers(rows[:, kept].T).table) * missing > _SECONDS:
            return None
    half = np.arange(rows.shape[1]) % 2
    columns = Problem(np.ascontiguousarray(rows.T), half, fit_intercept=False)
    if not spans(columns, kept, np.arange(rows.shape[1])):
        return None
    return np.setdiff1d(np.arange(problem.d + 1), kept)


def _spanning_columns(rows: NDArray[np.float64], *, intercept: bool) -> NDArray[np.int64]:
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
