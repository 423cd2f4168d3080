"""Lines where a function of two inputs changes class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import SettingError, require

__all__ = ["contour_lines"]

Array = NDArray[np.float64]
Score = Callable[[Array], Array]


def contour_lines(pullback: Any, box: Array, points: int) -> list[Array]:
    """Zero lines of the score; for more classes those of each class against its best rival."""
    if points < 2:
        raise SettingError(f"points must be a whole number >= 2. Got {points!r} instead.")
    out: list[Array] = []
    for k in range(len(pullback.coef)):
        out += _zero_lines(_score_of(pullback, k), box, points)
    return out


def _score_of(pullback: Any, k: int) -> Score:
    def score(rows: Array) -> Array:
        scores = pullback(rows)
        if scores.ndim == 1:
            return np.asarray(scores)
        rivals = np.delete(scores, k, axis=1).max(axis=1)
        return np.asarray(scores[:, k] - rivals)

    return score


def _zero_lines(score: Score, box: Array, points: int) -> list[Array]:
    contourpy = require("contourpy", extra="plot")
    x = np.linspace(box[0, 0], box[1, 0], points)
    y = np.linspace(box[0, 1], box[1, 1], points)
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    values = score(grid.reshape(-1, 2)).reshape(points, points)
    # Zero belongs to the positive side, here as in predict.
    values = np.where(values == 0, np.finfo(float).tiny, values)
    masked = np.ma.masked_invalid(values)
    lines = contourpy.contour_generator(x, y, masked, name="serial").lines(0.0)
    return [_refined(np.asarray(line), score, x, y) for line in lines]


def _refined(line: Array, score: Score, x: Array, y: Array) -> Array:
    """Each corner lies on an edge of the grid; bisection moves it along it to the zero."""
    start, end = line.copy(), line.copy()
    for k, (a, b) in enumerate(line):
        i, j = _near(x, a), _near(y, b)
        if abs(x[i] - a) / (x[1] - x[0]) <= abs(y[j] - b) / (y[1] - y[0]):
            lower = int(np.clip(np.searchsorted(y, b, side="right") - 1, 0, len(y) - 2))
            start[k], end[k] = (x[i], y[lower]), (x[i], y[lower + 1])
        else:
            lower = int(np.clip(np.searchsorted(x, a, side="right") - 1, 0, len(x) - 2))
            start[k], end[k] = (x[lower], y[j]), (x[lower + 1], y[j])
    below = score(start) < 0
    good = below != (score(end) < 0)
    for _ in range(60):
        middle = (start + end) / 2
        same = (score(middle) < 0) == below
        start[same], end[~same] = middle[same], middle[~same]
    return np.where(good[:, None], (start + end) / 2, line)


def _near(values: Array, at: float) -> int:
    return int(np.abs(values - at).argmin())
