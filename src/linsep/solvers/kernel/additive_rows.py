"""Rows of an additive kernel matrix, which is never built: a source of values for smo.py.

f += K[:, some] coef goes through the functions of single features (kernels/additive.py) and costs
one pass over the data, for one changed variable as for a thousand. So working sets are large.

Kernel values are made for a working set alone. The minimum and the harmonic mean are summed
directly, in float32 as long as the gap is coarse, and minima of whole multiples of one number in
bytes; other means are read from tables or are products of matrices of low rank. The error is
of no consequence: f never comes from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import routine
from linsep.core.costs import ADDITIVE, ADDITIVE_CACHE, ADDITIVE_DENSE, second_thread
from linsep.core.lanes import run_all
from linsep.kernels.additive import Levels, entries_of, kappa

Array = NDArray[Any]
Index = NDArray[np.int64]

_SERIAL = second_thread(ADDITIVE)
_SHARED = 1 << 26  # bytes of a kernel matrix that is made once for all classes
_GRID = 1e-4  # how far a value may be from a whole multiple, in units


@dataclass(frozen=True)
class AdditiveRows:
    """All rows of a problem of two classes."""

    levels: Levels
    short: bool
    """Whether squares are made in float32."""
    rough: ClassVar[bool] = True

    def square(self, some: Index, wish: Callable[[], Array] | None = None) -> Array:
        """The matrix of a working set."""
        del wish
        return kernel_block(self.levels, some, some, short=self.short)

    def whole(self, out: Array) -> None:
        """The matrix of all rows, in double precision: it is small."""
        rows = np.arange(self.levels.n)
        out[: len(rows), : len(rows)] = kernel_block(self.levels, rows, rows)

    def add(self, f: Array, some: Index, coef: Array) -> int:
        """f += K[:, some] coef, over all rows."""
        self.levels.add_product(some, coef, f)
        return int(self.levels.n) + len(some)


def kernel_block(levels: Levels, new: Index, rows: Index, *, short: bool = False) -> Array:
    """K(x_i, x_j) for i in new and j in rows; short computes it in float32."""
    dtype = np.float32 if short else np.float64
    if levels.knows(_whole):
        return _taken_from(levels.once(_whole), new, rows)
    counts = levels.indptr[rows + 1] - levels.indptr[rows]
    dense = counts.sum() > ADDITIVE_DENSE * len(rows) * levels.d
    if levels.power not in (-np.inf, -1.0):
        if not dense and levels.nodes is not None and levels.nodes.cells is None:
            return block_by_table(levels, new, rows).astype(dtype, copy=False)
        return block_by_rank(levels, new, rows).astype(dtype, copy=False)
    entry, unit = _entries(levels, short=short)
    out = np.empty((len(new), len(rows)), dtype=dtype)
    if dense:
        _dense(levels, new, rows, entry, out)
    else:
        _sparse(levels, new, rows, entry, out)
    if unit != 1.0:
        out *= dtype(unit)
    return out


def begins_short(levels: Levels) -> bool:
    """Whether squares begin in float32: there is no matrix to take them from, and float32 holds
    the kernel values with room to spare."""
    roomy = not len(levels.values) or 1e-12 < float(levels.values.max()) < 1e12
    return roomy and not _is_shared(levels)


def share_squares(levels: Levels) -> None:
    """Make the kernel matrix once, where it is small: several classes will read from it."""
    if _is_shared(levels):
        levels.once(_whole)


def _is_shared(levels: Levels) -> bool:
    return bool(levels.n**2 * 8 <= _SHARED)


def _whole(levels: Levels) -> Array:
    rows = np.arange(levels.n)
    return kernel_block(levels, rows, rows)


def _taken_from(K: Array, rows: Index, columns: Index) -> Array:
    """K[rows][:, columns], faster than numpy."""
    out = np.empty((len(rows), len(columns)), dtype=K.dtype)
    gather(K, rows, columns, out, size=K.size, work=out.size)
    return out


# -- entries --------------------------------------------------------------------------------------


def _entries(levels: Levels, *, short: bool) -> tuple[Array, float]:
    """Values of all entries, and the unit they are in; made once and kept with the levels."""
    return levels.once(_entry_values, short)


def _entry_values(levels: Levels, short: bool) -> tuple[Array, float]:  # noqa: FBT001
    return _short(levels) if short else (levels.values[levels.slot], 1.0)


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
    step = max(64, min(1024, ADDITIVE_CACHE // (levels.d * entry.itemsize) // 64 * 64))
    work = int((levels.indptr[new + 1] - levels.indptr[new]).sum())
    block = {np.dtype(np.uint8): block_bytes}.get(
        entry.dtype, block_harmonic if levels.power == -1.0 else block_minimum
    )

    def part(lo: int) -> None:
        own = rows[lo : lo + step]
        Z = np.zeros((levels.d, len(own)), dtype=entry.dtype)
        common = levels.indptr, levels.column, entry
        lay(*common, own, Z, size=levels.nnz, work=work)
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
    block_sparse(
        levels.indptr, levels.column, entry, new, first, place, entry[at], levels.power == -1.0,
        out, size=levels.nnz, work=pairs_of_entries(levels, new, len(at)),
    )  # fmt: skip


# -- Kernel values of smooth power means for a working set, by tables -----------------------------
#
# A table of means is a product F F' of low rank, so that a block is a product of two matrices.
# Few entries: the table is read entry by entry. Where no table is small enough (|p| in the
# hundreds with many distinct values), values are compared pair by pair.


_RANK = 1e-9


def block_by_table(levels: Levels, new: Index, rows: Index) -> Array:
    """Entry by entry."""
    first, place, at = columns_of(levels, rows)
    out = np.empty((len(new), len(rows)))
    block_table(
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
    factor = levels.once(_factor)
    out = np.zeros((len(new), len(rows)))
    r = factor.shape[1]
    step = max(1, (1 << 22) // (r * max(len(rows), 1)))
    right, left = _positions(levels, rows), _positions(levels, new)
    for lo in range(0, levels.d, step):
        B = _features(levels, right, len(rows), lo, min(levels.d, lo + step), factor)
        if new is rows:  # half the work
            out += B @ B.T
            continue
        A = _features(levels, left, len(new), lo, min(levels.d, lo + step), factor)
        out += A @ B.T
    levels.operations += out.size * levels.d * r
    return out


def _factor(levels: Levels) -> Array:
    """F with F F' the table of the nodes."""
    if levels.power == 0.0:
        return np.ones((1, 1))
    value, vector = np.linalg.eigh(levels.table)
    large = value > _RANK * value[-1]
    return np.asarray(vector[:, large] * np.sqrt(value[large]))


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


# -- Inner loops for blocks of an additive kernel matrix ------------------------------------------
#
# Some rows are held by entries, the others as the columns of a matrix Z of features, so that
# machine code takes several of them at once. Rows with few entries are met column by column.


_FULL = 256  # bytes that may be added up in 16 bits


def _down(terms: Array, out: Array) -> None:
    """Sums of columns, from the first row to the last; numpy takes single columns otherwise."""
    if terms.shape[1] > 1:
        np.add.reduce(terms, axis=0, out=out)
    else:
        out[:] = np.cumsum(terms, axis=0)[-1] if len(terms) else 0.0


@routine
def lay(indptr, column, entry, rows, Z):
    """Columns of Z are rows of the data; Z is zero before."""
    for j in range(len(rows)):
        i = rows[j]
        for p in range(indptr[i], indptr[i + 1]):
            Z[column[p], j] = entry[p]


@lay.in_numpy
def _lay(indptr, column, entry, rows, Z):
    at, count = entries_of(indptr, rows)
    Z[column[at], np.repeat(np.arange(len(rows)), count)] = entry[at]


@routine
def gather(K, rows, columns, out):
    """out[r, c] = K[rows[r], columns[c]]."""
    for r in range(len(rows)):
        line = K[rows[r]]
        own = out[r]
        for c in range(len(columns)):
            own[c] = line[columns[c]]


@gather.in_numpy
def _gather(K, rows, columns, out):
    np.take(K[rows], columns, axis=1, out=out, mode="clip")


@routine
def block_bytes(indptr, column, entry, new, Z, total, out):
    """Sums of minima of whole numbers below 256; total has 16 bits for each column of Z."""
    q = Z.shape[1]
    for r in range(len(new)):
        p, last = indptr[new[r]], indptr[new[r] + 1]
        line = out[r]
        for j in range(q):
            line[j] = 0.0
        while p < last:
            end = min(p + _FULL, last)
            for j in range(q):
                total[j] = 0
            while p + 4 <= end:  # four at a time: totals are read and written less often
                x0, x1, x2, x3 = entry[p], entry[p + 1], entry[p + 2], entry[p + 3]
                z0, z1 = Z[column[p]], Z[column[p + 1]]
                z2, z3 = Z[column[p + 2]], Z[column[p + 3]]
                for j in range(q):
                    m0 = z0[j] if z0[j] < x0 else x0
                    m1 = z1[j] if z1[j] < x1 else x1
                    m2 = z2[j] if z2[j] < x2 else x2
                    m3 = z3[j] if z3[j] < x3 else x3
                    first = np.uint16(np.uint16(m0) + np.uint16(m1))
                    second = np.uint16(np.uint16(m2) + np.uint16(m3))
                    total[j] = np.uint16(np.uint16(total[j] + first) + second)
                p += 4
            while p < end:
                x, z = entry[p], Z[column[p]]
                for j in range(q):
                    m = z[j] if z[j] < x else x
                    total[j] = np.uint16(total[j] + np.uint16(m))
                p += 1
            for j in range(q):
                line[j] += total[j]


@block_bytes.in_numpy
def _block_bytes(indptr, column, entry, new, Z, total, out):
    for line, i in zip(out, new):  # whole numbers: their sums are exact in any order
        own = slice(indptr[i], indptr[i + 1])
        least = np.minimum(Z[column[own]], entry[own, None])
        line[:] = least.sum(axis=0, dtype=np.uint32)


@routine
def block_minimum(indptr, column, entry, new, Z, out):
    """Sums of minima."""
    q = Z.shape[1]
    for r in range(len(new)):
        p, last = indptr[new[r]], indptr[new[r] + 1]
        line = out[r]
        for j in range(q):
            line[j] = 0.0
        while p + 4 <= last:
            x0, x1, x2, x3 = entry[p], entry[p + 1], entry[p + 2], entry[p + 3]
            z0, z1, z2, z3 = Z[column[p]], Z[column[p + 1]], Z[column[p + 2]], Z[column[p + 3]]
            for j in range(q):
                m0 = z0[j] if z0[j] < x0 else x0
                m1 = z1[j] if z1[j] < x1 else x1
                m2 = z2[j] if z2[j] < x2 else x2
                m3 = z3[j] if z3[j] < x3 else x3
                line[j] = line[j] + m0 + m1 + m2 + m3
            p += 4
        while p < last:
            x, z = entry[p], Z[column[p]]
            for j in range(q):
                line[j] += z[j] if z[j] < x else x
            p += 1


@block_minimum.in_numpy
def _block_minimum(indptr, column, entry, new, Z, out):
    for line, i in zip(out, new):
        own = slice(indptr[i], indptr[i + 1])
        _down(np.minimum(Z[column[own]], entry[own, None]), line)


@routine
def block_harmonic(indptr, column, entry, new, Z, out):
    """Sums of harmonic means."""
    q = Z.shape[1]
    for r in range(len(new)):
        line = out[r]
        for j in range(q):
            line[j] = 0.0
        for p in range(indptr[new[r]], indptr[new[r] + 1]):
            x, z = entry[p], Z[column[p]]
            for j in range(q):  # the operator / would look for zeros one by one
                line[j] += x * np.divide(z[j], x + z[j])
        for j in range(q):
            line[j] += line[j]


@block_harmonic.in_numpy
def _block_harmonic(indptr, column, entry, new, Z, out):
    for line, i in zip(out, new):
        own = slice(indptr[i], indptr[i + 1])
        x, z = entry[own, None], Z[column[own]]
        _down(x * (z / (x + z)), line)
        line += line


@routine
def block_sparse(indptr, column, entry, new, of_column, place, other, harmonic, out):
    """The same for rows with few entries; of_column, place, other hold the others by column."""
    for r in range(len(new)):
        i = new[r]
        line = out[r]
        for j in range(len(line)):
            line[j] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x = entry[p]
            k = column[p]
            for g in range(of_column[k], of_column[k + 1]):
                z = other[g]
                if harmonic:
                    line[place[g]] += (x + x) * (z / (x + z))
                else:
                    line[place[g]] += x if x < z else z


@routine
def block_table(indptr, column, slot, node, root, new, of_column, place, other, table, out):
    """The same for other means of few distinct values: other holds the slots of the others."""
    for r in range(len(new)):
        i = new[r]
        line = out[r]
        for j in range(len(line)):
            line[j] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            s = slot[p]
            means = table[node[s]]
            k = column[p]
            for g in range(of_column[k], of_column[k + 1]):
                t = other[g]
                line[place[g]] += root[s] * root[t] * means[node[t]]
