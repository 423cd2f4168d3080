"""Kernel support vector machines by decomposition: active rows, working sets, pairs.

Problem   max sum alpha_i - 1/2 sum alpha_i alpha_j y_i y_j K_ij,  0 <= alpha_i <= C s_i,
          sum alpha_i y_i = 0 (without an intercept: no such condition); one problem for each
          pair of classes
Update    a working set of up to q rows, half of it new: those that violate the conditions most.
          Inside it pairs of variables by second-order selection; then one pass over the rows
          of the Gram matrix that changed
Stop      relative duality gap, from f = K (alpha y) - y, which is kept up to date. For a kernel
          that is not positive semidefinite: no pair of variables violates by more than tol
Paper     Platt 1998; Joachims 1999 (working sets, shrinking); Fan, Chen and Lin 2005

Where the Gram matrix of a pair does not fit into the memory allowed, only that of the active
rows is made: first a sample, then the rows that are not safely at a bound. f of all the others
follows by one product after each round, and whoever turns out to matter becomes active.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.log import NO_LOG, Log
from linsep.core.order import generator
from linsep.core.problem import Problem
from linsep.core.protocol import State, Witness
from linsep.core.status import Status
from linsep.kernels.blocks import Duel
from linsep.solvers.kernel.gram import (
    Desk,
    LazyRows,
    Pairs,
    PassingDesk,
    large_array,
    pairs_of,
    passing,
)
from linsep.solvers.kernel.interior import interior_point
from linsep.solvers.kernel.newton import newton_rows, newton_set, polish, worth_newton
from linsep.solvers.kernel.pairs import (
    LANES,
    Facts,
    best_offset,
    offset_of,
    solve_block,
    solve_coordinates,
    take_facts,
)

# -- When a kernel machine is done: bounds from f, and the signs that nothing moves any more ------


Array = NDArray[np.float64]

ROUNDS_IDLE = 3  # rounds without any change before it counts as stalled
_QUIET = 1e-13  # violation, relative to the size of f, that is taken for rounding
_EXTRA = 40  # steps a row that a small problem may take beyond the tolerance asked for
_HALVING = 4000  # rounds in which the gap must fall to a half; where rescue came, 60
_NEAR_GAP = 50.0  # times the gap wanted, from which a better offset may be all that is missing
_FLAT = 1e-13  # squared distance of the hulls over the largest K_ii: nothing between them


class Judging:
    """Methods over a state of one pair, for a solver with C, tol, fine and convex."""

    C: float
    tol: float
    fine: float
    convex: bool

    def _judge(self, problem: Problem, pair: Duel, part: PairState) -> Facts | None:
        """Bounds over all rows of the pair, and whether they are good enough."""
        cost = self.C * pair.weight
        part.status = Status.RUNNING
        if not len(pair.y) or (pair.y == pair.y[0]).all():  # no row of one class is left
            side = float(np.sign(pair.y.sum()))
            part.facts[:] = 0.0, 0.0, side * (1 + 2.0**-20), 0.0  # no loss beyond any doubt
            part.status = Status.CERTIFIED
            return None
        facts = take_facts(pair.y, cost, part.alpha, part.f, problem.fit_intercept)
        part.facts[:] = facts.primal, facts.dual, facts.offset, facts.violation
        if problem.fit_intercept and self.convex and self.fine < part.gap <= _NEAR_GAP * self.fine:
            self._better_offset(pair, cost, facts, part)
        if not np.isfinite(part.f).all() or not np.isfinite(part.alpha).all():
            part.status = Status.DIVERGED
        elif not self.convex:
            if facts.violation <= self.tol:
                part.status = Status.CONVERGED
        elif part.gap <= self.tol:
            part.bonus = part.inner if part.bonus < 0 else part.bonus
            if part.gap <= self.fine or part.inner - part.bonus > _EXTRA * len(pair.y):
                part.status = Status.CERTIFIED
        if part.status.done:
            return facts
        if facts.violation <= self._noise(pair, part) or part.idle >= ROUNDS_IDLE:
            met = self.convex and part.gap <= self.tol
            part.status = Status.CERTIFIED if met else Status.STALLED
        elif self._lingers(part) or (np.isinf(self.C) and self._flat(part, facts.spread, pair)):
            part.status = Status.STALLED
        return facts

    def _better_offset(self, pair: Duel, cost: Array, facts: Facts, part: PairState) -> None:
        """The least losses that an offset can have; one row alone can shift the middle.

        It is taken if it ends the search, so that the search itself does not depend on it.
        """
        if np.isinf(cost).any():
            return
        half, middle = 0.5 * facts.violation, -facts.offset
        b = best_offset(pair.y, cost, part.f, (middle - half, middle + half))
        away = -pair.y * part.f
        less = np.maximum(0.0, away - pair.y * b) - np.maximum(0.0, away - pair.y * facts.offset)
        primal = facts.primal + float(cost @ less)
        if primal - facts.dual <= self.fine * primal:
            part.facts[0], part.facts[2] = primal, b

    def _met(self, part: PairState) -> bool:
        """Whether the gap is what was asked for."""
        if part.status is Status.RUNNING:
            return self.convex and part.gap <= self.tol
        return part.status is Status.CERTIFIED

    def _quiet(self, f: Array) -> float:
        return _QUIET * (1.0 + float(np.abs(f).max(initial=0.0)))

    def _noise(self, pair: Duel, part: PairState) -> float:
        """Violation that rounding alone can make: f is a sum of products alpha K."""
        top = float(pair.root.max(initial=0.0))
        return max(self._quiet(part.f), 2e-16 * top * float(part.alpha @ pair.root))

    def _lingers(self, part: PairState) -> bool:
        """Whether the gap has not been halved for long."""
        now = part.gap if self.convex and np.isfinite(part.gap) else float(part.facts[3])
        if now < 0.5 * part.mark or part.steps < part.marked:
            part.mark, part.marked = now, part.steps
        return part.steps - part.marked > (60 if part.rescued else _HALVING)

    def _flat(self, part: PairState, spread: float, pair: Duel) -> bool:
        """Whether the two hulls have no distance that rounding would show."""
        return spread <= _FLAT * float((pair.root[part.alpha > 0] ** 2).max(initial=0.0))


# -- Small kernel machines: the last digits, and help where steps of two variables creep ----------


POLISH = 1000  # rows up to which the last digits come from linear equations, if they are wanted
_EXACT = 200  # rows up to which they always do
RESCUE = 2000  # rows up to which an interior point method helps out
_PATIENCE = 100  # steps a row after which it does


class Finishing(Judging):
    """Methods over a state of one pair, for a solver with single."""

    single: bool

    def _small(self, part: PairState, rows: int) -> bool:
        return len(part.active) == len(part.alpha) <= rows and self.convex and not self.single

    def _exactly(self, part: PairState) -> bool:
        """Whether the last digits are wanted."""
        return self._small(part, POLISH if self.fine < 0.5 * self.tol else _EXACT)

    def _creeps(self, part: PairState) -> bool:
        """Whether it takes so long that another method is worth its price."""
        slow = part.inner > _PATIENCE * len(part.alpha) + 1000
        return slow and not part.rescued and part.bonus < 0 and self._small(part, RESCUE)

    def _rescue(
        self, problem: Problem, pairs: Pairs, desk: Any, pair: Duel, part: PairState
    ) -> None:
        """The answer of the interior point method, if it is better."""
        part.rescued = 1
        n = len(pair.y)
        K = whole_of(pairs, desk, pair)[:n, :n]
        cost, free = self.C * pair.weight, problem.fit_intercept
        for alpha in interior_point(K, pair.y, cost, free):
            f = K @ (alpha * pair.y) - pair.y
            new, old = (take_facts(pair.y, cost, a, g, free) for a, g in (
                (alpha, f), (part.alpha, part.f)))  # fmt: skip
            if np.isfinite(f).all() and new.primal - new.dual < old.primal - old.dual:
                part.alpha, part.f = alpha, f
            if new.primal - new.dual <= self.tol * new.primal:
                break
        part.read += len(pair.y)
        self._polish(problem, pairs, desk, pair, part)
        self._judge(problem, pair, part)

    def _polish(
        self, problem: Problem, pairs: Pairs, desk: Any, pair: Duel, part: PairState
    ) -> None:
        """The last digits, where they cost little."""
        n = len(pair.y)
        K = whole_of(pairs, desk, pair)[:n, :n]
        cost = self.C * pair.weight
        better = polish(K, pair.y, cost, part.alpha, part.f, problem.fit_intercept)
        if better is None:
            return
        kept = part.alpha, part.f, part.gap
        part.alpha, part.f = better
        self._judge(problem, pair, part)
        if not part.gap <= kept[2]:
            part.alpha, part.f = kept[0], kept[1]
            self._judge(problem, pair, part)

    def _hopeful(self, part: PairState, spread: float, pair: Duel) -> bool:
        """Whether the interior point method may go on where steps of two variables cannot."""
        apart = np.isfinite(self.C) or not self._flat(part, spread, pair)
        return bool(apart and not part.rescued and self._small(part, RESCUE))


# -- One round of a kernel machine: a working set of the active rows, now and then all rows -------


Index = NDArray[np.int64]

WHOLE = 600  # rows up to which all of them are one working set
_PLENTY = 8  # steps a row from which steps of all free variables may do better
_FALL = 0.02  # violation to reach in a round of all rows, over that before it
_CLOSE = 0.5  # share of the tolerance at which the active rows are left for a look at all


class Rounds(Finishing):
    """Methods over a state of one pair, for a solver with q, memory and single."""

    q: int
    memory: float

    def _round(self, problem: Problem, pairs: Pairs, pair: Duel, part: PairState) -> None:
        """One working set of the active rows; then, if these are done, a look at all rows."""
        part.status = Status.RUNNING
        part.steps += 1
        desk = desk_of(pairs, pair, part, self._limit(), self.single)
        if self._creeps(part):
            self._rescue(problem, pairs, desk, pair, part)
            return
        whole, free = len(part.active) == len(pair.y), problem.fit_intercept
        active: Any = slice(None) if whole else part.active  # no copies of all rows
        y, c = pair.y[active], self.C * pair.weight[active]
        a, f = part.alpha[active], part.f[active]
        facts = _recalled(pairs, part) or take_facts(y, c, a, f, free)
        if whole and len(y) <= WHOLE and part.inner < _PLENTY * len(y):
            self._all_at_once(pairs, pair, part, facts, desk, c, free)
            self._after(problem, pairs, pair, part, facts, desk, active, part.alpha, part.f)
            return
        if self._step_at_once(desk, facts, y, c, a, f, part, free):
            self._after(problem, pairs, pair, part, facts, desk, active, a, f)
            return
        some = choose(facts, part.working, min(self.q, len(y)))
        part.working = some
        goal = max(0.1 * facts.violation, self._quiet(f))
        urgent = None if part.steps == 1 else facts.urgency  # all rows are alike at first
        square = desk.square(some, urgent)
        new, taken = solve_set(square, y[some], c[some], a[some], f[some], goal, free)
        part.inner += taken
        changed = np.flatnonzero(new != a[some])
        part.idle = 0 if len(changed) else part.idle + 1
        if len(changed):
            rows = some[changed]
            desk.add(f, rows, (new[changed] - a[rows]) * y[rows])
            part.read += len(rows)
            a[rows] = new[changed]
        self._after(problem, pairs, pair, part, facts, desk, active, a, f)

    def _after(
        self, problem: Problem, pairs: Pairs, pair: Duel, part: PairState, facts: Facts, desk: Any,
        active: Any, a: Array, f: Array,
    ) -> None:  # fmt: skip
        """What the new variables of the active rows mean for all rows."""
        if isinstance(active, slice):
            judged = self._judge(problem, pair, part)
            if part.status is Status.STALLED and self._hopeful(part, facts.spread, pair):
                self._rescue(problem, pairs, desk, pair, part)
            elif self._met(part) and self._exactly(part):
                self._polish(problem, pairs, desk, pair, part)
            else:
                pairs.kept["facts"] = part, part.steps, judged
            return
        part.alpha[active], part.f[active] = a, f
        y, c = pair.y[active], self.C * pair.weight[active]
        left = take_facts(y, c, a, f, problem.fit_intercept)
        close = self.convex and left.gap <= _CLOSE * self.tol * part.facts[0]
        if close or left.violation <= self._enough(part) or part.idle >= ROUNDS_IDLE:
            self._look(problem, pairs, pair, part)
        else:
            pairs.kept["facts"] = part, part.steps, left

    def _all_at_once(
        self, pairs: Pairs, pair: Duel, part: PairState, facts: Facts, desk: Any, c: Array,
        free: bool,
    ) -> None:  # fmt: skip
        """A working set of all rows; f follows from the sum of all steps, as it is more exact."""
        K, m = whole_of(pairs, desk, pair), len(pair.y)
        goal = max(_FALL * facts.violation, self._quiet(part.f))
        new, taken = solve_set(K, pair.y, c, part.alpha, part.f, goal, free)
        way = (new - part.alpha) * pair.y
        moved = bool(way.any())
        part.inner += taken
        part.read += m
        part.idle = 0 if moved else part.idle + 1
        if moved:
            part.f = part.f + K[:m, :m] @ way
            part.alpha = new

    def _step_at_once(
        self, desk: Any, facts: Facts, y: Array, c: Array, a: Array, f: Array,
        part: PairState, free: bool,
    ) -> bool:  # fmt: skip
        """A Newton step of all free variables, where it pays; changes a and f."""
        if not self.convex or part.steps < part.pause:
            return False
        if not worth_newton(facts, a, c, part.steps * self.q):
            return False
        new = None
        if facts.violation <= 0.5 * part.stepped:  # the last one was worth it
            some = newton_rows(facts, a, c, f, self.q, free)
            new = newton_set(desk.square(some), y[some], c[some], a[some], f[some], free)
        if new is None:
            part.wait = min(2 * part.wait, 64)
            part.pause, part.stepped = part.steps + part.wait, np.inf
            return False
        part.stepped = facts.violation
        part.inner += 1
        part.read += len(some)
        part.idle = 0
        desk.add(f, some, (new - a[some]) * y[some])
        a[some] = new
        part.working = np.zeros(0, dtype=np.int64)
        return True

    def _limit(self) -> int:
        """Rows whose Gram matrix fits into the memory."""
        return max(2, int(np.sqrt(self.memory * 1e6 / (4 if self.single else 8))))

    def _look(self, problem: Problem, pairs: Pairs, pair: Duel, part: PairState) -> None:
        """f of the rows that are not active, the bounds, and the next active rows."""
        outside = np.ones(len(pair.y), dtype=bool)
        outside[part.active] = outside[part.far] = False
        self._update(pairs, pair, part, np.flatnonzero(outside), part.seen)
        part.seen = part.alpha.copy()
        idle, part.idle = part.idle, 0
        self._judge(problem, pair, part)
        if len(part.far) and (part.status.done or idle >= ROUNDS_IDLE):
            self._update(pairs, pair, part, part.far, part.past)
            part.far, part.past = part.far[:0], part.past[:0]
            self._judge(problem, pair, part)
        part.working = np.zeros(0, dtype=np.int64)
        part.generation += 1
        if part.status.done:
            return
        margin = pair.y * (part.f + part.facts[2]) + 1.0
        cost = self.C * pair.weight
        safe = np.where(part.alpha <= 0, margin - 1.0, np.where(part.alpha >= cost, 1 - margin, -1))
        used = int(np.count_nonzero(part.alpha))
        part.active, grew = next_active(safe, used, part.active, part.generation, self._limit())
        if len(part.active) == len(pair.y):
            part.active = np.arange(len(pair.y))  # then they are taken in their order
        part.read += len(part.active)
        if idle >= ROUNDS_IDLE and not grew:
            part.status = Status.STALLED
        if not len(part.far) and part.generation > 1:
            part.far = far_rows(margin, float(part.facts[3]), part.alpha, part.active)
            part.past = part.seen.copy() if len(part.far) else part.past

    def _update(
        self, pairs: Pairs, pair: Duel, part: PairState, rows: Index, before: Array
    ) -> None:
        """f of some rows, which belongs to the variables ``before``."""
        changed = np.flatnonzero(part.alpha != before)
        coef = (part.alpha[changed] - before[changed]) * pair.y[changed]
        dtype = np.float32 if self.single else np.float64
        part.f[rows] += pairs.values.combine(pair.ids[changed], coef, pair.ids[rows], dtype)
        part.read += len(changed)

    def _enough(self, part: PairState) -> float:
        """Violation at which the active rows are left for a look at all of them."""
        return float(max(0.1 * part.facts[3], self._quiet(part.f)))


def _recalled(pairs: Pairs, part: PairState) -> Facts | None:
    """The facts at the end of the last round, if nothing has happened since."""
    of, steps, facts = pairs.kept.get("facts", (None, 0, None))
    return facts if of is part and steps == part.steps - 1 else None


def solve_set(
    K: Array,
    y: Array,
    c: Array,
    a: Array,
    f: Array,
    goal: float,
    free: bool,
) -> tuple[Array, int]:
    """New variables of a working set, and the steps taken; K may have zeros up to whole lanes."""
    q = len(y)
    size = -(-q // LANES) * LANES
    square = K
    if size > len(K) or not K.flags.c_contiguous:
        square = np.zeros((size, size))
        square[:q, :q] = K
    padded = np.zeros((4, size))
    padded[0, :q], padded[1, :q], padded[2, :q], padded[3, :q] = y, c, a, f
    solve, work, taken = solve_block if free else solve_coordinates, np.empty((6, size)), 0
    while taken < 50 * size:  # short calls: a tiny problem is done before it is compiled for
        steps = int(
            solve(
                square, *padded, float(goal), 2 * size, work,
                size=4 * size * size, work=12 * size * size,
            )
        )  # fmt: skip
        taken += steps
        if steps < 2 * size:
            break
    return np.asarray(padded[2, :q]), taken


# -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SMO(Rounds):
    """Settings of the decomposition.

    Parameters
    ----------
    kernel : kernel object or None
        With its parameters fixed; None where the matrix of the problem is the Gram matrix.
    C : float
        Cost of a violation; inf is the hard margin.
    tol : float
        Relative duality gap to reach.
    fine : float
        Gap that is aimed at as long as that costs little.
    convex : bool
        False for kernels that are not positive semidefinite: there is no gap then, and tol is
        the largest violation allowed.
    q : int
        Size of a working set.
    memory : float
        Megabytes for Gram matrices.
    single : bool
        Hold them in float32; f and alpha are float64 in any case.
    seed : int
        Of the first sample where not all rows are active.
    """

    kernel: Any
    C: float = 1.0
    tol: float = 1e-3
    fine: float = 1e-3
    convex: bool = True
    q: int = 256
    memory: float = 1000.0
    single: bool = False
    seed: int = 0

    unit: ClassVar[str] = "round"

    # -- the protocol -----------------------------------------------------------------------

    def init(self, problem: Problem, *, start: Any = None) -> SMOState:
        """alpha = 0, or a list of alphas, one array for each pair in the order of its rows."""
        pairs = pairs_of(problem, self.kernel)
        parts = []
        for k, pair in enumerate(pairs.pairs):
            part = PairState(
                alpha=np.zeros(len(pair.y)),
                f=-pair.y,
                seen=np.zeros(len(pair.y)),
                active=first_active(pairs, k, self._limit(), self.seed, self.single),
                working=np.zeros(0, dtype=np.int64),
                facts=np.zeros(4),
            )
            if start is not None:
                self._set(problem, pairs, pair, part, start[k])
            self._judge(problem, pair, part)
            parts.append(part)
        state = SMOState(parts=parts)
        self._move_on(state)
        return state

    def advance(self, problem: Problem, state: SMOState, steps: int, log: Log = NO_LOG) -> int:
        """Up to ``steps`` working sets."""
        pairs, taken = pairs_of(problem, self.kernel), 0
        while taken < steps and not state.status.done:
            state.status = Status.RUNNING
            pair, part = pairs.pairs[state.at], state.parts[state.at]
            before = part.inner
            self._round(problem, pairs, pair, part)
            taken += 1
            state.steps += 1
            state.n_updates += part.inner - before
            self._move_on(state)
        return taken

    def status(self, state: SMOState) -> Status:
        """Why the run stands where it stands."""
        return state.status

    def witness(self, problem: Problem, state: SMOState) -> Witness:
        """Offsets of all pairs; row i of the problem in pair k has number k n + i."""
        pairs = pairs_of(problem, self.kernel)
        rows, multipliers, offsets = [], [], []
        for k, (pair, part) in enumerate(zip(pairs.pairs, state.parts)):
            some = np.flatnonzero(part.alpha)
            rows.append(k * problem.n + pairs.order[pair.ids[some]])
            multipliers.append(part.alpha[some])
            offsets.append(self._offset(problem, pair, part))
        return Witness(
            a=np.array(offsets) + 0.0,  # no minus sign before a zero
            rows=np.concatenate(rows),
            multipliers=np.concatenate(multipliers),
            claim="dual",
        )

    def _offset(self, problem: Problem, pair: Duel, part: PairState) -> float:
        if not problem.fit_intercept or not len(pair.y) or len(set(pair.y)) < 2:
            return float(part.facts[2])
        cost = self.C * pair.weight
        return (
            offset_of(pair.y, cost, part.alpha, part.f)
            if np.isinf(self.C)
            else best_offset(pair.y, cost, part.f)
        )

    def _set(
        self, problem: Problem, pairs: Pairs, pair: Duel, part: PairState, alpha: Array
    ) -> None:
        """Start from given variables, put into their box and balanced."""
        alpha = np.clip(np.nan_to_num(np.asarray(alpha, dtype=np.float64)), 0, self.C * pair.weight)
        if problem.fit_intercept:
            plus, minus = alpha[pair.y > 0].sum(), alpha[pair.y < 0].sum()
            if min(plus, minus) <= 0:
                return
            alpha = alpha * np.where(pair.y > 0, min(1, minus / plus), min(1, plus / minus))
        some = np.flatnonzero(alpha)
        part.alpha, part.seen = alpha, alpha.copy()
        part.f = pairs.values.combine(pair.ids[some], (alpha * pair.y)[some], pair.ids) - pair.y
        part.read += len(some)

    def _move_on(self, state: SMOState) -> None:
        while state.at < len(state.parts) and state.parts[state.at].status.done:
            state.at += 1
        if state.at == len(state.parts):
            state.at -= 1
            words = [part.status for part in state.parts]
            order = (Status.DIVERGED, Status.STALLED, Status.CONVERGED, Status.CERTIFIED)
            state.status = next(word for word in order if word in words)


# -- What changes while kernel machines are solved: one state for each pair of classes ------------


@dataclass(kw_only=True)
class PairState(State):
    """The dual variables of one pair, and f = K (alpha y) - y."""

    alpha: Array
    f: Array
    seen: Array
    """alpha that f of the rows outside the active set belongs to."""
    active: Index
    working: Index
    facts: Array
    """objective, bound, offset, violation."""
    inner: int = 0
    """Pairs of variables moved."""
    read: int = 0
    """Rows of kernel values read."""
    generation: int = 0
    idle: int = 0
    bonus: int = -1
    """Steps at which the tolerance asked for was met."""
    rescued: int = 0
    """1 once the interior point method has helped out."""
    pause: int = 0
    """Round from which a step of all free variables may be tried again."""
    wait: int = 4
    """Rounds to wait should it fail."""
    stepped: float = np.inf
    """Violation before the last such step, if it was taken."""
    mark: float = np.inf
    """Gap (or violation) at ``marked`` rounds; it must be halved in time."""
    marked: int = 0
    far: Index = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Rows far behind the street, left out of looks at the others until the end is near."""
    past: Array = field(default_factory=lambda: np.zeros(0))
    """alpha that f of the far rows belongs to."""

    @property
    def passes(self) -> float:
        """Rows of kernel values read, over the number of rows."""
        return self.read / max(1, len(self.alpha))

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        primal, dual = float(self.facts[0]), float(self.facts[1])
        if not np.isfinite(primal):
            return np.inf
        return max(primal - dual, 0.0) / primal if primal > dual else 0.0


