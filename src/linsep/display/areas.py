"""Areas of the classes of any rule: on a line, and in a plane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.display.look import COLOURS, INK
from linsep.errors import require

Array = NDArray[np.float64]
HOLDS = "holds the street: y f(x) ≤ 1"
FINE = 240  # points a side of smooth areas
Numbers = Callable[[Array], NDArray[np.intp]]
"""Class numbers of rows, -1 where there is none."""


def draw_areas(
    ax: Any, numbers: Numbers, box: Array, n_classes: int, *, points: int = FINE, edges: bool = True
) -> Any:
    """Colour the plane by class; with edges, lines between the classes as the grid shows them."""
    x, y, grid = grid_of(box, points)
    found = numbers(grid).reshape(points, points)
    palette = _colours().ListedColormap([_pale(k) for k in range(n_classes)])
    shown = np.ma.masked_less(found, 0)
    half = (box[1] - box[0]) / (points - 1) / 2
    (left, bottom), (right, top) = box[0] - half, box[1] + half
    image = ax.imshow(
        shown, cmap=palette, vmin=-0.5, vmax=n_classes - 0.5, extent=(left, right, bottom, top),
        origin="lower", aspect="auto", interpolation="nearest", zorder=0,
    )  # fmt: skip
    if edges:
        for k in range(n_classes):
            own = (found == k).astype(float)
            if 0 < own.sum() < own.size:
                ax.contour(x, y, own, levels=[0.5], colors=INK, linewidths=1.6, zorder=3)
    return image


def draw_street(ax: Any, x: Array, y: Array, scores: Array) -> Any:
    """Dashed curves where the scores of a grid are -1 and 1; None if it has none."""
    values = scores.reshape(len(y), len(x))
    inside = [s for s in (-1.0, 1.0) if np.nanmin(values) < s < np.nanmax(values)]
    if not inside:
        return None
    dashes = {"colors": [INK], "linewidths": 1.1, "linestyles": "dashed", "zorder": 3}
    ax.plot([], [], color=INK, linewidth=1.1, linestyle="dashed", label="street: f = ±1")
    return ax.contour(x, y, values, levels=inside, **dashes)


def grid_of(box: Array, points: int = FINE) -> tuple[Array, Array, Array]:
    """Coordinates along both sides of a box, and the points of the grid, line after line."""
    x, y = (np.linspace(box[0, j], box[1, j], points) for j in range(2))
    return x, y, np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def draw_spans(ax: Any, intervals: list[tuple[float, float, int]], low: float, high: float) -> None:
    """Colour intervals of a line by class."""
    for a, b, k in intervals:
        if k >= 0 and b > low and a < high:
            ax.axvspan(max(a, low), min(b, high), color=_pale(k), linewidth=0, zorder=0)


def _pale(k: int) -> tuple[float, ...]:
    colour = np.array(_colours().to_rgb(COLOURS[k % len(COLOURS)]))
    return tuple((1 - 0.13 * (1 - colour)).tolist())


def _colours() -> Any:
    return require("matplotlib.colors", extra="plot")
