"""Support vector machine with an additive kernel, at cost linear in the data.

Problem: max sum alpha_i - 1/2 sum alpha_i alpha_j y_i y_j K_ij, 0 <= alpha_i <= C s_i,
         sum alpha_i y_i = 0, with K(x, z) = sum_k M_p(x_k, z_k).
Step:    choose the rows that violate the optimality conditions most, solve their problem by
         pairs (SMO, second order), and bring the scores of all rows up to date through the
         functions h_k (kernels/additive.py), which takes no kernel matrix.
Stop:    duality gap, with the best offset for the present scores.
Papers:  Joachims 1999 (working sets), Maji, Berg, Malik 2008 (intersection kernel by running
         sums), Wu 2012 (power mean kernels).

It shares with smo.py what a dual point is worth, the steps inside a working set (working_set.py),
Newton's method (numerics/box.py) and the rescue of small problems (rescue.py). It differs in what
a look at all rows costs: here one pass over the data for one changed variable as for a thousand,
there one row of kernel values for each. So its working sets are large, hold all free variables
and are solved well, with a block of kernel values that is kept from set to set; scores of all rows
never come from blocks, whose errors are of no consequence then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.log import NO_LOG, Log
from linsep.core.problem import Problem
from linsep.core.protocol import Held, State, Witness
from linsep.core.status import Status
from linsep.kernels.additive import Levels, levels_of
from linsep.losses.hinge import best_stretch
from linsep.numerics.box import balanced, newton_change, project
from linsep.numerics.conjugate import conjugate_gradients
from linsep.solvers.kernel.additive_rows import (
    assembled,
    first_block,
    kernel_block,
    roomy,
    share_blocks,
    taken_from,
)
from linsep.solvers.kernel.rescue import interior_point
from linsep.solvers.kernel.working_set import LANES, movable, optimality, solve_set

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_FRESH = 64  # steps after which the scores are computed anew, against rounding
_STEPS = 20  # pairs for each row of a working set, before Newton's method takes over
_ROUNDS = 20
_CLOSE = 0.3  # largest violation from which Newton's method finishes what pairs began
_LEFT = 0.1  # of the largest violation that pairs leave in a working set
_NEAR = 1e-3  # largest violation from which a small problem is solved to rounding
_CROWDED = 0.75  # share of a working set that free variables may fill before all of them move
_ITERATIONS = 30
_TURNS = 3
_COARSE = 1e-4  # gap for which kernel values in float32 will do inside a working set
_BAND = 0.02  # share of the largest violation that is none
_LEAST = 64  # rows of either class in the first set
_IDLE = 12  # steps without progress after which rounding is blamed
_RESCUE = 2000  # rows up to which an interior point method helps out
_EXACT = 1e-10  # violation up to which small problems are solved
_SMALL = 512  # rows of these


@dataclass(kw_only=True)
class AdditiveState(State):
    """Dual variables, scores without offset, and the working set with its kernel values."""

    held: ClassVar[Mapping[str, Held]] = {
        "rows": Held(shape=("?",), below="n"),
        "block": Held(shape=("padded", "padded"), any_width=True),
    }

    alpha: Array
    score: Array
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    block: Array = field(default_factory=lambda: np.zeros((0, 0)))
    offset: float = 0.0
    primal: float = np.inf
    dual: float = 0.0
    best: float = -np.inf
    idle: int = 0
    age: int = 0
    work: float = 0.0
    rescued: int = 0
    wide: int = 0
    """1 once kernel values in float32 did not do inside a working set."""

    @property
    def passes(self) -> float:
        """Products with the kernel matrix, two passes each."""
        return self.work

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        if not np.isfinite(self.primal):
            return np.inf
        return max(self.primal - self.dual, 0.0) / self.primal if self.primal > 0 else 0.0


@dataclass(frozen=True)
class AdditiveSMO:
    """Settings of the working set method.

    Parameters
    ----------
    power : float
        p <= 0; -inf is the intersection kernel, -1 chi-square.
    C : float
    tol : float
        Relative duality gap.
    size : int
        Rows of the first working set, and of the whole problem if it has no more.
    most : int
        Rows up to which the working set grows with the free variables.
    seed : int
        Chooses the first working set.
    """

    power: float
    C: float = 1.0
    tol: float = 1e-3
    size: int = 512
    most: int = 3072
    seed: int = 0

    unit: ClassVar[str] = "working set"

    def init(self, problem: Problem, *, start: Any = None) -> AdditiveState:
        """alpha = 0, or dual variables given, made feasible."""
        levels = levels_of(problem, self.power)
        state = AdditiveState(
            alpha=np.zeros(problem.n),
            score=np.zeros(problem.n),
            block=np.zeros((0, 0), dtype=np.float32 if self.short(levels) else np.float64),
        )
        if start is not None:
            state.alpha = self._feasible(problem, np.asarray(start, dtype=np.float64))
        self._refresh(problem, state)
        self._measure(problem, state)
        return state

    def advance(self, problem: Problem, state: AdditiveState, steps: int, log: Log = NO_LOG) -> int:
        """Up to ``steps`` working sets."""
        levels = levels_of(problem, self.power)
        taken = 0
        while taken < steps and not state.status.done:
            self._step(problem, levels, state)
            taken += 1
        return taken

    def extents(self, problem: Problem, state: AdditiveState) -> dict[str, int]:
        """A block has whole lanes."""
        return {"padded": -(-len(state.rows) // LANES) * LANES}

    def prepare(self, problem: Problem) -> None:
        """What all classes of a problem share; made once."""
        levels = levels_of(problem, self.power)
        share_blocks(levels, self.short(levels), partial(self._first_set, levels))

    def short(self, levels: Levels) -> bool:
        """Whether kernel values in float32 will do inside a working set."""
        return self.tol >= _COARSE and roomy(levels)

    def status(self, state: AdditiveState) -> Status:
        """Pure."""
        return state.status

    def witness(self, problem: Problem, state: AdditiveState) -> Witness:
        """The offset and the dual variables; they say all about the function."""
        rows = np.flatnonzero(state.alpha)
        return Witness(
            a=np.array([state.offset]), rows=rows, multipliers=state.alpha[rows], claim="dual"
        )

    def _feasible(self, problem: Problem, alpha: Array) -> Array:
        return balanced(alpha, problem.sign, self.C * problem.weight)

    # -- one step ---------------------------------------------------------------------------

    def _step(self, problem: Problem, levels: Levels, state: AdditiveState) -> None:
        state.steps += 1
        if self._creeps(problem, state):
            self._rescue(problem, levels, state)
            return
        y, top = problem.sign, self.C * problem.weight
        f = state.score - y
        width = self._next_set(problem, levels, state, f, top)
        if width <= 0.0:
            self._stand_still(problem, state)
            return
        rows = state.rows
        q = len(rows)
        K = state.block
        values = np.zeros((4, len(K)))
        values[0, :q], values[1, :q] = y[rows], top[rows]
        values[2, :q], values[3, :q] = state.alpha[rows], f[rows]
        eps, limit = max(_LEFT * width, 1e-13), _STEPS * q
        part = values[0], values[1], values[2], values[3]
        taken = solve_set(K, *part, eps, limit)
        if taken >= limit or width < (_NEAR if q == problem.n else _CLOSE):
            taken += self._polish(K, part, 0.01 * eps)
        change = values[2, :q] - state.alpha[rows]
        moved = np.flatnonzero(change)
        if taken == 0 or not moved.size:
            self._stand_still(problem, state)
            return
        state.n_updates += int(taken)
        state.alpha[rows] = values[2, :q]
        state.age += 1
        if state.age >= _FRESH:
            self._refresh(problem, state)
        else:
            self._add(problem, levels, state, rows[moved], (change * y[rows])[moved])
            if int(((state.alpha > 0) & (state.alpha < top)).sum()) > _CROWDED * self.most:
                self._subspace(problem, levels, state, top)
        self._measure(problem, state)

    def _polish(self, K: Any, part: tuple[Array, Array, Array, Array], eps: float) -> int:
        """Newton's method on the free variables, and pairs for those that come in between."""
        taken, q = 0, len(K)
        for _ in range(_ROUNDS):
            steps = newton_rounds(K, *part, eps, 1)
            pairs = solve_set(K, *part, eps, 4 * q) if steps else 0
            taken += steps + pairs
            if pairs < 4 * q:
                break
        return taken

    def _subspace(self, problem: Problem, levels: Levels, state: AdditiveState, top: Array) -> None:
        """All free variables at once: they are more than a working set holds."""
        y = problem.sign
        for _ in range(_TURNS):
            rows, change, products = subspace_step(
                levels, y, top, state.alpha, state.score, _ITERATIONS
            )
            state.work += 2 * products * len(rows) / problem.n
            new = np.clip(state.alpha[rows] + y[rows] * change, 0.0, top[rows])
            change = (new - state.alpha[rows]) * y[rows]
            state.alpha[rows] = new
            moved = np.flatnonzero(change)
            if not moved.size:
                return
            state.n_updates += 1
            self._add(problem, levels, state, rows[moved], change[moved])
            if ((new > 0) & (new < top[rows])).all():
                return

    def _add(
        self,
        problem: Problem,
        levels: Levels,
        state: AdditiveState,
        rows: NDArray[np.int64],
        change: Array,
    ) -> None:
        levels.add_product(rows, change, state.score)
        state.work += 1 + len(rows) / problem.n

    def _stand_still(self, problem: Problem, state: AdditiveState) -> None:
        """No pair of the working set moves: rounding, or an optimum."""
        if state.age == 0:
            state.idle += 4
        self._refresh(problem, state)
        state.rows, state.block = state.rows[:0], state.block[:0, :0]
        self._measure(problem, state)

    # -- small problems that creep -------------------------------------------------------------

    def _rescue(self, problem: Problem, levels: Levels, state: AdditiveState) -> None:
        """The answers of the interior point method, if their gap is smaller."""
        state.rescued = 1
        state.idle = 0
        y, rows = problem.sign, np.arange(problem.n)
        state.rows, state.block = state.rows[:0], state.block[:0, :0]
        best, gap = state.alpha, state.primal - state.dual
        K = kernel_block(levels, rows, rows)
        for alpha in interior_point(K, y, self.C * problem.weight, True):
            self._judge(problem, state, self._feasible(problem, alpha))
            if state.primal - state.dual < gap:
                best, gap = state.alpha, state.primal - state.dual
            if state.status is Status.CERTIFIED:
                return
        self._judge(problem, state, best)

    def _judge(self, problem: Problem, state: AdditiveState, alpha: Array) -> None:
        state.alpha = alpha
        self._refresh(problem, state)
        self._measure(problem, state)

    # -- the working set, and its kernel values ----------------------------------------------
    #
    # It holds the free variables it had and the rows that violate the optimality conditions most:
    # those whose f is on the wrong side of the middle of the free ones. The first set is a random
    # one, the same for all classes, so that its kernel values are computed once.

    def _next_set(
        self, problem: Problem, levels: Levels, state: AdditiveState, f: Array, top: Array
    ) -> float:
        """Put the next working set into the state; gives back the largest violation."""
        n, short = problem.n, self.short(levels) and not state.wide
        up, low = movable(problem.sign, top, state.alpha)
        least, most = float(f[up].min()), float(f[low].max())
        if n <= self.size:
            if len(state.rows) != n:
                _take(levels, state, state.rows[:0], np.arange(n), short)
            return most - least
        if most <= least:
            return 0.0
        if state.steps == 1 and not state.alpha.any():
            self._begin(problem, levels, state, short)
            return most - least
        free = up & low
        middle = float(np.median(f[free])) if free.any() else 0.5 * (least + most)
        urgent = np.maximum(np.where(up, middle - f, 0.0), np.where(low, f - middle, 0.0))
        urgent[urgent <= _BAND * (most - least)] = 0.0
        for side, value in ((up, least), (low, most)):  # a pair that violates most is always there
            urgent[np.flatnonzero(side & (f == value))[0]] = most - least
        kept = self._kept(state, free | (urgent > 0), urgent)
        urgent[state.rows[kept]] = 0.0
        room = min(max(self.size, len(kept)), self.most - len(kept))
        _take(levels, state, kept, _largest(urgent, room), short)
        return most - least

    def _first_set(self, levels: Levels) -> Index:
        """Some rows to begin with, chosen by the seed."""
        cheap = np.isneginf(levels.power)
        count = min(max(self.size, levels.n // 4), (4 if cheap else 2) * self.size, levels.n)
        if count > LANES:
            count -= count % LANES
        return np.sort(np.random.default_rng(self.seed).choice(levels.n, count, replace=False))

    def _begin(self, problem: Problem, levels: Levels, state: AdditiveState, short: bool) -> None:
        """The first set, and some more of a class that it has few rows of."""
        shared = first_block(levels, short)
        if shared is None:
            rows = self._first_set(levels)
            state.rows = state.rows[:0]
            _take(levels, state, state.rows, rows, short)
        else:
            rows = state.rows = shared[0]
            state.block = shared[1]  # blocks are read only
        for sign in (-1.0, 1.0):
            missing = _LEAST - int((problem.sign[rows] == sign).sum())
            if missing > 0:
                others = np.setdiff1d(np.flatnonzero(problem.sign == sign), rows)
                _take(levels, state, np.arange(len(state.rows)), others[:missing], short)

    def _kept(self, state: AdditiveState, useful: Any, urgent: Array) -> Index:
        """Places of the last working set that stay: those of use, the most urgent if too many."""
        places = np.flatnonzero(useful[state.rows])
        room = self.most - self.size // 2
        if len(places) > room:
            order = np.argsort(-urgent[state.rows[places]], kind="stable")
            places = np.sort(places[order[:room]])
        return places

    # -- what a point is worth -----------------------------------------------------------------

    def _refresh(self, problem: Problem, state: AdditiveState) -> None:
        """Scores from the dual variables alone."""
        state.score[:] = 0.0
        state.age = 0
        rows = np.flatnonzero(state.alpha)
        if rows.size:
            levels = levels_of(problem, self.power)
            levels.add_product(rows, (state.alpha * problem.sign)[rows], state.score)
            state.work += 1 + len(rows) / problem.n

    def _measure(self, problem: Problem, state: AdditiveState) -> None:
        """Objective, bound and status."""
        y, cost = problem.sign, self.C * problem.weight
        now = optimality(y, cost, state.alpha, state.score - y, True, best=True)
        state.primal, state.dual, state.offset = now.primal, now.dual, now.offset
        if state.primal - state.dual > self.tol * state.primal:
            self._stretch(y, cost, state)
        if not np.isfinite(state.primal):
            state.status = Status.DIVERGED
            return
        better = state.dual > state.best + 1e-13 * abs(state.best)
        state.idle = 0 if better else state.idle + 1
        state.best = max(state.best, state.dual)
        if state.primal - state.dual <= self.tol * state.primal:
            # small problems are solved until no row violates its condition
            exact = problem.n > min(self.size, _SMALL) or now.violation <= _EXACT
            state.status = Status.CERTIFIED if exact or state.idle > 2 else Status.RUNNING
        else:
            stuck = state.idle > _IDLE and not self._creeps(problem, state)
            if stuck and state.block.dtype == np.float32:  # once more, in double precision
                state.wide, state.idle = 1, 0
                state.rows, state.block = state.rows[:0], np.zeros((0, 0))
                stuck = False
            state.status = Status.STALLED if stuck else Status.RUNNING

    def _stretch(self, y: Array, cost: Array, state: AdditiveState) -> None:
        """With a huge C a machine that is a little longer may be the better one."""
        squared = max(float((state.alpha * y) @ state.score), 0.0)
        margin = y * (state.score + state.offset)
        t = best_stretch(squared, cost, margin)
        short = 1.0 - t * margin
        short[short <= 1e-15] = 0.0  # the row that t was made for has no loss
        primal = 0.5 * squared * t * t + float(cost @ short)
        if not (primal < state.primal and (t * state.alpha <= cost).all()):
            return
        dual = t * float(state.alpha.sum()) - 0.5 * squared * t * t
        if primal - dual <= self.tol * primal:
            for array in (state.alpha, state.score):
                array *= t
            state.offset, state.dual = t * state.offset, dual
        state.primal = primal  # of the longer one, which is worth taking once it is proved

    def _creeps(self, problem: Problem, state: AdditiveState) -> bool:
        """Whether it takes so long that a method of n^3 operations is worth its price."""
        slow = state.n_updates > problem.n**2 // 3 + 1000 or state.idle > _IDLE
        return slow and not state.rescued and problem.n <= _RESCUE


def _largest(urgent: Array, count: int) -> Index:
    """The rows that are most urgent, of those that are at all."""
    rows = np.flatnonzero(urgent)
    if len(rows) > count:
        rows = np.sort(rows[np.argpartition(-urgent[rows], count)[:count]])
    return rows


def _take(levels: Levels, state: AdditiveState, kept: Index, new: Index, short: bool) -> None:
    """The working set: some of the last one, by their places in it, and new rows.

    The block is padded to whole lanes with rows that take no part.
    """
    if not len(new) and len(kept) == len(state.rows):
        return
    rows = np.concatenate([state.rows[kept], new])
    if len(new):
        fresh = kernel_block(levels, new, rows if len(kept) else new, short)
    else:
        fresh = np.empty((0, len(rows)), dtype=state.block.dtype)
    state.block = assembled(state.block, kept, fresh)
    state.rows = rows


# -- Newton steps on the free variables of a working set ------------------------------------------
#
# Pairs of variables converge slowly where many variables are free. The variables strictly inside
# their box have a linear system instead (numerics/box.py).


def newton_rounds(K: Any, y: Array, top: Array, a: Array, f: Array, eps: float, rounds: int) -> int:
    """Steps on the free variables, in place, until no violation among them exceeds eps.

    Variables that reach a bound stay there. Gives back the number of steps taken.
    """
    for taken in range(rounds):
        free = np.flatnonzero((a > 0) & (a < top))
        if len(free) < 2 or float(np.ptp(f[free])) <= eps:
            return taken
        beta, bound = a[free] * y[free], top[free] * y[free]
        low, high = np.minimum(0.0, bound) - beta, np.maximum(0.0, bound) - beta
        own = taken_from(K, free, free)
        change = newton_change(own, f[free], low, high, True, projected=True)
        if change is None:
            return taken
        a[free] = np.clip((beta + change) * y[free], 0.0, top[free])
        f += (change.astype(K.dtype) @ K[free])[: len(f)]
    return rounds


# -- A step of all free variables at once, where they are more than a working set holds -----------
#
# The variables strictly inside their box solve K d + mu = -f, sum d = 0. Conjugate gradients need
# products with K only, which cost one pass over the free rows. The end point is projected onto
# the box, and the exact minimum on the way there is taken, so the dual objective never falls.


_REDUCTION = 0.05  # of the residual


def subspace_step(
    levels: Levels, y: Array, top: Array, alpha: Array, score: Array, iterations: int
) -> tuple[NDArray[np.int64], Array, int]:
    """Rows, their change of y alpha, and the number of products with K."""
    rows = np.flatnonzero((alpha > 0) & (alpha < top))
    f = score[rows] - y[rows]
    beta, bound = alpha[rows] * y[rows], top[rows] * y[rows]
    low, high = np.minimum(0.0, bound) - beta, np.maximum(0.0, bound) - beta
    system = _FreeRows(levels, rows)
    step, products = conjugate_gradients(system, f.mean() - f, _REDUCTION, iterations)
    change = project(step, low, high, 0.0)
    slope = float(change @ f)
    if not slope < 0:
        return rows, np.zeros(len(rows)), int(products)
    curvature = float(change @ levels.product_at(rows, change))
    t = 1.0 if curvature <= 0 else min(1.0, -slope / curvature)
    return rows, t * change if t < 1.0 else change, int(products) + 1


@dataclass(frozen=True)
class _FreeRows:
    """The kernel matrix of some rows, on the vectors of sum zero."""

    levels: Levels
    rows: NDArray[np.int64]
    share: ClassVar[float] = 1.0

    @property
    def size(self) -> int:
        return self.levels.nnz

    def product(self, p: Array, out: Array) -> float:
        out[:] = self.levels.product_at(self.rows, p)
        out -= out.mean()
        return float(p @ out)

    def scaling(self) -> tuple[Array, None]:
        return np.ones(len(self.rows)), None
