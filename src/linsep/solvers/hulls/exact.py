"""Wolfe's nearest-point search continued in rational numbers, where rounding cannot decide.

The same method as ``nearest_hulls`` and ``nearest_cone``, started from the rows they ended
with. Every corral is left for one with a strictly nearer point, so no corral comes twice and
the search ends: with a point that is exactly zero, or with one that all rows are beyond.

Floats are used only to skip rows that are certainly beyond. Multipliers and points are integers
over one denominator: Fractions would spend most of the time on common divisors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.protocol import NO_LOG, Held, Log, State, Status, Witness, repeated
from linsep.numerics.integers import independent_columns, integer_products, to_integers
from linsep.rows.exact import reflected
from linsep.rows.signs import float_bounds

_LOOK = 64  # rows evaluated exactly at a time
_IDLE = 10  # points that are no nearer than one before, after which it is given up
_MULTIPLIER_BITS = 160  # of multipliers on the way


@dataclass(frozen=True)
class ExactHulls:
    """Nearest points of hulls, or the point of a cone nearest a goal, in rational numbers.

    Parameters
    ----------
    kind : {"hulls", "cone"}
        Hulls of the classes (or of all rows and the origin), or the cone of the rows.
    tol : float or None
        Stop when the bounds of the distance are that close; None stops at the first vector
        that has all rows on its right side; 0.0 goes to the exact end. Hulls only.
    base, shares : tuple of int, optional
        Cone: the goal is minus the sum of shares times the rows of base. All rows once if None.
    active : array of int, optional
        Cone: the rows that take part; all if None.
    """

    kind: str = "hulls"
    tol: float | None = 0.0
    base: tuple[int, ...] | None = None
    shares: tuple[int, ...] | None = None
    active: NDArray[np.int64] | None = None
    unit: ClassVar[str] = "exact cycle"

    def init(self, problem: Problem, *, start: Any = None) -> ExactState:
        """Start from the rows and multipliers of another search, or from the first rows."""
        start = ([], []) if start is None else start
        rows, shares = [int(r) for r in start[0]], np.asarray(start[1], dtype=np.float64)
        shares = np.where(np.isfinite(shares), np.clip(shares, 0.0, 1e9), 0.0)
        numbers = [max(round(m * 2**40), 1) for m in shares.tolist()]
        if self.kind == "hulls":
            present = set(self._groups(problem, rows).tolist()) if rows else set()
            rows += [int(m[0]) for g, m in enumerate(self._members(problem)) if g not in present]
            numbers += [1] * (len(rows) - len(numbers))
        block, group = self._block(problem, rows), self._groups(problem, rows)
        kept = independent_rows(block, group, affine=self.kind == "hulls") if rows else []
        state = ExactState(rows=[rows[i] for i in kept], shares=[numbers[i] for i in kept])
        self._divide(problem, state, 2**40)
        return state

    def advance(self, problem: Problem, state: ExactState, steps: int, log: Log = NO_LOG) -> int:
        """Run exact cycles."""

        def cycle() -> None:
            state.status = self._cycle(problem, state)

        return repeated(state, steps, cycle)

    def status(self, state: ExactState) -> Status:
        """INSEPARABLE when the point is zero, SEPARATED or CERTIFIED when all rows are beyond it.

        Of a cone CONVERGED, when the goal is reached, or BOUNDARY.
        """
        return state.status

    def witness(self, problem: Problem, state: ExactState) -> Witness:
        """The weights, rows and multipliers, rounded; the state has them exactly."""
        rows = np.array(state.rows, dtype=np.int64)
        multipliers = np.array([as_float(m) for m in state.multipliers])
        if self.kind == "cone":
            base, shares = self._goal(problem)
            rows = np.concatenate([rows, base])
            multipliers = np.concatenate([multipliers, np.array(shares, dtype=np.float64)])
        a = np.zeros(problem.dim)
        top = max(map(abs, state.point), default=0)
        if top:
            a = self._blocks(problem, [n / top for n in state.point]).ravel()
        return Witness(a=a, rows=rows, multipliers=multipliers, claim=self._claim(problem, state))

    def _claim(self, problem: Problem, state: ExactState) -> str:
        if state.status in (Status.INSEPARABLE, Status.CONVERGED):
            return "origin"
        if self.kind == "cone":
            return ""
        return "two hulls" if self._two(problem) else "hull"

    # -- one cycle -----------------------------------------------------------------------------

    def _cycle(self, problem: Problem, state: ExactState) -> Status:
        """Solve one system: its rows get smaller, or one more is found."""
        if state.rows:
            target, whole = self._target(problem, state.rows)
            if min(target) <= 0:
                self._retreat(problem, state, target, whole)
                return Status.RUNNING
            state.shares, state.whole = target, whole
        self._point(problem, state)
        if not any(state.point):
            return Status.INSEPARABLE if self.kind == "hulls" else Status.CONVERGED
        if not self._nearer(state):
            return Status.STALLED
        row, beyond = self._worst(problem, state)
        state.low = beyond
        if row is None:
            return Status.CERTIFIED if self.kind == "hulls" else Status.BOUNDARY
        if self.kind == "hulls" and beyond > 0 and (self.tol is None or beyond >= 1 - self.tol):
            return Status.SEPARATED
        state.rows.append(row)
        state.shares.append(0)
        state.n_updates += 1
        return Status.RUNNING

    def _nearer(self, state: ExactState) -> bool:
        """Whether points still get nearer, as they do until the nearest one is found; shares that
        were cut off on the way may hide it for a while."""
        squared = sum(n * n for n in state.point) * state.unit**2
        nearer = not state.nearest or squared < state.nearest
        state.idle = 0 if nearer else state.idle + 1
        state.nearest = squared if nearer else state.nearest
        return state.idle <= _IDLE

    def _two(self, problem: Problem) -> bool:
        return self.kind == "hulls" and problem.binary and problem.fit_intercept

    def _block(self, problem: Problem, rows: list[int]) -> NDArray[np.float64]:
        block = reflected(problem, rows)
        return block[:, :-1] if self._two(problem) else block

    def _groups(self, problem: Problem, rows: list[int]) -> NDArray[np.int64]:
        if self._two(problem):
            return 1 - problem.label[rows]
        return np.zeros(len(rows), dtype=np.int64)

    def _retreat(self, problem: Problem, state: ExactState, target: list[int], whole: int) -> None:
        """Go toward the target until multipliers are zero, and drop their rows.

        The step is exact. Multipliers on the way need not be, and would grow ever longer.
        """
        above, below, gone = 1, 1, set[int]()  # the step is above / below
        for i, t in enumerate(target):
            if t <= 0:
                now = state.shares[i] * whole
                way = now - t * state.whole if now else 1
                order = now * below - above * way
                if order < 0:
                    above, below, gone = now, way, {i}
                elif order == 0:
                    gone.add(i)
        step = (above << _MULTIPLIER_BITS) // below
        shares = []
        for i, (s, t) in enumerate(zip(state.shares, target)):
            now, goal = (s << _MULTIPLIER_BITS) // state.whole, (t << _MULTIPLIER_BITS) // whole
            if i not in gone:  # a share above zero stays so, however small
                some = s > 0 or (t > 0 and above > 0)
                shares.append(max(now + ((goal - now) * step >> _MULTIPLIER_BITS), int(some)))
        state.rows = [r for i, r in enumerate(state.rows) if i not in gone]
        state.shares = shares
        self._divide(problem, state, 1 << _MULTIPLIER_BITS)

    def _divide(self, problem: Problem, state: ExactState, whole: int) -> None:
        """Divide by whole; of hulls by the sum of the shares of each group."""
        state.whole = whole
        if self.kind == "cone":
            return
        group = self._groups(problem, state.rows).tolist()
        total = [0] * (max(group) + 1)
        for s, g in zip(state.shares, group):
            total[g] += s
        state.whole = prod(total)
        state.shares = [s * (state.whole // total[g]) for s, g in zip(state.shares, group)]

    def _target(self, problem: Problem, rows: list[int]) -> tuple[list[int], int]:
        """Multipliers of the best point of the affine hull or span, and their denominator."""
        block = self._block(problem, rows)
        if self.kind == "cone":
            base, shares = self._goal(problem)
            return best_in_span(block, reflected(problem, base), shares)
        return best_in_hulls(block, self._groups(problem, rows))

    def _goal(self, problem: Problem) -> tuple[NDArray[np.int64], list[int]]:
        """Cone: rows and shares whose sum, negative, is aimed at."""
        base = np.arange(problem.n_rows) if self.base is None else np.array(self.base)
        return base, [1] * len(base) if self.shares is None else list(self.shares)

    def _point(self, problem: Problem, state: ExactState) -> None:
        """The exact point; for a cone what is left of the goal."""
        block, shares = self._block(problem, state.rows), state.shares
        if self.kind == "cone":
            base, goal = self._goal(problem)
            block = np.vstack([block, reflected(problem, base)])
            shares = [*shares, *(s * state.whole for s in goal)]
        values, low = integer_products(np.ascontiguousarray(block.T), [shares])
        state.point = [int(v) for v in values[:, 0]]
        state.unit = Fraction(2) ** low / state.whole

    # -- looking for a row that is not beyond the point -------------------------------------------

    def _worst(self, problem: Problem, state: ExactState) -> tuple[int | None, float]:
        """A row that sticks out, and the share of the distance that all rows are beyond."""
        top = max(map(abs, state.point))
        blocks = self._blocks(problem, [n / top for n in state.point])
        values, error = float_bounds(problem, blocks[:, :-1], blocks[:, -1])
        found: tuple[Fraction, int] | None = None
        beyond = 0.0
        taken = set(state.rows)
        for g, members in enumerate(self._members(problem)):
            inside = [r for r, h in zip(state.rows, self._groups(problem, state.rows)) if h == g]
            edge = Fraction(0)
            if self.kind == "hulls":
                edge = self._values(problem, inside[:1], state.point)[0]
            with np.errstate(invalid="ignore"):
                lowest = values[members] - error[members]
                limit = as_float(edge / top)
                below = members[~(lowest >= limit + abs(limit) * 1e-15)]
            beyond += float(np.min(lowest))
            order = below[np.argsort(values[below], kind="stable")]
            rest = [r for r in order.tolist() if r not in taken]
            gain = self._look(problem, rest, state.point, edge)
            if gain is not None and (found is None or gain[0] > found[0]):
                found = gain
        squared = sum(n * n for n in state.point)
        return (None if found is None else found[1]), _share(beyond, top / (squared * state.unit))

    def _blocks(self, problem: Problem, weights: list[float]) -> NDArray[np.float64]:
        """Weights of the reflected rows as blocks of d weights and an offset."""
        floats = np.array(weights)
        if self._two(problem) or not problem.fit_intercept:
            blocks = floats.reshape(-1, problem.d)
            blocks = np.column_stack([blocks, np.zeros(len(blocks))])
        else:
            blocks = floats.reshape(-1, problem.d + 1)
        if not problem.binary:
            blocks = np.vstack([blocks, np.zeros(problem.d + 1)])
        return blocks

    def _values(self, problem: Problem, rows: list[int], point: list[int]) -> list[Fraction]:
        """Products of rows with the point, in its unit."""
        values, low = integer_products(self._block(problem, rows), [point])
        power = Fraction(2) ** low
        return [int(v) * power for v in values[:, 0]]

    def _members(self, problem: Problem) -> list[NDArray[np.int64]]:
        if self.active is not None:
            return [self.active]
        if self._two(problem):
            return [np.flatnonzero(problem.label == 1), np.flatnonzero(problem.label == 0)]
        return [np.arange(problem.n_rows)]

    def _look(
        self, problem: Problem, rows: list[int], point: list[int], edge: Fraction
    ) -> tuple[Fraction, int] | None:
        """The row of least value among the first that lie below the edge."""
        for at in range(0, len(rows), _LOOK):
            some = rows[at : at + _LOOK]
            values = self._values(problem, some, point)
            least = min(range(len(some)), key=values.__getitem__)
            if values[least] < edge:
                return edge - values[least], some[least]
        return None


def _share(beyond: float, factor: Fraction) -> float:
    """beyond times factor, a little less; 0 when it is not a positive number."""
    if not 0 < beyond < np.inf:
        return 0.0
    return float(min(Fraction(beyond) * factor, Fraction(2))) * (1 - 1e-12)


# -- Rows with rational multipliers: the state of a search that never rounds ----------------------


@dataclass(kw_only=True)
class ExactState(State):
    """Rows with rational multipliers, and the exact point they make.

    Multipliers are shares divided by whole. The point is ``point`` times ``unit``; it belongs to
    the reflected rows (``rows.exact.reflected``), without the constant column when there are
    two hulls.
    """

    held: ClassVar[Mapping[str, Held]] = {
        "rows": Held(below="n_rows"),
        "whole": Held(low=1, endless=True),
        "idle": Held(low=0),
    }

    rows: list[int]
    shares: list[int]
    whole: int = 1
    point: list[int] = field(default_factory=list)
    unit: Fraction = Fraction(1)
    low: float = 0.0
    """Part of the squared length of the point that the rows are known to be beyond."""
    nearest: Fraction = Fraction(0)
    """Least squared length of a point so far; 0 before the first one."""
    idle: int = 0
    """Points since then."""

    @property
    def multipliers(self) -> list[Fraction]:
        """One for each row."""
        return [Fraction(s, self.whole) for s in self.shares]

    @property
    def normal(self) -> list[Fraction]:
        """The point as Fractions: weights of the reflected rows."""
        return [n * self.unit for n in self.point]

    def weights(self) -> tuple[list[int], list[float]]:
        """What another search may start from: rows and multipliers."""
        return list(self.rows), [as_float(m) for m in self.multipliers]

    @property
    def passes(self) -> float:
        """Products with all rows."""
        return float(self.steps)


def as_float(value: Fraction) -> float:
    """The nearest float; infinite where there is none."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


