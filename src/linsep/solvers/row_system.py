"""Newton systems ridge I + sum_F sigma_i [x_i, 1] [x_i, 1]' over some rows F.

Few columns: the matrix is written down and factored. Many: conjugate gradients, scaled by the
diagonal, and by some rows kept whole where few rows carry much. Two halves of
the rows in two threads, with the same bits for any number of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from linsep.core.compile import routine
from linsep.core.costs import ROWS_KEPT_APART, SPARSE, second_thread
from linsep.core.lanes import run_all
from linsep.core.layouts import CSR
from linsep.core.problem import Problem
from linsep.numerics.cholesky import Factor, growing
from linsep.rows import loops
from linsep.rows.loops import sample_add, sample_add_products, sample_add_squares, sample_dot
from linsep.rows.packed import packed
from linsep.rows.reader import survey

Array = NDArray[np.float64]

_SERIAL = second_thread(SPARSE)


class RowSystem:
    """The system as an operator."""

    def __init__(
        self,
        problem: Problem,
        sigma: Array,
        free: NDArray[np.int64],
        threads: int | None,
        ridge: float = 1.0,
    ) -> None:
        self.problem, self.ridge = problem, ridge
        self.d, self.offset = problem.d, problem.fit_intercept
        self.X = packed(problem, narrow=True)
        self.sigma, self.free = sigma, free
        self.hold = 1e-8 * float(sigma.sum())  # keeps b in place when no row is free
        M = problem.matrix
        lengths = np.diff(M.indptr)[free] if problem.sparse else np.full(len(free), problem.d)
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(free) else 0
        self.size = int(M.nnz) if problem.sparse else problem.n * problem.d
        self.share = total / max(1, self.size)
        self.cut = int(np.searchsorted(ends, total // 2)) if total > _SERIAL // 5 else len(free)
        self.threads = 1 if total < _SERIAL else threads
        self.parts = np.empty((2, self.d + 1))

    def product(self, p: Array, out: Array) -> float:
        """out = system times p; gives back p . out."""
        self.parts[:] = 0.0
        self._halves(lambda lo, hi, half: (curve, lo, hi, self.sigma, p, self.parts[half]))
        if not self.offset:
            self.parts[:, -1] = 0.0
        np.multiply(p, self.ridge, out=out)
        out[-1] = (self.hold if self.offset else 1.0) * p[-1]
        out += self.parts[0]
        out += self.parts[1]
        return float(p @ out)

    def _halves(self, job: Any) -> None:
        jobs = []
        for half, (lo, hi) in enumerate(((0, self.cut), (self.cut, len(self.free)))):
            if hi > lo:
                loop, *args = job(lo, hi, half)
                full = (self.X, self.free, *args)
                jobs.append(partial(loop, *full, size=self.size, work=self.size))
        run_all(jobs, self.threads)

    def diagonal(self, without: NDArray[np.int64] | None = None) -> Array:
        """The diagonal, for scaling, without the share of some rows."""
        sigma = self.sigma
        if without is not None:
            sigma = sigma.copy()
            sigma[without] = 0.0
        self.parts[:] = 0.0
        self._halves(lambda lo, hi, half: (squares, lo, hi, sigma, self.parts[half, :-1]))
        out: Array = self.parts[0] + self.parts[1] + self.ridge
        out[-1] = float(sigma[self.free].sum()) + self.hold if self.offset else 1.0
        return out

    def scaling(self) -> tuple[Array, LongRows | None]:
        """Inverse of the diagonal, 0 for columns without any entry, and rows kept whole."""
        rows = long_rows(self.problem, self.sigma, self.free) if self.ridge else None
        diagonal = self.diagonal(rows)
        inverse = np.where(diagonal > 0, 1.0 / np.where(diagonal > 0, diagonal, 1.0), 0.0)
        if rows is None:
            return inverse, None
        return inverse, LongRows(self.problem, rows, self.sigma, diagonal, self.threads)

    def matrix(self) -> Array:
        """The system written down, on and below the diagonal."""
        H = np.zeros((2, self.d + 1, self.d + 1))
        self._halves(lambda lo, hi, half: (products, lo, hi, self.sigma, H[half]))
        H[0] += H[1]
        out: Array = H[0]
        out.flat[:: self.d + 2] += self.ridge
        if self.offset:
            out[-1, -1] += self.hold - self.ridge
        else:
            out[-1, :] = 0.0
            out[-1, -1] = 1.0
        return out


def factored(system: RowSystem, r: Array) -> tuple[Array, float]:
    """x with system x = r by Cholesky, and the work in passes."""
    H = system.matrix()
    scale = 1.0 / np.sqrt(np.maximum(H.diagonal(), 1e-300))
    factor = Factor.of(H, scale, growing(1e-14, 1e-13, 1e6), lower=True, turned=True)
    return np.zeros_like(r) if factor is None else factor.solve(r), system.share


# -- Scaling of Newton systems by their diagonal and a few long rows ------------------------------
#
# Where few rows carry much of the curvature, sigma_i |x_i|^2, as with raw counts of words, the
# diagonal is a poor picture of ridge I + sum sigma_i z_i z_i', z = [x, 1]. With the rows R of the
# largest curvature kept whole, M = D + sum_R sigma_i z_i z_i', D the diagonal of all else, and
#
#     M^-1 r = D^-1 r - D^-1 Z' S (I + S Z D^-1 Z' S)^-1 S Z D^-1 r,  S the roots of sigma on R


_MOST_ROWS = 256  # rows kept whole
_WORTH_SHARE = 0.15  # of the curvature that they must carry,
_STEEP_ROWS = 3.0  # and so many times more than if all rows were alike


def long_rows(problem: Problem, sigma: Array, free: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The rows to keep whole, or None where that would bring little."""
    if not problem.sparse or problem.matrix.nnz < ROWS_KEPT_APART or len(free) < 4 * _MOST_ROWS:
        return None
    share = sigma[free] * (survey(problem).rows[free] + problem.fit_intercept)
    top = np.argpartition(-share, _MOST_ROWS)[:_MOST_ROWS]
    worth = max(_WORTH_SHARE, _STEEP_ROWS * _MOST_ROWS / len(free))
    if not float(share[top].sum()) > worth * float(share.sum()):
        return None
    return np.sort(free[top])


