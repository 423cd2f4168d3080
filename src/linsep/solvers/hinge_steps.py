"""Single steps of the Newton method for the hinge: which rows, which width, which length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.jit import newton_hinge as loops
from linsep.solvers.hinge_moves import direction, dual_of, minimum_along
from linsep.solvers.hinge_near import NearRows, far_sums, near_rows, with_far
from linsep.solvers.hinge_pass import Reading, RowSet
from linsep.solvers.hinge_rows import Rows, rows_of_level, sizes
from linsep.solvers.hinge_state import NewtonState, relative_gap
from linsep.solvers.hinge_widths import FIRST, IDLE, SECOND, Widths, slopes
from linsep.solvers.packed import may_round
from linsep.solvers.precision import want_double

__all__ = ["HingeSteps"]

Array = NDArray[np.float64]

_CLOSE = 4.0  # times the gap asked for: so near, one more pass over all rows is quickest
_NEAR = 12  # steps on the rows near the corner before the others are looked at
_STRAYED = 3.0  # times the move that was foreseen: look at once
_FARTHEST = 8.0  # reach from which all rows are read
_DAMPED = 1e-5  # least damping after a step of the near rows that was too long
_SEPARABLE = 0.01  # share of the loss at w = 0 below which hardly any row is in the way


@dataclass(frozen=True)
class HingeSteps:
    """The settings of Newton's method, see ``newton_hinge.py``, and its single steps."""

    C: float = 1.0
    loss: str = "hinge"
    tol: float = 1e-3
    seed: int = 0
    threads: int | None = None

    @property
    def widths(self) -> Widths:
        """The choice of widths."""
        return Widths(self.C, self.loss, self.tol)

    def _step(self, problem: Problem, state: NewtonState) -> None:
        if state.level < 0 or not state.u.size:
            self._enter(problem, state, max(state.level + 1, 0), state.a)
            return
        rows = self._rows(problem, state)
        p, predicted = direction(self.C, state, problem.fit_intercept)
        full = state.level == len(sizes(problem))
        if self._nearly_separable(problem, state):
            self._start_low(problem, state)
            return
        if full and state.idle > IDLE and self._widen(problem, state):
            return
        settled = self.widths.settled(state, predicted, full)
        strayed = (
            isinstance(rows, NearRows)
            and rows.moved(state.a + p - state.base) > _STRAYED * state.move
        )
        if state.near.size and (settled or strayed or state.rung >= _NEAR or self._closed(state)):
            self._look(problem, state)
            return
        if settled:
            choose = self.widths.refine if full else self.widths.next_on_sample
            change = choose(state, rows.cost)
            if change is None and not full:
                self._enter(problem, state, state.level + 1, state.a + p)
                return
            if change is None:
                state.status = Status.STALLED
                return
            state.h, state.center = change
            state.rung = 0
            state.kappa = max(state.kappa, 1e-6 if state.h > 0 else 0.0) if full else 1e-3
            self._take(problem, state, rows, state.a + p, self._read(problem, state, rows, p))
            return
        if full and isinstance(rows, RowSet) and not self._closed(state, _CLOSE):
            rows = self._approach(problem, state, rows, p)
        self._newton(problem, state, rows, p, predicted)
        state.rung += 1

    def _closed(self, state: NewtonState, times: float = 0.98) -> bool:
        """Whether the gap at the present point is as small as asked for, or nearly so."""
        return relative_gap(state.primal, state.dual) <= times * self.tol

    def _approach(self, problem: Problem, state: NewtonState, rows: RowSet, p: Array) -> Rows:
        """Read only the rows near the corner from now on, if they are few."""
        found = near_rows(rows, state, p, self.threads)
        if found is None or state.reach > _FARTHEST:
            return rows
        (state.near, state.move), state.rung = found, 0
        state.base, state.base_rounded = state.a, state.rounded
        some = self._rows(problem, state)
        reading = self._read(problem, state, some, np.zeros_like(p), curve=False)
        state.far, state.u = far_sums(state, reading), reading.u
        return some

    def _look(self, problem: Problem, state: NewtonState) -> None:
        """Read all rows again; if those left out say so, go back and read more from then on."""
        more = not self._closed(state)  # whether steps will follow
        state.near, state.far, state.rung = np.zeros(0, np.int64), np.zeros(0), 0
        rows, zero = self._rows(problem, state), np.zeros_like(state.a)
        reading = self._read(problem, state, rows, zero, curve=more)
        good = self._rounded(state.a, reading) <= state.base_rounded
        if good:
            self._take(problem, state, rows, state.a, reading)
        else:
            state.a, state.reach = state.base, 2.0 * state.reach
        if not (good and (more or state.status.done)):
            reading = self._read(problem, state, rows, zero)
            self._take(problem, state, rows, state.a, reading)

    def _nearly_separable(self, problem: Problem, state: NewtonState) -> bool:
        """Whether hardly any loss is left: then most dual variables are far below C / 2."""
        if self.loss != "hinge" or state.center.size:
            return False
        return state.primal < _SEPARABLE * self.C * float(state.columns[-1])

    def _start_low(self, problem: Problem, state: NewtonState) -> None:
        """Centre the rounded hinge at slope 0 and go on with all rows."""
        state.near, state.far = np.zeros(0, np.int64), np.zeros(0)
        state.level, state.rung = len(sizes(problem)), 0
        state.h, state.kappa = 1.0, 1e-3
        state.center = np.zeros(problem.n)
        rows = self._rows(problem, state)
        reading = self._read(problem, state, rows, np.zeros_like(state.a))
        self._take(problem, state, rows, state.a, reading)

    def _widen(self, problem: Problem, state: NewtonState) -> bool:
        """Read rows of float32 in float64, if steps fail and that has not been done."""
        rows = self._rows(problem, state)
        if state.near.size or not isinstance(rows, RowSet) or rows.lanes.dtype != np.float32:
            return False
        state.wide, state.idle, state.rest, state.kappa = True, 0, np.inf, 1e-3
        rows = self._rows(problem, state)
        reading = self._read(problem, state, rows, np.zeros_like(state.a))
        self._take(problem, state, rows, state.a, reading)
        return True

    def _newton(
        self, problem: Problem, state: NewtonState, rows: Rows, p: Array, predicted: float
    ) -> None:
        """Unit step, or the exact minimum along p; kappa follows the success."""
        old = state.rounded
        reading = self._read(problem, state, rows, p)
        new = self._rounded(state.a + p, reading)
        if not new <= old + 1e-12 * abs(old):
            t = minimum_along(self.C, state, rows.cost, p, reading.u)
            p = t * p
            reading = self._read(problem, state, rows, p)
            new = self._rounded(state.a + p, reading)
            state.kappa = min(max(10 * state.kappa, _DAMPED if state.near.size else 1e-3), 10.0)
        else:
            ratio = (old - new) / predicted if predicted > 1e-13 * abs(old) else 1.0
            state.kappa *= 0.3 if ratio > 0.6 else 1.0 if ratio > 0.3 else 4.0
        state.idle = state.idle + 1 if not new < old else 0
        if not new <= old + 1e-9 * abs(old):  # rounding: stay where we are
            if state.idle > IDLE:
                state.status = Status.STALLED
            state.kappa = max(state.kappa, 1e-6)
            return
        self._take(problem, state, rows, state.a + p, reading)

    def _enter(self, problem: Problem, state: NewtonState, level: int, a: Array) -> None:
        """Go on with another set of rows."""
        last = len(sizes(problem))
        state.rung = 0
        if self.loss == "squared_hinge":
            state.h = 0.0
        elif level == 0 and state.level < 0:
            state.h = FIRST[0]
        elif level < last:
            state.h = SECOND[0]
        else:
            state.h = state.target or SECOND[0]
        state.level = level
        state.kappa = 1e-4 if level == last and state.target else 1e-3
        rows = self._rows(problem, state)
        state.a = a
        self._take(problem, state, rows, a, self._read(problem, state, rows, np.zeros_like(a)))

    def _take(
        self, problem: Problem, state: NewtonState, rows: Rows, a: Array, reading: Reading
    ) -> None:
        """Move to an evaluated point."""
        C, sums = self.C, reading.sums
        state.a, state.u = a, reading.u
        state.n_updates += 1
        half = 0.5 * float(a[:-1] @ a[:-1])
        state.rounded = half + C * sums[loops.ROUNDED]
        state.primal = half + C * sums[loops.LOSS]
        state.gradient = np.append(a[:-1] - C * reading.v, 0.0)
        if problem.fit_intercept:
            state.gradient[-1] = -C * (sums[loops.PLUS] - sums[loops.MINUS])
        state.curvature = reading.curvature
        state.v, state.v_plus, state.sums = reading.v, reading.v_plus, sums
        state.dual = dual_of(C, self.loss, reading, problem.fit_intercept)
        state.leftover = C * float(sums[loops.LEFTOVER])
        if not np.isfinite(state.primal):
            state.status = Status.DIVERGED
            return
        state.status = Status.RUNNING
        if state.level == len(sizes(problem)) and not state.near.size:
            if state.primal < state.best_primal:
                state.best_primal, state.best = state.primal, a.copy()
            if state.dual > state.best_dual:
                state.best_dual, state.dual_a, state.dual_h = state.dual, a.copy(), state.h
                if state.center.size:
                    state.dual_z = slopes(state)
            if state.gap <= self.tol:
                state.status = Status.CERTIFIED

    # -- inside -------------------------------------------------------------------------------

    def _read(
        self, problem: Problem, state: NewtonState, rows: Rows, p: Array, *, curve: bool = True
    ) -> Reading:
        state.rows_read += rows.n
        a, offset = state.a + p, problem.fit_intercept
        reading = rows.read(
            a, state.h, state.center, offset=offset, threads=self.threads, curve=curve
        )
        return with_far(state.far, a, reading) if state.far.size else reading

    def _rounded(self, a: Array, reading: Reading) -> float:
        return 0.5 * float(a[:-1] @ a[:-1]) + self.C * float(reading.sums[loops.ROUNDED])

    def _rows(self, problem: Problem, state: NewtonState) -> Rows:
        narrow = not state.wide and may_round(problem, self.C, self.tol)
        wide = state.wide or want_double(problem, self.C, self.tol, self.threads)
        return rows_of_level(problem, state, self.seed, self.threads, wide=wide, narrow=narrow)
