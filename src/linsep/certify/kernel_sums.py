"""The sums s_i = sum_j c_j K(x_j, x_i) that a proof needs: float64 where it matters.

Rows that are not support vectors and lie safely behind the edge of the street have no loss, and
that is all a proof needs to know of them. float32 with a bound of all its errors decides it for
most rows at a third of the cost; the others, and |w|^2, are computed in float64, where of the
symmetric matrix of the support vectors one half is enough.

Errors of exp(-g |x - z|^2) in float32, with u = 2^-24 and R = g max |x|^2. Exponent: entries
rounded (8 u R), products (2 (d + 1) u R), squares (2 (d + 3) u R), scaling and sums (20 u R).
Exponential and coefficient: 10 u. All of them are relative, so they are a share of
sum |c_j| K(x_j, x_i), which is summed too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.kernel_values import KernelValues

__all__ = ["Rough", "rough_sums", "sums_of"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_U = 2.0**-24
_WORTH = 4_000_000  # kernel values from which float32 pays
_WIDE = 8  # columns of sums up to which they are added up in float64
_TINY = 1e-37  # exponentials below the range of float32


@dataclass(frozen=True)
class Rough:
    """Sums in float32, and how far each can be from the truth.

    Of one machine alone only those of rows that are not support vectors, else of all rows.
    """

    sums: Array
    error: Array


def rough_sums(values: KernelValues, coef: Array) -> Rough | None:
    """Sums for each column of coef (rows x machines), or None where float32 brings nothing."""
    used = np.flatnonzero(coef.any(axis=1))
    if values.n * len(used) < _WORTH:
        return None
    share = _single_error(values)
    if share is None:
        return None
    m, parts = coef.shape[1], np.hstack([coef, np.abs(coef)])[used]
    wide = 2 * m > _WIDE
    # of one machine the support vectors need float64 in any case
    rest = np.arange(values.n) if m > 1 else np.flatnonzero(coef[:, 0] == 0)
    both = np.zeros((values.n, 2 * m))
    both[rest] = values.combine_many(used, parts, rest, np.float32, wide=not wide)
    sums, sizes = both[:, :m], both[:, m:]
    share += values.n * 2.0**-52 + (1100 * _U if wide else 0.0)  # strips of 1024 terms in float32
    if not share < 0.5:
        return None
    mass = np.abs(coef).sum(axis=0)
    return Rough(sums, sizes * (share / (1 - share)) + _TINY * mass)


def _single_error(values: KernelValues) -> float | None:
    """The relative error of a kernel value in float32, where it is known."""
    kernel = values.kernel
    if type(kernel).__name__ != "RBF" or values.matrix.shape[1] == 0:
        return None
    rows = values.prepared(np.float32)
    largest = float(values.prepared(np.float64).squares.max(initial=0.0)) * float(kernel.rate)
    if rows.origin is not None or not largest <= 1e3:  # moved rows, or differences of entries
        return None
    d = values.matrix.shape[1]
    exponent = (4 * d + 48) * _U * largest * (1 + 1e-3)
    return float(np.expm1(exponent)) + 10 * _U


def sums_of(
    values: KernelValues, ids: Index, y: Array, signed: Array, b: float, rough: Any = None
) -> tuple[Array, Array]:
    """Sums for the rows ``ids`` and what float32 adds to their errors: 0 where float64 was used.

    rough is a pair (sums, error) of these rows.
    """
    some = np.flatnonzero(signed)
    if rough is None:
        return values.combine(ids[some], signed[some], ids), np.zeros(len(ids))
    s, error = rough[0].copy(), rough[1].copy()
    clear = (y * (s + b) - error > 1.0 + 1e-6 * (1.0 + abs(b))) & (signed == 0)
    rest = np.flatnonzero(~clear & (signed == 0))
    s[some] = values.combine_symmetric(ids[some], signed[some])
    s[rest] = values.combine(ids[some], signed[some], ids[rest])
    return s, np.where(clear, error, 0.0)
