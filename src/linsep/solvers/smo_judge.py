"""When a kernel machine is done: bounds from f, and the signs that nothing moves any more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.solvers.smo_facts import Facts, best_offset, take_facts
from linsep.solvers.smo_parts import Pair
from linsep.solvers.smo_state import PairState

__all__ = ["ROUNDS_IDLE", "Judging"]

Array = NDArray[np.float64]

ROUNDS_IDLE = 3  # rounds without any change before it counts as stalled
_QUIET = 1e-13  # violation, relative to the size of f, that is taken for rounding
_EXTRA = 40  # steps a row that a small problem may take beyond the tolerance asked for
_HALVING = 4000  # rounds in which the gap must fall to a half; where rescue came, 60
_NEAR = 50.0  # times the gap wanted, from which a better offset may be all that is missing
_FLAT = 1e-13  # squared distance of the hulls over the largest K_ii: nothing between them


class Judging:
    """Methods over a state of one pair, for a solver with C, tol, fine and convex."""

    C: float
    tol: float
    fine: float
    convex: bool

    def _judge(self, problem: Problem, pair: Pair, part: PairState) -> Facts | None:
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
        if problem.fit_intercept and self.convex and self.fine < part.gap <= _NEAR * self.fine:
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

    def _better_offset(self, pair: Pair, cost: Array, facts: Facts, part: PairState) -> None:
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
