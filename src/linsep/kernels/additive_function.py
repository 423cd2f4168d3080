"""Functions f(x) = sum_k h_k(x_k), h_k(x) = sum_s c_s kappa(x, v_s): additive kernel models.

One coefficient for every slot, a pair of a feature and a value, is all there is to a model;
several functions (classes) share the slots. Evaluation costs a search in a sorted list, or a
few products, for every entry of X that is not zero: nothing depends on the number of support
vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linsep.core.lanes import run_all
from linsep.jit import additive as loops
from linsep.jit import additive_nodes as cells
from linsep.kernels.additive_nodes import Nodes, mean_table, nodes_of, similarity, table_error

__all__ = ["AdditiveFunction", "by_columns", "by_rows", "kappa"]

Array = NDArray[np.float64]

_SERIAL = 200_000
_TABLE = 1 << 22  # numbers in the tables of the features worked on together
_U = 2.0**-53


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
                loops.intersection_slots(
                    self.start, self.values, c, own, size=len(c), work=4 * len(c)
                )
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
            return (longest + 16) * _U
        levels = int(np.diff(self.start).max(initial=0))
        return float(table_error(self.values, values) + (2 * levels + longest + 64) * _U)

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
            loops.intersection_columns(
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
            cells.moments(
                self.start, lo, hi, here.base, here.t, here.root, self.coef, source.points,
                source.signs, weight, sums, size=len(self.values), work=3 * used * len(weight),
            )  # fmt: skip
            levels = np.matmul(table, sums)
            entries = int(indptr[hi] - indptr[lo])
            cells.add_nodes(
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
        loops.count_positive(dense, indptr, size=X.size, work=X.size)
        indices = np.empty(indptr[-1], dtype=np.int32)
        data = np.empty(indptr[-1])
        loops.take_positive(dense, indptr, indices, data, size=X.size, work=2 * X.size)
        return scipy.sparse.csr_array((data, indices, indptr), shape=X.shape)
    out = scipy.sparse.csr_array(X)
    if not (out.data > 0).all():
        out = out.copy()  # the caller's matrix stays as it is
        out.eliminate_zeros()
    return out if out.data.dtype == np.float64 else out.astype(np.float64)


def by_columns(X: Any) -> Any:
    """The positive entries of X by columns, in float64."""
    return by_rows(X).tocsc()
