"""The space of weights: every row is a half-plane, and the solutions lie in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.words import count
from linsep.display.geometry import box_around, box_corners, clip, line_in_box
from linsep.display.look import (
    COLOURS,
    INK,
    LIGHT,
    axes,
    draw_line,
    draw_polygon,
    frame,
    plain_names,
    wrapped,
)
from linsep.display.look import legend as draw_legend
from linsep.display.reflect import (
    WeightPlane,
    as_weights,
    step_weights,
    weight_plane,
)

Array = NDArray[np.float64]
_MANY_ROWS = 40
_MANY_STEPS = 80


class WeightSpaceDisplay:
    """Half-planes of the rows, the region of solutions, and the path of a run.

    The weights a = [w, b] put row i on its own side where z_i . a > 0 with z_i = y_i [x_i, 1].
    With two weights (one feature and the intercept, or two features without one) this is a
    half-plane for each row, and their intersection is the cone of solutions. With more
    weights the picture is a slice: two weights vary and the others are fixed.

    Parameters
    ----------
    plane : WeightPlane
        One half-plane for each row.
    path : array of shape (T, 2), optional
        Weights of successive steps.
    title : str
        The sentence above the picture.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    edges_ : list of line, one for each row
    region_ : polygon or None
        The solutions; None if no weights put every row on its own side.
    arrows_ : list of annotation
        The updates.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("offset-pair")
    >>> run = linsep.trace(linsep.Perceptron(), table.X, table.y)
    >>> display = linsep.WeightSpaceDisplay.from_trace(run)
    >>> display.path[-1].tolist(), display.contains(display.path[-1])
    ([2.0, -3.0], True)
    """

    def __init__(self, plane: WeightPlane, *, path: Array | None = None, title: str = "") -> None:
        self.plane = plane
        self.path = path
        self.title = title

    def contains(self, weights: Any) -> bool:
        """Whether two weights put every row on its own side."""
        values = self.plane.normals @ np.asarray(weights, dtype=np.float64) + self.plane.offsets
        return bool((values > 0).all())

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        fit_intercept: bool = True,
        weights: Sequence[int] | None = None,
        at: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the half-planes of rows.

        Parameters
        ----------
        X, y
            The rows, dense or sparse, and their classes, two of them.
        fit_intercept : bool, default=True
            Whether the intercept is a weight.
        weights : pair of int, optional
            The two weights to show, counted from 0, the intercept last. Needed unless there
            are two.
        at : array or (coef, intercept), optional
            All weights; those not shown keep these values. Zero without it.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        **options
            Passed to ``plot``.

        Returns
        -------
        WeightSpaceDisplay
        """
        plane = weight_plane(X, y, fit_intercept=fit_intercept, weights=weights, at=at)
        path = None if at is None else as_weights(at, np.shape(X)[1])[None, list(plane.chosen)]
        return cls(plane, path=path).plot(ax, **options)

    @classmethod
    def from_trace(
        cls,
        trace: Any,
        *,
        weights: Sequence[int] | None = None,
        at: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the path of a recorded run among the half-planes of its rows.

        Parameters
        ----------
        trace : Trace
            Of two classes.
        weights : pair of int, optional
            The two weights to show; needed unless there are two.
        at : array or (coef, intercept), optional
            Values of the weights that are not shown; those of the last step without it.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        **options
            Passed to ``plot``.

        Returns
        -------
        WeightSpaceDisplay
        """
        steps = np.array([step_weights(step) for step in trace])
        fixed = steps[-1] if at is None else at
        plane = weight_plane(
            trace.X, trace.y, fit_intercept=trace.fit_intercept, weights=weights, at=fixed
        )
        title = f"{trace.algorithm}: {trace.outcome.message}"
        return cls(plane, path=steps[:, list(plane.chosen)], title=title).plot(ax, **options)

    @plain_names
    def plot(self, ax: Any = None, *, legend: bool = True, title: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        legend, title : bool, default=True
            Whether to draw them.

        Returns
        -------
        self
        """
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        box = self._box()
        self._draw_region(box)
        self._draw_edges(box)
        self.arrows_ = [] if self.path is None else draw_path(ax, self.path)
        ax.plot(0, 0, marker="+", color=INK, markersize=11, zorder=3)
        frame(ax, box)
        note = f"   ({self.plane.note})" if self.plane.note else ""
        ax.set_xlabel(self.plane.names[0] + note)
        ax.set_ylabel(self.plane.names[1])
        if legend:
            draw_legend(ax)
        if title:
            words = self.title or f"{count(len(self.plane.normals), 'row')}, one half-plane each"
            if self.region_ is None:
                words += "; no weights here put every row on its own side"
            ax.set_title(wrapped(words), fontsize="medium")
        return self

    # -- inside ---------------------------------------------------------------------------

    def _box(self) -> Array:
        points = [np.zeros((1, 2))] if self.path is None else [np.zeros((1, 2)), self.path]
        shown = np.vstack(points)
        reach = float(np.abs(shown).max()) or 1.0
        return box_around(np.vstack([shown, 0.35 * reach * np.array([[-1, -1], [1, 1]])]))

    def _draw_region(self, box: Array) -> None:
        polygon = box_corners(box)
        for normal, offset in zip(self.plane.normals, self.plane.offsets):
            polygon = clip(polygon, normal, float(offset))
        middle = polygon.mean(axis=0) if len(polygon) > 2 else np.zeros(2)
        self.region_ = None
        if len(polygon) > 2 and self.contains(middle):
            self.region_ = draw_polygon(
                self.ax_, polygon, facecolor=(LIGHT, 0.25), edgecolor="none", zorder=0,
                label="every row on its own side",
            )  # fmt: skip

    def _draw_edges(self, box: Array) -> None:
        plane, self.edges_ = self.plane, []
        many = len(plane.normals) > _MANY_ROWS
        style = {"linewidth": 0.6 if many else 1.3, "alpha": 0.5 if many else 0.9, "zorder": 1}
        named: set[int] = set()
        for normal, offset, k in zip(plane.normals, plane.offsets, plane.labels.tolist()):
            ends = line_in_box(normal, float(offset), box)
            if ends is None:
                continue
            text = None if k in named else f"edge of a row of {plane.classes[k]}"
            named.add(k)
            dash = "-" if k else (0, (6, 2))
            self.edges_.append(
                draw_line(self.ax_, ends, color=COLOURS[k], linestyle=dash, label=text, **style)
            )
            if not many:
                _point_inside(self.ax_, ends, normal, box, COLOURS[k])


def _point_inside(ax: Any, ends: Array, normal: Array, box: Array, colour: str) -> None:
    """Short arrows at both ends of an edge, to the side that is allowed."""
    middle, width = box.mean(axis=0), float((box[1] - box[0]).min())
    foot, along = ends.mean(axis=0), ends[1] - ends[0]
    along = along / np.linalg.norm(along)
    rest = (0.42 * width) ** 2 - float((foot - middle) @ (foot - middle))
    if rest <= 0:
        return
    arrow = {"arrowstyle": "->", "color": colour, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
    for side in (-1, 1):
        tail = foot + side * np.sqrt(rest) * along
        tip = tail + 0.05 * width * normal / np.linalg.norm(normal)
        ax.annotate("", xy=tip, xytext=tail, arrowprops=arrow, zorder=1, annotation_clip=True)


def draw_path(ax: Any, path: Array) -> list[Any]:
    """The path of the weights: arrows, or one line when there are many steps."""
    ax.plot(*path[0], marker="o", color=INK, markersize=5, zorder=5, linestyle="", label="start")
    if len(path) < 2:
        return []
    ax.plot(*path[-1], marker="*", color=INK, markersize=12, zorder=6, linestyle="", label="end")
    if len(path) > _MANY_STEPS:
        ax.plot(*path.T, color=INK, linewidth=0.8, alpha=0.7, zorder=4)
        return []
    arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
    return [
        ax.annotate("", xy=tip, xytext=tail, arrowprops=arrow, zorder=4)
        for tail, tip in pairwise(path)
        if not np.array_equal(tail, tip)
    ]