# -- The linear systems of a nearest-point search, solved in integers -----------------------------
#
# Solutions are numerators over one positive denominator.


Solution = tuple[list[int], int]


def best_in_hulls(block: NDArray[np.float64], group: NDArray[np.int64]) -> Solution:
    """Multipliers of the shortest combination of rows; those of each group sum to 1."""
    import flint

    k = len(block)
    Z = flint.fmpz_mat(_plain_integers(block))
    products = (Z * Z.transpose()).table()
    member = [[int(h == g) for h in group] for g in range(int(group.max()) + 1)]
    size = max(abs(int(v)) for v in (products[i][i] for i in range(k))) or 1
    member = [[size * v for v in row] for row in member]  # keeps the entries of one size
    system = [list(p) + [row[i] for row in member] for i, p in enumerate(products)]
    system += [row + [0] * len(member) for row in member]
    right = [[0]] * k + [[size]] * len(member)
    numbers, whole = _over_one(flint.fmpz_mat(system).solve(flint.fmpz_mat(right)))
    return numbers[:k], whole


def best_in_span(
    block: NDArray[np.float64], base: NDArray[np.float64], shares: list[int]
) -> Solution:
    """Multipliers of the combination of rows nearest minus the sum of shares times base."""
    import flint

    k = len(block)
    table = _plain_integers(np.vstack([block, base]))
    Z = flint.fmpz_mat(table[:k])
    goal = flint.fmpz_mat([shares]) * flint.fmpz_mat(table[k:])
    return _over_one((Z * Z.transpose()).solve(Z * goal.transpose() * -1))


def independent_rows(
    block: NDArray[np.float64], group: NDArray[np.int64], *, affine: bool
) -> list[int]:
    """Rows that are linearly independent, earlier ones first; affinely within the groups."""
    table = to_integers(block).table
    if affine:
        member = np.asarray(group[:, None] == np.unique(group), dtype=np.int64)
        table = np.column_stack([table, member])
    return independent_columns(np.ascontiguousarray(table.T))


def _over_one(solution: Any) -> Solution:
    numerators, denominator = solution.numer_denom()
    sign = -1 if denominator < 0 else 1
    return [sign * int(n) for n in numerators.entries()], sign * int(denominator)


def _plain_integers(block: NDArray[np.float64]) -> list[list[int]]:
    """The block times one power of two that makes all of it integer."""
    table, shift = to_integers(block)
    up = [int(s) for s in shift - shift.min()]
    return [[int(v) << u for v, u in zip(row, up)] for row in table.tolist()]
