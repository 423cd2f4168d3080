"""Newton's method for logistic regression, first on samples, then on all rows.

Problem   minimise P(w, b) = |w|^2 / 2 + C sum_i s_i log(1 + exp(-y_i (w.x_i + b))), b unpenalised;
          C = inf leaves the penalty out: maximum conditional likelihood
Given     rows x_i, signs y_i, weights s_i
Update    a <- a - H^-1 gradient, H = I + C sum s sigma(m) sigma(-m) [x, 1] [x, 1]', or the exact
          minimum along that line if P would go up. First on small samples that hold all long
          rows. On all rows of a large table a step leads to the minimum of the last sample's
          objective, tilted so that its gradient is that of all rows (logistic_tilted.py). Where
          that stops helping H stays that of the sample and is corrected by pairs of steps and
          gradients (L-BFGS); it is computed afresh when that stops helping as well.
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

from linsep.certify.logistic_rows import LogisticReading
from linsep.core.lanes import one_blas_thread
from linsep.core.log import NO_LOG, Log
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.core.status import Status
from linsep.solvers.logistic_levels import sample_sizes
from linsep.solvers.logistic_line import dual_witness
from linsep.solvers.logistic_state import LogisticState
from linsep.solvers.logistic_steps import LogisticSteps
from linsep.solvers.logistic_tilted import Tilted

__all__ = ["LogisticState", "NewtonLogistic"]

Array = NDArray[np.float64]

_SAMPLE_STEPS = 12  # on one sample, at most
_ENOUGH = (1.0, 1e1)  # |gradient|^2 / 2 P from which the next sample is taken after the step
# what a step leaves of the decrement: with the curvature of a sample, where a tilted sample could
# do better, with a tilted sample
_NEWTON, _PLAIN, _TILTED = 2e-2, 5e-2, 5e-3
_USELESS = 0.1  # of the decrement that a step by a tilted sample leaves, at most


@dataclass(frozen=True)
class NewtonLogistic(LogisticSteps):
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

    unit: ClassVar[str] = "Newton step"

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
        tilted = last > 1 and state.level == last and self.ridge > 0 and state.nested
        if state.lead.any():  # the certificate asks for more, and has read that point
            p, state.lead = state.lead, np.zeros_like(state.lead)
            newton = tilted and np.isinf(state.decrement)
            if newton and self._rises(problem, state, p):
                self._nested(problem, state, plain=False)
                return
            self._move(problem, state, p)
            state.rung += 1
            return
        if tilted:
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
        elif last and self.ridge:
            before, state.decrement = state.decrement, predicted
            known = 0 < predicted < before < np.inf
            if self._close(
                problem, state, predicted, max(1e-3, predicted / before) if known else _NEWTON
            ):
                state.lead, state.status = p, Status.CERTIFIED
                return
        self._move(problem, state, p)
        state.rung += 1

    def _nested(self, problem: Problem, state: LogisticState, plain: bool = True) -> None:
        """A step to the minimum of the tilted sample; pairs take over where that is of no use.

        Close to the end a plain Newton step is as good, as a rule.
        """
        p = self._direction(problem, state)
        predicted = -0.5 * float(state.gradient @ p)
        if plain and self._close(problem, state, predicted, _PLAIN):
            state.lead, state.status = p, Status.CERTIFIED
            return
        rows = self._rows(problem, state.level - 1)

        def read(a: Array, bent: bool, own: bool) -> LogisticReading:
            return self._read(problem, state, state.level - 1, a, bent, own)

        model = Tilted(problem, rows, read, state.curvature, state.own, self.cost, self.ridge)
        goal = 0.1 * self.tol / (1.0 + problem.n / rows.n) * state.primal
        step = model.minimum(state.a, state.gradient, goal)
        state.curvature, state.own, state.fresh = model.curvature, model.own, False
        state.steps_s, state.steps_y = state.steps_s[:0], state.steps_y[:0]
        before, state.decrement = state.decrement, model.decrement
        if not 0 < model.decrement < _USELESS * before:
            state.nested = False
        elif self._close(problem, state, model.decrement, _TILTED):
            state.lead, state.status = step, Status.CERTIFIED
        else:
            self._move(problem, state, step)
            state.rung += 1

    def _rises(self, problem: Problem, state: LogisticState, p: Array) -> bool:
        a = state.a + p
        reading = self._read(problem, state, state.level, a, False)
        return not self._value(a, reading) <= state.primal

    def _close(
        self, problem: Problem, state: LogisticState, decrement: float, shrink: float
    ) -> bool:
        """Whether one step more is likely to be enough for the certificate.

        shrink is what it is expected to leave of the decrement. Dual variables of a sample make
        up for all rows, which multiplies what is left by n over its size.
        """
        share = problem.n / sample_sizes(problem)[-1]
        state.gap = (1.0 + share) * shrink * decrement / state.primal
        return 0 < state.gap <= 0.5 * self.tol
