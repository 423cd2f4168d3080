"""The time there is to answer a question."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from linsep.core.drive import Outcome, drive
from linsep.core.limits import Limits, TimeUpError, asked_to_stop, clock, time_left
from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.errors import ProofError

_STEPS, _PER_ROW = 200, 4  # more than any search takes: it ends in about one a row or column


@dataclass(frozen=True)
class Clock:
    """When the question was asked, and for how many seconds it may be thought about."""

    begin: float
    time_limit: float | None

    def left(self) -> float | None:
        """Seconds that are left, None for any number."""
        own = math.inf if self.time_limit is None else self.time_limit - self.spent()
        left = min(own, time_left())
        return None if left == math.inf else left

    def spent(self) -> float:
        """Seconds since the question was asked."""
        return clock() - self.begin

    def tick(self, ahead: float = 0.0) -> None:
        """Stop when the time is up, or will be before the end of what takes so long."""
        left = self.left()
        if left is not None and left <= ahead:
            raise TimeUpError

    def search(
        self, problem: Problem, solver: Any, *, start: Any = None, steps: int | None = None
    ) -> Outcome[Any]:
        """Drive a solver within the time that is left."""
        self.tick()
        steps = steps or _STEPS + _PER_ROW * (problem.n_rows + problem.width)
        state = solver.init(problem.lent, start=start)
        left = self.left()
        seconds = None if left is None else max(left, 0.0)
        outcome = drive(problem, solver, state, limits=Limits(steps=steps, seconds=seconds))
        if outcome.interrupted:  # a fit that asks for a verdict goes on without one
            raise TimeUpError if asked_to_stop() else KeyboardInterrupt
        return outcome

    def run(self, problem: Problem, solver: Any, *, start: Any = None) -> Outcome[Any]:
        """The same for a search whose unfinished state is of no use."""
        outcome = self.search(problem, solver, start=start)
        if outcome.status is Status.TIME_LIMIT:
            raise TimeUpError
        if outcome.status is Status.STEP_LIMIT:
            raise ProofError(
                f"the search for a verdict has not ended after {outcome.steps} steps; this is a "
                "bug of linsep, please report it."
            )
        return outcome
