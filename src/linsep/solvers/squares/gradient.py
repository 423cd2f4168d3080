"""Gradient descent on the sum of squared errors, all rows at once.

Problem   minimise J(a) = sum_i s_i (z_i . a - b_i)^2
Update    a <- a - eta(k) Y'S (Y a - b)      (half the gradient, so that eta is the lecture's)
Stop      J is within tol of the least possible; or J grows without bound
Paper     Cauchy 1847; Duda and Hart 1973, section 5.8

With a constant rate J falls in every step for eta < 2 / lambda_max(Y'SY) and shrinks the error
along an eigenvector by |1 - eta lambda|; above that it diverges. The default is 1 / lambda_max.
Where the Gram matrix is the smaller one, gradients are computed from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import DESCENT_ON_ROWS, GRAM_TIMES
from linsep.core.order import generator
from linsep.core.problem import Problem, reads
from linsep.core.protocol import NO_LOG, Event, Log, State, Status, Witness
from linsep.rows.normal import (
    aims,
    columns_of,
    flat,
    gram,
    gram_fits,
    right_side,
    small_slope,
    totals,
)
from linsep.solvers.schedule import CONSTANT, DIVERGENCE, Schedule, start_weights

Array = NDArray[np.float64]

_POWER_STEPS = 40


@dataclass(frozen=True)
class Spectrum:
    """Largest and smallest positive eigenvalue of Y'SY; NaN for a smallest one not known."""

    largest: float
    smallest: float


def spectrum(problem: Problem) -> Spectrum:
    """Of the reflected rows of a problem; computed once and kept with it."""
    return problem.once(_spectrum)


@reads("matrix", "weight", "fit_intercept")
def _spectrum(problem: Problem) -> Spectrum:
    if gram_fits(problem):
        G = gram(problem).matrix
        if not np.isfinite(G).all():
            return Spectrum(np.inf, np.nan)
        values = np.linalg.eigvalsh(G)
        positive = values[values > 4 * len(values) * 2.0**-52 * values[-1]]
        return Spectrum(float(values[-1]), float(positive.min(initial=values[-1])))
    v = generator(0, 1).standard_normal((problem.width, 1))
    zero, size = np.zeros((problem.n, 1)), 1.0
    for _ in range(_POWER_STEPS):
        v /= np.linalg.norm(v)
        v = totals(problem, v, zero).gradient
        size = float(np.linalg.norm(v))
        if not size > 0:
            break
    return Spectrum(1.05 * size, np.nan)  # from below, so a little is added


@dataclass(kw_only=True)
class GradientState(State):
    """Weights, their cost, and the best ones so far."""

    a: Array
    best: Array
    gradient: Array
    """Half the gradient at a."""
    rate: float
    """eta(1)."""
    cost: float = np.inf
    """J at a."""
    best_cost: float = np.inf
    slope: float = np.inf
    """Length of half the gradient at a."""
    total: float = 0.0
    """J of zero weights."""
    bound: float = np.inf
    """Growth beyond this cost is divergence."""
    n_passes: float = 0.0

    @property
    def passes(self) -> float:
        """Each step is one pass."""
        return float(self.n_passes)


