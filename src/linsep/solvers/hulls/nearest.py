"""Points of two convex hulls nearest each other, by Wolfe's method; a cone nearest a goal.

Given     rows z_i in one group (is the origin in their hull?) or two (do the hulls meet?)
Find      w = sum l_i z_i of least length, l >= 0 summing to 1 in each group
Step      a major cycle: take in the rows that stick out farthest against w, go to the point
          of least length in the affine hull of the corral, drop rows that turn negative
Stop      all rows on the right side of w: it separates them; or w is zero up to rounding
Bounds    m / |w| <= distance of the hulls <= |w|, with m the sum over the groups of min z_i . w

P. Wolfe (1976), Finding the nearest point in a polytope, Mathematical Programming 11.

The point of a cone nearest a goal is found with the same corral, by the method of Lawson and
Hanson; it has its own head below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import inner, routine
from linsep.core.problem import Problem
from linsep.core.protocol import ENDLESS, FIXED, NO_LOG, Held, Log, State, Status, Witness, repeated
from linsep.solvers.hulls.cloud import Cloud, cloud_of, cone_of

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

RUNNING, FOUND, TOUCHING, STUCK = 0, 1, 2, 3

_NO_ROWS = np.zeros(0, dtype=np.int64)
_TOUCH = 1e-10  # length of w, in units of the largest row, that is taken for zero
_NUMPY = 60  # values that numpy looks at while a loop in Python would touch one
_IDLE_CYCLES = 5  # cycles without progress before rounding is blamed


# -- The corral: the few rows that a search holds, with the Cholesky factor of their products -----
#
# Wolfe (1976), Finding the nearest point in a polytope. A corral is a set of rows, affinely
# independent, with multipliers. Its target are the multipliers of the point of least length in
# their affine hull. Rows whose multiplier would become negative on the way there leave.
#
#     hull   groups = 1 or 2: multipliers of each group sum to 1, the point is sum l_i z_i
#     cone   groups = 0: multipliers are free to grow, the point is sum l_i z_i - goal


@dataclass(kw_only=True)
class Corral:
    """Rows with groups and multipliers; only the first ``size`` places of the arrays count.

    States of searches are corrals: arrays and numbers, to be copied and saved.
    """

    held: ClassVar[Mapping[str, Held]] = {
        "size": Held(most="group"),
        "groups": FIXED,
        "factor": Held(shape=("group", "group")),
        "half": Held(shape=(2, "group")),
        "points": Held(shape=("group", None)),
        "row_numbers": Held(shape=("group",), below="n_rows"),
        "group": Held(shape=("?",), most="last_group"),
        "all_multipliers": Held(shape=("group",)),
    }

    groups: int
    size: int
    factor: Array
    half: Array
    points: Array
    row_numbers: NDArray[np.int64]
    group: NDArray[np.int64]
    all_multipliers: Array

    @staticmethod
    def blank(groups: int, cloud: Cloud, room: int = 48) -> dict[str, Any]:
        """Fields of a corral without rows; coordinates are held where that saves products."""
        m = cloud.m if cloud.held else 0
        return {
            "groups": groups,
            "size": 0,
            "factor": np.zeros((room, room)),
            "half": np.zeros((2, room)),
            "points": np.zeros((room, m)),
            "row_numbers": np.zeros(room, dtype=np.int64),
            "group": np.zeros(room, dtype=np.int64),
            "all_multipliers": np.zeros(room),
        }

    @property
    def last_group(self) -> int:
        """The largest number of a group: 0 for one hull and for a cone."""
        return max(self.groups - 1, 0)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Numbers of the rows."""
        return self.row_numbers[: self.size]

    @property
    def multipliers(self) -> Array:
        """Multipliers of the rows."""
        return self.all_multipliers[: self.size]

    def point(self, cloud: Cloud) -> Array:
        """The combination of the rows."""
        if not cloud.held:
            return cloud.combine(self.rows, self.multipliers)
        return np.asarray(self.multipliers @ self.points[: self.size])

    def outside(
        self, cloud: Cloud, side: NDArray[np.int64], values: Array, edge: Array, batch: int
    ) -> tuple[NDArray[np.int64], Array]:
        """Rows whose values are least and below all in the corral, and the least of each side.

        edge bounds them from above for each side; it goes down to the values in the corral.
        """
        least, found = edge.copy(), np.empty(batch * len(edge), dtype=np.int64)
        count = survey(
            values,
            side,
            edge,
            least,
            self.row_numbers,
            self.group,
            self.size,
            batch,
            found,
            size=cloud.entries,
            work=len(values) // _NUMPY,
            alike=True,
        )
        return found[:count], least

    def join(self, cloud: Cloud, rows: NDArray[np.int64], goal: Array | None = None) -> None:
        """Take in rows, the most promising first, and go to the best point.

        The first rows of an empty corral are one of each group. A cone needs the goal.
        """
        k, b = self.size, len(rows)
        self.reserve(k + b)
        self.row_numbers[k : k + b] = rows
        self.group[k : k + b] = cloud.side[rows]
        toward = np.zeros(b)
        if not cloud.held:
            products = cloud.products(rows, self.row_numbers[: k + b])
            if goal is not None:
                toward = cloud.values(goal)[rows]
        else:
            block = self.points[k : k + b]
            block[:] = cloud.take(rows)
            products = block @ self.points[: k + b].T
            if goal is not None:
                toward = block @ goal
        self.size = exchange(
            self.factor,
            self.half,
            self.points,
            self.row_numbers,
            self.group,
            self.all_multipliers,
            k,
            self.groups,
            products,
            toward,
            int(rows[0]) if b else -1,
            size=cloud.entries,
            work=10 * (k + b) ** 2,
            alike=True,
        )

    def reserve(self, room: int) -> None:
        """Make room for that many rows."""
        if room <= len(self.group):
            return
        room = max(room, 2 * len(self.group))
        for name in ("factor", "half", "points", "row_numbers", "group", "all_multipliers"):
            array = getattr(self, name)
            shape = {"factor": (room, room), "half": (2, room)}.get(name, (room, *array.shape[1:]))
            more = np.zeros(shape, dtype=array.dtype)
            more[tuple(map(slice, array.shape))] = array
            setattr(self, name, more)


