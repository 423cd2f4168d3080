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

Where kernel values come from is the matter of a source (gram.py): Gram matrices, whole or in
part, or functions of single features where the kernel is a sum over them (additive_rows.py).

Steps of two variables creep where many variables are free, and where rows are badly scaled. A
round may then move all free variables at once by Newton's method (numerics/box.py), and small
pairs get help from interior points (numerics/interior.py) and their last digits from linear
equations. With the linear kernel help is the plane itself (plane.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import AGREED_KERNEL, POLISHED_ROWS, RESCUED_ROWS, WHOLE_SET
from linsep.core.limits import tick
from linsep.core.order import generator
from linsep.core.problem import Problem
from linsep.core.protocol import (
    ANY,
    ENDLESS,
    NO_LOG,
    Held,
    Log,
    State,
    Status,
    Witness,
    relative_gap,
)
from linsep.kernels.base import Kernel
from linsep.kernels.blocks import Duel, KernelValues
from linsep.numerics.box import balanced, free_values, newton_change
from linsep.solvers.kernel.additive_rows import share_squares
from linsep.solvers.kernel.gram import (
    NOTHING,
    Pairs,
    Source,
    all_take_part,
    levels_by_feature,
    pairs_of,
    source_of,
    whole_of,
)
from linsep.solvers.kernel.plane import dense, may_be_plane, plane_scores, plane_variables
from linsep.solvers.kernel.working_set import (
    LANES,
    Optimality,
    best_interior,
    best_offset,
    offset_of,
    optimality,
    solve_set,
)

Array = NDArray[np.float64]
Index = NDArray[np.int64]

IDLE = 3  # rounds without any change before it counts as stalled
_PLENTY = 8  # steps a row from which steps of all free variables may do better
_FALL = 0.02  # violation to reach in a round of all rows, over that before it
_NEARLY = 0.5  # share of the tolerance at which the active rows are left for a look at all
_QUIET = 1e-13  # violation, relative to the size of f, that is taken for rounding
_EXTRA = 40  # steps a row that a small problem may take beyond the tolerance asked for
_HALVING = 4000  # rounds in which the gap must fall to a half; where rescue came, 60
_ENOUGH = 1e-7  # relative gap of a plane after which no other method is tried
_ROUNDING = 1e-12  # share of the objective that is taken for rounding
_FLAT = 1e-13  # squared distance of the hulls over the largest K_ii: nothing between them
ROUGH = 4.5e-4  # gap up to which float32 will do, if that is where kernel values begin
_SHORT = 1e-4  # the same inside a working set of a sum over features, where f is exact
_HALVING_ROUGH = 400  # rounds in which the gap must fall to a half there
_TOLERANT = 0.1  # gap from which on a run may end, and every point is compared with the best one
DIGITS = 1e-10  # gap from which on the last digits are what is aimed at
_PATIENCE_RESCUE = 100  # steps a row after which it does
_PATIENCE_LINEAR = 4  # and after which a plane is looked for, which costs next to nothing


# -- What changes: one state for each pair of classes ---------------------------------------------


@dataclass(kw_only=True)
class PairState(State):
    """The dual variables of one pair, and f = K (alpha y) - y."""

    held: ClassVar[Mapping[str, Held]] = {
        "active": Held(shape=("taking part",), below="alpha"),
        "working": Held(shape=("?",), below="active"),
        "facts": ENDLESS,
        "bonus": Held(low=-1),
        "far": Held(shape=("?",), below="alpha"),
        "past": Held(shape=("behind",)),
    }

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
    double: int = 0
    """1 once kernel values in float32 have done what they can, 2 where they are float64 since."""
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
    best: Array
    best_f: Array
    least: float = np.inf
    """The dual point of the least objective so far, its f, and that objective."""

    @property
    def passes(self) -> float:
        """Rows of kernel values read, over the number of rows."""
        return self.read / max(1, len(self.alpha))

    @property
    def objective(self) -> float:
        """Of the machine as it stands."""
        return float(self.facts[0])

    @property
    def offset(self) -> float:
        """The b that belongs to it."""
        return float(self.facts[2])

    @property
    def violation(self) -> float:
        """The largest of the conditions of optimality."""
        return float(self.facts[3])

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return relative_gap(self.objective, float(self.facts[1]))


@dataclass(kw_only=True)
class SMOState(State):
    """One state for each pair of classes; they are solved one after the other."""

    held: ClassVar[Mapping[str, Held]] = {
        "at": Held(below="n_pairs"),
        "made": Held(shape=("?",)),
    }

    parts: list[PairState]
    at: int = 0
    made: Index = field(default_factory=lambda: NOTHING)
    """Pieces of Gram matrices that the present values come from (gram.py)."""

    @property
    def passes(self) -> float:
        """The passes of all parts together."""
        return float(sum(part.passes for part in self.parts))

    @property
    def gap(self) -> float:
        """The largest relative gap of the parts."""
        return max(part.gap for part in self.parts)


@dataclass
class Work:
    """A pair at work: its rows and costs, its state, and where its kernel values come from."""

    pairs: Pairs
    pair: Duel
    part: PairState
    cost: Array
    """C times the weights: the bounds of alpha."""
    with_offset: bool
    """Whether there is an intercept, so that sum alpha y = 0."""
    limit: int
    """Rows whose Gram matrix fits into the memory."""
    single: bool

    @cached_property
    def source(self) -> Source:
        """Where the kernel values of the active rows come from."""
        return source_of(self.pairs, self.pair, self.part.active, self.limit, single=self.single)

    def whole(self) -> Array:
        """The kernel matrix of all rows of the pair."""
        n = len(self.pair.y)
        return whole_of(self.pairs, self.source, self.pair)[:n, :n]

    def f_after(self, way: Array) -> Array:
        """f once y alpha has moved by ``way``; sums over all rows are the more exact."""
        if not self.source.rough:
            return self.part.f + self.whole() @ way
        f = self.part.f.copy()
        self.source.add(f, np.arange(len(way)), way)
        return f

    def f_anew(self, f: Array) -> Array:
        """f of the present variables: as it came from squares, or anew where these are rough."""
        if not self.source.rough:
            return f
        f = -self.pair.y
        some = np.flatnonzero(self.part.alpha)
        self.part.read += self.source.add(f, some, (self.part.alpha * self.pair.y)[some])
        return f


@dataclass
class Active:
    """The active rows of a pair; views where these are all rows, else copies."""

    place: Any
    y: Array
    cost: Array
    alpha: Array
    f: Array
    before: Optimality
    """At the beginning of the round."""

    @property
    def all(self) -> bool:
        """Whether all rows are active."""
        return isinstance(self.place, slice)


@dataclass(frozen=True)
class SMO:
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
        Hold them in float32 until the gap is ``ROUGH``; f and alpha are float64 in any case. The
        run goes on from there in float64 if tol asks for it: whatever tol is, the way is one.
    by_features : bool
        The kernel is a sum over features: no Gram matrix is made, and f follows through functions
        of single features. For two classes.
    seed : int
        Of the first sample where not all rows are active.
    plain : bool
        Working sets of q rows alone, to watch them: none of all rows, and no Newton steps.
    """

    kernel: Kernel | None
    C: float = 1.0
    tol: float = 1e-3
    fine: float = 1e-3
    convex: bool = True
    q: int = 256
    memory: float = 1000.0
    single: bool = False
    by_features: bool = False
    seed: int = 0
    plain: bool = False

    unit: ClassVar[str] = "round"

    # -- the protocol -----------------------------------------------------------------------

    def init(self, problem: Problem, *, start: Any = None) -> SMOState:
        """alpha = 0, or a list of alphas, one array for each pair in the order of its rows."""
        pairs = self._pairs(problem)
        parts = []
        for k, pair in enumerate(pairs.pairs):
            tick()
            part = PairState(
                alpha=np.zeros(len(pair.y)),
                f=-pair.y,
                seen=np.zeros(len(pair.y)),
                best=np.zeros(len(pair.y)),
                best_f=-pair.y,
                active=first_active(
                    pairs, k, self._limit(single=self.single), self.seed, single=self.single
                ),
                working=np.zeros(0, dtype=np.int64),
                facts=np.zeros(4),
            )
            work = self._work(problem, pairs, pair, part)
            if start is not None:
                self._set(work, start[k])
            if part.alpha.any() or not self._at_zero(work):
                self._judge(work)
            parts.append(part)
        state = SMOState(parts=parts)
        self._move_on(state)
        return state

    def advance(self, problem: Problem, state: SMOState, steps: int, log: Log = NO_LOG) -> int:
        """Up to ``steps`` working sets."""
        pairs, taken = self._pairs(problem), 0
        if state.steps:
            pairs.go_on(state.made)
        while taken < steps and not state.status.done:
            state.status = Status.RUNNING
            pair, part = pairs.pairs[state.at], state.parts[state.at]
            before = part.inner
            self._round(self._work(problem, pairs, pair, part))
            taken += 1
            state.steps += 1
            state.n_updates += part.inner - before
            state.made = pairs.made
            self._move_on(state)
        return taken

    def extents(self, problem: Problem, state: SMOState | PairState) -> dict[str, int]:
        """How many pairs there are, which rows are active, what is remembered of far ones.

        Where all rows are active at the start they stay so: values are read for all of them.
        """
        if isinstance(state, SMOState):
            return {"n_pairs": len(state.parts)}
        n, m = len(state.alpha), len(state.active)
        return {"behind": n if len(state.far) else 0, "taking part": n if m == n else ANY}

    def within(
        self, problem: Problem, state: SMOState
    ) -> Iterator[tuple[str, Problem, Self, State]]:
        """One state for each pair."""
        for k, part in enumerate(state.parts if isinstance(state, SMOState) else ()):
            yield f"parts.{k}.", problem, self, part

    def status(self, state: SMOState) -> Status:
        """Why the run stands where it stands."""
        return state.status

    def witness(self, problem: Problem, state: SMOState) -> Witness:
        """Offsets of all pairs; row i of the problem in pair k has number k n + i."""
        pairs = self._pairs(problem)
        rows, multipliers, offsets = [], [], []
        for k, (pair, part) in enumerate(zip(pairs.pairs, state.parts)):
            part = self._best(part)
            some = np.flatnonzero(part.alpha)
            rows.append(k * problem.n + pairs.order[pair.ids[some]])
            multipliers.append(part.alpha[some])
            offsets.append(self._offset(self._work(problem, pairs, pair, part)))
        return Witness(
            a=np.array(offsets) + 0.0,  # no minus sign before a zero
            rows=np.concatenate(rows),
            multipliers=np.concatenate(multipliers),
            claim="dual",
        )

    def _best(self, part: PairState) -> PairState:
        """The machine of the least objective, for a run that has not come to its end.

        Steps that raise the dual objective often make the primal one worse for a while. What
        nobody has looked at since does not count, unless there was no look but the first.
        """
        looked = part.generation > 0 or len(part.active) == len(part.alpha)
        if part.status.ok or not (looked and np.isfinite(part.least)):
            return part
        return replace(part, alpha=part.best, f=part.best_f)

    def prepare(self, problem: Problem) -> None:
        """What the machines of all classes against the rest share; made once."""
        if self.by_features:
            share_squares(levels_by_feature(problem, self.kernel))

    def _pairs(self, problem: Problem) -> Pairs:
        return pairs_of(problem, self.kernel, by_features=self.by_features)

    def _work(self, problem: Problem, pairs: Pairs, pair: Duel, part: PairState) -> Work:
        cost, with_offset = self.C * pair.weight, bool(problem.fit_intercept)
        single = self.single and (part.gap > _SHORT if self.by_features else part.double < 2)
        return Work(pairs, pair, part, cost, with_offset, self._limit(single=single), single)

    def _limit(self, *, single: bool) -> int:
        """Rows whose Gram matrix fits into the memory."""
        return max(2, int(np.sqrt(self.memory * 1e6 / (4 if single else 8))))

    def _rough(self, part: PairState) -> bool:
        """Whether kernel values are float32 now, and may be float64 later."""
        return self.single and not self.by_features and not part.double

    def _offset(self, work: Work) -> float:
        pair, part = work.pair, work.part
        if not work.with_offset or not len(pair.y) or len(set(pair.y)) < 2:
            return part.offset
        if np.isinf(self.C):
            return offset_of(pair.y, work.cost, part.alpha, part.f)
        return best_offset(pair.y, work.cost, part.f)

    def moved(self, problem: Problem, state: SMOState) -> list[int]:
        """Rows of the last working set, in the order of the problem, where a trace shows them."""
        if not (self.plain and problem.binary):
            return []
        pairs, part = self._pairs(problem), state.parts[0]
        places = part.active[part.working] if len(part.active) < len(part.alpha) else part.working
        return sorted(pairs.order[pairs.pairs[0].ids[places]].tolist())

    def _at_zero(self, work: Work) -> bool:
        """What there is to know of alpha = 0, where every row has a loss of 1; False if a class
        has no rows, which ends it there."""
        y, cost, part = work.pair.y, work.cost, work.part
        sides = float(cost[y > 0].sum()), float(cost[y < 0].sum())
        if not min(sides) > 0.0:
            return False
        part.facts[:] = sum(sides), 0.0, 0.0, 2.0 if work.with_offset else 1.0
        if np.isfinite(part.objective):  # of the best offset, which one class pays for
            part.least = 2.0 * min(sides) if work.with_offset else part.objective
        self._lingers(part)
        part.status = Status.RUNNING
        return True

    def _set(self, work: Work, start: Array) -> None:
        """Start from given variables, put into their box and balanced."""
        pair, part = work.pair, work.part
        alpha = np.clip(np.nan_to_num(np.asarray(start, dtype=np.float64)), 0, work.cost)
        if work.with_offset:
            # what steps leave by rounding stays, else variables at C would all be a little below
            if abs(float(alpha @ pair.y)) > _ROUNDING * float(alpha.sum()):
                alpha = balanced(alpha, pair.y, work.cost)
            if not alpha.any():
                return
        some = np.flatnonzero(alpha)
        part.alpha, part.seen = alpha, alpha.copy()
        signed = (alpha * pair.y)[some]
        part.f = work.pairs.values.combine(pair.ids[some], signed, pair.ids) - pair.y
        part.read += len(some)

    def _move_on(self, state: SMOState) -> None:
        """The next pair: in float32 first, as all pairs have their kernel values in common.

        Pairs of a kind are taken in their order, so those behind are not looked at again: of many
        classes there are thousands of pairs, and a round of one is short.
        """
        parts, last = state.parts, len(state.parts) - 1
        begin = state.at if parts[state.at].double < 2 else last + 1
        ahead = (k for k in range(begin, last + 1) if not parts[k].double)
        at = next((k for k in ahead if not parts[k].status.done), None)
        if at is None:
            begin = state.at if parts[state.at].double == 2 else 0
            at = next((k for k in range(begin, last + 1) if not parts[k].status.done), None)
        if at is None:
            at = last
            words = {part.status for part in parts}
            order = (Status.DIVERGED, Status.STALLED, Status.CONVERGED, Status.CERTIFIED)
            state.status = next(word for word in order if word in words)
        state.at = at

    # -- one round ----------------------------------------------------------------------------

    def _round(self, work: Work) -> None:
        """One working set of the active rows; then, if these are done, a look at all rows."""
        pair, part = work.pair, work.part
        part.status = Status.RUNNING
        part.steps += 1
        if part.double == 1:
            self._in_double(work)
            return
        if self._creeps(work):
            self._rescue(work)
            return
        rows = self._active(work)
        if self.plain:
            self._working_set(work, rows)
        elif rows.all and len(pair.y) <= WHOLE_SET and part.inner < _PLENTY * len(pair.y):
            self._all_at_once(work, rows)
        elif not self._newton(work, rows):
            self._working_set(work, rows)
        if rows.all:
            self._after_all(work, rows)
        else:
            self._after_some(work, rows)

    def _active(self, work: Work) -> Active:
        pair, part = work.pair, work.part
        place: Any = slice(None) if len(part.active) == len(pair.y) else part.active
        y, cost, alpha, f = pair.y[place], work.cost[place], part.alpha[place], part.f[place]
        before = _recalled(work) or optimality(y, cost, alpha, f, with_offset=work.with_offset)
        return Active(place, y, cost, alpha, f, before)

    def _working_set(self, work: Work, rows: Active) -> None:
        """Pairs of variables among the rows that violate most."""
        part, y, a, f = work.part, rows.y, rows.alpha, rows.f
        some = part.working = choose(rows.before, part.working, min(self.q, len(y)))
        goal = max(0.1 * rows.before.violation, _quiet(f))
        wish = None if part.steps == 1 else rows.before.urgency  # all rows are alike at first
        square = work.source.square(some, wish)
        new, taken = solved(
            square, y[some], rows.cost[some], a[some], f[some], goal, with_offset=work.with_offset
        )
        part.inner += taken
        changed = np.flatnonzero(new != a[some])
        part.idle = 0 if len(changed) else part.idle + 1
        if len(changed):
            moved = some[changed]
            part.read += work.source.add(f, moved, (new[changed] - a[moved]) * y[moved])
            a[moved] = new[changed]

    def _all_at_once(self, work: Work, rows: Active) -> None:
        """A working set of all rows; f follows from the sum of all steps, as it is more exact."""
        part, y = work.part, rows.y
        goal = max(_FALL * rows.before.violation, _quiet(part.f))
        padded = whole_of(work.pairs, work.source, work.pair)
        new, taken = solved(
            padded, y, rows.cost, part.alpha, part.f, goal, with_offset=work.with_offset
        )
        way = (new - part.alpha) * y
        moved = bool(way.any())
        part.inner += taken
        part.read += len(y)
        part.idle = 0 if moved else part.idle + 1
        if moved:
            part.f = work.f_after(way)
            part.alpha = new

    def _newton(self, work: Work, rows: Active) -> bool:
        """A Newton step of all free variables, where it pays."""
        part, y, c, a, f = work.part, rows.y, rows.cost, rows.alpha, rows.f
        if not self.convex or part.steps < part.pause:
            return False
        if not worth_newton(rows.before, a, c, part.steps * self.q):
            return False
        new = None
        if rows.before.violation <= 0.5 * part.stepped:  # the last one was worth it
            some = newton_rows(rows.before, a, c, f, self.q, with_offset=work.with_offset)
            square = work.source.square(some)
            new = newton_set(
                square, y[some], c[some], a[some], f[some], with_offset=work.with_offset
            )
        if new is None:
            part.wait = min(2 * part.wait, 64)
            part.pause, part.stepped = part.steps + part.wait, np.inf
            return False
        part.stepped = rows.before.violation
        part.inner += 1
        part.idle = 0
        part.read += work.source.add(f, some, (new - a[some]) * y[some])
        a[some] = new
        part.working = np.zeros(0, dtype=np.int64)
        return True

    def _after_all(self, work: Work, rows: Active) -> None:
        """What a round of all rows has come to, and whether other methods should go on."""
        part = work.part
        now = self._judge(work)
        if part.status is Status.STALLED and self._hopeful(work, rows.before.spread):
            self._rescue(work)
        elif self._exactly(part):
            self._polish(work)
        else:
            work.pairs.last = part, part.steps, now

    def _after_some(self, work: Work, rows: Active) -> None:
        """Put the active rows back; look at the others once little is left to do here."""
        part = work.part
        part.alpha[rows.place], part.f[rows.place] = rows.alpha, rows.f
        left = optimality(rows.y, rows.cost, rows.alpha, rows.f, with_offset=work.with_offset)
        # by steps of ten, so that the way does not depend on tol
        goal = 10.0 ** np.ceil(np.log10(min(max(part.gap, 1e-16), 1.0)) - 1.0)
        close = self.convex and left.gap <= _NEARLY * goal * part.objective
        enough = max(0.1 * part.violation, _quiet(part.f))
        if close or left.violation <= enough or part.idle >= IDLE:
            self._look(work)
        else:
            work.pairs.last = part, part.steps, left

    # -- all rows, where only some are active -----------------------------------------------

    def _look(self, work: Work) -> None:
        """f of the rows that are not active, the bounds, and the next active rows."""
        pair, part = work.pair, work.part
        outside = np.ones(len(pair.y), dtype=bool)
        outside[part.active] = outside[part.far] = False
        self._update(work, np.flatnonzero(outside), part.seen)
        part.seen = part.alpha.copy()
        idle, part.idle = part.idle, 0
        self._judge(work)
        if len(part.far) and (part.status.done or idle >= IDLE):
            self._update(work, part.far, part.past)
            part.far, part.past = part.far[:0], part.past[:0]
            self._judge(work)
        part.working = np.zeros(0, dtype=np.int64)
        part.generation += 1
        if part.status.done:
            return
        margin, grew = self._next_rows(work)
        if idle >= IDLE and not grew:
            part.status = Status.STALLED
        if not len(part.far) and part.generation > 1:
            part.far = far_rows(margin, part.violation, part.alpha, part.active)
            part.past = part.seen.copy() if len(part.far) else part.past

    def _next_rows(self, work: Work) -> tuple[Array, bool]:
        """Choose the next active rows; the margins of all rows, and whether there are more."""
        pair, part = work.pair, work.part
        margin = pair.y * (part.f + part.offset) + 1.0
        at_top = part.alpha >= work.cost
        safe = np.where(part.alpha <= 0, margin - 1.0, np.where(at_top, 1 - margin, -1))
        used = int(np.count_nonzero(part.alpha))
        part.active, grew = next_active(safe, used, part.active, part.generation, work.limit)
        if len(part.active) == len(pair.y):
            part.active = np.arange(len(pair.y))  # then they are taken in their order
        part.read += len(part.active)
        return margin, grew

    def _in_double(self, work: Work) -> None:
        """Go on with kernel values in float64: f anew, and the active rows that have room."""
        pairs, pair, part = work.pairs, work.pair, work.part
        part.double = 2
        pairs.forget()
        work = replace(work, single=False, limit=self._limit(single=False))
        self._set(work, part.alpha)
        part.far, part.past = part.far[:0], part.past[:0]
        part.idle, part.pause, part.wait, part.stepped = 0, 0, 4, np.inf
        part.mark, part.marked, part.least, part.bonus = np.inf, part.steps, np.inf, -1
        self._judge(work)
        if len(pair.y) <= work.limit or all_take_part(pairs, work.limit, single=False):
            part.active = np.arange(len(pair.y))
        else:
            part.working, part.generation = part.working[:0], 1
            self._next_rows(work)
        pairs.last = None

    def _update(self, work: Work, rows: Index, before: Array) -> None:
        """f of some rows, which belongs to the variables ``before``."""
        pair, part = work.pair, work.part
        changed = np.flatnonzero(part.alpha != before)
        coef = (part.alpha[changed] - before[changed]) * pair.y[changed]
        dtype = np.float32 if work.single else np.float64
        part.f[rows] += work.pairs.values.combine(pair.ids[changed], coef, pair.ids[rows], dtype)
        part.read += len(changed)

    # -- when it is done ----------------------------------------------------------------------

    def _judge(self, work: Work) -> Optimality | None:
        """Bounds over all rows of the pair, and whether they are good enough."""
        pair, part = work.pair, work.part
        part.status = Status.RUNNING
        if not len(pair.y) or (pair.y == pair.y[0]).all():  # no row of one class is left
            side = float(np.sign(pair.y.sum()))
            part.facts[:] = 0.0, 0.0, side * (1 + 2.0**-20), 0.0  # no loss beyond any doubt
            part.status = Status.CERTIFIED
            return None
        now = optimality(pair.y, work.cost, part.alpha, part.f, with_offset=work.with_offset)
        part.facts[:] = now.primal, now.dual, now.offset, now.violation
        rough = self._rough(part)
        tol, fine = (max(g, ROUGH) if rough else g for g in (self.tol, self.fine))
        best = True
        if self.convex and (_is_due(part.steps) or part.generation or part.gap <= _TOLERANT):
            best = self._compare(work, now, fine)
        if not np.isfinite(part.f).all() or not np.isfinite(part.alpha).all():
            part.status = Status.DIVERGED
        elif not self.convex:
            if now.violation <= tol:
                part.status = Status.CONVERGED
        elif part.gap <= tol:
            part.bonus = part.inner if part.bonus < 0 else part.bonus
            # no end at a worse point than one before, where a larger tol may have ended
            ended = part.gap <= fine and best
            if ended or part.inner - part.bonus > _EXTRA * len(pair.y):
                part.status = Status.CERTIFIED
        if not part.status.done:
            if now.violation <= _noise(pair, part) or part.idle >= IDLE:
                met = self.convex and part.gap <= tol
                part.status = Status.CERTIFIED if met else Status.STALLED
            elif self._lingers(part) or (np.isinf(self.C) and _flat(work, now.spread)):
                met = self.convex and part.gap <= fine
                part.status = Status.CERTIFIED if met else Status.STALLED
        short = part.status.ok and self.tol < ROUGH
        if rough and (short or part.status is Status.STALLED):
            part.double, part.status = 1, Status.RUNNING
        return now

    def _compare(self, work: Work, now: Optimality, fine: float) -> bool:
        """Keep the point, should the run end soon, if no other one has had less; whether so.

        An offset with less losses than the middle is taken if it ends the search, so that the
        search itself does not depend on it: one row alone can shift the middle.
        """
        y, cost, part, primal, b = work.pair.y, work.cost, work.part, now.primal, now.offset
        if not np.isfinite(primal):
            return True
        if work.with_offset and not np.isinf(cost).any():
            b = best_offset(y, cost, part.f)
            primal += _less(work, now.offset, b)
            if part.gap > fine and primal - now.dual <= fine * primal:
                part.facts[0], part.facts[2] = primal, b
        if primal < part.least - _ROUNDING * abs(part.least) or np.isinf(part.least):
            part.least, part.best, part.best_f = primal, part.alpha.copy(), part.f.copy()
        return not primal > part.least + _ROUNDING * abs(part.least)

    def _lingers(self, part: PairState) -> bool:
        """Whether the gap has not been halved for long."""
        now = part.gap if self.convex and np.isfinite(part.gap) else part.violation
        if now < 0.5 * part.mark or part.steps < part.marked:
            part.mark, part.marked = now, part.steps
        patience = _HALVING_ROUGH if self._rough(part) else _HALVING
        return part.steps - part.marked > (60 if part.rescued else patience)

    # -- small pairs: help where steps of two variables creep, and the last digits --------------

    def _small(self, part: PairState, rows: int) -> bool:
        exact = self.by_features or not self.single or part.double == 2
        return len(part.active) == len(part.alpha) <= rows and self.convex and exact

    def _exactly(self, part: PairState) -> bool:
        """Whether the last digits are wanted, and near: whatever tol is, the way to them is one."""
        near = part.status is Status.CERTIFIED or part.gap <= max(self.tol, AGREED_KERNEL)
        return near and self.fine <= DIGITS and self._small(part, POLISHED_ROWS)

    def _creeps(self, work: Work) -> bool:
        """Whether it takes so long that another method is worth its price."""
        part = work.part
        plane = self._is_plane(work)
        patience = _PATIENCE_LINEAR if plane else _PATIENCE_RESCUE
        slow = part.inner > patience * len(part.alpha) + 1000 and not part.rescued
        return slow and part.bonus < 0 and (plane or self._small(part, RESCUED_ROWS))

    def _is_plane(self, work: Work) -> bool:
        """Whether the machine is a plane among rows of fewer columns."""
        linear = self.kernel is not None and self.kernel.linear and bool(np.isfinite(self.C))
        return linear and may_be_plane(_rows_of(work))

    def _hopeful(self, work: Work, spread: float) -> bool:
        """Whether the interior point method may go on where steps of two variables cannot."""
        apart = np.isfinite(self.C) or not _flat(work, spread)
        able = self._is_plane(work) or self._small(work.part, RESCUED_ROWS)
        return bool(apart and not work.part.rescued and able)

    def _rescue(self, work: Work) -> None:
        """The answer of the interior point method, if it is better."""
        y, part = work.pair.y, work.part
        part.rescued = 1
        if self._is_plane(work):
            self._by_plane(work)
            return
        start = part.alpha, part.f
        goal = min(self.tol, DIGITS)
        part.alpha, f = best_interior(
            work.whole(), y, work.cost, start, goal, with_offset=work.with_offset
        )
        part.f = work.f_anew(f)
        part.read += len(y)
        self._polish(work)
        self._judge(work)

    def _by_plane(self, work: Work) -> None:
        """The dual variables of the plane, if they are better."""
        pair, part = work.pair, work.part
        X = dense(_rows_of(work)[pair.ids])
        best, least = (part.alpha, part.f, part.offset, part.objective), np.inf
        for alpha in chain(
            (part.alpha,), plane_variables(X, pair.y, work.cost, with_offset=work.with_offset)
        ):
            alpha = balanced(alpha, pair.y, work.cost) if work.with_offset else alpha
            f = plane_scores(X, alpha * pair.y) - pair.y
            now = optimality(pair.y, work.cost, alpha, f, with_offset=work.with_offset)
            b = best_offset(pair.y, work.cost, f) if work.with_offset else now.offset
            slack = np.maximum(0.0, -pair.y * (f + b))  # one row alone can shift the middle
            primal = 0.5 * float((alpha * pair.y) @ (f + pair.y)) + float(work.cost @ slack)
            if primal - now.dual < least:
                best, least = (alpha, f, b, primal), primal - now.dual
            if least <= _ENOUGH * primal:
                break
        part.alpha, part.f, b, primal = best
        part.seen = part.alpha.copy()
        part.far, part.past = part.far[:0], part.past[:0]
        part.read += len(pair.y)
        part.generation += len(part.active) < len(pair.y)
        part.least = np.inf  # it came from products
        self._judge(work)
        if least <= self.fine * primal and not part.status.ok:
            part.facts[0], part.facts[2], part.status = primal, b, Status.CERTIFIED

    def _polish(self, work: Work) -> None:
        """The last digits, where they cost little."""
        part = work.part
        better = polish(
            work.whole(), work.pair.y, work.cost, part.alpha, part.f, with_offset=work.with_offset
        )
        if better is None:
            return
        kept = part.alpha, part.f, part.gap
        part.alpha, f = better
        part.f = work.f_anew(f)
        self._judge(work)
        if part.gap <= kept[2]:
            part.least, part.best, part.best_f = part.objective, part.alpha.copy(), part.f.copy()
        else:
            part.alpha, part.f = kept[0], kept[1]
            self._judge(work)


def _rows_of(work: Work) -> Any:
    """The rows that products are made of."""
    assert isinstance(work.pairs.values, KernelValues)
    return work.pairs.values.matrix


def _is_due(steps: int) -> bool:
    """Whether a round is compared with the best one: each at first, then every so many."""
    return steps % (1 << max(steps.bit_length() - 4, 0)) == 0


def _less(work: Work, old: float, b: float) -> float:
    """What an offset b changes in the losses."""
    y, away = work.pair.y, -work.pair.y * work.part.f
    less = np.maximum(0.0, away - y * b) - np.maximum(0.0, away - y * old)
    return float(work.cost @ less)


def _recalled(work: Work) -> Optimality | None:
    """What was known at the end of the last round, if nothing has happened since."""
    of, steps, found = work.pairs.last or (None, 0, None)
    return found if of is work.part and steps == work.part.steps - 1 else None


def _quiet(f: Array) -> float:
    return _QUIET * (1.0 + float(np.abs(f).max(initial=0.0)))


def _noise(pair: Duel, part: PairState) -> float:
    """Violation that rounding alone can make: f is a sum of products alpha K."""
    top = float(pair.root.max(initial=0.0))
    return max(_quiet(part.f), 2e-16 * top * float(part.alpha @ pair.root))


def _flat(work: Work, spread: float) -> bool:
    """Whether the two hulls have no distance that rounding would show."""
    used = work.pair.root[work.part.alpha > 0]
    return spread <= _FLAT * float((used**2).max(initial=0.0))


# -- Which rows take part: the active ones of a pair, and the working set among them --------------


_NEAR_MARGIN, _NEW_MARGIN = 0.3, 0.15  # behind the street, of rows that stay, and that come in
_FAR_BEHIND = 1.5  # margin from which a row is far behind the street, once little moves
_AT_FIRST = 4000  # active rows that there may always be
_ROOM = 5.0  # and for each one in use


def first_active(pairs: Pairs, k: int, limit: int, seed: int, *, single: bool) -> Index:
    """All rows, or a sample with both classes in it."""
    pair = pairs.pairs[k]
    n = len(pair.y)
    if n <= limit or all_take_part(pairs, limit, single=single):
        return np.arange(n)
    size = int(min(max(0.1 * n, 1000), limit))
    share = size / n
    rng = generator(seed, k)
    some = []
    for rows in (np.flatnonzero(pair.y < 0), np.flatnonzero(pair.y > 0)):
        count = min(len(rows), max(1, round(share * len(rows))))
        some.append(rows[rng.permutation(len(rows))[:count]])
    return np.sort(np.concatenate(some)).astype(np.int64)


def choose(at: Optimality, last: Index, q: int) -> Index:
    """A working set: the newer half of the last one, and the worst of the others."""
    up, low = at.up.copy(), at.low.copy()
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
        more = _least(np.where(used, np.inf, at.up), q - len(out))
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
    some = np.flatnonzero(safe < (0.3 if generation == 1 else _NEAR_MARGIN))
    limit = min(limit, max(_AT_FIRST, len(safe) // 8 if generation == 1 else int(_ROOM * used)))
    if generation > 1:
        new = np.flatnonzero(~inside & (safe < _NEW_MARGIN))
        # more rows cost more in every round: stay with them only while most of them matter
        if len(active) + len(new) <= min(limit, 1.5 * len(some) + 500):
            return np.concatenate([active, new]), len(new) > 0
    if len(some) > limit:
        some = np.sort(some[np.argsort(safe[some], kind="stable")[:limit]])
    return some, True


def far_rows(margin: Array, violation: float, alpha: Array, active: Index) -> Index:
    """Rows that will hardly ever matter, if they are so many that leaving them out pays."""
    far = (margin > _FAR_BEHIND + 0.5 * violation) & (alpha <= 0)
    far[active] = False
    rows = np.flatnonzero(far)
    return rows if 2 * len(rows) > len(margin) else rows[:0]


# -- The problem of a working set -----------------------------------------------------------------


def solved(
    K: Array, y: Array, c: Array, a: Array, f: Array, goal: float, *, with_offset: bool
) -> tuple[Array, int]:
    """New variables of a working set, and the steps taken; K may have zeros up to whole lanes."""
    q = len(y)
    size = -(-q // LANES) * LANES
    square = K
    if size > len(K) or not K.flags.c_contiguous:
        square = np.zeros((size, size), dtype=K.dtype)
        square[:q, :q] = K
    padded = np.zeros((4, size))
    padded[0, :q], padded[1, :q], padded[2, :q], padded[3, :q] = y, c, a, f
    sign, top, new, at = padded
    return new[:q], solve_set(square, sign, top, new, at, goal, 50 * size, with_offset=with_offset)


# -- A Newton step: all free variables, and those that should be, at once --------------------------
#
# Once few variables still enter or leave, steps of two variables at a time creep towards what
# linear equations say at once: y_i f(x_i) = 1 for the free rows, sum alpha_i y_i = 0.


_LEAST_FREE, _MOST_FREE = 48, 1500  # free variables for which equations pay
_FREE = 0.8  # share of the support vectors that are free: those at C come and go for long
_SETTLED = 0.5  # violation, in units of the street, from which few variables come and go
_TAKING_PART = 0.05  # of the violation from which a row at a bound takes part


def worth_newton(at: Optimality, a: Array, c: Array, most: int) -> bool:
    """Whether a step is worth its factor; most: how many rows have been in working sets."""
    if not at.violation <= _SETTLED:
        return False
    used = int(np.count_nonzero(a > 0))
    free = used - int(np.count_nonzero(a >= c))
    return _LEAST_FREE <= free <= min(_MOST_FREE, most) and free >= _FREE * used


def newton_rows(
    at: Optimality, a: Array, c: Array, f: Array, q: int, *, with_offset: bool
) -> Index:
    """The free rows, and up to q of those that ask most to leave their bound."""
    inside = (a > 0) & (a < c)
    # one row alone can shift the offset
    middle = -float(np.median(f[inside])) if with_offset else 0.0
    wish = np.where(inside, 0.0, np.maximum(-middle - at.up, at.low + middle))
    some = np.flatnonzero(wish > _TAKING_PART * at.violation)
    if len(some) > q:
        some = some[np.argpartition(-wish[some], q)[:q]]
    inside[some] = True
    return np.flatnonzero(inside)


def newton_set(
    K: Array, y: Array, c: Array, a: Array, f: Array, *, with_offset: bool
) -> Array | None:
    """New variables of these rows with a larger dual objective, or None."""
    beta = y * a
    low, high = np.where(y > 0, 0.0, -c) - beta, np.where(y > 0, c, 0.0) - beta
    change = newton_change(K, f, low, high, balanced=with_offset)
    if change is None:
        return None
    new = np.clip(a + y * change, 0.0, c)
    new[change == low] = np.where(y > 0, 0.0, c)[change == low]  # exactly on the bounds
    new[change == high] = np.where(y > 0, c, 0.0)[change == high]
    return np.asarray(new)


# -- The last digits of a small kernel machine: equations instead of steps ------------------------
#
# Once it is known which variables are free, 0 < alpha < C, they follow from y_i f(x_i) = 1 for
# the free rows and sum alpha_i y_i = 0: linear equations. Their solution is taken if it stays in
# the box and violates the conditions of optimality less than before.


_AT_BOUND = 1e-9  # share of C within which a variable counts as being at its bound


def polish(
    K: NDArray[Any], y: Array, cost: Array, alpha: Array, f: Array, *, with_offset: bool
) -> Any:
    """Better (alpha, f), or None; K is the Gram matrix of all rows."""
    best = None
    least = optimality(y, cost, alpha, f, with_offset=with_offset).violation
    top = np.where(np.isfinite(cost), cost, alpha.max(initial=0.0))
    for _ in range(3):
        inside = (alpha > _AT_BOUND * top) & (alpha < cost - _AT_BOUND * top)
        rows = np.flatnonzero(inside)
        if not len(rows):
            break
        fixed = np.where(alpha >= cost - _AT_BOUND * top, cost, 0.0)
        fixed[rows] = 0.0
        signs, signed = y[rows], fixed * y
        found = free_values(
            K[np.ix_(rows, rows)],
            signs - K[rows] @ signed,
            np.ones(len(rows)) if with_offset else None,
            -float(signed.sum()),
        )
        if found is None:
            break
        new = fixed
        new[rows] = found * signs
        new = np.clip(new, 0.0, cost)
        f = K @ (new * y) - y
        violation = optimality(y, cost, new, f, with_offset=with_offset).violation
        balance = abs(float(new @ y)) if with_offset else 0.0
        if violation < least and balance <= 1e-12 * float(new.sum()):
            best, least = (new, f), violation
        if np.array_equal(new, alpha):
            break
        alpha = new
    return best
