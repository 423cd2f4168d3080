"""Coordinate descent, and an interior point method where that would take long.

Problem   as for dual coordinate descent, dense rows of which there are few, or few columns
Given     sweeps that are judged by their progress, as in solvers/hinge/proximal.py
Update    a sweep; once it is seen that they would take long, steps of the interior point method
          instead (solvers/hinge/interior.py), whose number does not depend on scales; if
          rounding stops these, proximal Newton steps from where the sweeps ended
Stop      (P - D) / P <= tol
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linsep.core.problem import Problem
from linsep.core.protocol import NO_LOG, Log, State, Status, Witness
from linsep.losses.base import needs
from linsep.losses.hinge import HINGE, QuadraticLoss
from linsep.solvers.hinge.interior import InteriorHinge, InteriorState
from linsep.solvers.hinge.proximal import ProximalNewton, ProximalState


@dataclass(kw_only=True)
class WideState(State):
    """The state of the sweeps, and of the interior points once there are any."""

    first: ProximalState
    second: InteriorState = field(default_factory=lambda: _nothing())
    inside: bool = False
    """Whether sweeps have been given up."""

    @property
    def passes(self) -> float:
        """The passes of both together."""
        return self.first.passes + (self.second.passes if self.inside else 0.0)

    @property
    def gap(self) -> float:
        """The smaller of both relative gaps."""
        return self.better.gap

    @property
    def best_primal(self) -> float:
        """Objective of the weights."""
        return self.better.best_primal

    @property
    def best_dual(self) -> float:
        """Dual value of the dual point."""
        return self.better.best_dual

    @property
    def better(self) -> ProximalState | InteriorState:
        """Which of the two has the smaller gap."""
        if not self.inside or self.first.gap <= self.second.gap:
            return self.first
        return self.second


@dataclass(frozen=True)
class WideHinge:
    """Coordinate descent, and interior points where that would take long.

    Parameters
    ----------
    C : float, default=1.0
    loss : QuadraticLoss, default=HINGE
    tol : float, default=1e-3
        Relative duality gap.
    seed : int, default=0
        Of the order of visits.
    sweeps : int or None, default=None
        Sweeps before the first interior point; None leaves it to the progress they make.
    threads : int or None, default=None
        None means all cores. The result does not depend on it.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.hinge.wide import WideHinge
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1])
    >>> out = drive(problem, WideHinge(tol=1e-6, sweeps=1))
    >>> out.status.name, round(float(out.witness.a[0]), 3)
    ('CERTIFIED', 1.0)
    """

    C: float = 1.0
    loss: QuadraticLoss = HINGE
    tol: float = 1e-3
    seed: int = 0
    sweeps: int | None = None
    threads: int | None = None

    unit: ClassVar[str] = "sweep"

    def __post_init__(self) -> None:
        needs(self, self.loss, QuadraticLoss)

    @property
    def first(self) -> ProximalNewton:
        """What makes the sweeps."""
        return ProximalNewton(self.C, self.loss, self.tol, self.seed, self.sweeps, self.threads)

    @property
    def second(self) -> InteriorHinge:
        """The interior point method with the same settings."""
        return InteriorHinge(self.C, self.loss, self.tol)

    def prepare(self, problem: Problem) -> None:
        """Make what all parts of a problem of many classes share."""
        self.first.prepare(problem)
        self.second.prepare(problem)

    def init(self, problem: Problem, *, start: Any = None) -> WideState:
        """As for coordinate descent."""
        first = self.first.init(problem, start=start)
        return WideState(first=first, status=first.status)

    def advance(self, problem: Problem, state: WideState, steps: int, log: Log = NO_LOG) -> int:
        """Sweeps, later interior points; each counts as one."""
        taken = 0
        while taken < steps and not state.status.done:
            if state.inside and not state.second.status.done:
                taken += self.second.advance(problem, state.second, steps - taken)
            elif not state.inside:
                # no further than where sweeps are judged: no Newton step is to follow
                many = min(steps - taken, self.first.until_judged(state.first))
                taken += self.first.advance(problem, state.first, many)
                if state.first.newton and not state.first.status.done:
                    state.second, state.inside = self.second.init(problem), True
            else:
                taken += self.first.advance(problem, state.first, steps - taken)
            self._judge(state)
        return taken

    def within(
        self, problem: Problem, state: WideState
    ) -> Iterator[tuple[str, Problem, Any, State]]:
        """The sweeps, and the interior points if there are any."""
        yield "first.", problem, self.first, state.first
        if state.inside:
            yield "second.", problem, self.second, state.second

    def _judge(self, state: WideState) -> None:
        """The end of the sweeps is the end of all; the end of the interior points if it is good."""
        first, second = state.first, state.second
        state.steps = first.steps + second.steps
        state.n_updates = first.n_updates + second.n_updates
        state.status = Status.CERTIFIED if second.status is Status.CERTIFIED else first.status

    def status(self, state: WideState) -> Status:
        """CERTIFIED when the gap is closed."""
        return state.status

    def witness(self, problem: Problem, state: WideState) -> Witness:
        """The best weights and the best dual point of the one with the smaller gap."""
        better = state.better
        if isinstance(better, InteriorState):
            return self.second.witness(problem, better)
        return self.first.witness(problem, better)


def _nothing() -> InteriorState:
    """In place of interior points as long as there are none."""
    none = np.zeros(0)
    return InteriorState(
        w=none,
        alpha=none,
        slack=none,
        excess=none,
        best=none,
        best_primal=np.inf,
        best_alpha=none,
    )
