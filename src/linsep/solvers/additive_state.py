"""The numbers that change while an additive machine is trained."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import State

__all__ = ["AdditiveState"]

Array = NDArray[np.float64]


@dataclass(kw_only=True)
class AdditiveState(State):
    """Dual variables, scores without offset, and the working set with its kernel values."""

    alpha: Array
    score: Array
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    block: Array = field(default_factory=lambda: np.zeros((0, 0)))
    offset: float = 0.0
    primal: float = np.inf
    dual: float = 0.0
    best: float = -np.inf
    idle: int = 0
    age: int = 0
    work: float = 0.0
    rescued: int = 0
    wide: int = 0
    """1 once kernel values in float32 did not do inside a working set."""

    @property
    def passes(self) -> float:
        """Products with the kernel matrix, two passes each."""
        return self.work

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        if not np.isfinite(self.primal):
            return np.inf
        return max(self.primal - self.dual, 0.0) / self.primal if self.primal > 0 else 0.0
