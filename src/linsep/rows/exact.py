"""Rational arithmetic on reflected rows.

Everything here is exact; floats only suggest where to look.

Rows are given as a block of floats: for two classes y [x, 1], for K > 2 classes the Kesler
rows without the block of the last class (adding one vector to all blocks changes no decision,
so the last block may be taken as zero). Without an intercept the constant column is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.numerics.integers import (
    flint_matrix,
    independent_columns,
    scaled_integers,
    solve_seconds,
    to_integers,
)

Array = NDArray[np.float64]
Tick = Callable[..., None]
"""Called now and then; it raises when the time is up, or will be in so many seconds ahead."""

_DIGITS = 16  # of a number, up to which floats are faster than integers


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
        if width > 0 and width * _DIGITS >= max(max(numbers), -min(numbers)).bit_length():
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
