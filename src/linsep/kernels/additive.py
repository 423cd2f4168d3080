"""A matrix by levels, and products with the additive kernel matrix that is never built.

K c for all rows costs one addition for every entry of X to collect c by slots, work
proportional to the slots for the functions h_k, and one addition an entry to look them up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linsep.core.compile import inner, routine
from linsep.core.costs import LEVEL, second_thread
from linsep.core.lanes import run_all
from linsep.core.limits import tick
from linsep.core.problem import Once, Problem, reads
from linsep.numerics.rounding import U

Array = NDArray[np.float64]

_SHARED = 1 << 12  # distinct values up to which one list serves all features
_SCATTER = 1 << 26  # size of the map from (feature, value) to slot
_TABLE = 1 << 22
_SERIAL = second_thread(LEVEL)


class Levels(Once):
    """Rows as numbers of slots.

    Parameters
    ----------
    matrix : array or CSR matrix of shape (n, d), no entry negative
    power : float
        p <= 0 of the power mean; -inf is the intersection kernel.
    """

    def __init__(self, matrix: Any, power: float) -> None:
        self._memory = {}
        self.power = float(power)
        self.n, self.d = matrix.shape
        rows = by_rows(matrix)
        self.indptr = rows.indptr.astype(np.int64)
        self.column = rows.indices.astype(np.int32, copy=False)
        self.nnz = len(rows.data)
        self.operations = 0
        """Additions and look-ups done so far, for those who count."""
        keys = table_of(rows.data, _SHARED) if self.nnz else None
        if keys is not None and (keys != -1).sum() * self.d <= _SCATTER:
            self._from_list(rows, keys)
        else:
            self._by_sorting(rows)
        self._nodes()

    # -- slots ------------------------------------------------------------------------------

    def _from_list(self, rows: Any, keys: Any) -> None:
        """Few distinct values: slots by counting."""
        values, rank = ranks_in(rows.data, keys)
        L = len(values)
        place = self.column.astype(np.int64) * L
        place += rank
        present = np.zeros(self.d * L, dtype=bool)
        present[place] = True
        slot = np.cumsum(present, dtype=np.int32) - np.int32(1)
        self.slot = slot[place]
        used = np.flatnonzero(present)
        self.values = values[used % L]
        self.start = np.searchsorted(used, np.arange(self.d + 1) * L)

    def _by_sorting(self, rows: Any) -> None:
        """Many distinct values: every column is sorted."""
        order = scipy.sparse.csr_array(
            (np.arange(self.nnz, dtype=np.int64), rows.indices, rows.indptr), shape=rows.shape
        ).tocsc()
        self.slot = np.empty(self.nnz, dtype=np.int32)
        found: list[Array] = [np.zeros(0)] * self.d

        def sort(lo: int, hi: int) -> None:
            for k in range(lo, hi):
                tick()
                at = order.data[order.indptr[k] : order.indptr[k + 1]]
                found[k], rank = np.unique(rows.data[at], return_inverse=True)
                self.slot[at] = rank

        step = max(1, self.d // 8)
        jobs = [partial(sort, lo, min(self.d, lo + step)) for lo in range(0, self.d, step)]
        run_all(jobs, None if self.nnz > _SERIAL else 1)
        sizes = np.array([len(v) for v in found])
        self.start = np.concatenate([[0], np.cumsum(sizes)])
        self.values = np.concatenate(found).astype(np.float64)
        self.slot += self.start[self.column].astype(np.int32)

    def _nodes(self) -> None:
        self.nodes: Any = None
        self.places: Any = None
        self.table = np.zeros((0, 0))
        if self.power in (-np.inf, 0.0) or not len(self.values):
            return
        nodes = nodes_of(self.values, self.power)
        if not nodes.too_many:
            self.nodes = nodes
            self.table = mean_table(self.power, nodes.position, nodes.position)
            self.places = nodes.places(self.values)

    # -- products with the kernel matrix ------------------------------------------------------

    def collect(self, rows: NDArray[np.int64], coef: Array) -> Array:
        """Coefficients of the slots of a combination of kernel functions."""
        out = np.zeros(len(self.values))
        if len(coef) != len(rows) or (len(rows) and not 0 <= rows.min() <= rows.max() < self.n):
            raise IndexError(f"{len(coef)} coefficients of {len(rows)} rows out of {self.n}")
        work = int((self.indptr[rows + 1] - self.indptr[rows]).sum())
        self.operations += work
        add_entries(self.indptr, self.slot, rows, coef, out, size=self.nnz, work=work)
        return out

    def functions(self, c: Array) -> Array:
        """h_k(v) for every slot."""
        H = np.zeros(len(c))
        if len(c) != len(self.values):
            raise IndexError(f"{len(c)} coefficients of {len(self.values)} slots")
        if not len(c):
            return H
        if np.isneginf(self.power):
            self.operations += 2 * len(c)
            intersection_slots(self.start, self.values, c, H, size=self.nnz, work=4 * len(c))
            return H
        if self.power == 0.0:
            whole = AdditiveFunction(0.0, self.start, self.values, c[:, None])
            return whole.at_slots()[:, 0]
        if self.nodes is None:
            return self._pairs(c, H)
        nodes, places, G = self.nodes, self.places, len(self.table)
        step = max(1, _TABLE // G)
        if len(c) > _SERIAL:  # work for two threads
            step = min(step, -(-self.d // 2))
        self.operations += 2 * len(c) * len(nodes.points) + self.d * G * G
        common = (places.base, places.t, places.root)

        def part(lo: int) -> None:
            hi = min(self.d, lo + step)
            sums, weight = np.zeros((hi - lo, G, 1)), np.empty(len(nodes.points))
            work = 4 * int(self.start[hi] - self.start[lo]) * len(weight)
            moments(
                self.start, lo, hi, *common, c[:, None], nodes.points, nodes.signs, weight, sums,
                size=self.nnz, work=work,
            )  # fmt: skip
            levels = (sums[:, :, 0] @ self.table)[:, :, None]
            spread(
                self.start, lo, hi, *common, levels, nodes.points, nodes.signs, weight, H,
                size=self.nnz, work=work,
            )  # fmt: skip

        jobs = [partial(part, lo) for lo in range(0, self.d, step)]
        run_all(jobs, None if len(c) > _SERIAL else 1)
        return H

    def _pairs(self, c: Array, H: Array) -> Array:
        for k in range(self.d):
            own = slice(self.start[k], self.start[k + 1])
            v = self.values[own]
            self.operations += len(v) ** 2
            for at in range(0, len(v), 1024):
                H[self.start[k] + at : self.start[k] + min(at + 1024, len(v))] = (
                    kappa(self.power, v[at : at + 1024, None], v) @ c[own]
                )
        return H

    def add_product(self, rows: NDArray[np.int64], coef: Array, f: Array) -> None:
        """f += K coef, where coef belongs to some rows."""
        if len(f) != self.n:
            raise IndexError(f"{len(f)} sums of {self.n} rows")
        H = self.functions(self.collect(rows, coef))
        self.operations += self.nnz
        half = self.n // 2 if self.nnz > _SERIAL else self.n

        def part(lo: int, hi: int) -> None:
            add_columns(self.indptr, self.slot, H, lo, hi, f, size=self.nnz, work=self.nnz)

        run_all([partial(part, 0, half), partial(part, half, self.n)])

    def combine(
        self, rows: NDArray[np.int64], coef: Array, ids: NDArray[np.int64], dtype: Any = np.float64
    ) -> Array:
        """sum_r coef_r K(x_r, x_i) for every i in ids, in double precision always."""
        del dtype
        H = self.functions(self.collect(rows, coef))
        out = np.empty(len(ids))
        work = int((self.indptr[ids + 1] - self.indptr[ids]).sum())
        self.operations += work
        sum_entries(self.indptr, self.slot, H, ids, out, size=self.nnz, work=work)
        return out

    def diagonal(self) -> Array:
        """K(x_i, x_i): the sum of the entries, for every one of these kernels."""
        out = np.zeros(self.n)
        add_columns(
            self.indptr, self.slot, self.values, 0, self.n, out, size=self.nnz, work=self.nnz
        )
        return out

    def function(self, rows: NDArray[np.int64], coef: Array) -> AdditiveFunction:
        """The functions of combinations, one for each column of coef; unused slots are left out."""
        jobs = [partial(self.collect, rows, np.ascontiguousarray(col)) for col in coef.T]
        c = np.column_stack(run_all(jobs, None if self.nnz > _SERIAL else 1))
        used = c.any(axis=1)
        before = np.concatenate([[0], np.cumsum(used)])
        return AdditiveFunction(
            self.power, before[self.start], self.values[used], np.ascontiguousarray(c[used])
        )


def levels_of(problem: Problem, power: float) -> Levels:
    """The levels of the rows of a problem; made once and kept with it."""
    return problem.once(_levels, float(power))


@reads("matrix")
def _levels(problem: Problem, power: float) -> Levels:
    return Levels(problem.matrix, power)


# -- Functions f(x) = sum_k h_k(x_k), h_k(x) = sum_s c_s kappa(x, v_s): additive kernel models ----
#
# One coefficient for every slot, a pair of a feature and a value, is all there is to a model;
# several functions (classes) share the slots. Evaluation costs a search in a sorted list, or a
# few products, for every entry of X that is not zero: nothing depends on the number of support
# vectors.


@dataclass(frozen=True)
class AdditiveFunction:
    """Slots and coefficients.

    Parameters
    ----------
    power : float
        p <= 0 of the power mean; -inf is the minimum.
    start : array of shape (d + 1,)
        Feature k has the slots start[k] ... start[k + 1].
    values : array of shape (slots,)
        Sorted within a feature, all positive.
    coef : array of shape (slots, m)
        One column for each function.
    """

    power: float
    start: NDArray[np.int64]
    values: Array
    coef: Array

    @property
    def d(self) -> int:
        """Number of features."""
        return len(self.start) - 1

    def scores(self, X: Any) -> Array:
        """Values of all functions at the rows of X, shape (n, m), without an offset."""
        columns = by_columns(X)
        return self._evaluate(columns.indptr, columns.indices, columns.data, columns.shape[0])

    def at_slots(self) -> Array:
        """h_k(v) of every slot, shape (slots, m)."""
        if np.isneginf(self.power):  # no search: the slots are in order
            out = np.zeros((self.coef.shape[1], len(self.values)))
            for own, c in zip(out, np.ascontiguousarray(self.coef.T)):
                intersection_slots(self.start, self.values, c, own, size=len(c), work=4 * len(c))
            return out.T
        rows = np.arange(len(self.values), dtype=np.int32)
        return self._evaluate(self.start, rows, self.values, len(rows))

    def scores_and_reach(self, X: Any) -> tuple[Array, Array]:
        """The scores, and the same sums with absolute coefficients and, but for the minimum, the
        geometric mean, which is no less than any other of these kernels: errors are a small
        share of it."""
        columns = by_columns(X)
        if np.isneginf(self.power):
            both = np.hstack([self.coef, np.abs(self.coef)])
            twice = AdditiveFunction(self.power, self.start, self.values, both)
            out = twice._evaluate(columns.indptr, columns.indices, columns.data, columns.shape[0])
            m = self.coef.shape[1]
            return out[:, :m], out[:, m:]
        scores = self._evaluate(columns.indptr, columns.indices, columns.data, columns.shape[0])
        root = scipy.sparse.csc_array(
            (np.sqrt(columns.data), columns.indices, columns.indptr), shape=columns.shape
        )
        return scores, np.asarray(root @ self._roots(np.abs(self.coef)))

    def reach_at_slots(self) -> Array:
        """The second of these feature by feature, at the slots."""
        if np.isneginf(self.power):
            return self.absolute().at_slots()
        feature = np.repeat(np.arange(self.d), np.diff(self.start))
        return np.asarray(np.sqrt(self.values)[:, None] * self._roots(np.abs(self.coef))[feature])

    def _roots(self, coef: Array) -> Array:
        """sum of c sqrt(v) over the slots of each feature."""
        weighed = coef * np.sqrt(self.values)[:, None]
        slots = np.arange(len(self.values))
        shape = (self.d, len(self.values))
        sums = scipy.sparse.csr_array((np.ones(len(slots)), slots, self.start), shape=shape)
        return np.asarray(sums @ weighed)

    def error(self, longest: int, values: Array) -> float:
        """Share of the reach that bounds rounding, and the error of tables, of a score.

        longest is the largest number of entries of a row, values are all that occur in the rows.
        """
        if np.isneginf(self.power):  # running sums carry what rounding takes from them
            return (longest + 16) * U
        levels = int(np.diff(self.start).max(initial=0))
        return float(table_error(self.values, values) + (2 * levels + longest + 64) * U)

    def absolute(self) -> AdditiveFunction:
        """The function with absolute coefficients."""
        return AdditiveFunction(self.power, self.start, self.values, np.abs(self.coef))

    # -- evaluation -------------------------------------------------------------------------

    def _evaluate(self, indptr: Any, rows: Any, data: Array, n: int) -> Array:
        out = np.zeros((n, self.coef.shape[1]))
        if not len(self.values) or not len(data):
            return out
        if np.isneginf(self.power):
            self._by_running_sums(indptr, rows, data, out)
            return out
        if self.power == 0.0:  # one number a feature: h_k(x) = w_k sqrt(x)
            shape = (n, self.d)
            root = scipy.sparse.csc_array((np.sqrt(data), rows, indptr), shape=shape)
            return np.asarray(root @ self._roots(self.coef))
        source = nodes_of(self.values, self.power)
        target = nodes_of(data, self.power)
        if source.too_many or target.too_many:
            return self._one_by_one(indptr, rows, data, out)
        return self._by_nodes(source, target, indptr, rows, data, out)

    def _by_running_sums(self, indptr: Any, rows: Any, data: Array, out: Array) -> None:
        """The intersection kernel, half of the columns for each lane."""
        m, most = self.coef.shape[1], int(np.diff(self.start).max())
        half = int(np.searchsorted(indptr, len(data) // 2)) if len(data) > _SERIAL else self.d

        def part(lo: int, hi: int, out: Array) -> Array:
            scratch = np.empty((3, max(most + 1, 2), m))
            intersection_columns(
                indptr, rows, data, self.start, self.values, self.coef, scratch, lo, hi, out,
                size=len(data), work=20 * len(data) * m,
            )  # fmt: skip
            return out

        if half == self.d:
            part(0, self.d, out)
            return
        jobs = [partial(part, 0, half, out), partial(part, half, self.d, np.zeros_like(out))]
        out += run_all(jobs)[1]

    def _by_nodes(
        self, source: Nodes, target: Nodes, indptr: Any, rows: Any, data: Array, out: Array
    ) -> Array:
        table = mean_table(self.power, target.position, source.position)
        here, there = source.places(self.values), target.places(data)
        m = self.coef.shape[1]
        weight = np.empty(len(source.points))
        other = np.empty(len(target.points))
        step = max(1, _TABLE // (m * max(table.shape)))
        for lo in range(0, self.d, step):
            hi = min(self.d, lo + step)
            sums = np.zeros((hi - lo, table.shape[1], m))
            used = int(self.start[hi] - self.start[lo])
            if used == 0:
                continue
            moments(
                self.start, lo, hi, here.base, here.t, here.root, self.coef, source.points,
                source.signs, weight, sums, size=len(self.values), work=3 * used * len(weight),
            )  # fmt: skip
            levels = np.matmul(table, sums)
            entries = int(indptr[hi] - indptr[lo])
            add_nodes(
                indptr, rows, there.base, there.t, there.root, levels, target.points,
                target.signs, other, lo, hi, out, size=len(data), work=3 * entries * len(other),
            )  # fmt: skip
        return out

    def _one_by_one(self, indptr: Any, rows: Any, data: Array, out: Array) -> Array:
        """Every pair of a value and a slot, where no table of nodes is small enough."""
        for k in range(self.d):
            own = slice(self.start[k], self.start[k + 1])
            v, c = self.values[own], self.coef[own]
            for at in range(indptr[k], indptr[k + 1], 1024):
                part = slice(at, min(at + 1024, indptr[k + 1]))
                out[rows[part]] += kappa(self.power, data[part, None], v) @ c
        return out


def kappa(power: float, x: Any, z: Any) -> Array:
    """The power mean of two positive numbers, elementwise."""
    if np.isneginf(power):
        return np.asarray(np.minimum(x, z))
    root = np.sqrt(x) * np.sqrt(z)
    if power == 0.0:
        return np.asarray(root)
    return np.asarray(root * similarity(power, np.abs(np.log(x) - np.log(z))))


def by_rows(X: Any) -> Any:
    """The positive entries of X by rows, in float64."""
    if isinstance(X, np.ndarray):
        dense = np.ascontiguousarray(X)
        indptr = np.zeros(X.shape[0] + 1, dtype=np.int64)
        count_positive(dense, indptr, size=X.size, work=X.size)
        indices = np.empty(indptr[-1], dtype=np.int32)
        data = np.empty(indptr[-1])
        take_positive(dense, indptr, indices, data, size=X.size, work=2 * X.size)
        return scipy.sparse.csr_array((data, indices, indptr), shape=X.shape)
    out = scipy.sparse.csr_array(X)
    if not (out.data > 0).all():
        out = out.copy()  # the caller's matrix stays as it is
        out.eliminate_zeros()
    return out if out.data.dtype == np.float64 else out.astype(np.float64)


def by_columns(X: Any) -> Any:
    """The positive entries of X by columns, in float64."""
    return by_rows(X).tocsc()


# -- The power mean of two numbers as a sum over nodes, with a proved error -----------------------
#
# For p <= 0 and x, z > 0 the power mean ((x^p + z^p) / 2)^(1/p) is homogeneous, so with
# s = log x and t = log z
#
#     M_p(x, z) = sqrt(x) sqrt(z) S(s - t),   S(u) = cosh(p u / 2)^(1/p)  in (0, 1].
#
# Few distinct values: every logarithm is a node of its own. Many: the axis of logarithms is cut
# into cells and S is replaced by its polynomial through Chebyshev points, in both arguments.
#
# The error. S is analytic for |Im u| < pi / |p|. On the Bernstein ellipse of a cell of half-width
# h with parameter rho, |p Im u / 2| <= |p| h (rho - 1/rho) / 4 = b, and |cosh(a + ib)| >= cos b,
# so |S| <= M = cos(b)^(-1/|p|) there. The polynomial of degree m - 1 differs from S by at most 4
# M rho^(1-m) / (rho - 1) (Trefethen, Approximation Theory and Approximation Practice, theorem
# 8.2), which is 1.2e-14 here; interpolating in the second argument as well adds the same times
# the Lebesgue constant 2.8. Rounding of weights and tables costs about 1e-13, that of a logarithm
# s at most 4 |s| 2^-53 in each argument, times |S'| <= S / 2 and twice the Lebesgue constant.
# ``table_error`` bounds the sum: a kernel value is off by at most table_error sqrt(x z).


POINTS = 16
_RHO_WIDTH = 8.4  # rho - 1 / rho of the cells
_MANY_VALUES = 512  # distinct values from which cells are used
_HASH = 1 << 13
_LARGEST_TABLE = 4096  # nodes up to which there may be a table of all pairs


@dataclass(frozen=True)
class Nodes:
    """Nodes on the axis of logarithms: single values, or the Chebyshev points of cells."""

    power: float
    position: Array
    cells: NDArray[np.int64] | None = None
    """Numbers of the occupied cells; None where every value is a node."""
    levels: Array | None = None
    """The values, where every one is a node."""

    @property
    def points(self) -> Array:
        """Chebyshev points of a cell, in [-1, 1]; one point for single values."""
        return _POINTS if self.cells is not None else _ONE

    @property
    def signs(self) -> Array:
        """Their barycentric weights."""
        return _SIGNS if self.cells is not None else _ONE

    @property
    def too_many(self) -> bool:
        """Whether a table of all pairs of nodes would be too large: |p| in the hundreds."""
        return len(self.position) > _LARGEST_TABLE

    def places(self, values: Array) -> Places:
        """Where values lie on these nodes; they must be among those the nodes were made for."""
        root = np.sqrt(values)
        if self.cells is None:
            levels: Any = self.levels
            keys: Any = table_of(levels, len(levels))
            return Places(ranks_in(values, keys)[1], np.zeros(1), root)
        s = np.log(values)
        width = 2.0 * half_width(self.power)
        cell = np.floor(s / width)
        base = (np.searchsorted(self.cells, cell.astype(np.int64)) * POINTS).astype(np.int32)
        t = np.clip((s - cell * width) / (0.5 * width) - 1.0, -1.0, 1.0)
        return Places(base, t, root)


@dataclass(frozen=True)
class Places:
    """First node, local coordinate and square root of each of many values."""

    base: NDArray[np.int32]
    t: Array
    root: Array


_POINTS = np.cos((2 * np.arange(POINTS) + 1) * np.pi / (2 * POINTS))
_SIGNS = np.sin((2 * np.arange(POINTS) + 1) * np.pi / (2 * POINTS)) * (-1.0) ** np.arange(POINTS)
_ONE = np.ones(1)


def half_width(power: float) -> float:
    """Half-width of a cell for which the error bound holds."""
    size = max(abs(power), 1e-250)  # below it the mean is the geometric one
    b = min(np.pi / 3, np.sqrt(size))
    return float(4.0 * b / (size * _RHO_WIDTH))


def nodes_of(values: Array, power: float) -> Nodes:
    """Nodes for given positive values."""
    few = distinct(values, _MANY_VALUES)
    if few is not None:
        return Nodes(power, np.log(few), levels=few)
    width = 2.0 * half_width(power)
    cells = np.unique(np.floor(np.log(values) / width).astype(np.int64))
    middle = (cells + 0.5) * width
    position = (middle[:, None] + 0.5 * width * _POINTS).ravel()
    return Nodes(power, position, cells)


def mean_table(power: float, left: Array, right: Array) -> Array:
    """S(s - t) for all pairs of logarithms."""
    u = np.abs(left[:, None] - right[None, :])
    if power == 0.0:
        return np.ones_like(u)
    return similarity(power, u)


def similarity(power: float, u: Any) -> Array:
    """S(u) = cosh(p u / 2)^(1/p) for p < 0 and u >= 0.

    log cosh a is a + log(1 + exp(-2a)) - log 2, which loses all digits of a small a; there it is
    log(1 + 2 sinh(a/2)^2). Either has an error of a few units in the last place of a.
    """
    a = np.asarray(u) * (abs(power) / 2)
    small = 2.0 * np.sinh(0.5 * np.minimum(a, 1.0)) ** 2
    log_cosh = np.where(a < 1.0, np.log1p(small), a + np.log1p(np.exp(-2.0 * a)) - np.log(2.0))
    return np.asarray(np.exp(-log_cosh / abs(power)))


def table_error(*values: Array) -> float:
    """Share of sqrt(x z) that bounds the error of a tabled mean of some of the values."""
    ends = [v for part in values if len(part) for v in (part.min(), part.max())]
    extent = max((abs(float(np.log(v))) for v in ends), default=0.0)
    return 2.5e-13 + 5e-15 * extent


def distinct(values: Array, most: int) -> Array | None:
    """The distinct values, sorted; None if there are more than ``most``."""
    keys = table_of(values, most)
    return None if keys is None else np.sort(keys[keys != -1].view(np.float64))


def table_of(values: Array, most: int) -> NDArray[np.int64] | None:
    """A hash table of the distinct values, as 64-bit numbers."""
    keys = np.full(max(_HASH, 1 << int(4 * most - 1).bit_length()), -1, dtype=np.int64)
    used, step = 0, 1 << 18
    for at in range(0, len(values), step):
        bits = np.ascontiguousarray(values[at : at + step], dtype=np.float64).view(np.int64)
        used = collect(bits, keys, used, most, size=len(values), work=2 * len(bits))
        if used < 0:
            return None
    return keys


def ranks_in(values: Array, keys: NDArray[np.int64]) -> tuple[Array, NDArray[np.int32]]:
    """The sorted values of a table, and the rank of each of the values given."""
    held = np.flatnonzero(keys != -1)
    order = np.argsort(keys[held].view(np.float64))
    rank: Any = np.zeros(len(keys), dtype=np.int32)
    rank[held[order]] = np.arange(len(held), dtype=np.int32)
    out = np.empty(len(values), dtype=np.int32)
    step = 1 << 18
    for at in range(0, len(values), step):
        bits = np.ascontiguousarray(values[at : at + step], dtype=np.float64).view(np.int64)
        look_up(bits, keys, rank, out[at : at + step], size=len(values), work=2 * len(bits))
    return keys[held][order].view(np.float64), out


# -- Inner loops of additive kernels K(x, z) = sum_k kappa(x_k, z_k) ------------------------------
#
# The data are held by levels: every pair of a feature and a value of it that occurs is a slot,
# slots are sorted by feature and value, and an entry of X is the number of its slot. Zeros have
# no slot, for kappa(0, z) = 0. A combination of kernel functions is one coefficient a slot.


# -- values that occur ------------------------------------------------------------------------


@inner
def _home(bits, mask):
    """Where the search for a number of 64 bits begins."""
    return (bits ^ (bits >> 17) ^ (bits >> 35) ^ (bits >> 49)) & mask


@routine
def collect(bits, keys, used, most):
    """Put numbers into an open hash table; gives back how many it holds, -1 if above most."""
    mask = len(keys) - 1
    for p in range(len(bits)):
        b = bits[p]
        at = _home(b, mask)
        while keys[at] != b and keys[at] != -1:
            at = (at + 1) & mask
        if keys[at] == -1:
            if used == most:
                return -1
            keys[at] = b
            used += 1
    return used


@collect.in_numpy
def _collect(bits, keys, used, most):
    _, first = np.unique(bits, return_index=True)
    return collect.python(bits[np.sort(first)], keys, used, most)


@routine
def look_up(bits, keys, rank, out):
    """The rank of every number of a table made by ``collect``."""
    mask = len(keys) - 1
    for p in range(len(bits)):
        b = bits[p]
        at = _home(b, mask)
        while keys[at] != b:
            at = (at + 1) & mask
        out[p] = rank[at]


@look_up.in_numpy
def _look_up(bits, keys, rank, out):
    held = np.flatnonzero(keys != -1)
    order = held[np.argsort(keys[held])]
    out[:] = rank[order[np.searchsorted(keys[order], bits)]]


@routine
def count_positive(X, indptr):
    """indptr of the compressed rows of a dense matrix, zeros left out."""
    for i in range(X.shape[0]):
        found = 0
        for k in range(X.shape[1]):
            if X[i, k] > 0:
                found += 1
        indptr[i + 1] = indptr[i] + found


@count_positive.in_numpy
def _count_positive(X, indptr):
    np.cumsum(np.count_nonzero(X > 0, axis=1), out=indptr[1:])


@routine
def take_positive(X, indptr, indices, data):
    """The entries of these rows, in float64."""
    for i in range(X.shape[0]):
        at = indptr[i]
        for k in range(X.shape[1]):
            if X[i, k] > 0:
                indices[at] = k
                data[at] = X[i, k]
                at += 1


@take_positive.in_numpy
def _take_positive(X, indptr, indices, data):
    flat = np.flatnonzero(X > 0)
    np.remainder(flat, X.shape[1], out=indices, casting="unsafe")
    data[:] = X.ravel()[flat]


# -- rows and slots ---------------------------------------------------------------------------


def entries_of(indptr: Any, rows: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the entries of some rows, and how many each row has."""
    count = indptr[rows + 1] - indptr[rows]
    first = np.cumsum(count) - count
    return np.arange(count.sum()) + np.repeat(indptr[rows] - first, count), count


