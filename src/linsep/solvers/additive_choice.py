"""Which rows a working set takes, and points of the box."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.solvers.smo_facts import movable

__all__ = ["edges", "feasible", "project"]

Array = NDArray[np.float64]


def edges(y: Array, top: Array, a: Array, score: Array) -> tuple[float, float]:
    """Least f of those that may grow, largest of those that may fall."""
    up, low = movable(y, top, a)
    f = score - y
    return float(f[up].min()), float(f[low].max())


def feasible(problem: Problem, alpha: Array, C: float) -> Array:
    """In the box, and balanced by scaling the heavier class down."""
    alpha = np.clip(alpha, 0.0, C * problem.weight)
    positive = problem.sign > 0
    plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
    if min(plus, minus) == 0.0:
        return np.zeros_like(alpha)
    alpha[positive if plus > minus else ~positive] *= min(plus, minus) / max(plus, minus)
    return alpha


def project(point: Array, low: Array, high: Array, total: float) -> Array:
    """The nearest point of the box whose entries have the given sum."""
    span = float(np.abs(point).max() + np.abs(high).max() + np.abs(low).max()) + 1e-300
    left, right = -span, span
    for _ in range(100):
        shift = 0.5 * (left + right)
        if float(np.clip(point - shift, low, high).sum()) > total:
            left = shift
        else:
            right = shift
    out: Any = np.clip(point - right, low, high)
    inside = (out > low) & (out < high)
    if inside.any():  # what the bisection leaves
        out[inside] += (total - float(out.sum())) / int(inside.sum())
        np.clip(out, low, high, out=out)
    return np.asarray(out)
