"""What changes while softmax regression is solved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import State

__all__ = ["SoftmaxState", "share_of"]

Array = NDArray[np.float64]


@dataclass(kw_only=True)
class SoftmaxState(State):
    """An evaluated point, the curvature in use, and the corrections of it."""

    W: Array
    """Weights, one row a class: d of them and the intercept (n of them where the rows are few
    and the columns many, see ``softmax_pass.fold``)."""
    level: int = -1
    """-1 before the first evaluation, 0 on a sample, 1 on all rows."""
    rung: int = 0
    """Steps at this level."""
    S: NDArray[Any]
    """Scores of the rows of the level, shape (K, n)."""
    gradient: Array
    """By the weights, shape (K, d); that by the intercepts is zero."""
    primal: float = np.inf
    gap: float = np.inf
    """Relative gap as the solver sees it; certify has the last word."""
    kind: str = ""
    factors: NDArray[Any]
    scales: Array = field(default_factory=lambda: np.zeros(0))
    class_factors: Array = field(default_factory=lambda: np.zeros((0, 0)))
    class_scales: Array = field(default_factory=lambda: np.zeros(0))
    """The matrix that directions are taken from and its kind; see softmax_system.py."""
    steps_s: Array
    """Changes of the weights since; pair number i is in row i modulo the number of rows."""
    steps_y: Array
    """Changes of the gradient that went with them."""
    pairs: int = 0
    """How many there were; the last ones are kept."""
    idle: int = 0
    share: float = 1.0
    """Part of C in force: less than 1 on the way up from small costs."""
    slow: int = 0
    """How many of the last steps left more than a third of the gap."""
    tried: float = np.inf
    """Gap that the last shortcut promised."""
    rows_read: float = 0.0
    n_rows: int

    @property
    def passes(self) -> float:
        """Rows read divided by the number of rows."""
        return self.rows_read / self.n_rows


def share_of(gap: float, primal: float) -> float:
    """gap / primal, and 0 where there is none."""
    return gap / primal if gap > 0 else 0.0
