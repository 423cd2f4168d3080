"""The point of a cone of rows nearest a goal, by the method of Lawson and Hanson.

Given     reflected rows z_i, base rows b with shares s_b > 0, the goal t = - sum s_b z_b
Find      the point p = sum l_i z_i, l >= 0, nearest t
Step      a major cycle: take in the rows that look most toward t - p, go to the best point of
          the span, drop rows that turn negative
Stop      p = t: the base and the rows found sum to zero with positive multipliers, so no plane
          has the base on its right side without lying on all of it
          else a = p - t has z_i . a >= 0 for all rows and is no plane through the whole base

So one search either shows that rows which span everything sum to zero (Stiemke), or finds a
weak separator (Farkas).

C. Lawson, R. Hanson (1974), Solving least squares problems, chapter 23.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.log import NO_LOG, Log
from linsep.core.problem import Problem
from linsep.core.protocol import State, Witness
from linsep.core.status import Status
from linsep.solvers.hulls.cloud import Cloud, cone_of
from linsep.solvers.hulls.corral import Corral

Array = NDArray[np.float64]

_REACHED = 1e-9  # distance to the goal, relative to its length, that is taken for zero
_BEYOND = 1e-11  # a row that looks less than this toward the goal does not help
_PATIENCE = 5


@dataclass(kw_only=True)
class ConeState(State, Corral):
    """Corral of the cone, the goal and what is missing to it."""

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
        cloud, taken = cone_of(problem), 0
        while taken < steps and not state.status.done:
            state.status = self._cycle(cloud, state)
            state.steps += 1
            taken += 1
        return taken

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
        if state.idle > _PATIENCE:
            return Status.STALLED
        state.join(cloud, rows, state.goal)
        state.rest = state.goal - state.point(cloud)
        state.n_updates += 1
        return Status.RUNNING
