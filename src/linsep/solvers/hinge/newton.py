"""Newton's method on a hinge whose corner is rounded off, less and less.

Problem   minimise P(w, b) = |w|^2 / 2 + C sum_i s_i L(1 - y_i (w.x_i + b)), b unpenalised,
          L the hinge, its square, or another loss whose conjugate is quadratic
Given     rows x_i, signs y_i, weights s_i; a hinge rounded off over |u| < h has curvature
          1 / (2 h) there, so only the rows in that band enter the Newton system
Update    (I + C / (2 h) (B'B + kappa diag(g))) p = -gradient, B the rows in the band, g the
          squared lengths of the columns; unit step, or the exact minimum along p if that
          would go up. kappa follows the ratio of true to predicted decrease (Levenberg,
          Marquardt). First on small samples that hold all long rows, then on all rows.
Stop      (P - D) / P <= tol with D the dual value of alpha_i = C s_i L'(u_i), made feasible
          for the free intercept by scaling the heavier class down
Paper     Chapelle 2007, Training a support vector machine in the primal; Keerthi and DeCoste
          2005 for the squared hinge
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import SET_ASIDE, UNPACKED, WALKED_AT_ONCE
from linsep.core.lanes import one_blas_thread, run_all, sum_of_pieces
from linsep.core.problem import Problem, reads
from linsep.core.protocol import (
    FIXED,
    NO_LOG,
    Held,
    Log,
    State,
    Status,
    Witness,
    relative_gap,
    repeated,
)
from linsep.losses.base import needs
from linsep.losses.hinge import HINGE, QuadraticLoss
from linsep.numerics.cholesky import Factor
from linsep.numerics.line import minimum
from linsep.rows import hinge as loops
from linsep.rows import loops as row_loops
from linsep.rows.hinge import Reading, RowSet
from linsep.rows.levels import Latest, forget_samples, gather, ladder, sample, want_double
from linsep.rows.loops import matrix_of, scatter
from linsep.rows.packed import fits_float32, may_round
from linsep.rows.reader import survey
from linsep.solvers.hinge.dual_point import dual_value

Array = NDArray[np.float64]

_LAST_PASS = 4.0  # times the gap asked for: so near, one more pass over all rows is quickest
_NEAR_STEPS = 12  # steps on the rows near the corner before the others are looked at
_STRAYED = 3.0  # times the move that was foreseen: look at once
_FARTHEST = 8.0  # reach from which all rows are read
_DAMPED = 1e-5  # least damping after a step of the near rows that was too long
_SEPARABLE = 0.01  # share of the loss at w = 0 below which hardly any row is in the way


@dataclass(kw_only=True)
class NewtonState(State):
    """An evaluated point: its violations, gradient and curvature, and the best bounds."""

    held: ClassVar[Mapping[str, Held]] = {
        "level": Held(low=-1, most="last"),
        "u": Held(shape=("read",), empty=True),
        "v": Held(shape=("d",), empty=True),
        "v_plus": Held(shape=("d",), empty=True),
        "sums": Held(shape=(loops.N_SUMS,), empty=True),
        "near": Held(shape=("?",), below="n"),
        "far": Held(shape=("far",), empty=True),
        "base": Held(shape=("a",), empty=True),
        "center": Held(shape=("n",), empty=True),
        "dual_z": Held(shape=("n",), empty=True),
        "n_rows": FIXED,
        "columns": FIXED,
        "lengths": FIXED,
    }

    a: Array
    level: int = -1
    """Which sample of rows; -1 before the first pass, the last level is all rows."""
    width_steps: int = 0
    """Steps taken at this width."""
    h: float = 0.0
    kappa: float = 1e-3
    u: Array = field(default_factory=lambda: np.zeros(0))
    gradient: Array
    curvature: Array
    rounded: float = np.inf
    """Objective with the corner rounded off."""
    primal: float = np.inf
    dual: float = 0.0
    """Values at a on all rows (at the last level)."""
    v: Array = field(default_factory=lambda: np.zeros(0))
    v_plus: Array = field(default_factory=lambda: np.zeros(0))
    sums: Array = field(default_factory=lambda: np.zeros(0))
    """Sums over the rows at a, in the order of rows/hinge.py."""
    near: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The rows that are read, if not all; then u has one entry for each of them."""
    far: Array = field(default_factory=lambda: np.zeros(0))
    """Sums over the other rows, see far_sums."""
    reach: float = 2.2
    """How far from the corner rows are read."""
    move: float = 0.0
    """How far rows may move before all are read again."""
    base: Array = field(default_factory=lambda: np.zeros(0))
    base_rounded: float = np.inf
    """Where the other rows were last read."""
    leftover: float = 0.0
    """Part of the gap at a that comes from the rounding; Newton steps remove the rest."""
    rest: float = np.inf
    """The other part, when it was last looked at."""
    center: Array = field(default_factory=lambda: np.zeros(0))
    """Slopes of the rounded loss at u = 0; empty means 1/2 for all rows."""
    settled_gap: float = np.inf
    """Gap when the centre was last moved."""
    best: Array
    best_primal: float = np.inf
    dual_a: Array
    dual_h: float = 0.0
    dual_z: Array = field(default_factory=lambda: np.zeros(0))
    """The best dual point: as weights and a width, or once there is a centre as slopes."""
    best_dual: float = 0.0
    target: float = 0.0
    """Width chosen for the tolerance."""
    idle: int = 0
    """Steps in a row that gained nothing."""
    needs_double: bool = False
    """Whether float32 has been found too short for the rows."""
    rows_read: float = 0.0
    n_rows: int
    columns: Array
    """Squared lengths of the columns, weighted, and the sum of the weights."""
    lengths: Array
    """Squared lengths of the rows."""

    @property
    def passes(self) -> float:
        """Rows read divided by the number of rows."""
        return self.rows_read / self.n_rows

    @property
    def gap(self) -> float:
        """Relative duality gap of the best primal and the best dual point."""
        return relative_gap(self.best_primal, self.best_dual)


