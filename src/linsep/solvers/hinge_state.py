"""The state of the Newton method for the hinge: numbers only."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import State

__all__ = ["NewtonState", "relative_gap"]

Array = NDArray[np.float64]


@dataclass(kw_only=True)
class NewtonState(State):
    """An evaluated point: its violations, gradient and curvature, and the best bounds."""

    a: Array
    level: int = -1
    """Which sample of rows; -1 before the first pass, the last level is all rows."""
    rung: int = 0
    """Steps taken at this width."""
    h: float = 0.0
    kappa: float = 1e-3
    u: Array = field(default_factory=lambda: np.zeros(0))
    gradient: Array
    curvature: Array
    rounded: float = np.inf
    """Objective with the corner rounded off."""
    primal: float = np.inf
    dual: float = 0.0
    """Values at a on all rows (at the last level)."""
    v: Array = field(default_factory=lambda: np.zeros(0))
    v_plus: Array = field(default_factory=lambda: np.zeros(0))
    sums: Array = field(default_factory=lambda: np.zeros(0))
    """Sums over the rows at a; see solvers/hinge_pass.py."""
    near: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The rows that are read, if not all; then u has one entry for each of them."""
    far: Array = field(default_factory=lambda: np.zeros(0))
    """Sums over the other rows; see solvers/hinge_near.py."""
    reach: float = 2.2
    """How far from the corner rows are read."""
    move: float = 0.0
    """How far rows may move before all are read again."""
    base: Array = field(default_factory=lambda: np.zeros(0))
    base_rounded: float = np.inf
    """Where the other rows were last read."""
    leftover: float = 0.0
    """Part of the gap at a that comes from the rounding; Newton steps remove the rest."""
    rest: float = np.inf
    """The other part, when it was last looked at."""
    center: Array = field(default_factory=lambda: np.zeros(0))
    """Slopes of the rounded loss at u = 0; empty means 1/2 for all rows."""
    settled_gap: float = np.inf
    """Gap when the centre was last moved."""
    best: Array
    best_primal: float = np.inf
    dual_a: Array
    dual_h: float = 0.0
    dual_z: Array = field(default_factory=lambda: np.zeros(0))
    """The best dual point: as weights and a width, or once there is a centre as slopes."""
    best_dual: float = 0.0
    target: float = 0.0
    """Width chosen for the tolerance."""
    idle: int = 0
    """Steps in a row that gained nothing."""
    wide: bool = False
    """Whether float32 has been found too short for the rows."""
    rows_read: float = 0.0
    n_rows: int
    columns: Array
    """Squared lengths of the columns, weighted, and the sum of the weights."""
    lengths: Array
    """Squared lengths of the rows."""

    @property
    def passes(self) -> float:
        """Rows read divided by the number of rows."""
        return self.rows_read / self.n_rows

    @property
    def gap(self) -> float:
        """Relative duality gap of the best primal and the best dual point."""
        return relative_gap(self.best_primal, self.best_dual)


def relative_gap(primal: float, dual: float) -> float:
    """(P - D) / P, and 0 where both vanish."""
    if not np.isfinite(primal):
        return np.inf
    return (primal - dual) / primal if primal > dual else 0.0
