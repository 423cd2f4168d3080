"""Proximal point steps in the dual, each solved by Newton's method in the primal.

Problem   as for dual coordinate descent: sparse rows, but too hard for it (raw counts, huge C)
Given     a dual point alpha_k; steps sigma_i = sigma / |x_i|^2, so long rows move less
Update    alpha(w, b) = clip((alpha_k + sigma_i u_i) / (1 + sigma_i q_i), 0, top_i),
          u = 1 - y (w.x + b), q_i = 2 q / c_i and top_i = c_i top by the loss, L*(t) = q t^2;
          Newton steps on the function whose gradient is [w - sum alpha y x, -sum alpha y],
          (I + sum_F sigma_i [x_i, 1] [x_i, 1]') p = -gradient over the rows F strictly inside
          their box, by conjugate gradients; exact minimum along p; then alpha_k <- alpha,
          raised at once where equal rows have opposite labels
Stop      (P - D) / P <= tol
Paper     Rockafellar 1976, proximal point and multipliers; Li, Sun, Toh 2018 for the Newton
          method inside; dual coordinate descent comes first and stays if it is quick enough
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import PROXIMAL_FACTORED
from linsep.core.lanes import one_blas_thread
from linsep.core.problem import Problem, reads
from linsep.core.protocol import FIXED, NO_LOG, Held, Log, Status, Witness
from linsep.losses.base import needs
from linsep.losses.hinge import HINGE, QuadraticLoss
from linsep.numerics.conjugate import conjugate_gradients
from linsep.numerics.line import minimum
from linsep.rows.packed import packed
from linsep.solvers import row_system as loops
from linsep.solvers.hinge.dual_cd import DualCD, DualState
from linsep.solvers.hinge.dual_point import row_lengths, row_scores, row_sum, signed_sums, stretched
from linsep.solvers.row_system import RowSystem, factored

Array = NDArray[np.float64]

_GROWTH, _SHRINK = 4.0, 0.5  # of sigma
_EASY, _INNER = 3, 6  # Newton steps: so few let sigma grow, no more before the centre moves,
_EASY_FACTORED, _INNER_FACTORED = 6, 20  # and where each is the solution of its system
_FORCING = 0.4  # relative accuracy of a Newton system
_STALE = 500  # Newton steps without progress after which rounding is blamed
_TOGETHER = 4  # sweeps between two thoughts about whether to go on with them
_LEAST_SHARE = 0.25  # of the rows in play that a sweep is counted as
_QUICK, _SOON = 40.0, 12.0  # sweeps it may still need without being given up; with few columns


@dataclass(frozen=True)
class ProximalNewton:
    """Coordinate descent, and proximal Newton steps where that would take long.

    Parameters
    ----------
    C : float, default=1.0
    loss : QuadraticLoss, default=HINGE
    tol : float, default=1e-3
        Relative duality gap.
    seed : int, default=0
        Of the order of visits.
    sweeps : int or None, default=None
        Sweeps of coordinate descent before the first Newton step; None leaves it to the
        progress they make.
    threads : int or None, default=None
        None means all cores. The result does not depend on it.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.hinge.proximal import ProximalNewton
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1])
    >>> out = drive(problem, ProximalNewton(tol=1e-6, sweeps=1))
    >>> out.status.name, round(float(out.witness.a[0]), 3)
    ('CERTIFIED', 1.0)
    """

    C: float = 1.0
    loss: QuadraticLoss = HINGE
    tol: float = 1e-3
    seed: int = 0
    sweeps: int | None = None
    threads: int | None = None

    unit: ClassVar[str] = "sweep"

    def __post_init__(self) -> None:
        needs(self, self.loss, QuadraticLoss)

    @property
    def descent(self) -> DualCD:
        """Coordinate descent with the same settings."""
        return DualCD(self.C, self.loss, self.tol, self.seed)

    def prepare(self, problem: Problem) -> None:
        """Make what all parts of a problem of many classes share."""
        self.descent.prepare(problem)

    def init(self, problem: Problem, *, start: Any = None) -> ProximalState:
        """alpha = 0, or given dual variables, one for each row; or (coef, intercept, alpha)."""
        base = self.descent.init(problem, start=start)
        values = {item.name: getattr(base, item.name) for item in fields(base)}
        with np.errstate(divide="ignore"):
            step = 1.0 / (row_lengths(problem) + base.rho)
        step[~np.isfinite(step)] = 1.0
        return ProximalState(**values, unit_step=step)

    def advance(self, problem: Problem, state: ProximalState, steps: int, log: Log = NO_LOG) -> int:
        """Sweeps, and later Newton steps; each counts as one."""
        taken = 0
        with one_blas_thread():
            while taken < steps and not state.status.done:
                if state.newton:
                    self._newton_step(problem, state)
                    state.steps += 1
                else:
                    many = self.until_judged(state)
                    taken += self.descent.advance(problem, state, min(many, steps - taken)) - 1
                    due = self.sweeps is not None or state.steps % _TOGETHER == 0
                    if due and not state.status.done and self._too_slow(problem, state):
                        self._switch(problem, state)
                taken += 1
        return taken

    def status(self, state: ProximalState) -> Status:
        """CERTIFIED when the gap is closed."""
        return state.status

    def witness(self, problem: Problem, state: ProximalState) -> Witness:
        """The best weights looked at, and the best dual point."""
        return self.descent.witness(problem, state)

    # -- when to switch -----------------------------------------------------------------------

    def until_judged(self, state: ProximalState) -> int:
        """Sweeps up to the next thought about whether to go on with them."""
        return _TOGETHER - state.steps % _TOGETHER if self.sweeps is None else 1

    def _too_slow(self, problem: Problem, state: ProximalState) -> bool:
        """Whether sweeps would still take longer than Newton steps, which cost more each."""
        if self.sweeps is not None:
            return state.steps >= self.sweeps
        few = problem.d <= PROXIMAL_FACTORED
        known, quick = (state.history[4:], _SOON) if few else (state.history, _QUICK)
        quick *= 1.0 / max(state.active / problem.n, _LEAST_SHARE)  # sweeps over few rows are short
        if state.steps < 3 * _TOGETHER if few else state.steps < len(known) + 2:
            return False
        if not known[-1] > 0 or known[-1] <= (1.5 if few else 3.0) * self.tol:
            return state.steps > 4 * quick
        rate = np.log(max(known[0], 1e-300) / known[-1]) / (len(known) - 1)
        return bool(rate * quick < np.log(known[-1] / self.tol))

    def _switch(self, problem: Problem, state: ProximalState) -> None:
        state.newton = True
        state.center = state.alpha.copy()
        state.scores = row_scores(problem, state.a[:-1], self.threads, packed(problem))
        self._evaluate(problem, state)

    # -- one Newton step ----------------------------------------------------------------------

    def _terms(self, problem: Problem, state: ProximalState) -> Terms:
        """Centre, step and upper bound of alpha for every row."""
        cost, sigma = self.C * problem.weight, state.sigma * state.unit_step
        top = self.loss.cap(cost)
        if self.loss.kinked:
            return Terms(state.center, sigma, top)
        shrink = 1.0 / (1.0 + sigma * (2.0 * self.loss.q / cost))
        return Terms(state.center * shrink, sigma * shrink, top)

    def _evaluate(
        self, problem: Problem, state: ProximalState
    ) -> tuple[Terms, Array, NDArray[np.int64]]:
        """alpha at (w, b); both bounds; gradient and the rows strictly inside their box."""
        terms = self._terms(problem, state)
        n, size = problem.n, int(problem.rows.X[0].size)
        free = np.empty(n, np.int64)
        k = loops.bend(
            state.scores, problem.sign, float(state.a[-1]), *terms, state.alpha, free,
            size=size, work=4 * n,
        )  # fmt: skip
        cost = self.C * problem.weight
        state.alpha = opposed_rows(problem).raised(state.alpha, cost, self.loss)
        if problem.fit_intercept:
            v_plus, v_minus = signed_sums(problem, state.alpha, self.threads)
            positive = problem.sign > 0
            plus = float(state.alpha[positive].sum())
            minus = float(state.alpha[~positive].sum())
        else:  # the classes need not be told apart
            y_alpha = state.alpha * problem.sign
            v_plus = row_sum(problem, y_alpha, self.threads, packed(problem))
            v_minus = np.zeros(problem.d)
            plus, minus = float(state.alpha.sum()), 0.0
        gradient = np.append(state.a[:-1] - (v_plus - v_minus), minus - plus)
        if not problem.fit_intercept:
            gradient[-1] = 0.0
        self._bounds(problem, state, v_plus, v_minus, plus, minus)
        state.work += 0.5
        return terms, gradient, free[:k]

    def _bounds(
        self, problem: Problem, state: ProximalState, v_plus: Array, v_minus: Array,
        plus: float, minus: float,
    ) -> None:  # fmt: skip
        w, cost = state.a[:-1], self.C * problem.weight
        values = state.scores + state.a[-1]
        values *= problem.sign
        primal = 0.5 * float(w @ w) + float(cost @ self.loss.value(1.0 - values))
        up = down = 1.0
        if problem.fit_intercept:
            up = min(1.0, minus / plus) if plus > 0 else 0.0
            down = min(1.0, plus / minus) if minus > 0 else 0.0
        v = up * v_plus - down * v_minus
        dual = up * plus + down * minus - 0.5 * float(v @ v)
        if not self.loss.kinked:
            dual -= self.loss.dual_cost(state.alpha * np.where(problem.sign > 0, up, down), cost)
        t = 1.0
        open_gap = self.tol * primal < primal - max(dual, state.best_dual)
        look = (
            state.inner == 0 or problem.d > PROXIMAL_FACTORED
        )  # beside long systems it costs nothing
        if self.loss.kinked and open_gap and look:
            t, primal = stretched(problem, self.C, 0.5 * float(w @ w), values, primal)
        if not np.isfinite(primal):
            state.status = Status.DIVERGED
            return
        if primal < state.best_primal:
            state.best_primal, state.best = primal, t * state.a
        if dual > state.best_dual:
            state.best_dual, state.best_alpha = dual, state.alpha.copy()
        if state.gap <= self.tol:
            state.status = Status.CERTIFIED

    def _newton_step(self, problem: Problem, state: ProximalState) -> None:
        terms, gradient, free = self._evaluate(problem, state)
        if self.status(state).done or self._is_stale(state):
            return
        solved = state.inner > 0 and self._left(state, gradient) < 0.1
        few = problem.d <= PROXIMAL_FACTORED
        if solved or state.inner >= (_INNER_FACTORED if few else _INNER):
            state.center = state.alpha.copy()
            if solved and state.inner <= (_EASY_FACTORED if few else _EASY):
                state.sigma *= _GROWTH
            elif not solved:
                state.sigma = max(_SHRINK * state.sigma, SIGMA)
            state.inner = 0
            terms, gradient, free = self._evaluate(problem, state)
            if self.status(state).done:
                return
        p = self._direction(problem, state, terms, gradient, free)
        step = row_scores(problem, p[:-1], self.threads, packed(problem))
        t = minimum_along(problem, state, terms, p, step)
        state.a += t * p
        state.scores += t * step
        state.inner += 1
        state.work += 0.5
        state.n_updates += 1

    def _left(self, state: ProximalState, gradient: Array) -> float:
        """What the gradient leaves of the gap, as a share of it."""
        gap = max(state.best_primal - state.best_dual, 0.0)
        wrong = 0.5 * float(gradient[:-1] @ gradient[:-1]) + abs(gradient[-1] * state.a[-1])
        return float(wrong / gap) if gap > 0 else 0.0

    def _is_stale(self, state: ProximalState) -> bool:
        """Whether many steps have brought nothing: rounding has the last word."""
        state.stale += 1
        if state.gap < 0.99 * state.settled_gap:
            state.settled_gap, state.stale = state.gap, 0
        if state.stale > _STALE:
            state.status = Status.STALLED
        return state.status.done

    def _direction(
        self,
        problem: Problem,
        state: ProximalState,
        terms: Terms,
        gradient: Array,
        free: NDArray[np.int64],
    ) -> Array:
        """The Newton system, factored or by conjugate gradients."""
        system = RowSystem(problem, terms.sigma, free, self.threads)
        if problem.d <= PROXIMAL_FACTORED:
            x, work = factored(system, -gradient)
        else:
            x, work = conjugate_gradients(system, -gradient, _FORCING)
        state.work += work
        return x


# -- The state of the proximal Newton method: numbers only ----------------------------------------


SIGMA = 8.0  # step of the first centre, times |x|^2


@dataclass(kw_only=True)
class ProximalState(DualState):
    """The dual point of coordinate descent, and from the switch on the proximal centre."""

    held: ClassVar[Mapping[str, Held]] = {
        **DualState.held,
        "center": Held(shape=("n",), empty=True),
        "scores": Held(shape=("n",), empty=True),
        "unit_step": FIXED,
    }

    newton: bool = False
    center: Array = field(default_factory=lambda: np.zeros(0))
    scores: Array = field(default_factory=lambda: np.zeros(0))
    sigma: float = SIGMA
    inner: int = 0
    """Newton steps since the centre moved."""
    unit_step: Array = field(default_factory=lambda: np.zeros(0))
    """1 / |x_i|^2."""
    settled_gap: float = np.inf
    stale: int = 0
    """Newton steps since the gap was ``settled_gap``, the last that was clearly smaller."""


class Terms(NamedTuple):
    """alpha = clip(center + sigma u, 0, top), row by row."""

    center: Array
    sigma: Array
    top: Array


# -- The length of a proximal Newton step: an exact minimum along a line --------------------------


_LENGTH_ACCURACY = 0.01  # relative accuracy of the length of a step


def minimum_along(
    problem: Problem, state: ProximalState, terms: Terms, p: Array, step: Array
) -> float:
    """The best length of a step p that moves the scores by ``step``."""
    w, q, b, db = state.a[:-1], p[:-1], float(state.a[-1]), float(p[-1])
    wq, qq = float(w @ q), float(q @ q)
    out, size = np.zeros(2), int(problem.rows.X[0].size)

    def slopes(t: float) -> tuple[float, float]:
        loops.slope(
            state.scores, step, problem.sign, b, db, *terms, t, out, size=size, work=4 * problem.n
        )  # fmt: skip
        return out[0] + wq + t * qq, out[1] + qq

    return minimum(slopes, near=_LENGTH_ACCURACY, steps=30)


# -- Equal rows with opposite labels, whose dual variables can be raised together -----------------
#
# Where x_i = x_j and y_i = -y_j, adding t to alpha_i and to alpha_j leaves sum alpha y x and sum
# alpha y as they are, and the dual value of the hinge grows by 2 t, up to the first bound; that
# of its square has a maximum in t. Steps in the dual climb there slowly, the more so the larger C
# is; here it is one step.


class OpposedRows:
    """Groups of equal rows that hold both classes.

    Parameters
    ----------
    rows : array of int
        Numbers of the rows.
    group : array of int
        Which group each of them belongs to, from 0 on.
    positive : array of bool
        Their classes.
    """

    def __init__(
        self, rows: NDArray[np.int64], group: NDArray[np.int64], positive: NDArray[np.bool_]
    ) -> None:
        self.rows = rows
        self.count = int(group.max(initial=-1)) + 1
        self.side = 2 * group + positive  # one number for the rows of a group and class

    def raised(self, alpha: Array, cost: Array, loss: QuadraticLoss) -> Array:
        """The best dual point among those with the same sums alpha y of every group."""
        if not self.rows.size:
            return alpha
        own, c = alpha[self.rows], cost[self.rows]
        best = self._capped(own, loss.cap(c)) if loss.kinked else self._curved(own, c, *loss.form)
        out = alpha.copy()
        out[self.rows] = best
        return out

    def _sums(self, values: Array) -> Array:
        """Sums over the rows of each group and class."""
        sums = np.bincount(self.side, weights=values, minlength=2 * self.count)
        return np.asarray(sums, dtype=np.float64).reshape(-1, 2)

    def _capped(self, own: Array, top: Array) -> Array:
        """Both classes of a group raised until one of them is at its bound."""
        room = np.maximum(top - own, 0.0)
        total = self._sums(room)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.nan_to_num(total.min(axis=1)[:, None] / total, nan=0.0, posinf=0.0)
        return np.asarray(np.minimum(own + room * share.ravel()[self.side], top))

    def _curved(self, own: Array, cost: Array, q: float, top: float) -> Array:
        """Where 2 = 2 q (A / c + B / c'), A - B being fixed; shared out by cost, in the box."""
        total, costs = self._sums(own), self._sums(cost)
        flow = total[:, 1] - total[:, 0]
        inverse = 2.0 * q / costs
        minus = (2.0 - flow * inverse[:, 1]) / inverse.sum(axis=1)
        minus = np.maximum(minus, np.maximum(0.0, -flow))
        if np.isfinite(top):
            minus = np.minimum(minus, np.minimum(top * costs[:, 0], top * costs[:, 1] - flow))
        best = np.column_stack([minus, minus + flow])
        return np.asarray((best / costs).ravel()[self.side] * cost)


def opposed_rows(problem: Problem) -> OpposedRows:
    """Those of a problem, looked for once and kept with it."""
    return problem.once(_find)


@reads("matrix", "label", "classes")
def _find(problem: Problem) -> OpposedRows:
    """Rows of the same product with a random vector, and then those that are truly equal."""
    vector = np.random.default_rng(0).standard_normal(problem.d)
    if problem.sparse:
        key = row_scores(problem, vector)
    else:  # entry by entry, so that equal rows have equal sums wherever they stand
        key = np.einsum("ij,j->i", problem.matrix, vector)
    order = np.argsort(key, kind="stable")
    first = np.append(True, np.diff(key[order]) != 0.0)
    group = np.cumsum(first) - 1
    positive = problem.sign[order] > 0
    seen = np.bincount(2 * group + positive, minlength=2 * (int(group[-1]) + 1)).reshape(-1, 2)
    both = np.flatnonzero((seen.min(axis=1) > 0)[group])
    rows, heads = order[both], order[np.flatnonzero(first)[group[both]]]
    equal = _equal(problem, rows, heads)
    rows, positive = rows[equal], positive[both][equal]
    _, group = np.unique(group[both][equal], return_inverse=True)
    return OpposedRows(rows, group.astype(np.int64), positive)


def _equal(
    problem: Problem, rows: NDArray[np.int64], others: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether each of the rows is the same as the one beside it."""
    if not rows.size:
        return np.zeros(0, np.bool_)
    M = problem.matrix
    if problem.sparse:
        difference = abs(M[rows] - M[others])
        return np.asarray(np.asarray(difference.sum(axis=1)).ravel() == 0.0)
    return np.asarray((M[rows] == M[others]).all(axis=1))
