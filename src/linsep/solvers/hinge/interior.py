"""A primal and dual interior point method for small tables.

Problem   min 1/2 |w|^2 + sum c_i L(1 - y_i (w.x_i + b)), L*(t) = q t^2 on [0, top]
Given     strictly positive alpha_i, slacks s_i = y f - 1 + xi_i + 2 q alpha_i / c_i, and xi_i where
          top is finite; the optimum has alpha s = 0 and (c top - alpha) xi = 0
Update    a predictor-corrector step (numerics/interior.py) of alpha in its box, with multipliers s
          and xi of its bounds; of its equations all but w and b are eliminated, which leaves
          (I + sum theta_i [x_i, 1] [x_i, 1]') dw = ...,
          1 / theta = s / alpha + xi / (c top - alpha) + 2 q / c
Stop      (P - D) / P <= tol, D at alpha with the heavier class scaled down until y.alpha = 0
Paper     Mehrotra 1992; Ferris and Munson 2003 for support vector machines. Ten to thirty steps
          for any C and any scale of the columns
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from linsep.core.lanes import one_blas_thread
from linsep.core.problem import Problem, reads
from linsep.core.protocol import NO_LOG, Held, Log, State, Status, Witness, relative_gap, repeated
from linsep.losses.base import needs
from linsep.losses.hinge import HINGE, QuadraticLoss
from linsep.numerics.cholesky import Factor
from linsep.numerics.interior import Point, Solve, predict_and_correct
from linsep.rows.reader import survey

Array = NDArray[np.float64]

_RIDGE = 1e-14  # share of the diagonal that keeps a factor from breaking down
_ROWS_AT_ONCE = 4096  # rows of a product with weights
_IDLE = 30  # steps without progress after which rounding is blamed
_LESS = 0.9  # of the mean product: progress before there is any in the gap
_SHORTEST = 1e-9  # a step of this length is none
_APART = 2.0  # of slacks and xi at the start: streets are wider than what is scored before a step


@dataclass(kw_only=True)
class InteriorState(State):
    """A point strictly inside, what is computed of it, and the best of both bounds."""

    held: ClassVar[Mapping[str, Held]] = {
        "w": Held(shape=("corner",)),
        "alpha": Held(shape=("n",)),
        "slack": Held(shape=("n",)),
        "excess": Held(shape=("caps",)),
        "values": Held(shape=("n",)),
        "best": Held(shape=("corner",)),
        "best_alpha": Held(shape=("n",)),
    }

    w: Array
    alpha: Array
    slack: Array
    excess: Array
    """xi; empty where dual variables have no upper bound."""
    values: Array = field(default_factory=lambda: np.zeros(0))
    """y f."""
    best: Array
    best_primal: float
    best_alpha: Array
    best_dual: float = 0.0
    mean: float = np.inf
    """Least mean of the products that are to vanish."""
    idle: int = 0

    @property
    def passes(self) -> float:
        """Three readings of all rows for each step."""
        return 3.0 * self.steps + 1.0

    @property
    def gap(self) -> float:
        """(P - D) / P."""
        return relative_gap(self.best_primal, self.best_dual)


@dataclass(frozen=True)
class InteriorHinge:
    """Interior point method.

    Parameters
    ----------
    C : float, default=1.0
    loss : QuadraticLoss, default=HINGE
    tol : float, default=1e-3
        Relative duality gap.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.hinge.interior import InteriorHinge
    >>> out = drive(Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]), InteriorHinge(tol=1e-6))
    >>> out.status.name, round(float(out.witness.a[0]), 3)
    ('CERTIFIED', 1.0)
    """

    C: float = 1.0
    loss: QuadraticLoss = HINGE
    tol: float = 1e-3

    unit: ClassVar[str] = "interior step"

    def __post_init__(self) -> None:
        needs(self, self.loss, QuadraticLoss)

    def prepare(self, problem: Problem) -> None:
        """Make what all parts of a problem of many classes share."""
        survey(problem)
        if problem.n < problem.d:
            problem.once(_corner)

    def init(self, problem: Problem, *, start: Any = None) -> InteriorState:
        """The middle of the box; (coef, intercept, alpha) is looked at, and kept if it is good."""
        table, cost = table_of(problem), self.C * problem.weight
        n, width = table.rows.shape
        top, capped = self.loss.cap(cost), np.isfinite(self.loss.top)
        state = InteriorState(
            w=np.zeros(width),
            alpha=0.5 * top if capped else np.full(n, 0.5),
            slack=np.full(n, _APART),
            excess=np.full(n if capped else 0, _APART),
            best=np.zeros(width),
            best_primal=self.loss.at_zero(cost),
            best_alpha=np.zeros(n),
        )
        if start is not None and len(start) > 2:
            alpha = np.clip(np.asarray(start[2], dtype=np.float64), 0.0, top)
            w = inside(problem, table, problem.join(*start[:2]))
            with np.errstate(all="ignore"):
                self._bounds(self._fixed(problem), state, w, table.rows @ w, alpha)
            if not state.status.done:  # a point at its bounds is no start for this method
                state.best_primal, state.best_dual = self.loss.at_zero(cost), 0.0
        if not state.status.done:
            state.values = np.zeros(n)
            with np.errstate(all="ignore"):
                self._bounds(self._fixed(problem), state, state.w, state.values, state.alpha)
        return state

    def extents(self, problem: Problem, state: InteriorState) -> dict[str, int]:
        """Columns of the table, and how many dual variables have an upper bound."""
        capped = np.isfinite(self.loss.top)
        return {
            "corner": table_of(problem).rows.shape[1],
            "caps": problem.n if capped else 0,
        }

    def advance(self, problem: Problem, state: InteriorState, steps: int, log: Log = NO_LOG) -> int:
        """Steps; each ends with both bounds of its point."""
        fixed = self._fixed(problem)
        with one_blas_thread(), np.errstate(all="ignore"):
            taken = repeated(state, steps, lambda: self._step(fixed, state))
        state.n_updates += taken
        return taken

    def status(self, state: InteriorState) -> Status:
        """CERTIFIED when the gap is closed; STALLED when rounding forbids it."""
        return state.status

    def witness(self, problem: Problem, state: InteriorState) -> Witness:
        """The weights and the dual point of the best bounds."""
        w = outside(problem, table_of(problem), state.best)
        rows = np.flatnonzero(state.best_alpha)
        return Witness(a=w, rows=rows, multipliers=state.best_alpha[rows], claim="dual")

    # -- one step -----------------------------------------------------------------------------

    def _fixed(self, problem: Problem) -> Fixed:
        A, cost = table_of(problem).rows, self.C * problem.weight
        ridge = np.ones(A.shape[1])
        if problem.fit_intercept:
            ridge[-1] = 0.0
        own = 2.0 * self.loss.q / cost
        return Fixed(A, cost, self.loss.cap(cost), own, ridge, problem.sign > 0)

    def _step(self, fixed: Fixed, state: InteriorState) -> None:
        A, _, top, own, ridge, _ = fixed
        alpha, capped = state.alpha, len(state.excess) > 0
        wrong = alpha @ A - ridge * state.w
        point = Point(alpha, state.slack, state.excess if capped else np.zeros(len(top)), top)

        def factor(diagonal: Array) -> Solve | None:
            theta = 1.0 / (diagonal + own)
            system = _factor(_weighted(A, theta), ridge)
            if system is None:
                return None

            def solve(q: Array) -> tuple[Array, tuple[Array, Array]]:
                w = system.solve(wrong + (theta * q) @ A)
                change = A @ w
                return theta * (q - change), (w, change)

            return solve

        step = predict_and_correct(point, state.values - 1.0 + own * alpha, factor)
        mean = point.mean() if step is None else step.mean
        state.idle = 0 if mean < _LESS * state.mean else state.idle + 1
        state.mean = min(mean, state.mean)
        if step is None or not (step.length > _SHORTEST and np.isfinite(step.more[0]).all()):
            state.status = Status.STALLED
            return
        state.w = state.w + step.length * step.more[0]
        state.values = state.values + step.length * step.more[1]
        state.alpha, state.slack = step.point.a, step.point.low
        if capped:
            state.excess = step.point.high
        self._bounds(fixed, state, state.w, state.values, state.alpha)

    def _bounds(
        self, fixed: Fixed, state: InteriorState, w: Array, values: Array, alpha: Array
    ) -> None:
        """Objective of w, dual value of alpha, and whether they are close enough."""
        A, cost, before, free = fixed.rows, fixed.cost, state.gap, fixed.ridge[-1] == 0.0
        d = A.shape[1] - free
        primal = 0.5 * float(w[:d] @ w[:d]) + float(cost @ self.loss.value(1.0 - values))
        balanced = alpha
        if free:
            plus = float(alpha[fixed.positive].sum())
            minus = float(alpha[~fixed.positive].sum())
            share = min(plus, minus) / max(plus, minus) if min(plus, minus) > 0 else 0.0
            balanced = np.where(fixed.positive == (plus > minus), alpha * share, alpha)
        v = (balanced @ A)[:d]
        dual = float(balanced.sum()) - 0.5 * float(v @ v) - self.loss.dual_cost(balanced, cost)
        if primal < state.best_primal:
            state.best, state.best_primal = w.copy(), primal
        if dual > state.best_dual:
            state.best_alpha, state.best_dual = alpha.copy(), dual
        if state.gap < before:
            state.idle = 0
        if state.gap <= self.tol:
            state.status = Status.CERTIFIED
        elif state.idle > _IDLE:
            state.status = Status.STALLED


class Fixed(NamedTuple):
    """What all steps of a problem have in common."""

    rows: Array
    cost: Array
    top: Array
    own: Array
    """Its own diagonal, that of a curved loss."""
    ridge: Array
    """1 for every weight, 0 for an intercept."""
    positive: NDArray[np.bool_]


def _factor(matrix: Array, ridge: Array) -> Factor | None:
    """Of a matrix with a ridge added; None where rounding breaks it down."""
    scale = 1.0 / np.sqrt(np.maximum(matrix.diagonal() + ridge, 1e-300))
    return Factor.of(matrix, scale, (_RIDGE,), turned=True)


def _weighted(A: Array, theta: Array) -> Array:
    """A' diag(theta) A, without a second copy of a large table."""
    out = np.zeros((A.shape[1], A.shape[1]))
    root = np.sqrt(theta)[:, None]
    for lo in range(0, len(A), _ROWS_AT_ONCE):
        part = A[lo : lo + _ROWS_AT_ONCE] * root[lo : lo + _ROWS_AT_ONCE]
        out += part.T @ part  # a matrix and its transpose: half of the work
    return out


