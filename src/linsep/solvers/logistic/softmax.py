"""Newton's method for softmax regression, whole or from a sample and corrected on the way.

Problem   minimise P(W, b) = |W|^2 / 2 + C sum_i s_i (log sum_k exp f_k(x_i) - f_y(x_i)),
          f_k(x) = w_k.x + b_k, intercepts not penalised; C = inf leaves the penalty out
Given     rows x_i of class y_i, weights s_i
Update    intercepts are always best for the weights: K numbers, Newton's method on stored
          scores. W moves along -H^-1 gradient to the minimum along that line, which needs the
          scores of the direction only. H is the matrix of second derivatives where it is small;
          else an approximation from some rows (see below) that L-BFGS corrects. Before that,
          where such a matrix costs more than some passes, all weights and intercepts move by
          L-BFGS alone, a pass a step, as long as their rate promises the end sooner
Stop      (P - D) / P <= tol. With the best intercepts the probabilities are dual feasible and
          P - D = |gradient|^2 / 2
Paper     Boehning 1992, Multinomial logistic regression algorithm; Liu and Nocedal 1989 for
          the corrections
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.costs import (
    FOLDED_WEIGHTS,
    GRAM_COLUMNS,
    HESSIAN_WORK,
    PRODUCT,
    SOFTMAX_PASS,
    SOFTMAX_SAMPLED,
    WHOLE_HESSIAN,
)
from linsep.core.lanes import Lanes, one_blas_thread, run_all
from linsep.core.order import generator
from linsep.core.problem import Problem, moved, reads
from linsep.core.protocol import ANY, FIXED, NO_LOG, Held, Log, State, Status, Witness, repeated
from linsep.losses.softmax import Shares
from linsep.numerics.cholesky import Factor, growing, triangle
from linsep.numerics.lbfgs import solved_with_pairs
from linsep.numerics.line import Bracket
from linsep.rows.levels import Latest, ladder, want_double
from linsep.rows.reader import survey
from linsep.rows.softmax import SoftmaxRows
from linsep.solvers.logistic.line import WATCHED, Penalty, pairs_pay, share_of, watched

Array = NDArray[np.float64]

_SAMPLE_STEPS = 10  # on the sample, at most
_HALVINGS = 5  # of a step by pairs, at most
_DIRECT_STEPS = 40  # steps of a small problem before it is approached from small costs
_FIRST_STEPS = 8  # on all rows, before the classes get matrices of their own
_PAIRS = 10  # of steps and gradients that are kept where no matrix is
_NEWTON = 7  # steps with a matrix that do the same,
_EACH = 4.0  # each of which takes so many passes beside it


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
    >>> from linsep.solvers.logistic.softmax import NewtonSoftmax
    >>> problem = Problem([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> out = drive(problem, NewtonSoftmax(tol=1e-9))
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
            paired_s=np.zeros((0, K, d + 1)),
            paired_y=np.zeros((0, K, d + 1)),
            slope=np.zeros((K, d + 1)),
            n_rows=problem.n,
        )
        state.paired = start is None and self.ridge > 0 and self._worth_pairs(problem)
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

    def extents(self, problem: Problem, state: SoftmaxState) -> dict[str, int]:
        """Rows of the level, and the shape of the matrix of each kind."""
        K, d = problem.K, n_columns(problem)
        read = 0 if state.level < 0 else self._rows(problem, state.level).n
        layers, side, columns = {
            "blocks": (1, K * (d + 1), K * (d + 1)),
            "product": (1, d, d),
            "classes": (K, d, d),
            "diagonal": (1, 1, d),
        }.get(state.kind, (ANY, ANY, ANY))
        scales = {"blocks": K * (d + 1), "product": d}.get(state.kind, ANY)
        classes = K if state.kind == "product" else ANY
        return {
            "read": read, "layers": layers, "side": side, "columns": columns, "scales": scales,
            "classes": classes,
        }  # fmt: skip

    def advance(self, problem: Problem, state: SoftmaxState, steps: int, log: Log = NO_LOG) -> int:
        """Newton steps; each ends with an evaluated point."""
        with one_blas_thread():
            return repeated(state, steps, lambda: self._step(problem, state))

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
        if state.paired:
            self._by_pairs(problem, state)
            return
        if state.level < 0:
            known = state.W.any()  # by pairs: a sample could tell no more
            self._enter(problem, state, 0 if sample_size(problem) and not known else 1)
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
        state.level_steps += 1

    # -- steps by pairs -----------------------------------------------------------------------

    def _by_pairs(self, problem: Problem, state: SoftmaxState) -> None:
        """A step by L-BFGS in all weights and intercepts, which is one pass over the rows."""
        rows = self._rows(problem, 1)
        if not np.isfinite(state.primal):
            self._begin_pairs(problem, state, rows)
            return
        pairs = list(zip(state.paired_s, state.paired_y))
        inverse = 1.0 / self._diagonal(problem)
        p = -solved_with_pairs(state.slope, pairs, lambda q: inverse * q, rescale=True)
        slope, t = float(np.vdot(p, state.slope)), 1.0
        for _ in range(_HALVINGS):
            primal, G = self._passed(state, rows, state.W + t * p, offset=problem.fit_intercept)
            if primal <= state.primal + 1e-4 * t * slope:
                break
            # the parabola through both values and the slope, within reason
            bend = primal - state.primal - t * slope
            t *= float(np.clip(-0.5 * t * slope / bend if bend > 0 else 0.0, 0.1, 0.5))
        else:
            state.paired = False
            return
        s, y = t * p, G - state.slope
        if float(np.vdot(s, y)) > 0:
            pairs = [*pairs, (s, y)][-_PAIRS:]
            state.paired_s = np.array([s for s, _ in pairs])
            state.paired_y = np.array([y for _, y in pairs])
        fell = state.primal - primal > 0.01 * primal
        state.W, state.slope, state.primal = state.W + s, G, primal
        state.n_updates += 1
        self._watch_pairs(problem, state, rows, fell=fell)

    def _begin_pairs(self, problem: Problem, state: SoftmaxState, rows: SoftmaxRows) -> None:
        if problem.fit_intercept:  # those of the shares of the classes
            mass = np.bincount(problem.label, problem.weight, problem.K)
            logs = np.log(np.maximum(mass, 1e-300))
            state.W[:, -1] = logs - (
                logs.mean() if self.reference is None else logs[self.reference]
            )
        state.primal, state.slope = self._passed(state, rows, state.W, offset=problem.fit_intercept)
        state.paired = bool(np.isfinite(state.primal) and np.isfinite(state.slope).all())

    def _passed(
        self, state: SoftmaxState, rows: SoftmaxRows, W: Array, *, offset: bool
    ) -> tuple[float, Array]:
        """Objective and derivatives by weights and intercepts."""
        now = rows.shares(rows.forward(W[:, :-1]) + W[:, -1:].astype(rows.dtype))
        R = rows.residual(now)
        state.rows_read += rows.n
        G = np.empty_like(W)
        G[:, :-1] = self.ridge * W[:, :-1] + rows.backward(R)
        G[:, -1] = R.sum(axis=1, dtype=np.float64) if offset else 0.0
        if self.reference is not None:
            G[self.reference] = 0.0
        half = 0.5 * self.ridge * float(np.vdot(W[:, :-1], W[:, :-1]))
        return half + float(rows.cost @ now.losses), G

    def _watch_pairs(
        self, problem: Problem, state: SoftmaxState, rows: SoftmaxRows, *, fell: bool
    ) -> None:
        """Whether the end is reached, or the matrix is the better way on."""
        w = state.slope[:, :-1]
        wrong = np.square(state.slope[:, -1]) / self._diagonal(problem)[:, -1]
        gap = share_of(0.5 * float(np.vdot(w, w)) + 0.5 * float(wrong.sum()), state.primal)
        if gap <= 0.8 * self.tol:
            state.paired = False
            self._enter(problem, state, 1)  # with the best intercepts
            return
        state.trail = watched(state.trail, gap)
        newton = _NEWTON * (_EACH + matrix_price(problem))
        state.paired = fell or pairs_pay(state.trail, newton)

    def _diagonal(self, problem: Problem) -> Array:
        """About the second derivatives by single weights: those at the shares of the classes."""
        share = np.bincount(problem.label, problem.weight, problem.K) / problem.total_weight
        bend = self.cost * np.maximum(share * (1.0 - share), 1e-3)
        columns = np.append(survey(problem, self.threads).columns, problem.total_weight)
        out = np.outer(bend, columns)
        out[:, :-1] += self.ridge
        return np.asarray(np.where(out > 0, out, 1.0))

    def _worth_pairs(self, problem: Problem) -> bool:
        """Whether a matrix costs more than some passes, or is not all that there is to know."""
        whole = kind_of(problem.n, n_columns(problem), problem.K) == "blocks"
        dear = not whole or _NEWTON * matrix_price(problem) > WATCHED
        return dear and not is_folded(problem)

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
        elif state.share == 1.0 and state.level_steps == _DIRECT_STEPS and is_small(problem):
            steep = self.C * float(problem.weight.sum()) * float(survey(problem).rows.max())
            state.share = 10.0 ** -float(np.clip(np.ceil(np.log10(steep + 1.0)), 0.0, 30.0))
            state.W = np.zeros_like(state.W)
        else:
            return False
        self._enter(problem, state, 1)
        state.level_steps = _DIRECT_STEPS + 1
        return True

    def _refresh(self, problem: Problem, state: SoftmaxState, rows: SoftmaxRows) -> None:
        """See that there is a matrix to take directions from."""
        kind = state.kind or kind_of(problem.n, n_columns(problem), problem.K)
        late = state.level == 1 and state.level_steps == _FIRST_STEPS
        if kind == "product" and late and room_for_classes(rows.n, rows.d, rows.K):
            kind = "classes"
        early = state.level_steps <= _FIRST_STEPS or state.level_steps % _FIRST_STEPS == 0
        stale = kind == "blocks" and state.slow > 0 and early
        if kind != state.kind or stale or self._whole(state, rows):
            refactor(
                state, rows, kind, ridge=self.ridge, offset=problem.fit_intercept,
                fixed=self.reference, seed=self.seed * 1000003 + state.steps,
            )  # fmt: skip
            state.pairs = 0

    def _whole(self, state: SoftmaxState, rows: SoftmaxRows) -> bool:
        """Whether the matrix is that of the present point and all rows, and new in every step."""
        fits = rows_for_blocks(rows.n, rows.d, rows.K) == rows.n
        return state.kind == "blocks" and fits

    def _enough(self, state: SoftmaxState) -> bool:
        """Whether the sample has told what it can."""
        return state.level_steps >= _SAMPLE_STEPS or state.gap <= max(self.tol, 0.03)

    def _enter(self, problem: Problem, state: SoftmaxState, level: int) -> None:
        """Go on with another set of rows."""
        rows = self._rows(problem, level, state.share)
        state.level, state.level_steps, state.idle = level, 0, 0
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
            whole = state.level == 1 and state.share == 1.0
            if whole and state.gap <= self.tol:
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


# -- What changes while softmax regression is solved ----------------------------------------------


@dataclass(kw_only=True)
class SoftmaxState(State):
    """An evaluated point, the curvature in use, and the corrections of it."""

    held: ClassVar[Mapping[str, Held]] = {
        "level": Held(low=-1, most=1),
        "S": Held(shape=("K", "read"), empty=True),
        "kind": Held(words=("", "blocks", "product", "classes", "diagonal")),
        "factors": Held(shape=("layers", "side", "columns")),
        "scales": Held(shape=("scales",)),
        "class_factors": Held(shape=("classes", "classes")),
        "class_scales": Held(shape=("classes",)),
        "steps_s": Held(shape=("?", None, None)),
        "steps_y": Held(shape=("steps_s", None, None)),
        "paired_s": Held(shape=("?", None, None)),
        "paired_y": Held(shape=("paired_s", None, None)),
        "trail": Held(shape=("?",), empty=True),
        "n_rows": FIXED,
    }

    W: Array
    """Weights, one row a class: d of them and the intercept (n of them where the rows are few
    and the columns many, see fold)."""
    level: int = -1
    """-1 before the first evaluation, 0 on a sample, 1 on all rows."""
    level_steps: int = 0
    """Steps at this level."""
    S: NDArray[Any]
    """Scores of the rows of the level, shape (K, n)."""
    gradient: Array
    """By the weights, shape (K, d); that by the intercepts is zero."""
    primal: float = np.inf
    gap: float = np.inf
    """Relative gap as the solver sees it; certify has the last word."""
    kind: str = ""
    factors: NDArray[Any]
    scales: Array = field(default_factory=lambda: np.zeros(0))
    class_factors: Array = field(default_factory=lambda: np.zeros((0, 0)))
    class_scales: Array = field(default_factory=lambda: np.zeros(0))
    """The matrix that directions are taken from and its kind."""
    steps_s: Array
    """Changes of the weights since; pair number i is in row i modulo the number of rows."""
    steps_y: Array
    """Changes of the gradient that went with them."""
    pairs: int = 0
    """How many there were; the last ones are kept."""
    paired: bool = False
    """Whether steps by pairs alone come first."""
    paired_s: Array
    """Of these the changes of weights and intercepts, the oldest first,"""
    paired_y: Array
    """and of the derivatives."""
    slope: Array
    """Derivatives by weights and intercepts."""
    trail: Array = field(default_factory=lambda: np.zeros(0))
    """The least gap so far, after each of the last steps by pairs."""
    idle: int = 0
    share: float = 1.0
    """Part of C in force: less than 1 on the way up from small costs."""
    slow: int = 0
    """How many of the last steps left more than a third of the gap."""
    tried: float = np.inf
    """Gap that the last shortcut promised."""
    rows_read: float = 0.0
    n_rows: int

    @property
    def passes(self) -> float:
        """Rows read divided by the number of rows."""
        return self.rows_read / self.n_rows


# -- Directions for softmax regression: a matrix at hand, corrected by the pairs of L-BFGS --------


_MEMORY = 1 << 25  # numbers in all pairs
_SURELY = 0.1  # share of the curvature of rows in doubt that rows surely wrong are taken to have


def remember(state: SoftmaxState, W: Array, G: Array) -> None:
    s, y = state.W[:, :-1] - W[:, :-1], state.gradient - G
    if not float(np.vdot(s, y)) > 0:
        return
    if not len(state.steps_s):
        room = int(np.clip(_MEMORY // max(1, 2 * s.size), 6, 30))
        state.steps_s, state.steps_y = np.zeros((room, *s.shape)), np.zeros((room, *s.shape))
    place = state.pairs % len(state.steps_s)
    state.steps_s[place], state.steps_y[place] = s, y
    state.pairs += 1


def refactor(
    state: SoftmaxState,
    rows: SoftmaxRows,
    kind: str,
    *,
    ridge: float,
    offset: bool,
    fixed: int | None,
    seed: int,
) -> None:
    """Compute the matrix that directions are taken from at the present point."""
    now = rows.shares(state.S)
    state.kind = kind
    found: NDArray[Any]
    if kind == "blocks":
        found, state.scales = factor_blocks(rows, now, ridge, fixed, seed, offset=offset)
    elif kind == "product":
        found, state.scales, state.class_factors, state.class_scales = factor_product(
            rows, now, ridge, fixed, seed, offset=offset
        )
    elif kind == "classes":
        found = factor_classes(rows, now, ridge, seed, offset=offset)
    else:
        found = factor_diagonal(rows, now, ridge)[None]
    state.factors = np.atleast_3d(found.T).T.astype(rows.dtype, copy=False)


def solved(state: SoftmaxState, G: Array, fixed: int | None) -> Array:
    """H^-1 G by the matrix at hand."""
    if state.kind == "blocks":
        return Blocks(state.factors[0], state.scales, len(G)).solve(G)[:, :-1]
    if state.kind == "product":
        parts = (state.factors[0], state.scales, state.class_factors, state.class_scales)
        out = solve_product(parts, G)
    elif state.kind == "classes":
        out = solve_classes(state.factors, G)
    else:
        out = G / state.factors[0, 0]
    if fixed is not None:
        out[fixed] = 0.0
    return out


def direction(state: SoftmaxState, fixed: int | None) -> Array:
    """-H^-1 gradient with H corrected by the pairs, and intercepts to match."""
    dW = np.zeros_like(state.W)
    room = max(1, len(state.steps_s))
    known = range(max(0, state.pairs - room), state.pairs)
    pairs = [(state.steps_s[i % room], state.steps_y[i % room]) for i in known]
    if state.kind == "blocks" and not pairs:
        dW[:] = -Blocks(state.factors[0], state.scales, len(dW)).solve(state.gradient)
        return dW
    dW[:, :-1] = -solved_with_pairs(
        state.gradient, pairs, lambda q: solved(state, q, fixed), rescale=True
    )
    return dW


def shortcut(state: SoftmaxState, tol: float) -> Array | None:
    """The combination of past steps that leaves the shortest gradient, if that is enough.

    The gap is half the squared length of the gradient, which is not what the method makes
    small; gradients of past points cancel each other to a good part.
    """
    count = min(state.pairs, len(state.steps_y))
    if count < 4 or state.gap > 20 * tol:
        return None
    Y = state.steps_y[:count].reshape(count, -1)
    g = state.gradient.ravel()
    c = np.linalg.lstsq(Y @ Y.T, -(Y @ g), rcond=1e-12)[0]
    rest = g + c @ Y
    promised = share_of(0.5 * float(rest @ rest), state.primal)
    if promised > 0.8 * tol or promised > 0.7 * state.tried:
        return None
    state.tried = promised
    dW = np.zeros_like(state.W)
    dW[:, :-1] = np.tensordot(c, state.steps_s[:count], axes=1)
    return dW


# -- Newton systems of softmax regression, whole where they are small, nearly so where not --------
#
# blocks     all second derivatives by the weights and intercepts of all classes, by Cholesky
# product    A x G: classes times columns, A the average of diag(p) - p p' over the rows and G the
#            weighted products of the columns, about their weighted mean since intercepts follow;
#            two small eigenvalue problems, that of the columns relative to G + ridge: whatever
#            their units, no column drowns in the rounding of a larger one
# classes    the second derivatives by the weights of each class alone, once the rows in doubt
#            are known; what couples the classes is left to the corrections
# diagonal   for very many columns


def kind_of(n: int, d: int, K: int) -> str:
    """Which of the three: a function of the shape alone."""
    if K * (d + 1) <= WHOLE_HESSIAN:
        return "blocks"
    return "product" if d <= GRAM_COLUMNS else "diagonal"


def matrix_price(problem: Problem) -> float:
    """What a matrix of second derivatives costs, in passes of steps by pairs."""
    n, d, K = problem.n, n_columns(problem), problem.K
    kind, width = kind_of(n, d, K), K * (d + 1)
    if kind == "blocks":
        products = 0.5 * K * (K - 1) * rows_for_blocks(n, d, K) * (d + 1) ** 2 + width**3 / 3
    elif kind == "product":
        products = min(n, max(4096, 6 * d)) * d**2 + 10.0 * d**3
    else:
        products = float(n * d)
    share = problem.matrix.nnz / max(1, problem.n * problem.d) if problem.sparse else 1.0
    return PRODUCT * products / (n * K * (SOFTMAX_PASS + 2 * PRODUCT * share * d))


def rows_for_blocks(n: int, d: int, K: int) -> int:
    """How many rows the matrix of second derivatives may be made of."""
    each = 0.5 * K * (K - 1) * (d + 1) ** 2
    return int(min(n, max(HESSIAN_WORK / each, 2 * K * (d + 1))))


# -- blocks -----------------------------------------------------------------------------------


def factor_blocks(
    rows: SoftmaxRows,
    now: Shares,
    ridge: float,
    reference: int | None,
    seed: int,
    *,
    offset: bool,
) -> tuple[Array, Array]:
    """Cholesky factor of the scaled matrix and the scales, 0 for what does not move."""
    K, D = rows.K, rows.d + 1
    p = rows.probabilities(now)
    most = rows_for_blocks(rows.n, rows.d, K)
    index, scale = None, rows.cost
    if most < rows.n:
        h = rows.cost * (p * (1.0 - p)).sum(axis=0)
        index, scale = _picked(h * (0.5 + 0.5 * rows.influence), rows.cost, most, seed)
    H = rows.second_derivatives(p, index, scale)
    inner = np.arange(D - 1)
    for k in range(K):
        H[k, k, inner, inner] += ridge
    if reference is None:  # what is common to all classes changes no probability and stays 0
        each = np.arange(D)
        H[:, :, each, each] += np.einsum("kkjj->j", H) / K**2
    H = H.transpose(0, 2, 1, 3).reshape(K * D, K * D)
    moving = np.ones((K, D), dtype=bool)
    moving[:, -1] = offset
    if reference is not None:
        moving[reference] = False
    # without a penalty columns that depend on others leave directions with no curvature at all
    return _cholesky(H, moving.ravel(), 1e-15 * K * D if ridge else 1e-11)


def _cholesky(H: Array, moving: NDArray[np.bool_], jitter: float) -> tuple[Array, Array]:
    diagonal = H.diagonal().copy()
    moving = moving & (diagonal > 0) & np.isfinite(diagonal)
    scale = np.where(moving, 1.0 / np.sqrt(np.where(moving, diagonal, 1.0)), 0.0)
    factor = Factor.of(H, scale, growing(jitter), lower=True)
    return np.eye(len(H)) if factor is None else factor.triangle, scale


class Blocks:
    """Solves with a factor of all second derivatives."""

    def __init__(self, factor: Array, scale: Array, K: int) -> None:
        self.factor, self.scale, self.K = factor, scale, K

    def solve(self, G: Array) -> Array:
        """H^-1 (G, g) for derivatives G of shape (K, d) or, with intercepts, (K, d + 1)."""
        K, D = self.K, len(self.scale) // self.K
        right = np.zeros((K, D))
        right[:, : G.shape[1]] = G
        flat = self.scale * right.ravel()
        flat = scipy.linalg.cho_solve((self.factor, True), flat, check_finite=False)
        out: Array = (self.scale * flat).reshape(K, D)
        return out


# -- product ----------------------------------------------------------------------------------


def factor_product(
    rows: SoftmaxRows, now: Shares, ridge: float, reference: int | None, seed: int, *, offset: bool
) -> tuple[Array, Array, Array, Array]:
    """Vectors U with U'(G + R)U = 1, U'R U = diag(kept), and those of the classes.

    R is the ridge, or what rounding leaves of G where that is more.
    """
    p, K = rows.probabilities(now), rows.K
    cost = rows.cost.astype(p.dtype, copy=False)
    h = rows.cost * (p * (1.0 - p)).sum(axis=0) / K
    doubt = h * (0.5 + 0.5 * rows.influence)
    index, scale = _picked(doubt, h, max(4096, 6 * rows.d), seed)
    weight = scale[index]
    G, sums = rows.weighted_gram(index, weight)
    if offset and weight.sum() > 0:
        G -= np.outer(sums, sums / weight.sum())
    floor = ridge or _floor(rows, np.abs(rows.residual(now)).sum(axis=0) / K, G, offset=offset)
    A = -((p * cost) @ p.T).astype(np.float64)
    np.fill_diagonal(A, 0.0)
    np.fill_diagonal(A, -A.sum(axis=1))
    if reference is not None:
        A[reference] = A[:, reference] = 0.0
    A *= K / max(float(np.trace(A)), 1e-300)
    small, V = scipy.linalg.eigh(A, check_finite=False)
    kept, U = _against_ridge(G, floor, _blur(rows))
    return U, kept, V, np.maximum(small, 1e-3)


def _blur(rows: SoftmaxRows) -> float:
    """What rounding leaves of the products of a column with itself."""
    return 1e-7 if rows.dtype == np.float32 else 1e-13


def _floor(rows: SoftmaxRows, wrong: Array, G: Array, *, offset: bool) -> Array:
    """What the diagonal of G lacks of a share of the columns' squares, times how wrong a row is.

    At the best point that is about their curvature. Without a penalty nothing else would hold the
    weights of columns back that are zero in all rows of a sample, or in all but those that are
    surely wrong, where curvature is none.
    """
    whole, total = _squares(rows, wrong), float(wrong.sum())
    if offset and total > 0:
        sums = rows.backward(np.broadcast_to(wrong.astype(rows.dtype), (rows.K, rows.n)))[0]
        whole = np.maximum(whole - sums * (sums / total), _blur(rows) * whole)
    whole = np.where(whole > 0, whole, 1.0)
    share = _SURELY * whole
    return np.maximum(share - G.diagonal(), 0.3 * share)


def _against_ridge(G: Array, ridge: float | Array, blur: float) -> tuple[Array, Array]:
    while True:
        R = np.maximum(ridge, np.maximum(blur * G.diagonal(), 1e-300))
        scale = 1.0 / np.sqrt(G.diagonal() + R)
        scaled = G * scale[:, None] * scale
        np.fill_diagonal(scaled, 1.0)
        try:
            kept, U = scipy.linalg.eigh(np.diag(R * scale * scale), scaled, check_finite=False)
            return np.clip(kept, 0.0, 1.0), scale[:, None] * U
        except scipy.linalg.LinAlgError:  # columns that depend on each other
            blur *= 10
            if blur > 1e3:  # NaN, or sums that are none
                return np.ones(len(G)), np.diag(scale)


def solve_product(parts: tuple[Array, Array, Array, Array], G: Array) -> Array:
    """(A x G + ridge)^-1 applied to derivatives of shape (K, d)."""
    U, kept, V, small = parts
    inner = (V.T @ G).astype(U.dtype) @ U
    inner /= np.outer(small, 1.0 - kept) + kept
    out: Array = V @ (inner @ U.T)
    return out


# -- diagonal ---------------------------------------------------------------------------------


def factor_diagonal(rows: SoftmaxRows, now: Shares, ridge: float) -> Array:
    """Second derivatives by single weights, averaged over the classes, shape (d,)."""
    p = rows.probabilities(now)
    total = _squares(rows, rows.cost * (p * (1.0 - p)).sum(axis=0) / rows.K) + ridge
    return np.asarray(np.where(total > 0, total, 1.0))


def _squares(rows: SoftmaxRows, h: Array) -> Array:
    """Of each column the sum of its squares, times h of the row."""
    if rows.lanes.sparse:
        M = rows.matrix
        each = np.repeat(h, np.diff(M.indptr)) * np.square(M.data, dtype=np.float64)
        return np.bincount(M.indices, weights=each, minlength=rows.d).astype(np.float64)
    sums = np.zeros(rows.d)
    for lo in range(0, rows.n, rows.step):
        X: Any = rows.matrix[lo : lo + rows.step].astype(np.float64, copy=False)
        sums += h[lo : lo + rows.step] @ (X * X)
    return sums


def _picked(
    importance: Array, value: Array, size: int, seed: int
) -> tuple[NDArray[np.int64], Array]:
    """About ``size`` rows, important ones more often, and values that keep sums unbiased."""
    total = float(importance.sum())
    if not total > 0 or len(importance) <= size:
        return np.arange(len(importance)), value
    chance = np.minimum(1.0, size * (0.9 * importance / total + 0.1 / len(importance)))
    index = np.flatnonzero(generator(seed, 1).random(len(importance)) < chance)
    return index, value / chance


# -- classes ----------------------------------------------------------------------------------


def room_for_classes(n: int, d: int, K: int) -> bool:
    """Whether a matrix for each class is small beside the rows."""
    return 2 * K * d <= n


def factor_classes(
    rows: SoftmaxRows, now: Shares, ridge: float, seed: int, *, offset: bool
) -> NDArray[Any]:
    """For each class the Cholesky factor of its own second derivatives, shape (K, d, d).

    Each class has a sample of its own, of the rows where it is in doubt. Factors are those of the
    matrix scaled to a unit diagonal, their rows then scaled back: L L' is the matrix itself.
    """
    p, K, d = rows.probabilities(now), rows.K, rows.d
    out = np.empty((K, d, d), rows.dtype)

    def one(k: int) -> None:
        h = rows.cost * (p[k] * (1.0 - p[k]))
        doubt = h * (0.5 + 0.5 * rows.influence)
        index, scale = _picked(doubt, h, max(4096, 5 * d), seed + k)
        weight = scale[index]
        G, sums = rows.weighted_gram(index, weight)
        if offset and weight.sum() > 0:
            G -= np.outer(sums, sums / weight.sum())
        floor = ridge or _floor(rows, np.abs(rows.residual(now)[k]), G, offset=offset)
        G.flat[:: d + 1] = np.maximum(G.diagonal(), 1e-300) + floor
        size = np.sqrt(G.diagonal())
        G /= size[:, None]
        G /= size
        L = triangle(G.astype(rows.dtype), growing(10 * _blur(rows), most=1e6), lower=True)
        out[k] = np.diag(size) if L is None else size[:, None] * L

    run_all([partial(one, k) for k in range(K)], rows.threads)
    return out


def solve_classes(factors: NDArray[Any], G: Array) -> Array:
    """H_k^-1 g_k for each class."""
    out = np.empty_like(G)
    for k, factor in enumerate(factors):
        out[k] = scipy.linalg.cho_solve(
            (factor, True), G[k].astype(factor.dtype), check_finite=False
        )
    return out


# -- The best point on a line, for Newton's method of softmax regression --------------------------


def minimum_along(
    state: SoftmaxState,
    rows: SoftmaxRows,
    dW: NDArray[np.float64],
    dS: NDArray[Any],
    ridge: float,
) -> float:
    """t > 0 where the objective along dW is least, nearly; dS are the scores of dW."""
    W, D = state.W[:, :-1], dW[:, :-1]
    wd, dd = ridge * float(np.vdot(W, D)), ridge * float(np.vdot(D, D))
    start = float(np.vdot(state.gradient, D))
    half = 0.5 * ridge * float(np.vdot(W, W))
    room = (1e-6 if rows.dtype == np.float32 else 1e-14) * abs(state.primal)  # of rounding
    bracket, t = Bracket(cut=0.1), 1.0
    for _ in range(60):
        loss, first, second = rows.along(state.S, dS, t)
        value = half + t * (wd + 0.5 * t * dd) + loss
        first, second = first + wd + t * dd, second + dd
        gained = value <= state.primal + 0.01 * t * start + room
        if gained and abs(first) <= 0.1 * abs(start):
            break
        # where the slope is all but zero, rounding may hide its sign but not a loss
        new = bracket.after(t, first if np.isfinite(value) else np.inf, second)
        if new == t:
            break
        t = new
    return t


# -- Whether Newton's method for softmax regression goes on after a step --------------------------


BEYOND = 1e-10  # relative gap that small problems are solved to, whatever the tolerance
_RUNAWAY = 20  # steps without a penalty after which shrinking steps are expected


def judge(
    problem: Problem,
    state: SoftmaxState,
    before: tuple[float, float],
    *,
    tol: float,
    ridge: float,
    patient: bool,
) -> None:
    """Whether to go on after a step; before are objective and gap that it started from."""
    primal, gap = before
    lower = state.primal < primal * (1 - 1e-13)
    nearer = state.gap < 0.5 * gap
    state.slow = 0 if state.gap < 0.3 * gap else state.slow + 1
    state.idle = 0 if lower or nearer else state.idle + 1
    if state.level < 1 or state.share < 1.0:
        return
    small = is_small(problem)
    if state.idle >= (2 if small else 5):
        state.status = Status.CERTIFIED if state.gap <= tol else Status.STALLED
    elif not ridge and state.gap <= (min(tol, BEYOND**2) if small else tol):
        state.status = Status.CERTIFIED
    elif not (ridge or patient):
        _watch(problem, state)


def _watch(problem: Problem, state: SoftmaxState) -> None:
    """Without a penalty: the signs that there may be no maximum.

    Along a direction in which losses vanish for ever, each step of Newton's method leaves
    the share 1 / e of what was to gain.
    """
    if _separated(state, problem):
        state.status = Status.SEPARATED
    elif is_small(problem) and state.level_steps >= _RUNAWAY and state.slow >= 8:
        state.status = Status.STALLED


def _separated(state: SoftmaxState, problem: Problem) -> bool:
    """Whether every row is on its own side: then the likelihood has no maximum."""
    own = state.S[problem.label, np.arange(problem.n)]
    return bool(((own <= state.S).sum(axis=0) == 1).all())


# -- Rows that Newton's method for softmax regression works on: a sample, then all of them --------


_rows = Latest()


def is_small(problem: Problem) -> bool:
    """Whether every step has all second derivatives of all rows: then digits cost little."""
    n, d, K = problem.n, n_columns(problem), problem.K
    return kind_of(n, d, K) == "blocks" and rows_for_blocks(n, d, K) == n


def in_double(problem: Problem, C: float, tol: float, threads: int | None) -> bool:
    """Whether to calculate in float64: where accuracy is asked for or costs little."""
    small = kind_of(problem.n, n_columns(problem), problem.K) == "blocks"
    if small or problem.n * problem.d < 1 << 20:
        return True
    return want_double(problem, C, tol, threads)


def sample_size(problem: Problem) -> int:
    """Rows of the sample that comes before all rows; 0 for none."""
    return sum(ladder(problem.n, (max(6144, 8 * problem.d),), 4))


def level_rows(
    problem: Problem, level: int, share: float, *, C: float, tol: float, seed: int,
    threads: int | None,
) -> SoftmaxRows:  # fmt: skip
    """The rows of a level, 0 the sample and 1 all, at a share of their costs.

    A function of the arguments alone; the last ones are kept.
    """

    def make() -> SoftmaxRows:
        double = in_double(problem, C, tol, threads)
        if level == 1:
            return all_rows(problem, C, double=double, threads=threads)
        return some_rows(problem, C, sample_size(problem), seed, double=double, threads=threads)

    rows = _rows.made((problem, level, C, tol, seed, threads), make)
    if share < 1.0:
        rows = copy.copy(rows)
        rows.cost = share * rows.cost
    return rows


# -- Which rows softmax regression works on: all, a sample, a wide table made square --------------
#
# Columns of small tables are centred: a free intercept makes up for it.


_CENTRED = 1 << 20  # entries up to which columns are centred


def is_folded(problem: Problem) -> bool:
    """Whether there are few rows and many columns: weights are then combinations of the rows."""
    n, d, K = problem.n, problem.d, problem.K
    return n < d and K * (n + 1) <= FOLDED_WEIGHTS < K * (d + 1) and n * d <= 1 << 25


def n_columns(problem: Problem) -> int:
    """Columns of the rows that the solver sees."""
    return problem.n if is_folded(problem) else problem.d


def fold(problem: Problem) -> tuple[Array, Array]:
    """Z of shape (n, n) and Q of shape (d, n) with orthonormal columns, X = Z Q'.

    Weights W = V Q' have the length of V and the scores Z V'; no others are of use, since what
    is orthogonal to all rows only costs. Made once and kept with the problem.
    """
    return problem.once(_folded)


@reads("matrix")
def _folded(problem: Problem) -> tuple[Array, Array]:
    X = problem.matrix.toarray() if problem.sparse else problem.matrix
    Q, R = scipy.linalg.qr(
        X.T.astype(np.float64), mode="economic", overwrite_a=True, check_finite=False
    )
    return np.ascontiguousarray(R.T), np.asarray(Q)


def _sampled(problem: Problem) -> bool:
    return problem.n * problem.d >= SOFTMAX_SAMPLED


def means(problem: Problem) -> Array:
    """What is taken off the columns; a year or a pressure loses all digits beside its mean."""
    if problem.sparse or not problem.fit_intercept or is_folded(problem):
        return np.zeros(problem.d)
    if problem.n * problem.d > _CENTRED:
        return np.zeros(problem.d)
    return np.asarray(problem.matrix.mean(axis=0, dtype=np.float64))


def influence(problem: Problem) -> Array:
    """How much of its columns each row makes up, on average 1: sum_j x_ij^2 / sum_i x_ij^2 n / d.

    A row that alone holds a rare feature has a large one, whatever the units of the columns.
    Made once and kept with the problem.
    """
    return problem.once(_influence)


@reads("matrix")
def _influence(problem: Problem) -> Array:
    columns = survey(problem).columns
    usable = (columns > 0) & np.isfinite(columns)
    share = np.where(usable, 1.0 / np.where(usable, columns, 1.0), 0.0)
    lanes = Lanes(problem.matrix, double=True)
    out = np.empty(problem.n)

    def lane_sums(lane: int) -> None:
        for lo, hi, block in lanes.blocks(lane):
            out[lo:hi] = (block * block) @ share

    if problem.sparse:
        squares = problem.matrix.copy()
        squares.data = np.square(squares.data, dtype=np.float64)
        out[:] = squares @ share
    else:
        lanes.each(lane_sums)
    out *= problem.n / max(1, problem.d)
    return out


def all_rows(problem: Problem, C: float, *, double: bool, threads: int | None) -> SoftmaxRows:
    """All rows; costs C s."""
    if is_folded(problem):
        return SoftmaxRows(
            fold(problem)[0], problem.label, C * problem.weight, problem.K, double=True,
            threads=threads, influence=np.ones(problem.n),
        )  # fmt: skip
    offsets = means(problem)
    matrix = moved(problem, offsets).matrix if offsets.any() else problem.matrix
    return SoftmaxRows(
        matrix, problem.label, C * problem.weight, problem.K, double=double, threads=threads,
        influence=influence(problem) if _sampled(problem) else np.ones(problem.n),
    )  # fmt: skip


def some_rows(
    problem: Problem, C: float, size: int, seed: int, *, double: bool, threads: int | None
) -> SoftmaxRows:
    """About ``size`` rows, those of rare features and rare classes more often than others."""
    s, own = problem.weight, influence(problem)
    chance = size * s * (0.5 + 0.5 * own) / s.sum()
    counts = np.bincount(problem.label, minlength=problem.K)
    chance = np.minimum(np.maximum(chance, 20.0 / np.maximum(counts, 1)[problem.label]), 1.0)
    index = np.flatnonzero(generator(seed, 0).random(problem.n) < chance)
    offsets, matrix = means(problem), problem.matrix[index]
    if offsets.any():
        matrix = matrix - offsets
    return SoftmaxRows(
        matrix, problem.label[index], C * s[index] / chance[index], problem.K,
        double=double, threads=threads, influence=own[index],
    )  # fmt: skip
