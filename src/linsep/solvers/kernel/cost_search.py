"""A machine at one of the costs that are tried, and what those before it have told.

Problem   as for the decomposition (solvers/kernel/smo.py), at the cost that the state names
Update    a round of the decomposition
Stop      that of the machine; which cost comes next is for whoever searches to say

Whoever looks for a cost, such as that of a nu, goes from machine to machine. What the search knows
lies in the state, so that a run which goes on from a file tries the same costs to the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.protocol import NO_LOG, Held, Log, State, Status, Witness
from linsep.kernels.base import Kernel
from linsep.solvers.kernel.smo import SMO, PairState, SMOState

Array = NDArray[np.float64]


def _nothing() -> Array:
    return np.zeros(0)


@dataclass(kw_only=True)
class CostSearchState(State):
    """The machine at work, its cost, and the search around it."""

    held: ClassVar[Mapping[str, Held]] = {
        "above": Held(shape=("of a machine",), empty=True),
        "below": Held(shape=("of a machine",), empty=True),
        "last": Held(below=3),
    }

    machine: SMOState
    cost: float = 1.0
    turn: int = 0
    """Machines before this one,"""
    before: int = 0
    """and the steps that they took."""
    last: int = 0
    """On which side of what is looked for the last machine was: 1 below, 2 above."""
    same: int = 0
    """How often one side came after itself."""
    above: Array = field(default_factory=_nothing)
    below: Array = field(default_factory=_nothing)
    """Variables, offset and 1 of the last machine on each side, over its cost."""

    @property
    def parts(self) -> list[PairState]:
        """The pairs of the machine."""
        return self.machine.parts

    @property
    def passes(self) -> float:
        """Of the machine at work."""
        return self.machine.passes

    @property
    def gap(self) -> float:
        """Of the machine at work."""
        return self.machine.gap


@dataclass(frozen=True)
class CostSearch:
    """The decomposition, at costs that whoever searches puts into the state.

    Parameters
    ----------
    solver : SMO
        Its cost is that of the first machine.
    """

    solver: SMO

    unit: ClassVar[str] = SMO.unit

    @property
    def kernel(self) -> Kernel | None:
        """That of all machines."""
        return self.solver.kernel

    @property
    def tol(self) -> float:
        """Of all machines."""
        return self.solver.tol

    def at(self, cost: float) -> SMO:
        """What makes the machine of a cost."""
        return replace(self.solver, C=cost)

    def at_work(self, state: CostSearchState) -> SMO:
        """What makes the present machine."""
        return self.at(state.cost)

    def init(self, problem: Problem, *, start: Any = None) -> CostSearchState:
        """The first machine."""
        machine = self.solver.init(problem, start=start)
        return self._of(CostSearchState(machine=machine, cost=float(self.solver.C)))

    def next(
        self, problem: Problem, state: CostSearchState, cost: float, start: Any
    ) -> CostSearchState:
        """The machine of another cost, and all that is known."""
        machine = self.at(cost).init(problem, start=start)
        turn, before = state.turn + 1, state.before + state.steps
        return self._of(replace(state, machine=machine, cost=cost, turn=turn, before=before))

    def advance(
        self, problem: Problem, state: CostSearchState, steps: int, log: Log = NO_LOG
    ) -> int:
        """Rounds of the machine at work."""
        taken = self.at_work(state).advance(problem, state.machine, steps, log)
        self._of(state)
        return taken

    def extents(self, problem: Problem, state: CostSearchState) -> dict[str, int]:
        """How long a machine is: a variable for each row, an offset, and the cost."""
        return {"of a machine": problem.n + 2}

    def within(
        self, problem: Problem, state: CostSearchState
    ) -> Iterator[tuple[str, Problem, Any, State]]:
        """The machine at work."""
        yield "machine.", problem, self.at_work(state), state.machine

    def status(self, state: CostSearchState) -> Status:
        """That of the machine at work."""
        return state.status

    def witness(self, problem: Problem, state: CostSearchState) -> Witness:
        """That of the machine at work."""
        return self.at_work(state).witness(problem, state.machine)

    def _of(self, state: CostSearchState) -> CostSearchState:
        """The state, with the status and the counters of its machine."""
        machine = state.machine
        state.status, state.steps = machine.status, machine.steps
        state.n_updates = machine.n_updates
        return state