def _sums_of_rows(slot: Any, H: Array, count: Any) -> Array:
    """Sums of H over runs of slots, added one by one as the loops do."""
    ends = np.concatenate([[0], np.cumsum(count)])
    ones = np.ones(len(slot))
    return np.asarray(scipy.sparse.csr_array((ones, slot, ends), shape=(len(count), len(H))) @ H)


@routine
def add_entries(indptr, slot, rows, coef, out):
    """out[slot] += coef of a row, over all entries of the rows."""
    for r in range(len(rows)):
        i, c = rows[r], coef[r]
        for p in range(indptr[i], indptr[i + 1]):
            out[slot[p]] += c


@add_entries.in_numpy
def _add_entries(indptr, slot, rows, coef, out):
    at, count = entries_of(indptr, rows)
    np.add.at(out, slot[at], np.repeat(coef, count))


@routine
def add_columns(indptr, slot, H, lo, hi, f):
    """f[i] += sum of H over the slots of row i, for the rows lo ... hi."""
    for i in range(lo, hi):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += H[slot[p]]
        f[i] += total


@add_columns.in_numpy
def _add_columns(indptr, slot, H, lo, hi, f):
    own = slot[indptr[lo] : indptr[hi]]
    f[lo:hi] += _sums_of_rows(own, H, np.diff(indptr[lo : hi + 1]))


