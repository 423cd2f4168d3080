"""Small kernel machines: the last digits, and help where steps of two variables creep."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.core.problem import Problem
from linsep.solvers.smo_active import whole_of
from linsep.solvers.smo_facts import take_facts
from linsep.solvers.smo_judge import Judging
from linsep.solvers.smo_parts import Pair, Pairs
from linsep.solvers.smo_polish import polish
from linsep.solvers.smo_rescue import interior_point
from linsep.solvers.smo_state import PairState

__all__ = ["POLISH", "RESCUE", "Finishing"]

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
        self, problem: Problem, pairs: Pairs, desk: Any, pair: Pair, part: PairState
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
        self, problem: Problem, pairs: Pairs, desk: Any, pair: Pair, part: PairState
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

    def _hopeful(self, part: PairState, spread: float, pair: Pair) -> bool:
        """Whether the interior point method may go on where steps of two variables cannot."""
        apart = np.isfinite(self.C) or not self._flat(part, spread, pair)
        return bool(apart and not part.rescued and self._small(part, RESCUE))
