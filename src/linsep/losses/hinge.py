"""The hinge, its square, and the hinge with its corner rounded off.

All are functions of the violation u = 1 - y f(x) of one row:

hinge           max(u, 0)                     derivative in [0, 1]
squared hinge   max(u, 0)^2                   derivative 2 max(u, 0)
rounded hinge   z (u + h) - h z^2 with z = clip(u / (2 h) + 1/2, 0, 1), the derivative;
                it lies above the hinge, by at most h / 4, and agrees with it for |u| >= h

The conjugate L*(t) = sup_u t u - L(u) gives the dual: a row of cost c and dual variable
alpha = c t adds alpha - c L*(t) to the lower bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LOSSES = ("hinge", "squared_hinge")


def value(loss: str, u: Array) -> Array:
    """L(u).

    >>> value("squared_hinge", np.array([-1.0, 0.5])).tolist()
    [0.0, 0.25]
    """
    positive = np.maximum(u, 0.0)
    return positive if loss == "hinge" else positive * positive


def derivative(loss: str, u: Array, h: float = 0.0) -> Array:
    """L'(u); for the hinge with its corner rounded off over |u| < h."""
    if loss == "squared_hinge":
        return 2.0 * np.maximum(u, 0.0)
    if h > 0:
        return np.clip(u * (0.5 / h) + 0.5, 0.0, 1.0)
    return (u > 0).astype(np.float64)


def conjugate(loss: str, t: Array) -> Array:
    """L*(t) for t >= 0: 0 on [0, 1] for the hinge, t^2 / 4 for its square."""
    if loss == "squared_hinge":
        return t * t / 4.0
    return np.where(t <= 1.0, 0.0, np.inf)


def rounded_excess(h: float, u: Array, cost: Array) -> Array:
    """sum of cost (max(u, 0) - z u): the duality gap that rounding the corner by h leaves."""
    band = np.flatnonzero(np.abs(u) < h)
    v = u[band]
    return np.array([cost[band] @ (np.maximum(v, 0.0) - derivative("hinge", v, h) * v)])


def slopes_along(h: float, t: float, u: Array, change: Array, cost: Array, center: Array) -> Array:
    """First and second derivative of the sum of the losses along u + t change.

    h > 0: the hinge, rounded off around the slopes in center; h = 0: the squared hinge.
    """
    v = u + t * change
    c = cost * change
    if h > 0:
        z = np.clip(v * (0.5 / h) + center, 0.0, 1.0)
        bend = np.where((z > 0.0) & (z < 1.0), 0.5 / h, 0.0)
    else:
        z = 2.0 * np.maximum(v, 0.0)
        bend = np.where(v > 0.0, 2.0, 0.0)
    return np.array([c @ z, (c * change) @ bend])


def best_stretch(squared: float, cost: Array, values: Array, most: float = np.inf) -> float:
    """The t in [1, most] of least t^2 |w|^2 / 2 + sum cost max(0, 1 - t y f), values being y f.

    Where rows can be separated and C is large, what they lack of 1 costs much more than weights
    that are a little longer. Between two corners 1 / (y f) the slope is linear in t.

    >>> best_stretch(1.0, np.array([1e9, 1e9]), np.array([0.5, 3.0]))
    2.0
    """
    short = np.flatnonzero(values < 1.0)
    m, c = values[short], cost[short]
    if not len(m) or squared <= 0.0 or not squared < float(c @ m):
        return 1.0
    order = np.argsort(m)
    m, c = m[order], c[order]
    pull = np.cumsum(c * m)  # of the rows up to each, the shortest first
    with np.errstate(divide="ignore"):
        corner = np.where(m > 0.0, 1.0 / m, np.inf)  # falling: rows beyond it are long enough
    k = int(np.searchsorted(-(squared * corner - pull), 0.0, side="right")) - 1
    k = min(max(k, 0), len(m) - 1)
    low = corner[k + 1] if k + 1 < len(m) else 1.0
    return float(min(max(pull[k] / squared, low, 1.0), corner[k], most))