@dataclass(frozen=True)
class NewtonHinge:
    """Primal Newton method for tall data, dense or nearly so.

    Parameters
    ----------
    C : float, default=1.0
    loss : QuadraticLoss, default=HINGE
    tol : float, default=1e-3
        Relative duality gap.
    seed : int, default=0
        Of the samples.
    threads : int or None, default=None
        None means all cores. The result does not depend on it.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.hinge.newton import NewtonHinge
    >>> out = drive(Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]), NewtonHinge(tol=1e-6))
    >>> out.status.name, round(float(out.witness.a[0]), 3)
    ('CERTIFIED', 1.0)
    """

    C: float = 1.0
    loss: QuadraticLoss = HINGE
    tol: float = 1e-3
    seed: int = 0
    threads: int | None = None

    unit: ClassVar[str] = "Newton step"

    def __post_init__(self) -> None:
        needs(self, self.loss, QuadraticLoss)

    @property
    def widths(self) -> Widths:
        """The choice of widths."""
        return Widths(self.C, self.loss, self.tol)

    def prepare(self, problem: Problem) -> None:
        """Make what all parts of a problem of many classes share."""
        survey(problem, self.threads)
        workable(problem, narrow=may_round(problem, self.C, self.tol))

    def init(self, problem: Problem, *, start: Any = None) -> NewtonState:
        """Zero weights, or (coef, intercept) to start from on all rows, with dual variables or
        without: (coef, intercept, alpha)."""
        found = survey(problem, self.threads)
        lengths, columns = found.rows, _weighted_columns(problem, found.columns)
        width = problem.d + 1
        state = NewtonState(
            a=np.zeros(width),
            gradient=np.zeros(width),
            curvature=np.zeros((width, width)),
            best=np.zeros(width),
            best_primal=self.C * self.loss.at_zero(problem.weight),
            dual_a=np.zeros(width),
            n_rows=problem.n,
            columns=columns,
            lengths=lengths,
            rows_read=float(problem.n),
        )
        if start is not None:
            state.a = problem.join(*start[:2])
            state.level = len(sizes(problem)) - 1  # no samples: go to all rows at once
            if len(start) > 2:
                self._judge(problem, state, np.asarray(start[2], dtype=np.float64))
        return state

    def _judge(self, problem: Problem, state: NewtonState, alpha: Array) -> None:
        """Both sides of a start: one that is the answer already takes no step."""
        cost = self.C * problem.weight
        alpha = np.clip(alpha, 0.0, self.loss.cap(cost))
        u, w = 1.0 - problem.values(state.a), state.a[:-1]
        primal = 0.5 * float(w @ w) + float(cost @ self.loss.value(u))
        dual = dual_value(problem, self.loss, self.C, alpha, state.a, fresh=True)[1]
        state.rows_read += 2.0 * problem.n
        if relative_gap(primal, dual) <= self.tol and primal <= state.best_primal:
            state.best, state.best_primal, state.best_dual = state.a.copy(), primal, dual
            state.dual_z, state.u = alpha / cost, u
            state.primal, state.dual, state.level = primal, dual, len(sizes(problem))
            state.status = Status.CERTIFIED

    def extents(self, problem: Problem, state: NewtonState) -> dict[str, int]:
        """Rows of the level, or those of them that are read."""
        last, near = len(sizes(problem)), len(state.near)
        read = problem.n if state.level == last else 0
        if near:
            read = near
        elif 0 <= state.level < last:
            read = self._rows(problem, state).n
        return {"last": last, "read": read, "far": 2 * problem.d + 3}

    def advance(self, problem: Problem, state: NewtonState, steps: int, log: Log = NO_LOG) -> int:
        """Newton steps; each ends with an evaluated point."""
        with one_blas_thread():
            return repeated(state, steps, lambda: self._step(problem, state))

    def status(self, state: NewtonState) -> Status:
        """CERTIFIED when the gap is closed; STALLED when rounding forbids it."""
        return state.status

    def witness(self, problem: Problem, state: NewtonState) -> Witness:
        """The best weights, and the dual variables of the best dual point."""
        full = state.level == len(sizes(problem))
        evaluated = np.isfinite(state.best_primal) and full
        a = state.best if evaluated or state.level < 0 else state.a
        if state.dual_z.size:
            z = state.dual_z
        elif state.best_dual > 0:
            same = np.array_equal(state.dual_a, state.a) and not state.near.size
            u = state.u if same else 1.0 - problem.values(state.dual_a)
            z = self.loss.rounded_slope(u, state.dual_h)
        else:
            z = self.loss.rounded_slope(1.0 - problem.values(a), max(state.h, 1e-3))
        alpha = self.C * problem.weight * z
        rows = np.flatnonzero(alpha)
        return Witness(a=a.copy(), rows=rows, multipliers=alpha[rows], claim="dual")

    # -- one step -----------------------------------------------------------------------------

    def _step(self, problem: Problem, state: NewtonState) -> None:
        """Onto the next rows, or from an evaluated point to another."""
        if state.level < 0 or not state.u.size:
            self._enter(problem, state, max(state.level + 1, 0), state.a)
            return
        rows = self._rows(problem, state)
        p, predicted = direction(self.C, self.loss, state, offset=problem.fit_intercept)
        full = state.level == len(sizes(problem))
        if self._nearly_separable(problem, state):
            self._start_low(problem, state)
        elif not (full and state.idle > IDLE and self._widen(problem, state)):
            settled = self.widths.settled(state, predicted, full=full)
            if state.near.size and (settled or self._far_rows_due(state, rows, p)):
                self._look(problem, state)
            elif settled:
                self._settle(problem, state, rows, p, full=full)
            else:
                if full and isinstance(rows, RowSet) and not self._closed(state, _LAST_PASS):
                    rows = self._approach(problem, state, rows, p)
                self._newton(problem, state, rows, p, predicted)
                state.width_steps += 1

    def _far_rows_due(self, state: NewtonState, rows: Rows, p: Array) -> bool:
        """Whether the rows that were left out must be read again."""
        strayed = (
            isinstance(rows, NearRows)
            and rows.moved(state.a + p - state.base) > _STRAYED * state.move
        )
        return strayed or state.width_steps >= _NEAR_STEPS or self._closed(state)

    def _settle(
        self, problem: Problem, state: NewtonState, rows: Rows, p: Array, *, full: bool
    ) -> None:
        """This width has told all it can: another one, more rows, or the end."""
        choose = self.widths.refine if full else self.widths.next_on_sample
        change = choose(state, rows.cost)
        if change is not None:
            state.h, state.center = change
            state.width_steps = 0
            state.kappa = max(state.kappa, 1e-6 if state.h > 0 else 0.0) if full else 1e-3
            self._take(problem, state, rows, state.a + p, self._read(problem, state, rows, p))
        elif full:
            state.status = Status.STALLED
        else:
            self._enter(problem, state, state.level + 1, state.a + p)

    def _closed(self, state: NewtonState, times: float = 0.98) -> bool:
        """Whether the gap at the present point is as small as asked for, or nearly so."""
        return relative_gap(state.primal, state.dual) <= times * self.tol

    def _approach(self, problem: Problem, state: NewtonState, rows: RowSet, p: Array) -> Rows:
        """Read only the rows near the corner from now on, if they are few."""
        found = near_rows(rows, state, p, self.threads)
        if found is None or state.reach > _FARTHEST:
            return rows
        (state.near, state.move), state.width_steps = found, 0
        state.base, state.base_rounded = state.a, state.rounded
        some = self._rows(problem, state)
        reading = self._read(problem, state, some, np.zeros_like(p), curve=False)
        state.far, state.u = far_sums(state, reading), reading.u
        return some

    def _look(self, problem: Problem, state: NewtonState) -> None:
        """Read all rows again; if those left out say so, go back and read more from then on."""
        more = not self._closed(state)  # whether steps will follow
        state.near, state.far, state.width_steps = np.zeros(0, np.int64), np.zeros(0), 0
        rows, zero = self._rows(problem, state), np.zeros_like(state.a)
        reading = self._read(problem, state, rows, zero, curve=more)
        good = self._rounded(state.a, reading) <= state.base_rounded
        if good:
            self._take(problem, state, rows, state.a, reading)
        else:
            state.a, state.reach = state.base, 2.0 * state.reach
        if not (good and (more or state.status.done)):
            reading = self._read(problem, state, rows, zero)
            self._take(problem, state, rows, state.a, reading)

    def _nearly_separable(self, problem: Problem, state: NewtonState) -> bool:
        """Whether hardly any loss is left: then most dual variables are far below C / 2."""
        if not self.loss.kinked or state.center.size:
            return False
        return state.primal < _SEPARABLE * self.C * float(state.columns[-1])

    def _start_low(self, problem: Problem, state: NewtonState) -> None:
        """Centre the rounded hinge at slope 0 and go on with all rows."""
        state.near, state.far = np.zeros(0, np.int64), np.zeros(0)
        state.level, state.width_steps = len(sizes(problem)), 0
        state.h, state.kappa = 1.0, 1e-3
        state.center = np.zeros(problem.n)
        rows = self._rows(problem, state)
        reading = self._read(problem, state, rows, np.zeros_like(state.a))
        self._take(problem, state, rows, state.a, reading)

    def _widen(self, problem: Problem, state: NewtonState) -> bool:
        """Read rows of float32 in float64, if steps fail and that has not been done."""
        rows = self._rows(problem, state)
        if state.near.size or not isinstance(rows, RowSet) or rows.lanes.dtype != np.float32:
            return False
        state.needs_double, state.idle, state.rest, state.kappa = True, 0, np.inf, 1e-3
        rows = self._rows(problem, state)
        reading = self._read(problem, state, rows, np.zeros_like(state.a))
        self._take(problem, state, rows, state.a, reading)
        return True

    def _newton(
        self, problem: Problem, state: NewtonState, rows: Rows, p: Array, predicted: float
    ) -> None:
        """Unit step, or the exact minimum along p; kappa follows the success."""
        old = state.rounded
        reading = self._read(problem, state, rows, p)
        new = self._rounded(state.a + p, reading)
        if not new <= old + 1e-12 * abs(old):
            t = minimum_along(self.C, self.loss, state, rows.cost, p, reading.u)
            p = t * p
            reading = self._read(problem, state, rows, p)
            new = self._rounded(state.a + p, reading)
            state.kappa = min(max(10 * state.kappa, _DAMPED if state.near.size else 1e-3), 10.0)
        else:
            ratio = (old - new) / predicted if predicted > 1e-13 * abs(old) else 1.0
            state.kappa *= 0.3 if ratio > 0.6 else 1.0 if ratio > 0.3 else 4.0
        state.idle = state.idle + 1 if not new < old else 0
        if not new <= old + 1e-9 * abs(old):  # rounding: stay where we are
            if state.idle > IDLE:
                state.status = Status.STALLED
            state.kappa = max(state.kappa, 1e-6)
            return
        self._take(problem, state, rows, state.a + p, reading)

    def _enter(self, problem: Problem, state: NewtonState, level: int, a: Array) -> None:
        """Go on with another set of rows."""
        last = len(sizes(problem))
        state.width_steps = 0
        if not self.loss.kinked:
            state.h = 0.0
        elif level == 0 and state.level < 0:
            state.h = FIRST[0]
        elif level < last:
            state.h = SECOND[0]
        else:
            state.h = state.target or SECOND[0]
        state.level = level
        state.kappa = 1e-4 if level == last and state.target else 1e-3
        rows = self._rows(problem, state)
        state.a = a
        self._take(problem, state, rows, a, self._read(problem, state, rows, np.zeros_like(a)))

    def _take(
        self, problem: Problem, state: NewtonState, rows: Rows, a: Array, reading: Reading
    ) -> None:
        """Move to an evaluated point."""
        C, sums = self.C, reading.sums
        state.a, state.u = a, reading.u
        state.n_updates += 1
        half = 0.5 * float(a[:-1] @ a[:-1])
        state.rounded = half + C * sums[loops.ROUNDED]
        state.primal = half + C * sums[loops.LOSS]
        state.gradient = np.append(a[:-1] - C * reading.v, 0.0)
        if problem.fit_intercept:
            state.gradient[-1] = -C * (sums[loops.PLUS] - sums[loops.MINUS])
        state.curvature = reading.curvature
        state.v, state.v_plus, state.sums = reading.v, reading.v_plus, sums
        state.dual = dual_of(C, self.loss, reading, offset=problem.fit_intercept)
        state.leftover = C * float(sums[loops.LEFTOVER])
        if not np.isfinite(state.primal):
            state.status = Status.DIVERGED
            return
        state.status = Status.RUNNING
        if state.level == len(sizes(problem)) and not state.near.size:
            if state.primal < state.best_primal:
                state.best_primal, state.best = state.primal, a.copy()
            if state.dual > state.best_dual:
                state.best_dual, state.dual_a, state.dual_h = state.dual, a.copy(), state.h
                if state.center.size:
                    state.dual_z = slopes(state)
            if state.gap <= self.tol:
                state.status = Status.CERTIFIED

    # -- inside -------------------------------------------------------------------------------

    def _read(
        self, problem: Problem, state: NewtonState, rows: Rows, p: Array, *, curve: bool = True
    ) -> Reading:
        state.rows_read += rows.n
        a, offset = state.a + p, problem.fit_intercept
        reading = rows.read(
            a, state.h, state.center, offset=offset, threads=self.threads, curve=curve
        )
        return with_far(state.far, a, reading) if state.far.size else reading

    def _rounded(self, a: Array, reading: Reading) -> float:
        return 0.5 * float(a[:-1] @ a[:-1]) + self.C * float(reading.sums[loops.ROUNDED])

    def _rows(self, problem: Problem, state: NewtonState) -> Rows:
        narrow = not state.needs_double and may_round(problem, self.C, self.tol)
        double = state.needs_double or want_double(problem, self.C, self.tol, self.threads)
        return rows_of_level(
            problem, state, self.loss, self.seed, self.threads, double=double, narrow=narrow
        )


