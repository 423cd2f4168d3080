"""Points of two convex hulls nearest each other, by Wolfe's method.

Given     rows z_i in one group (is the origin in their hull?) or two (do the hulls meet?)
Find      w = sum l_i z_i of least length, l >= 0 summing to 1 in each group
Step      a major cycle: take in the rows that stick out farthest against w, go to the point
          of least length in the affine hull of the corral, drop rows that turn negative
Stop      all rows on the right side of w: it separates them; or w is zero up to rounding
Bounds    m / |w| <= distance of the hulls <= |w|, with m the sum over the groups of min z_i . w

P. Wolfe (1976), Finding the nearest point in a polytope, Mathematical Programming 11.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.log import NO_LOG, Log
from linsep.core.problem import Problem
from linsep.core.protocol import State, Witness
from linsep.core.status import Status
from linsep.solvers.hulls import loops
from linsep.solvers.hulls.cloud import Cloud, cloud_of
from linsep.solvers.hulls.corral import Corral

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(kw_only=True)
class HullState(State, Corral):
    """Corral and nearest point of a search.

    bounds are those of the distance of the hulls in the coordinates of the search, from below
    and from above, and the number of cycles in which neither moved; plain says that these
    coordinates are the caller's, up to a power of two.
    """

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
        Coordinates of the search, see ``solvers.samples``.
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
            if len(log.whole) and log.used[0] == len(log.whole):
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
        if code == loops.FOUND:
            return Status.SEPARATED if self.tol is None else Status.CERTIFIED
        if code == loops.TOUCHING:
            return Status.CONVERGED
        return Status.STALLED if code == loops.STUCK else Status.RUNNING

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
        code = loops.cycles(
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
            work=10 * state.groups * cloud.n_rows,
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
        code, count, total = loops.assess(
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
            work=10 * cloud.n_rows,
            alike=True,
        )
        if code == loops.RUNNING:
            state.join(cloud, found[:count])
            state.w = state.point(cloud)
            state.n_updates += 1
            _note(log, state, cloud, int(found[0]), total, length)
        return int(code)


def _note(log: Log, state: HullState, cloud: Cloud, row: int, value: float, step: float) -> None:
    """Write an event: the row farthest out, the least value of a row, the length of w."""
    if len(log.whole):
        k = int(log.used[0])
        log.whole[k] = state.n_updates, state.steps * cloud.n_rows, row
        log.real[k] = value, step
        log.used[0] = k + 1


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