@routine
def sum_entries(indptr, slot, H, rows, out):
    """out[r] = sum of H over the slots of row rows[r]."""
    for r in range(len(rows)):
        i = rows[r]
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += H[slot[p]]
        out[r] = total


@sum_entries.in_numpy
def _sum_entries(indptr, slot, H, rows, out):
    at, count = entries_of(indptr, rows)
    out[:] = _sums_of_rows(slot[at], H, count)


# -- the intersection kernel: two running sums ------------------------------------------------


@inner
def _carry(total, term, new):
    """What rounding took from new = total + term."""
    back = new - total
    return (total - (new - back)) + (term - back)


@routine
def intersection_slots(start, values, c, H):
    """H[s] = sum over the slots t of the same feature of c[t] min(v_s, v_t).

    What rounding takes from the running sums is kept beside them, so that the error does not
    grow with the number of slots.
    """
    for k in range(len(start) - 1):
        above = lost = 0.0
        for s in range(start[k + 1] - 1, start[k] - 1, -1):
            H[s] = (above + lost) * values[s]
            new = above + c[s]
            lost += _carry(above, c[s], new)
            above = new
        below = lost = 0.0
        for s in range(start[k], start[k + 1]):
            term = c[s] * values[s]
            new = below + term
            lost += _carry(below, term, new)
            below = new
            H[s] += below + lost


