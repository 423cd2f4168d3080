"""Kernel values of a few hundred rows of an additive kernel, for a working set.

The minimum and the harmonic mean are summed directly. Other power means are smooth: a table of
them is a product F F' of low rank, so that a block is a product of two matrices. Its error is
of no consequence: scores of all rows are never computed from blocks.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import run_all
from linsep.jit import additive as loops
from linsep.kernels.additive_function import kappa
from linsep.kernels.additive_levels import Levels

__all__ = ["kernel_block"]

Array = NDArray[Any]

_DENSE = 0.08  # share of entries from which rows are laid out densely
_COLUMNS = 128  # rows of the other side worked on together; they stay in the cache
_RANK = 1e-9
_SERIAL = 2_000_000


def kernel_block(
    levels: Levels, new: NDArray[np.int64], rows: NDArray[np.int64], short: bool = False
) -> Array:
    """K(x_i, x_j) for i in new and j in rows; short computes it in float32."""
    counts = levels.indptr[rows + 1] - levels.indptr[rows]
    dense = counts.sum() > _DENSE * len(rows) * levels.d
    if levels.power not in (-np.inf, -1.0):
        if not dense and levels.nodes is not None and levels.nodes.cells is None:
            return _by_table(levels, new, rows)
        return _by_rank(levels, new, rows)
    values, scale = _values(levels, short)
    if dense:
        out = _dense(levels, new, rows, values)
    else:
        out = _sparse(levels, new, rows, values)
    return out if scale == 1.0 else out.astype(np.float64) * scale


def _values(levels: Levels, short: bool) -> tuple[Array, float]:
    """Values of the slots, in float32 if asked for, and what they were divided by."""
    if not short:
        return levels.values, 1.0
    kept: tuple[Array, float] | None = levels.__dict__.get("_short")
    if kept is None:  # the kernels are homogeneous: a scale keeps float32 in its range
        scale = float(2.0 ** np.frexp(levels.values.max(initial=1e-300))[1])
        kept = np.maximum(levels.values / scale, 1e-30).astype(np.float32), scale
        levels.__dict__["_short"] = kept
    return kept


def _entries(levels: Levels, rows: NDArray[np.int64]) -> tuple[Any, Any]:
    """Place among the rows, and position, of all entries of some rows."""
    first = levels.indptr[rows]
    counts = levels.indptr[rows + 1] - first
    place = np.repeat(np.arange(len(rows)), counts)
    ends = np.cumsum(counts)
    at = np.arange(len(place)) + np.repeat(first - (ends - counts), counts)
    return place, at


def _dense(levels: Levels, new: NDArray[np.int64], rows: NDArray[np.int64], values: Array) -> Array:
    out = np.empty((len(new), len(rows)), dtype=values.dtype)
    work = int((levels.indptr[new + 1] - levels.indptr[new]).sum())
    harmonic = levels.power == -1.0

    def part(lo: int) -> None:
        own = rows[lo : lo + _COLUMNS]
        place, at = _entries(levels, own)
        Z = np.zeros((levels.d, len(own)), dtype=values.dtype)
        Z[levels.column[at], place] = values[levels.slot[at]]
        block = np.empty((len(new), len(own)), dtype=values.dtype)
        loops.block_dense(
            levels.indptr, levels.column, levels.slot, values, new, Z, harmonic,
            np.empty(len(own), dtype=values.dtype), block, size=levels.nnz,
            work=2 * work * len(own),
        )  # fmt: skip
        out[:, lo : lo + _COLUMNS] = block

    jobs = [partial(part, lo) for lo in range(0, len(rows), _COLUMNS)]
    run_all(jobs, None if work * len(rows) > _SERIAL else 1)
    levels.operations += work * len(rows)
    return out


def _columns_of(levels: Levels, rows: NDArray[np.int64]) -> tuple[Any, Any, Any]:
    """Entries of some rows by columns: where columns begin, places of rows, slots."""
    place, at = _entries(levels, rows)
    column = levels.column[at]
    order = np.argsort(column, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=levels.d))])
    return first, place[order], levels.slot[at][order]


def _work(levels: Levels, new: NDArray[np.int64], slots: Any) -> int:
    """Pairs of entries in a common column, about."""
    entries = (levels.indptr[new + 1] - levels.indptr[new]).sum()
    work = int(entries * max(1.0, len(slots) / levels.d))
    levels.operations += work
    return 2 * work


def _sparse(
    levels: Levels, new: NDArray[np.int64], rows: NDArray[np.int64], values: Array
) -> Array:
    first, place, slots = _columns_of(levels, rows)
    out = np.empty((len(new), len(rows)), dtype=values.dtype)
    loops.block_sparse(
        levels.indptr, levels.column, levels.slot, values, new, first, place, values[slots],
        levels.power == -1.0, out, size=levels.nnz, work=_work(levels, new, slots),
    )  # fmt: skip
    return out


def _by_table(levels: Levels, new: NDArray[np.int64], rows: NDArray[np.int64]) -> Array:
    first, place, slots = _columns_of(levels, rows)
    out = np.empty((len(new), len(rows)))
    loops.block_table(
        levels.indptr, levels.column, levels.slot, levels.places.base, levels.places.root, new,
        first, place, slots, levels.table, out, size=levels.nnz, work=_work(levels, new, slots),
    )  # fmt: skip
    return out


# -- low rank -----------------------------------------------------------------------------------


def _by_rank(levels: Levels, new: NDArray[np.int64], rows: NDArray[np.int64]) -> Array:
    if levels.nodes is None and levels.power != 0.0:
        return _one_by_one(levels, new, rows)
    factor = _factor(levels)
    out = np.zeros((len(new), len(rows)))
    r = factor.shape[1]
    step = max(1, (1 << 22) // (r * max(len(rows), 1)))
    right, left = _entries(levels, rows), _entries(levels, new)
    for lo in range(0, levels.d, step):
        B = _features(levels, right, len(rows), lo, min(levels.d, lo + step), factor)
        A = _features(levels, left, len(new), lo, min(levels.d, lo + step), factor)
        out += A @ B.T
    levels.operations += out.size * levels.d * r
    return out


def _factor(levels: Levels) -> Array:
    """F with F F' the table of the nodes; kept with the levels."""
    kept: Array | None = levels.__dict__.get("_factor")
    if kept is None:
        if levels.power == 0.0:
            kept = np.ones((1, 1))
        else:
            value, vector = np.linalg.eigh(levels.table)
            large = value > _RANK * value[-1]
            kept = vector[:, large] * np.sqrt(value[large])
        levels.__dict__["_factor"] = kept
    return kept


