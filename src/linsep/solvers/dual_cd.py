"""Dual coordinate descent, one row at a time.

Problem   maximise D(alpha) = sum alpha_i - |v|^2 / 2 - sum c_i L*(alpha_i / c_i),
          v = sum alpha_i y_i x_i, c_i = C s_i; 0 <= alpha_i <= c_i for the hinge, alpha >= 0
          for its square; with an intercept also sum alpha_i y_i = 0
Given     rows x_i, signs y_i, weights s_i
Update    alpha_i <- clip(alpha_i - G / Q),  G = y_i (w.x_i + b) - 1 (+ alpha_i / (2 c_i)),
          Q = |x_i|^2 + rho (+ 1 / (2 c_i)), w and b following; rows that stay at a bound are
          put aside. The equality is a multiplier: b <- b + rho sum alpha_i y_i after a sweep
Stop      (P - D) / P <= tol, looked at when the sum of the gaps met on the way says so
Paper     Hsieh, Chang, Lin, Keerthi, Sundararajan 2008, algorithms 1 and 3; the multiplier
          method of Hestenes and Powell 1969 for the intercept
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.log import NO_LOG, Log
from linsep.core.problem import Problem
from linsep.core.protocol import State, Witness
from linsep.core.status import Status
from linsep.jit import dual_cd as loops
from linsep.jit.layouts import Matrix
from linsep.solvers.dual_point import (
    Bounds,
    best_offset,
    dual_value,
    row_lengths,
    row_scores,
    stretched,
)
from linsep.solvers.packed import may_round, packed

__all__ = ["DualCD", "DualState"]

Array = NDArray[np.float64]

_GOAL = 1.5


@dataclass(kw_only=True)
class DualState(State):
    """The dual point, the weights that belong to it, and the rows in play."""

    a: Array
    """[w, b]."""
    alpha: Array
    order: NDArray[np.int64]
    """Row numbers; the first ``active`` are visited."""
    active: int
    numbers: Array
    """What sweeps keep: see jit/dual_cd.py."""
    inverse: Array
    rho: float
    mean: Array
    """Mean of a over the last sweeps, newer ones counting more."""
    goal: float = _GOAL
    """Running gap at which both sides are looked at, times the gap asked for."""
    best: Array
    best_primal: float
    best_alpha: Array
    best_dual: float = 0.0
    visits: int = 0
    """Rows visited by sweeps."""
    work: float = 0.0
    """Other work in passes."""
    history: Array
    """Running relative gap of the last sweeps, newest last."""

    @property
    def passes(self) -> float:
        """Rows read divided by the number of rows."""
        return self.work + self.visits / len(self.alpha)

    @property
    def gap(self) -> float:
        """Relative duality gap of the best points looked at."""
        return Bounds(self.best_primal, self.best_dual).relative


@dataclass(frozen=True)
class DualCD:
    """Dual coordinate descent with shrinking, for sparse and for wide data.

    Parameters
    ----------
    C : float, default=1.0
    loss : {"hinge", "squared_hinge"}
    tol : float, default=1e-3
        Relative duality gap.
    seed : int, default=0
        Of the order of visits.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.dual_cd import DualCD
    >>> out = drive(Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]), DualCD(tol=1e-6))
    >>> out.status.name, round(float(out.witness.a[0]), 3)
    ('CERTIFIED', 1.0)
    """

    C: float = 1.0
    loss: str = "hinge"
    tol: float = 1e-3
    seed: int = 0

    unit: ClassVar[str] = "sweep"

    def prepare(self, problem: Problem) -> None:
        """Make what all parts of a problem of many classes share."""
        row_lengths(problem)
        self._rows(problem)

    def init(self, problem: Problem, *, start: Any = None) -> DualState:
        """alpha = 0, or given dual variables, one for each row; or (coef, intercept, alpha)."""
        weights, start = (start[:2], start[2]) if isinstance(start, tuple) else (None, start)
        cost = self.C * problem.weight
        lengths = row_lengths(problem)
        rho = float(problem.weight @ lengths) / float(problem.weight.sum())
        rho = (rho if rho > 0 else 1.0) if problem.fit_intercept else 0.0
        curve = 0.5 / cost if self.loss == "squared_hinge" else np.zeros(problem.n)
        with np.errstate(divide="ignore"):
            inverse = 1.0 / (lengths + rho + curve)
        alpha = np.zeros(problem.n)
        if start is not None:
            top = cost if self.loss == "hinge" else np.inf
            alpha = np.clip(np.asarray(start, dtype=np.float64), 0.0, top)
        state = DualState(
            a=np.zeros(problem.d + 1),
            alpha=alpha,
            order=np.arange(problem.n),
            active=problem.n,
            numbers=np.zeros(loops.N_NUMBERS),
            inverse=inverse,
            rho=rho,
            mean=np.zeros(problem.d + 1),
            best=np.zeros(problem.d + 1),
            best_primal=float(cost.sum()),
            best_alpha=np.zeros(problem.n),
            history=np.full(8, np.inf),
        )
        state.numbers[:3] = np.inf, -np.inf, np.inf
        if alpha.any():
            state.numbers[3:6] = alpha.sum(), alpha @ problem.sign, 0.5 * (curve @ alpha**2)
            self._look(problem, state, fresh=True)
            if weights is not None and not state.status.done:
                self._compare(problem, state, problem.join(*weights)[:-1])
        return state

    def advance(self, problem: Problem, state: DualState, steps: int, log: Log = NO_LOG) -> int:
        """Sweeps over the rows in play."""
        taken = 0
        X, cost, squared = self._rows(problem), self.C * problem.weight, self.loss != "hinge"
        size = problem.matrix.nnz if problem.sparse else problem.n * problem.d
        while taken < steps and not state.status.done:
            done, active, visits = loops.sweeps(
                X, problem.sign, cost, state.inverse, squared, state.rho, state.a, state.alpha,
                state.order, state.active, self.seed * 1000003, state.steps, steps - taken,
                state.goal * self.tol, state.numbers, state.history, state.mean,
                size=size, work=2 * size,
            )  # fmt: skip
            state.active = int(active)
            state.visits += int(visits)
            state.steps += done
            state.n_updates += int(visits)
            taken += done
            self._after(problem, state)
        return taken

    def status(self, state: DualState) -> Status:
        """CERTIFIED when the gap is closed."""
        return state.status

    def witness(self, problem: Problem, state: DualState) -> Witness:
        """The best weights looked at, and the best dual point."""
        looked = state.best_dual > 0
        alpha = state.best_alpha if looked else state.alpha
        a = state.best if looked else self._no_worse_than_zero(problem, state)
        rows = np.flatnonzero(alpha)
        return Witness(a=a.copy(), rows=rows, multipliers=alpha[rows], claim="dual")

    def _no_worse_than_zero(self, problem: Problem, state: DualState) -> Array:
        """Weights of a run that was stopped before its first look: these, or zero."""
        v = state.a[:-1]
        scores = row_scores(problem, v)
        b, loss = best_offset(problem, self.loss, scores, float(state.a[-1]))
        if 0.5 * float(v @ v) + self.C * loss < state.best_primal:
            return np.append(v, b)
        return state.best

    def _rows(self, problem: Problem) -> Matrix:
        return packed(problem, narrow=may_round(problem, self.C, self.tol))

    # -- inside -------------------------------------------------------------------------------

    def _after(self, problem: Problem, state: DualState) -> None:
        """Look at the gap when the one met on the way is small enough."""
        state.status = Status.RUNNING
        numbers, b = state.numbers, float(state.a[-1])
        dual = (
            numbers[loops.TOTAL] - numbers[loops.CURVED] - 0.5 * float(state.a[:-1] @ state.a[:-1])
        )
        if not np.isfinite(dual):
            state.status = Status.DIVERGED
            return
        balance = float(numbers[loops.BALANCE]) if problem.fit_intercept else 0.0
        running = float(numbers[loops.RUNNING]) + abs(b * balance)
        due = loops.is_due(state.steps, numbers[loops.CAPPED])
        if running <= state.goal * self.tol * abs(dual) or state.active == 0 or due:
            self._look(problem, state, running=running)

    def _look(
        self, problem: Problem, state: DualState, *, running: float = 0.0, fresh: bool = False
    ) -> None:
        """Evaluate both sides truly, and sort out which rows are in play."""
        scores, dual, w = dual_value(problem, self.loss, self.C, state.alpha, state.a, fresh=fresh)
        if fresh:
            state.a[:-1] = w
        state.work += 1.0
        b = self._primal(problem, state, state.a[:-1], scores)
        if fresh:
            state.a[-1], state.mean = b, state.a.copy()
        if dual > state.best_dual:
            state.best_dual, state.best_alpha = dual, state.alpha.copy()
        if state.gap <= self.tol:
            state.status = Status.CERTIFIED
        elif not fresh:
            self._compare(problem, state, state.mean[:-1])
        if not state.status.done:
            self._sort_out(problem, state, scores)
            met = running / max(self.tol * abs(dual), 1e-300)
            ahead = met * max(self.tol / state.gap, 0.5)  # where the gap should be closed
            state.goal = min(ahead, 0.95 * met, _GOAL) if met > 0 else _GOAL

    def _compare(self, problem: Problem, state: DualState, w: Array) -> None:
        """Other weights, which may be better than those of the dual point."""
        state.work += 1.0
        self._primal(problem, state, w, row_scores(problem, w))
        if state.gap <= self.tol:
            state.status = Status.CERTIFIED

    def _primal(self, problem: Problem, state: DualState, w: Array, scores: Array) -> float:
        """The best offset for w; the best weights are kept."""
        b, loss = best_offset(problem, self.loss, scores, float(state.a[-1]))
        half = 0.5 * float(w @ w)
        primal, t = half + self.C * loss, 1.0
        if self.loss == "hinge" and self.tol * primal < primal - state.best_dual:
            t, primal = stretched(problem, self.C, half, problem.sign * (scores + b), primal)
        if primal < state.best_primal:
            state.best_primal, state.best = primal, t * np.append(w, b)
        return b

    def _sort_out(self, problem: Problem, state: DualState, scores: Array) -> None:
        """Take rows back in, or put them aside, by their present gradients."""
        g = problem.sign * (scores + state.a[-1]) - 1.0
        top: Any = self.C * problem.weight
        if self.loss != "hinge":
            g += state.alpha / (2.0 * top)
            top = np.inf
        above, below = state.numbers[loops.LARGEST], state.numbers[loops.SMALLEST]
        aside = (state.alpha == 0.0) & (g > above) | (state.alpha == top) & (g < below)
        state.order = np.flatnonzero(~aside)
        state.active = len(state.order)