@dataclass(frozen=True)
class GradientSquares:
    """Batch gradient descent for least squares.

    Parameters
    ----------
    schedule : Schedule
        Rates; those of the schedule times the safe rate if ``auto``.
    auto : bool
        Whether eta(1) is 1 / lambda_max instead of the schedule's.
    tol : float
        Gap to reach, relative to the cost of zero weights.
    seed : int
        Of a random start.
    """

    unit: ClassVar[str] = "scan"

    schedule: Schedule = CONSTANT
    auto: bool = True
    tol: float = 1e-6
    seed: int = 0

    def init(self, problem: Problem, *, start: Any = None) -> GradientState:
        """Weights at the start and the rate."""
        a = start_weights(problem, start, self.seed)
        top = spectrum(problem).largest
        rate = 1.0 / top if self.auto and 0 < top < np.inf else self.schedule.eta
        state = GradientState(
            a=a, best=a.copy(), gradient=np.zeros_like(columns_of(problem, a)), rate=rate
        )
        state.total = float((problem.weight[:, None] * aims(problem) ** 2).sum())
        self._measure(problem, state)
        state.bound = DIVERGENCE * (state.cost + state.total)
        return state

    def advance(self, problem: Problem, state: GradientState, steps: int, log: Log = NO_LOG) -> int:
        """Up to ``steps`` gradient steps."""
        taken = 0
        while taken < steps and not state.status.done:
            taken += 1
            state.steps += 1
            self._step(problem, state, log)
            if log.full:
                break
        return taken

    def status(self, state: GradientState) -> Status:
        """Why the run stands where it stands."""
        return state.status

    def witness(self, problem: Problem, state: GradientState) -> Witness:
        """The weights; of a run that diverged the best ones."""
        diverged = state.status is Status.DIVERGED
        return Witness(a=(state.best if diverged else state.a).copy())

    # -- for traces -----------------------------------------------------------------------

    def current(self, problem: Problem, state: GradientState) -> Array:
        """The weights as they are now."""
        return state.a

    def extra(self, problem: Problem, state: GradientState, event: Event | None) -> dict[str, Any]:
        """Cost J and length of half the gradient after the update."""
        told = {"cost": state.cost, "slope": state.slope}
        return told | ({"eta": event.step} if event else {})

    def batch_words(self, event: Event, wrong: int) -> str:
        """The update in the lecture's letters."""
        rows = "row" if wrong == 1 else "rows"
        return f"{wrong} {rows} wrong, cost {event.value:.6g}, so " + (
            f"a <- a - {event.step:.4g} Y'(Ya - b)"
        )

    # -- inside ---------------------------------------------------------------------------

    def _step(self, problem: Problem, state: GradientState, log: Log) -> None:
        before, rate = state.cost, state.rate
        if not self.schedule.constant:
            rate *= float(self.schedule.rates(state.n_updates)[0]) / self.schedule.eta
        state.a = flat(problem, columns_of(problem, state.a) - rate * state.gradient)
        state.n_updates += 1
        self._measure(problem, state)
        log.write(state.n_updates, state.n_updates * problem.n_rows, -1, before, rate)

    def _measure(self, problem: Problem, state: GradientState) -> None:
        """Cost and gradient at the present weights, and what follows from them."""
        A = columns_of(problem, state.a)
        state.gradient, state.cost = self._gradient(problem, A)
        state.slope = float(np.linalg.norm(state.gradient))
        state.n_passes += 1
        if state.cost < state.best_cost:
            state.best_cost, state.best = state.cost, state.a.copy()
        state.status = Status.RUNNING if state.n_updates else Status.READY
        least = spectrum(problem).smallest
        if not (np.isfinite(state.slope) and state.cost <= state.bound):
            state.status = Status.DIVERGED
        elif np.isfinite(least):
            if state.slope**2 <= 0.5 * self.tol * state.total * least:
                state.status = Status.CERTIFIED
        elif small_slope(problem, A, state.gradient, aims(problem), 0.5 * self.tol):
            state.status = Status.CERTIFIED

    def _gradient(self, problem: Problem, A: Array) -> tuple[Array, float]:
        """Half the gradient, and J."""
        T = aims(problem)
        few = problem.n > GRAM_TIMES * problem.width and problem.n * problem.d > DESCENT_ON_ROWS
        if not (few and gram_fits(problem)):
            now = totals(problem, A, T)
            return now.gradient, float(now.cost(problem).sum())
        product, right = gram(problem).matrix @ A, right_side(problem)
        total = float((problem.weight[:, None] * T * T).sum())
        return product - right, total + float((A * (product - 2 * right)).sum())