@intersection_slots.in_numpy
def _intersection_slots(start, values, c, H):
    sizes = np.diff(start)
    for size in np.unique(sizes[sizes > 0]):  # features with as many slots side by side
        own = start[:-1][sizes == size] + np.arange(size)[:, None]
        v, part = values[own], c[own]
        above = np.zeros_like(part)
        above[:-1] = _carried(part[::-1])[::-1][1:]
        H[own] = above * v + _carried(part * v)


def _carried(terms: Array) -> Array:
    """Running sums along the first axis with what rounding took from them."""
    total = np.cumsum(terms, axis=0)
    before = np.zeros_like(total)
    before[1:] = total[:-1]
    return np.asarray(total + np.cumsum(_carry(before, terms, total), axis=0))


@inner
def _running_sums(values, coef, below, above, total, lost):
    """below[s] = sum of c v over the slots before s, above[s] = sum of c over the others."""
    size, m = coef.shape
    for j in range(m):
        below[0, j] = above[size, j] = total[j] = lost[j] = 0.0
    for s in range(size):
        for j in range(m):
            term = coef[s, j] * values[s]
            new = total[j] + term
            lost[j] += _carry(total[j], term, new)
            total[j] = new
            below[s + 1, j] = new + lost[j]
    for j in range(m):
        total[j] = lost[j] = 0.0
    for s in range(size - 1, -1, -1):
        for j in range(m):
            new = total[j] + coef[s, j]
            lost[j] += _carry(total[j], coef[s, j], new)
            total[j] = new
            above[s, j] = new + lost[j]