class LongRows:
    """The scaling M^-1 for a diagonal D and rows kept whole.

    Parameters
    ----------
    problem : Problem
        With a sparse matrix.
    rows : array of int
    sigma : array
        Curvature of all rows.
    diagonal : array of length d + 1
        D, positive.
    threads : int or None
        The result does not depend on it.
    """

    def __init__(
        self,
        problem: Problem,
        rows: NDArray[np.int64],
        sigma: Array,
        diagonal: Array,
        threads: int | None,
    ) -> None:
        from scipy import sparse

        self.size = int(problem.matrix.nnz)
        self.inverse = 1.0 / diagonal
        Z = problem.matrix[rows].astype(np.float64)
        last = np.full((len(rows), 1), 1.0 if problem.fit_intercept else 0.0)
        Z = sparse.hstack([Z, sparse.csr_matrix(last)], format="csr")
        Z.data *= self.inverse[Z.indices]
        self.share = Z.nnz / max(1, self.size)
        self.Z = _tuple(Z)
        self.root = np.sqrt(sigma[rows])
        self.factor = self._factor(_tuple(Z.T.tocsr()), diagonal, threads)
        self.u = np.zeros(len(rows))

    def _factor(self, T: CSR, diagonal: Array, threads: int | None) -> Array:
        k, d = len(self.root), len(diagonal)
        G = np.zeros((2, k, k))
        # few columns have many entries, and these are worth their squares
        squares = np.cumsum(np.square(np.diff(T.indptr).astype(np.float64)))
        cut = int(np.searchsorted(squares, 0.5 * squares[-1]))
        spans, size = ((0, cut), (cut, d)), self.size
        run_all(
            [
                partial(gram, T, diagonal, lo, hi, own, size=size, work=size)
                for (lo, hi), own in zip(spans, G)
            ],
            threads,
        )
        G[0] += G[1]
        A: Array = G[0] * self.root * self.root[:, None]
        A.flat[:: k + 1] += 1.0
        factor, failed = lapack.dpotrf(A.T, lower=0, clean=0, overwrite_a=1)
        if failed:  # rounding: the diagonal alone
            self.root = np.zeros(k)
            return np.eye(k)
        return np.asarray(factor)

    def weigh(self, r: Array) -> float:
        """Look at r; gives back what r . M^-1 r is less than r . D^-1 r."""
        k = len(self.root)
        v = np.empty(k)
        loops.scores(self.Z, r, 0, k, v, size=self.size, work=self.size)
        v *= self.root
        u, _ = lapack.dpotrs(self.factor, v, lower=0)
        self.u = u * self.root
        return float(u @ v)

    def correct(self, p: Array) -> None:
        """p += M^-1 r - D^-1 r, for the r that was looked at last."""
        loops.combine(self.Z, -self.u, 0, len(self.u), p, size=self.size, work=self.size)


