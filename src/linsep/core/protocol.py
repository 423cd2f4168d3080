"""What a solver is: settings that never change, over a state that does.

A solver holds settings only. A state holds the numbers that change. The data stay in the
problem. So a state can be copied, saved, resumed and stepped from outside, and the same
code serves a fit, a trace, a progress bar and a browser.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.log import NO_LOG, Log
from linsep.core.problem import Problem
from linsep.core.status import Status


@dataclass(kw_only=True)
class State:
    """Base of all states: arrays, numbers and strings, nothing else."""

    status: Status = Status.READY
    steps: int = 0
    """Steps taken over the whole life of the state, in the solver's unit."""
    n_updates: int = 0
    """How often the weights changed."""

    @property
    def passes(self) -> float:
        """Work done so far, in passes over the data."""
        raise NotImplementedError

    def copy(self) -> Self:
        """An independent copy."""
        return copy.deepcopy(self)


@dataclass(frozen=True)
class Witness:
    """What a solver hands over for judgement; ``certify`` recomputes everything from it.

    a is a vector of weights. rows and multipliers name a combination of reflected rows with
    non-negative multipliers, and claim says what it is good for:

    ""            nothing; there are no multipliers
    "origin"      it is zero (or the rows can be combined to zero): nothing separates
    "hull"        divided by the sum of the multipliers it is a point of the hull of all
                  reflected rows: its length bounds the margin in the augmented space
    "two hulls"   the same for each of two classes, in the space of X: the distance of the two
                  points is twice an upper bound of the margin
    "dual"        dual variables of a support vector machine: proofs/gap.py makes them feasible
                  and bounds the objective with them; with K classes row i of class k is k n + i
    """

    a: NDArray[np.float64]
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    multipliers: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    claim: str = ""


S = TypeVar("S", bound=State)


class Solver(Protocol[S]):
    """The four methods of every solver.

    init     a state at the start; at most one pass over the data
    advance  up to ``steps`` further steps in place, counted in ``state.steps``; gives back
             how many were taken
    status   pure and O(1)
    witness  pure, at most one pass
    """

    unit: ClassVar[str]

    def init(self, problem: Problem, *, start: Any = None) -> S: ...

    def advance(self, problem: Problem, state: S, steps: int, log: Log = NO_LOG) -> int: ...

    def status(self, state: S) -> Status: ...

    def witness(self, problem: Problem, state: S) -> Witness: ...
