"""The state of the proximal Newton method: numbers only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linsep.solvers.dual_cd import DualState

__all__ = ["SIGMA", "ProximalState", "Terms"]

Array = NDArray[np.float64]

SIGMA = 8.0  # step of the first centre, times |x|^2


@dataclass(kw_only=True)
class ProximalState(DualState):
    """The dual point of coordinate descent, and from the switch on the proximal centre."""

    newton: bool = False
    center: Array = field(default_factory=lambda: np.zeros(0))
    scores: Array = field(default_factory=lambda: np.zeros(0))
    sigma: float = SIGMA
    inner: int = 0
    """Newton steps since the centre moved."""
    unit_step: Array = field(default_factory=lambda: np.zeros(0))
    """1 / |x_i|^2."""
    settled_gap: float = np.inf
    stale: int = 0
    """Newton steps since the gap was ``settled_gap``, the last that was clearly smaller."""


class Terms(NamedTuple):
    """alpha = clip(center + sigma u, 0, top), row by row."""

    center: Array
    sigma: Array
    top: Array
