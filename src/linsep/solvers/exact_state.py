"""Rows with rational multipliers: the state of a search that never rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

from linsep.core.protocol import State

__all__ = ["ExactState", "as_float"]


@dataclass(kw_only=True)
class ExactState(State):
    """Rows with rational multipliers, and the exact point they make.

    Multipliers are shares divided by whole. The point is ``point`` times ``unit``; it belongs to
    the reflected rows (``certify.exact.reflected``), without the constant column when there are
    two hulls.
    """

    rows: list[int]
    shares: list[int]
    whole: int = 1
    point: list[int] = field(default_factory=list)
    unit: Fraction = Fraction(1)
    low: float = 0.0
    """Part of the squared length of the point that the rows are known to be beyond."""

    @property
    def multipliers(self) -> list[Fraction]:
        """One for each row."""
        return [Fraction(s, self.whole) for s in self.shares]

    @property
    def normal(self) -> list[Fraction]:
        """The point as Fractions: weights of the reflected rows."""
        return [n * self.unit for n in self.point]

    def weights(self) -> tuple[list[int], list[float]]:
        """What another search may start from: rows and multipliers."""
        return list(self.rows), [as_float(m) for m in self.multipliers]

    @property
    def passes(self) -> float:
        """Products with all rows."""
        return float(self.steps)


def as_float(value: Fraction) -> float:
    """The nearest float; infinite where there is none."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf
