"""The sums s_i = sum_j c_j K(x_j, x_i) that a proof needs: float64 where it matters.

Rows that are not support vectors and lie safely behind the edge of the street have no loss, and
that is all a proof needs to know of them. float32 with a bound of all its errors decides it for
most rows at a third of the cost; the others, and |w|^2, are computed in float64, where of the
symmetric matrix of the support vectors one half is enough.

Errors of exp(-g |x - z|^2) in float32, with u = 2^-24 and R = g max |x|^2. Exponent: entries
rounded (8 u R), products (2 (d + 1) u R), squares (2 (d + 3) u R), scaling and sums (20 u R).
Where the exponent is one product of rows with two more columns (kernels/lifted.py): a row s x is
off by three roundings, so the distance of two by 24 u R at most; squares are rounded once (2 u R);
the product adds d + 2 terms whose sizes sum up to 4 R (4 (d + 2) u R). Either is less than
(4 d + 48) u R, and what is below 2^-125 counts as that.
Exponential and coefficient: 10 u. All of them are relative, so they are a share of
sum |c_j| K(x_j, x_i), which is summed too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.kernel_values import KernelValues
from linsep.core.lanes import run_all
from linsep.jit.smo import add_rows
from linsep.kernels.rows import Rows
from linsep.kernels.sums import SHORT, STRIP, signed_sums, weighted_sums

__all__ = ["WORTH", "Rough", "rough_sums", "single_sums", "stored_sums", "sums_of"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_U = 2.0**-24
WORTH = 4_000_000  # kernel values from which float32 pays
_TINY = 1e-37  # exponentials below the range of float32
_FAR = 1e30  # rates beyond this, or below its inverse, may leave float32 with the squares


@dataclass(frozen=True)
class Rough:
    """Sums in float32, and how far each can be from the truth: infinitely where none was made.

    Of one machine alone only those of rows that are not support vectors; else of all rows, of
    each for the machines it takes part in.
    """

    sums: Array
    error: Array


def rough_sums(
    values: KernelValues, coef: Array, groups: list[tuple[Index, Index]] | None = None
) -> Rough | None:
    """Sums for each column of coef (rows x machines), or None where float32 brings nothing.

    groups are rows with the columns that are wanted of them; without it all are.
    """
    used = np.flatnonzero(coef.any(axis=1))
    if values.kernel is None or values.n * len(used) < WORTH:
        return None
    if not bounded(values.kernel, values.prepared(np.float32)):
        return None
    if groups is None:
        # of one machine the support vectors need float64 in any case
        rest = np.flatnonzero(coef[:, 0] == 0) if coef.shape[1] == 1 else np.arange(values.n)
        groups = [(rest, np.arange(coef.shape[1]))]
    sums, error = np.zeros(coef.shape), np.full(coef.shape, np.inf)
    for rows, columns in groups:
        own = coef[:, columns]
        used = np.flatnonzero(own.any(axis=1))
        left, right = values.picked(rows, np.float32), values.picked(used, np.float32)
        found = single_sums(values.kernel, left, right, own[used])
        if found is None:
            return None
        place = rows[:, None], columns
        sums[place], error[place] = found
    return Rough(sums, error)


def single_sums(kernel: Any, A: Rows, B: Rows, coef: Array) -> tuple[Array, Array] | None:
    """weighted_sums of rows in float32, and bounds of their errors; None if there are none."""
    if not A.n:
        return None
    m = coef.shape[1]
    if not B.n:
        return np.zeros((A.n, m)), np.zeros((A.n, m))
    share = _share(kernel, A, B, SHORT if m == 1 else STRIP + 74)
    if share is None:
        return None
    if m == 1:
        plus, minus = (v[:, None] for v in signed_sums(kernel, A, B, coef[:, 0]))
        return plus - minus, _error(plus + minus, share, coef)
    both = weighted_sums(kernel, A, B, np.hstack([coef, np.abs(coef)]))
    return both[:, :m], _error(both[:, m:], share, coef)


def stored_sums(
    values: KernelValues, G: NDArray[Any], slots: Index, coef: Array, spans: list[tuple[int, int]]
) -> tuple[Array, Array] | None:
    """The same for the rows in the spans, from rows of float32 values that are there already.

    Row slots[k] of G, made by ``values``, has the coefficient coef[k].
    """
    if values.kernel is None or G.dtype != np.float32:
        return None
    rows = values.prepared(np.float32)
    share = _share(values.kernel, rows, rows, 8) if bounded(values.kernel, rows) else None
    if share is None:
        return None
    sides = [(slots[side], np.abs(coef[side])) for side in (coef > 0, coef < 0)]
    sums = [np.zeros((2, hi - lo)) for lo, hi in spans]
    jobs = []
    for total, (lo, hi) in zip(sums, spans):
        for out, (some, size) in zip(total, sides):
            args = out, G, some, size.astype(np.float32), lo, hi
            jobs.append(partial(add_rows.choose(*args, size=G.size, work=G.size), *args))
    run_all(jobs)
    plus, minus = np.concatenate(sums, axis=1)
    return plus - minus, _error(plus + minus, share, coef)


def _share(kernel: Any, A: Rows, B: Rows, terms: int) -> float | None:
    """Error of a sum of values that float32 adds up ``terms`` at a time, over that of sizes."""
    if not bounded(kernel, B):
        return None
    squares = max(float(A.squares.max()), float(B.squares.max()))
    largest = squares * float(kernel.rate) * (1 + 4 * (A.d + 4) * _U)
    if not largest <= 1e3:  # products of rows do not resolve the distances
        return None
    share = float(np.expm1((4 * A.d + 48) * _U * largest)) + 10 * _U + B.n * 2.0**-52
    share += (terms + 2) * _U
    return share if share < 0.5 else None


def _error(size: Array, share: float, coef: Array) -> Array:
    return np.asarray(size * (share / (1 - share)) + _TINY * np.abs(coef).sum(axis=0))


def bounded(kernel: Any, rows: Rows) -> bool:
    """Whether the errors of float32 are known: of Gaussians of rows that were not moved.

    A rate within the range keeps squares that underflow from mattering, and is not one itself.
    """
    if type(kernel).__name__ != "RBF" or not rows.d or rows.origin is not None:
        return False
    return bool(1 / _FAR <= kernel.rate <= _FAR)


def sums_of(
    values: KernelValues, ids: Index, y: Array, signed: Array, b: float, rough: Any = None
) -> tuple[Array, Array]:
    """Sums for the rows ``ids`` and what float32 adds to their errors: 0 where float64 was used.

    rough is a pair (sums, error) of these rows. Those of the support vectors are made again, so
    they tell whether it can be believed: values that somebody has kept may have been written to.
    """
    some = np.flatnonzero(signed)
    if rough is None:
        return values.combine(ids[some], signed[some], ids), np.zeros(len(ids))
    s, error = rough[0].copy(), rough[1].copy()
    again = values.combine_symmetric(ids[some], signed[some])
    if not (np.abs(s[some] - again) <= error[some]).all():
        return values.combine(ids[some], signed[some], ids), np.zeros(len(ids))
    clear = (y * (s + b) - error > 1.0 + 1e-6 * (1.0 + abs(b))) & (signed == 0)
    rest = np.flatnonzero(~clear & (signed == 0))
    s[some] = again
    s[rest] = values.combine(ids[some], signed[some], ids[rest])
    return s, np.where(clear, error, 0.0)
