"""Kernel values of a few hundred rows of an additive kernel, for a working set.

The minimum and the harmonic mean are summed directly, in float32 where the gap asked for is
coarse, and minima of whole multiples of one number in bytes. The error is of no consequence:
scores of all rows are never computed from blocks. Other means: additive_rank.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import run_all
from linsep.jit import additive_blocks as loops
from linsep.jit.smo import LANES
from linsep.kernels.additive_levels import Levels
from linsep.solvers.additive_rank import block_by_rank, block_by_table, columns_of, pairs_of_entries

__all__ = ["assembled", "kernel_block", "roomy", "share_blocks", "taken_from"]

Array = NDArray[Any]
Index = NDArray[np.int64]

_DENSE = 0.08  # share of entries from which rows are laid out densely
_CACHE = 1 << 18  # bytes of the other side worked on together; they stay in the cache
_SERIAL = 2_000_000
_SHARED = 1 << 26  # bytes of a kernel matrix that is made once for all classes
_GRID = 1e-4  # how far a value may be from a whole multiple, in units


def kernel_block(levels: Levels, new: Index, rows: Index, short: bool = False) -> Array:
    """K(x_i, x_j) for i in new and j in rows; short computes it in float32."""
    dtype = np.float32 if short else np.float64
    whole: Array | None = levels.__dict__.get("_whole")
    if whole is not None and whole.dtype == dtype:
        return taken_from(whole, new, rows)
    counts = levels.indptr[rows + 1] - levels.indptr[rows]
    dense = counts.sum() > _DENSE * len(rows) * levels.d
    if levels.power not in (-np.inf, -1.0):
        if not dense and levels.nodes is not None and levels.nodes.cells is None:
            return block_by_table(levels, new, rows).astype(dtype, copy=False)
        return block_by_rank(levels, new, rows).astype(dtype, copy=False)
    entry, unit = _entries(levels, short)
    out = np.empty((len(new), len(rows)), dtype=dtype)
    if dense:
        _dense(levels, new, rows, entry, out)
    else:
        _sparse(levels, new, rows, entry, out)
    if unit != 1.0:
        out *= dtype(unit)
    return out


def roomy(levels: Levels) -> bool:
    """Whether float32 holds the kernel values with room to spare."""
    return not len(levels.values) or 1e-12 < float(levels.values.max()) < 1e12


def taken_from(K: Array, rows: Index, columns: Index) -> Array:
    """K[rows][:, columns], faster than numpy."""
    out = np.empty((len(rows), len(columns)), dtype=K.dtype)
    loops.gather(K, rows, columns, out, size=K.size, work=out.size)
    return out


def assembled(old: Array, kept: Index, fresh: Array) -> Array:
    """The block of a working set: rows kept of the last one, then fresh ones, in whole lanes."""
    q = len(kept) + len(fresh)
    padded = -(-q // LANES) * LANES
    out = np.empty((padded, padded), dtype=fresh.dtype)

    def part(lo: int, hi: int) -> None:
        loops.assemble(old, kept, fresh, lo, hi, out, size=out.size, work=2 * out.size)

    half = len(kept) // 2 if out.size > _SERIAL else 0
    run_all([partial(part, 0, half), partial(part, half, padded)])
    return out


def share_blocks(levels: Levels, short: bool, first: Callable[[], Index]) -> None:
    """Make the kernel matrix once, where it is small, or that of the first working set.

    Several classes will read from it.
    """
    kept = levels.__dict__
    if "_whole" in kept or "_first" in kept:
        return
    if levels.n**2 * (4 if short else 8) <= _SHARED:
        rows = np.arange(levels.n)
        kept["_whole"] = kernel_block(levels, rows, rows, short)
        return
    rows = first()
    if len(rows) % LANES == 0:  # a block has whole lanes
        kept["_first"] = rows, kernel_block(levels, rows, rows, short)


# -- entries --------------------------------------------------------------------------------------


def _entries(levels: Levels, short: bool) -> tuple[Array, float]:
    """Values of all entries, and the unit they are in; made once and kept with the levels."""
    kept: dict[bool, tuple[Array, float]] = levels.__dict__.setdefault("_entries", {})
    if short not in kept:
        kept[short] = _short(levels) if short else (levels.values[levels.slot], 1.0)
    return kept[short]


def _short(levels: Levels) -> tuple[Array, float]:
    values = levels.values
    unit = _unit(values) if np.isneginf(levels.power) else None
    if unit is not None:
        return np.rint(values / unit).astype(np.uint8)[levels.slot], unit
    # the kernels are homogeneous: a power of two keeps float32 in its range
    unit = float(2.0 ** np.frexp(values.max(initial=1e-300))[1])
    return np.maximum(values / unit, 1e-30).astype(np.float32)[levels.slot], unit


def _unit(values: Array) -> float | None:
    """The number of which all values are whole multiples below 256, or None."""
    some = np.unique(values)
    if not len(some) or len(some) > 255:
        return None
    unit = float(np.diff(some, prepend=0.0).min())
    if not some[-1] < 255.5 * unit:
        return None
    unit = float(some[-1] / np.rint(some[-1] / unit))
    multiple = some / unit
    return unit if (np.abs(multiple - np.rint(multiple)) < _GRID).all() else None


# -- the two ways ---------------------------------------------------------------------------------


def _dense(levels: Levels, new: Index, rows: Index, entry: Array, out: Array) -> None:
    """Columns of ``out`` in pieces; a square of the same rows is made by halves."""
    square = new is rows
    step = max(64, min(1024, _CACHE // (levels.d * entry.itemsize) // 64 * 64))
    work = int((levels.indptr[new + 1] - levels.indptr[new]).sum())
    block = {np.dtype(np.uint8): loops.block_bytes}.get(
        entry.dtype, loops.block_harmonic if levels.power == -1.0 else loops.block_minimum
    )

    def part(lo: int) -> None:
        own = rows[lo : lo + step]
        Z = np.zeros((levels.d, len(own)), dtype=entry.dtype)
        common = levels.indptr, levels.column, entry
        loops.lay(*common, own, Z, size=levels.nnz, work=work)
        some = new[lo:] if square else new
        piece = np.empty((len(some), len(own)), dtype=out.dtype)
        scratch = [np.empty(len(own), dtype=np.uint16)] if entry.dtype == np.uint8 else []
        block(*common, some, Z, *scratch, piece, size=levels.nnz, work=2 * work * len(own))
        out[len(new) - len(some) :, lo : lo + step] = piece
        if square:
            out[lo : lo + step, lo + step :] = piece[step:].T

    jobs = [partial(part, lo) for lo in range(0, len(rows), step)]
    run_all(jobs, None if work * len(rows) > _SERIAL else 1)
    levels.operations += work * len(rows)


def _sparse(levels: Levels, new: Index, rows: Index, entry: Array, out: Array) -> None:
    first, place, at = columns_of(levels, rows)
    loops.block_sparse(
        levels.indptr, levels.column, entry, new, first, place, entry[at], levels.power == -1.0,
        out, size=levels.nnz, work=pairs_of_entries(levels, new, len(at)),
    )  # fmt: skip
