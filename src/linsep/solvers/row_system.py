"""Newton systems ridge I + sum_F sigma_i [x_i, 1] [x_i, 1]' over some rows F.

Few columns: the matrix is written down and factored. Many: conjugate gradients, scaled by the
diagonal, and by some rows kept whole where few rows carry much (``long_rows.py``). Two halves of
the rows in two threads, with the same bits for any number of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from linsep.core.lanes import run_all
from linsep.core.problem import Problem
from linsep.jit import proximal_newton as loops
from linsep.solvers.long_rows import LongRows, long_rows
from linsep.solvers.packed import packed

__all__ = ["RowSystem", "conjugate_gradients", "factored"]

Array = NDArray[np.float64]

_NEAR = 10.0  # times what is enough: go on to it
_SMALL = 100_000  # entries of rows below which a second thread costs more than it brings


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
        self.cut = int(np.searchsorted(ends, total // 2)) if total > _SMALL // 5 else len(free)
        self.threads = 1 if total < _SMALL else threads
        self.parts = np.empty((2, self.d + 1))

    def product(self, p: Array, out: Array) -> float:
        """out = system times p; gives back p . out."""
        self.parts[:] = 0.0
        self._halves(lambda lo, hi, half: (loops.curve, lo, hi, self.sigma, p, self.parts[half]))
        if not self.offset:
            self.parts[:, -1] = 0.0
        hold = self.hold if self.offset else 1.0
        value = loops.join(self.parts, self.ridge, hold, p, out, size=self.size, work=self.d)
        return float(value)

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
        self._halves(lambda lo, hi, half: (loops.squares, lo, hi, sigma, self.parts[half, :-1]))
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
        self._halves(lambda lo, hi, half: (loops.products, lo, hi, self.sigma, H[half]))
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
    damping = 1e-14
    while True:
        H = system.matrix()
        scale = 1.0 / np.sqrt(np.maximum(H.diagonal(), 1e-300))
        H *= scale[:, None]
        H *= scale
        np.fill_diagonal(H, 1.0 + damping)
        _, x, failed = lapack.dposv(H.T, scale * r, lower=False, overwrite_a=True)
        if not failed:
            return np.asarray(scale * x), system.share
        damping = max(10 * damping, 1e-13)


def conjugate_gradients(
    system: RowSystem, r: Array, forcing: float, most: int = 200, enough: float = 0.0
) -> tuple[Array, float]:
    """x with system x = r to a relative accuracy, and the work in passes; columns without any
    entry are left at 0.

    enough is a squared length of what is left of r that is small enough; it is gone for when it
    is near.
    """
    inverse, whole = system.scaling()
    size, d = system.size, len(r)
    r, x, p, q = r.copy(), np.zeros_like(r), np.zeros_like(r), np.empty_like(r)
    rz = _length(whole, loops.go(0.0, p, p, inverse, x, r, size=size, work=d), r)
    goal, beta, work = forcing**2 * rz, 0.0, 0.0
    for _ in range(most):
        left = float(r @ r) if enough else np.inf
        if left <= enough or not (rz > goal or (rz > 0.0 and left <= _NEAR * enough)):
            break
        loops.turn(beta, inverse, r, p, size=size, work=d)
        if whole is not None:
            whole.correct(p)
            work += whole.share
        pq = system.product(p, q)
        work += system.share
        if not pq > 0:
            break
        new = _length(whole, loops.go(rz / pq, p, q, inverse, x, r, size=size, work=d), r)
        rz, beta = new, new / rz
    return x, work


def _length(whole: LongRows | None, scaled: float, r: Array) -> float:
    """r . M^-1 r, given r . D^-1 r."""
    return float(scaled) if whole is None else float(scaled) - whole.weigh(r)