@dataclass(kw_only=True)
class SMOState(State):
    """One state for each pair of classes; they are solved one after the other."""

    parts: list[PairState]
    at: int = 0

    @property
    def passes(self) -> float:
        """The passes of all parts together."""
        return float(sum(part.passes for part in self.parts))

    @property
    def gap(self) -> float:
        """The largest relative gap of the parts."""
        return max(part.gap for part in self.parts)


# -- Which rows take part: the active ones of a pair, and the working set among them --------------


_BITS = 16  # times more rows may all take part where their values need no memory
_NEAR, _NEW = 0.3, 0.15  # margins behind the street of rows that stay, and that become active
_FAR = 1.5  # margin from which a row is far behind the street, once little moves
_FIRST = 4000  # active rows that there may always be
_ROOM = 5.0  # and for each one in use
_LAZY = 2000  # rows beyond which a Gram matrix is made row by row, as they are needed


def first_active(pairs: Pairs, k: int, limit: int, seed: int, single: bool) -> Index:
    """All rows, or a sample with both classes in it."""
    pair = pairs.pairs[k]
    n = len(pair.y)
    if n <= limit or all_take_part(pairs, limit, single):
        return np.arange(n)
    size = int(min(max(0.1 * n, 1000), limit))
    share = size / n
    rng = generator(seed, k)
    some = []
    for rows in (np.flatnonzero(pair.y < 0), np.flatnonzero(pair.y > 0)):
        count = min(len(rows), max(1, round(share * len(rows))))
        some.append(rows[rng.permutation(len(rows))[:count]])
    return np.sort(np.concatenate(some)).astype(np.int64)


