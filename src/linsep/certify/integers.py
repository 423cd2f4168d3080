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

__all__ = [
    "Integers",
    "flint_matrix",
    "independent_columns",
    "integer_products",
    "least_rank",
    "scaled_integers",
    "small_products",
    "solve_seconds",
    "to_integers",
]

_PRIME = 2147483629
_SMALL = 62  # bits that are safe in int64
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
    if bits.max(initial=0) <= _SMALL:
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


def solve_seconds(table: NDArray[Any]) -> float:
    """About how long a linear system of these integers takes: digits of n numbers, n^2 each."""
    if not table.size:
        return 0.0
    n = min(table.shape)
    bits = max(int(table.max()), -int(table.min())).bit_length() + n.bit_length() / 2
    return float(_SOLVE_SECONDS * bits * n**3)