# -- The rows that interior points work with: times their labels, in as few columns as will do ----


class Table(NamedTuple):
    """Rows times their labels, the constant column last, and what leads back to all columns."""

    rows: Array
    basis: tuple[Array, Array] | None
    """Reflections that make orthonormal directions which hold all rows, where there are fewer
    rows than columns."""


def table_of(problem: Problem) -> Table:
    """The rows to work with, made once and kept with the problem."""
    return problem.once(_table)


@reads("matrix", "label", "classes", "fit_intercept")
def _table(problem: Problem) -> Table:
    X, basis = problem.once(_corner) if problem.n < problem.d else (_dense(problem), None)
    parts = [X, np.ones((problem.n, 1))] if problem.fit_intercept else [X]
    return Table(np.concatenate(parts, axis=1) * problem.sign[:, None], basis)


def _dense(problem: Problem) -> Array:
    X = problem.matrix
    return np.asarray(X.toarray() if problem.sparse else X, dtype=np.float64)


@reads("matrix")
def _corner(problem: Problem) -> tuple[Array, tuple[Array, Array]]:
    """Rows in as many columns as there are rows, and the reflections that make them so.

    Problems that differ in their labels alone share them.
    """
    n = problem.n
    with one_blas_thread():
        size = int(lapack.dgeqrf_lwork(problem.d, n)[0])
        reflections, factors, _, _ = lapack.dgeqrf(_dense(problem).T, lwork=size)
    return np.ascontiguousarray(np.triu(reflections[:n]).T), (reflections, factors)


def _turned(basis: tuple[Array, Array], w: Array, *, back: bool) -> Array:
    """Weights of the few columns as weights of all, or back."""
    reflections, factors = basis
    d, n = reflections.shape
    column = np.zeros((d, 1), order="F")
    column[: len(w), 0] = w
    with one_blas_thread():
        out, _, _ = lapack.dormqr("L", "T" if back else "N", reflections, factors, column, 64 * 64)
    return np.asarray(out[: n if back else d, 0])


def outside(problem: Problem, table: Table, w: Array) -> Array:
    """Weights of all columns, and the intercept."""
    d = len(w) - problem.fit_intercept
    full = w[:d] if table.basis is None else _turned(table.basis, w[:d], back=False)
    return np.append(full, w[-1] if problem.fit_intercept else 0.0)


def inside(problem: Problem, table: Table, a: Array) -> Array:
    """The reverse; what is orthogonal to all rows is lost, and does not help."""
    w = a[:-1] if table.basis is None else _turned(table.basis, a[:-1], back=True)
    return np.append(w, a[-1]) if problem.fit_intercept else np.asarray(w)
