"""Newton's method over rows that are read part by part: every step is one pass.

Problem   minimise P(w, b) = |w|^2 / 2 + C sum_i s_i L(y_i, w.x_i + b), b unpenalised; L a
          hinge, its square or the logistic loss; softmax has such a (w, b) for each class
Given     rows in parts, of which one pass at (w, b) gives sums: values, gradient, curvature. A
          hinge is rounded off over |u| < h as in solvers/hinge/newton.py
Update    a <- a + p, p from (H + kappa diag(g)) p = -gradient; where P would go up, the minimum
          along p of the cubic through both values and slopes: nothing of a row is kept, so there
          is no exact one. h shrinks to what the gap that it leaves allows, which each pass tells
          for some smaller ones
Stop      (P - D) / P <= tol, D the dual value of alpha_i = C s_i L'(u_i). These are a function of
          the weights (and h), so the point (w, b, h) of the best D stands for all of them
Paper     Chapelle 2007 for the hinge; Minka 2003 for logistic regression

``WideParts`` is for rows of many columns: no matrix of their products, and still a pass a step.

Update    a <- a + p, p = -H^-1 gradient. H is the curvature of a sample of the rows, which is in
          memory, its diagonal that of all rows, corrected by the changes of the gradient over the
          last steps (L-BFGS). A step is a pass, and conjugate gradients on the sample.
Paper     Nocedal 1980; Byrd, Chin, Neveitt and Nocedal 2011, on the use of stochastic Hessian
          information in optimization methods for machine learning
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from linsep.core.costs import SENT_WITHOUT_ZEROS
from linsep.core.problem import Problem
from linsep.core.protocol import NO_LOG, Held, Log, State, Status, Witness
from linsep.errors import ClusterError
from linsep.losses.base import Loss
from linsep.losses.hinge import QuadraticLoss
from linsep.losses.logistic import LOGISTIC
from linsep.losses.softmax import circulation, flows
from linsep.numerics.cholesky import Factor
from linsep.numerics.conjugate import Correction, conjugate_gradients
from linsep.numerics.lbfgs import solved_with_pairs
from linsep.rows.hinge import (
    LEFTOVER,
    LOSS,
    MINUS,
    N_SUMS,
    PLUS,
    ROUNDED,
    SQUARE_MINUS,
    SQUARE_PLUS,
    RowSet,
)
from linsep.rows.logistic import LogisticRows
from linsep.rows.parts import PartsProblem
from linsep.rows.softmax import SoftmaxRows

Array = NDArray[np.float64]

NARROWER = (0.7, 0.5, 0.35, 0.25, 0.18, 0.12)  # times h: what each pass tells the gap of
_ROUNDED_SHARE = 0.45  # of the gap asked for, that rounding the corner off may leave
_IDLE = 6  # passes without gain after which it ends
_SMALLEST = 1e-9  # width below which rounding rules
_HOPELESS = 1e100
_SQUARED, _SURE = 1.5, 0.8  # of a Newton step: power of the last gain, share of tol to be below
_LOWEST, _HIGHEST = 0.05, 0.8  # of a step that was too long


@dataclass(frozen=True)
class Sums:
    """What a pass adds up: whatever it is, arrays. Those that are mostly zeros are sent without."""

    v: Array
    v_plus: Array
    sums: Array
    curvature: Array
    excess: Array

    def plus(self, other: Self) -> Self:
        """Both, entry by entry."""
        return replace(
            self,
            v=self.v + other.v,
            v_plus=self.v_plus + other.v_plus,
            sums=self.sums + other.sums,
            curvature=self.curvature + other.curvature,
            excess=self.excess + other.excess,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (self.v, self.v_plus, self.sums, self.curvature, self.excess)
        return _unpacked, tuple(map(_packed, arrays))


def _packed(values: Array) -> Any:
    """An array, or where its entries that are not 0 stand, if these are few."""
    if values.size < SENT_WITHOUT_ZEROS or 10 * np.count_nonzero(values) > values.size:
        return values
    at = np.flatnonzero(values)
    return values.shape, at.astype(np.int32 if values.size < 2**31 else np.int64), values.flat[at]


def _unpacked(*packed: Any) -> Sums:
    arrays = []
    for one in packed:
        if isinstance(one, tuple):
            full = np.zeros(one[0])
            full.flat[one[1]] = one[2]
            one = full
        arrays.append(one)
    return Sums(*arrays)


@dataclass(frozen=True)
class Point:
    """An evaluated point."""

    primal: float
    rounded: float
    """The same with the corner of the loss rounded off."""
    dual: float
    gradient: Array
    """Of the rounded objective."""
    curvature: Array
    """Of it, without the penalty."""
    leftover: float
    """Part of the gap that rounding off leaves."""
    excess: Array
    """The same for the widths NARROWER times h."""


class Form(Protocol):
    """An objective whose passes over parts give points."""

    C: float

    @property
    def kinked(self) -> bool: ...

    def planes(self, problem: PartsProblem) -> int:
        """How many (w, b) there are."""

    def point(self, problem: PartsProblem, a: Array, h: float) -> Point:
        """One pass."""


@dataclass(frozen=True)
class HingeForm:
    """Losses whose conjugate is quadratic."""

    loss: QuadraticLoss
    C: float
    wide: bool = False
    """Whether only the diagonal of the curvature and the column of the offset are summed up."""

    @property
    def kinked(self) -> bool:
        """Whether there is a corner to be rounded off."""
        return self.loss.kinked

    def planes(self, problem: PartsProblem) -> int:
        """One."""
        return 1

    def point(self, problem: PartsProblem, a: Array, h: float) -> Point:
        """One pass at a, the corner rounded off over |u| < h."""
        C, offset = self.C, problem.fit_intercept
        sums_of = wide_sums if self.wide else _hinge_sums
        found = problem.total(partial(sums_of, loss=self.loss, a=a, h=h, offset=offset))
        half, sums = 0.5 * float(a[:-1] @ a[:-1]), found.sums
        gradient = np.append(a[:-1] - C * found.v, 0.0)
        if offset:
            gradient[-1] = -C * float(sums[PLUS] - sums[MINUS])
        bend = C if self.wide else C * (0.5 / (h if h > 0 else self.loss.q))
        return Point(
            half + C * float(sums[LOSS]),
            half + C * float(sums[ROUNDED]),
            self._dual(found, offset=offset),
            gradient,
            bend * found.curvature,
            C * float(sums[LEFTOVER]),
            C * found.excess,
        )

    def _dual(self, found: Sums, *, offset: bool) -> float:
        """Of alpha = C s z, the heavier class scaled down."""
        C, sums = self.C, found.sums
        plus, minus = float(sums[PLUS]), float(sums[MINUS])
        up, down = balance(plus, minus) if offset else (1.0, 1.0)
        v = C * (up * found.v_plus - down * (found.v_plus - found.v))
        value = C * (up * plus + down * minus) - 0.5 * float(v @ v)
        if not self.loss.kinked:
            squares = up**2 * sums[SQUARE_PLUS] + down**2 * sums[SQUARE_MINUS]
            value -= C * float(squares) * self.loss.q
        return value


def balance(plus: float, minus: float) -> tuple[float, float]:
    """Factors of the two classes after which their sums are the same, and none grows."""
    if min(plus, minus) <= 0.0:
        return 0.0, 0.0
    return min(1.0, minus / plus), min(1.0, plus / minus)


_NO_CENTRE = np.zeros(0)


def _hinge_sums(problem: Problem, *, loss: QuadraticLoss, a: Array, h: float, offset: bool) -> Sums:
    rows = RowSet(problem.matrix, problem.sign, problem.weight, loss)
    reading = rows.read(a, h, _NO_CENTRE, offset=offset, threads=1)
    excess = np.zeros(len(NARROWER))
    if h > 0:
        near = np.flatnonzero(np.abs(reading.u) < h)
        u, cost = reading.u[near], problem.weight[near]
        for k, share in enumerate(NARROWER):
            excess[k] = loss.rounded_excess(share * h, u, cost)[0]
    v_plus = reading.v_plus if offset else np.zeros_like(reading.v)
    return Sums(reading.v, v_plus, reading.sums, reading.curvature, excess)


@dataclass(frozen=True)
class LogisticForm:
    """The logistic loss; C = inf leaves the penalty out."""

    C: float
    wide: bool = False
    """Whether only the diagonal of the curvature and the column of the offset are summed up."""

    @property
    def kinked(self) -> bool:
        """It has no corner."""
        return False

    def planes(self, problem: PartsProblem) -> int:
        """One."""
        return 1

    @property
    def cost(self) -> float:
        """Of a loss."""
        return 1.0 if np.isinf(self.C) else self.C

    @property
    def ridge(self) -> float:
        """Of |w|^2 / 2."""
        return 0.0 if np.isinf(self.C) else 1.0

    def point(self, problem: PartsProblem, a: Array, h: float) -> Point:
        """One pass at a."""
        offset = problem.fit_intercept
        sums_of: Callable[..., Sums] = partial(_logistic_sums, a=a, offset=offset)
        if self.wide:
            sums_of = partial(wide_sums, loss=LOGISTIC, a=a, h=0.0, offset=offset)
        found = problem.total(sums_of)
        total, cost = found.sums, self.cost
        gradient = self.ridge * a - cost * found.v
        gradient[-1] = -cost * float(found.v[-1])
        primal = 0.5 * self.ridge * float(a[:-1] @ a[:-1]) + cost * float(total[0])
        bend = cost * found.curvature
        return Point(
            primal, primal, primal - self._gap(problem, gradient, bend), gradient, bend, 0.0,
            np.zeros(len(NARROWER)),
        )  # fmt: skip

    def _gap(self, problem: PartsProblem, g: Array, bend: Array) -> float:
        """About the duality gap, the offset at its best; without a penalty the decrement."""
        if not self.ridge:
            width = problem.width
            scale = _scale(bend.diagonal()[:width])
            factor = Factor.of(bend[:width, :width].copy(), scale, (1e-14,))
            return np.inf if factor is None else float(g[:width] @ factor.solve(g[:width]))
        w, b, column = g[:-1], float(g[-1]), bend[1] if self.wide else bend[:, -1]
        own, rest = float(column[-1]), 0.0
        if problem.fit_intercept and own > 0:
            w, rest = w - column[:-1] * (b / own), 0.5 * b * (b / own)
        return 0.5 * float(w @ w) + rest


def wide_sums(problem: Problem, *, loss: Loss, a: Array, h: float, offset: bool) -> Sums:
    """The same for so many columns that no product of two of them is summed up.

    The curvature is two rows: its diagonal, and the column that belongs to the offset.
    """
    u = loss.corner - problem.values(a)
    cost, sign, X = problem.weight, problem.sign, problem.matrix
    bend = loss.curvature(u)
    if isinstance(loss, QuadraticLoss):
        z = loss.rounded_slope(u, h)
        bend = np.where(np.abs(u) < h, 0.5 / h, 0.0) if h > 0 else bend
    else:
        z = loss.slope(u)
    slope, positive = cost * z * sign, sign > 0
    v = np.asarray(X.T @ slope, dtype=np.float64)
    squares = X.multiply(X) if problem.sparse else np.square(X, dtype=np.float64)
    weight = cost * bend
    curvature = np.zeros((2, problem.d + 1))
    curvature[0, :-1], curvature[1, :-1] = squares.T @ weight, X.T @ weight
    curvature[:, -1] = weight.sum()
    losses = float(cost @ loss.value(u))
    if not isinstance(loss, QuadraticLoss):
        v = np.append(v, float(slope.sum()) if offset else 0.0)
        return Sums(v, np.zeros(0), np.array([losses]), curvature, np.zeros(0))
    own = cost * z
    sums = np.zeros(N_SUMS)
    rounded = float(cost @ (z * u - h * np.square(z - 0.5))) if h > 0 else losses
    sums[[LOSS, ROUNDED, PLUS, MINUS]] = losses, rounded, own[positive].sum(), own[~positive].sum()
    sums[[SQUARE_PLUS, SQUARE_MINUS]] = (own * z)[positive].sum(), (own * z)[~positive].sum()
    excess = np.zeros(len(NARROWER))
    if h > 0:
        sums[LEFTOVER] = loss.rounded_excess(h, u, cost)[0]
        excess[:] = [loss.rounded_excess(share * h, u, cost)[0] for share in NARROWER]
    v_plus = np.asarray(X.T @ np.where(positive, own, 0.0)) if offset else np.zeros_like(v)
    return Sums(v, v_plus, sums, curvature, excess)


def _logistic_sums(problem: Problem, *, a: Array, offset: bool) -> Sums:
    rows = LogisticRows(problem.matrix, problem.sign, problem.weight, double=True)
    reading = rows.read(a, offset=offset, curved=True, threads=1)
    assert reading.curvature is not None
    none = np.zeros(0)
    return Sums(reading.v, none, np.array([reading.loss]), reading.curvature, none)


@dataclass(frozen=True)
class SoftmaxForm:
    """The logarithmic loss of several classes."""

    C: float

    @property
    def kinked(self) -> bool:
        """It has no corner."""
        return False

    def planes(self, problem: PartsProblem) -> int:
        """One a class."""
        return problem.K

    def point(self, problem: PartsProblem, a: Array, h: float) -> Point:
        """One pass at a."""
        K, D = problem.K, problem.d + 1
        found = problem.total(partial(_softmax_sums, a=a))
        w = np.arange(K * D).reshape(K, D)[:, :-1].ravel()
        b = np.arange(D - 1, K * D, D)
        gradient = self.C * found.v
        gradient[w] += a[w]
        if not problem.fit_intercept:
            gradient[b] = 0.0
        bend = self.C * found.curvature
        primal = 0.5 * float(a[w] @ a[w]) + self.C * float(found.sums[0])
        gap = 0.5 * float(gradient[w] @ gradient[w])
        if problem.fit_intercept:
            own = bend[np.ix_(b, b)]
            typical = float(own.diagonal().max())
            step = np.linalg.lstsq(own + typical / K, gradient[b], rcond=None)[0]
            moved = gradient[w] - bend[np.ix_(w, b)] @ step
            gap = 0.5 * float(moved @ moved) + 0.5 * float(gradient[b] @ step)
            gap += self._unbalanced(found.excess.reshape(K, K), found.sums[1:])
            bend[np.ix_(b, b)] += typical / K  # a common shift changes nothing
        none = np.zeros(len(NARROWER))
        return Point(primal, primal, primal - gap, gradient, bend, 0.0, none)

    def _unbalanced(self, F: Array, gain: Array) -> float:
        """What balancing the classes takes off the dual value."""
        balanced = circulation(F)
        if balanced is None:
            return np.inf
        return self.C * float(gain @ (1.0 - balanced.factor.min(axis=1)))


def _softmax_sums(problem: Problem, *, a: Array) -> Sums:
    """Loss, gradient and curvature; entropies and flows of the classes."""
    K, D, label = problem.K, problem.d + 1, problem.label
    blocks = a.reshape(K, D)
    cost = problem.weight
    rows = SoftmaxRows(problem.matrix, label, cost, K, double=True, threads=1, influence=cost)
    S = rows.forward(blocks[:, :-1]) + blocks[:, -1][:, None]
    now = rows.shares(S)
    R, p = rows.residual(now), rows.probabilities(now)
    v = np.column_stack([rows.backward(R), R.sum(axis=1)]).ravel()
    H = rows.second_derivatives(p, None, cost).transpose(0, 2, 1, 3).reshape(K * D, K * D)
    entropy = -xlogy(p, p).sum(axis=0)
    gains = np.bincount(label, weights=cost * entropy, minlength=K)
    loss = float(cost @ now.losses)
    return Sums(
        v, np.zeros(0), np.concatenate([[loss], gains]), H, flows(now.rivals, label, cost).ravel()
    )


def _scale(diagonal: Array) -> Array:
    return np.asarray(1.0 / np.sqrt(np.maximum(diagonal, 1e-300)))


# -- the method -----------------------------------------------------------------------------------


@dataclass(kw_only=True)
class PartsState(State):
    """An evaluated point, the step from it, and the best bounds."""

    held: ClassVar[Mapping[str, Held]] = {"h": Held(width=True), "dual_h": Held(width=True)}

    a: Array
    h: float = 0.0
    known: bool = False
    """Whether the numbers below are those of a."""
    step: Array
    """Where the next pass reads, from a; zero before the first one."""
    gradient: Array
    curvature: Array
    rounded: float = np.inf
    primal: float = np.inf
    dual: float = -np.inf
    leftover: float = 0.0
    excess: Array
    kappa: float = 1e-6
    best: Array
    best_primal: float = np.inf
    dual_a: Array
    dual_h: float = 0.0
    best_dual: float = -np.inf
    idle: int = 0
    rows_read: int = 0
    own: float = np.inf
    """Relative gap of the last point alone, and of the one before."""
    before: float = np.inf
    trusting: bool = True
    """Whether a point may be handed over unseen: its proof is a pass, and tells as much."""
    again: int = 0
    """Times that a proof has found less than was hoped, and the run went on."""

    @property
    def passes(self) -> float:
        """Passes over all parts, that of the first look among them."""
        return 1.0 + self.rows_read

    @property
    def gap(self) -> float:
        """Relative duality gap of the best points."""
        if not np.isfinite(self.best_primal) or not np.isfinite(self.best_dual):
            return np.inf
        return max(self.best_primal - self.best_dual, 0.0) / self.best_primal


@dataclass(frozen=True)
class NewtonParts:
    """Newton's method on sums of parts.

    Parameters
    ----------
    form : HingeForm, LogisticForm or SoftmaxForm
        The objective.
    tol : float, default=1e-3
        Relative duality gap.
    h : float, default=0.25
        Width over which a hinge is rounded off at first.
    """

    form: Form
    tol: float = 1e-3
    h: float = 0.25

    unit: ClassVar[str] = "Newton step"
    long_steps: ClassVar[bool] = True
    easier: ClassVar[float] = 0.1
    harder: ClassVar[float] = 10.0
    """What the damping is multiplied with after a good step and after a bad one."""
    patient: ClassVar[bool] = False
    """Whether every step that is taken counts as a gain, not only better bounds."""

    def init(self, problem: PartsProblem, *, start: Any = None) -> PartsState:
        """Zero weights, or (coef, intercept) of a sample; no pass yet."""
        width = self.form.planes(problem) * (problem.d + 1)
        a = np.zeros(width) if start is None else problem.join(*start)
        return PartsState(
            a=a,
            h=self.h if self.form.kinked else 0.0,
            step=np.zeros(width),
            gradient=np.zeros(width),
            curvature=np.zeros((width, width)),
            excess=np.zeros(len(NARROWER)),
            best=a.copy(),
            dual_a=a.copy(),
            dual_h=self.h if self.form.kinked else 0.0,
        )

    def advance(
        self, problem: PartsProblem, state: PartsState, steps: int, log: Log = NO_LOG
    ) -> int:
        """Passes; each ends with an evaluated point."""
        taken = 0
        while taken < steps and not state.status.done:
            self._pass(problem, state)
            state.steps += 1
            taken += 1
        return taken

    def status(self, state: PartsState) -> Status:
        """CERTIFIED when the gap is closed, CONVERGED when the next point is expected to close it;
        STALLED when it cannot be."""
        return state.status

    def witness(self, problem: PartsProblem, state: PartsState) -> Witness:
        """The best weights; multipliers are the generator (w, b, h) of the dual variables."""
        if state.status is Status.CONVERGED:
            a = state.a + state.step
            return Witness(a=a, multipliers=np.append(a, state.h), claim="generator")
        generator = np.append(state.dual_a, state.dual_h)
        return Witness(a=state.best.copy(), multipliers=generator, claim="generator")

    # -- one pass -----------------------------------------------------------------------------

    def _pass(self, problem: PartsProblem, state: PartsState) -> None:
        a = state.a + state.step
        try:
            point = self.form.point(problem, a, state.h)
        except ClusterError:
            if not state.known:
                raise
            state.status = Status.CLUSTER_LOST
            return
        state.rows_read += 1
        state.status = Status.RUNNING
        if not (np.isfinite(point.primal) and np.isfinite(point.gradient).all()):
            if not state.known:
                state.status = Status.DIVERGED
                return
            state.step *= 0.25
            state.idle += 1
        else:
            gained = self._note(state, a, point)
            if not state.known or point.rounded <= state.rounded + 1e-12 * abs(state.rounded):
                self._take(problem, state, a, point)
                gained |= self.patient
            else:
                self._shorten(problem, state, point)
            state.idle = 0 if gained else state.idle + 1
        if state.gap <= self.tol:
            state.status = Status.CERTIFIED
        elif self._expects(state):
            state.status = Status.CONVERGED
        elif state.idle > _IDLE or not (state.step.any() or not state.known):
            state.status = Status.STALLED

    def _expects(self, state: PartsState) -> bool:
        """Whether the next point is as good as known: Newton's steps square the error, nearly."""
        if not (state.trusting and state.step.any() and state.own < state.before < np.inf):
            return False
        ahead = state.own * (state.own / state.before) ** _SQUARED
        return bool(ahead + state.leftover / state.primal < _SURE * self.tol)

    def _note(self, state: PartsState, a: Array, point: Point) -> bool:
        """Keep the best of both sides; whether one of them is new."""
        gained = False
        state.before, state.own = state.own, (point.primal - point.dual) / point.primal
        if point.primal < state.best_primal:
            state.best_primal, state.best, gained = point.primal, a.copy(), True
        if point.dual > state.best_dual:
            state.best_dual, state.dual_a, state.dual_h = point.dual, a.copy(), state.h
            gained = True
        return gained

    def _take(self, problem: PartsProblem, state: PartsState, a: Array, point: Point) -> None:
        """Move to the point, and say where to go from there."""
        if state.known:
            predicted = -0.5 * float(state.gradient @ state.step)
            ratio = (state.rounded - point.rounded) / predicted if predicted > 0 else 1.0
            state.kappa *= self.easier if ratio > 0.6 else 1.0 if ratio > 0.3 else self.harder
        state.a, state.known = a, True
        state.n_updates += 1
        state.gradient, state.curvature = point.gradient, point.curvature
        state.rounded, state.primal, state.dual = point.rounded, point.primal, point.dual
        state.leftover, state.excess = point.leftover, point.excess
        state.step = self._direction(problem, state)
        if self.form.kinked:
            self._narrow(state)

    def _narrow(self, state: PartsState) -> None:
        """A smaller width, once the step at this one is a small part of the gap."""
        allowed = _ROUNDED_SHARE * self.tol * state.primal
        if state.leftover <= allowed or state.h < _SMALLEST:
            return
        predicted = -0.5 * float(state.gradient @ state.step)
        if predicted > 2.0 * state.leftover:
            return
        fits = [share for share, left in zip(NARROWER, state.excess) if left <= allowed]
        state.h *= fits[0] if fits else NARROWER[-1]
        state.own = np.inf  # at this width nothing is known
        state.rounded = np.inf  # of another function from now on
        state.kappa = max(state.kappa, 1e-8)

    def _shorten(self, problem: PartsProblem, state: PartsState, point: Point) -> None:
        """The step was too long: to the minimum of the cubic through both ends."""
        p = state.step
        first, last = float(state.gradient @ p), float(point.gradient @ p)
        rise = point.rounded - state.rounded
        t = 0.5
        bend = first + last - 3.0 * rise
        root = bend * bend - first * last
        if root >= 0.0 and last - first + 2.0 * np.sqrt(root) > 0:
            t = 1.0 - (last + np.sqrt(root) - bend) / (last - first + 2.0 * np.sqrt(root))
        state.step = min(max(t, _LOWEST), _HIGHEST) * p
        state.kappa = min(max(10.0 * state.kappa, 1e-4), 10.0)

    def _direction(self, problem: PartsProblem, state: PartsState) -> Array:
        """The Newton step."""
        g, offsets = state.gradient, np.arange(problem.d, len(state.a), problem.d + 1)
        ridge = np.full(len(g), 0.0 if np.isinf(self.form.C) else 1.0)
        ridge[offsets] = 0.0
        free = np.arange(len(g))
        if not problem.fit_intercept:
            free = np.delete(free, offsets)
        while True:
            H = state.curvature[np.ix_(free, free)]
            diagonal = H.diagonal() * (1.0 + state.kappa) + ridge[free]
            H.flat[:: len(free) + 1] = diagonal
            factor = Factor.of(H, _scale(diagonal), (1e-14,))
            if factor is not None:
                break
            state.kappa = max(10 * state.kappa, 1e-12)
            if not state.kappa < _HOPELESS:
                return np.zeros_like(g)
        p = np.zeros_like(g)
        p[free] = -factor.solve(g[free])
        return p