@routine
def intersection_columns(indptr, rows, data, start, values, coef, scratch, lo, hi, out):
    """out[row] += h_k(x) for all entries x of the columns lo ... hi, several functions at once.

    h_k(x) = sum_{v <= x} c v + x sum_{v > x} c: exact for every x, in and out of the range.
    """
    m = coef.shape[1]
    below, above = scratch[0], scratch[1]
    for k in range(lo, hi):
        first, last = start[k], start[k + 1]
        if first == last:
            continue
        size = last - first
        own = values[first:last]
        _running_sums(own, coef[first:last], below, above, scratch[2, 0], scratch[2, 1])
        for p in range(indptr[k], indptr[k + 1]):
            x = data[p]
            a, b = 0, size
            while a < b:
                middle = (a + b) >> 1
                if own[middle] <= x:
                    a = middle + 1
                else:
                    b = middle
            i = rows[p]
            for j in range(m):
                out[i, j] += below[a, j] + x * above[a, j]


@intersection_columns.in_numpy
def _intersection_columns(indptr, rows, data, start, values, coef, scratch, lo, hi, out):
    none = np.zeros((1, coef.shape[1]))
    for k in range(lo, hi):
        first, last = start[k], start[k + 1]
        if first == last:
            continue
        own, part = values[first:last], coef[first:last]
        below = np.concatenate([none, _carried(part * own[:, None])])
        above = np.concatenate([_carried(part[::-1])[::-1], none])
        entries = slice(indptr[k], indptr[k + 1])
        x = data[entries]
        at = np.searchsorted(own, x, side="right")
        out[rows[entries]] += below[at] + x[:, None] * above[at]


# -- Inner loops of smooth additive kernels: values are weights on the nodes of a cell ------------


@inner
def _lagrange(t, points, signs, weight):
    """Weights of the values at Chebyshev points that give the polynomial's value at t."""
    m = len(points)
    total = 0.0
    for a in range(m):
        off = t - points[a]
        if off == 0.0:
            for b in range(m):
                weight[b] = 0.0
            weight[a] = 1.0
            return
        weight[a] = signs[a] / off
        total += weight[a]
    for a in range(m):
        weight[a] = weight[a] / total


def _lagranges(t: Array, points: Array, signs: Array) -> Array:
    """``_lagrange`` for many t: a row for each point."""
    off = t - points[:, None]
    at = off == 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = signs[:, None] / off
        total = np.zeros(len(t))
        for one in weight:
            total += one
        weight /= total
    exact = np.flatnonzero(at.any(axis=0))
    weight[:, exact] = 0.0
    weight[at[:, exact].argmax(axis=0), exact] = 1.0
    return np.asarray(weight)


@routine
def moments(start, lo, hi, base, t, root, coef, points, signs, weight, out):
    """out[k - lo, node] = sum of coef root weight over the slots of feature k."""
    m = len(points)
    K = coef.shape[1]
    for k in range(lo, hi):
        part = out[k - lo]
        for s in range(start[k], start[k + 1]):
            at = base[s]
            if m == 1:
                for j in range(K):
                    part[at, j] += coef[s, j] * root[s]
                continue
            used = False  # most slots belong to rows that take no part
            for j in range(K):
                used = used or coef[s, j] != 0.0
            if not used:
                continue
            _lagrange(t[s], points, signs, weight)
            for a in range(m):
                w = weight[a] * root[s]
                for j in range(K):
                    part[at + a, j] += w * coef[s, j]


