"""The rule of Widrow and Hoff (LMS): least squares, one row at a time.

Problem   minimise J(a) = sum_i s_i (z_i . a - b_i)^2
Update    a <- a - eta(k) s_i z_i (z_i . a - b_i)  for each visited row, right or wrong
Stop      at the end of a pass: J is within tol of the least possible; or the weights repeat
Paper     Widrow and Hoff 1960; Robbins and Monro 1951

With a constant rate the weights end in a limit cycle around the minimum. With eta(1) / k they
converge, but along an eigenvector of eigenvalue lambda of Y'SY like k^(-eta(1) lambda / n), which
is no use when that exponent is small. The default decay eta / (1 + k / k0), with eta = 1 / max
s|z|^2 and k0 chosen so that the exponent is 1, begins safely and ends like 1 / k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import routine
from linsep.core.order import in_turn, permutation
from linsep.core.problem import Problem
from linsep.core.protocol import FIXED, NO_LOG, Event, Held, Log, State, Status, Witness
from linsep.rows.loops import sample_scores, sample_spread
from linsep.rows.normal import aims, columns_of, small_slope, totals
from linsep.solvers.schedule import CONSTANT, DIVERGENCE, RATES_AHEAD, Schedule, start_weights
from linsep.solvers.squares.gradient import spectrum

Array = NDArray[np.float64]

_STILL = 1e-13  # change of the weights over a pass, relative, that is called a repetition


@dataclass(kw_only=True)
class WidrowHoffState(State):
    """Weights, those at the start of the pass, and where the visit stands."""

    held: ClassVar[Mapping[str, Held]] = {
        "counters": Held(entries={0: "n_rows"}),  # POSITION: beyond, no pass would end
        "n_rows": FIXED,
        "rate": FIXED,
        "slowing": FIXED,
    }

    a: Array
    earlier: Array
    best: Array
    counters: NDArray[np.int64]
    epoch: int = 0
    n_rows: int = 1
    rate: float = 1.0
    """eta(1)."""
    slowing: float = 0.0
    """1 / k0 of the default decay."""
    cost: float = np.inf
    """J at the end of the last pass that was measured."""
    best_cost: float = np.inf
    bound: float = np.inf
    slope: float = field(default=np.inf)

    @property
    def passes(self) -> float:
        """Visits divided by the number of rows."""
        return self.n_visits / self.n_rows

    @property
    def n_visits(self) -> int:
        """Rows looked at so far."""
        return int(self.counters[VISITS])


def longest_row(problem: Problem) -> float:
    """max s |z|^2: a step of rate 1 over this meets the target of its row at most exactly."""
    squares = problem.squared_lengths + (1.0 if problem.fit_intercept else 0.0)
    return float((problem.weight * squares).max())


@dataclass(frozen=True)
class WidrowHoff:
    """Steps of single rows.

    Parameters
    ----------
    schedule : Schedule
        Rates eta(k) of visit k.
    auto : bool
        Whether eta(1) is 1 / max s|z|^2 instead of the schedule's.
    slow : bool
        Use the default decay instead of the schedule's.
    order : {"cyclic", "shuffle"}
    tol : float
        Gap to reach, relative to the cost of zero weights.
    seed : int
        Of the order and of a random start.
    """

    unit: ClassVar[str] = "visit"
    compares: ClassVar[bool] = False  # a row has an aim for each class, and no rival

    schedule: Schedule = CONSTANT
    auto: bool = True
    slow: bool = True
    order: str = "cyclic"
    tol: float = 1e-6
    seed: int = 0

    def init(self, problem: Problem, *, start: Any = None) -> WidrowHoffState:
        """Weights at the start and the rate."""
        a = start_weights(problem, start, self.seed)
        state = WidrowHoffState(
            a=a, earlier=a.copy(), best=a.copy(), counters=np.zeros(2, np.int64), n_rows=problem.n
        )
        longest = longest_row(problem)
        safe = 1.0 / longest if 0 < longest < np.inf else 1.0
        state.rate = safe if self.auto else self.schedule.eta
        least = spectrum(problem).smallest
        if self.slow:
            curvature = least if np.isfinite(least) else spectrum(problem).largest / problem.width
            state.slowing = state.rate * curvature / problem.n if curvature > 0 else 0.0
        self._measure(problem, state)
        return state

    def advance(
        self, problem: Problem, state: WidrowHoffState, steps: int, log: Log = NO_LOG
    ) -> int:
        """Visit up to ``steps`` rows."""
        taken = 0
        while taken < steps and not state.status.done:
            taken += self._visit(problem, state, steps - taken, log)
            if state.counters[POSITION] == problem.n:
                self._end_of_pass(problem, state)
            if log.full:
                break
        state.steps += taken
        return taken

    def status(self, state: WidrowHoffState) -> Status:
        """Why the run stands where it stands."""
        return state.status

    def witness(self, problem: Problem, state: WidrowHoffState) -> Witness:
        """The weights; of a run that diverged the best ones."""
        diverged = state.status is Status.DIVERGED
        return Witness(a=(state.best if diverged else state.a).copy())

    # -- for traces -----------------------------------------------------------------------

    def current(self, problem: Problem, state: WidrowHoffState) -> Array:
        """The weights as they are now."""
        return state.a

    def extra(
        self, problem: Problem, state: WidrowHoffState, event: Event | None
    ) -> dict[str, float]:
        """Cost J after the update."""
        now = totals(problem, columns_of(problem, state.a), aims(problem))
        told = {"cost": float(now.cost(problem).sum())}
        return told | ({"eta": event.step} if event else {})

    def rule_words(self, event: Event) -> str:
        """The update in the lecture's letters."""
        return f"a <- a - {event.step:.4g} z (z.a - b)"

    # -- inside ---------------------------------------------------------------------------

    def _rates(self, state: WidrowHoffState) -> Array:
        done = state.n_visits
        if self.slow:
            k = np.arange(done, done + RATES_AHEAD, dtype=np.float64)
            return np.asarray(state.rate / (1.0 + state.slowing * k), dtype=np.float64)
        return np.asarray(self.schedule.rates(done) * (state.rate / self.schedule.eta))

    def _visit(self, problem: Problem, state: WidrowHoffState, steps: int, log: Log) -> int:
        n = problem.n
        order = permutation(self.seed, state.epoch, n) if self.order == "shuffle" else in_turn(n)
        A = state.a.reshape(-1, problem.d + 1)
        W, offset = np.ascontiguousarray(A[:, :-1].T), A[:, -1].copy()
        size = int(problem.matrix.nnz) if problem.sparse else n * problem.d
        before = state.n_visits
        taken = visit(
            problem.rows.X, aims(problem), problem.weight, float(problem.fit_intercept), order,
            self._rates(state), W, offset, np.zeros(len(offset)), state.counters, steps, log,
            size=size, work=min(steps, n) * max(1, size // n),
        )  # fmt: skip
        state.a = np.column_stack([W.T, offset]).ravel()
        if taken < 0:
            state.status = Status.DIVERGED
        elif state.status is Status.READY:
            state.status = Status.RUNNING
        done = state.n_visits - before
        state.n_updates += done
        return done

    def _end_of_pass(self, problem: Problem, state: WidrowHoffState) -> None:
        state.counters[POSITION] = 0
        state.epoch += 1
        moved = float(np.abs(state.a - state.earlier).max())
        still = moved <= _STILL * float(np.abs(state.a).max())
        state.earlier = state.a.copy()
        if still or state.epoch & (state.epoch - 1) == 0 or state.epoch % 16 == 0:
            self._measure(problem, state)
        constant = self.schedule.constant and not self.slow and self.order == "cyclic"
        if still and constant and not state.status.done:
            state.status = Status.LIMIT_CYCLE

    def _measure(self, problem: Problem, state: WidrowHoffState) -> None:
        """Cost and gradient at the present weights, and what follows from them."""
        A, T = columns_of(problem, state.a), aims(problem)
        now = totals(problem, A, T)
        state.cost = float(now.cost(problem).sum())
        state.slope = float(np.linalg.norm(now.gradient))
        total = float((problem.weight[:, None] * T * T).sum())
        if np.isinf(state.bound):
            state.bound = DIVERGENCE * (state.cost + total)
        if state.cost < state.best_cost:
            state.best_cost, state.best = state.cost, state.a.copy()
        if not (np.isfinite(state.slope) and state.cost <= state.bound):
            state.status = Status.DIVERGED
            return
        least = spectrum(problem).smallest
        near = state.slope**2 <= 0.5 * self.tol * total * least
        if near or small_slope(problem, A, now.gradient, T, 0.5 * self.tol):
            state.status = Status.CERTIFIED


# -- Inner loop of the rule of Widrow and Hoff ----------------------------------------------------


# Places in the array of counters.
POSITION, VISITS = range(2)


@routine
def visit(X, aims, weights, bias, order, rates, W, offset, scores, counters, steps, log):
    """Visit up to ``steps`` rows of one pass and move each score towards its aim.

    W has one column a class and one row a feature. Stops at the end of the pass, of the rates
    or of the log, and where a score is no number: then it gives back the negative count.
    """
    n = order.shape[0]
    K = offset.shape[0]
    taken = 0
    while taken < steps and counters[POSITION] < n:
        if rates.shape[0] > 1 and taken == rates.shape[0]:
            break
        i = order[counters[POSITION]]
        for k in range(K):
            scores[k] = bias * offset[k]
        sample_scores(X, i, W, scores)
        rate = rates[0] if rates.shape[0] == 1 else rates[taken]
        first = scores[0]
        for k in range(K):
            scores[k] = rate * weights[i] * (aims[i, k] - scores[k])
            if scores[k] - scores[k] != 0.0:
                return -1 - taken
        sample_spread(X, i, scores, W)
        for k in range(K):
            offset[k] += bias * scores[k]
        counters[POSITION] += 1
        counters[VISITS] += 1
        taken += 1
        if log.whole.shape[0] > 0:
            used = log.used[0]
            log.whole[used, 0] = counters[VISITS]
            log.whole[used, 1] = counters[VISITS]
            log.whole[used, 2] = i if K == 1 else i * (K - 1)  # as reflected rows are counted
            log.real[used, 0] = first if aims[i, 0] > 0.0 else -first
            log.real[used, 1] = rate
            log.used[0] = used + 1
            if used + 1 == log.whole.shape[0]:
                break
    return taken
