"""The machine of Crammer and Singer: one loss for all classes, by dual coordinate descent.

Problem   minimise |W|^2 / 2 + sum c_i max(0, 1 + max_r (w_r.x_i + b_r) - (w_y.x_i + b_y))
Given     rows x_i of class y_i, costs c_i = C s_i
Update    all dual variables of one row at once: least A |alpha|^2 / 2 + B.alpha with sum
          alpha = 0, alpha_y <= c, the others <= 0, by sorting; all classes in one read of x_i.
          Free intercepts are multipliers: b_m <- b_m + rho sum_i alpha_im after a sweep
Stop      (P - D) / P <= tol
Paper     Crammer and Singer 2001; Keerthi, Sundararajan, Chang, Hsieh, Lin 2008
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import inner, routine
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
from linsep.losses.rivals import balanced_shares
from linsep.rows.loops import matrix_of, sample_fetch, sample_locate, sample_scores, sample_spread
from linsep.solvers.hinge.dual_cd import AHEAD, shuffle
from linsep.solvers.hinge.dual_point import row_lengths

Array = NDArray[np.float64]


@dataclass(kw_only=True)
class CrammerSingerState(State):
    """Weights with one column a class, dual variables with one column a class."""

    held: ClassVar[Mapping[str, Held]] = {
        "order": Held(shape=("?",), below="n"),
        "active": Held(most="order"),
        "numbers": ENDLESS,
        "rho": FIXED,
    }

    W: Array
    """Shape (d + 1, K); the offsets are the last row."""
    alpha: Array
    order: NDArray[np.int64]
    active: int
    numbers: Array
    rho: float
    best: Array
    best_primal: float
    best_alpha: Array
    best_dual: float = 0.0
    work: float = 0.0

    @property
    def passes(self) -> float:
        """Rows visited divided by the number of rows."""
        return self.work

    @property
    def gap(self) -> float:
        """Relative duality gap of the best points looked at."""
        return relative_gap(self.best_primal, self.best_dual)


@dataclass(frozen=True)
class CrammerSinger:
    """Dual coordinate descent for three classes and more.

    Parameters
    ----------
    C : float, default=1.0
    tol : float, default=1e-3
        Relative duality gap.
    seed : int, default=0
        Of the order of visits.
    """

    C: float = 1.0
    tol: float = 1e-3
    seed: int = 0

    unit: ClassVar[str] = "sweep"

    def init(self, problem: Problem, *, start: Any = None) -> CrammerSingerState:
        """All dual variables zero, or given ones of shape (n, K)."""
        cost, K = self.C * problem.weight, problem.K
        rho = float(problem.weight @ row_lengths(problem)) / float(problem.weight.sum())
        alpha = np.zeros((problem.n, K)) if start is None else np.array(start, dtype=np.float64)
        state = CrammerSingerState(
            W=np.zeros((problem.d + 1, K)),
            alpha=alpha,
            order=np.arange(problem.n),
            active=problem.n,
            numbers=np.array([np.inf, np.inf]),
            rho=(rho or 1.0) if problem.fit_intercept else 0.0,
            best=np.zeros((problem.d + 1, K)),
            best_primal=float(cost.sum()),
            best_alpha=np.zeros((problem.n, K)),
        )
        if alpha.any():
            size = _size(problem) * K
            combine(matrix_of(problem), alpha, state.W, size=size, work=size)
            self._look(problem, state, 0.0)
        return state

    def advance(
        self, problem: Problem, state: CrammerSingerState, steps: int, log: Log = NO_LOG
    ) -> int:
        """Sweeps over the rows in play."""
        X, cost = matrix_of(problem), self.C * problem.weight
        size = _size(problem) * problem.K
        taken = 0
        while taken < steps and not state.status.done:
            visited = state.active
            seed = (self.seed * 1000003 + state.steps) & 0x7FFFFFFF
            state.active = int(
                sweep(
                    X, problem.label, cost, row_lengths(problem), state.rho, state.W,
                    state.alpha, state.order, state.active, seed, state.numbers,
                    size=size, work=2 * size,
                )
            )  # fmt: skip
            state.work += visited / problem.n
            state.n_updates += visited
            state.steps += 1
            taken += 1
            self._after(problem, state)
        return taken

    def status(self, state: CrammerSingerState) -> Status:
        """CERTIFIED when the gap is closed."""
        return state.status

    def witness(self, problem: Problem, state: CrammerSingerState) -> Witness:
        """Weights class by class; row i of class k has number k n + i, its sign is that of alpha.

        multipliers are the absolute values.
        """
        looked = state.best_dual > 0
        W = state.best if looked else state.W
        alpha = (state.best_alpha if looked else state.alpha).T
        flat = np.abs(alpha).ravel()
        rows = np.flatnonzero(flat)
        return Witness(a=W.T.ravel().copy(), rows=rows, multipliers=flat[rows], claim="dual")

    # -- inside -------------------------------------------------------------------------------

    def _after(self, problem: Problem, state: CrammerSingerState) -> None:
        state.status = Status.RUNNING
        balance = 0.0
        if problem.fit_intercept:
            rest = state.alpha.sum(axis=0)
            state.W[-1] += state.rho * rest
            balance = abs(float(rest @ state.W[-1]))
        state.numbers[ASIDE] = 0.2
        if state.steps % 10 == 0:
            state.active = problem.n
        own = float(state.alpha[np.arange(problem.n), problem.label].sum())
        dual = own - 0.5 * float((state.W[:-1] ** 2).sum())
        if not np.isfinite(dual):
            state.status = Status.DIVERGED
            return
        running = float(state.numbers[RUNNING]) + balance
        due = state.steps & (state.steps - 1) == 0
        if running <= 1.5 * self.tol * abs(dual) or state.active == 0 or due:
            self._look(problem, state, running)

    def _look(self, problem: Problem, state: CrammerSingerState, running: float) -> None:
        """Evaluate both sides truly."""
        X, cost, n = matrix_of(problem), self.C * problem.weight, problem.n
        size = _size(problem) * problem.K
        scores = np.empty((n, problem.K))
        losses = float(look(X, problem.label, cost, state.W, scores, size=size, work=size))
        primal = 0.5 * float((state.W[:-1] ** 2).sum()) + losses
        dual = self._dual(problem, state)
        state.work += 1.0
        if primal < state.best_primal:
            state.best_primal, state.best = primal, state.W.copy()
        if dual > state.best_dual:
            state.best_dual, state.best_alpha = dual, state.alpha.copy()
        if state.gap <= self.tol:
            state.status = Status.CERTIFIED
        elif primal - dual - running > 0.25 * self.tol * primal:
            state.active = n

    def _dual(self, problem: Problem, state: CrammerSingerState) -> float:
        at = np.arange(problem.n)
        if not problem.fit_intercept:
            own = float(state.alpha[at, problem.label].sum())
            return own - 0.5 * float((state.W[:-1] ** 2).sum())
        beta = np.maximum(-state.alpha, 0.0)
        beta[at, problem.label] = 0.0
        flow = np.stack([beta[problem.label == m].sum(axis=0) for m in range(problem.K)])
        beta *= balanced_shares(flow)[problem.label]
        full = -beta
        full[at, problem.label] = beta.sum(axis=1)
        V = np.zeros_like(state.W)
        size = _size(problem) * problem.K
        combine(matrix_of(problem), full, V, size=size, work=size)
        return float(beta.sum()) - 0.5 * float((V[:-1] ** 2).sum())


def _size(problem: Problem) -> int:
    return int(problem.matrix.nnz) if problem.sparse else problem.n * problem.d


# -- Inner loops of dual coordinate descent for the machine of Crammer and Singer -----------------


# Places in the array of numbers.
RUNNING, ASIDE = range(2)
N_NUMBERS = 2


@inner
def settle(values, heap, at, size):
    """Let the entry at a place of a heap sink: no entry is larger than the one above it."""
    moved = heap[at]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and values[heap[below]] < values[heap[below + 1]]:
            below += 1
        if values[heap[below]] <= values[moved]:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = moved


@inner
def best_alpha(A, cost, own, B, heap, out):
    """Least A |alpha|^2 / 2 + B . alpha with sum alpha = 0, alpha_m <= cost for m = own else 0.

    alpha_m = min(top_m, (beta - B_m) / A), and beta from the largest B_m + A top_m. Few of many
    classes are among these as a rule, so the others are not sorted.
    """
    K = B.shape[0]
    for k in range(K):
        out[k] = B[k] + (A * cost if k == own else 0.0)
        heap[k] = k
    for k in range(K // 2 - 1, -1, -1):
        settle(out, heap, k, K)
    beta = out[heap[0]] - A * cost
    r = 1
    while r < K:
        heap[0] = heap[K - r]
        settle(out, heap, 0, K - r)
        largest = out[heap[0]]
        if beta >= r * largest:
            break
        beta += largest
        r += 1
    beta /= r
    for k in range(K):
        top = cost if k == own else 0.0
        out[k] = min(top, (beta - B[k]) / A)


@routine
def sweep(X, label, cost, lengths, rho, W, alpha, order, active, seed, numbers):
    """One visit of every active row; gives back how many stay active.

    W has one column a class and the offsets in its last row. The dual variables of a row sum
    to zero; that of its own class is at most its cost, the others are at most zero.
    """
    d = W.shape[0] - 1
    K = W.shape[1]
    shuffle(order, active, seed)
    scores = np.empty(K)
    B = np.empty(K)
    new = np.empty(K)
    place = np.empty(K, np.int64)
    gap = 0.0
    k = 0
    while k < active:
        if k + 2 * AHEAD < active:
            sample_locate(X, order[k + 2 * AHEAD])
        if k + AHEAD < active:
            sample_fetch(X, order[k + AHEAD])
        i = order[k]
        own = label[i]
        c = cost[i]
        A = lengths[i] + rho
        for m in range(K):
            scores[m] = W[d, m]
        sample_scores(X, i, W, scores)
        worst = 0.0
        rest = 0.0
        for m in range(K):
            g = scores[m] - scores[own] + (0.0 if m == own else 1.0)
            worst = max(worst, g)
            rest += alpha[i, m] * (scores[m] + (0.0 if m == own else 1.0))
        part = c * worst + rest
        gap += part
        if worst == 0.0 and alpha[i, own] == 0.0:
            margin = np.inf
            for m in range(K):
                if m != own:
                    margin = min(margin, scores[own] - scores[m] - 1.0)
            if margin > numbers[ASIDE]:
                active -= 1
                order[k] = order[active]
                order[active] = i
                continue
        A = max(A, 1e-12)
        for m in range(K):
            B[m] = scores[m] + (0.0 if m == own else 1.0) - A * alpha[i, m]
        best_alpha(A, c, own, B, place, new)
        moved = 0.0
        for m in range(K):
            t = new[m] - alpha[i, m]
            alpha[i, m] = new[m]
            new[m] = t
            moved = max(moved, abs(t))
        if moved > 1e-14 * c:
            sample_spread(X, i, new, W)
            for m in range(K):
                W[d, m] += rho * new[m]
        k += 1
    numbers[RUNNING] = gap
    return active


@routine
def look(X, label, cost, W, out):
    """Sum of the losses, and the scores of all rows."""
    d = W.shape[0] - 1
    K = W.shape[1]
    total = 0.0
    for i in range(label.shape[0]):
        for m in range(K):
            out[i, m] = W[d, m]
        sample_scores(X, i, W, out[i])
        worst = 0.0
        own = out[i, label[i]]
        for m in range(K):
            if m != label[i]:
                worst = max(worst, 1.0 + out[i, m] - own)
        total += cost[i] * worst
    return total


@routine
def combine(X, alpha, W):
    """W[:d] += X' alpha."""
    for i in range(alpha.shape[0]):
        sample_spread(X, i, alpha[i], W)
