"""Least squares by conjugate gradients, where no matrix of products fits.

Problem   minimise J(A) = sum_i s_i |x~_i A - t_i|^2
Update    A <- A + alpha P,  P <- G + beta P  on the normal equations, one pass a step
Stop      the gradient is so small that no weights of moderate size are better by tol
Paper     Hestenes and Stiefel 1952; Björck, Numerical Methods for Least Squares Problems, 7.4

From A = 0 all iterates are combinations of rows, so the limit is the solution of least length.
Every so often the gradient is computed afresh, since updating it lets rounding add up.

Where that is slow and rows are fewer than columns, A = A_0 + W'U, and conjugate gradients go on
for W W'U = S^(1/2) (T - X~ A_0), preconditioned by a rough inverse of W W'. If
some A fits all targets a few steps do; else they lead nowhere, and the first way is gone on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.lanes import run_all
from linsep.core.problem import Problem
from linsep.core.protocol import NO_LOG, Held, Log, State, Status, Witness
from linsep.rows.normal import aims, columns_of, flat, small_slope, totals, weighted_squares

Array = NDArray[np.float64]

_AFRESH = 50  # steps between two gradients that are computed from the rows
_NOTHING = 1e-12  # of a squared gradient: what is left is rounding of the updates
_STALL = 20  # fresh gradients without a better one
_VAIN = 5  # iterations for U without a smaller cost


@dataclass(kw_only=True)
class ConjugateState(State):
    """Weights, half the negative gradient, the direction and its squared length."""

    held: ClassVar[Mapping[str, Held]] = {
        "P": Held(shape=("directions", None)),
        "residual": Held(shape=("n", "squared"), empty=True),
        "best": Held(shape=("a",), empty=True),
    }

    a: Array
    G: Array
    P: Array
    squared: Array
    least: float = np.inf
    fresh: float = np.inf
    """Squared length of the last gradient that was computed from the rows."""
    since: int = 0
    until: int = 0
    """Steps left before the gradient is computed afresh."""
    n_passes: int = 0
    by_rows: bool = False
    """Whether directions are those of U; squared is then the residual in their metric."""
    residual: Array = field(default_factory=lambda: np.zeros((0, 0)))
    """S^(1/2) (T - X~ A), while directions are those of U."""
    best: Array = field(default_factory=lambda: np.zeros(0))
    vain: bool = False
    """Whether directions of U led nowhere."""

    @property
    def passes(self) -> float:
        """Products with all rows, there and back."""
        return float(self.n_passes)


@dataclass(frozen=True)
class ConjugateSquares:
    """Conjugate gradients on the normal equations, all columns at once.

    Parameters
    ----------
    tol : float
        Gap to reach, relative to the cost of zero weights.
    patience : int
        Iterations after which wide tables get a rough inverse of the products of their rows.
    """

    unit: ClassVar[str] = "iteration"

    tol: float = 1e-6
    patience: int = 150

    def init(self, problem: Problem, *, start: Any = None) -> ConjugateState:
        """Weights zero, or a start (which gives up the least length)."""
        a = np.zeros(problem.dim) if start is None else problem.join(*start)
        shape = columns_of(problem, a).shape
        return ConjugateState(a=a, G=np.zeros(shape), P=np.zeros(shape), squared=np.zeros(shape[1]))

    def advance(
        self, problem: Problem, state: ConjugateState, steps: int, log: Log = NO_LOG
    ) -> int:
        """Up to ``steps`` iterations."""
        taken = 0
        while taken < steps and not state.status.done:
            taken += 1
            late = state.steps >= self.patience and not state.vain
            if state.by_rows or (late and rows_fit(problem)):
                state.steps += 1
                self._by_rows(problem, state)
                continue
            if state.until == 0:
                self._afresh(problem, state)
            state.steps += 1
            state.until -= 1
            if not state.status.done:
                self._iterate(problem, state)
        return taken

    def extents(self, problem: Problem, state: ConjugateState) -> dict[str, int]:
        """Directions are of the weights, or of the rows."""
        return {"directions": problem.n if state.by_rows else len(state.G)}

    def status(self, state: ConjugateState) -> Status:
        """Why the run stands where it stands."""
        return state.status

    def witness(self, problem: Problem, state: ConjugateState) -> Witness:
        """The weights."""
        return Witness(a=state.a.copy())

    def _afresh(self, problem: Problem, state: ConjugateState) -> None:
        A, T = columns_of(problem, state.a), aims(problem)
        gradient = -totals(problem, A, T).gradient
        if float(state.squared.sum()) <= _NOTHING * state.fresh:
            state.P = state.G  # nothing is left of the old direction
        state.P = state.P + (gradient - state.G)  # the direction goes on, without the drift
        drift = float(np.linalg.norm(gradient - state.G))
        state.G = gradient
        state.squared = (state.G**2).sum(axis=0)
        state.n_passes += 1
        state.until = _AFRESH
        size = state.fresh = float(state.squared.sum())
        if not np.isfinite(size):
            state.status = Status.DIVERGED
            return
        state.status = Status.RUNNING
        if small_slope(problem, A, state.G, T, self.tol):
            state.status = Status.CERTIFIED
        state.since = 0 if size < 0.5 * state.least else state.since + 1
        state.least = min(state.least, size)
        lost = state.n_updates > 0 and drift > 0.5 * np.sqrt(size)  # it is rounding by now
        if not state.status.done and (lost or state.since >= _STALL):
            state.status = Status.STALLED

    def _iterate(self, problem: Problem, state: ConjugateState) -> None:
        now = totals(problem, state.P, np.zeros((problem.n, state.P.shape[1])))
        state.n_passes += 1
        curvature = now.cost(problem)
        with np.errstate(all="ignore"):
            along = (state.P * state.G).sum(axis=0)  # keeps J falling whatever P has become
            alpha = np.where(curvature > 0, along / curvature, 0.0)
            A = columns_of(problem, state.a) + alpha * state.P
            state.G = state.G - alpha * now.gradient
            squared = (state.G**2).sum(axis=0)
            beta = np.where(state.squared > 0, squared / state.squared, 0.0)
        state.P = state.G + beta * state.P
        state.squared = squared
        state.a = flat(problem, A)
        state.n_updates += 1
        if float(squared.sum()) <= _NOTHING * state.fresh:
            state.until = 0
        if small_slope(problem, A, state.G, aims(problem), self.tol / 4):
            state.until = 0  # look at the gradient itself

    # -- a rough inverse of the rows' products ------------------------------------------------

    def _by_rows(self, problem: Problem, state: ConjugateState) -> None:
        """A stripe of the factor, or an iteration for U."""
        factor = row_factor(problem)
        while not factor.ready:
            factor.step()
            if factor.failed:
                self._back(problem, state)
                return
            if not state.by_rows:  # else a run goes on from a file, and all of it is needed
                return
        if not state.by_rows:
            self._turn(problem, state)
        root = np.sqrt(problem.weight)[:, None]
        step = _combined(problem, root * state.P)
        curvature = (step**2).sum(axis=0)
        with np.errstate(all="ignore"):
            alpha = np.where(curvature > 0, state.squared / curvature, 0.0)
        A = columns_of(problem, state.a) + alpha * step
        state.a = flat(problem, A)
        state.residual = root * (aims(problem) - _scores(problem, A))
        state.n_passes += 1
        state.n_updates += 1
        if not self._judge(problem, state, A, root):
            old, Z = state.squared, factor.solve(state.residual)
            state.squared = (state.residual * Z).sum(axis=0)
            with np.errstate(all="ignore"):
                state.P = Z + np.where(old > 0, state.squared / old, 0.0) * state.P

    def _turn(self, problem: Problem, state: ConjugateState) -> None:
        """From directions of A to directions of U."""
        root, A = np.sqrt(problem.weight)[:, None], columns_of(problem, state.a)
        state.residual = root * (aims(problem) - _scores(problem, A))
        state.P = row_factor(problem).solve(state.residual)
        state.squared = (state.residual * state.P).sum(axis=0)
        state.n_passes += 1
        state.by_rows, state.since = True, 0
        state.least, state.best = float((state.residual**2).sum()), state.a

    def _judge(self, problem: Problem, state: ConjugateState, A: Array, root: Array) -> bool:
        """Whether to stop here: near enough, or nothing gained for a while."""
        size = float((state.residual**2).sum())
        if size < state.least:
            state.least, state.best, state.since = size, state.a, 0
        else:
            state.since += 1
        if self._small(problem, A, -_combined(problem, root * state.residual), state.residual):
            state.status = Status.CERTIFIED
        elif state.since >= _VAIN or not np.isfinite(size):
            state.a = state.best
            self._back(problem, state)
        return state.status.done or state.vain

    def _back(self, problem: Problem, state: ConjugateState) -> None:
        """To directions of A, for good."""
        shape = columns_of(problem, state.a).shape
        state.by_rows, state.vain, state.until = False, True, 0
        state.G, state.P, state.squared = np.zeros(shape), np.zeros(shape), np.zeros(shape[1])
        state.residual, state.least, state.fresh, state.since = (
            state.residual[:0],
            np.inf,
            np.inf,
            0,
        )
        state.n_updates = 0
        problem.forget(RowFactor)

    def _small(self, problem: Problem, A: Array, slope: Array, residual: Array) -> bool:
        """Whether the costs or the slopes are so small that no weights are better by tol."""
        T = aims(problem)
        whole = float(weighted_squares(problem, T).sum())
        if float((residual**2).sum()) <= 0.5 * self.tol * whole:
            return True
        return small_slope(problem, A, slope, T, self.tol)


def _scores(problem: Problem, A: Array) -> Array:
    """X~ A."""
    out = problem.product(A[: problem.d])
    return out + A[-1] if problem.fit_intercept else out


def _combined(problem: Problem, U: Array) -> Array:
    """X~' U."""
    top = np.asarray(problem.matrix.T @ U, dtype=np.float64)
    return np.vstack([top, U.sum(axis=0)[None, :]]) if problem.fit_intercept else top


