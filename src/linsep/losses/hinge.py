"""The hinge, its square, and all losses whose conjugate is a parabola on an interval.

With u = 1 - y f(x) of one row, a quadratic loss has two numbers, q >= 0 and top > 0:

    L(u)  = max over t in [0, top] of t u - q t^2          L*(t) = q t^2 on [0, top]
    L'(u) = clip(u / (2 q), 0, top)

hinge           q = 0, top = 1        max(u, 0)
squared hinge   q = 1/4, top = inf    max(u, 0)^2

A hinge is rounded off over |u| < h by a parabola about a centre z, 1/2 as a rule:

rounded hinge   max over t in [0, 1] of t u - h (t - z)^2, slope clip(u / (2 h) + z, 0, 1); about
                1/2 and with h / 4 added it lies above the hinge, by at most h / 4, and agrees
                with it for |u| >= h
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.losses.base import Loss
from linsep.numerics.line import Bracket

Array = NDArray[np.float64]


class QuadraticLoss(Loss):
    """A loss that is given by q and top."""

    kind = "losses whose conjugate is q t^2 on an interval [0, top]"
    corner = 1.0
    q: ClassVar[float]
    rivals: ClassVar[bool] = False
    """Whether there is one loss of all classes made of it, see losses/rivals.py."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kinked = cls.q == 0.0

    @property
    def form(self) -> tuple[float, float]:
        """(q, top), for compiled loops."""
        return self.q, self.top

    def value(self, u: Array) -> Array:
        positive = np.maximum(u, 0.0)
        if self.kinked:
            return positive if self.top == 1.0 else np.asarray(self.top * positive)
        curved = positive * positive * (0.25 / self.q)
        if np.isinf(self.top):
            return np.asarray(curved)
        end = 2.0 * self.q * self.top
        return np.asarray(np.where(u < end, curved, self.top * (u - 0.5 * end)))

    def slope(self, u: Array) -> Array:
        if self.kinked:
            return self.top * (u > 0).astype(np.float64)
        return np.asarray(np.clip(u * (0.5 / self.q), 0.0, self.top))

    def curvature(self, u: Array) -> Array:
        if self.kinked:
            return np.zeros_like(u)
        return np.asarray(np.where((u > 0) & (u < 2.0 * self.q * self.top), 0.5 / self.q, 0.0))

    def conjugate(self, t: Array) -> Array:
        return np.asarray(np.where((t >= 0.0) & (t <= self.top), self.q * (t * t), np.inf))

    def dual_cost(self, alpha: Array, cost: Array) -> float:
        if self.kinked:
            return 0.0
        return float((alpha * alpha / (cost / self.q)).sum())

    def best_offset(self, scores: Array, sign: Array, cost: Array, start: float = 0.0) -> float:
        if self.kinked:
            return _weighted_median(scores, sign, cost)
        bracket = Bracket(float(np.min(-1.0 - scores)), float(np.max(1.0 - scores)))
        b = min(max(start, bracket.low), bracket.high)
        for _ in range(60):
            u = 1.0 - sign * (scores + b)
            z = self.slope(u)
            inside = z > 0
            slope = -float((cost * sign * z)[inside].sum())
            bend = float((cost * self.curvature(u))[inside].sum())
            new = bracket.after(b, slope, bend)
            if abs(new - b) <= 1e-15 * (abs(b) + 1.0):
                return new
            b = new
        return b

    # -- the corner rounded off over |u| < h; a loss without one is left as it is -----------------

    def rounded_slope(self, u: Array, h: float) -> Array:
        """The slope; h = 0 rounds nothing."""
        if not self.kinked or h == 0.0:
            return self.slope(u)
        return np.asarray(np.clip(u * (0.5 / h) + 0.5, 0.0, self.top))

    def rounded_excess(self, h: float, u: Array, cost: Array) -> Array:
        """sum of cost (L(u) - z u), z the slopes: the duality gap that rounding by h leaves."""
        band = np.flatnonzero(np.abs(u) < h)
        v = u[band]
        return np.array([cost[band] @ (self.value(v) - self.rounded_slope(v, h) * v)])

    def slopes_along(
        self, h: float, t: float, u: Array, change: Array, cost: Array, center: Array
    ) -> Array:
        """First and second derivative of the sum of the losses along u + t change.

        h > 0: a corner rounded off around the slopes in center; h = 0: as it is.
        """
        v = u + t * change
        c = cost * change
        bend = 0.5 / (h if h > 0 else self.q)
        z = np.clip(v * bend + center if h > 0 else v * bend, 0.0, self.top)
        return np.array([c @ z, (c * change) @ np.where((z > 0.0) & (z < self.top), bend, 0.0)])


class Hinge(QuadraticLoss):
    """max(u, 0).

    >>> HINGE.value(np.array([-1.0, 0.5])).tolist(), HINGE.slope(np.array([-1.0, 0.5])).tolist()
    ([0.0, 0.5], [0.0, 1.0])
    """

    name, words = "hinge", "hinge"
    q, top = 0.0, 1.0
    rivals = True


class SquaredHinge(QuadraticLoss):
    """max(u, 0)^2.

    >>> SQUARED_HINGE.value(np.array([-1.0, 0.5])).tolist()
    [0.0, 0.25]
    """

    name, words = "squared_hinge", "squared hinge"
    q, top = 0.25, np.inf


HINGE, SQUARED_HINGE = Hinge(), SquaredHinge()


_SIX_DIGITS = 1e-6


def _weighted_median(scores: Array, sign: Array, cost: Array) -> float:
    """Of the corners sign - score: there the slope of a sum of hinges changes sign.

    At b below all corners the slope is minus the cost of the positive class; every corner
    adds the cost of its row.
    """
    corners = sign - scores
    order = np.argsort(corners, kind="stable")
    slope = np.cumsum(cost[order]) - float(cost[sign > 0].sum())
    flat = 1e-12 * float(cost.sum())
    k = int(np.searchsorted(slope, -flat, side="left"))
    k = min(k, len(corners) - 1)
    low = float(corners[order[k]])
    if slope[k] <= flat and k + 1 < len(corners):  # a flat piece: take its middle
        return 0.5 * (low + float(corners[order[k + 1]]))
    return low


def offset_range(scores: Array, sign: Array, cost: Array) -> tuple[float, float] | None:
    """All b of least sum of cost max(0, 1 - sign (scores + b)), where that is more than one.

    Pieces no longer than what weights of six digits leave open do not count.

    >>> low, high = offset_range(np.array([0.0, 0.4, 0.8, 1.2]), np.array([-1.0, -1, 1, 1]),
    ...                          np.full(4, 0.1))
    >>> round(low, 6), round(high, 6)
    (-1.0, -0.2)
    """
    corners = sign - scores
    order = np.argsort(corners, kind="stable")
    slope = np.cumsum(cost[order]) - float(cost[sign > 0].sum())
    flat = np.flatnonzero(np.abs(slope[:-1]) <= 1e-12 * float(cost.sum()))
    if not len(flat):
        return None
    low, high = float(corners[order[flat[0]]]), float(corners[order[flat[-1] + 1]])
    return (low, high) if high - low > _SIX_DIGITS * (1.0 + max(abs(low), abs(high))) else None


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
