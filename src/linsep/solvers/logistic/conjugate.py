"""Newton's method for logistic regression, and any smooth loss, without second derivatives.

Problem   minimise |w|^2 / 2 + C sum_i s_i L(u_i), b unpenalised, L the logistic loss or another
          without a corner, where the matrix of second derivatives is too large, or not worth its
          price; C = inf leaves the penalty out
Update    a <- a + t p; H p = -gradient by conjugate gradients scaled by the diagonal of H, and
          by its longest rows where these carry much of it, to a relative accuracy that grows
          with the progress; rows of hardly any curvature are left out of H; t is the exact
          minimum along p, found from the scores alone. Far from the end on long sparse rows a few
          sweeps over the dual variables of the logistic loss come first. On dense rows steps by
          pairs of steps and gradients (L-BFGS), one pass each, come first: as a rule they are all
          that is needed. Where their rate says that they will take longer than it takes to factor
          H on a sample of rows, that factor is the scaling of conjugate gradients
Stop      (P - D) / P <= tol. With alpha = C s L'(u) and b at its best P - D is half the squared
          gradient in w. C = inf: by the Newton decrement; and it stops where every row is on its
          own side, SEPARATED, and when the steps no longer shrink, STALLED
Paper     Lin, Weng, Keerthi 2008, Trust region Newton method for logistic regression; Yu,
          Huang, Lin 2011, Dual coordinate descent methods for logistic regression; Nocedal 1980,
          Updating quasi-Newton matrices with limited storage
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import inner, routine
from linsep.core.costs import LOGISTIC_PASS, PRODUCT, SWEPT_ENTRIES
from linsep.core.lanes import one_blas_thread
from linsep.core.order import permutation
from linsep.core.problem import Problem
from linsep.core.protocol import NO_LOG, Held, Log, State, Status, Witness, repeated
from linsep.losses.base import Loss, needs_smooth
from linsep.losses.logistic import LOGISTIC, Logistic
from linsep.numerics.cholesky import Factor, growing, inverse_roots
from linsep.numerics.conjugate import conjugate_gradients
from linsep.numerics.lbfgs import solved_with_pairs
from linsep.rows.levels import Latest, read_densely, sample_matrix, want_double
from linsep.rows.logistic import LogisticRows, all_rows, exponential
from linsep.rows.loops import sample_add, sample_dot, sample_fetch, sample_locate
from linsep.rows.packed import packed
from linsep.rows.reader import survey
from linsep.solvers.hinge.dual_point import row_scores, row_sum
from linsep.solvers.logistic.line import (
    Penalty,
    dual_witness,
    minimum_along,
    pairs_pay,
    stage,
    watched,
)
from linsep.solvers.row_system import RowSystem

Array = NDArray[np.float64]

_DROP = 1e-4  # share of the largest curvature below which a row is left out of H
_SPARE = 0.8  # of a stage for what the linear system leaves of the gradient, the rest for its bend
_FAR_START = 1.0  # relative gap of the start from which sweeps over the dual variables come first
_RUNAWAY = 40  # steps without a penalty after which shrinking steps are expected
_PAIRS = 10  # of steps and gradients that are kept
_FALLING = 0.01  # of the objective, that a step takes off far from the end
_PATIENT_PASSES = 60.0  # passes by pairs that are no reason to change to plain conjugate gradients
_STEPS_LEFT = 15  # passes of Newton's method once it has a factor of H
_ROWS_A_COLUMN = 16  # of the sample whose H is factored: it is then good to a factor of 3


@dataclass(kw_only=True)
class LogisticCGState(State):
    """An evaluated point: scores, gradient, bounds."""

    held: ClassVar[Mapping[str, Held]] = {
        "scores": Held(shape=("n",), empty=True),
        "steps_s": Held(shape=("?", None)),
        "steps_y": Held(shape=("steps_s", None)),
        "trail": Held(shape=("?",), empty=True),
        "pivot": Held(shape=("?",), empty=True),
    }

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
    paired: bool = False
    """Whether steps by pairs come first."""
    steps_s: Array
    """Changes of the weights, one a row, the oldest first."""
    steps_y: Array
    """Changes of the gradient that went with them."""
    curvature: float = 0.25
    """The mean of all rows, where pairs began."""
    trail: Array = field(default_factory=lambda: np.zeros(0))
    """The least gap so far, after each of the last steps by pairs."""
    pivot: Array = field(default_factory=lambda: np.zeros(0))
    """Weights where H was factored on a sample; empty if it was not."""

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
    seed : int, default=0
        Of the sample.

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
    seed: int = 0

    unit: ClassVar[str] = "Newton step"

    def __post_init__(self) -> None:
        needs_smooth(self, self.loss)

    def init(self, problem: Problem, *, start: Any = None) -> LogisticCGState:
        """Zero weights, or (coef, intercept)."""
        a = np.zeros(problem.d + 1) if start is None else problem.join(*start)
        none = np.zeros((0, problem.d + 1))
        state = LogisticCGState(
            a=a, gradient=np.zeros(problem.d + 1), steps_s=none, steps_y=none.copy()
        )
        if start is None:
            state.scores = np.zeros(problem.n)
            if problem.fit_intercept:  # the best constant, at no cost
                s, sign = problem.weight, problem.sign
                a[-1] = self.loss.best_constant(s[sign > 0].sum(), s[sign < 0].sum())
        else:
            state.scores = row_scores(problem, a[:-1], self.threads)
            state.work += 0.5
        self._evaluate(problem, state)
        far = start is None and self.ridge > 0 and bool(state.gap > _FAR_START)
        logistic = isinstance(self.loss, Logistic)
        state.sweeps = far and logistic and worth_sweeping(problem)
        if read_densely(problem) and logistic and self.ridge > 0 and not state.status.done:
            state.paired = True
            state.curvature = self._mean_curvature(problem, state)
        return state

    def advance(
        self, problem: Problem, state: LogisticCGState, steps: int, log: Log = NO_LOG
    ) -> int:
        """Newton steps; each ends with an evaluated point."""
        with one_blas_thread():
            return repeated(state, steps, lambda: self._step(problem, state))

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
        self._judge(problem, state, -u + self.loss.corner)

    def _judge(self, problem: Problem, state: LogisticCGState, m: Array) -> None:
        """The gap of an evaluated point with margins m, and whether it is an end."""
        if not (np.isfinite(state.primal) and np.isfinite(state.gradient).all()):
            state.status = Status.DIVERGED
            return
        state.status = Status.RUNNING
        if self.ridge:
            # what b is off by is made good before the gap is measured
            g, u = state.gradient, self.loss.corner - m
            bend = float((self.cost * problem.weight) @ self.loss.curvature(u))
            wrong = 0.5 * float(g[:-1] @ g[:-1]) + (0.5 * g[-1] ** 2 / bend if bend > 0 else 0.0)
            state.gap = wrong / state.primal if state.primal > 0 else 0.0
        if state.gap <= self.tol:
            state.status = Status.CERTIFIED
        elif not self.ridge and not self.patient and float(m.min()) > self.loss.corner:
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
        if state.paired:
            self._by_pairs(problem, state)
            return
        cost, sign = self.cost * problem.weight, problem.sign
        m = sign * (state.scores + state.a[-1])
        bend = cost * self.loss.curvature(self.loss.corner - m)
        free = np.flatnonzero(bend > _DROP * float(bend.max()))
        system = RowSystem(problem, bend, free, self.threads, self.ridge)
        enough = 2.0 * _SPARE * stage(state.gap) * state.primal if self.ridge else 0.0
        sampled = self._sampled(problem, state)
        scaling = None if sampled is None else (sampled.inverse, sampled)
        p, work = conjugate_gradients(
            system, -state.gradient, state.forcing, enough=enough, scaling=scaling
        )
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

    # -- steps by pairs -----------------------------------------------------------------------

    def _by_pairs(self, problem: Problem, state: LogisticCGState) -> None:
        """A step by L-BFGS, which reads the rows once; Newton's method takes over in time."""
        diagonal = self.cost * state.curvature * survey(problem, self.threads).columns + self.ridge
        mass = self.cost * state.curvature * problem.total_weight
        inverse = 1.0 / np.append(diagonal, mass if problem.fit_intercept else 1.0)
        pairs = list(zip(state.steps_s, state.steps_y))
        p = -solved_with_pairs(state.gradient, pairs, lambda q: inverse * q, rescale=True)
        old, before = state.primal, (state.a, state.scores, state.gradient.copy(), state.gap)
        margins = problem.sign * (state.scores + state.a[-1])
        self._read(problem, state, state.a + p)
        change = problem.sign * (state.scores + state.a[-1]) - margins
        t = 1.0
        if not (pairs and state.primal <= old):
            cost = self.cost * problem.weight
            t = minimum_along(before[0], p, margins, change, cost, self.ridge, loss=self.loss)
        if not state.primal <= old or not 0.5 < t < 2.0:
            pairs = []  # they have led astray, or there were none
            self._read(problem, state, before[0] + t * p)
        if not state.primal <= old + 1e-14 * abs(old):  # rounding, or worse: the other way is safe
            state.a, state.scores, state.gradient, state.gap = before
            state.primal, state.status, state.paired = old, Status.RUNNING, False
            return
        state.n_updates += 1
        s, y = state.a - before[0], state.gradient - before[2]
        if float(s @ y) > 0.0:
            pairs = [*pairs, (s, y)][-_PAIRS:]
        width = len(state.a)
        state.steps_s = np.array([s for s, _ in pairs]).reshape(-1, width)
        state.steps_y = np.array([y for _, y in pairs]).reshape(-1, width)
        state.trail = watched(state.trail, state.gap)
        falling = old - state.primal > _FALLING * state.primal  # far away every method is slow
        newton = _STEPS_LEFT + self._price(problem)
        if not (state.status.done or falling or pairs_pay(state.trail, newton)):
            state.paired = False
            state.pivot = state.a.copy() if self._factors(problem) else state.pivot
            self._force(state)

    def _read(self, problem: Problem, state: LogisticCGState, a: Array) -> None:
        """Go to a: scores and gradient by one pass."""
        rows = _rows.made(
            (problem, self._double(problem)),
            lambda: all_rows(problem, double=self._double(problem)),
        )
        found = rows.read(a, offset=problem.fit_intercept, curved=False, threads=self.threads)
        state.work += 1.0
        state.a, state.scores = a, problem.sign * found.m - a[-1]
        state.primal = 0.5 * self.ridge * float(a[:-1] @ a[:-1]) + self.cost * found.loss
        state.gradient = self.ridge * a - self.cost * found.v
        state.gradient[-1] = -self.cost * found.v[-1]
        self._judge(problem, state, found.m)

    def _factors(self, problem: Problem) -> bool:
        """Whether H is factored on a sample: not where it has more columns than rows."""
        return read_densely(problem) and problem.n > problem.d

    def _price(self, problem: Problem) -> float:
        """Of that factor, in passes over all rows; without it little is gained."""
        if not self._factors(problem):
            return _PATIENT_PASSES
        rows = min(problem.n, _ROWS_A_COLUMN * problem.d)
        seconds = PRODUCT * problem.d**2 * (rows + problem.d / 3)
        return seconds / (LOGISTIC_PASS * problem.n * problem.d)

    def _sampled(self, problem: Problem, state: LogisticCGState) -> SampleScaling | None:
        """The scaling of conjugate gradients by H on a sample of rows, if it was decided for."""
        if not state.pivot.size:
            return None

        def make() -> SampleScaling | None:
            return sample_scaling(
                problem, state.pivot, self.cost, self.ridge, self.seed, self.threads
            )

        return _scalings.made((problem, hash(state.pivot.tobytes()), self.C, self.seed), make)

    def _double(self, problem: Problem) -> bool:
        return want_double(problem, self.cost, self.tol, self.threads)

    def _mean_curvature(self, problem: Problem, state: LogisticCGState) -> float:
        u = self.loss.corner - problem.sign * (state.scores + state.a[-1])
        return float(problem.weight @ self.loss.curvature(u)) / problem.total_weight

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


