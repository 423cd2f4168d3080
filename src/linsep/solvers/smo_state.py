"""What changes while kernel machines are solved: one state for each pair of classes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import State

__all__ = ["PairState", "SMOState"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(kw_only=True)
class PairState(State):
    """The dual variables of one pair, and f = K (alpha y) - y."""

    alpha: Array
    f: Array
    seen: Array
    """alpha that f of the rows outside the active set belongs to."""
    active: Index
    working: Index
    facts: Array
    """objective, bound, offset, violation."""
    inner: int = 0
    """Pairs of variables moved."""
    read: int = 0
    """Rows of kernel values read."""
    generation: int = 0
    idle: int = 0
    bonus: int = -1
    """Steps at which the tolerance asked for was met."""
    rescued: int = 0
    """1 once the interior point method has helped out."""
    pause: int = 0
    """Round from which a step of all free variables may be tried again."""
    wait: int = 4
    """Rounds to wait should it fail."""
    stepped: float = np.inf
    """Violation before the last such step, if it was taken."""
    mark: float = np.inf
    """Gap (or violation) at ``marked`` rounds; it must be halved in time."""
    marked: int = 0
    far: Index = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Rows far behind the street, left out of looks at the others until the end is near."""
    past: Array = field(default_factory=lambda: np.zeros(0))
    """alpha that f of the far rows belongs to."""

    @property
    def passes(self) -> float:
        """Rows of kernel values read, over the number of rows."""
        return self.read / max(1, len(self.alpha))

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        primal, dual = float(self.facts[0]), float(self.facts[1])
        if not np.isfinite(primal):
            return np.inf
        return max(primal - dual, 0.0) / primal if primal > dual else 0.0


@dataclass(kw_only=True)
class SMOState(State):
    """One state for each pair of classes; they are solved one after the other."""

    parts: list[PairState]
    at: int = 0

    @property
    def passes(self) -> float:
        """The passes of all parts together."""
        return float(sum(part.passes for part in self.parts))

    @property
    def gap(self) -> float:
        """The largest relative gap of the parts."""
        return max(part.gap for part in self.parts)