@moments.in_numpy
def _moments(
    start: Any, lo: int, hi: int, base: Any, t: Any, root: Any, coef: Any, points: Any, signs: Any,
    weight: Any, out: Any,
) -> None:  # fmt: skip
    m = len(points)
    for k in range(lo, hi):
        some = np.arange(start[k], start[k + 1])
        if m > 1:
            some = some[(coef[some] != 0.0).any(axis=1)]
        at = (base[some, None] + np.arange(m)).ravel()
        own = root[some] * (np.ones((1, 1)) if m == 1 else _lagranges(t[some], points, signs))
        for j in range(coef.shape[1]):  # slot by slot and point by point, as the loop adds
            np.add.at(out[k - lo, :, j], at, (own * coef[some, j]).T.ravel())


@routine
def spread(start, lo, hi, base, t, root, table, points, signs, weight, H):
    """H[s] = root times the values at the nodes, weighed, for the slots of features lo ... hi."""
    m = len(points)
    for k in range(lo, hi):
        part = table[k - lo]
        for s in range(start[k], start[k + 1]):
            at = base[s]
            if m == 1:
                H[s] = root[s] * part[at, 0]
                continue
            _lagrange(t[s], points, signs, weight)
            total = 0.0
            for a in range(m):
                total += weight[a] * part[at + a, 0]
            H[s] = root[s] * total


