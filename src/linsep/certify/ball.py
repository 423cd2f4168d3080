"""Bounds of the radius of the smallest ball that holds all rows, from a centre and shares alone.

From above   every centre c:              R <= max_i |x_i - c|
From below   shares a_i >= 0 of sum 1:    R^2 >= sum_i a_i |x_i|^2 - |sum_i a_i x_i|^2
             since any centre keeps a mean squared distance of at least that from the rows
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["exact_radius_bounds", "radius_bounds"]

Array = NDArray[np.float64]
_CHUNK = 1 << 20


def radius_bounds(X: Any, centre: Array, rows: NDArray[np.int64], shares: Array) -> Any:
    """(low, high) of R in floats, rounded outwards.

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> low, high = radius_bounds(X, np.array([1.0]), np.array([0, 2]), np.array([0.5, 0.5]))
    >>> low < 1 < high, high - low < 1e-14
    (True, True)
    """
    rounding = (X.shape[1] + len(rows) + 8) * 2.0**-52
    high = float(np.sqrt(squared_distances(X, centre).max())) * (1 + rounding)
    block = _dense(X, rows) - centre
    a = shares / shares.sum()
    spread = float(a @ np.einsum("ij,ij->i", block, block))
    mean = a @ block
    low2 = spread * (1 - 4 * rounding) - float(mean @ mean) * (1 + 4 * rounding)
    low = float(np.sqrt(max(low2, 0.0))) * (1 - rounding)
    return low, max(high, low)


def squared_distances(X: Any, centre: Array) -> Array:
    """|x_i - c|^2 of all rows, in blocks."""
    n, d = X.shape
    out = np.empty(n)
    step = max(1, _CHUNK // max(1, d))
    for at in range(0, n, step):
        block = _dense(X, slice(at, at + step)) - centre
        out[at : at + step] = np.einsum("ij,ij->i", block, block)
    return out


def _dense(X: Any, rows: Any) -> Array:
    block = X[rows]
    return np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), np.float64)


def exact_radius_bounds(
    X: Any, centre: Sequence[Fraction], rows: NDArray[np.int64], shares: Sequence[Fraction]
) -> tuple[Fraction, Fraction]:
    """(low, high) of R^2 in rational numbers; equal when the ball is the smallest."""
    block = [[Fraction(v) for v in row] for row in _dense(X, slice(None)).tolist()]
    high = max(sum((v - c) ** 2 for v, c in zip(row, centre)) for row in block)
    if min(shares) < 0 or sum(shares) != 1:
        return Fraction(0), Fraction(high)
    chosen = [block[i] for i in rows.tolist()]
    mean = [sum(a * row[j] for a, row in zip(shares, chosen)) for j in range(len(centre))]
    low = sum(a * sum((v - m) ** 2 for v, m in zip(row, mean)) for a, row in zip(shares, chosen))
    return Fraction(low), Fraction(high)
