"""Scaling of Newton systems by their diagonal and a few long rows.

Where few rows carry much of the curvature, sigma_i |x_i|^2, as with raw counts of words, the
diagonal is a poor picture of ridge I + sum sigma_i z_i z_i', z = [x, 1]. With the rows R of the
largest curvature kept whole, M = D + sum_R sigma_i z_i z_i', D the diagonal of all else, and

    M^-1 r = D^-1 r - D^-1 Z' S (I + S Z D^-1 Z' S)^-1 S Z D^-1 r,  S the roots of sigma on R
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from linsep.certify.survey import survey
from linsep.core.lanes import run_all
from linsep.core.problem import Problem
from linsep.jit import long_rows as loops
from linsep.jit import products
from linsep.jit.layouts import CSR

__all__ = ["LongRows", "long_rows"]

Array = NDArray[np.float64]

_MOST = 256  # rows kept whole
_WORTH = 0.15  # of the curvature that they must carry,
_STEEP = 3.0  # and so many times more than if all rows were alike
_LEAST = 300_000  # entries of a matrix that is worth the effort


def long_rows(problem: Problem, sigma: Array, free: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The rows to keep whole, or None where that would bring little."""
    if not problem.sparse or problem.matrix.nnz < _LEAST or len(free) < 4 * _MOST:
        return None
    share = sigma[free] * (survey(problem).rows[free] + problem.fit_intercept)
    top = np.argpartition(-share, _MOST)[:_MOST]
    worth = max(_WORTH, _STEEP * _MOST / len(free))
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
                partial(loops.gram, T, diagonal, lo, hi, own, size=size, work=size)
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
        products.scores(self.Z, r, 0, k, v, size=self.size, work=self.size)
        v *= self.root
        u, _ = lapack.dpotrs(self.factor, v, lower=0)
        self.u = u * self.root
        return float(u @ v)

    def correct(self, p: Array) -> None:
        """p += M^-1 r - D^-1 r, for the r that was looked at last."""
        products.combine(self.Z, -self.u, 0, len(self.u), p, size=self.size, work=self.size)


def _tuple(M: Any) -> CSR:
    """Unsigned indices spare compiled code a test for negative ones."""
    return CSR(M.data, M.indices.view(np.dtype(f"u{M.indices.dtype.itemsize}")), M.indptr)
