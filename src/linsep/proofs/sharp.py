"""Sums of a dual point that are rounded once, for tables where the usual bound is too wide.

The usual bound of rounding errors grows with |alpha| times the lengths of columns. Beside columns
of 1e8 at a large C it can be most of the gap, though alpha itself is as good as any. Here every
column is summed by ``numerics/rounding.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import SHARP_ENTRIES
from linsep.core.problem import Problem
from linsep.numerics.rounding import (
    LOST,
    SPLITTABLE,
    U,
    rounded_once,
    split_product,
    sum_of_pairs,
)
from linsep.proofs import plain

Array = NDArray[np.float64]


class SharpSums(NamedTuple):
    """Sums of a dual point that are rounded once."""

    total: float
    """sum alpha_i, nearly."""
    squared: float
    """At least |sum alpha_i y_i x_i|^2."""
    heavy: NDArray[np.bool_]
    share: float
    """The alpha of the heavy rows count 1 - share times, nearly: so that they balance exactly."""


def sharp_sums(problem: Problem, alpha: Array, *, free: bool) -> SharpSums | None:
    """Sums for a dual point; None where they are not tried.

    free asks for a balanced alpha: that of the heavier class times the factor at which
    sum alpha_i y_i vanishes exactly. No alpha grows.
    """
    return sharp_sums_of(problem.matrix, plain.signs(problem), alpha, free=free)


def sharp_sums_of(matrix: Any, signs: Array, alpha: Array, *, free: bool) -> SharpSums | None:
    """The same for rows and their signs."""
    found = _used_rows(matrix, alpha)
    if found is None:
        return None
    rows, X, c = found
    sign = signs[rows]
    total, heavy, share = rounded_once(c), np.zeros(len(c), np.bool_), 0.0
    if free:
        extra = rounded_once(c * sign)
        heavy = sign > 0 if extra > 0 else sign < 0
        if not heavy.any():
            return None
        share = abs(extra) / rounded_once(c[heavy])  # to be taken off the heavier class
        total -= abs(extra)
    squared = 0.0
    for column in X.T:
        squared += _column(c * sign, column, heavy, share) ** 2
    every = np.zeros(len(alpha), np.bool_)
    every[rows] = heavy
    return SharpSums(total, squared * (1 + (X.shape[1] + 16) * U), every, share)


def sharp_weights(matrix: Any, signed: Array) -> tuple[Array, Array] | None:
    """w = sum of the rows times these numbers, and how far each entry may be off; None where it
    is not tried."""
    found = _used_rows(matrix, signed)
    if found is None:
        return None
    _, X, c = found
    w = np.array([sum_of_pairs(*split_product(c, column)) for column in X.T])
    return w, U * np.abs(w) + len(c) * LOST


def _used_rows(matrix: Any, numbers: Array) -> tuple[NDArray[np.int64], Array, Array] | None:
    """The rows whose numbers are not 0, written out, with these numbers."""
    rows = np.flatnonzero(numbers)
    if not rows.size or rows.size * matrix.shape[1] > SHARP_ENTRIES:
        return None
    X = matrix[rows]
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    c = numbers[rows]
    fits = max(float(np.abs(X).max()), float(np.abs(c).max())) < SPLITTABLE
    return (rows, X, c) if fits else None


def _column(c: Array, x: Array, heavy: NDArray[np.bool_], share: float) -> float:
    """At least |sum c x - share * sum of c x over the heavy rows|."""
    first, second = split_product(c, x)
    v = sum_of_pairs(first, second)
    off = 0.0
    if share > 0.0:
        off = share * sum_of_pairs(first[heavy], second[heavy])
    return abs(v - off) + 4 * U * abs(v) + 8 * U * abs(off) + len(c) * LOST
