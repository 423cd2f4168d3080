"""Kernel values of smooth power means for a working set, by tables.

A table of means is a product F F' of low rank, so that a block is a product of two matrices.
Few entries: the table is read entry by entry. Where no table is small enough (|p| in the
hundreds with many distinct values), values are compared pair by pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.jit import additive_blocks as loops
from linsep.kernels.additive_function import kappa
from linsep.kernels.additive_levels import Levels

__all__ = ["block_by_rank", "block_by_table", "columns_of", "pairs_of_entries"]

Array = NDArray[Any]
Index = NDArray[np.int64]

_RANK = 1e-9


def block_by_table(levels: Levels, new: Index, rows: Index) -> Array:
    """Entry by entry."""
    first, place, at = columns_of(levels, rows)
    out = np.empty((len(new), len(rows)))
    loops.block_table(
        levels.indptr, levels.column, levels.slot, levels.places.base, levels.places.root, new,
        first, place, levels.slot[at], levels.table, out, size=levels.nnz,
        work=pairs_of_entries(levels, new, len(at)),
    )  # fmt: skip
    return out


def columns_of(levels: Levels, rows: Index) -> tuple[Any, Any, Any]:
    """Entries of some rows by columns: where columns begin, places of rows, positions."""
    place, at = _positions(levels, rows)
    column = levels.column[at]
    order = np.argsort(column, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=levels.d))])
    return first, place[order], at[order]


def pairs_of_entries(levels: Levels, new: Index, others: int) -> int:
    """Pairs of entries in a common column, about, twice; they are counted."""
    entries = (levels.indptr[new + 1] - levels.indptr[new]).sum()
    work = int(entries * max(1.0, others / levels.d))
    levels.operations += work
    return 2 * work


def _positions(levels: Levels, rows: Index) -> tuple[Any, Any]:
    """Place among the rows, and position, of all entries of some rows."""
    first = levels.indptr[rows]
    counts = levels.indptr[rows + 1] - first
    place = np.repeat(np.arange(len(rows)), counts)
    ends = np.cumsum(counts)
    at = np.arange(len(place)) + np.repeat(first - (ends - counts), counts)
    return place, at


# -- low rank -----------------------------------------------------------------------------------


def block_by_rank(levels: Levels, new: Index, rows: Index) -> Array:
    """A product of two matrices."""
    if levels.nodes is None and levels.power != 0.0:
        return _one_by_one(levels, new, rows)
    factor = _factor(levels)
    out = np.zeros((len(new), len(rows)))
    r = factor.shape[1]
    step = max(1, (1 << 22) // (r * max(len(rows), 1)))
    right, left = _positions(levels, rows), _positions(levels, new)
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


def _one_by_one(levels: Levels, new: Index, rows: Index) -> Array:
    """Pair by pair, where no table of nodes is small enough."""
    out = np.zeros((len(new), len(rows)))
    place, at = _positions(levels, rows)
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
