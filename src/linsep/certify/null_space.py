"""Integer vectors that are orthogonal to rows, in reduced form."""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.integers import (
    flint_matrix,
    independent_columns,
    integer_products,
    small_products,
    to_integers,
)
from linsep.jit.eliminate import eliminate

__all__ = ["null_space"]

Array = NDArray[np.float64]

_SMALL = 62  # bits that are safe in int64
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
    small = max((max(map(abs, vector)) for vector in out), default=0) < 2**_SMALL
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
