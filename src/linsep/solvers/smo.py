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

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.log import NO_LOG, Log
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.core.status import Status
from linsep.jit.smo import LANES, solve_block, solve_coordinates
from linsep.solvers.smo_active import choose, desk_of, first_active, next_active
from linsep.solvers.smo_facts import best_offset, offset_of, take_facts
from linsep.solvers.smo_finish import POLISH, RESCUE, Finishing
from linsep.solvers.smo_parts import Pair, Pairs, pairs_of
from linsep.solvers.smo_state import PairState, SMOState

__all__ = ["SMO", "PairState", "SMOState"]

Array = NDArray[np.float64]

_QUIET = 1e-13  # violation, relative to the size of f, that is taken for rounding
_ROUNDS_IDLE = 3  # rounds without any change before it counts as stalled
_EXTRA = 40  # steps a row that a small problem may take beyond the tolerance asked for
_HALVING = 4000  # rounds in which the gap must fall to a half; where rescue came, 60
_CLOSE = 0.5  # share of the tolerance at which the active rows are left for a look at all
_FLAT = 1e-13  # squared distance of the hulls over the largest K_ii: nothing between them


@dataclass(frozen=True)
class SMO(Finishing):
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
            self._round(problem, pairs, pair, part)
            taken += 1
            state.steps += 1
            state.n_updates = sum(p.inner for p in state.parts)
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

    # -- one round --------------------------------------------------------------------------

    def _round(self, problem: Problem, pairs: Pairs, pair: Pair, part: PairState) -> None:
        """One working set of the active rows; then, if these are done, a look at all rows."""
        part.status = Status.RUNNING
        part.steps += 1
        desk = desk_of(pairs, pair, part, self._limit(), self.single)
        if self._creeps(part):
            self._rescue(problem, desk, pair, part)
            return
        whole, free = len(part.active) == len(pair.y), problem.fit_intercept
        active: Any = slice(None) if whole else part.active  # no copies of all rows
        y, c = pair.y[active], self.C * pair.weight[active]
        a, f = part.alpha[active], part.f[active]
        facts = take_facts(y, c, a, f, free)
        some = choose(facts, part.working, min(self.q, len(y)))
        part.working = some
        goal = max(0.1 * facts.violation, self._quiet(f))
        urgent = None if part.steps == 1 else facts.urgency  # all rows are alike at first
        square = desk.square(some, urgent)
        new = self._solve(square, y[some], c[some], a[some], f[some], goal, part, free)
        changed = np.flatnonzero(new != a[some])
        part.idle = 0 if len(changed) else part.idle + 1
        if len(changed):
            rows = some[changed]
            desk.add(f, rows, (new[changed] - a[rows]) * y[rows])
            part.read += len(rows)
            a[rows] = new[changed]
        if whole:
            self._judge(problem, pair, part)
            if part.status is Status.STALLED and self._hopeful(part, facts.spread, pair):
                self._rescue(problem, desk, pair, part)
            elif part.status is Status.CERTIFIED and self._small(part, POLISH):
                self._polish(problem, desk, pair, part)
            return
        part.alpha[active], part.f[active] = a, f
        left = take_facts(y, c, a, f, free)
        close = self.convex and left.gap <= _CLOSE * self.tol * part.facts[0]
        if close or left.violation <= self._enough(part) or part.idle >= _ROUNDS_IDLE:
            self._look(problem, pairs, pair, part)

    def _solve(
        self,
        K: Array,
        y: Array,
        c: Array,
        a: Array,
        f: Array,
        goal: float,
        part: PairState,
        free: bool,
    ) -> Array:
        """New variables of a working set."""
        q = len(y)
        size = -(-q // LANES) * LANES
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
        part.inner += taken
        return np.asarray(padded[2, :q])

    def _judge(self, problem: Problem, pair: Pair, part: PairState) -> None:
        """Bounds over all rows of the pair, and whether they are good enough."""
        cost = self.C * pair.weight
        part.status = Status.RUNNING
        if not len(pair.y) or (pair.y == pair.y[0]).all():  # no row of one class is left
            side = float(np.sign(pair.y.sum()))
            part.facts[:] = 0.0, 0.0, side * (1 + 2.0**-20), 0.0  # no loss beyond any doubt
            part.status = Status.CERTIFIED
            return
        facts = take_facts(pair.y, cost, part.alpha, part.f, problem.fit_intercept)
        part.facts[:] = facts.primal, facts.dual, facts.offset, facts.violation
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
            return
        if facts.violation <= self._noise(pair, part) or part.idle >= _ROUNDS_IDLE:
            met = self.convex and part.gap <= self.tol
            part.status = Status.CERTIFIED if met else Status.STALLED
        elif self._lingers(part) or (np.isinf(self.C) and self._flat(part, facts.spread, pair)):
            part.status = Status.STALLED

    # -- active rows ------------------------------------------------------------------------

    def _limit(self) -> int:
        """Rows whose Gram matrix fits into the memory."""
        return max(2, int(np.sqrt(self.memory * 1e6 / (4 if self.single else 8))))

    def _look(self, problem: Problem, pairs: Pairs, pair: Pair, part: PairState) -> None:
        """f of the rows that are not active, the bounds, and the next active rows."""
        changed = np.flatnonzero(part.alpha != part.seen)
        outside = np.ones(len(pair.y), dtype=bool)
        outside[part.active] = False
        others = np.flatnonzero(outside)
        coef = (part.alpha[changed] - part.seen[changed]) * pair.y[changed]
        dtype = np.float32 if self.single else np.float64
        part.f[others] += pairs.values.combine(pair.ids[changed], coef, pair.ids[others], dtype)
        part.read += len(changed)
        part.seen = part.alpha.copy()
        idle, part.idle = part.idle, 0
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
        part.read += len(part.active)
        if idle >= _ROUNDS_IDLE and not grew:
            part.status = Status.STALLED

    def _enough(self, part: PairState) -> float:
        """Violation at which the active rows are left for a look at all of them."""
        return float(max(0.1 * part.facts[3], self._quiet(part.f)))

    # -- small things -----------------------------------------------------------------------

    def _quiet(self, f: Array) -> float:
        return _QUIET * (1.0 + float(np.abs(f).max(initial=0.0)))

    def _noise(self, pair: Pair, part: PairState) -> float:
        """Violation that rounding alone can make: f is a sum of products alpha K."""
        top = float(pair.root.max(initial=0.0))
        return max(self._quiet(part.f), 2e-16 * top * float(part.alpha @ pair.root))

    def _lingers(self, part: PairState) -> bool:
        """Whether the gap has not been halved for long."""
        now = part.gap if self.convex and np.isfinite(part.gap) else float(part.facts[3])
        if now < 0.5 * part.mark or part.steps < part.marked:
            part.mark, part.marked = now, part.steps
        return part.steps - part.marked > (60 if part.rescued else _HALVING)

    def _flat(self, part: PairState, spread: float, pair: Pair) -> bool:
        """Whether the two hulls have no distance that rounding would show."""
        return spread <= _FLAT * float((pair.root[part.alpha > 0] ** 2).max(initial=0.0))

    def _hopeful(self, part: PairState, spread: float, pair: Pair) -> bool:
        """Whether the interior point method may go on where steps of two variables cannot."""
        apart = np.isfinite(self.C) or not self._flat(part, spread, pair)
        return bool(apart and not part.rescued and self._small(part, RESCUE))

    def _offset(self, problem: Problem, pair: Pair, part: PairState) -> float:
        if not problem.fit_intercept or not len(pair.y) or len(set(pair.y)) < 2:
            return float(part.facts[2])
        cost = self.C * pair.weight
        return (
            offset_of(pair.y, cost, part.alpha, part.f)
            if np.isinf(self.C)
            else best_offset(pair.y, cost, part.f)
        )

    def _set(
        self, problem: Problem, pairs: Pairs, pair: Pair, part: PairState, alpha: Array
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