# -- Scaling by the second derivatives of a sample of rows -----------------------------------------

_rows, _scalings = Latest(), Latest()


class SampleScaling:
    """M^-1, M = H on a sample of rows, beside its own diagonal."""

    share = 0.0  # no row is read

    def __init__(self, factor: Factor, inverse: Array) -> None:
        self.factor, self.inverse = factor, inverse
        self.change = np.zeros_like(inverse)

    def weigh(self, r: Array) -> float:
        """Look at r; gives back what r . M^-1 r is less than r . D^-1 r."""
        self.change = self.factor.solve(r) - self.inverse * r
        return -float(r @ self.change)

    def correct(self, p: Array) -> None:
        """p += M^-1 r - D^-1 r, for the r that was looked at last."""
        p += self.change


def sample_scaling(
    problem: Problem, a: Array, cost: float, ridge: float, seed: int, threads: int | None
) -> SampleScaling | None:
    """The factor of H at a on a sample of rows, or on all if they are few; None if there is none.

    A function of its arguments alone, so that a run that goes on elsewhere has the same one.
    """
    size, offset = _ROWS_A_COLUMN * problem.d, problem.fit_intercept
    if 2 * size >= problem.n:
        rows = all_rows(problem, double=True)
    else:
        index, own, part = sample_matrix(problem, size, seed, threads)
        rows = LogisticRows(part, problem.sign[index], own, double=True, index=index)
    bend = rows.cost * LOGISTIC.curvature(-rows.margins(a))
    H = cost * rows.gram(bend, threads, offset=offset)
    H.flat[: problem.d * (problem.d + 2) : problem.d + 2] += ridge
    if not offset:
        H[-1, -1] = 1.0
    scale = inverse_roots(H.diagonal())
    factor = Factor.of(H, scale, growing(1e-14, 1e-13))
    return None if factor is None else SampleScaling(factor, scale * scale)


# -- A start for logistic regression on sparse rows: a few sweeps of dual coordinate descent ------
#
# Rows of very different lengths, such as counts of words, force Newton's method to short steps at
# first: a few long rows go from one side to the other. Dual variables move one by one, each to
# its best value, and are not held up by that. Later they get in each other's way; then Newton's
# method is the better one.


_ROW = 32  # entries of a mean row from which sweeps pay: a variable takes some exponentials
_SWEEPS = 10  # sweeps
_START = 1e-3  # share of the costs that the dual variables start from
_SLOW = 0.01  # gain of a sweep, as a share of the penalty, after which it is the last


def worth_sweeping(problem: Problem) -> bool:
    """Whether the matrix is sparse, large, and its rows are not too short."""
    return problem.sparse and int(problem.matrix.nnz) >= max(SWEPT_ENTRIES, _ROW * problem.n)


def swept(problem: Problem, C: float, threads: int | None) -> tuple[Array, float]:
    """Weights [w, b] after some sweeps, and the work in passes."""
    cost, X = C * problem.weight, packed(problem, narrow=True)
    squared = survey(problem, threads).rows + float(problem.fit_intercept)
    alpha = _START * cost
    logit = np.full(problem.n, float(np.log(_START / (1.0 - _START))))
    c = alpha * problem.sign
    a = np.append(row_sum(problem, c, threads), c.sum() if problem.fit_intercept else 0.0)
    size = int(problem.matrix.nnz)
    for k in range(_SWEEPS):
        gain = sweep(
            X, problem.sign, cost, squared, permutation(0, k, problem.n), logit, alpha, a,
            problem.fit_intercept, size=size, work=size,
        )  # fmt: skip
        if not gain > _SLOW * 0.5 * float(a @ a):
            break
    return a, 0.5 + k + 1


# -- Dual coordinate descent for logistic losses: a sweep over the rows ---------------------------


_VISITS_AHEAD = 4  # visits for which memory is asked ahead
_LINE_STEPS = 12  # of Newton's method on one variable, at most
_LOGIT_DONE = 1e-2  # change of a logit after which it is left alone


@inner
def best_logit(t, g, q, c, alpha):
    """The root of t + g + q (c sigma(t) - alpha): where the dual is least along one variable.

    Newton's method from t; the function grows, so every value tells on which side the root is.
    """
    low = -g - q * (c - alpha)
    high = -g + q * alpha
    if not low < t < high:
        t = 0.5 * (low + high)
    for _ in range(_LINE_STEPS):
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
        done = abs(new - t) < _LOGIT_DONE
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
        sample_locate(X, order[min(k + 2 * _VISITS_AHEAD, n - 1)])
        sample_fetch(X, order[min(k + _VISITS_AHEAD, n - 1)])
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
