"""K classes as K problems of one class against the rest, advanced together.

The state is the list of the states of the parts. A step is one step of every part that has
not ended; parts run in threads, and none of them depends on another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from linsep.core.costs import SWEEPS, second_thread
from linsep.core.lanes import run_all
from linsep.core.problem import Problem, each_against_rest
from linsep.core.protocol import NO_LOG, Log, Solver, State, Status, Witness

_SERIAL = second_thread(SWEEPS)


@dataclass(kw_only=True)
class OneVsRestState(State):
    """One state for each class."""

    parts: list[Any]

    @property
    def passes(self) -> float:
        """The passes of all parts together."""
        return float(sum(part.passes for part in self.parts))

    @property
    def gap(self) -> float:
        """The largest relative gap of the parts."""
        return max(float(part.gap) for part in self.parts)


@dataclass(frozen=True)
class OneVsRest:
    """Runs one solver for each class.

    Parameters
    ----------
    solver : Solver
        For problems of two classes.
    threads : int or None, default=None
        Parts worked on at once; None means one a core. The result does not depend on it.
    """

    solver: Any
    threads: int | None = None

    unit: ClassVar[str] = "round"

    @property
    def tol(self) -> float:
        """Relative gap that every part is to reach."""
        return float(self.solver.tol)

    def init(self, problem: Problem, *, start: Any = None) -> OneVsRestState:
        """One state for each class; start is a list with one entry for each, or None."""
        solver: Solver[Any] = self.solver
        problems = self._parts(problem)
        starts = [None] * problem.K if start is None else list(start)
        jobs = [partial(solver.init, p, start=s) for p, s in zip(problems, starts)]
        return OneVsRestState(parts=run_all(jobs, self._threads(problem)))

    def advance(
        self, problem: Problem, state: OneVsRestState, steps: int, log: Log = NO_LOG
    ) -> int:
        """Up to ``steps`` steps of every part."""
        jobs = [
            partial(self.solver.advance, p, s, steps)
            for p, s in zip(self._parts(problem), state.parts)
            if not s.status.done
        ]
        taken = max(run_all(jobs, self._threads(problem)), default=0)
        state.steps += taken
        state.n_updates = sum(part.n_updates for part in state.parts)
        state.status = _together([part.status for part in state.parts])
        return int(taken)

    def within(
        self, problem: Problem, state: OneVsRestState
    ) -> Iterator[tuple[str, Problem, Any, State]]:
        """One state for each class."""
        for k, (part, inner) in enumerate(zip(self._parts(problem), state.parts)):
            yield f"parts.{k}.", part, self.solver, inner

    def status(self, state: OneVsRestState) -> Status:
        """The worst status of the parts."""
        return state.status

    def witness(self, problem: Problem, state: OneVsRestState) -> Witness:
        """Weights of all classes; row i of class k has number k n + i."""
        parts = [self.solver.witness(p, s) for p, s in zip(self._parts(problem), state.parts)]
        rows = [part.rows + k * problem.n for k, part in enumerate(parts)]
        return Witness(
            a=np.concatenate([part.a for part in parts]),
            rows=np.concatenate(rows),
            multipliers=np.concatenate([part.multipliers for part in parts]),
            claim="dual",
        )

    def _threads(self, problem: Problem) -> int | None:
        """Small tables are worked on in Python, where two threads only wait for each other."""
        return 1 if problem.n * problem.d < _SERIAL else self.threads

    def _parts(self, problem: Problem) -> list[Problem]:
        """Every class against all others; what they share is computed before they are made."""
        if hasattr(self.solver, "prepare"):
            self.solver.prepare(problem)
        return each_against_rest(problem)


def _together(many: list[Status]) -> Status:
    for word in (Status.DIVERGED, Status.RUNNING, Status.READY, Status.STALLED):
        if word in many:
            return word
    return many[0]
