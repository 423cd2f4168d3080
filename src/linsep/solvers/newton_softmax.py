"""Newton's method for softmax regression, whole or from a sample and corrected on the way.

Problem   minimise P(W, b) = |W|^2 / 2 + C sum_i s_i (log sum_k exp f_k(x_i) - f_y(x_i)),
          f_k(x) = w_k.x + b_k, intercepts not penalised; C = inf leaves the penalty out
Given     rows x_i of class y_i, weights s_i
Update    intercepts are always best for the weights: K numbers, Newton's method on stored
          scores. W moves along -H^-1 gradient to the minimum along that line, which needs the
          scores of the direction only. H is the matrix of second derivatives where it is small;
          else an approximation from some rows (see softmax_system.py) that L-BFGS corrects
Stop      (P - D) / P <= tol. With the best intercepts the probabilities are dual feasible and
          P - D = |gradient|^2 / 2. Small problems go on to 1e-10
Paper     Boehning 1992, Multinomial logistic regression algorithm; Liu and Nocedal 1989 for
          the corrections
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.certify.survey import survey
from linsep.core.lanes import one_blas_thread
from linsep.core.log import NO_LOG, Log
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.core.status import Status
from linsep.losses.softmax import Shares
from linsep.solvers import softmax_system as system
from linsep.solvers.penalty import Penalty
from linsep.solvers.softmax_direction import direction, refactor, remember, shortcut
from linsep.solvers.softmax_judge import BEYOND, judge
from linsep.solvers.softmax_levels import in_double, is_small, level_rows, sample_size
from linsep.solvers.softmax_line import minimum_along
from linsep.solvers.softmax_pass import SoftmaxRows
from linsep.solvers.softmax_rows import fold, is_folded, means, n_columns
from linsep.solvers.softmax_state import SoftmaxState, share_of

__all__ = ["NewtonSoftmax", "SoftmaxState"]

Array = NDArray[np.float64]

_SAMPLE_STEPS = 10  # on the sample, at most
_PATIENCE = 40  # steps of a small problem before it is approached from small costs
_FIRST_STEPS = 8  # on all rows, before the classes get matrices of their own


@dataclass(frozen=True)
class NewtonSoftmax(Penalty):
    """Softmax regression of two classes and more.

    Parameters
    ----------
    C : float, default=1.0
        inf leaves the penalty out; then the weights of the classes sum to zero.
    tol : float, default=1e-3
        Relative duality gap.
    seed : int, default=0
        Of the samples.
    threads : int or None, default=None
        None means all cores. The result does not depend on it.
    reference : int or None, default=None
        Number of a class whose weights stay zero.
    patient : bool, default=False
        Without a penalty: go on though there may be no maximum.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.newton_softmax import NewtonSoftmax
    >>> problem = Problem([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> out = drive(problem, NewtonSoftmax())
    >>> out.status.name, (out.witness.a.reshape(3, 2)[:, 0].round(4) + 0.0).tolist()
    ('CERTIFIED', [-0.6234, 0.0, 0.6234])
    """

    C: float = 1.0
    tol: float = 1e-3
    seed: int = 0
    threads: int | None = None
    reference: int | None = None
    patient: bool = False

    unit: ClassVar[str] = "Newton step"

    def init(self, problem: Problem, *, start: Any = None) -> SoftmaxState:
        """Zero weights, or (coef, intercept) with one row a class to start from."""
        K, d = problem.K, n_columns(problem)
        dtype = (
            np.float64
            if in_double(problem, self.cost, self.tol, self.threads)
            else problem.matrix.dtype
        )
        state = SoftmaxState(
            W=np.zeros((K, d + 1)),
            S=np.zeros((K, 0), dtype),
            factors=np.zeros((0, 0, 0), dtype),
            gradient=np.zeros((K, d)),
            steps_s=np.zeros((0, K, d)),
            steps_y=np.zeros((0, K, d)),
            n_rows=problem.n,
        )
        if start is not None:
            coef, intercept = start
            coef = np.asarray(coef, dtype=np.float64).reshape(K, problem.d)
            state.W[:, :-1] = coef @ fold(problem)[1] if is_folded(problem) else coef
            state.W[:, -1] = np.ravel(np.asarray(intercept, dtype=np.float64))
            state.W[:, -1] += coef @ means(problem)
            if self.reference is not None:
                state.W -= state.W[self.reference].copy()
            with one_blas_thread():
                self._enter(problem, state, 1)
            state.n_updates = 0
        return state

    def advance(self, problem: Problem, state: SoftmaxState, steps: int, log: Log = NO_LOG) -> int:
        """Newton steps; each ends with an evaluated point."""
        taken = 0
        with one_blas_thread():
            while taken < steps and not state.status.done:
                self._step(problem, state)
                state.steps += 1
                taken += 1
        return taken

    def status(self, state: SoftmaxState) -> Status:
        """CERTIFIED when the gap is closed; STALLED when it cannot be."""
        return state.status

    def witness(self, problem: Problem, state: SoftmaxState) -> Witness:
        """The weights, K blocks of d + 1 numbers; their probabilities are the dual point."""
        W = state.W
        if is_folded(problem):
            W = np.column_stack([W[:, :-1] @ fold(problem)[1].T, W[:, -1]])
        offsets = means(problem)
        if offsets.any():
            W = np.column_stack([W[:, :-1], W[:, -1] - W[:, :-1] @ offsets])
        return Witness(a=W.ravel().copy())

    # -- one step -----------------------------------------------------------------------------

    def _step(self, problem: Problem, state: SoftmaxState) -> None:
        if state.level < 0:
            self._enter(problem, state, 0 if sample_size(problem) else 1)
            return
        if state.level == 0 and self._enough(state):
            self._enter(problem, state, 1)
            return
        rows = self._rows(problem, state.level, state.share)
        if self._turned_back(problem, state):
            return
        self._refresh(problem, state, rows)
        jump = shortcut(state, self.tol) if state.level == 1 and self.ridge else None
        if jump is not None:
            self._move(problem, state, rows, jump, 1.0)
        else:
            self._move(problem, state, rows, direction(state, self.reference))
        state.rung += 1

    def _turned_back(self, problem: Problem, state: SoftmaxState) -> bool:
        """Whether to go on at another share of C.

        Where columns or rows differ by orders of magnitude, rows far on their own side have no
        curvature and yet stand in the way of long steps. From small costs up, ten times a turn,
        each answer is close to the next.
        """
        if state.level < 1 or not self.ridge:
            return False
        if state.share < 1.0 and (state.gap <= 1e-2 or state.idle >= 2):
            state.share = min(1.0, 10.0 * state.share)
        elif state.share == 1.0 and state.rung == _PATIENCE and is_small(problem):
            steep = self.C * float(problem.weight.sum()) * float(survey(problem).rows.max())
            state.share = 10.0 ** -float(np.clip(np.ceil(np.log10(steep + 1.0)), 0.0, 30.0))
            state.W = np.zeros_like(state.W)
        else:
            return False
        self._enter(problem, state, 1)
        state.rung = _PATIENCE + 1
        return True

    def _refresh(self, problem: Problem, state: SoftmaxState, rows: SoftmaxRows) -> None:
        """See that there is a matrix to take directions from."""
        kind = state.kind or system.kind_of(problem.n, n_columns(problem), problem.K)
        late = state.level == 1 and state.rung == _FIRST_STEPS
        if kind == "product" and late and system.room_for_classes(rows.n, rows.d, rows.K):
            kind = "classes"
        early = state.rung <= _FIRST_STEPS or state.rung % _FIRST_STEPS == 0
        stale = kind == "blocks" and state.slow > 0 and early
        if kind != state.kind or stale or self._whole(state, rows):
            refactor(
                state, rows, kind, ridge=self.ridge, offset=problem.fit_intercept,
                fixed=self.reference, seed=self.seed * 1000003 + state.steps,
            )  # fmt: skip
            state.pairs = 0

    def _whole(self, state: SoftmaxState, rows: SoftmaxRows) -> bool:
        """Whether the matrix is that of the present point and all rows, and new in every step."""
        fits = system.rows_for_blocks(rows.n, rows.d, rows.K) == rows.n
        return state.kind == "blocks" and fits

    def _enough(self, state: SoftmaxState) -> bool:
        """Whether the sample has told what it can."""
        return state.rung >= _SAMPLE_STEPS or state.gap <= max(self.tol, 0.03)

    def _enter(self, problem: Problem, state: SoftmaxState, level: int) -> None:
        """Go on with another set of rows."""
        rows = self._rows(problem, level, state.share)
        state.level, state.rung, state.idle = level, 0, 0
        state.kind = ""
        S = rows.forward(state.W[:, :-1]) + state.W[:, -1:].astype(rows.dtype)
        state.rows_read += rows.n
        self._take(problem, state, rows, state.W, S)

    def _take(
        self, problem: Problem, state: SoftmaxState, rows: SoftmaxRows, W: Array, S: NDArray[Any]
    ) -> Shares:
        """Move to a point with given scores: best intercepts, objective, gradient, gap."""
        if problem.fit_intercept:
            shift, now = rows.balanced(S, self.reference, 20 if state.level < 1 else 6)
            W = W.copy()
            W[:, -1] += shift
            S = S + shift[:, None].astype(S.dtype)
        else:
            now = rows.shares(S)
        if self.reference is None:  # what is common to all classes only costs
            W = W - W.mean(axis=0)
        state.W, state.S = W, S
        state.n_updates += 1
        half = 0.5 * self.ridge * float(np.vdot(W[:, :-1], W[:, :-1]))
        state.primal = half + float(rows.cost @ now.losses)
        state.gradient = self.ridge * W[:, :-1] + rows.backward(rows.residual(now))
        state.rows_read += rows.n
        if self.reference is not None:
            state.gradient[self.reference] = 0.0
        if not (np.isfinite(state.primal) and np.isfinite(state.gradient).all()):
            state.status = Status.DIVERGED
            return now
        state.status = Status.RUNNING
        if self.ridge:
            state.gap = share_of(0.5 * float(np.vdot(state.gradient, state.gradient)), state.primal)
            small = is_small(problem)
            whole = state.level == 1 and state.share == 1.0
            if whole and state.gap <= (min(self.tol, BEYOND) if small else self.tol):
                state.status = Status.CERTIFIED
        return now

    def _move(
        self,
        problem: Problem,
        state: SoftmaxState,
        rows: SoftmaxRows,
        dW: Array,
        t: float | None = None,
    ) -> None:
        """To the minimum along dW, or by t."""
        dS = rows.forward(dW[:, :-1]) + dW[:, -1:].astype(rows.dtype)
        if t is None:
            t = minimum_along(state, rows, dW, dS, self.ridge)
        before_W, before_G, before = state.W, state.gradient, (state.primal, state.gap)
        if not self.ridge:
            decrement = abs(float(np.vdot(state.gradient, dW[:, :-1])))
            state.gap = share_of(decrement, state.primal)
        S = state.S + rows.dtype.type(t) * dS
        self._take(problem, state, rows, state.W + t * dW, S)
        if state.status.done:
            return
        if not self._whole(state, rows):
            remember(state, before_W, before_G)
        judge(problem, state, before, tol=self.tol, ridge=self.ridge, patient=self.patient)

    def _rows(self, problem: Problem, level: int, share: float = 1.0) -> SoftmaxRows:
        return level_rows(
            problem, level, share, C=self.cost, tol=self.tol, seed=self.seed, threads=self.threads
        )
