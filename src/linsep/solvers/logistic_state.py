"""Where Newton's method for logistic regression stands, and the system its steps solve."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linsep.core.cholesky import solved
from linsep.core.problem import Problem
from linsep.core.protocol import State

__all__ = ["LogisticState", "newton_solved", "pairs_solved"]

Array = NDArray[np.float64]


@dataclass(kw_only=True)
class LogisticState(State):
    """An evaluated point: margins, gradient, the curvature in use, the best weights."""

    a: Array
    level: int = -1
    """Which sample of rows; -1 before the first pass, the last level is all rows."""
    rung: int = 0
    """Steps taken at this level."""
    m: Array = field(default_factory=lambda: np.zeros(0))
    gradient: Array
    curvature: Array
    """Second derivatives of the losses, of an earlier point where there are pairs."""
    fresh: bool = False
    """Whether the curvature is that of the present point on the present rows."""
    steps_s: Array
    """Changes of the weights since the curvature was computed, one a row."""
    steps_y: Array
    """Changes of the gradient that went with them."""
    primal: float = np.inf
    gap: float = np.inf
    """Relative gap as the solver sees it; certify has the last word."""
    best: Array
    best_primal: float = np.inf
    best_gap: float = np.inf
    lead: Array
    """A last step that is left to the certificate to evaluate; zero if there is none."""
    nested: bool = True
    """Whether steps on all rows come from the sample's objective, tilted; pairs else."""
    own: bool = False
    """Whether the larger sample needs its own curvature: that of the first one led nowhere."""
    decrement: float = np.inf
    slow: int = 0
    """Steps in a row that hardly shrank, without a penalty."""
    idle: int = 0
    rows_read: float = 0.0
    n_rows: int

    @property
    def passes(self) -> float:
        """Rows read divided by the number of rows."""
        return self.rows_read / self.n_rows


def newton_solved(problem: Problem, curvature: Array, cost: float, ridge: float, q: Array) -> Array:
    """H^-1 q, H = ridge I + cost curvature; the offset has no ridge."""
    width = problem.width
    H = cost * curvature[:width, :width]
    H.flat[: problem.d * (width + 1) : width + 1] += ridge
    return np.append(solved(H, q[:width]), np.zeros(len(q) - width))


def pairs_solved(problem: Problem, state: LogisticState, cost: float, ridge: float) -> Array:
    """H^-1 gradient, H corrected by the pairs of steps and gradients since it was computed."""
    q, kept = state.gradient.copy(), []
    for s, y in zip(state.steps_s[::-1], state.steps_y[::-1]):
        t = float(s @ q) / float(s @ y)
        kept.append(t)
        q -= t * y
    q = newton_solved(problem, state.curvature, cost, ridge, q)
    for s, y, t in zip(state.steps_s, state.steps_y, kept[::-1]):
        q += s * (t - float(y @ q) / float(s @ y))
    return q
