"""Newton's method for the machine of Crammer and Singer, its corners rounded off.

Problem   minimise P = |W|^2 / 2 + sum c_i max over r of g_ir, g_ir = 1 + f_r(x_i) - f_y(x_i) for
          rivals and 0 for the own class; offsets unpenalised
Given     rows x_i of class y_i, costs c_i = C s_i; shares p_i of the rounded loss, see
          losses/rivals.py
Update    (H + kappa diag(H)) q = -gradient with the blocks
          H_kl = [k = l] I + sum c_i / (2 h) ([k = l] - 1 / |A_i|) x_i x_i', over rows with k and l
          in A_i; unit step, or the minimum along q if that would go up. Once the gradient is
          small the centre of the shares moves to the shares: the method of multipliers, which
          closes the gap at a width h that keeps the systems well behaved
Stop      (P - D) / P <= tol, D the dual value of alpha_i = c_i (e_y - p_i)
Paper     Crammer and Singer 2001; Rockafellar 1976 for the multipliers
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import one_blas_thread
from linsep.core.limits import tick
from linsep.core.problem import Problem
from linsep.core.protocol import NO_LOG, Log, State, Status, Witness, relative_gap, repeated
from linsep.losses.rivals import balanced_shares, nearest_shares, rival_terms, rounded_loss
from linsep.numerics.cholesky import Factor
from linsep.numerics.line import Bracket
from linsep.solvers.hinge.dual_point import row_lengths

Array = NDArray[np.float64]

_SMALLEST = 1e-12  # width below which rounding rules
_IDLE = 8  # moves of the centre without gain before it gives up
_STIFF = 2e4  # c |x|^2 / h of a mean row at the start, at most
_INNER = 40  # Newton steps at one centre, at most


@dataclass(frozen=True)
class NewtonMachine:
    """Newton's method for one loss of all classes, where K (d + 1) weights are few.

    Parameters
    ----------
    C : float, default=1.0
    tol : float, default=1e-3
        Relative duality gap.
    """

    C: float = 1.0
    tol: float = 1e-3

    unit: ClassVar[str] = "Newton step"

    def init(self, problem: Problem, *, start: Any = None) -> MachineState:
        """Zero weights, or (coef, intercept, dual variables of shape (n, K)) to go on from."""
        n, K = problem.n, problem.K
        own = np.zeros((n, K))
        own[np.arange(n), problem.label] = 1.0
        cost = self.C * problem.weight
        state = MachineState(
            W=np.zeros((K, problem.d + 1)),
            scores=np.zeros((n, K)),
            center=own,
            shares=own,
            best=np.zeros((K, problem.d + 1)),
            h=max(1.0, float(cost @ row_lengths(problem)) / n / _STIFF),
            best_primal=float(cost.sum()),
            best_shares=own,
        )
        if start is not None:
            coef, intercept, alpha = start
            state.W = problem.join(coef, intercept).reshape(K, -1)
            center = np.clip(own - np.asarray(alpha, dtype=np.float64) / cost[:, None], 0.0, 1.0)
            state.center = center / center.sum(axis=1, keepdims=True)
        self._place(problem, state, state.W)
        if start is not None:
            self._bounds(problem, state, state.center)
            if state.gap <= self.tol:
                state.status = Status.CERTIFIED
        return state

    def advance(self, problem: Problem, state: MachineState, steps: int, log: Log = NO_LOG) -> int:
        """Newton steps; a move of the centre is part of the step before it."""
        with one_blas_thread():
            taken = repeated(state, steps, lambda: self._step(problem, state))
        state.n_updates += taken
        return taken

    def status(self, state: MachineState) -> Status:
        """CERTIFIED when the gap is closed; STALLED when rounding forbids it."""
        return state.status

    def witness(self, problem: Problem, state: MachineState) -> Witness:
        """Weights class by class; row i of class k has number k n + i."""
        own = np.arange(problem.n), problem.label
        alpha = -self.C * problem.weight[:, None] * state.best_shares
        alpha[own] = 0.0
        alpha[own] = -alpha.sum(axis=1)
        flat = np.abs(alpha.T).ravel()
        rows = np.flatnonzero(flat)
        return Witness(a=state.best.ravel().copy(), rows=rows, multipliers=flat[rows], claim="dual")

    # -- one step -----------------------------------------------------------------------------

    def _step(self, problem: Problem, state: MachineState) -> None:
        state.status = Status.RUNNING
        gradient = self._gradient(problem, state)
        q, predicted = direction(problem, self.C, state, gradient)
        if not np.isfinite(predicted):
            state.status = Status.DIVERGED
            return
        # what the gradient leaves of the gap: |W - V|^2 / 2, and flow that does not return
        rest = 0.5 * float((gradient[:, :-1] ** 2).sum()) + float(np.abs(gradient[:, -1]).sum())
        settled = max(rest, predicted) <= 0.05 * self._allowed(state) or state.width_steps >= _INNER
        moved = self._walk(problem, state, q, predicted)
        state.width_steps += 1
        if settled or not moved:
            self._move_centre(problem, state)

    def _allowed(self, state: MachineState) -> float:
        """A decrease that is small beside the gap that is to be closed."""
        gap = state.best_primal - state.best_dual
        return max(self.tol * state.best_primal, 0.2 * min(gap, state.best_dual))

    def _walk(self, problem: Problem, state: MachineState, q: Array, predicted: float) -> bool:
        """Unit step, or a shorter one; kappa follows the success. False if nothing was gained."""
        old, W, scores = state.rounded, state.W, state.scores
        change = row_scores(problem, q)
        state.rows_read += 1.0
        t = 1.0
        self._place(problem, state, W + q, scores + change)
        if not state.rounded <= old:
            t = self._minimum_along(problem, state, W, q, scores, change)
            self._place(problem, state, W + t * q, scores + t * change)
        if not state.rounded < old:  # rounding: nothing to gain
            self._place(problem, state, W, scores)
            return False
        ratio = (old - state.rounded) / predicted if predicted > 0 else 1.0
        if t < 1.0:
            state.kappa = min(max(10 * state.kappa, 1e-8), 1.0)
        else:
            state.kappa *= 0.1 if ratio > 0.6 else 1.0 if ratio > 0.3 else 4.0
        return True

    def _minimum_along(
        self,
        problem: Problem,
        state: MachineState,
        W: Array,
        q: Array,
        scores: Array,
        change: Array,
    ) -> float:
        """Where the slope of the rounded objective along q changes its sign, by bisection."""
        cost, at = self.C * problem.weight, np.arange(problem.n)
        wq = float((W[:, :-1] * q[:, :-1]).sum())
        qq = float((q[:, :-1] ** 2).sum())
        own = change[at, problem.label]
        bracket, t = Bracket(0.0, 1.0), 0.5
        for _ in range(30):
            p = self._shares(problem, state, scores + t * change)
            slope = wq + t * qq + float(cost @ ((p * change).sum(axis=1) - own))
            t = bracket.after(t, slope, 0.0)
            if bracket.low > 0 and bracket.high - bracket.low < 0.1 * bracket.low:
                break
        return bracket.low if bracket.low > 0 else bracket.high

    def _move_centre(self, problem: Problem, state: MachineState) -> None:
        """Look at both sides; if the gap is not closed, centre the shares where they are."""
        self._bounds(problem, state, state.shares)
        if state.gap <= self.tol:
            state.status = Status.CERTIFIED
            return
        state.idle = state.idle + 1 if not state.gap < state.settled_gap else 0
        if state.gap > 0.3 * state.settled_gap:
            state.h *= 0.3
        state.settled_gap = min(state.gap, state.settled_gap)
        if state.idle > _IDLE or state.h < _SMALLEST:
            state.status = Status.STALLED
            return
        state.center, state.width_steps = state.shares, 0
        self._place(problem, state, state.W, state.scores)

    # -- values -------------------------------------------------------------------------------

    def _shares(self, problem: Problem, state: MachineState, scores: Array) -> Array:
        g = rival_terms(scores, problem.label)
        return nearest_shares(state.center + g * (0.5 / state.h))

    def _place(
        self, problem: Problem, state: MachineState, W: Array, scores: Array | None = None
    ) -> None:
        """Evaluate the rounded objective at W."""
        if scores is None:
            scores = row_scores(problem, W)
            state.rows_read += 1.0
        g = rival_terms(scores, problem.label)
        state.shares = nearest_shares(state.center + g * (0.5 / state.h))
        losses = rounded_loss(g, state.shares, state.center, state.h)
        state.W, state.scores = W, scores
        half = 0.5 * float((W[:, :-1] ** 2).sum())
        state.rounded = half + self.C * float(problem.weight @ losses)
        primal = half + self.C * float(problem.weight @ g.max(axis=1))
        if primal < state.best_primal:
            state.best_primal, state.best = primal, W

    def _bounds(self, problem: Problem, state: MachineState, shares: Array) -> None:
        """The dual value of shares, once the flow between the classes returns."""
        cost, at = self.C * problem.weight, np.arange(problem.n)
        beta = cost[:, None] * shares
        beta[at, problem.label] = 0.0
        if problem.fit_intercept:
            flow = np.stack([beta[problem.label == m].sum(axis=0) for m in range(problem.K)])
            beta *= balanced_shares(flow)[problem.label]
        alpha = -beta
        alpha[at, problem.label] = beta.sum(axis=1)
        V = combined(problem, alpha)
        dual = float(beta.sum()) - 0.5 * float((V * V).sum())
        state.rows_read += 1.0
        if dual > state.best_dual:
            state.best_dual, state.best_shares = dual, shares

    def _gradient(self, problem: Problem, state: MachineState) -> Array:
        """Shape (K, d + 1); the last column is that of the offsets."""
        alpha = -self.C * problem.weight[:, None] * state.shares
        alpha[np.arange(problem.n), problem.label] += self.C * problem.weight
        out = np.zeros_like(state.W)
        out[:, :-1] = state.W[:, :-1] - combined(problem, alpha)
        if problem.fit_intercept:
            out[:, -1] = -alpha.sum(axis=0)
        state.rows_read += 1.0
        return out


# -- The state of Newton's method for the machine of Crammer and Singer: numbers only -------------


@dataclass(kw_only=True)
class MachineState(State):
    """An evaluated point: weights, shares and bounds."""

    W: Array
    """Shape (K, d + 1), offsets last."""
    scores: Array
    center: Array
    shares: Array
    h: float = 1.0
    kappa: float = 1e-6
    rounded: float = np.inf
    width_steps: int = 0
    idle: int = 0
    settled_gap: float = np.inf
    best: Array
    best_primal: float
    best_shares: Array
    best_dual: float = 0.0
    rows_read: float = 0.0

    @property
    def passes(self) -> float:
        """Passes over the data."""
        return self.rows_read

    @property
    def gap(self) -> float:
        """Relative duality gap of the best points."""
        return relative_gap(self.best_primal, self.best_dual)


# -- Products by rows and Newton systems for the machine of Crammer and Singer --------------------


def direction(
    problem: Problem, C: float, state: MachineState, gradient: Array
) -> tuple[Array, float]:
    """Newton direction and the decrease it predicts, by Cholesky on scaled columns."""
    K, width = gradient.shape
    H = _curvature(problem, C, state)
    keep = np.ones((K, width), dtype=bool)
    keep[:, -1] = problem.fit_intercept
    at = np.flatnonzero(keep.ravel())
    H = H[np.ix_(at, at)]
    g = gradient.ravel()[at]
    diagonal = H.diagonal().copy()
    while True:
        size = diagonal * (1.0 + state.kappa)
        scale = 1.0 / np.sqrt(np.maximum(size, 1e-12 * max(float(size.max()), 1e-300)))
        factor = Factor.of(H.copy(), scale, (1e-13,))
        if factor is not None:
            break
        state.kappa = max(10 * state.kappa, 1e-12)
        if state.kappa > 1e6:
            return np.zeros_like(gradient), np.inf
    q = np.zeros(K * width)
    q[at] = -factor.solve(g)
    return q.reshape(K, width), -0.5 * float(g @ q[at])


def _curvature(problem: Problem, C: float, state: MachineState) -> Array:
    """The blocks H_kl, from the rows whose loss is curved."""
    K, width = state.W.shape
    active = state.shares > 0.0
    count = active.sum(axis=1)
    rows = np.flatnonzero(count > 1)
    X = _with_ones(problem, rows)
    active, count = active[rows], count[rows]
    bend = C * problem.weight[rows] * (0.5 / state.h)
    H = np.zeros((K, width, K, width))
    for k in range(K):
        for m in range(k, K):
            tick()  # with many classes this takes long
            both = active[:, k] if k == m else active[:, k] & active[:, m]
            own = np.flatnonzero(both)
            if not own.size:
                continue
            factor = bend[own] * ((1.0 if k == m else 0.0) - 1.0 / count[own])
            B = X[own]
            block = (B * factor[:, None]).T @ B
            H[k, :, m, :] = block
            H[m, :, k, :] = block
        H[k, range(width - 1), k, range(width - 1)] += 1.0
    return H.reshape(K * width, K * width)


def row_scores(problem: Problem, W: Array) -> Array:
    """One column for each class."""
    return problem.product(np.ascontiguousarray(W[:, :-1].T)) + W[:, -1]


def combined(problem: Problem, alpha: Array) -> Array:
    """sum of alpha_ik x_i, one row a class."""
    return np.asarray((problem.matrix.T @ alpha).T, dtype=np.float64)


def _with_ones(problem: Problem, rows: NDArray[np.int64]) -> Array:
    """Some rows as a dense array, with the constant 1 as their last column."""
    block = problem.matrix[rows]
    block = block.toarray() if problem.sparse else block
    return np.column_stack([block.astype(np.float64), np.ones(len(rows))])
