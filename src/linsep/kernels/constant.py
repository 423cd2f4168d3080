"""The constant kernel: what adding a number to a kernel means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.kernels.base import Kernel
from linsep.kernels.rows import Rows
from linsep.kernels.values import fraction, number

__all__ = ["Constant"]

Array = NDArray[Any]


@dataclass(frozen=True, repr=False)
class Constant(Kernel):
    """K(x, z) = value >= 0: one more coordinate of the feature map, sqrt(value).

    Parameters
    ----------
    value : float >= 0, default=1.0

    Examples
    --------
    >>> from linsep.kernels import Linear
    >>> (Linear() + 1).gram([[2.0], [3.0]])
    array([[ 5.,  7.],
           [ 7., 10.]])
    """

    value: float = 1.0

    def _check_settings(self) -> None:
        number(self, "value", low=0)

    def block(self, A: Rows, B: Rows) -> Array:
        """The value, everywhere."""
        return np.full((A.n, B.n), self.value, A.dtype)

    def _diagonal(self, rows: Rows) -> Array:
        return np.full(rows.n, self.value, rows.dtype)

    def ball(self, x: list[float], z: list[float]) -> Any:
        """The value."""
        from flint import arb

        return arb(float(self.value))

    def exact(self, x: list[Any], z: list[Any]) -> Any:
        """The value."""
        return fraction(self.value)

    def _features(self, X: Any, like: Any) -> Any:
        return np.full((X.shape[0], 1), np.sqrt(float(self.value)))
