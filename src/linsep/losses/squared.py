"""The squared error of one row, as a function of its value y f(x) and its target b.

value        (v - b)^2
derivative   2 (v - b)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def value(v: Array, b: Array) -> Array:
    """(v - b)^2.

    >>> value(np.array([1.0, 3.0]), np.array([1.0, 1.0])).tolist()
    [0.0, 4.0]
    """
    return (v - b) ** 2


def derivative(v: Array, b: Array) -> Array:
    """2 (v - b)."""
    return 2.0 * (v - b)