# -- Points of two hulls nearest each other -------------------------------------------------------


@dataclass(kw_only=True)
class HullState(State, Corral):
    """Corral and nearest point of a search.

    bounds are those of the distance of the hulls in the coordinates of the search, from below
    and from above, and the number of cycles in which neither moved; plain says that these
    coordinates are the caller's, up to a power of two.
    """

    held: ClassVar[Mapping[str, Held]] = {
        **Corral.held,
        "bounds": ENDLESS,
        "plain": FIXED,
    }

    w: Array
    plain: bool
    bounds: Array = field(default_factory=lambda: np.array([-np.inf, np.inf, 0.0]))

    @property
    def low(self) -> float:
        """Lower bound of the distance of the hulls."""
        return float(self.bounds[0])

    @property
    def high(self) -> float:
        """Upper bound of the distance of the hulls."""
        return float(self.bounds[1])

    @property
    def passes(self) -> float:
        """Products with all rows."""
        return float(self.steps)

    def weights(self) -> NDArray[np.int64]:
        """What another search may start from: the rows of the corral."""
        return self.rows.copy()


@dataclass(frozen=True)
class NearestHulls:
    """Nearest points of the hulls of the classes.

    Binary problems with an intercept have two hulls, the classes. Without an intercept, or
    with more than two classes, the hull of all reflected rows is compared with the origin.

    Parameters
    ----------
    metric : {"plain", "scaled", "white"}
        Coordinates of the search, see ``hulls.cloud``.
    tol : float or None
        Relative gap between the bounds of the distance at which to stop. None stops at the
        first vector that separates.
    batch : int, default=8
        Rows taken in for each group and cycle, at most; more when the corral is large.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.hulls.nearest import NearestHulls
    >>> out = drive(Problem([[0.0], [2.0]], [-1, 1]), NearestHulls(tol=1e-6))
    >>> out.status.name, out.witness.rows.tolist()
    ('CERTIFIED', [1, 0])
    """

    metric: str = "plain"
    tol: float | None = None
    batch: int = 8
    unit: ClassVar[str] = "major cycle"

    def init(self, problem: Problem, *, start: Any = None) -> HullState:
        """Rows that stick out along the line between the means of the groups.

        start may hold the rows of an earlier search to begin with.
        """
        cloud = cloud_of(problem, self.metric)
        values = _first_values(cloud)
        members = [np.flatnonzero(cloud.side == g) for g in range(cloud.groups)]
        rows = np.array([m[values[m].argmin()] for m in members])
        if start is not None:
            rows = _with_start(cloud, rows, np.asarray(start, dtype=np.int64))
        state = HullState(
            **Corral.blank(cloud.groups, cloud), w=np.zeros(0), plain=cloud.samples.plain
        )
        if cloud.table is not None:
            state.w = np.zeros(cloud.m)
            self._cycles(cloud, state, 0, NO_LOG, rows)
        else:
            state.join(cloud, rows)
            state.w = state.point(cloud)
        return state

    def advance(self, problem: Problem, state: HullState, steps: int, log: Log = NO_LOG) -> int:
        """Run major cycles; a full log ends the call."""
        cloud, begin = cloud_of(problem, self.metric), state.steps
        run = self._cycle if cloud.table is None else self._cycles
        while state.steps < begin + steps and not state.status.done:
            code = run(cloud, state, begin + steps, log)
            state.status = self._status(code)
            if log.full:
                break
        return state.steps - begin

    def status(self, state: HullState) -> Status:
        """SEPARATED or CERTIFIED; CONVERGED when the hulls seem to meet; STALLED."""
        return state.status

    def witness(self, problem: Problem, state: HullState) -> Witness:
        """The weights, without an intercept if there are two hulls, and the corral."""
        cloud = cloud_of(problem, self.metric)
        return Witness(
            a=cloud.weights(state.w, state.rows, state.multipliers),
            rows=state.rows.copy(),
            multipliers=state.multipliers.copy(),
            claim=self._claim(state),
        )

    def _claim(self, state: HullState) -> str:
        if state.status is Status.CONVERGED:
            return "origin"
        return "two hulls" if state.groups == 2 else "hull"

    def _status(self, code: int) -> Status:
        if code == FOUND:
            return Status.SEPARATED if self.tol is None else Status.CERTIFIED
        if code == TOUCHING:
            return Status.CONVERGED
        return Status.STALLED if code == STUCK else Status.RUNNING

    def _cycles(
        self, cloud: Cloud, state: HullState, until: int, log: Log, first: Rows = _NO_ROWS
    ) -> int:
        """Cycles until an answer, over rows that are few: all in one call.

        Rows to begin with are taken in ahead of them.
        """
        assert cloud.table is not None
        batch = (self.batch + 1) // 2  # a cycle is cheap here, so fewer rows come in vain
        k, b = state.size, len(first)
        state.reserve(max(k + b, k + state.groups * (batch + k // 16)))
        state.row_numbers[k : k + b] = first
        state.group[k : k + b] = cloud.side[first]
        counts = np.array([k, state.steps, state.n_updates, until, state.groups, b])
        code = cycles(
            *cloud.table,
            cloud.side,
            state.factor,
            state.half,
            state.row_numbers,
            state.group,
            state.all_multipliers,
            state.w,
            batch,
            -1.0 if self.tol is None else self.tol,
            state.bounds,
            counts,
            *log,
            size=cloud.entries,
            work=20 * cloud.n_rows**2,  # a cycle for each row or so
            alike=True,
        )
        state.size, state.steps, state.n_updates = counts[:3].tolist()
        return int(code)

    def _cycle(self, cloud: Cloud, state: HullState, until: int, log: Log) -> int:
        """One cycle."""
        state.steps += 1
        batch = self.batch + state.size // 16
        found = np.empty(batch * state.groups, dtype=np.int64)
        length = float(np.sqrt(state.w @ state.w))
        code, count, total = assess(
            cloud.values(state.w),
            length,
            cloud.side,
            state.row_numbers,
            state.group,
            state.size,
            batch,
            -1.0 if self.tol is None else self.tol,
            state.bounds,
            found,
            size=cloud.entries,
            work=cloud.n_rows // _NUMPY,
            alike=True,
        )
        if code == RUNNING:
            state.join(cloud, found[:count])
            state.w = state.point(cloud)
            state.n_updates += 1
            _note(log, state, cloud, int(found[0]), total, length)
        return int(code)


def _note(log: Log, state: HullState, cloud: Cloud, row: int, value: float, step: float) -> None:
    """Write an event: the row farthest out, the least value of a row, the length of w."""
    log.write(state.n_updates, state.steps * cloud.n_rows, row, value, step)


def _with_start(
    cloud: Cloud, first: NDArray[np.int64], start: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Rows to start from, one of each group ahead; the first rows where a group has none."""
    group = cloud.side[start]
    ahead = [start[group == g][:1] for g in range(cloud.groups)]
    ahead = [rows if len(rows) else first[[g]] for g, rows in enumerate(ahead)]
    rows = np.concatenate([*ahead, start])
    return np.asarray(rows[np.sort(np.unique(rows, return_index=True)[1])])


def _first_values(cloud: Cloud) -> Array:
    """Values of the rows along the sum of all rows."""
    if cloud.blocks > 1:
        return np.zeros(cloud.n_rows)
    if cloud.table is not None:
        return np.asarray(cloud.table[1].sum(axis=0))
    samples = cloud.samples
    center = np.asarray(samples.matrix.T @ (cloud.sign / len(cloud.sign))).ravel()
    center -= samples.center * cloud.sign.mean()
    inner = samples.mapped(center)
    if samples.constant:
        inner = np.append(inner, samples.constant * cloud.sign.mean())
    return cloud.values(inner)


# -- The point of a cone of rows nearest a goal, by the method of Lawson and Hanson ---------------
#
# Given     reflected rows z_i, base rows b with shares s_b > 0, the goal t = - sum s_b z_b
# Find      the point p = sum l_i z_i, l >= 0, nearest t
# Step      a major cycle: take in the rows that look most toward t - p, go to the best point of
#           the span, drop rows that turn negative
# Stop      p = t: the base and the rows found sum to zero with positive multipliers, so no plane
#           has the base on its right side without lying on all of it
#           else a = p - t has z_i . a >= 0 for all rows and is no plane through the whole base
#
# So one search either shows that rows which span everything sum to zero (Stiemke), or finds a
# weak separator (Farkas).
#
# C. Lawson, R. Hanson (1974), Solving least squares problems, chapter 23.


_REACHED = 1e-9  # distance to the goal, relative to its length, that is taken for zero
_BEYOND = 1e-11  # a row that looks less than this toward the goal does not help


@dataclass(kw_only=True)
class ConeState(State, Corral):
    """Corral of the cone, the goal and what is missing to it."""

    held: ClassVar[Mapping[str, Held]] = {
        **Corral.held,
        "side": FIXED,
        "goal": FIXED,
    }

    side: NDArray[np.int64]
    goal: Array
    rest: Array
    shortest: float = np.inf
    idle: int = 0

    @property
    def passes(self) -> float:
        """Products with all rows."""
        return float(self.steps)

    def weights(self) -> NDArray[np.int64]:
        """What another search may start from: the rows of the corral."""
        return self.rows.copy()


@dataclass(frozen=True)
class NearestCone:
    """Point of the cone of the active rows nearest minus a combination of base rows.

    Parameters
    ----------
    active : array of int, optional
        Reflected rows that span the cone; all if None.
    base, shares : arrays of int, optional
        The goal is minus the sum of shares times base rows; all rows once if None.
    batch : int, default=24
        Rows taken in for each cycle, at most.
    """

    active: NDArray[np.int64] | None = None
    base: NDArray[np.int64] | None = None
    shares: NDArray[np.int64] | None = None
    batch: int = 24
    unit: ClassVar[str] = "major cycle"

    def init(self, problem: Problem, *, start: Any = None) -> ConeState:
        """No rows, or those of an earlier search; the goal is all that is missing."""
        cloud = cone_of(problem)
        goal = -cloud.combine(*self._goal(problem))
        side = np.full(cloud.n_rows, -1 if self.active is not None else 0)
        if self.active is not None:
            side[self.active] = 0
        state = ConeState(**Corral.blank(0, cloud), side=side, goal=goal, rest=goal.copy())
        if start is not None and len(start):
            state.join(cloud, np.asarray(start, dtype=np.int64), goal)
            state.rest = goal - state.point(cloud)
        return state

    def _goal(self, problem: Problem) -> tuple[NDArray[np.int64], Array]:
        """Rows and shares whose sum, negative, is aimed at."""
        base = np.arange(problem.n_rows) if self.base is None else self.base
        return base, np.ones(len(base)) if self.shares is None else self.shares.astype(np.float64)

    def advance(self, problem: Problem, state: ConeState, steps: int, log: Log = NO_LOG) -> int:
        """Run major cycles."""
        cloud = cone_of(problem)

        def cycle() -> None:
            state.status = self._cycle(cloud, state)

        return repeated(state, steps, cycle)

    def status(self, state: ConeState) -> Status:
        """CONVERGED: the goal is reached; BOUNDARY: it cannot be; STALLED."""
        return state.status

    def witness(self, problem: Problem, state: ConeState) -> Witness:
        """The weak separator, if the goal cannot be reached, and the rows of the cone."""
        base, aim = self._goal(problem)
        rows = np.concatenate([state.rows, base])
        shares = np.concatenate([state.multipliers, aim])
        a = cone_of(problem).weights(-state.rest, rows, shares)
        claim = "origin" if state.status is Status.CONVERGED else ""
        return Witness(a=a, rows=rows, multipliers=shares, claim=claim)

    def _cycle(self, cloud: Cloud, state: ConeState) -> Status:
        length = float(np.sqrt(state.rest @ state.rest))
        if length <= _REACHED * float(np.sqrt(state.goal @ state.goal)):
            return Status.CONVERGED
        state.idle = 0 if length < state.shortest * (1 - 1e-12) else state.idle + 1
        state.shortest = min(state.shortest, length)
        values = cloud.values(-state.rest)
        values[state.rows] = 0.0  # nothing but rounding: rows inside have been made the best of
        edge = np.array([-_BEYOND * length])
        rows, _ = state.outside(cloud, state.side, values, edge, self.batch)
        if not len(rows):
            return Status.BOUNDARY
        if state.idle > _IDLE_CYCLES:
            return Status.STALLED
        state.join(cloud, rows, state.goal)
        state.rest = state.goal - state.point(cloud)
        state.n_updates += 1
        return Status.RUNNING


# -- Loops of the hulls: what the values of all rows say, all cycles over few rows in one call ----


@routine
def assess(values, length, side, rows, group, size, batch, tol, bounds, found):
    """``judge`` for a search that multiplies its rows elsewhere."""
    return judge(values, length, side, rows, group, size, batch, tol, bounds, found)


@inner
def judge(values, length, side, rows, group, size, batch, tol, bounds, found):
    """What the values of all rows along w say: code, rows to take in, least value.

    length is that of w. bounds are those of the distance, from below and from above, and the
    number of cycles in which neither moved; they are brought up to date. found gets the rows.
    tol is the gap of the bounds to stop at, negative to stop at the first w that separates.
    """
    if not length > _TOUCH:
        return TOUCHING if length <= _TOUCH else STUCK, 0, 0.0
    sides = len(found) // batch
    edge = np.full(sides, np.inf)
    least = np.empty(sides)
    count = look_around(values, side, edge, least, rows, group, size, batch, found)
    total = 0.0
    gain = -np.inf
    for g in range(sides):
        total += least[g]
        gain = max(gain, edge[g] - least[g])
    low = total / length
    idle = not (length < bounds[1] * (1 - 1e-14) or low > bounds[0])
    bounds[2] = bounds[2] + 1.0 if idle else 0.0
    bounds[0] = max(bounds[0], low)
    bounds[1] = min(bounds[1], length)
    if total > 0 and (tol < 0 or bounds[0] >= (1 - tol) * bounds[1]):
        return FOUND, count, total
    if not 1e-15 * length < gain < np.inf or bounds[2] > _IDLE_CYCLES:
        return STUCK, count, total
    return RUNNING, count, total


@routine
def cycles(
    Z, M, side, R, U, rows, group, multipliers, w, batch, tol, bounds, counts, whole, real, used
):
    """Major cycles until there is an answer; gives back its code.

    Column i of Z is row i, M holds the products of all rows. counts are the size of the corral,
    the cycles and the updates so far, the cycles to end at, the groups, and how many rows wait
    behind those of the corral to be taken in before the first cycle. It also ends when the
    corral has no room for another cycle, or when the log is full.
    """
    values, part = np.empty(Z.shape[1]), np.empty(Z.shape[1])
    if counts[5] > 0:
        take_in(Z, M, R, U, rows, group, multipliers, w, counts, counts[5])
    while counts[1] < counts[3]:
        size = counts[0]
        many = batch + size // 16
        if size + counts[4] * many > len(group):
            return RUNNING
        counts[1] += 1
        values[:] = 0.0
        length = 0.0
        for q in range(len(Z)):
            np.multiply(Z[q], w[q], part)
            values += part
            length += w[q] * w[q]
        length = np.sqrt(length)
        found = np.empty(counts[4] * many, dtype=np.int64)
        code, count, total = judge(
            values, length, side, rows, group, size, many, tol, bounds, found
        )
        if code != RUNNING:
            return code
        for i in range(count):
            rows[size + i] = found[i]
            group[size + i] = side[found[i]]
        take_in(Z, M, R, U, rows, group, multipliers, w, counts, count)
        counts[2] += 1
        if len(whole):
            k = used[0]
            whole[k, 0] = counts[2]
            whole[k, 1] = counts[1] * len(values)
            whole[k, 2] = found[0]
            real[k, 0] = total
            real[k, 1] = length
            used[0] = k + 1
            if used[0] == len(whole):
                return RUNNING
    return RUNNING


@inner
def take_in(Z, M, R, U, rows, group, multipliers, w, counts, count):
    """Let the rows behind the corral join it, and go to the best point."""
    size = counts[0]
    products = np.empty((count, size + count))
    for i in range(count):
        for j in range(size + count):
            products[i, j] = M[rows[size + i], rows[j]]
    none = np.empty((0, 0))
    piece = np.empty(len(w))
    size = settle(
        R, U, none, rows, group, multipliers, size, counts[4], products, piece, rows[size]
    )
    w[:] = 0.0
    for i in range(size):
        np.multiply(Z[:, rows[i]], multipliers[i], piece)
        w += piece
    counts[0] = size


# -- Loops of the corral: rows that stick out, rows that join, rows that leave --------------------
#
# R is upper triangular with R'R = M, the products of the rows (plus 1 for two rows of the same
# group). Rows join at the end of R and leave by Givens rotations, both in O(k^2).
#
# The best multipliers solve M l = E c. E has a column for each group with ones at its rows, and
# c makes the multipliers of each group sum to 1; for a cone E is one column, the products of the
# rows with the goal, and c = 1. U holds R'^-1 E, one row for each column of E. It is kept up with
# R, so that E'M^-1 E = U U' is at hand and one backward substitution gives the multipliers.


_DEPENDENT = 1e-12  # part of a row that is left beside the others, below which it adds nothing
_ZERO = 1e-13  # multiplier, relative to the largest, that counts as zero


@routine
def survey(values, side, edge, least, rows, group, size, batch, found):
    """``look_around`` for a search that multiplies its rows elsewhere."""
    return look_around(values, side, edge, least, rows, group, size, batch, found)


@routine
def exchange(R, U, Z, rows, group, multipliers, k, groups, products, toward, worst):
    """``settle`` for a search that multiplies its rows elsewhere."""
    return settle(R, U, Z, rows, group, multipliers, k, groups, products, toward, worst)


@inner
def look_around(values, side, edge, least, rows, group, size, batch, found):
    """Find the rows that stick out farthest, a batch of each side; gives back how many.

    side is the group of each row; rows of side -1 take no part. edge[g] goes down to
    the least value of a row of the corral; only rows below it are found, the least first and
    the side that gains most ahead. least[g] becomes the least value of all.
    """
    for i in range(size):
        if values[rows[i]] < edge[group[i]]:
            edge[group[i]] = values[rows[i]]
    sides = len(edge)
    best = np.empty((sides, batch))
    place = np.empty((sides, batch), dtype=np.int64)
    count = np.zeros(sides, dtype=np.int64)
    limit = np.append(edge, -np.inf)  # the last is that of side -1
    for g in range(sides):
        least[g] = edge[g]
    for v in np.flatnonzero(~(values >= limit[side])):
        g = side[v]
        value = values[v]
        if g < 0 or value >= limit[g]:
            continue
        if value != value:
            least[g] = value  # numbers overflowed: the bounds must not be believed
            continue
        i = min(count[g], batch - 1)
        while i > 0 and best[g, i - 1] > value:
            best[g, i] = best[g, i - 1]
            place[g, i] = place[g, i - 1]
            i -= 1
        best[g, i] = value
        place[g, i] = v
        count[g] = min(count[g] + 1, batch)
        if count[g] == batch:
            limit[g] = best[g, batch - 1]
    total = 0
    for g in range(sides):
        if count[g] > 0 and least[g] == least[g]:
            least[g] = best[g, 0]
    first = 1 if sides == 2 and edge[1] - least[1] > edge[0] - least[0] else 0
    for turn in range(sides):
        g = (first + turn) % sides
        for i in range(count[g]):
            found[total] = place[g, i]
            total += 1
    return total


@inner
def settle(R, U, Z, rows, group, multipliers, k, groups, products, toward, worst):
    """Let rows join a corral of k rows, then go to the best point; gives back the new k.

    Places k, k + 1, ... of Z, rows and group hold the rows that want to join, products their
    products with the rows inside and with each other, toward those with the goal of a cone.
    Rows that depend on others are not taken. Rows whose multipliers turn negative leave. worst
    is the last to be sent away of those that came together: alone it is sure to help.
    """
    column = np.arange(k + len(products))  # where the row of each place was at the start
    k = _join(R, U, column, group, multipliers, k, groups, products, toward)
    target = np.empty(k)
    gone = np.empty(k, dtype=np.bool_)
    while k > 0:
        size = _aim(R, U, k, groups, target)
        if not size < np.inf:
            break
        bound = _ZERO * size
        if _clip(multipliers, target, k, bound, gone):
            break
        leaving, before = 0, k
        for i in range(k):
            leaving += gone[i]
        for i in range(k - 1, -1, -1):
            if gone[i] and (leaving == 1 or rows[column[i]] != worst):
                _leave(R, U, column, multipliers, k, i)
                k -= 1
        if k == before:
            break
        _divide(multipliers, column, group, k, groups)
    for i in range(k):
        j = column[i]
        if j > i:
            rows[i] = rows[j]
            group[i] = group[j]
            for q in range(Z.shape[1]):
                Z[i, q] = Z[j, q]
    return k


@inner
def _join(R, U, column, group, multipliers, k, groups, products, toward):
    """Append rows to the factor; column keeps the number of each that is taken."""
    old = k
    one = 1.0 if groups > 0 else 0.0
    t = np.empty(len(column))
    for j in range(len(products)):
        for i in range(k):
            t[i] = products[j, column[i]]
            if group[column[i]] == group[old + j]:
                t[i] += one
        rest = products[j, old + j] + one
        least = _DEPENDENT * rest
        for i in range(k):
            t[i] /= R[i, i]
            rest -= t[i] * t[i]
            for q in range(i + 1, k):
                t[q] -= t[i] * R[i, q]
        if not rest > least:
            continue
        for i in range(k):
            R[i, k] = t[i]
        R[k, k] = np.sqrt(rest)
        for g in range(len(U)):
            right = toward[j] if groups == 0 else 1.0 if group[old + j] == g else 0.0
            for i in range(k):
                right -= t[i] * U[g, i]
            U[g, k] = right / R[k, k]
        column[k] = old + j
        multipliers[k] = 0.0
        k += 1
    return k


@inner
def _aim(R, U, k, groups, target):
    """The best multipliers, were they free to be negative; gives back the largest in size."""
    c0 = 1.0
    c1 = 0.0
    if groups > 0:
        a = 0.0
        b = 0.0
        c = 0.0
        for i in range(k):
            a += U[0, i] * U[0, i]
            b += U[0, i] * U[1, i]
            c += U[1, i] * U[1, i]
        if groups == 1:
            c = 1.0
        det = a * c - b * b
        if not det > 0.0:
            return np.inf
        c0 = (c - b) / det
        c1 = (a - b) / det
    size = 0.0
    whole = 0.0
    for i in range(k - 1, -1, -1):
        rest = c0 * U[0, i] + c1 * U[1, i]
        for q in range(i + 1, k):
            rest -= R[i, q] * target[q]
        target[i] = rest / R[i, i]
        size = max(size, abs(target[i]))
        whole += target[i]
    return size if abs(whole) < np.inf else np.inf


@inner
def _clip(multipliers, target, k, bound, gone):
    """Go as far toward the target as no multiplier turns negative; True if all the way.

    gone marks the rows that have to leave.
    """
    step = 1.0
    clean = True
    for i in range(k):
        if not target[i] > bound:
            clean = False
            if multipliers[i] - target[i] > 0.0:
                step = min(step, multipliers[i] / (multipliers[i] - target[i]))
    least = -1
    some = False
    for i in range(k):
        gone[i] = False
        multipliers[i] = max(multipliers[i] + step * (target[i] - multipliers[i]), 0.0)
        if not target[i] > bound:
            if multipliers[i] <= bound:
                gone[i] = True
                some = True
            if least < 0 or multipliers[i] < multipliers[least]:
                least = i
    if clean:
        for i in range(k):
            multipliers[i] = target[i]
    elif not some:
        gone[least] = True
    return clean


@inner
def _leave(R, U, column, multipliers, k, j):
    """Take the row in place j out of the factor of k rows."""
    for i in range(j + 1):
        for q in range(j, k - 1):
            R[i, q] = R[i, q + 1]
    for i in range(j + 1, k):
        # row i of R now starts one place left of its diagonal: rotate it into row i - 1
        above = R[i - 1, i - 1]
        below = R[i, i]
        size = np.sqrt(above * above + below * below)
        c = above / size
        s = below / size
        R[i - 1, i - 1] = size
        for q in range(i, k - 1):
            upper = R[i - 1, q]
            lower = R[i, q + 1]
            R[i - 1, q] = c * upper + s * lower
            R[i, q] = c * lower - s * upper
        for g in range(len(U)):
            upper = U[g, i - 1]
            lower = U[g, i]
            U[g, i - 1] = c * upper + s * lower
            U[g, i] = c * lower - s * upper
        column[i - 1] = column[i]
        multipliers[i - 1] = multipliers[i]


@inner
def _divide(multipliers, column, group, k, groups):
    """Bring the sum of the multipliers of each group back to 1."""
    for g in range(groups):
        total = 0.0
        for i in range(k):
            if group[column[i]] == g:
                total += multipliers[i]
        if total > 0.0:
            for i in range(k):
                if group[column[i]] == g:
                    multipliers[i] /= total
