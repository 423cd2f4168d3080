"""Floats as integers: a float is an integer times a power of two.

The rows of a float matrix become integers once every column is multiplied by a power of two of
its own. Linear dependencies between rows do not change by that. Everything here is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import routine

_PRIME = 2147483629
_INT64_BITS = 62  # bits that are safe in int64
_SOLVE_SECONDS = 7e-10  # of a linear system, for each bit of n^3 numbers


class Integers(NamedTuple):
    """Block[i, j] = table[i, j] * 2 ** shift[j]; table of int64 or of Python integers."""

    table: NDArray[Any]
    shift: NDArray[np.int64]


def to_integers(block: NDArray[Any]) -> Integers:
    """Multiply each column by the smallest power of two that makes it integer."""
    block = np.asarray(block, dtype=np.float64)
    if block.size and np.abs(block).max() < 2.0**53 and (np.rint(block) == block).all():
        return Integers(block.astype(np.int64), np.zeros(block.shape[1], dtype=np.int64))
    fraction, exponent = np.frexp(block)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    filled = mantissa != 0
    lowest = np.frexp((mantissa & -mantissa).astype(np.float64))[1] - 1
    lowest = np.where(filled, lowest, 0)
    mantissa >>= lowest
    exponent = exponent.astype(np.int64) - 53 + lowest
    none = np.iinfo(np.int64).max
    shift = np.where(filled, exponent, none).min(axis=0, initial=none)
    shift = np.where(shift == none, 0, shift)
    up = np.where(filled, exponent - shift, 0)
    bits = np.frexp(np.abs(mantissa).astype(np.float64))[1] + up
    if bits.max(initial=0) <= _INT64_BITS:
        return Integers(mantissa << up, shift)
    return Integers(mantissa.astype(object) << up.astype(object), shift)


def scaled_integers(values: Sequence[Any] | NDArray[Any]) -> tuple[list[int], Fraction]:
    """Integers without a common factor, and the positive scale: value = integer * scale."""
    fractions = [v if isinstance(v, Fraction) else Fraction(v) for v in _plain(values)]
    common = lcm(*(f.denominator for f in fractions))
    numbers = [f.numerator * (common // f.denominator) for f in fractions]
    divisor = gcd(*numbers) or 1
    return [n // divisor for n in numbers], Fraction(divisor, common)


def integer_products(
    block: NDArray[Any], vectors: Sequence[Sequence[int]] | NDArray[Any]
) -> tuple[NDArray[Any], int]:
    """Products of the rows with integer vectors: integers, all times one power of two."""
    quick = small_products(block, vectors)
    if quick is not None:
        return quick, 0
    table, shift = to_integers(block)
    low = int(shift.min(initial=0))
    right: Sequence[Sequence[int]] = _plain(vectors)
    if (shift != low).any():
        right = [[v << int(s - low) for v, s in zip(vector, shift)] for vector in right]
    if table.dtype != object and max(max(map(abs, v), default=0) for v in right) < 2**53:
        floats = np.array(right, dtype=np.float64).T
        limit = np.abs(table).max(axis=0, initial=1).astype(np.float64) @ np.abs(floats)
        if limit.max(initial=0.0) < 2.0**52:
            # all partial sums are integers below 2^53, so the product is exact in any order
            return (table.astype(np.float64) @ floats).astype(np.int64), low
    import flint

    flat = [v for vector in right for v in vector]
    whole = flint_matrix(table) * flint.fmpz_mat(len(right), len(right[0]), flat).transpose()
    out = np.empty((len(table), len(right)), dtype=object)
    out[:] = [[int(v) for v in row] for row in whole.tolist()]
    return out, low


def small_products(
    block: NDArray[Any], vectors: Sequence[Sequence[int]] | NDArray[Any]
) -> NDArray[np.int64] | None:
    """The same for integers so small that floats hold every partial sum in any order."""
    right = vectors if isinstance(vectors, np.ndarray) else np.array(vectors)
    if right.dtype != np.int64 or not right.size or not len(block):
        return None
    floats = right.T.astype(np.float64)
    largest = max(float(block.max()), -float(block.min()))
    if not largest < 2.0**52 / max(1.0, float(np.abs(floats).sum(axis=0).max())):
        return None
    if not (np.rint(block) == block).all():
        return None
    return np.asarray(np.asarray(block @ floats).astype(np.int64))


def _plain(values: Sequence[Any] | NDArray[Any]) -> Sequence[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else values


def flint_matrix(table: NDArray[Any]) -> Any:
    import flint

    return flint.fmpz_mat(*table.shape, table.ravel().tolist())


def _modular(table: NDArray[Any], prime: int) -> Any:
    import flint

    return flint.nmod_mat(*table.shape, (table % prime).ravel().tolist(), prime)


def least_rank(block: NDArray[Any]) -> int:
    """The rank of the rows modulo a prime: never more than the rank, and almost surely equal."""
    return int(_modular(to_integers(block).table, _PRIME).rank())


def independent_columns(table: NDArray[Any]) -> list[int]:
    """Columns that are independent modulo a prime, as many as there are (almost surely)."""
    reduced, rank = _modular(table, _PRIME).rref()
    columns, at = [], 0
    for i in range(rank):
        while int(reduced[i, at]) == 0:
            at += 1
        columns.append(at)
    return columns


def solve_seconds(table: NDArray[Any], side: int | None = None) -> float:
    """About how long a linear system of such integers takes: digits of n numbers, n^2 each.

    Of n equations of these integers, or of as many as ``side`` says.
    """
    if not table.size:
        return 0.0
    n = min(table.shape) if side is None else side
    bits = max(int(table.max()), -int(table.min())).bit_length() + n.bit_length() / 2
    return float(_SOLVE_SECONDS * bits * n**3)


# -- Integer vectors that are orthogonal to rows, in reduced form ---------------------------------


Array = NDArray[np.float64]

_DENOMINATORS = 12  # that are tried to read a fraction from a float
_ELIMINATION = 3e8  # operations up to which floats are tried


def null_space(block: NDArray[Any]) -> NDArray[Any]:
    """Integer vectors that span all a with block @ a = 0, one a row, in reduced form.

    Each vector has one column of its own where the others are zero, so they are sparse where
    the block is.
    """
    table, shift = to_integers(block)
    D = table.shape[1]
    if table.dtype != object and not shift.any():
        quick = _small_null_space(table)
        if quick is not None:
            return quick
    if len(table) > D:  # surely some depend on the others
        table = table[independent_columns(np.ascontiguousarray(table.T))]
    if not len(table):
        return np.eye(D, dtype=np.int64)
    reduced, denominator, rank = flint_matrix(table).rref()
    numbers = [[int(v) for v in row] for row in reduced.tolist()]
    top = int(denominator)
    pivots = [next(j for j, v in enumerate(row) if v) for row in numbers[:rank]]
    highest = int(shift.max())
    up = [highest - int(s) for s in shift]  # undoes the powers of two of the columns
    out = []
    for free in sorted(set(range(D)) - set(pivots)):
        vector = [0] * D
        vector[free] = top << up[free]
        for pivot, row in zip(pivots, numbers):
            if row[free]:
                vector[pivot] = -row[free] << up[pivot]
        divisor = gcd(*vector)
        out.append([v // divisor for v in vector])
    basis = np.array(out, dtype=object).reshape(len(out), D)
    if len(table) < len(block) and out and integer_products(block, basis)[0].any():
        raise ArithmeticError("rows that depend on others modulo a prime do not: unlucky prime")
    small = max((max(map(abs, vector)) for vector in out), default=0) < 2**_INT64_BITS
    return basis.astype(np.int64) if small else basis


def _small_null_space(table: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The same where floats can guess small numbers, which are then proved in integers.

    The vectors are independent and orthogonal to the rows, so there are not too many; the
    columns with pivots are proved independent, so there are not too few.
    """
    n, D = table.shape
    if not n or n * D * min(n, D) > _ELIMINATION or float(np.abs(table).max()) > 2.0**20:
        return None
    floats = table.astype(np.float64)
    rows, pivots = _echelon(floats)
    r = len(pivots)
    free = np.setdiff1d(np.arange(D), pivots)
    square = floats[np.ix_(rows, pivots)]
    try:
        inverse: Array = np.asarray(np.linalg.inv(square), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    if not _inverts(square, inverse):
        return None
    part = -(inverse @ floats[np.ix_(rows, free)])
    vectors = np.zeros((len(free), D))
    vectors[:, pivots] = part.T
    vectors[np.arange(len(free)), free] = 1.0
    open_ = np.ones(len(free), dtype=bool)
    for q in range(1, _DENOMINATORS + 1):
        if not open_.any():
            break
        some = q * vectors[open_]
        good = (np.abs(some - np.rint(some)) < 1e-6).all(axis=1)
        done = np.flatnonzero(open_)[good]
        vectors[done] = np.rint(some[good])
        open_[done] = False
    if open_.any() or np.abs(vectors).max(initial=0.0) > 2.0**20:
        return None
    out = vectors.astype(np.int64)
    if r < D:
        zero = small_products(floats, out)
        if zero is None or zero.any():
            return None
    return out


def _echelon(floats: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of the pivots that elimination by columns seems to find."""
    work = np.array(floats, order="C")
    n, D = work.shape
    order = np.arange(n)
    pivots = np.empty(min(n, D), dtype=np.int64)
    touched = n * D * min(n, D)
    rank = eliminate(work, order, pivots, 1e-9, size=touched, work=touched, alike=True)
    return order[:rank], pivots[:rank]


def _inverts(square: Array, inverse: Array) -> bool:
    """Whether a matrix is surely not singular: the product with an inverse is near the unit."""
    r = len(square)
    off = np.abs(inverse @ square - np.eye(r)).sum(axis=1)
    rounding = (r + 2) * 2.0**-52 * (np.abs(inverse) @ np.abs(square)).sum(axis=1)
    return bool(((off + rounding) < 0.5).all())


# -- Elimination by columns, the largest entry of each first --------------------------------------


@routine
def eliminate(work, order, pivots, tiny):
    """Bring work into echelon form in place; gives back the number of pivots.

    order follows the exchanges of rows, pivots gets the columns that have one. Entries up to
    tiny count as zero.
    """
    n, D = work.shape
    rank = 0
    for j in range(D):
        if rank == n:
            break
        best = rank + np.argmax(np.abs(work[rank:, j]))
        if abs(work[best, j]) <= tiny:
            continue
        if best != rank:
            for q in range(j, D):
                held = work[rank, q]
                work[rank, q] = work[best, q]
                work[best, q] = held
            first = order[rank]
            order[rank] = order[best]
            order[best] = first
        top = work[rank, j + 1 :]
        for i in range(rank + 1, n):
            if work[i, j] != 0.0:
                below = work[i, j + 1 :]
                below -= work[i, j] / work[rank, j] * top
        pivots[rank] = j
        rank += 1
    return rank
