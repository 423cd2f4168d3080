"""Bounds of the best margin of classes that are known to be separable."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.exact import Tick
from linsep.certify.margins import loosen, margin_above, margin_below
from linsep.certify.signs import row_signs
from linsep.core.drive import Outcome
from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.separating.planes import Plane, Scores, rational_planes, scored_plane
from linsep.solvers.exact_hulls import ExactHulls
from linsep.solvers.nearest_hulls import NearestHulls

__all__ = ["MarginFinder"]

_TOL = 1e-6  # relative gap of the bounds that is aimed at
_ENOUGH = 1e-3  # relative gap that is worth a search in rational numbers
_TINY = 256  # entries of a problem that people may want to follow: its plane is the exact one
_WIDE = 3000  # rows and columns from which the bounds are not made closer than they have to be
_SLACK = 1e-12  # by which bounds are loosened, so that a check elsewhere confirms them
_EXACT_ROWS = 400  # corral up to which such a search is tried


class MarginFinder:
    """Collects planes, which bound the best margin from below, and points, which do from above.

    search drives a solver within the time that is left.
    """

    def __init__(self, problem: Problem, search: Callable[..., Outcome[Any]], tick: Tick) -> None:
        self.problem = problem
        self.search = search
        self.tick = tick
        wide = min(problem.n, problem.d) > _WIDE
        self.tol = _ENOUGH if wide else _TOL
        self.plane: Plane = (np.zeros(0), 0.0)
        self.low = -1.0
        self.high = np.inf
        self.rows: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.weights: NDArray[Any] = np.zeros(0)

    def offer(self, plane: Plane | None, scores: Scores = None) -> bool:
        """Whether a plane separates; keep it if its margin is larger than that of the one known."""
        if plane is None:
            return False
        low = margin_below(self.problem, *plane, scores=scores, tick=self.tick)
        low = loosen(self.problem, low, -_SLACK)
        # a margin may be too small for a float and the plane right all the same
        if not low > 0 and not (row_signs(self.problem, *plane, tick=self.tick) > 0).all():
            return False
        if low > self.low:
            self.plane, self.low = plane, low
        return True

    def bound(self, rows: NDArray[np.int64], weights: NDArray[Any]) -> None:
        """Keep the points if they bound the margin better than those known."""
        used = weights > 0
        high = loosen(self.problem, margin_above(self.problem, rows[used], weights[used]), _SLACK)
        if high < self.high:
            self.high, self.rows, self.weights = high, rows[used], weights[used]

    @property
    def gap(self) -> float:
        """Relative gap of the bounds."""
        return 1.0 - self.low / self.high if 0 < self.high < np.inf else 1.0

    def narrow(self, outcome: Outcome[Any] | None) -> None:
        """Search on, from the outcome of a search in x-space if there is one."""
        if not self.problem.binary:
            self._machine()
            return
        if outcome is not None and not outcome.state.plain:
            outcome = None
        if outcome is None or outcome.status is not Status.CERTIFIED:
            if outcome is not None:
                self.bound(outcome.witness.rows, outcome.witness.multipliers)
            outcome = self.search(self.problem, NearestHulls(tol=self.tol))
            self.offer(*scored_plane(self.problem, outcome.witness.a))
        witness = outcome.witness
        self.bound(witness.rows, witness.multipliers)
        tiny = self.problem.n * self.problem.d <= _TINY
        if tiny or (self.gap > _ENOUGH and len(witness.rows) <= _EXACT_ROWS):
            self.narrow_exactly(witness.rows, witness.multipliers)

    def narrow_exactly(self, rows: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Search on in rational numbers from a corral in x-space."""
        if not self.problem.binary:
            self._machine()
            return
        tiny = self.problem.n * self.problem.d <= _TINY
        solver = ExactHulls(tol=0.0 if tiny else _TOL)
        outcome = self.search(self.problem, solver, start=(rows, weights))
        state = outcome.state
        if state.status is Status.INSEPARABLE or not state.normal:
            return
        self.bound(np.array(state.rows), np.array([float(m) for m in state.multipliers]))
        for plane in rational_planes(self.problem, state.normal, self.tick):
            self.offer(plane)
            if self.gap > _ENOUGH and self.weights.dtype != object:
                self.bound(np.array(state.rows), np.array(state.multipliers, dtype=object))
            if self.gap <= _ENOUGH:
                return

    def _machine(self) -> None:
        """K > 2 classes: each pair bounds the margin of all machines from above."""
        problem = self.problem
        for pair in combinations(range(problem.K), 2):
            self.tick()
            members = np.flatnonzero(np.isin(problem.label, pair))
            part = Problem(
                problem.matrix[members],
                problem.label[members],
                fit_intercept=problem.fit_intercept,
            )
            witness = self.search(part, NearestHulls(tol=_ENOUGH)).witness
            self.bound(members[witness.rows], witness.multipliers)