def _weighted_columns(problem: Problem, columns: Array) -> Array:
    """Squared lengths of the columns with every row weighted, and the sum of the weights."""
    s = problem.weight
    if s.min() == s.max():
        return np.append(float(s[0]) * columns, s.sum())
    out = np.zeros(problem.d)
    size = problem.n * problem.d
    row_loops.weighted_squares(matrix_of(problem), s, out, size=size, work=size)
    return np.append(out, s.sum())


# -- Directions, lengths of steps and dual values of the Newton method for the hinge --------------


_HOPELESS = 1e100  # what is added to the curvature, in squares of columns


def direction(
    C: float, loss: QuadraticLoss, state: NewtonState, *, offset: bool
) -> tuple[Array, float]:
    """Newton direction and the decrease it predicts, by Cholesky on scaled columns."""
    width = len(state.a) if offset else len(state.a) - 1
    bend = C * (0.5 / (state.h if state.h > 0 else loss.q))
    g = state.gradient[:width]
    while True:
        H = bend * state.curvature[:width, :width]
        diagonal = H.diagonal() + bend * state.kappa * state.columns[:width]
        diagonal[: len(state.a) - 1] += 1.0
        scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-300))
        factor = Factor.of(H, scale, (1e-14,), turned=True)
        if factor is not None:
            break
        state.kappa = max(10 * state.kappa, 1e-12)
        if not state.kappa < _HOPELESS:  # no sums of rows are such: the state was forged
            return np.zeros_like(state.a), 0.0
    p = np.zeros_like(state.a)
    p[:width] = -factor.solve(g)
    return p, -0.5 * float(g @ p[:width])


