"""Probabilities, decisions and their advantages on a grid of one or two features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Posterior", "evaluate"]

Array = NDArray[np.float64]


class Posterior(NamedTuple):
    """Values on the grid x (times y); the last axis counts classes or decisions."""

    x: Array
    y: Array
    probability: Array
    decision: NDArray[np.intp]
    """Number of the decision; from the number of classes on it is a reject option."""
    value: Array
    """A number for each decision; the largest decides."""


def evaluate(
    model: Any,
    middle: Array,
    shown: list[int],
    box: Array,
    resolution: int,
    frame: list[Any] | None,
) -> Posterior:
    """Ask the model on a grid over the shown features, with the others at their middle."""
    x = np.linspace(box[0, 0], box[1, 0], resolution)
    y = np.linspace(box[0, 1], box[1, 1], resolution) if len(shown) == 2 else np.zeros(1)
    grid = np.tile(middle, (len(x) * len(y), 1))
    across, up = np.meshgrid(x, y)
    grid[:, shown[0]] = across.ravel()
    if len(shown) == 2:
        grid[:, shown[1]] = up.ravel()
    rows = grid if frame is None else _framed(grid, frame)
    shape = (len(y), len(x)) if len(shown) == 2 else (len(x),)
    probability = np.asarray(model.predict_proba(rows), dtype=np.float64)
    value = _values(model, rows, probability)
    labels = list(getattr(model, "decisions_", model.classes_))
    place = {label: d for d, label in enumerate(labels)}
    decision = np.array([place[label] for label in model.predict(rows)], dtype=np.intp)
    return Posterior(
        x, y, probability.reshape(*shape, -1), decision.reshape(shape), value.reshape(*shape, -1)
    )


def _values(model: Any, rows: Any, probability: Array) -> Array:
    """What the decisions compare: a signed score, the expected losses, or the posteriors."""
    many = len(getattr(model, "decisions_", model.classes_))
    if many == 2 and hasattr(model, "decision_function"):
        score = np.asarray(model.decision_function(rows), dtype=np.float64)
        if score.ndim == 1:
            score = np.clip(score, -1e6, 1e6)
            return np.column_stack([-score, score])
    if hasattr(model, "conditional_risk"):
        return -np.asarray(model.conditional_risk(rows), dtype=np.float64)
    return probability


def _framed(grid: Array, names: list[Any]) -> Any:
    import pandas

    return pandas.DataFrame(grid, columns=names)
