"""One round of a kernel machine: a working set of the active rows, now and then all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.jit.smo import LANES, solve_block, solve_coordinates
from linsep.solvers.smo_active import choose, desk_of, far_rows, next_active, whole_of
from linsep.solvers.smo_facts import Facts, take_facts
from linsep.solvers.smo_finish import Finishing
from linsep.solvers.smo_judge import ROUNDS_IDLE
from linsep.solvers.smo_newton import newton_rows, newton_set, worth_newton
from linsep.solvers.smo_parts import Pair, Pairs
from linsep.solvers.smo_state import PairState

__all__ = ["Rounds", "solve_set"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

WHOLE = 600  # rows up to which all of them are one working set
_PLENTY = 8  # steps a row from which steps of all free variables may do better
_FALL = 0.02  # violation to reach in a round of all rows, over that before it
_CLOSE = 0.5  # share of the tolerance at which the active rows are left for a look at all


class Rounds(Finishing):
    """Methods over a state of one pair, for a solver with q, memory and single."""

    q: int
    memory: float

    def _round(self, problem: Problem, pairs: Pairs, pair: Pair, part: PairState) -> None:
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
        self, problem: Problem, pairs: Pairs, pair: Pair, part: PairState, facts: Facts, desk: Any,
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
        self, pairs: Pairs, pair: Pair, part: PairState, facts: Facts, desk: Any, c: Array,
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

    def _look(self, problem: Problem, pairs: Pairs, pair: Pair, part: PairState) -> None:
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
        self, pairs: Pairs, pair: Pair, part: PairState, rows: Index, before: Array
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