def minimum_along(
    C: float, loss: QuadraticLoss, state: NewtonState, cost: Array, p: Array, u1: Array
) -> float:
    """Exact minimum of the rounded objective along p, from the two stored violations."""
    w, q = state.a[:-1], p[:-1]
    wq, qq = float(w @ q), float(q @ q)
    change = u1 - state.u
    center: Any = state.center if state.center.size else np.full(len(cost), 0.5)
    if state.near.size:
        wq += C * far_slope(state.far, p)
        center = center[state.near] if state.center.size else center

    def slopes(t: float) -> tuple[float, float]:
        out = sum_of_pieces(partial(loss.slopes_along, state.h, t), state.u, change, cost, center)
        return C * out[0] + wq + t * qq, C * out[1] + qq

    return minimum(slopes, 0.1, high=1.0, near=0.02, narrow=0.05, cut=0.1, steps=40)


def dual_of(C: float, loss: QuadraticLoss, reading: Reading, *, offset: bool) -> float:
    """Dual value of alpha = C s z, made feasible."""
    sums = reading.sums
    plus, minus = float(sums[loops.PLUS]), float(sums[loops.MINUS])
    up, down = 1.0, 1.0
    v = C * reading.v
    if offset:
        if min(plus, minus) <= 0.0:
            return 0.0
        up, down = min(1.0, minus / plus), min(1.0, plus / minus)
        v = C * (up * reading.v_plus - down * (reading.v_plus - reading.v))
    value = C * (up * plus + down * minus) - 0.5 * float(v @ v)
    if not loss.kinked:
        squares = up**2 * sums[loops.SQUARE_PLUS] + down**2 * sums[loops.SQUARE_MINUS]
        value -= C * float(squares) * loss.q
    return value


