"""Points of Newton's method for logistic regression: going to one, and what is found there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linsep.certify.logistic_rows import LogisticReading, LogisticRows
from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.solvers.logistic_levels import level_rows, read_level, sample_sizes
from linsep.solvers.logistic_line import minimum_along
from linsep.solvers.logistic_state import LogisticState, pairs_solved
from linsep.solvers.penalty import Penalty
from linsep.solvers.precision import want_double

__all__ = ["LogisticSteps"]

Array = NDArray[np.float64]

_MEMORY = 12  # pairs of L-BFGS kept before the curvature is computed afresh
_ROUNDING = 1e-13  # relative difference of objectives that are taken as equal
_RUNAWAY = 12  # steps without a penalty after which shrinking steps are expected


@dataclass(frozen=True)
class LogisticSteps(Penalty):
    """The settings of Newton's method, see ``newton_logistic.py``, and its single steps."""

    C: float = 1.0
    tol: float = 1e-3
    seed: int = 0
    threads: int | None = None
    patient: bool = False

    def _enter(self, problem: Problem, state: LogisticState, level: int, a: Array) -> None:
        """Go on with another set of rows; the curvature of the last one is kept."""
        last = len(sample_sizes(problem))
        state.level, state.rung = level, 0
        bent = not (last and self.ridge and state.curvature.any())
        reading = self._read(problem, state, state.level, a, bent)
        if level > 0 and not self._value(a, reading) < np.inf:
            a = state.a
            reading = self._read(problem, state, state.level, a, bent)
        self._take(problem, state, a, reading)

    def _move(self, problem: Problem, state: LogisticState, p: Array) -> None:
        """Unit step, or the exact minimum along p."""
        rows = self._rows(problem, state.level)
        last = len(sample_sizes(problem))
        thrifty = last > 0 and state.level == last and self.ridge > 0
        bent = not thrifty or len(state.steps_s) >= _MEMORY
        old = state.primal
        reading = self._read(problem, state, state.level, state.a + p, bent)
        new = self._value(state.a + p, reading)
        if not new <= old + 1e-14 * abs(old):
            cost, change = self.cost * rows.cost, reading.m - state.m
            t = minimum_along(state.a, p, state.m, change, cost, self.ridge, 0.5)
            state.nested &= state.level < last
            state.own |= 0 < state.level < last
            p = t * p
            reading = self._read(problem, state, state.level, state.a + p, True)
            new = self._value(state.a + p, reading)
        state.idle = 0 if new < old - 1e-15 * abs(old) else state.idle + 1
        if not new <= old + 1e-12 * abs(old):  # rounding: stay where we are
            if state.idle > 2 or state.fresh:
                state.status = Status.STALLED
            self._take(
                problem, state, state.a, self._read(problem, state, state.level, state.a, True)
            )
            return
        before_a, before_g = state.a, state.gradient
        self._take(problem, state, state.a + p, reading)
        if state.fresh:
            state.steps_s, state.steps_y = state.steps_s[:0], state.steps_y[:0]
        else:
            s, y = state.a - before_a, state.gradient - before_g
            if float(s @ y) > 0:
                state.steps_s = np.vstack([state.steps_s, s])
                state.steps_y = np.vstack([state.steps_y, y])
        if state.idle > 5 and not state.status.done:
            state.status = Status.STALLED

    def _take(
        self, problem: Problem, state: LogisticState, a: Array, reading: LogisticReading
    ) -> None:
        """Move to an evaluated point."""
        state.a, state.m = a, reading.m
        state.n_updates += 1
        state.primal = self._value(a, reading)
        state.gradient = self.ridge * a - self.cost * reading.v
        state.gradient[-1] = -self.cost * reading.v[-1]
        state.fresh = reading.curvature is not None
        if reading.curvature is not None:
            state.curvature = reading.curvature
        if not (np.isfinite(state.primal) and np.isfinite(state.gradient).all()):
            state.status = Status.DIVERGED
            return
        state.status = Status.RUNNING
        if state.level < len(sample_sizes(problem)):
            return
        state.gap = self._gap(problem, state)
        # close to the end rounding decides which objective is less, and the gap still shrinks
        equal = abs(state.primal - state.best_primal) <= _ROUNDING * abs(state.primal)
        if state.gap <= state.best_gap if equal else state.primal <= state.best_primal:
            state.best_primal, state.best_gap, state.best = state.primal, state.gap, a.copy()
        if state.gap <= self.tol:
            state.status = Status.CERTIFIED
        elif not self.ridge and not self.patient:
            self._watch(state)

    def _gap(self, problem: Problem, state: LogisticState) -> float:
        """The duality gap at this point, if the curvature is right."""
        g = state.gradient
        if not self.ridge:
            p = self._direction(problem, state)
            decrement = max(-float(g @ p), 0.0)
            state.slow = state.slow + 1 if decrement > 0.1 * state.decrement else 0
            state.decrement = decrement
            near = state.fresh and float(np.abs(p).max(initial=0.0)) < np.inf
            return _share(decrement, state.primal) if near else np.inf
        H = state.curvature
        w, b, bend = g[:-1], float(g[-1]), float(H[-1, -1])
        if problem.fit_intercept and bend > 0:
            w = w - H[:-1, -1] * (b / bend)
            rest = 0.5 * b * (b / (self.cost * bend))  # b * b may underflow
        else:
            rest = 0.0
        return _share(0.5 * float(w @ w) + rest, state.primal)

    def _watch(self, state: LogisticState) -> None:
        """Without a penalty: the signs that there may be no maximum."""
        if float(state.m.min()) > 0.0:
            state.status = Status.SEPARATED
        elif state.rung >= _RUNAWAY and state.slow >= 4:
            state.status = Status.STALLED

    # -- inside -------------------------------------------------------------------------------

    def _value(self, a: Array, reading: LogisticReading) -> float:
        return 0.5 * self.ridge * float(a[:-1] @ a[:-1]) + self.cost * reading.loss

    def _read(
        self,
        problem: Problem,
        state: LogisticState,
        level: int,
        a: Array,
        bent: bool,
        own: bool = False,
    ) -> LogisticReading:
        state.rows_read += self._rows(problem, level).n
        return read_level(
            problem, level, a,
            bent=bent, own=own or state.own,
            seed=self.seed, threads=self.threads, wide=self._wide(problem),
        )  # fmt: skip

    def _direction(self, problem: Problem, state: LogisticState) -> Array:
        return -pairs_solved(problem, state, self.cost, self.ridge)

    def _rows(self, problem: Problem, level: int) -> LogisticRows:
        wide = self._wide(problem)
        return level_rows(problem, level, seed=self.seed, threads=self.threads, wide=wide)

    def _wide(self, problem: Problem) -> bool:
        return want_double(problem, self.cost, self.tol, self.threads)


def _share(gap: float, primal: float) -> float:
    return gap / primal if gap > 0 else 0.0