def first_width(loss: QuadraticLoss, sample: Problem, a: Array, C: float, tol: float) -> float:
    """A width over which a hinge may be rounded off, as far as a sample tells."""
    u = 1.0 - sample.values(a)
    cost = C * sample.weight
    allowed = _ROUNDED_SHARE * tol * (0.5 * float(a[:-1] @ a[:-1]) + float(cost @ loss.value(u)))
    h = 1.0
    while h > 1e-6 and float(loss.rounded_excess(h, u, cost)[0]) > allowed:
        h *= 0.8
    return h


# -- many columns -----------------------------------------------------------------------------

_PAIRS = 12  # steps that are remembered
_ACCURATE = 0.02  # of a system of the sample
_DAMPED = 0.1  # share of the diagonal that is added at first: a sample knows too little
_FARTHER = 2.0  # than the cubic says, for a step in another direction
_CURVED = 1e-10  # s.y over |s||y| below which a pair tells nothing


@dataclass(kw_only=True)
class WideState(PartsState):
    """The same with the last steps, and what they changed the gradient by."""

    held: ClassVar[Mapping[str, Held]] = {**PartsState.held, "n_pairs": Held(most=_PAIRS)}

    moves: Array
    turns: Array
    n_pairs: int = 0


@dataclass(frozen=True)
class WideParts(NewtonParts):
    """Newton's method with the curvature of a sample, corrected from step to step."""

    easier: ClassVar[float] = 0.5
    harder: ClassVar[float] = 4.0
    patient: ClassVar[bool] = True

    def init(self, problem: PartsProblem, *, start: Any = None) -> WideState:
        """Zero weights, or (coef, intercept) of a sample; no pass yet."""
        width = problem.d + 1
        a = np.zeros(width) if start is None else problem.join(*start)
        h = self.h if self.form.kinked else 0.0
        return WideState(
            a=a, h=h, step=np.zeros(width), gradient=np.zeros(width),
            curvature=np.zeros((2, width)), excess=np.zeros(len(NARROWER)), best=a.copy(),
            dual_a=a.copy(), dual_h=h, trusting=False, kappa=_DAMPED,
            moves=np.zeros((_PAIRS, width)), turns=np.zeros((_PAIRS, width)),
        )  # fmt: skip

    def _take(self, problem: PartsProblem, state: Any, a: Array, point: Point) -> None:
        if not np.isfinite(state.rounded):
            state.n_pairs = 0  # they are those of another width
        elif state.known:
            self._remember(state, a - state.a, point.gradient - state.gradient)
        super()._take(problem, state, a, point)

    def _shorten(self, problem: PartsProblem, state: Any, point: Point) -> None:
        """A step that was too long tells how the gradient turns: another one, knowing that, and not
        much longer than what the cubic through both ends says."""
        self._remember(state, state.step, point.gradient - state.gradient)
        kappa = min(self.harder * state.kappa, 10.0)
        super()._shorten(problem, state, point)
        state.kappa, most = kappa, _FARTHER * self._length(state)
        state.step = self._direction(problem, state)
        length = self._length(state)
        if length > most:
            state.step *= most / length

    def _length(self, state: Any) -> float:
        """Of a step, where columns count by their curvature."""
        return float(np.sqrt((state.curvature[0] + 1.0) @ np.square(state.step)))

    def _remember(self, state: Any, move: Array, turn: Array) -> None:
        size = float(np.linalg.norm(move) * np.linalg.norm(turn))
        if not float(move @ turn) > _CURVED * size:
            return
        if state.n_pairs == _PAIRS:
            state.moves[:-1], state.turns[:-1] = state.moves[1:], state.turns[1:].copy()
            state.n_pairs -= 1
        state.moves[state.n_pairs], state.turns[state.n_pairs] = move, turn
        state.n_pairs += 1

    def _direction(self, problem: PartsProblem, state: Any) -> Array:
        g = state.gradient.copy()
        if not problem.fit_intercept:
            g[-1] = 0.0
        system = self._system(problem, state)
        pairs = [(state.moves[k], state.turns[k]) for k in range(state.n_pairs)]

        def solve(q: Array) -> Array:
            return conjugate_gradients(system, q, _ACCURATE)[0]

        p = -solved_with_pairs(g, pairs, solve)
        if not (np.isfinite(p).all() and float(p @ g) < 0):
            state.n_pairs = 0
            p = -solve(g)
        return np.asarray(p)

    def _system(self, problem: PartsProblem, state: Any) -> SampleSystem:
        """The curvature at the point: that of the sample, with the diagonal of all rows."""
        sample, form = problem.sampled, self.form
        loss: Loss = getattr(form, "loss", LOGISTIC)
        u = loss.corner - sample.values(state.a)
        bend = loss.curvature(u)
        if isinstance(loss, QuadraticLoss) and state.h > 0:
            bend = np.where(np.abs(u) < state.h, 0.5 / state.h, 0.0)
        ridge = np.full(len(state.a), 0.0 if np.isinf(form.C) else 1.0)
        ridge[-1] = 0.0
        found = state.curvature[0] * (1.0 + state.kappa) + ridge
        return SampleSystem(
            sample, form.C * sample.weight * bend, found, offset=problem.fit_intercept
        )