# -- Newton steps that read only the rows near the corner of the hinge ----------------------------
#
# A row far from the corner has the slope 0 or 1, and keeps it while the weights move little: its
# loss is 0, or a linear function that needs no reading. So after a pass over all rows the next
# steps read the rows near the corner alone, and the others through one combination of them. Only
# a pass over all rows counts as proof; it follows when the near rows say that it is time.


_MOST_NEAR = 0.16  # share of the rows that are near, from which leaving the others out does not pay
_LONG_ROW = 16.0  # times the mean of |x|^2, from which rows are always near
_SOME = 4096  # rows that tell how far rows move


def near_rows(
    whole: RowSet, state: NewtonState, p: Array, threads: int | None
) -> tuple[NDArray[np.int64], float] | None:
    """The rows near the corner before a step p, and how far rows may move till all are read again.
    None if all had better be read now.

    Near is what a row may move: about what some rows move with p, more for long rows. Very long
    ones are always near.
    """
    if state.h <= 0.0 or whole.size < SET_ASIDE or whole.lanes.sparse:
        return None
    mean = float(state.columns[:-1].sum()) / float(state.columns[-1])  # of |x|^2
    move = max(state.reach * _moved(_some(whole, state), p), state.h)
    long = _LONG_ROW * mean
    width, reach = 0.5 / state.h, 0.5 * move / state.h / np.sqrt(mean)

    def piece(lo: int) -> NDArray[np.int64]:
        own = slice(lo, lo + WALKED_AT_ONCE)
        t = state.u[own] * width
        if state.center.size:
            t += state.center[own] - 0.5
        lengths = state.lengths[own]
        near = np.abs(t, out=t) < reach * np.sqrt(lengths) + 0.5
        return lo + np.flatnonzero(near | (lengths > long))

    parts = run_all([partial(piece, lo) for lo in range(0, whole.n, WALKED_AT_ONCE)], threads)
    return (
        (np.concatenate(parts), move) if 0 < sum(map(len, parts)) <= _MOST_NEAR * whole.n else None
    )