def all_take_part(pairs: Pairs, limit: int, single: bool) -> bool:
    """Whether all rows are active from the beginning; limit is where all their values fit."""
    n = pairs.values.n
    if n <= limit or (pairs.G is not None and pairs.values.kernel is None):
        return True
    return n <= _BITS * limit and passing(pairs.values, np.float32 if single else np.float64)


def desk_of(pairs: Pairs, pair: Duel, part: PairState, limit: int, single: bool) -> Any:
    """The Gram matrix to work on: that of all rows, or that of the active ones of a pair."""
    dtype = np.float32 if single else np.float64
    n, m = pairs.values.n, len(part.active)
    if pairs.G is not None and pairs.values.kernel is None:  # as it was given
        return Desk(pairs.G, pair.ids, pair.runs)
    alone = not all_take_part(pairs, limit, single)
    if passing(pairs.values, dtype) and n > _LAZY:
        if alone:
            return PassingDesk(pairs.values, pair.ids[part.active], ((0, m, 0),), dtype)
        return PassingDesk(pairs.values, pair.ids, pair.runs, dtype)
    if alone:
        lazy = _rows_of(pairs, pair, pair.ids[part.active], limit, dtype)
        return Desk(lazy.G, np.arange(m), ((0, m, 0),), lazy)
    if n <= _LAZY:
        if pairs.G is None or pairs.G.dtype != dtype:
            pairs.G = np.empty((n, n), dtype)
            pairs.values.fill(pairs.G, np.arange(n))
        return Desk(pairs.G, pair.ids, pair.runs)
    if pairs.lazy is None or pairs.lazy.G.dtype != dtype:
        pairs.lazy = LazyRows(pairs.values, np.arange(n), large_array(n * n, dtype), n, pairs.edges)
    blocks = (0,) if pairs.edges is None else pair.classes
    return Desk(pairs.lazy.G, pair.ids, pair.runs, pairs.lazy, blocks)


