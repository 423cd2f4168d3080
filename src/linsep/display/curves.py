"""Curves of a recorded run: errors, lengths and bounds against updates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.display.reflect import step_weights
from linsep.errors import LinsepError
from linsep.risk.novikoff import novikoff_bound

Array = NDArray[np.float64]
_BOUND_LIMIT = 200_000  # entries of X up to which the margin is worth finding for a picture


@dataclass(frozen=True)
class Curve:
    """One curve of a small panel."""

    name: str
    x: Array
    y: Array
    stairs: bool = False
    """Whether the values are counts."""
    axis: str = ""
    """What stands at the axis, where it is not the name of the first curve."""
    decades: bool = False
    """Whether it falls by powers of ten."""


def trace_curves(trace: Any, steps: Sequence[int], *, bounds: bool) -> list[list[Curve]]:
    """Panels: errors after each update; then bounds of the margin, the objective with its bound and
    the gap, or |a|^2 and its bounds."""
    steps = [t for t in steps if not trace[t].closing] or list(steps)  # it tells of no update
    unit = "visit" if trace.has_looks else "update"
    x = np.array([getattr(trace[t], unit) for t in steps], dtype=np.float64)
    made = np.array([trace[t].update for t in steps], dtype=np.float64)
    errors = np.array([len(trace[t].errors) for t in steps], dtype=np.float64)
    panels = [[Curve("rows wrong", x, errors, stairs=True)]]
    first = trace[steps[-1]].extra
    if "gap" in first:
        told = {
            name: np.array([trace[t].extra.get(name, np.nan) for t in steps])
            for name in ("objective", "lower_bound", "gap")
        }
        told = {name: np.where(np.isfinite(v), v, np.nan) for name, v in told.items()}
        between = [
            Curve("objective", x, told["objective"], axis="objective"),
            Curve("lower bound", x, told["lower_bound"]),
        ]
        gap = np.where(told["gap"] > 0, told["gap"], np.nan)
        return [*panels, between, [Curve("relative gap", x, gap, decades=True)]]
    if "lower" in first and "upper" in first:
        pair = {
            name: np.array([trace[t].extra.get(name, np.nan) for t in steps])
            for name in ("upper", "lower")
        }
        pair["lower"] = np.where(np.isfinite(pair["lower"]), pair["lower"], np.nan)
        names = {"upper": "upper bound |a|", "lower": "lower bound min z.a / |a|"}
        axis = "the best margin is between"
        return [*panels, [Curve(names[k], x, pair[k], axis=axis) for k in names]]
    if "cost" in first and "norm2" not in first:  # perceptrons have a bound of their length
        cost = np.array([trace[t].extra.get("cost", np.nan) for t in steps])
        return [*panels, [Curve("cost", x, cost)]]
    if not np.size(trace[steps[-1]].coef):  # in a feature space the weights have no numbers
        return panels
    lengths = np.array(
        [np.sum(np.square(trace[t].coef)) + np.sum(np.square(trace[t].intercept)) for t in steps]
    )
    curves = [Curve("|a|² = |w|² + b²", x, lengths)]
    if bounds and _novikoff_applies(trace):
        curves += [replace(curve, x=x) for curve in novikoff_curves(trace, made)]
    return [*panels, curves]


def _novikoff_applies(trace: Any) -> bool:
    """Single-sample perceptron of two classes with eta = 1, small enough."""
    moves = [t for update, t in update_steps(trace).items() if update > 0]
    return bool(
        trace.algorithm == "Perceptron"
        and np.ndim(trace[0].coef) == 1
        and trace.X.size <= _BOUND_LIMIT
        and all(trace[t].row is not None and trace[t].extra.get("eta") == 1.0 for t in moves)
    )


def update_steps(trace: Any) -> dict[int, int]:
    """Number of each update and of its step: looks at rows are steps too, but no updates."""
    found: dict[int, int] = {}
    for t, step in enumerate(trace):
        if not step.closing:
            found.setdefault(step.update, t)
    return found


def novikoff_curves(trace: Any, x: Array) -> list[Curve]:
    """|a0|^2 + t D^2 above; (t gamma + u . a0)^2 below, where the rows are separable."""
    start = step_weights(trace[0])
    offset = trace.fit_intercept
    signed = np.linalg.norm(trace.X, axis=1) ** 2 + float(offset)
    above = Curve("|a0|² + t D²", x, float(start @ start) + x * float(signed.max()))
    try:
        bound = novikoff_bound(trace.X, trace.y, fit_intercept=offset)
    except LinsepError:
        return [above]
    gamma = bound.margin[0]
    if not gamma > 0:
        return [above]
    separator = np.zeros(len(start))
    separator[: len(bound.separator)] = bound.separator
    reach = np.maximum(x * gamma + float(separator @ start), 0.0)
    return [above, Curve("(t γ + u·a0)²", x, reach**2)]
