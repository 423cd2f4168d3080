"""Newton's method for logistic regression, first on samples, then on all rows.

Problem   minimise P(w, b) = |w|^2 / 2 + C sum_i s_i log(1 + exp(-y_i (w.x_i + b))), b unpenalised;
          C = inf leaves the penalty out: maximum conditional likelihood
Given     rows x_i, signs y_i, weights s_i
Update    a <- a - H^-1 gradient, H = I + C sum s sigma(m) sigma(-m) [x, 1] [x, 1]', or the exact
          minimum along that line if P would go up. First on small samples that hold all long
          rows. On all rows of a large table H stays that of the last sample and is corrected by
          pairs of steps and gradients (L-BFGS); it is computed afresh when that stops helping.
Stop      (P - D) / P <= tol. With alpha = C s sigma(-m) and b at its best P - D is half the
          squared gradient in w. On large tables that is far more than P - min P, and the
          certificate moves alpha on a sample to do better; so it stops there as soon as one step
          more will do by the Newton decrement, and leaves the pass at its end to the certificate.
          C = inf: half the squared Newton decrement instead. Then it stops as well when every
          row is on its own side, SEPARATED, and when the steps no longer shrink, STALLED: the
          signs that there may be no maximum.
Paper     Minka 2003, A comparison of numerical optimizers for logistic regression; Nocedal 1980
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.certify.logistic_rows import LogisticReading, LogisticRows
from linsep.core.lanes import one_blas_thread
from linsep.core.log import NO_LOG, Log
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.core.status import Status
from linsep.solvers.logistic_levels import level_rows, read_level, sample_sizes
from linsep.solvers.logistic_line import dual_witness, minimum_along
from linsep.solvers.logistic_state import LogisticState, pairs_solved
from linsep.solvers.logistic_tilted import Tilted

__all__ = ["LogisticState", "NewtonLogistic"]

Array = NDArray[np.float64]

_MEMORY = 12  # pairs of L-BFGS kept before the curvature is computed afresh
_SAMPLE_STEPS = 12  # on one sample, at most
_ENOUGH = (1.0, 1e1)  # |gradient|^2 / 2 P from which the next sample is taken after the step
_SHRINK = 5e-3  # of the decrement by a step with a sample, at first
_USELESS = 0.3  # of the decrement that a step by a tilted sample leaves, at most
_RUNAWAY = 12  # steps without a penalty after which shrinking steps are expected


@dataclass(frozen=True)
class NewtonLogistic:
    """Newton's method for tall data, dense or nearly so, and for all small tables.

    Parameters
    ----------
    C : float, default=1.0
        inf leaves the penalty out.
    tol : float, default=1e-3
        Relative duality gap.
    seed : int, default=0
        Of the samples.
    threads : int or None, default=None
        None means all cores. The result does not depend on it.
    patient : bool, default=False
        With C=inf: go on although every row is on its own side or the steps do not shrink.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.newton_logistic import NewtonLogistic
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    >>> out = drive(problem, NewtonLogistic(tol=1e-9))
    >>> out.status.name, out.witness.a.round(4).tolist()
    ('CERTIFIED', [0.4529, -0.6793])
    """

    C: float = 1.0
    tol: float = 1e-3
    seed: int = 0
    threads: int | None = None
    patient: bool = False

    unit: ClassVar[str] = "Newton step"

    @property
    def ridge(self) -> float:
        """1, or 0 where there is no penalty."""
        return 0.0 if np.isinf(self.C) else 1.0

    @property
    def cost(self) -> float:
        """Factor of the losses."""
        return 1.0 if np.isinf(self.C) else self.C

    def init(self, problem: Problem, *, start: Any = None) -> LogisticState:
        """Zero weights, or (coef, intercept) to start from on all rows."""
        width = problem.d + 1
        sizes = sample_sizes(problem)
        state = LogisticState(
            a=np.zeros(width),
            gradient=np.zeros(width),
            curvature=np.zeros((width, width)),
            steps_s=np.zeros((0, width)),
            steps_y=np.zeros((0, width)),
            best=np.zeros(width),
            lead=np.zeros(width),
            n_rows=problem.n,
            rows_read=float(problem.n) if sizes and start is None else 0.0,
        )
        if start is not None:
            state.a = problem.join(*start)
            state.level = len(sizes) - 1  # no samples: go to all rows at once
            self._enter(problem, state, len(sizes), state.a)
        return state

    def advance(self, problem: Problem, state: LogisticState, steps: int, log: Log = NO_LOG) -> int:
        """Newton steps; each ends with an evaluated point."""
        taken = 0
        with one_blas_thread():
            while taken < steps and not state.status.done:
                self._step(problem, state)
                state.steps += 1
                taken += 1
        return taken

    def status(self, state: LogisticState) -> Status:
        """CERTIFIED when the gap is closed; STALLED when it cannot be."""
        return state.status

    def witness(self, problem: Problem, state: LogisticState) -> Witness:
        """The best weights, and with a penalty the dual variables of their margins."""
        if state.lead.any():
            return Witness(a=state.a + state.lead)
        full = state.level == len(sample_sizes(problem))
        a = state.best if full else state.a
        at_hand = full and np.array_equal(a, state.a) and state.m.size == problem.n
        return dual_witness(problem, a, state.m if at_hand else problem.values(a), self.C)

    # -- one step -----------------------------------------------------------------------------

    def _step(self, problem: Problem, state: LogisticState) -> None:
        last = len(sample_sizes(problem))
        if state.level < 0 or not state.m.size:
            self._enter(problem, state, max(state.level + 1, 0), state.a)
            return
        if state.lead.any():  # the certificate asks for more
            p, state.lead = state.lead, np.zeros_like(state.lead)
            self._move(problem, state, p)
            state.rung += 1
            return
        if last and state.level == last and self.ridge and state.nested:
            self._nested(problem, state)
            return
        p = self._direction(problem, state)
        predicted = -0.5 * float(state.gradient @ p)
        if state.level < last:
            left = 0.5 * float(state.gradient[:-1] @ state.gradient[:-1])
            done = predicted <= 1e-3 * state.primal and left <= _ENOUGH[state.level] * state.primal
            if done or state.rung >= _SAMPLE_STEPS:
                self._enter(problem, state, state.level + 1, state.a + p)
                return
        elif last and self.ridge and self._close(problem, state, predicted):
            state.lead, state.status = p, Status.CERTIFIED
            return
        self._move(problem, state, p)
        state.rung += 1

    def _nested(self, problem: Problem, state: LogisticState) -> None:
        """A step to the minimum of the tilted sample; pairs take over where that is of no use."""
        rows = self._rows(problem, state.level - 1)
        share = 1.0 + problem.n / rows.n

        def read(a: Array, bent: bool) -> LogisticReading:
            return self._read(problem, state, state.level - 1, a, bent)

        model = Tilted(problem, rows, read, state.curvature, self.cost, self.ridge)
        goal = 0.1 * self.tol / share * state.primal
        step = model.minimum(state.a, state.gradient, goal)
        state.curvature, state.fresh = model.curvature, False
        state.steps_s, state.steps_y = state.steps_s[:0], state.steps_y[:0]
        if not 0 < model.decrement < _USELESS * state.decrement:
            state.nested = False
        elif self._close(problem, state, model.decrement):
            state.lead, state.status = step, Status.CERTIFIED
        else:
            self._move(problem, state, step)
            state.rung += 1

    def _close(self, problem: Problem, state: LogisticState, decrement: float) -> bool:
        """Whether one step more is likely to be enough for the certificate.

        Dual variables of a sample make up for all rows, which multiplies what is left by n over
        its size.
        """
        known = 0 < decrement < state.decrement < np.inf
        shrink = max(1e-3, decrement / state.decrement) if known else _SHRINK
        state.decrement = decrement
        share = problem.n / sample_sizes(problem)[-1]
        state.gap = (1.0 + share) * shrink * decrement / state.primal
        return state.gap <= 0.5 * self.tol

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
            state.nested = False
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
        if state.primal <= state.best_primal:
            state.best_primal, state.best = state.primal, a.copy()
        state.gap = self._gap(problem, state)
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
        self, problem: Problem, state: LogisticState, level: int, a: Array, bent: bool
    ) -> LogisticReading:
        state.rows_read += self._rows(problem, level).n
        return read_level(
            problem, level, a,
            bent=bent, seed=self.seed, threads=self.threads, wide=self.tol < 1e-4,
        )  # fmt: skip

    def _direction(self, problem: Problem, state: LogisticState) -> Array:
        return -pairs_solved(problem, state, self.cost, self.ridge)

    def _rows(self, problem: Problem, level: int) -> LogisticRows:
        wide = self.tol < 1e-4
        return level_rows(problem, level, seed=self.seed, threads=self.threads, wide=wide)


def _share(gap: float, primal: float) -> float:
    return gap / primal if gap > 0 else 0.0
