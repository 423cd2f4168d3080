"""Tiles of a Gaussian kernel: one pass over each where numpy would take several.

Rows of two values only, as tables of categories have them, are held as bits: their squared
distance is the number of bits that differ, and a table has the kernel at every such number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.jit.compile import inner, routine

__all__ = [
    "add_gaussians", "add_tile", "distances", "exponents", "gaussians", "look_up", "mirror",
]  # fmt: skip

# 2^f for |f| <= 1/2 with f(0) = 1: relative error below 3.2 x 2^-24, its evaluation included
_1, _2, _3, _4, _5 = (
    np.float32(x) for x in (0.693147, 0.24022248, 0.05550732, 0.009671513, 0.0013264727)
)
_ZERO, _ONE, _LEAST = np.float32(0), np.float32(1), np.float32(-125)  # no denormal numbers
_ROUND = np.float32(1.5 * 2**23)  # added and taken away again it leaves whole numbers
_BIAS, _PLACE = np.float32(127), np.float32(2**23)  # of the exponent in the bits of a float32


@inner
def _power(z: Any) -> Any:
    """2^z in float32, with z put between -125 and 0; a few operations, all of them in lanes."""
    z = z if z < _ZERO else _ZERO
    z = z if z > _LEAST else _LEAST
    n = (z + _ROUND) - _ROUND
    f = z - n
    p = ((((_5 * f + _4) * f + _3) * f + _2) * f + _1) * f + _ONE
    return p * np.int32((n + _BIAS) * _PLACE).view(np.float32)


@routine
def gaussians(T: Any) -> Any:
    """T_ij <- 2^T_ij for T_ij <= 0; what is above 0 is taken for rounding."""
    for i in range(len(T)):
        row = T[i]
        for j in range(len(row)):
            row[j] = _power(row[j])


@routine
def add_gaussians(T: Any, coef: Any, part: Any, first: Any, second: Any, cut: int) -> Any:
    """``add_tile`` of the values that ``gaussians`` would make of T, which are not kept."""
    at = 0
    while at < len(T):
        end = min(at + 16, cut if at < cut else len(T))
        for j in range(len(part)):
            part[j] = _ZERO
        for i in range(at, end):
            row, c = T[i], coef[i]
            for j in range(len(part)):
                part[j] += c * _power(row[j])
        total = first if at < cut else second
        for j in range(len(part)):
            total[j] += part[j]
        at = end


@routine
def exponents(T: Any, left: Any, right: Any, scale: Any, low: Any, top: Any) -> Any:
    """T_ij <- min(scale T_ij - left_i - right_j, top) in its format; twice low below low."""
    nothing = low + low
    for i in range(len(T)):
        row, own = T[i], left[i]
        for j in range(len(row)):
            t = scale * row[j] - own - right[j]
            t = t if t < top else top
            row[j] = t if t > low else nothing


@routine
def add_tile(T: Any, coef: Any, part: Any, first: Any, second: Any, cut: int) -> Any:
    """Sums over the rows of T times coef: of the rows before cut, and of the others.

    They are added to first and second, which are float64; 16 rows at a time are summed up in the
    format of T and ``part``.
    """
    at = 0
    while at < len(T):
        end = min(at + 16, cut if at < cut else len(T))
        row, c = T[at], coef[at]
        for j in range(len(part)):
            part[j] = c * row[j]
        for i in range(at + 1, end):
            row, c = T[i], coef[i]
            for j in range(len(part)):
                part[j] += c * row[j]
        total = first if at < cut else second
        for j in range(len(part)):
            total[j] += part[j]
        at = end


@routine
def mirror(T: Any, G: Any, lo: int, at: int) -> Any:
    """G[lo:, at:] <- T and G[at:, lo:] <- T', by squares that stay in the cache."""
    m, n = T.shape
    for i in range(m):
        row, own = G[lo + i, at : at + n], T[i]
        for j in range(n):
            row[j] = own[j]
    for b in range(0, n, 16):
        end = min(b + 16, n)
        for a in range(0, m, 16):
            stop = min(a + 16, m)
            for j in range(b, end):
                row = G[at + j, lo + a : lo + stop]
                for i in range(a, stop):
                    row[i - a] = T[i, j]


@inner
def _ones(x: Any) -> Any:
    """How many bits of a uint64 are set, by halves."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@inner
def _apart(own: Any, other: Any, count: Any) -> None:
    """count_j <- in how many bits a row differs from row j; ``other`` has a row for each word."""
    word = other[0]
    for j in range(len(count)):
        count[j] = _ones(own[0] ^ word[j])
    for w in range(1, len(own)):
        word, x = other[w], own[w]
        for j in range(len(count)):
            count[j] += _ones(x ^ word[j])


@routine
def distances(A: Any, B: Any, table: Any, out: Any, count: Any) -> Any:
    """out_ij <- table at the number of bits in which row i of A and column j of B differ."""
    for i in range(len(A)):
        _apart(A[i], B, count)
        row = out[i]
        for j in range(len(row)):
            row[j] = table[count[j]]


@routine
def look_up(A: Any, B: Any, table: Any, coef: Any, total: Any, count: Any) -> Any:
    """total_j += sum over i of coef_i times the same value, in float64."""
    for i in range(len(A)):
        _apart(A[i], B, count)
        c = coef[i]
        for j in range(len(total)):
            total[j] += c * table[count[j]]