@spread.in_numpy
def _spread(
    start: Any, lo: int, hi: int, base: Any, t: Any, root: Any, table: Any, points: Any, signs: Any,
    weight: Any, H: Any,
) -> None:  # fmt: skip
    for k in range(lo, hi):
        own = slice(start[k], start[k + 1])
        part, at = table[k - lo, :, 0], base[own]
        total = part[at]
        if len(points) > 1:
            total = np.zeros(len(at))
            for a, one in enumerate(_lagranges(t[own], points, signs)):
                total += one * part[at + a]
        H[own] = root[own] * total


@routine
def add_nodes(indptr, rows, base, t, root, table, points, signs, weight, lo, hi, out):
    """out[row] += root times the values at the nodes, for the entries of columns lo ... hi."""
    m = len(points)
    K = out.shape[1]
    for k in range(lo, hi):
        part = table[k - lo]
        for p in range(indptr[k], indptr[k + 1]):
            at, i = base[p], rows[p]
            if m == 1:
                for j in range(K):
                    out[i, j] += root[p] * part[at, j]
                continue
            _lagrange(t[p], points, signs, weight)
            for a in range(m):
                w = weight[a] * root[p]
                for j in range(K):
                    out[i, j] += w * part[at + a, j]


@add_nodes.in_numpy
def _add_nodes(
    indptr: Any, rows: Any, base: Any, t: Any, root: Any, table: Any, points: Any, signs: Any,
    weight: Any, lo: int, hi: int, out: Any,
) -> None:  # fmt: skip
    for k in range(lo, hi):
        own = slice(indptr[k], indptr[k + 1])
        part, at = table[k - lo], base[own]
        single = len(points) == 1
        sizes = np.ones((1, len(at))) if single else _lagranges(t[own], points, signs)
        for a, one in enumerate(sizes):  # a column has a row once
            out[rows[own]] += (one * root[own])[:, None] * part[at + a]