def _tuple(M: Any) -> CSR:
    """Unsigned indices spare compiled code a test for negative ones."""
    return CSR(M.data, M.indices.view(np.dtype(f"u{M.indices.dtype.itemsize}")), M.indptr)


# -- Inner loops of the scaling by long rows: their products --------------------------------------


@routine
def gram(T, diagonal, lo, hi, G):
    """G += sum of diagonal_j t_j t_j' over the columns lo..hi, on and below the diagonal;
    t_j holds the entries of column j, by rising number of row."""
    for j in range(lo, hi):
        scale = diagonal[j]
        start = T.indptr[j]
        stop = T.indptr[j + 1]
        for p in range(start, stop):
            t = scale * T.data[p]
            line = G[T.indices[p]]
            for q in range(start, p + 1):
                line[T.indices[q]] += t * T.data[q]


# -- Inner loops of the proximal Newton method in the dual ----------------------------------------


@routine
def curve(X, rows, lo, hi, sigma, p, out):
    """out += sum of sigma_i [x_i, 1] ([x_i, 1] . p) over rows[lo:hi]; the last entry is b."""
    d = p.shape[0] - 1
    for k in range(lo, hi):
        i = rows[k]
        t = sigma[i] * (sample_dot(X, i, p, 0, d) + p[d])
        sample_add(X, i, t, out, 0, d)
        out[d] += t


@routine
def products(X, rows, lo, hi, sigma, H):
    """H += sum of sigma_i [x_i, 1] [x_i, 1]' over rows[lo:hi], on and below the diagonal."""
    d = H.shape[0] - 1
    for k in range(lo, hi):
        i = rows[k]
        sample_add_products(X, i, sigma[i], H)
        sample_add(X, i, sigma[i], H[d], 0, d)
        H[d, d] += sigma[i]


@routine
def squares(X, rows, lo, hi, sigma, out):
    """out += sum of sigma_i x_i^2, entry by entry, over rows[lo:hi]."""
    for k in range(lo, hi):
        i = rows[k]
        sample_add_squares(X, i, sigma[i], out)


@routine
def bend(scores, sign, b, center, sigma, top, alpha, free):
    """alpha = clip(center + sigma u, 0, top); gives back how many rows lie strictly between."""
    k = 0
    for i in range(scores.shape[0]):
        v = center[i] + sigma[i] * (1.0 - sign[i] * (scores[i] + b))
        if v <= 0.0:
            v = 0.0
        elif v >= top[i]:
            v = top[i]
        else:
            free[k] = i
            k += 1
        alpha[i] = v
    return k


@routine
def slope(scores, step, sign, b, db, center, sigma, top, t, out):
    """Derivatives along scores + t step, b + t db, of the sum of the penalties."""
    first = 0.0
    second = 0.0
    for i in range(scores.shape[0]):
        e = -sign[i] * (step[i] + db)
        v = center[i] + sigma[i] * (1.0 - sign[i] * (scores[i] + b) + t * e)
        if v > 0.0:
            if v >= top[i]:
                first += top[i] * e
            else:
                first += v * e
                second += sigma[i] * e * e
    out[0] = first
    out[1] = second