def _rows_of(pairs: Pairs, pair: Duel, ids: Index, limit: int, dtype: Any) -> LazyRows:
    """The rows kept from the last round, with those appended that are new, or fresh ones."""
    m, kept, most = len(ids), pairs.kept, min(limit, len(pair.y))
    lazy: LazyRows | None = kept.get("rows") if kept.get("of") == pair.classes else None
    if lazy is not None and lazy.G.dtype == dtype and m <= len(lazy.G):
        have = len(lazy.ids)
        if have <= m and np.array_equal(ids[:have], lazy.ids):
            if m > have:
                lazy.append(ids)
            return lazy
    memory = kept.get("memory")  # touching fresh memory costs more than filling it
    if memory is None or memory.dtype != dtype or len(memory) < m * m:
        lazy = memory = None
        kept.clear()
        memory = kept["memory"] = large_array(max(most * most, m * m), dtype)
    room = max(m, min(most, int(1.25 * m) + 512))
    lazy = kept["rows"] = LazyRows(pairs.values, ids, memory, room)
    kept["of"] = pair.classes
    return lazy


def whole_of(pairs: Pairs, desk: Any, pair: Duel) -> Array:
    """The matrix of all rows of a pair, with zeros up to whole lanes; kept for its next rounds."""
    of, K, memory = pairs.kept.get("whole", (None, None, np.empty(0)))
    if of != pair.classes:
        m = len(pair.y)
        size = -(-m // LANES) * LANES
        if len(memory) < size * size:  # touching fresh memory costs more than filling it
            memory = np.empty(size * size)
        K = memory[: size * size].reshape(size, size)
        desk.whole(K)
        K[m:], K[:m, m:] = 0.0, 0.0
        pairs.kept["whole"] = pair.classes, K, memory
    return np.asarray(K)


def choose(facts: Facts, last: Index, q: int) -> Index:
    """A working set: the newer half of the last one, and the worst of the others."""
    up, low = facts.up.copy(), facts.low.copy()
    old = last[len(last) // 2 :] if len(last) == q and q >= 64 else last[:0]
    up[old], low[old] = np.inf, -np.inf
    share = (q - len(old)) // 2
    first = _least(up, share)
    low[first] = -np.inf
    second = _least(-low, q - len(old) - len(first))
    # in their order, so that a row of the Gram matrix is read from one end to the other
    out = np.concatenate([old, np.sort(np.concatenate([first, second]))])
    if len(out) < q:
        used = np.zeros(len(up), dtype=bool)
        used[out] = True
        more = _least(np.where(used, np.inf, facts.up), q - len(out))
        out = np.concatenate([out, more])
    return out.astype(np.int64)


def _least(values: Array, count: int) -> Index:
    """Places of the least entries that are finite."""
    if count <= 0:
        return np.zeros(0, dtype=np.int64)
    count = min(count, len(values))
    places = np.argpartition(values, count - 1)[:count] if count < len(values) else np.arange(count)
    return places[values[places] < np.inf].astype(np.int64)


def next_active(
    safe: Array, used: int, active: Index, generation: int, limit: int
) -> tuple[Index, bool]:
    """Rows not safely at a bound: afresh after the first sample, later those that are new.

    ``used`` rows have a dual variable that is not zero: a matrix of many more costs more than
    another look at all rows.
    """
    inside = np.zeros(len(safe), dtype=bool)
    inside[active] = True
    some = np.flatnonzero(safe < (0.3 if generation == 1 else _NEAR))
    limit = min(limit, max(_FIRST, len(safe) // 8 if generation == 1 else int(_ROOM * used)))
    if generation > 1:
        new = np.flatnonzero(~inside & (safe < _NEW))
        # more rows cost more in every round: stay with them only while most of them matter
        if len(active) + len(new) <= min(limit, 1.5 * len(some) + 500):
            return np.concatenate([active, new]), len(new) > 0
    if len(some) > limit:
        some = np.sort(some[np.argsort(safe[some], kind="stable")[:limit]])
    return some, True


def far_rows(margin: Array, violation: float, alpha: Array, active: Index) -> Index:
    """Rows that will hardly ever matter, if they are so many that leaving them out pays."""
    far = (margin > _FAR + 0.5 * violation) & (alpha <= 0)
    far[active] = False
    rows = np.flatnonzero(far)
    return rows if 2 * len(rows) > len(margin) else rows[:0]
