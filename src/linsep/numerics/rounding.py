"""How far float64 may be off: the units that every bound of a proof is made of, and sums, of
products too, that are off by one rounding alone.
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


# -- sums that are rounded once ---------------------------------------------------------------
#
# Every product is written as the sum of two numbers (Dekker 1971, Veltkamp 1968). Of many numbers
# the leading bits of all are added first, which is exact, then what they leave, and so on (Rump,
# Ogita and Oishi 2008); ``math.fsum`` adds up what these levels come to, and rounds once.

Array = NDArray[np.float64]

_FEW = 256  # numbers up to which they are added one by one
_SPLIT = 134217729.0  # 2^27 + 1
SPLITTABLE = 1e140  # products of numbers up to it are split without overflow
LOST = 1e-320  # what a split product may lose to underflow, and more


def rounded_once(values: Array) -> float:
    """The sum, rounded once: the number that ``math.fsum`` gives.

    >>> x = np.tile([1e16, 1.0, -1e16], 200)
    >>> rounded_once(x), rounded_once(x[:3])
    (200.0, 1.0)
    """
    levels: list[float] = []
    left, bits = values, (len(values) + 1).bit_length()
    while len(left) > _FEW:
        top = max(float(left.max()), -float(left.min()))
        if top == 0.0:
            return math.fsum(levels)
        if not top <= SPLITTABLE:  # infinite, or no numbers at all
            break
        edge = math.ldexp(1.0, math.frexp(top)[1] + bits)
        lead = (edge + left) - edge  # multiples of 2^-53 edge, and no sum of them reaches edge
        levels.append(float(lead.sum()))
        left = left - lead
    return math.fsum(values.tolist())


def sum_of_pairs(first: Array, second: Array) -> float:
    """The sum of all numbers of both, rounded once.

    >>> a, b = np.array([1e16, 1.0, -1e16]), np.array([1.0, 0.5, 1.0])
    >>> sum_of_pairs(*split_product(a, b))
    0.5
    """
    return rounded_once(np.concatenate([first, second]))


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
