"""Tiles of a Gaussian kernel: one pass over each where numpy would take several.

Rows of two values only, as tables of categories have them, are held as bits: their squared
distance is the number of bits that differ, and a table has the kernel at every such number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.jit.compile import inner, routine

__all__ = ["add_tile", "distances", "exponents", "look_up", "mirror"]


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
