"""What solvers, proofs and sentences ask of a loss.

A loss is a convex, growing function L of u = corner - y f(x), one number of one row. The machine
minimises |w|^2 / 2 + sum c_i L(u_i), and its dual is made of the conjugate
L*(t) = sup over u of t u - L(u): a row of cost c and dual variable alpha in [0, c top] adds
corner alpha - c L*(alpha / c) to the lower bound.

A new loss is one class and one line in the table ``linsep.losses.LOSSES``. A solver says by the
kind of loss it is written for which ones it can do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from linsep.errors import CapabilityError

Array = NDArray[np.float64]


class Loss(ABC):
    """A function of u = corner - y f(x). Losses have no state; those of one name are equal."""

    name: ClassVar[str]
    """In the parameter ``loss`` of an estimator and in files."""
    words: ClassVar[str]
    """In sentences."""
    kind: ClassVar[str] = "losses"
    """What is common to the losses that a solver is written for, in words."""
    corner: ClassVar[float]
    top: ClassVar[float]
    """The largest slope: a dual variable is at most so many times its cost."""
    kinked: ClassVar[bool] = False
    """Whether the slope jumps somewhere, so that Newton's method needs the corner rounded off."""

    @abstractmethod
    def value(self, u: Array) -> Array:
        """L(u)."""

    @abstractmethod
    def slope(self, u: Array) -> Array:
        """L'(u), in [0, top]: the dual variable that u suggests, for a cost of 1."""

    @abstractmethod
    def curvature(self, u: Array) -> Array:
        """L''(u), 0 at corners."""

    @abstractmethod
    def conjugate(self, t: Array) -> Array:
        """L*(t), inf outside [0, top]."""

    @abstractmethod
    def best_offset(self, scores: Array, sign: Array, cost: Array, start: float = 0.0) -> float:
        """The b of least sum cost L(corner - sign (scores + b))."""

    def best_constant(self, plus: float, minus: float) -> float:
        """The same where all scores are 0, from the costs of the two classes."""
        return self.best_offset(np.zeros(2), np.array([1.0, -1.0]), np.array([plus, minus]))

    def at_zero(self, cost: Array) -> float:
        """The sum of the losses where all weights are 0."""
        return float(cost.sum()) * float(self.value(np.array([self.corner]))[0])

    def cap(self, cost: Array) -> Array:
        """The largest dual variable of every row."""
        return np.asarray(cost * self.top if np.isfinite(self.top) else np.full_like(cost, np.inf))

    def dual_cost(self, alpha: Array, cost: Array) -> float:
        """sum of cost L*(alpha / cost), alpha being in its box."""
        return float(cost @ self.conjugate(alpha / cost))

    def __repr__(self) -> str:  # as a setting of a solver, also in checkpoints
        return repr(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loss) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def needs(solver: object, loss: Loss, kind: type[Loss]) -> None:
    """CapabilityError if a loss is not of the kind that a solver is written for."""
    if not isinstance(loss, kind):
        _refuse(solver, loss, kind.kind)


def needs_smooth(solver: object, loss: Loss) -> None:
    """CapabilityError if a loss has a corner."""
    if loss.kinked:
        _refuse(solver, loss, "losses without a corner")


def _refuse(solver: object, loss: Loss, wanted: str) -> NoReturn:
    raise CapabilityError(
        f"{type(solver).__name__} is written for {wanted}; {loss!r} is none of them. Use another "
        "solver, or another loss."
    )
