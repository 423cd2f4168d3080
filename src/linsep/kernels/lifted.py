"""Rows with two more columns, so that one product gives the exponents of Gaussians.

With s^2 = 2 gamma log2 e, x' = (s x, -|s x|^2 / 2, 1) and z' = (s z, 1, -|s z|^2 / 2) the product
x'.z' = -|s x - s z|^2 / 2 is the exponent of exp(-gamma |x - z|^2) as a power of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log2, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Lifted", "lifted_rows"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Lifted:
    """Rows for the left side of a product and the same rows for the right one."""

    rate: float
    left: Array
    right: Array

    def part(self, which: Any) -> Self:
        """Some of the rows."""
        return type(self)(self.rate, self.left[which], self.right[which])


def lifted_rows(X: Array, rate: float) -> Lifted:
    """Of dense float32 rows; squares are those of the scaled rows as they are rounded, in float64.

    So the exponents are those of distances of rows that are off by three roundings each.
    """
    n, d = X.shape
    left = np.empty((n, d + 2), X.dtype)
    np.multiply(X, X.dtype.type(sqrt(2 * rate * log2(e))), out=left[:, :d])
    left[:, d + 1] = 1.0
    right = left.copy()
    scaled = left[:, :d]
    left[:, d] = right[:, d + 1] = -0.5 * np.einsum("ij,ij->i", scaled, scaled, dtype=np.float64)
    right[:, d] = 1.0
    return Lifted(rate, left, right)
