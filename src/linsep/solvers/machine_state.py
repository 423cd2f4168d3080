"""The state of Newton's method for the machine of Crammer and Singer: numbers only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import State
from linsep.solvers.dual_point import Bounds

__all__ = ["MachineState"]

Array = NDArray[np.float64]


@dataclass(kw_only=True)
class MachineState(State):
    """An evaluated point: weights, shares and bounds."""

    W: Array
    """Shape (K, d + 1), offsets last."""
    scores: Array
    center: Array
    shares: Array
    h: float = 1.0
    kappa: float = 1e-6
    rounded: float = np.inf
    rung: int = 0
    idle: int = 0
    settled_gap: float = np.inf
    best: Array
    best_primal: float
    best_shares: Array
    best_dual: float = 0.0
    rows_read: float = 0.0

    @property
    def passes(self) -> float:
        """Passes over the data."""
        return self.rows_read

    @property
    def gap(self) -> float:
        """Relative duality gap of the best points."""
        return Bounds(self.best_primal, self.best_dual).relative
