"""Dual coordinate descent, one row at a time.

Problem   maximise D(alpha) = sum alpha_i - |v|^2 / 2 - sum c_i L*(alpha_i / c_i),
          v = sum alpha_i y_i x_i, c_i = C s_i, L*(t) = q t^2 on [0, top] (0 on [0, 1] for the
          hinge, t^2 / 4 for its square); with an intercept also sum alpha_i y_i = 0
Given     rows x_i, signs y_i, weights s_i
Update    alpha_i <- clip(alpha_i - G / Q),  G = y_i (w.x_i + b) - 1 + 2 q alpha_i / c_i,
          Q = |x_i|^2 + rho + 2 q / c_i, w and b following; rows that stay at a bound are
          put aside. The equality is a multiplier: b <- b + rho sum alpha_i y_i after a sweep
Stop      (P - D) / P <= tol, looked at when the sum of the gaps met on the way says so
Paper     Hsieh, Chang, Lin, Keerthi, Sundararajan 2008, algorithms 1 and 3; the multiplier
          method of Hestenes and Powell 1969 for the intercept
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import inner, routine
from linsep.core.layouts import Matrix
from linsep.core.problem import Problem
from linsep.core.protocol import (
    ENDLESS,
    FIXED,
    NO_LOG,
    Held,
    Log,
    State,
    Status,
    Witness,
    relative_gap,
)
from linsep.losses.base import needs
from linsep.losses.hinge import HINGE, QuadraticLoss
from linsep.rows.loops import fetch, sample_add, sample_dot, sample_fetch, sample_locate
from linsep.rows.packed import may_round, packed
from linsep.solvers.hinge.dual_point import (
    best_offset,
    dual_value,
    row_lengths,
    row_scores,
    stretched,
)

Array = NDArray[np.float64]

_GOAL = 1.5


@dataclass(kw_only=True)
class DualState(State):
    """The dual point, the weights that belong to it, and the rows in play."""

    held: ClassVar[Mapping[str, Held]] = {
        "order": Held(shape=("?",), below="n"),
        "active": Held(most="order"),
        "numbers": ENDLESS,
        "inverse": FIXED,
        "rho": FIXED,
        "history": ENDLESS,
    }

    a: Array
    """[w, b]."""
    alpha: Array
    order: NDArray[np.int64]
    """Row numbers; the first ``active`` are visited."""
    active: int
    numbers: Array
    """What sweeps keep, at the places LARGEST, SMALLEST, ... below."""
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
        return relative_gap(self.best_primal, self.best_dual)


@dataclass(frozen=True)
class DualCD:
    """Dual coordinate descent with shrinking, for sparse and for wide data.

    Parameters
    ----------
    C : float, default=1.0
    loss : QuadraticLoss, default=HINGE
    tol : float, default=1e-3
        Relative duality gap.
    seed : int, default=0
        Of the order of visits.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.hinge.dual_cd import DualCD
    >>> out = drive(Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]), DualCD(tol=1e-6))
    >>> out.status.name, round(float(out.witness.a[0]), 3)
    ('CERTIFIED', 1.0)
    """

    C: float = 1.0
    loss: QuadraticLoss = HINGE
    tol: float = 1e-3
    seed: int = 0

    unit: ClassVar[str] = "sweep"

    def __post_init__(self) -> None:
        needs(self, self.loss, QuadraticLoss)

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
        curve = 2.0 * self.loss.q / cost
        with np.errstate(divide="ignore"):
            inverse = 1.0 / (lengths + rho + curve)
        alpha = np.zeros(problem.n)
        if start is not None:
            alpha = np.clip(np.asarray(start, dtype=np.float64), 0.0, self.loss.cap(cost))
        state = DualState(
            a=np.zeros(problem.d + 1),
            alpha=alpha,
            order=np.arange(problem.n),
            active=problem.n,
            numbers=np.zeros(N_NUMBERS),
            inverse=inverse,
            rho=rho,
            mean=np.zeros(problem.d + 1),
            best=np.zeros(problem.d + 1),
            best_primal=self.loss.at_zero(cost),
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
        X, cost = self._rows(problem), self.C * problem.weight
        size = problem.matrix.nnz if problem.sparse else problem.n * problem.d
        while taken < steps and not state.status.done:
            done, active, visits = sweeps(
                X, problem.sign, cost, state.inverse, self.loss.form, state.rho, state.a,
                state.alpha, state.order, state.active, self.seed * 1000003, state.steps,
                steps - taken, state.goal * self.tol, state.numbers, state.history, state.mean,
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
        """The best weights looked at, and the best dual point.

        Of a run that is cut short also the last sweep and the mean of the last ones are looked at.
        """
        if not state.status.done and state.steps:
            state = copy(state)
            _, dual, _ = self._sides(problem, state)
            if dual > state.best_dual:
                state.best_dual, state.best_alpha = dual, state.alpha
            w = state.mean[:-1]
            self._primal(problem, state, w, row_scores(problem, w))
        rows = np.flatnonzero(state.best_alpha)
        multipliers = state.best_alpha[rows]
        return Witness(a=state.best.copy(), rows=rows, multipliers=multipliers, claim="dual")

    def _rows(self, problem: Problem) -> Matrix:
        return packed(problem, narrow=may_round(problem, self.C, self.tol))

    # -- inside -------------------------------------------------------------------------------

    def _after(self, problem: Problem, state: DualState) -> None:
        """Look at the gap when the one met on the way is small enough."""
        state.status = Status.RUNNING
        numbers, b = state.numbers, float(state.a[-1])
        dual = numbers[TOTAL] - numbers[CURVED] - 0.5 * float(state.a[:-1] @ state.a[:-1])
        if not np.isfinite(dual):
            state.status = Status.DIVERGED
            return
        balance = float(numbers[BALANCE]) if problem.fit_intercept else 0.0
        running = float(numbers[RUNNING]) + abs(b * balance)
        due = is_due(state.steps, numbers[CAPPED])
        if running <= state.goal * self.tol * abs(dual) or state.active == 0 or due:
            self._look(problem, state, running=running)

    def _look(
        self, problem: Problem, state: DualState, *, running: float = 0.0, fresh: bool = False
    ) -> None:
        """Evaluate both sides truly, and sort out which rows are in play."""
        scores, dual, b = self._sides(problem, state, fresh=fresh)
        state.work += 1.0
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

    def _sides(
        self, problem: Problem, state: DualState, *, fresh: bool = False
    ) -> tuple[Array, float, float]:
        """Scores and dual value of the present point, and its best offset; weights are kept."""
        scores, dual, w = dual_value(problem, self.loss, self.C, state.alpha, state.a, fresh=fresh)
        if fresh:
            state.a[:-1] = w
        return scores, dual, self._primal(problem, state, state.a[:-1], scores)

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
        if self.loss.kinked and self.tol * primal < primal - state.best_dual:
            t, primal = stretched(problem, self.C, half, problem.sign * (scores + b), primal)
        if primal < state.best_primal:
            state.best_primal, state.best = primal, t * np.append(w, b)
        return b

    def _sort_out(self, problem: Problem, state: DualState, scores: Array) -> None:
        """Take rows back in, or put them aside, by their present gradients."""
        g = problem.sign * (scores + state.a[-1]) - 1.0
        cost = self.C * problem.weight
        g += state.alpha * (2.0 * self.loss.q) / cost
        top = self.loss.cap(cost)
        above, below = state.numbers[LARGEST], state.numbers[SMALLEST]
        aside = (state.alpha == 0.0) & (g > above) | (state.alpha == top) & (g < below)
        state.order = np.flatnonzero(~aside)
        state.active = len(state.order)


# -- Inner loop of dual coordinate descent for the hinge losses -----------------------------------


# Places in the array of numbers.
LARGEST, SMALLEST, RUNNING, TOTAL, BALANCE, CURVED, CAPPED = range(7)
N_NUMBERS = 7

FREE = 8  # sweeps after which a run with no variable at its cap is looked at now and then
LONG = 64  # sweeps of a long run after which both sides are looked at now and then
SHARE = 0.2  # of the last sweep in the mean
AHEAD = 4  # visits for which memory is asked ahead
_ZERO_GRADIENT = 1e-14  # projected gradients below this are taken for zero


@inner
def shuffle(order, active, seed):
    """Fisher and Yates with xorshift numbers: the order is a function of the seed alone."""
    x = (seed * 2654435761 + 88172645) & 0xFFFFFFFF
    x = x if x != 0 else 2463534242
    for k in range(active - 1, 0, -1):
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
        j = (x * (k + 1)) >> 32
        t = order[k]
        order[k] = order[j]
        order[j] = t


@inner
def squared_length(w):
    """|w|^2 in four running sums."""
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    whole = w.shape[0] - w.shape[0] % 4
    for j in range(0, whole, 4):
        s0 += w[j] * w[j]
        s1 += w[j + 1] * w[j + 1]
        s2 += w[j + 2] * w[j + 2]
        s3 += w[j + 3] * w[j + 3]
    s = (s0 + s2) + (s1 + s3)
    for j in range(whole, w.shape[0]):
        s += w[j] * w[j]
    return s


@inner
def is_due(done, capped):
    """Whether both sides are to be looked at, whatever the gap met on the way.

    That one is of no use when no variable is at its cap: costs are then so high that the little
    that rows lack weighs much, until the weights are made a little longer.
    """
    return done & (done - 1) == 0 and (done >= LONG or (done >= FREE and capped == 0.0))


@inner
def sweep(X, sign, cost, inverse, form, rho, a, alpha, order, active, numbers):
    """One visit of every active row in the given order; gives back how many stay active.

    The loss has the conjugate q t^2 on [0, most], form being (q, most).
    a = [w, b] follows alpha: w = sum alpha y x, and b moves with rho y. A row whose alpha
    sits at a bound and whose gradient pushes it there by more than the bounds kept in numbers
    is put aside. numbers[RUNNING] collects the parts of the duality gap as they are met;
    TOTAL, BALANCE and CURVED follow sum alpha, sum alpha y and sum q alpha^2 / c; CAPPED counts
    rows that were met at their upper bound.
    """
    q, most = form
    d = a.shape[0] - 1
    above = numbers[LARGEST]
    below = numbers[SMALLEST]
    largest = -np.inf
    smallest = np.inf
    gap = 0.0
    total = numbers[TOTAL]
    balance = numbers[BALANCE]
    curved = numbers[CURVED]
    kept = 0
    capped = 0
    for k in range(active):
        if k + 2 * AHEAD < active:
            j = order[k + 2 * AHEAD]
            sample_locate(X, j)
            fetch(alpha, j)
            fetch(inverse, j)
            fetch(sign, j)
            fetch(cost, j)
        if k + AHEAD < active:
            sample_fetch(X, order[k + AHEAD])
        i = order[k]
        y = sign[i]
        c = cost[i]
        old = alpha[i]
        g = y * (sample_dot(X, i, a, 0, d) + a[d]) - 1.0
        top = c * most
        capped += 1 if old == top else 0
        if q > 0.0:
            fit = 2.0 * q * old / c  # the slack that alpha stands for
            if -g <= 2.0 * q * most:
                p = max(-g, 0.0) - fit
                gap += c * p * p / (4.0 * q) + (old * g if g > 0.0 else 0.0)
            else:
                gap += (top - old) * (-g - 0.5 * fit - q * most)
            g += fit
        else:
            gap += top * max(-g, 0.0) + old * g
        pg = g
        if old == 0.0:
            if g > above:
                continue
            pg = min(g, 0.0)
        elif old == top:
            if g < below:
                continue
            pg = max(g, 0.0)
        order[kept] = i
        kept += 1
        largest = max(largest, pg)
        smallest = min(smallest, pg)
        if abs(pg) > _ZERO_GRADIENT:
            new = min(max(old - g * inverse[i], 0.0), top)
            if new != old:
                t = (new - old) * y
                alpha[i] = new
                total += new - old
                balance += t
                if q > 0.0:
                    curved += q * (new - old) * (new + old) / c
                sample_add(X, i, t, a, 0, d)
                a[d] += rho * t
    numbers[LARGEST] = largest if largest > 0.0 else np.inf
    numbers[SMALLEST] = smallest if smallest < 0.0 else -np.inf
    numbers[RUNNING] = gap
    numbers[TOTAL] = total
    numbers[BALANCE] = balance
    numbers[CURVED] = curved
    numbers[CAPPED] = capped
    return kept


@routine
def sweeps(X, sign, cost, inverse, form, rho, a, alpha, order, active, seed, step, count, goal,
           numbers, history, mean):  # fmt: skip
    """Up to ``count`` sweeps; gives back how many, the rows still active, and the visits.

    After a sweep the multiplier b moves by rho times the balance, and mean follows a: weights
    of single sweeps are noisy, a mean of a few is better. It ends early when the gap
    met on the way is at most goal times the dual value, when no row is active, when a long run
    is due for a look, and on overflow.
    """
    d = a.shape[0] - 1
    visits = 0
    for k in range(count):
        own = (seed + step + k) & 0x7FFFFFFF
        shuffle(order, active, own)
        visits += active
        active = sweep(X, sign, cost, inverse, form, rho, a, alpha, order, active, numbers)
        a[d] += rho * numbers[BALANCE]
        dual = numbers[TOTAL] - numbers[CURVED] - 0.5 * squared_length(a[:d])
        running = numbers[RUNNING] + abs(a[d] * numbers[BALANCE] if rho > 0.0 else 0.0)
        for j in range(history.shape[0] - 1):
            history[j] = history[j + 1]
        history[-1] = running / max(abs(dual), 1e-300)
        done = step + k + 1
        share = max(SHARE, 1.0 / done)
        for j in range(d + 1):
            mean[j] += share * (a[j] - mean[j])
        due = is_due(done, numbers[CAPPED])
        if running <= goal * abs(dual) or active == 0 or due or not np.isfinite(dual):
            return k + 1, active, visits
    return count, active, visits
