"""A rough inverse of the products of all rows with all rows, for wide tables of some thousand rows.

K = D^-1 W W' D^-1 + delta I = L L' in float32, W = S^(1/2) X~ and D the lengths of its rows. It is
made in steps of a second or less, a stripe of rows of K or of columns of L each. It is far too
rough to solve with, and just right to make conjugate gradients converge in a few steps.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.lanes import run_all
from linsep.core.problem import Problem

__all__ = ["RowFactor", "row_factor", "rows_fit"]

Array = NDArray[np.float64]

_ROWS = 12_000  # 600 megabytes
_STRIPE = 1024
_PIECE = 128
_DELTA = 3e-6  # what rounding in float32 may cost a factorisation of this size


def rows_fit(problem: Problem) -> bool:
    """Whether rows are fewer than columns, and few enough."""
    return problem.n < problem.width and problem.n <= _ROWS


def row_factor(problem: Problem) -> RowFactor:
    """The factor of a problem, as far as it has been made; kept with it."""
    kept: RowFactor | None = problem.__dict__.get("_row_factor")
    if kept is None:
        kept = problem.__dict__["_row_factor"] = RowFactor(problem)
    return kept


class RowFactor:
    """The lower triangle of L, stripe by stripe."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.stripes = -(-problem.n // _STRIPE)
        self.filled = self.factored = 0
        self.delta = _DELTA
        self.failed = False
        self.matrix = np.empty((0, 0), np.float32)
        self.back: Any = None
        root = np.sqrt(problem.weight)
        squares = problem.squared_lengths + (1.0 if problem.fit_intercept else 0.0)
        lengths = np.sqrt(squares)
        self.scale = np.where(lengths > 0, 1.0 / np.where(lengths > 0, lengths, 1.0), 0.0)
        self.over = self.scale / root  # D^-1 of the weighted rows

    @property
    def ready(self) -> bool:
        """Whether all stripes are done."""
        return self.factored == self.stripes

    def step(self) -> None:
        """One stripe more."""
        if self.filled < self.stripes:
            self._fill(self.filled)
            self.filled += 1
        elif not self.ready:
            self.failed = not self._factor(self.factored)
            self.factored += 1

    def solve(self, R: Array) -> Array:
        """K^-1 in the units of the weighted rows: D^-1 (L L')^-1 D^-1 R."""
        scaled = (R * self.over[:, None]).astype(np.float32)
        upper = self.matrix.T  # in the order LAPACK reads without a copy
        found = scipy.linalg.cho_solve((upper, False), scaled, check_finite=False)
        return np.asarray(found.astype(np.float64) * self.over[:, None])

    def _fill(self, k: int) -> None:
        """Cosines of a stripe of rows with all rows before them and themselves."""
        problem = self.problem
        if not self.matrix.size:
            self.matrix = np.empty((problem.n, problem.n), np.float32)
            self.back = problem.matrix.T.tocsr() if problem.sparse else problem.matrix.T
        first, last = k * _STRIPE, min((k + 1) * _STRIPE, problem.n)

        def piece(lo: int) -> None:
            hi = min(lo + _PIECE, last)
            block = problem.matrix[lo:hi] @ self.back
            block = np.asarray(block.toarray() if problem.sparse else block, dtype=np.float64)
            if problem.fit_intercept:
                block += 1.0
            block *= self.scale
            block *= self.scale[lo:hi, None]
            self.matrix[lo:hi] = block

        run_all([partial(piece, lo) for lo in range(first, last, _PIECE)])

    def _factor(self, k: int) -> bool:
        """A stripe of columns of L; False where rounding forbids it."""
        A, lo, hi = self.matrix, k * _STRIPE, min((k + 1) * _STRIPE, self.problem.n)
        block = A[lo:, lo:hi] - A[lo:, :lo] @ A[lo:hi, :lo].T if lo else A[lo:, lo:hi].copy()
        top = block[: hi - lo]
        top.flat[:: hi - lo + 1] += np.float32(self.delta)
        try:
            L = scipy.linalg.cholesky(top, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            return False
        A[lo:hi, lo:hi] = L
        if hi < self.problem.n:
            rest = scipy.linalg.solve_triangular(
                L, block[hi - lo :].T, lower=True, check_finite=False
            )
            A[hi:, lo:hi] = rest.T
        return True