class SampleSystem:
    """sum of c [x, 1] [x, 1]' over a sample, and a diagonal that makes its own that of all rows."""

    share = 0.0

    def __init__(self, sample: Problem, cost: Array, diagonal: Array, *, offset: bool) -> None:
        kept = np.flatnonzero(cost)
        self.X, self.cost, self.offset = sample.matrix[kept], cost[kept], offset
        squares = self.X.multiply(self.X) if sample.sparse else np.square(self.X, dtype=np.float64)
        own = np.append(squares.T @ self.cost, float(self.cost.sum()))
        self.rest = np.maximum(diagonal - own, 0.0)
        self.diagonal = self.rest + own

    def product(self, p: Array, out: Array) -> float:
        """out = system times p; gives back p . out."""
        t = self.X @ p[:-1]
        if self.offset:
            t = t + p[-1]
        t = self.cost * t
        np.multiply(self.rest, p, out=out)
        out[:-1] += self.X.T @ t
        if self.offset:
            out[-1] += t.sum()
        return float(p @ out)

    def scaling(self) -> tuple[Array, Correction | None]:
        """The inverse of the diagonal."""
        with np.errstate(divide="ignore"):
            inverse = np.where(self.diagonal > 0, 1.0 / self.diagonal, 0.0)
        if not self.offset:
            inverse[-1] = 0.0
        return inverse, None
