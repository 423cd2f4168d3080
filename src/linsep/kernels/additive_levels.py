"""A matrix by levels, and products with the additive kernel matrix that is never built.

K c for all rows costs one addition for every entry of X to collect c by slots, work
proportional to the slots for the functions h_k, and one addition an entry to look them up.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linsep.core.lanes import run_all
from linsep.jit import additive as loops
from linsep.jit import additive_nodes as cells
from linsep.kernels.additive_function import AdditiveFunction, by_rows, kappa
from linsep.kernels.additive_nodes import mean_table, nodes_of, ranks_in, table_of

__all__ = ["Levels", "levels_of"]

Array = NDArray[np.float64]

_SHARED = 1 << 12  # distinct values up to which one list serves all features
_SCATTER = 1 << 26  # size of the map from (feature, value) to slot
_TABLE = 1 << 22
_SERIAL = 200_000


class Levels:
    """Rows as numbers of slots.

    Parameters
    ----------
    matrix : array or CSR matrix of shape (n, d), no entry negative
    power : float
        p <= 0 of the power mean; -inf is the intersection kernel.
    """

    def __init__(self, matrix: Any, power: float) -> None:
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
        work = int((self.indptr[rows + 1] - self.indptr[rows]).sum())
        self.operations += work
        loops.add_entries(self.indptr, self.slot, rows, coef, out, size=self.nnz, work=work)
        return out

    def functions(self, c: Array) -> Array:
        """h_k(v) for every slot."""
        H = np.zeros(len(c))
        if not len(c):
            return H
        if np.isneginf(self.power):
            self.operations += 2 * len(c)
            loops.intersection_slots(self.start, self.values, c, H, size=self.nnz, work=4 * len(c))
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
            cells.moments(
                self.start, lo, hi, *common, c[:, None], nodes.points, nodes.signs, weight, sums,
                size=self.nnz, work=work,
            )  # fmt: skip
            levels = (sums[:, :, 0] @ self.table)[:, :, None]
            cells.spread(
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
        H = self.functions(self.collect(rows, coef))
        self.operations += self.nnz
        half = self.n // 2 if self.nnz > _SERIAL else self.n

        def part(lo: int, hi: int) -> None:
            loops.add_columns(self.indptr, self.slot, H, lo, hi, f, size=self.nnz, work=self.nnz)

        run_all([partial(part, 0, half), partial(part, half, self.n)])

    def product_at(self, rows: NDArray[np.int64], coef: Array) -> Array:
        """K_RR coef for some rows R."""
        H = self.functions(self.collect(rows, coef))
        out = np.empty(len(rows))
        work = int((self.indptr[rows + 1] - self.indptr[rows]).sum())
        self.operations += work
        loops.sum_entries(self.indptr, self.slot, H, rows, out, size=self.nnz, work=work)
        return out

    def diagonal(self) -> Array:
        """K(x_i, x_i): the sum of the entries, for every one of these kernels."""
        out = np.zeros(self.n)
        loops.add_columns(
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


def levels_of(problem: Any, power: float) -> Levels:
    """The levels of the rows of a problem; made once and kept with it."""
    kept: Levels | None = problem.__dict__.get("_additive_levels")
    if kept is None or kept.power != power:
        kept = Levels(problem.matrix, power)
        problem.__dict__["_additive_levels"] = kept
    return kept
