"""Newton's method for logistic regression, and any smooth loss, on sparse and on wide data.

Problem   minimise |w|^2 / 2 + C sum_i s_i L(u_i), b unpenalised, L the logistic loss or another
          without a corner, where the matrix of second derivatives is too large; C = inf leaves
          the penalty out
Update    a <- a + t p; H p = -gradient by conjugate gradients scaled by the diagonal of H, and
          by its longest rows where these carry much of it, to a relative accuracy that grows
          with the progress; rows of hardly any curvature are left out of H; t is the exact
          minimum along p, found from the scores alone. Far from the end on long sparse rows a few
          sweeps over the dual variables of the logistic loss come first
Stop      (P - D) / P <= tol. With alpha = C s L'(u) and b at its best P - D is half the squared
          gradient in w. C = inf: by the Newton decrement; and it stops where every row is on its
          own side, SEPARATED, and when the steps no longer shrink, STALLED
Paper     Lin, Weng, Keerthi 2008, Trust region Newton method for logistic regression; Yu,
          Huang, Lin 2011, Dual coordinate descent methods for logistic regression
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import inner, routine
from linsep.core.lanes import one_blas_thread
from linsep.core.log import NO_LOG, Log
from linsep.core.order import permutation
from linsep.core.problem import Problem
from linsep.core.protocol import Held, State, Witness
from linsep.core.status import Status
from linsep.losses.base import Loss, needs_smooth
from linsep.losses.logistic import LOGISTIC, Logistic
from linsep.numerics.conjugate import conjugate_gradients
from linsep.rows.logistic import exponential
from linsep.rows.loops import sample_add, sample_dot, sample_fetch, sample_locate
from linsep.rows.packed import packed
from linsep.rows.survey import survey
from linsep.solvers.hinge.dual_point import row_scores, row_sum
from linsep.solvers.logistic.line import Penalty, dual_witness, minimum_along
from linsep.solvers.row_system import RowSystem

Array = NDArray[np.float64]

_DROP = 1e-4  # share of the largest curvature below which a row is left out of H
_SPARE = 0.8  # of tol for what the linear system leaves of the gradient, the rest for its bend
_FAR = 1.0  # relative gap of the start from which sweeps over the dual variables come first
_RUNAWAY = 40  # steps without a penalty after which shrinking steps are expected


@dataclass(kw_only=True)
class LogisticCGState(State):
    """An evaluated point: scores, gradient, bounds."""

    held: ClassVar[Mapping[str, Held]] = {"scores": Held(shape=("n",), empty=True)}

    a: Array
    scores: Array = field(default_factory=lambda: np.zeros(0))
    gradient: Array
    primal: float = np.inf
    gap: float = np.inf
    """Relative gap as the solver sees it; certify has the last word."""
    decrement: float = np.inf
    forcing: float = 0.5
    slow: int = 0
    idle: int = 0
    work: float = 0.0
    sweeps: bool = False
    """Whether sweeps over the dual variables come first."""

    @property
    def passes(self) -> float:
        """Products with all rows, two of them a pass."""
        return self.work


@dataclass(frozen=True)
class LogisticCG(Penalty):
    """Newton's method with conjugate gradients.

    Parameters
    ----------
    C, tol, threads, patient
        As for ``NewtonLogistic``.
    loss : Loss, default=LOGISTIC
        Without a corner.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.logistic.conjugate import LogisticCG
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    >>> out = drive(problem, LogisticCG(tol=1e-9))
    >>> out.status.name, out.witness.a.round(4).tolist()
    ('CERTIFIED', [0.4529, -0.6793])
    """

    C: float = 1.0
    tol: float = 1e-3
    threads: int | None = None
    patient: bool = False
    loss: Loss = LOGISTIC

    unit: ClassVar[str] = "Newton step"

    def __post_init__(self) -> None:
        needs_smooth(self, self.loss)

    def init(self, problem: Problem, *, start: Any = None) -> LogisticCGState:
        """Zero weights, or (coef, intercept)."""
        a = np.zeros(problem.d + 1) if start is None else problem.join(*start)
        state = LogisticCGState(a=a, gradient=np.zeros(problem.d + 1))
        if start is None:
            state.scores = np.zeros(problem.n)
            if problem.fit_intercept:  # the best constant, at no cost
                s, sign = problem.weight, problem.sign
                a[-1] = self.loss.best_constant(s[sign > 0].sum(), s[sign < 0].sum())
        else:
            state.scores = row_scores(problem, a[:-1], self.threads)
            state.work += 0.5
        self._evaluate(problem, state)
        far = start is None and self.ridge > 0 and state.gap > _FAR
        state.sweeps = far and isinstance(self.loss, Logistic) and worth_sweeping(problem)
        return state

    def advance(
        self, problem: Problem, state: LogisticCGState, steps: int, log: Log = NO_LOG
    ) -> int:
        """Newton steps; each ends with an evaluated point."""
        taken = 0
        with one_blas_thread():
            while taken < steps and not state.status.done:
                self._step(problem, state)
                state.steps += 1
                taken += 1
        return taken

    def status(self, state: LogisticCGState) -> Status:
        """CERTIFIED when the gap is closed; STALLED when it cannot be."""
        return state.status

    def witness(self, problem: Problem, state: LogisticCGState) -> Witness:
        """The weights, and with a penalty the dual variables of their margins."""
        m = problem.sign * (state.scores + state.a[-1])
        return dual_witness(problem, state.a, m, self.C, self.loss)

    # -- inside -------------------------------------------------------------------------------

    def _evaluate(self, problem: Problem, state: LogisticCGState) -> None:
        cost, w = self.cost * problem.weight, state.a[:-1]
        u = self.loss.corner - problem.sign * (state.scores + state.a[-1])
        alpha = cost * self.loss.slope(u) * problem.sign
        v = row_sum(problem, alpha, self.threads)
        state.work += 0.5
        state.primal = 0.5 * self.ridge * float(w @ w) + float(cost @ self.loss.value(u))
        state.gradient[:-1] = self.ridge * w - v
        state.gradient[-1] = -float(alpha.sum()) if problem.fit_intercept else 0.0
        if not (np.isfinite(state.primal) and np.isfinite(state.gradient).all()):
            state.status = Status.DIVERGED
            return
        state.status = Status.RUNNING
        if self.ridge:
            # what b is off by is made good before the gap is measured
            g, bend = state.gradient, float(cost @ self.loss.curvature(u))
            wrong = 0.5 * float(g[:-1] @ g[:-1]) + (0.5 * g[-1] ** 2 / bend if bend > 0 else 0.0)
            state.gap = wrong / state.primal if state.primal > 0 else 0.0
        if state.gap <= self.tol:
            state.status = Status.CERTIFIED
        elif not self.ridge and not self.patient and float(u.max()) < 0.0:
            state.status = Status.SEPARATED

    def _sweep(self, problem: Problem, state: LogisticCGState) -> None:
        """Go to where sweeps over the dual variables lead, unless that is worse."""
        before, old = state.a, state.primal
        state.a, work = swept(problem, self.C, self.threads)
        state.scores = row_scores(problem, state.a[:-1], self.threads)
        state.work += work + 0.5
        state.n_updates += 1
        self._evaluate(problem, state)
        if not state.primal < old:
            state.a, state.scores = before, np.zeros(problem.n)
            self._evaluate(problem, state)
        self._force(state)

    def _step(self, problem: Problem, state: LogisticCGState) -> None:
        if state.sweeps:
            state.sweeps = False
            self._sweep(problem, state)
            return
        cost, sign = self.cost * problem.weight, problem.sign
        m = sign * (state.scores + state.a[-1])
        bend = cost * self.loss.curvature(self.loss.corner - m)
        free = np.flatnonzero(bend > _DROP * float(bend.max()))
        system = RowSystem(problem, bend, free, self.threads, self.ridge)
        enough = 2.0 * _SPARE * self.tol * state.primal if self.ridge else 0.0
        p, work = conjugate_gradients(system, -state.gradient, state.forcing, enough=enough)
        state.work += work
        step = row_scores(problem, p[:-1], self.threads) + p[-1]
        state.work += 0.5
        t = minimum_along(state.a, p, m, sign * step, cost, self.ridge, loss=self.loss)
        old, decrement = state.primal, max(-float(state.gradient @ p), 0.0)
        keep_a, keep_scores, keep_gradient = state.a, state.scores, state.gradient.copy()
        state.a = state.a + t * p
        state.scores = state.scores + t * (step - p[-1])
        state.n_updates += 1
        self._evaluate(problem, state)
        state.idle = 0 if state.primal < old - 1e-15 * abs(old) else state.idle + 1
        if not state.primal <= old + 1e-12 * abs(old):
            state.a, state.scores, state.gradient = keep_a, keep_scores, keep_gradient
            state.primal = old
            state.status = Status.STALLED
        elif state.idle > 3 and not state.status.done:
            state.status = Status.STALLED
        elif not self.ridge:
            self._without_penalty(state, decrement)
        self._force(state)

    def _without_penalty(self, state: LogisticCGState, decrement: float) -> None:
        """The gap by the Newton decrement, and the signs that there may be no maximum."""
        state.slow = state.slow + 1 if decrement > 0.1 * state.decrement else 0
        state.decrement = decrement
        state.gap = decrement / state.primal if state.primal > 0 else 0.0
        if state.status.done:
            return
        if state.gap <= self.tol:
            state.status = Status.CERTIFIED
        elif not self.patient and state.steps >= _RUNAWAY and state.slow >= 4:
            state.status = Status.STALLED

    def _force(self, state: LogisticCGState) -> None:
        """Later systems are solved more accurately: the end is then quadratic."""
        if np.isfinite(state.gap):
            state.forcing = float(np.clip(30.0 * np.sqrt(max(state.gap, 0.0)), 1e-3, 0.5))


# -- A start for logistic regression on sparse rows: a few sweeps of dual coordinate descent ------
#
# Rows of very different lengths, such as counts of words, force Newton's method to short steps at
# first: a few long rows go from one side to the other. Dual variables move one by one, each to
# its best value, and are not held up by that. Later they get in each other's way; then Newton's
# method is the better one.


_LEAST = 300_000  # entries of a matrix that is worth the effort,
_ROW = 32  # and of a row on the average: the least along one variable takes some exponentials
_MOST = 10  # sweeps
_SMALL = 1e-3  # share of the costs that the dual variables start from
_SLOW = 0.01  # gain of a sweep, as a share of the penalty, after which it is the last


def worth_sweeping(problem: Problem) -> bool:
    """Whether the matrix is sparse, large, and its rows are not too short."""
    return problem.sparse and int(problem.matrix.nnz) >= max(_LEAST, _ROW * problem.n)


def swept(problem: Problem, C: float, threads: int | None) -> tuple[Array, float]:
    """Weights [w, b] after some sweeps, and the work in passes."""
    cost, X = C * problem.weight, packed(problem, narrow=True)
    squared = survey(problem, threads).rows + float(problem.fit_intercept)
    alpha = _SMALL * cost
    logit = np.full(problem.n, float(np.log(_SMALL / (1.0 - _SMALL))))
    c = alpha * problem.sign
    a = np.append(row_sum(problem, c, threads), c.sum() if problem.fit_intercept else 0.0)
    size = int(problem.matrix.nnz)
    for k in range(_MOST):
        gain = sweep(
            X, problem.sign, cost, squared, permutation(0, k, problem.n), logit, alpha, a,
            problem.fit_intercept, size=size, work=size,
        )  # fmt: skip
        if not gain > _SLOW * 0.5 * float(a @ a):
            break
    return a, 0.5 + k + 1


# -- Dual coordinate descent for logistic losses: a sweep over the rows ---------------------------


_AHEAD = 4  # visits for which memory is asked ahead
_STEPS = 12  # of Newton's method on one variable, at most
_NEAR = 1e-2  # change of a logit after which it is left alone


@inner
def best_logit(t, g, q, c, alpha):
    """The root of t + g + q (c sigma(t) - alpha): where the dual is least along one variable.

    Newton's method from t; the function grows, so every value tells on which side the root is.
    """
    low = -g - q * (c - alpha)
    high = -g + q * alpha
    if not low < t < high:
        t = 0.5 * (low + high)
    for _ in range(_STEPS):
        e = exponential(t)
        r = 1.0 / (1.0 + e)
        f = t + g + q * (c * (r if t > 0.0 else e * r) - alpha)
        if f > 0.0:
            high = t
        else:
            low = t
        new = t - f / (1.0 + q * c * (e * r * r))
        if not low <= new <= high:
            new = 0.5 * (low + high)
        done = abs(new - t) < _NEAR
        t = new
        if done:
            break
    return t


@routine
def sweep(X, sign, cost, squared, order, logit, alpha, a, offset):
    """One visit of every row; a = [w, b] follows alpha = cost sigma(logit), w = sum alpha y x.

    squared are |x|^2, and 1 more with an offset, which is penalised here like a weight. Gives
    back half of sum |x|^2 times the squared change of alpha, no more than what the dual gained.
    """
    d = a.shape[0] - 1
    n = order.shape[0]
    gain = 0.0
    for k in range(n):
        sample_locate(X, order[min(k + 2 * _AHEAD, n - 1)])
        sample_fetch(X, order[min(k + _AHEAD, n - 1)])
        i = order[k]
        g = sign[i] * (sample_dot(X, i, a, 0, d) + a[d])
        t = best_logit(logit[i], g, squared[i], cost[i], alpha[i])
        e = exponential(t)
        new = cost[i] * (1.0 if t > 0.0 else e) / (1.0 + e)
        change = new - alpha[i]
        logit[i] = t
        alpha[i] = new
        sample_add(X, i, change * sign[i], a, 0, d)
        if offset:
            a[d] += change * sign[i]
        gain += squared[i] * (change * change)
    return 0.5 * gain
