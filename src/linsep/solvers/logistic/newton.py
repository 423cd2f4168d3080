"""Newton's method for logistic regression, first on samples, then on all rows.

Problem   minimise P(w, b) = |w|^2 / 2 + C sum_i s_i log(1 + exp(-y_i (w.x_i + b))), b unpenalised;
          C = inf leaves the penalty out: maximum conditional likelihood
Given     rows x_i, signs y_i, weights s_i
Update    a <- a - H^-1 gradient, H = I + C sum s sigma(m) sigma(-m) [x, 1] [x, 1]', or the exact
          minimum along that line if P would go up. First on small samples that hold all long
          rows. On all rows of a large table a step leads to the minimum of the last sample's
          objective, tilted so that its gradient is that of all rows (see Tilted). Where
          that stops helping H stays that of the sample and is corrected by pairs of steps and
          gradients (L-BFGS); it is computed afresh when that stops helping as well.
Stop      (P - D) / P <= tol. With alpha = C s sigma(-m) and b at its best P - D is half the
          squared gradient in w. On large tables that is far more than P - min P, and the
          certificate moves alpha on a sample to do better; so it stops there as soon as one step
          more will do by the Newton decrement, and leaves the pass at its end to the certificate.
          C = inf: half the squared Newton decrement instead. Then it stops as well when every
          row is on its own side, SEPARATED, and when the steps no longer shrink, STALLED: the
          signs that there may be no maximum.
Paper     Minka 2003, A comparison of numerical optimizers for logistic regression; Nocedal 1980
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import one_blas_thread
from linsep.core.problem import Problem
from linsep.core.protocol import FIXED, NO_LOG, Held, Log, State, Status, Witness, repeated
from linsep.numerics.cholesky import solved
from linsep.numerics.lbfgs import solved_with_pairs
from linsep.rows.levels import Latest, sample_matrix, sample_sizes, want_double
from linsep.rows.logistic import LogisticReading, LogisticRows, all_rows, read_all
from linsep.solvers.logistic.line import Penalty, dual_witness, minimum_along, share_of

Array = NDArray[np.float64]

_MEMORY = 12  # pairs of L-BFGS kept before the curvature is computed afresh
_ROUNDING = 1e-13  # relative difference of objectives that are taken as equal
_RUNAWAY = 12  # steps without a penalty after which shrinking steps are expected
_SAMPLE_STEPS = 12  # on one sample, at most
_NEXT_SAMPLE = (1.0, 1e1)  # |gradient|^2 / 2 P from which the next sample is taken after the step
# what a step leaves of the decrement: with the curvature of a sample, where a tilted sample could
# do better, with a tilted sample
_NEWTON, _PLAIN, _TILTED = 2e-2, 5e-2, 5e-3
_EXACTLY = 1e-3  # of the decrement, that the minimum of a tilted sample is looked for
_USELESS = 0.1  # of the decrement that a step by a tilted sample leaves, at most


@dataclass(kw_only=True)
class LogisticState(State):
    """An evaluated point: margins, gradient, the curvature in use, the best weights."""

    held: ClassVar[Mapping[str, Held]] = {
        "level": Held(low=-1, most="last"),
        "m": Held(shape=("read",), empty=True),
        "steps_s": Held(shape=("?", None)),
        "steps_y": Held(shape=("steps_s", None)),
        "n_rows": FIXED,
    }

    a: Array
    level: int = -1
    """Which sample of rows; -1 before the first pass, the last level is all rows."""
    level_steps: int = 0
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


@dataclass(frozen=True)
class NewtonLogistic(Penalty):
    """Newton's method for tall data, dense or nearly so, and for all small tables.

    Parameters
    ----------
    C : float, default=1.0
        inf leaves the penalty out.
    tol : float, default=1e-3
        Relative duality gap.
    seed : int, default=0
        Of the samples.
    threads : int or None, default=None
        None means all cores. The result does not depend on it.
    patient : bool, default=False
        With C=inf: go on although every row is on its own side or the steps do not shrink.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.logistic.newton import NewtonLogistic
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    >>> out = drive(problem, NewtonLogistic(tol=1e-9))
    >>> out.status.name, out.witness.a.round(4).tolist()
    ('CERTIFIED', [0.4529, -0.6793])
    """

    C: float = 1.0
    tol: float = 1e-3
    seed: int = 0
    threads: int | None = None
    patient: bool = False

    unit: ClassVar[str] = "Newton step"

    def init(self, problem: Problem, *, start: Any = None) -> LogisticState:
        """Zero weights, or (coef, intercept) to start from on all rows."""
        width = problem.d + 1
        sizes = sample_sizes(problem)
        state = LogisticState(
            a=np.zeros(width),
            gradient=np.zeros(width),
            curvature=np.zeros((width, width)),
            steps_s=np.zeros((0, width)),
            steps_y=np.zeros((0, width)),
            best=np.zeros(width),
            lead=np.zeros(width),
            n_rows=problem.n,
            rows_read=float(problem.n) if sizes and start is None else 0.0,
        )
        if start is not None:
            state.a = problem.join(*start)
            state.level = len(sizes) - 1  # no samples: go to all rows at once
            self._enter(problem, state, len(sizes), state.a)
        return state

    def extents(self, problem: Problem, state: LogisticState) -> dict[str, int]:
        """Rows of the level."""
        last = len(sample_sizes(problem))
        read = problem.n if state.level == last else 0
        if 0 <= state.level < last:
            read = self._rows(problem, state.level).n
        return {"last": last, "read": read}

    def advance(self, problem: Problem, state: LogisticState, steps: int, log: Log = NO_LOG) -> int:
        """Newton steps; each ends with an evaluated point."""
        with one_blas_thread():
            return repeated(state, steps, lambda: self._step(problem, state))

    def status(self, state: LogisticState) -> Status:
        """CERTIFIED when the gap is closed; STALLED when it cannot be."""
        return state.status

    def witness(self, problem: Problem, state: LogisticState) -> Witness:
        """The best weights, and with a penalty the dual variables of their margins."""
        if state.lead.any():
            return Witness(a=state.a + state.lead)
        full = state.level == len(sample_sizes(problem))
        a = state.best if full else state.a
        at_hand = full and np.array_equal(a, state.a) and state.m.size == problem.n
        return dual_witness(problem, a, state.m if at_hand else problem.values(a), self.C)

    # -- one step -----------------------------------------------------------------------------

    def _step(self, problem: Problem, state: LogisticState) -> None:
        last = len(sample_sizes(problem))
        if state.level < 0 or not state.m.size:
            self._enter(problem, state, max(state.level + 1, 0), state.a)
            return
        tilted = last > 1 and state.level == last and self.ridge > 0 and state.nested
        if state.lead.any():  # the certificate asks for more, and has read that point
            p, state.lead = state.lead, np.zeros_like(state.lead)
            newton = tilted and np.isinf(state.decrement)
            if newton and self._rises(problem, state, p):
                self._nested(problem, state, plain=False)
                return
            self._move(problem, state, p)
            state.level_steps += 1
            return
        if tilted:
            self._nested(problem, state)
            return
        p = self._direction(problem, state)
        predicted = -0.5 * float(state.gradient @ p)
        if state.level < last:
            left = 0.5 * float(state.gradient[:-1] @ state.gradient[:-1])
            done = (
                predicted <= 1e-3 * state.primal
                and left <= _NEXT_SAMPLE[state.level] * state.primal
            )
            if done or state.level_steps >= _SAMPLE_STEPS:
                self._enter(problem, state, state.level + 1, state.a + p)
                return
        elif last and self.ridge:
            before, state.decrement = state.decrement, predicted
            known = 0 < predicted < before < np.inf
            if self._close(
                problem, state, predicted, max(1e-3, predicted / before) if known else _NEWTON
            ):
                state.lead, state.status = p, Status.CERTIFIED
                return
        self._move(problem, state, p)
        state.level_steps += 1

    def _nested(self, problem: Problem, state: LogisticState, *, plain: bool = True) -> None:
        """A step to the minimum of the tilted sample; pairs take over where that is of no use.

        Close to the end a plain Newton step is as good, as a rule.
        """
        p = self._direction(problem, state)
        predicted = -0.5 * float(state.gradient @ p)
        if plain and self._close(problem, state, predicted, _PLAIN):
            state.lead, state.status = p, Status.CERTIFIED
            return
        rows = self._rows(problem, state.level - 1)

        def read(a: Array, curved: bool, own: bool) -> LogisticReading:  # noqa: FBT001
            return self._read(problem, state, state.level - 1, a, curved=curved, own=own)

        model = Tilted(problem, rows, read, state.curvature, self.cost, self.ridge, own=state.own)
        goal = _EXACTLY * predicted
        step = model.minimum(state.a, state.gradient, goal)
        state.curvature, state.own, state.fresh = model.curvature, model.own, False
        state.steps_s, state.steps_y = state.steps_s[:0], state.steps_y[:0]
        before, state.decrement = state.decrement, model.decrement
        if not 0 < model.decrement < _USELESS * before:
            state.nested = False
        elif self._close(problem, state, model.decrement, _TILTED):
            state.lead, state.status = step, Status.CERTIFIED
        else:
            self._move(problem, state, step)
            state.level_steps += 1

    def _rises(self, problem: Problem, state: LogisticState, p: Array) -> bool:
        a = state.a + p
        reading = self._read(problem, state, state.level, a, curved=False)
        return not self._value(a, reading) <= state.primal

    def _close(
        self, problem: Problem, state: LogisticState, decrement: float, shrink: float
    ) -> bool:
        """Whether one step more is likely to be enough for the certificate.

        shrink is what it is expected to leave of the decrement. Dual variables of a sample make
        up for all rows, which multiplies what is left by n over its size.
        """
        share = problem.n / sample_sizes(problem)[-1]
        state.gap = (1.0 + share) * shrink * decrement / state.primal
        return 0 < state.gap <= 0.5 * self.tol

    # -- points -------------------------------------------------------------------------------

    def _enter(self, problem: Problem, state: LogisticState, level: int, a: Array) -> None:
        """Go on with another set of rows; the curvature of the last one is kept."""
        last = len(sample_sizes(problem))
        state.level, state.level_steps = level, 0
        curved = not (last and self.ridge and state.curvature.any())
        reading = self._read(problem, state, state.level, a, curved=curved)
        if level > 0 and not self._value(a, reading) < np.inf:
            a = state.a
            reading = self._read(problem, state, state.level, a, curved=curved)
        self._take(problem, state, a, reading)

    def _move(self, problem: Problem, state: LogisticState, p: Array) -> None:
        """Unit step, or the exact minimum along p."""
        rows = self._rows(problem, state.level)
        last = len(sample_sizes(problem))
        thrifty = last > 0 and state.level == last and self.ridge > 0
        curved = not thrifty or len(state.steps_s) >= _MEMORY
        old = state.primal
        reading = self._read(problem, state, state.level, state.a + p, curved=curved)
        new = self._value(state.a + p, reading)
        if not new <= old + 1e-14 * abs(old):
            cost, change = self.cost * rows.cost, reading.m - state.m
            t = minimum_along(state.a, p, state.m, change, cost, self.ridge, t=0.5)
            state.nested &= state.level < last
            state.own |= 0 < state.level < last
            p = t * p
            reading = self._read(problem, state, state.level, state.a + p, curved=True)
            new = self._value(state.a + p, reading)
        state.idle = 0 if new < old - 1e-15 * abs(old) else state.idle + 1
        if not new <= old + 1e-12 * abs(old):  # rounding: stay where we are
            if state.idle > 2 or state.fresh:
                state.status = Status.STALLED
            self._take(
                problem,
                state,
                state.a,
                self._read(problem, state, state.level, state.a, curved=True),
            )
            return
        before_a, before_g = state.a, state.gradient
        self._take(problem, state, state.a + p, reading)
        if state.fresh:
            state.steps_s, state.steps_y = state.steps_s[:0], state.steps_y[:0]
        else:
            s, y = state.a - before_a, state.gradient - before_g
            if float(s @ y) > 0:
                state.steps_s = np.vstack([state.steps_s, s])
                state.steps_y = np.vstack([state.steps_y, y])
        if state.idle > 5 and not state.status.done:
            state.status = Status.STALLED

    def _take(
        self, problem: Problem, state: LogisticState, a: Array, reading: LogisticReading
    ) -> None:
        """Move to an evaluated point."""
        state.a, state.m = a, reading.m
        state.n_updates += 1
        state.primal = self._value(a, reading)
        state.gradient = self.ridge * a - self.cost * reading.v
        state.gradient[-1] = -self.cost * reading.v[-1]
        state.fresh = reading.curvature is not None
        if reading.curvature is not None:
            state.curvature = reading.curvature
        if not (np.isfinite(state.primal) and np.isfinite(state.gradient).all()):
            state.status = Status.DIVERGED
            return
        state.status = Status.RUNNING
        if state.level < len(sample_sizes(problem)):
            return
        state.gap = self._gap(problem, state)
        # close to the end rounding decides which objective is less, and the gap still shrinks
        equal = abs(state.primal - state.best_primal) <= _ROUNDING * abs(state.primal)
        if state.gap <= state.best_gap if equal else state.primal <= state.best_primal:
            state.best_primal, state.best_gap, state.best = state.primal, state.gap, a.copy()
        if state.gap <= self.tol:
            state.status = Status.CERTIFIED
        elif not self.ridge and not self.patient:
            self._watch(state)

    def _gap(self, problem: Problem, state: LogisticState) -> float:
        """The duality gap at this point, if the curvature is right."""
        g = state.gradient
        if not self.ridge:
            p = self._direction(problem, state)
            decrement = max(-float(g @ p), 0.0)
            state.slow = state.slow + 1 if decrement > 0.1 * state.decrement else 0
            state.decrement = decrement
            near = state.fresh and float(np.abs(p).max(initial=0.0)) < np.inf
            return share_of(decrement, state.primal) if near else np.inf
        H = state.curvature
        w, b, bend = g[:-1], float(g[-1]), float(H[-1, -1])
        if problem.fit_intercept and bend > 0:
            w = w - H[:-1, -1] * (b / bend)
            rest = 0.5 * b * (b / (self.cost * bend))  # b * b may underflow
        else:
            rest = 0.0
        return share_of(0.5 * float(w @ w) + rest, state.primal)

    def _watch(self, state: LogisticState) -> None:
        """Without a penalty: the signs that there may be no maximum."""
        if float(state.m.min()) > 0.0:
            state.status = Status.SEPARATED
        elif state.level_steps >= _RUNAWAY and state.slow >= 4:
            state.status = Status.STALLED

    # -- reading -------------------------------------------------------------------------------

    def _value(self, a: Array, reading: LogisticReading) -> float:
        return 0.5 * self.ridge * float(a[:-1] @ a[:-1]) + self.cost * reading.loss

    def _read(
        self,
        problem: Problem,
        state: LogisticState,
        level: int,
        a: Array,
        *,
        curved: bool,
        own: bool = False,
    ) -> LogisticReading:
        state.rows_read += self._rows(problem, level).n
        return read_level(
            problem, level, a,
            curved=curved, own=own or state.own,
            seed=self.seed, threads=self.threads, double=self._double(problem),
        )  # fmt: skip

    def _direction(self, problem: Problem, state: LogisticState) -> Array:
        return -pairs_solved(problem, state, self.cost, self.ridge)

    def _rows(self, problem: Problem, level: int) -> LogisticRows:
        double = self._double(problem)
        return level_rows(problem, level, seed=self.seed, threads=self.threads, double=double)

    def _double(self, problem: Problem) -> bool:
        return want_double(problem, self.cost, self.tol, self.threads)


# -- The system that steps solve -------------------------------------------------------------------


def newton_solved(problem: Problem, curvature: Array, cost: float, ridge: float, q: Array) -> Array:
    """H^-1 q, H = ridge I + cost curvature; the offset has no ridge."""
    width = problem.width
    H = cost * curvature[:width, :width]
    H.flat[: problem.d * (width + 1) : width + 1] += ridge
    return np.append(solved(H, q[:width]), np.zeros(len(q) - width))


def pairs_solved(problem: Problem, state: LogisticState, cost: float, ridge: float) -> Array:
    """H^-1 gradient, H corrected by the pairs of steps and gradients since it was computed."""
    return solved_with_pairs(
        state.gradient,
        list(zip(state.steps_s, state.steps_y)),
        lambda q: newton_solved(problem, state.curvature, cost, ridge, q),
    )


# -- Rows that Newton's method for logistic regression works on: samples, then all of them --------


_levels = Latest()


def level_rows(
    problem: Problem, level: int, *, seed: int, threads: int | None, double: bool
) -> LogisticRows:
    """The rows of a level, a function of the arguments alone; kept while they are in use."""
    known: dict[int, LogisticRows] = _levels.made((problem, seed, double), dict)
    if level not in known:
        sizes = sample_sizes(problem)
        if level == len(sizes):
            known[level] = all_rows(problem, double=double)
        else:
            index, cost, part = sample_matrix(problem, sizes[level], seed, threads)
            known[level] = LogisticRows(part, problem.sign[index], cost, double=double, index=index)
    return known[level]


def read_level(
    problem: Problem,
    level: int,
    a: NDArray[np.float64],
    *,
    curved: bool,
    own: bool,
    seed: int,
    threads: int | None,
    double: bool,
) -> LogisticReading:
    """A pass over the rows of a level; curved asks for curvature.

    Larger samples take it from the first one unless they shall use their own: as a rule that is
    good to a few per cent, costs a fraction, and steps by the gradient of the larger sample
    correct it.
    """
    last, offset = len(sample_sizes(problem)), problem.fit_intercept
    rows = level_rows(problem, level, seed=seed, threads=threads, double=double)
    if level == last and not curved:
        return read_all(problem, rows, a, threads)
    if not curved or own or level in (0, last):
        return rows.read(a, offset=offset, curved=curved, threads=threads)
    reading = rows.read(a, offset=offset, curved=False, threads=threads)
    first = level_rows(problem, 0, seed=seed, threads=threads, double=double)
    bend = first.read(a, offset=offset, curved=True, threads=threads).curvature
    return replace(reading, curvature=bend)


# -- A sample of rows as a model of all of them: its objective with a linear term added -----------
#
# The term makes the gradient at one point that of all rows. Where the sample is good the minimum
# of the model is far closer to that of all rows than a Newton step, since weights of columns that
# only one class has, whose losses are bent sharply, are followed and not extrapolated.
# Shamir, Srebro and Zhang 2014, Communication-efficient distributed optimization (DANE).


SLOW = 0.2  # of the decrement left by a Newton step that tells of a poor curvature
_MOST_STEPS = 12  # of Newton's method, at most
_NEAR_MINIMUM = 1e-3  # of the first decrement, at which the minimum is near enough in any case


class Tilted:
    """The objective of a sample, tilted.

    ``read(a, curved, own)`` passes over it; curvature is that of a point nearby, or zero. own says
    that it must be that of this sample, and becomes true where steps by another lead nowhere.
    """

    def __init__(
        self,
        problem: Problem,
        rows: LogisticRows,
        read: Callable[[Array, bool, bool], LogisticReading],
        curvature: Array,
        cost: float,
        ridge: float,
        *,
        own: bool,
    ) -> None:
        self.problem, self.rows, self.read = problem, rows, read
        self.cost, self.ridge = cost, ridge
        self.tilt = np.zeros(problem.d + 1)
        self.decrement = 0.0  # at the first point
        self.curvature, self.own = curvature, own

    def minimum(self, a: Array, gradient: Array, goal: float) -> Array:
        """Step from a, where all rows have this gradient, to about the minimum of the model.

        Newton's method until the decrement is at most ``goal``; the last step is not evaluated.
        """
        start, now = a, self._read(a, curved=not self.curvature.any())
        self.tilt = gradient - self._slope(a, now)
        before = np.inf
        for k in range(_MOST_STEPS):
            g = self._slope(a, now)
            p = -newton_solved(self.problem, self.curvature, self.cost, self.ridge, g)
            decrement = -0.5 * float(g @ p)
            self.decrement = self.decrement if k else decrement
            self.own |= decrement > SLOW * before
            before = decrement
            if not decrement > max(goal, _NEAR_MINIMUM * self.decrement):
                a = a + p if decrement >= 0 else a
                break
            a, now, moved = self._moved(a, p, now)
            if not moved:
                break
        return a - start

    def _moved(
        self, a: Array, p: Array, now: LogisticReading
    ) -> tuple[Array, LogisticReading, bool]:
        """Unit step, or the exact minimum along p; False where rounding leaves nothing to gain."""
        old, new = self._value(a, now), self._read(a + p)
        if not self._value(a + p, new) <= old:
            change, cost = new.m - now.m, self.cost * self.rows.cost
            tilt, self.own = float(self.tilt @ p), True
            p = minimum_along(a, p, now.m, change, cost, self.ridge, t=0.5, tilt=tilt) * p
            new = self._read(a + p)
            if not self._value(a + p, new) <= old:
                return a, now, False
        return a + p, new, True

    def _read(self, a: Array, *, curved: bool = True) -> LogisticReading:
        reading = self.read(a, curved, self.own)
        if reading.curvature is not None:
            self.curvature = reading.curvature
        return reading

    def _slope(self, a: Array, now: LogisticReading) -> Array:
        out: Array = self.tilt - self.cost * now.v
        out[:-1] += self.ridge * a[:-1]
        return out

    def _value(self, a: Array, now: LogisticReading) -> float:
        half = 0.5 * self.ridge * float(a[:-1] @ a[:-1])
        return half + self.cost * now.loss + float(self.tilt @ a)
