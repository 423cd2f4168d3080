"""How far float64 may be off: the units that every bound of a proof is made of, and sums of
products that are off by one rounding alone.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

U = 2.0**-53
"""The largest relative error of one operation."""
U32 = 2.0**-24
"""The same in float32."""
SUM = 64 * U
"""Of a sum by numpy, which adds by halves: fewer than 64 roundings in a row."""
ROUNDED = 1e-12
"""A share of a sum over a table that may be rounding alone."""
LEAST = 2.0**-1074
"""The smallest positive number: twice the largest error of a product that underflows."""
AT_ONE = 1e-9
"""How far the nearest row of a hard margin may be from y f(x) = 1."""


# -- sums of products that are rounded once ---------------------------------------------------
#
# Every product is written as the sum of two numbers (Dekker 1971, Veltkamp 1968), and all of them
# are added up exactly by ``math.fsum``, which rounds once.

Array = NDArray[np.float64]

_SPLIT = 134217729.0  # 2^27 + 1
SPLITTABLE = 1e140  # products of numbers up to it are split without overflow
LOST = 1e-320  # what a split product may lose to underflow, and more


def sum_of_pairs(first: Array, second: Array) -> float:
    """The sum of all numbers of both, rounded once.

    >>> a, b = np.array([1e16, 1.0, -1e16]), np.array([1.0, 0.5, 1.0])
    >>> sum_of_pairs(*split_product(a, b))
    0.5
    """
    return math.fsum([*first.tolist(), *second.tolist()])


def split_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a b rounded, and what the rounding left; exact for numbers below ``SPLITTABLE``, but for
    ``LOST``."""
    p = a * b
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: Array) -> tuple[Array, Array]:
    big = _SPLIT * a
    first = big - (big - a)
    return first, a - first
