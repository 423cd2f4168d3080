"""What f = K (alpha y) - y tells about a dual point: who may move, bounds, the offset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Facts", "best_offset", "movable", "offset_of", "take_facts"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Facts:
    """up and low hold f where y alpha may grow or fall, and infinity elsewhere."""

    up: Array
    low: Array
    primal: float
    dual: float
    offset: float
    violation: float
    gap: float
    """What these rows add to the duality gap; rows safely at a bound would add nothing."""
    spread: float
    """Squared distance of the two points of the hulls that alpha stands for."""

    def urgency(self) -> Array:
        """How far each row is beyond the middle that separates those who may move."""
        return np.maximum(-self.offset - self.up, self.low + self.offset)


def movable(y: Array, cost: Array, alpha: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where y alpha may grow, and where it may fall."""
    grows, falls, positive = alpha < cost, alpha > 0, y > 0
    return np.where(positive, grows, falls), np.where(positive, falls, grows)


def offset_of(y: Array, cost: Array, alpha: Array, f: Array) -> float:
    """The middle between the least f that may grow and the largest that may fall."""
    up, low = movable(y, cost, alpha)
    return _middle(float(f[up].min(initial=np.inf)), float(f[low].max(initial=-np.inf)))


def _middle(least: float, most: float) -> float:
    if np.isfinite(least) and np.isfinite(most):
        return -(least + most) / 2
    return -least if np.isfinite(least) else -most if np.isfinite(most) else 0.0


def take_facts(y: Array, cost: Array, alpha: Array, f: Array, free: bool) -> Facts:
    """Objective, lower bound and violation of a dual point."""
    grows, falls = movable(y, cost, alpha)
    quad = float((alpha * y) @ (f + y))
    total = float(alpha.sum())
    spread = 4 * (quad / total) / total if total > 0 else np.inf
    if free:
        up, low = np.where(grows, f, np.inf), np.where(falls, f, -np.inf)
        least, most = float(up.min(initial=np.inf)), float(low.max(initial=-np.inf))
        violation = max(most - least, 0.0) if np.isfinite(most - least) else 0.0
        offset = _middle(least, most)
    else:
        # without a condition that ties them together each row is judged by its own slope y f
        up, low = np.where(grows, f, 0.0), np.where(falls, f, 0.0)
        up, low = np.minimum(up, 0.0), np.maximum(low, 0.0)
        up, low = np.where(up < 0, up, np.inf), np.where(low > 0, low, -np.inf)
        violation = max(-float(up.min(initial=0.0)), float(low.max(initial=0.0)))
        offset = 0.0
    margin = y * (f + y + offset)
    if np.isinf(cost).any():
        near = float(margin.min())
        primal = 0.5 * (quad / near) / near if near > 0 and quad > 0 else np.inf
        dual = 0.5 * total * (total / quad) if quad > 0 else 0.0
    else:
        primal = 0.5 * quad + float(cost @ np.maximum(0.0, 1.0 - margin))
        dual = max(total - 0.5 * quad, 0.0)
    gap = primal - total + 0.5 * quad + offset * float(alpha @ y)
    return Facts(up, low, primal, dual, offset, violation, gap, spread)


def best_offset(y: Array, cost: Array, f: Array, reach: tuple[float, float] | None = None) -> float:
    """The offset with the least sum of losses, the middle where there is a whole interval.

    With ``reach`` the best one for which -b is between two numbers: few corners are sorted then.

    The losses of all rows are a convex function of b with corners at -f_i; its slope is the cost
    of the negative rows with corners to the left of b minus that of the positive rows with
    corners to its right.
    """
    corner, before = -f, 0.0
    if reach is not None:
        less, more = f < reach[0], f > reach[1]
        before = float(cost[more & (y < 0)].sum() - cost[less & (y > 0)].sum())
        some = np.flatnonzero(~(less | more))
        if not len(some):
            return -0.5 * (reach[0] + reach[1])
        corner, y, cost = corner[some], y[some], cost[some]
    order = np.argsort(corner, kind="stable")
    cost_of = cost[order]
    slope = before + np.cumsum(cost_of) - float(cost[y > 0].sum())  # just right of each corner
    slack = 1e-12 * float(cost.sum())
    k = int(np.searchsorted(slope, -slack))
    k = min(k, len(order) - 1)
    first = float(corner[order[k]])
    last = k
    while last + 1 < len(order) and slope[last] <= slack:
        last += 1
    return (first + float(corner[order[last]])) / 2
