"""Rows for softmax regression: scores of all classes, combinations of rows, curvatures.

Scores and their derivatives have shape (K, n), weights (K, d). Dense rows go through BLAS a few
hundred at a time, sparse ones through compiled loops. The split of the rows does not depend on
the number of threads, nor do the bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.compile import routine
from linsep.core.costs import COMPILED, OWN_PRODUCT, PAIRS_PER_COLUMN, SOFTMAX_ROWS
from linsep.core.lanes import Lanes, run_all
from linsep.losses.softmax import Shares, best_intercepts, shares

Array = NDArray[np.float64]

_TOGETHER = 1 << 19  # entries of the matrix multiplied in one call


class SoftmaxRows:
    """Rows with their classes and costs: all rows of a problem, or a sample of them."""

    def __init__(
        self,
        matrix: Any,
        label: NDArray[np.int64],
        cost: Array,
        K: int,
        *,
        double: bool,
        threads: int | None,
        influence: Array,
    ) -> None:
        self.influence = influence
        self.matrix, self.label, self.cost, self.K = matrix, label, cost, K
        self.lanes = Lanes(matrix, double=double)
        self.n, self.d = matrix.shape
        self.dtype = self.lanes.dtype
        self.threads = 1 if self.lanes.serial else threads
        self.step = max(64, _TOGETHER // max(1, self.d))
        plain = not self.lanes.sparse and self.dtype == matrix.dtype and matrix.flags.c_contiguous
        self.few = bool(plain and K <= OWN_PRODUCT and self.n * self.d >= COMPILED)

    # -- products -----------------------------------------------------------------------------

    def forward(self, W: Array) -> NDArray[Any]:
        """Scores W x_i, shape (K, n)."""
        out = np.empty((self.K, self.n), self.dtype)
        right = np.ascontiguousarray(W.T.astype(self.dtype))

        def lane_scores(lane: int) -> None:
            for lo, hi in self._pieces(lane):
                out[:, lo:hi] = self._scores(right, lo, hi).T

        self._each(lane_scores)
        return out

    def _scores(self, right: NDArray[Any], lo: int, hi: int) -> NDArray[Any]:
        if not self.lanes.sparse:
            return np.asarray(self._dense(lo, hi) @ right)
        part = np.empty((hi - lo, self.K), self.dtype)
        M = self.matrix
        work = self.K * int(M.indptr[hi] - M.indptr[lo])
        scores(M.data, M.indices, M.indptr, right, lo, hi, part, size=M.nnz, work=work)
        return part

    def backward(self, R: NDArray[Any]) -> Array:
        """sum_i R_ki x_i, shape (K, d), in float64 from block to block."""
        rows = np.ascontiguousarray(R.T) if self.lanes.sparse else R

        def lane_sums(lane: int) -> Array:
            if self.lanes.sparse:
                M, (lo, hi) = self.matrix, self.lanes.spans[lane]
                total = np.zeros((self.d, self.K))
                work = self.K * int(M.indptr[hi] - M.indptr[lo])
                combine(M.data, M.indices, M.indptr, rows, lo, hi, total, size=M.nnz, work=work)
                return total.T
            total = np.zeros((self.K, self.d))
            for lo, hi in self._pieces(lane):
                if self.few:
                    part = np.zeros((self.K, self.d), self.dtype)
                    work = self.K * (hi - lo) * self.d
                    size = self.n * self.d
                    combine_dense(self.matrix, R, lo, hi, part, size=size, work=work)
                    total += part
                else:
                    total += R[:, lo:hi] @ self._dense(lo, hi)
            return total

        parts = self._each(lane_sums)
        out = np.ascontiguousarray(parts[0])
        for other in parts[1:]:
            out += other
        return out

    def _pieces(self, lane: int) -> list[tuple[int, int]]:
        first, last = self.lanes.spans[lane]
        return [(lo, min(last, lo + self.step)) for lo in range(first, last, self.step)]

    def _dense(self, lo: int, hi: int) -> NDArray[Any]:
        return np.asarray(self.matrix[lo:hi].astype(self.dtype, copy=False))

    def _each(self, function: Any) -> list[Any]:
        return self.lanes.each(function, self.threads)

    # -- probabilities ------------------------------------------------------------------------

    def shares(self, S: NDArray[Any]) -> Shares:
        """Probabilities and losses of all rows, by all threads."""
        if self.n <= SOFTMAX_ROWS:
            return shares(S, self.label)
        out = Shares(np.empty_like(S), np.empty(self.n, S.dtype), np.empty(self.n, S.dtype))

        def part(lo: int) -> None:
            some = slice(lo, lo + SOFTMAX_ROWS)
            found = shares(S[:, some], self.label[some])
            out.rivals[:, some], out.own[some], out.losses[some] = found

        run_all([partial(part, lo) for lo in range(0, self.n, SOFTMAX_ROWS)], self.threads)
        return out

    def balanced(self, S: NDArray[Any], reference: int | None, steps: int) -> tuple[Array, Shares]:
        """The best intercepts to add to the scores S, and the probabilities with them."""
        return best_intercepts(
            S, self.label, self.cost, reference=reference, steps=steps,
            goal=3e-7 if S.dtype == np.float32 else 1e-15, by=self.shares,
        )  # fmt: skip

    def residual(self, now: Shares) -> NDArray[Any]:
        """cost (p - e_y), shape (K, n): derivatives by the scores."""
        R: NDArray[Any] = now.rivals * self.cost.astype(self.dtype, copy=False)
        R[self.label, np.arange(self.n)] = -R.sum(axis=0)
        return R

    def along(self, S: NDArray[Any], dS: NDArray[Any], t: float) -> tuple[float, float, float]:
        """The losses at S + t dS and their first and second derivative by t."""

        def part(lo: int) -> tuple[float, float, float]:
            some = slice(lo, lo + SOFTMAX_ROWS)
            step, cost = dS[:, some], self.cost[some]
            q, _, losses = shares(S[:, some] + self.dtype.type(t) * step, self.label[some])
            step = step - step[self.label[some], np.arange(step.shape[1])]
            q *= step
            mean = q.sum(axis=0)
            q *= step
            bend = q.sum(axis=0) - mean * mean
            return float(cost @ losses), float(cost @ mean), float(cost @ bend)

        found = run_all([partial(part, lo) for lo in range(0, self.n, SOFTMAX_ROWS)], self.threads)
        loss, first, second = np.array(found).sum(axis=0).tolist()
        return loss, first, second

    def probabilities(self, now: Shares) -> NDArray[Any]:
        """Of all classes, shape (K, n)."""
        p = now.rivals.copy()
        p[self.label, np.arange(self.n)] = now.own
        return p

    # -- curvature ----------------------------------------------------------------------------

    def second_derivatives(
        self, p: NDArray[Any], index: NDArray[np.int64] | None, scale: Array
    ) -> Array:
        """sum scale p_k p_l (e_k - e_l)(e_k - e_l)' [x, 1][x, 1]', shape (K, K, d + 1, d + 1).

        Over the rows of index, all without it. No term cancels another.
        """
        K, D = self.K, self.d + 1
        H = np.zeros((K, K, D, D))
        pairs = list(combinations(range(K), 2))
        cells = list(combinations_with_replacement(range(D), 2))
        few_columns = len(pairs) > PAIRS_PER_COLUMN * len(cells)
        step = max(64, _TOGETHER // max(D, K if few_columns else 1))
        total = self.n if index is None else len(index)
        for lo in range(0, total, step):
            some: Any = slice(lo, min(total, lo + step)) if index is None else index[lo : lo + step]
            X = self.matrix[some]
            X = X.toarray() if self.lanes.sparse else X
            B = np.ones((X.shape[0], D))
            B[:, :-1] = X
            part, weight = p[:, some].astype(np.float64), scale[some]

            def by_classes(
                k: int, m: int, B: Array = B, part: Array = part, weight: Array = weight
            ) -> None:
                H[k, m] += (B * (weight * part[k] * part[m])[:, None]).T @ B

            def by_columns(
                i: int, j: int, B: Array = B, part: Array = part, weight: Array = weight
            ) -> None:
                H[:, :, i, j] += (part * (weight * B[:, i] * B[:, j])) @ part.T

            if few_columns:
                run_all([partial(by_columns, i, j) for i, j in cells], self.threads)
            else:
                run_all([partial(by_classes, k, m) for k, m in pairs], self.threads)
        if few_columns:
            return _coupled(H, cells)
        for k, m in pairs:
            one = H[k, m]
            one = 0.5 * (one + one.T)
            H[k, m] = H[m, k] = -one
            H[k, k] += one
            H[m, m] += one
        return H

    def weighted_gram(self, index: NDArray[np.int64], weight: Array) -> tuple[Array, Array]:
        """sum weight x x' and sum weight x over some rows."""
        d, step = self.d, max(64, _TOGETHER // max(1, self.d))
        root = np.sqrt(weight).astype(self.dtype)
        (syrk,) = scipy.linalg.get_blas_funcs(["syrk"], dtype=self.dtype)
        edges = list(range(0, len(index), step))

        def part(lanes: int) -> tuple[Array, Array]:
            G, sums = np.zeros((d, d)), np.zeros(d)
            for lo in edges[lanes::2]:
                some = index[lo : lo + step]
                X = self.matrix[some]
                B = np.array(X.toarray() if self.lanes.sparse else X, dtype=self.dtype)
                r = root[lo : lo + step]
                B *= r[:, None]
                G += syrk(1.0, B.T, lower=1)
                sums += r @ B
            return G, sums

        (G, sums), (more, others) = run_all([partial(part, 0), partial(part, 1)], self.threads)
        G += more
        return np.tril(G) + np.tril(G, -1).T, sums + others


def _coupled(H: Array, cells: Sequence[tuple[int, int]]) -> Array:
    """Second derivatives from the sums of p_k p_m over the rows, one for each pair of columns."""
    each = np.arange(len(H))
    for i, j in cells:
        one = 0.5 * (H[:, :, i, j] + H[:, :, i, j].T)
        one[each, each] = 0.0
        one[each, each] = -one.sum(axis=1)
        H[:, :, i, j] = H[:, :, j, i] = -one
    return H


# -- Products of a sparse matrix with one column a class, all classes in one read of a row --------


@routine
def scores(data, indices, indptr, W, lo, hi, out):
    """out[i - lo, k] = x_i . W[:, k] for lo <= i < hi."""
    K = W.shape[1]
    for i in range(lo, hi):
        row = out[i - lo]
        for k in range(K):
            row[k] = 0.0
        at, end = indptr[i], indptr[i + 1]
        while at + 4 <= end:  # four at a time keep the sums in registers
            x0, x1, x2, x3 = data[at], data[at + 1], data[at + 2], data[at + 3]
            w0, w1 = W[indices[at]], W[indices[at + 1]]
            w2, w3 = W[indices[at + 2]], W[indices[at + 3]]
            for k in range(K):
                row[k] = (((row[k] + x0 * w0[k]) + x1 * w1[k]) + x2 * w2[k]) + x3 * w3[k]
            at += 4
        while at < end:
            x0, w0 = data[at], W[indices[at]]
            for k in range(K):
                row[k] += x0 * w0[k]
            at += 1


@routine
def combine(data, indices, indptr, R, lo, hi, out):
    """out[j, k] += sum of x_ij R[i, k] for lo <= i < hi."""
    K = out.shape[1]
    for i in range(lo, hi):
        r = R[i]
        for at in range(indptr[i], indptr[i + 1]):
            x, total = data[at], out[indices[at]]
            for k in range(K):
                total[k] += x * r[k]


@routine
def combine_dense(X, R, lo, hi, out):
    """out[k, j] += sum of R[k, i] x_ij for lo <= i < hi, eight rows in one go over the columns.

    For few classes this beats the product of matrices of BLAS, which rearranges X first.
    """
    K, d = out.shape
    i = lo
    while i + 8 <= hi:
        x0, x1, x2, x3 = X[i], X[i + 1], X[i + 2], X[i + 3]
        x4, x5, x6, x7 = X[i + 4], X[i + 5], X[i + 6], X[i + 7]
        for k in range(K):
            r, total = R[k], out[k]
            r0, r1, r2, r3 = r[i], r[i + 1], r[i + 2], r[i + 3]
            r4, r5, r6, r7 = r[i + 4], r[i + 5], r[i + 6], r[i + 7]
            for j in range(d):
                total[j] += ((r0 * x0[j] + r1 * x1[j]) + (r2 * x2[j] + r3 * x3[j])) + (
                    (r4 * x4[j] + r5 * x5[j]) + (r6 * x6[j] + r7 * x7[j])
                )
        i += 8
    while i < hi:
        x0 = X[i]
        for k in range(K):
            r0, total = R[k, i], out[k]
            for j in range(d):
                total[j] += r0 * x0[j]
        i += 1


@combine_dense.in_numpy
def _combine_dense(X: Any, R: Any, lo: int, hi: int, out: Any) -> None:
    i = lo
    while i + 8 <= hi:
        p = [R[:, i + m, None] * X[i + m] for m in range(8)]
        out += ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]))
        i += 8
    for m in range(i, hi):
        out += R[:, m, None] * X[m]