def _features(levels: Levels, entries: Any, n: int, lo: int, hi: int, factor: Array) -> Array:
    """Coordinates of rows whose products are kernel values, for some features."""
    place, at = entries
    column = levels.column[at]
    inside = (column >= lo) & (column < hi)
    place, column, slot = place[inside], column[inside] - lo, levels.slot[at[inside]]
    out = np.zeros((n, hi - lo, factor.shape[1]))
    root = np.sqrt(levels.values[slot])
    if levels.nodes is None:
        coordinates: Array = np.ones((len(slot), 1))
    else:
        base, points = levels.places.base[slot], levels.nodes.points
        if len(points) == 1:
            coordinates = factor[base]
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                weight = levels.nodes.signs / (levels.places.t[slot][:, None] - points)
            weight[np.isinf(weight).any(axis=1)] = np.isinf(weight)[np.isinf(weight).any(axis=1)]
            weight /= weight.sum(axis=1, keepdims=True)
            nodes = base[:, None] + np.arange(len(points))
            coordinates = np.einsum("sa,sar->sr", weight, factor[nodes])
    out[place, column] = root[:, None] * coordinates
    return out.reshape(n, -1)


def _one_by_one(levels: Levels, new: NDArray[np.int64], rows: NDArray[np.int64]) -> Array:
    """Pair by pair, where no table of nodes is small enough."""
    out = np.zeros((len(new), len(rows)))
    place, at = _entries(levels, rows)
    column, value = levels.column[at], levels.values[levels.slot[at]]
    Z = np.zeros((levels.d, len(rows)))
    Z[column, place] = value
    for r, i in enumerate(new.tolist()):
        own = slice(levels.indptr[i], levels.indptr[i + 1])
        z = Z[levels.column[own]]
        x = levels.values[levels.slot[own]]
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = kappa(levels.power, x[:, None], z)
        out[r] = np.where(z > 0, terms, 0.0).sum(axis=0)
    return out
