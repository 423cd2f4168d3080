"""Kernel values of a few hundred rows of an additive kernel, for a working set.

The minimum and the harmonic mean are summed directly. Other power means are smooth: a table of
them is a product F F' of low rank, so that a block is a product of two matrices. Its error is
of no consequence: scores of all rows are never computed from blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.jit import additive as loops
from linsep.kernels.additive_function import kappa
from linsep.kernels.additive_levels import Levels

__all__ = ["kernel_block"]

Array = NDArray[Any]

_DENSE = 0.08  # share of entries from which rows are laid out densely
_COLUMNS = 128  # rows of the other side worked on together; they stay in the cache
_RANK = 1e-9


def kernel_block(levels: Levels, new: NDArray[np.int64], rows: NDArray[np.int64]) -> Array:
    """K(x_i, x_j) for i in new and j in rows."""
    counts = levels.indptr[rows + 1] - levels.indptr[rows]
    if levels.power not in (-np.inf, -1.0):
        return _by_rank(levels, new, rows)
    if counts.sum() > _DENSE * len(rows) * levels.d:
        return _dense(levels, new, rows)
    return _sparse(levels, new, rows, counts)


def _entries(levels: Levels, rows: NDArray[np.int64]) -> tuple[Any, Any]:
    """Place among the rows, and position, of all entries of some rows."""
    first = levels.indptr[rows]
    counts = levels.indptr[rows + 1] - first
    place = np.repeat(np.arange(len(rows)), counts)
    ends = np.cumsum(counts)
    at = np.arange(len(place)) + np.repeat(first - (ends - counts), counts)
    return place, at


def _dense(levels: Levels, new: NDArray[np.int64], rows: NDArray[np.int64]) -> Array:
    out = np.empty((len(new), len(rows)))
    work = int((levels.indptr[new + 1] - levels.indptr[new]).sum())
    harmonic = levels.power == -1.0
    for lo in range(0, len(rows), _COLUMNS):
        part = rows[lo : lo + _COLUMNS]
        place, at = _entries(levels, part)
        Z = np.zeros((levels.d, len(part)))
        Z[levels.column[at], place] = levels.values[levels.slot[at]]
        block = np.empty((len(new), len(part)))
        loops.block_dense(
            levels.indptr, levels.column, levels.slot, levels.values, new, Z, harmonic,
            np.empty(len(part)), block, size=levels.nnz, work=2 * work * len(part),
        )  # fmt: skip
        out[:, lo : lo + _COLUMNS] = block
        levels.operations += work * len(part)
    return out


def _sparse(levels: Levels, new: NDArray[np.int64], rows: NDArray[np.int64], counts: Any) -> Array:
    place, at = _entries(levels, rows)
    column = levels.column[at]
    order = np.argsort(column, kind="stable")
    of_column = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=levels.d))])
    out = np.empty((len(new), len(rows)))
    work = int((levels.indptr[new + 1] - levels.indptr[new]).sum()) * 8
    loops.block_sparse(
        levels.indptr, levels.column, levels.slot, levels.values, new, of_column,
        place[order], levels.values[levels.slot[at]][order], levels.power == -1.0, out,
        size=levels.nnz, work=work,
    )  # fmt: skip
    levels.operations += work
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