def _some(whole: RowSet, state: NewtonState) -> tuple[NDArray[Any], Array]:
    """A few rows, evenly spread, that speak for all but the very long, and what to divide by."""
    step = max(16, whole.n // _SOME)
    mean = float(state.columns[:-1].sum()) / float(state.columns[-1])
    lengths = state.lengths[::step] / mean
    plain = np.flatnonzero((lengths > 0.0) & (lengths <= _LONG_ROW))
    return np.ascontiguousarray(whole.lanes.matrix[plain * step]), np.sqrt(lengths[plain])


def _moved(some: tuple[NDArray[Any], Array], change: Array) -> float:
    """How far all but a few of these rows move with a change of the weights, each by its length."""
    rows, lengths = some
    if not len(rows):
        return 0.0
    moves = np.abs(rows @ change[:-1] + change[-1]) / lengths
    most = int(0.998 * len(moves))
    return float(np.partition(moves, most)[most])


class NearRows:
    """Some rows of a set, the others through ``state.far``: sums at the point they were left."""

    def __init__(
        self, whole: RowSet, state: NewtonState, threads: int | None, *, double: bool
    ) -> None:
        near = state.near
        matrix = gather(whole.lanes.matrix, near, threads)
        self.rows = RowSet(matrix, whole.sign[near], whole.cost[near], whole.loss, double=double)
        self.near, self.n, self.cost = near, len(near), self.rows.cost
        self.some = _some(whole, state)

    def moved(self, change: Array) -> float:
        """How far rows have moved with a change of the weights."""
        return _moved(self.some, change)

    def read(
        self,
        a: Array,
        h: float,
        center: Array,
        *,
        offset: bool,
        threads: int | None,
        curve: bool = True,
    ) -> Reading:
        """A pass over the near rows alone."""
        center = center[self.near] if center.size else center
        return self.rows.read(a, h, center, offset=offset, threads=threads, curve=curve)


def far_sums(state: NewtonState, near: Reading) -> Array:
    """What all rows have more than the near ones: sums of cost y x, of cost, and of bends."""
    d = len(near.v)
    out = np.empty(2 * d + 3)
    out[:d], out[d : 2 * d] = state.v - near.v, state.v_plus - near.v_plus
    sums = state.sums - near.sums
    out[2 * d :] = sums[loops.PLUS], sums[loops.MINUS], sums[loops.ROUNDED] - sums[loops.LOSS]
    return out


def with_far(far: Array, a: Array, near: Reading) -> Reading:
    """The reading of all rows, if no far row has changed its slope."""
    d = len(near.v)
    plus, minus, rounding = far[2 * d :]
    loss = plus + minus - float(far[:d] @ a[:-1]) - float(a[-1]) * (plus - minus)
    sums = near.sums.copy()
    sums[loops.LOSS] += loss
    sums[loops.ROUNDED] += loss + rounding
    sums[loops.PLUS] += plus
    sums[loops.MINUS] += minus
    return Reading(near.u, near.v + far[:d], near.v_plus + far[d : 2 * d], sums, near.curvature)


def far_slope(far: Array, p: Array) -> float:
    """Derivative of the sum of the far losses along p."""
    d = len(p) - 1
    return -float(far[:d] @ p[:-1]) - float(p[-1]) * float(far[2 * d] - far[2 * d + 1])


# -- How far the corner of the hinge is rounded off, and when that changes ------------------------
#
# When the gradient vanishes, the gap is what the rounding leaves, C sum s (max(u, 0) - z u). It
# is read off the stored u for any width h, so the next h is known without another pass.


FIRST = (2.0, 1.0, 0.5, 0.25)  # widths on the first set of rows
SECOND = (0.25, 0.12)  # and on the next, before the width that the tolerance asks for
IDLE = 3  # steps without gain after which more of them are of no use
_UNSEEN = 1e-15  # share of the objective below which a decrease is lost in rounding
_SMALLEST = 1e-13  # width below which rounding rules
_ROUGH, _FINE = 1e-3, 1e-4  # shares of the objective that a step on a sample must promise
_WIDTH_STEPS = 12  # steps at one width on a sample, at most


def slopes(state: NewtonState) -> Array:
    """z of all rows at the present point."""
    middle: Any = state.center if state.center.size else 0.5
    return np.asarray(np.clip(state.u * (0.5 / state.h) + middle, 0.0, 1.0))


@dataclass(frozen=True)
class Widths:
    """The choice of widths for an objective and a relative gap."""

    C: float
    loss: QuadraticLoss
    tol: float

    def settled(self, state: NewtonState, predicted: float, *, full: bool) -> bool:
        """Whether further steps at this width would not pay."""
        if full:
            gap = max(state.primal - state.dual, 0.0)
            rest, before = gap - state.leftover, state.rest
            state.rest = rest
            if rest <= 0.1 * max(self.tol * state.primal, 0.2 * gap) or state.idle > IDLE:
                return True
            # beside columns of 1e8 the dual point gains by steps that the objective does not feel
            return predicted <= _UNSEEN * state.primal and not rest < 0.5 * before
        if state.width_steps >= _WIDTH_STEPS:
            return True
        return predicted <= (_ROUGH if state.h > FIRST[-1] else _FINE) * state.primal

    def next_on_sample(self, state: NewtonState, cost: Array) -> tuple[float, Array] | None:
        """The next width on a sample; None when it has told all it can."""
        if not self.loss.kinked:
            return None
        schedule = FIRST if state.target == 0.0 else (*SECOND, state.target)
        later = [h for h in schedule if h < state.h]
        if later:
            return later[0], state.center
        if state.target == 0.0:
            share = 0.5 * max(self.tol, 3e-4)
            state.target = min(self._fitting(state, cost, share, 0.5), 0.12)
        return None

    def refine(self, state: NewtonState, cost: Array) -> tuple[float, Array] | None:
        """On all rows: a smaller width if that is enough, else move the centre to the slopes.

        Moving the centre is the step of the multiplier method: the gap shrinks at a width that
        keeps the Newton systems well behaved, and faster the larger C is.
        """
        if not self.loss.kinked:  # the dual may still gain where the primal cannot
            state.idle = 0 if state.gap < 0.9 * state.settled_gap else state.idle + 1
            state.settled_gap = min(state.gap, state.settled_gap)
            return (state.h, state.center) if state.idle <= 6 else None
        h, allowed = state.h, 0.5 * self.tol * state.primal
        if not state.center.size:
            wider = [w for w in FIRST if w < h] if state.target == 0.0 else []
            if wider and self._leftover(state, cost, wider[0]) > allowed:
                return wider[0], state.center
            fit = max(self._fitting(state, cost, 0.5 * self.tol, 0.8 * h), 0.2 * h)
            near = state.primal - state.dual <= 30.0 * self.tol * state.primal
            if near and self._leftover(state, cost, fit) <= allowed:
                return fit, state.center
        gap = state.primal - state.dual
        state.idle = state.idle + 1 if not gap < state.settled_gap else 0
        if gap > 0.3 * state.settled_gap:
            h *= 0.5
        state.settled_gap = min(gap, state.settled_gap)
        if h < _SMALLEST or state.idle > 8:
            return None
        return h, slopes(state)

    def _fitting(self, state: NewtonState, cost: Array, share: float, h: float) -> float:
        """About the largest width, at most h, that leaves a gap of at most ``share`` of P.

        The gap grows with the number of rows in the band and with its width: about as h^2.
        """
        while h > 1e-4 * state.h:
            left = self._leftover(state, cost, h)
            if not left > share * state.primal:
                break
            h *= min(max(0.97 * np.sqrt(share * state.primal / left), 0.2), 0.9)
        return h

    def _leftover(self, state: NewtonState, cost: Array, h: float) -> float:
        return self.C * float(sum_of_pieces(partial(self.loss.rounded_excess, h), state.u, cost)[0])


# -- The rows that the Newton method for the hinge works on: samples first, then all of them ------
#
# A level is a sample, the last one is all rows. Sets of rows are rebuilt at need, as a function
# of the problem, the settings and the level alone, and kept while they are in use.


_PIECES = 8  # of a matrix that is written out

_whole, _near = Latest(), Latest()

Rows = RowSet | NearRows


def sizes(problem: Problem) -> list[int]:
    """Sizes of the samples that come before all rows."""
    first = max(6144, 24 * problem.d)
    return ladder(problem.n, (first, 8 * first), 4)


def rows_of_level(
    problem: Problem,
    state: NewtonState,
    loss: QuadraticLoss,
    seed: int,
    threads: int | None,
    *,
    double: bool,
    narrow: bool,
) -> Rows:
    """The rows of a level; double asks for float64 arithmetic, narrow allows rounded entries.

    state.near are the rows of the last level to be read, if not all of them.
    """
    many, level = sizes(problem), state.level
    matrix = workable(problem, narrow=narrow)

    def make() -> RowSet:
        if level == len(many):
            forget_samples(problem)
            return RowSet(matrix, problem.sign, problem.weight, loss, double=double)
        index, cost = sample(problem, many[level], seed, threads)
        part = gather(matrix, index, threads)
        return RowSet(part, problem.sign[index], cost, loss, double=double)

    rows = _whole.made((problem, loss, seed, double, narrow, level), make)
    if state.near.size:
        return _near.made((rows, state.near), lambda: NearRows(rows, state, threads, double=double))
    _near.forget()
    return rows


def workable(problem: Problem, *, narrow: bool) -> Any:
    """The matrix, or sparse rows that take little room written out, once for a problem.

    In float32 if ``narrow`` allows it: the weights found are judged on the rows as given.
    """
    M, n, d = problem.matrix, problem.n, problem.d
    if not problem.sparse or n * d > UNPACKED:
        return M
    return problem.once(_written_out, narrow)


@reads("matrix")
def _written_out(problem: Problem, narrow: bool) -> Any:  # noqa: FBT001
    M, n, d = problem.matrix, problem.n, problem.d
    short = M.dtype == np.float32 or (narrow and fits_float32(problem))
    out = np.empty((n, d), np.float32 if short else np.float64)
    edges = [n * k // _PIECES for k in range(_PIECES + 1)]
    jobs = [partial(scatter, M, lo, hi, out[lo:hi]) for lo, hi in pairwise(edges)]
    run_all(jobs, 1 if n * d < 300_000 else None)
    return out
