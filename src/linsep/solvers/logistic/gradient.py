"""Gradient ascent on the conditional likelihood, one pass a step.

Problem   as for solvers/logistic/newton.py, two classes or K by softmax
Update    a <- a + eta(k) (C sum_l s_l [x_l, 1] (Y_l - P(Y | x_l)) - [w, 0]), which with C = inf is
          w_i <- w_i + eta sum_l X_i^l (Y^l - P(Y = 1 | X^l, W))
Stop      the duality gap P - D <= |gradient|^2 / 2 is at most tol P (with a penalty), or
          |gradient| <= tol (1 + |gradient at the start|) (C = inf). Never on eta |gradient|: with
          a rate that decays that would fire anywhere.
Paper     Mitchell 2017, Machine Learning, chapter 3

The default rate is 1 / L, L a bound of the curvature: then every step goes up. Larger rates may
overshoot: a run whose objective grows a thousandfold is stopped as DIVERGED, one that has not
improved for a thousand steps as PATIENCE.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from linsep.core.problem import Problem
from linsep.core.protocol import FIXED, NO_LOG, Event, Held, Log, State, Status, Witness
from linsep.losses.logistic import loss, probability
from linsep.solvers.logistic.line import Penalty, dual_witness
from linsep.solvers.schedule import Schedule, start_weights

Array = NDArray[np.float64]

_GROWTH = 1e3  # of the objective, from which the run is called divergent
_IDLE_STEPS = 1000  # steps without a better objective


@dataclass(kw_only=True)
class GradientState(State):
    """Weights with their objective and gradient, and the best ones so far."""

    held: ClassVar[Mapping[str, Held]] = {"n_rows": FIXED}

    a: Array
    gradient: Array
    primal: float = np.inf
    first: float = np.inf
    """Objective at the start."""
    size: float = 0.0
    """Length of the gradient at the start."""
    eta: float = 0.0
    best: Array
    best_primal: float = np.inf
    best_step: int = 0
    n_rows: int

    @property
    def passes(self) -> float:
        """Each step is one pass; so is the look at the start."""
        return float(self.steps + 1)

    @property
    def n_visits(self) -> int:
        """Rows looked at so far."""
        return self.steps * self.n_rows


@dataclass(frozen=True)
class GradientAscent(Penalty):
    """Gradient ascent with a rate that may decay.

    Parameters
    ----------
    C, tol
        As for ``NewtonLogistic``.
    eta : float or None, default=None
        Rate of the first step; None is 1 / L.
    decay : "constant", "inverse" or function, default="constant"
        See ``Schedule``.
    reference : int or None, default=None
        With more than two classes: the class whose weights stay zero.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.logistic.gradient import GradientAscent
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    >>> out = drive(problem, GradientAscent(tol=1e-9))
    >>> out.status.name, out.witness.a.round(3).tolist()
    ('CERTIFIED', [0.453, -0.679])
    """

    C: float = 1.0
    tol: float = 1e-3
    eta: float | None = None
    decay: Any = "constant"
    reference: int | None = None

    unit: ClassVar[str] = "step"

    def init(self, problem: Problem, *, start: Any = None) -> GradientState:
        """Zero weights, or (coef, intercept)."""
        a = start_weights(problem, start, 0)
        eta = self.eta
        if eta is None:
            eta = 1.0 / curvature_bound(problem, self.cost, self.ridge)
        state = GradientState(
            a=a, gradient=np.zeros_like(a), best=a.copy(), eta=float(eta), n_rows=problem.n_rows
        )
        self._evaluate(problem, state)
        state.first, state.size = state.primal, float(np.linalg.norm(state.gradient))
        self._judge(problem, state)
        return state

    def advance(self, problem: Problem, state: GradientState, steps: int, log: Log = NO_LOG) -> int:
        """Steps up the gradient, each with its pass."""
        taken = 0
        while taken < steps and not state.status.done:
            schedule = Schedule(state.eta, self.decay)
            rate = float(schedule.rates(state.n_updates)[0])
            before = state.primal
            state.a = state.a - rate * state.gradient
            state.steps += 1
            state.n_updates += 1
            taken += 1
            self._evaluate(problem, state)
            self._judge(problem, state)
            log.write(state.n_updates, state.n_visits, -1, before, rate)
            if log.full:
                break
        return taken

    def status(self, state: GradientState) -> Status:
        """CERTIFIED or CONVERGED at the top, DIVERGED when the rate is too large."""
        return state.status

    def witness(self, problem: Problem, state: GradientState) -> Witness:
        """The best weights seen."""
        if not problem.binary:
            return Witness(a=state.best.copy())
        return dual_witness(problem, state.best, problem.values(state.best), self.C)

    # -- for a trace --------------------------------------------------------------------------

    def current(self, problem: Problem, state: GradientState) -> Array:
        """The weights as they are now."""
        return state.a

    def extra(
        self, problem: Problem, state: GradientState, event: Event | None
    ) -> dict[str, float]:
        """Objective, length of the gradient, rate."""
        told = {"cost": state.primal, "gradient": float(np.linalg.norm(state.gradient))}
        return told | ({"eta": event.step} if event else {})

    def batch_words(self, event: Event, wrong: int) -> str:
        """The update in the lecture's letters."""
        return f"cost {event.value:.6g}, so a <- a - {event.step:.4g} grad"

    # -- inside -------------------------------------------------------------------------------

    def _evaluate(self, problem: Problem, state: GradientState) -> None:
        blocks = state.a.reshape(-1, problem.d + 1)
        cost = self.cost * problem.weight
        scores = problem.scores(state.a)
        if problem.binary:
            m = problem.sign * scores
            total = float(cost @ loss(m))
            residual = (cost * probability(m) * problem.sign)[:, None]
        else:
            log_sum = logsumexp(scores, axis=1)
            at = np.arange(problem.n)
            total = float(cost @ (log_sum - scores[at, problem.label]))
            residual = -np.exp(scores - log_sum[:, None])
            residual[at, problem.label] += 1.0
            residual *= cost[:, None]
        gradient = self.ridge * blocks
        gradient[:, :-1] -= np.asarray((problem.matrix.T @ residual).T)
        gradient[:, -1] = -residual.sum(axis=0) if problem.fit_intercept else 0.0
        if self.reference is not None and not problem.binary:
            gradient[self.reference] = 0.0
        state.gradient = gradient.ravel()
        state.primal = 0.5 * self.ridge * float((blocks[:, :-1] ** 2).sum()) + total

    def _judge(self, problem: Problem, state: GradientState) -> None:
        size = float(np.linalg.norm(state.gradient))
        if not (np.isfinite(state.primal) and np.isfinite(size)):
            state.status = Status.DIVERGED
            return
        if state.primal < state.best_primal:
            state.best_primal, state.best = state.primal, state.a.copy()
            state.best_step = state.steps
        state.status = Status.RUNNING
        if state.steps - state.best_step > _IDLE_STEPS:
            state.status = Status.PATIENCE
        if self.ridge:
            if 0.5 * size * size <= 0.9 * self.tol * state.primal:
                state.status = Status.CERTIFIED
        elif size <= self.tol * (1.0 + state.size):
            state.status = Status.CONVERGED
        if state.primal > _GROWTH * state.first:
            state.status = Status.DIVERGED


def curvature_bound(problem: Problem, cost: float, ridge: float) -> float:
    """A number no smaller than the largest second derivative of the objective."""
    s = problem.weight
    if problem.width <= 300:
        root = np.sqrt(s)
        X = problem.matrix
        B = X.multiply(root[:, None]).toarray() if problem.sparse else X * root[:, None]
        if problem.fit_intercept:
            B = np.column_stack([B, root])
        largest = float(np.linalg.norm(np.asarray(B, dtype=np.float64), 2)) ** 2
    else:
        largest = float(s @ (problem.squared_lengths + problem.fit_intercept))
    share = 0.25 if problem.binary else 0.5
    return ridge + share * cost * largest * (1 + 1e-9) + 1e-300
