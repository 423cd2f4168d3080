"""Which rows a working set takes, and which offset fits the scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem

__all__ = ["best_offset", "edges", "feasible", "movable", "smallest"]

Array = NDArray[np.float64]


def movable(y: Array, top: Array, a: Array) -> tuple[Any, Any]:
    """Rows whose y alpha may grow, and those whose y alpha may fall."""
    grows, falls = a < top, a > 0
    return np.where(y > 0, grows, falls), np.where(y > 0, falls, grows)


def edges(y: Array, top: Array, a: Array, score: Array) -> tuple[float, float]:
    """Least f of those that may grow, largest of those that may fall."""
    up, low = movable(y, top, a)
    f = score - y
    return float(f[up].min()), float(f[low].max())


def smallest(f: Array, allowed: Any, count: int, seed: int | None) -> NDArray[np.int64]:
    """The rows with the smallest f; at the start, where all are equal, some of them."""
    rows = np.flatnonzero(allowed)
    if len(rows) <= count:
        return rows
    if seed is not None:
        return np.sort(np.random.default_rng(seed).choice(rows, count, replace=False))
    return np.sort(rows[np.argpartition(f[rows], count)[:count]])


def best_offset(score: Array, y: Array, cost: Array) -> float:
    """b that minimises sum cost max(0, 1 - y (score + b)); the middle of an interval of them."""
    breaks = y - score
    order = np.argsort(breaks)
    slope = np.cumsum(cost[order]) - float(cost[y > 0].sum())
    slack = 1e-12 * float(cost.sum())
    at = int(np.searchsorted(slope, -slack))
    at = min(at, len(order) - 1)
    if slope[at] <= slack and at + 1 < len(order):
        return 0.5 * float(breaks[order[at]] + breaks[order[at + 1]])
    return float(breaks[order[at]])


def feasible(problem: Problem, alpha: Array, C: float) -> Array:
    """In the box, and balanced by scaling the heavier class down."""
    alpha = np.clip(alpha, 0.0, C * problem.weight)
    positive = problem.sign > 0
    plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
    if min(plus, minus) == 0.0:
        return np.zeros_like(alpha)
    alpha[positive if plus > minus else ~positive] *= min(plus, minus) / max(plus, minus)
    return alpha