# -- A rough inverse of the products of all rows with all rows, for wide tables of many rows ----
#
# K = D^-1 W W' D^-1 + delta I = L L' in float32, W = S^(1/2) X~ and D the lengths of its rows. It
# is made in steps of a second or less, a stripe of rows of K or of columns of L each. It is far
# too rough to solve with, and just right to make conjugate gradients converge in a few steps.


_MOST_ROWS = 12_000  # 600 megabytes
_STRIPE = 1024
_COLUMNS_AT_ONCE = 128
_DELTA = 3e-6  # what rounding in float32 may cost a factorisation of this size


def rows_fit(problem: Problem) -> bool:
    """Whether rows are fewer than columns, and few enough."""
    return problem.n < problem.width and problem.n <= _MOST_ROWS


def row_factor(problem: Problem) -> RowFactor:
    """The factor of a problem, as far as it has been made; kept with it."""
    return problem.once(RowFactor)


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
            hi = min(lo + _COLUMNS_AT_ONCE, last)
            block = problem.matrix[lo:hi] @ self.back
            block = np.asarray(block.toarray() if problem.sparse else block, dtype=np.float64)
            if problem.fit_intercept:
                block += 1.0
            block *= self.scale
            block *= self.scale[lo:hi, None]
            self.matrix[lo:hi] = block

        run_all([partial(piece, lo) for lo in range(first, last, _COLUMNS_AT_ONCE)])

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
