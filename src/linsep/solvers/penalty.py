"""The two factors of a logistic objective, C finite or not."""

from __future__ import annotations

import numpy as np

__all__ = ["Penalty"]


class Penalty:
    """ridge |w|^2 / 2 + cost times the losses, for a solver with C; C = inf has no penalty."""

    C: float

    @property
    def ridge(self) -> float:
        """1, or 0 where there is no penalty."""
        return 0.0 if np.isinf(self.C) else 1.0

    @property
    def cost(self) -> float:
        """Factor of the losses."""
        return 1.0 if np.isinf(self.C) else self.C
