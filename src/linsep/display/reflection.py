"""Rows, augmented rows, reflected rows: one rule for all of them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.display.geometry import box_around, box_corners, clip, line_in_box
from linsep.display.look import (
    INK,
    LIGHT,
    RULE,
    dense,
    draw_line,
    draw_plane_in_box,
    draw_points,
    draw_points_in_space,
    draw_polygon,
    frame,
    plain_names,
    pyplot,
)
from linsep.display.look import legend as draw_legend
from linsep.display.reflect import as_weights, reflected
from linsep.errors import CapabilityError
from linsep.separating.verdict import separability

Array = NDArray[np.float64]


class ReflectionDisplay:
    """From "each class on its own side" to "every vector on one side".

    One feature with an intercept: the rows on a line, then with a constant 1 in the plane, then
    those of the negative class turned to the other side of the origin. Two features with an
    intercept: the same in space, with the plane through the origin. Without an intercept, two
    features or three: the rows before and after that. Weights a separate the classes if and only
    if a . z > 0 for all reflected rows z, which is one half-plane or half-space.

    Parameters
    ----------
    panels : list of array of shape (n, 2 or 3)
        What is drawn, one picture after the other; the last one holds the reflected rows.
    labels : array of int
        Class number of each row.
    classes : list of str
    weights : array of shape (2 or 3,) or None
        Weights that separate, if there are any.
    names : list of str
        Words above the panels.

    Attributes
    ----------
    figure_ : matplotlib figure
    axes_ : list of axes
    half_ : polygon or None
        The half-plane of the reflected rows.
    planes_ : list of array of shape (k, 3)
        In space: corners of the plane a . z = 0, one for each panel in space.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("offset-pair")
    >>> display = linsep.ReflectionDisplay.from_data(table.X, table.y)
    >>> [panel.tolist()[0] for panel in display.panels]
    [[1.0, 0.0], [1.0, 1.0], [-1.0, -1.0]]
    """

    def __init__(
        self,
        panels: list[Array],
        labels: NDArray[np.intp],
        classes: list[str],
        *,
        weights: Array | None = None,
        names: list[str],
    ) -> None:
        self.panels = panels
        self.labels = labels
        self.classes = classes
        self.weights = weights
        self.names = names

    @classmethod
    def from_data(
        cls, X: Any, y: Any, *, fit_intercept: bool = True, weights: Any = None, **options: Any
    ) -> Self:
        """Draw rows of one feature or two, or of three without an intercept.

        Parameters
        ----------
        X, y
            The rows, dense or sparse, and their classes, two of them.
        fit_intercept : bool, default=True
            Whether the rows get a constant 1.
        weights : array or (coef, intercept), optional
            The weights to show; those of the largest margin without it.
        **options
            Passed to ``plot``.

        Returns
        -------
        ReflectionDisplay
        """
        rows = dense(X)
        Z, labels, classes = reflected(rows, y)
        chosen = _coordinates(rows.shape[1], fit_intercept=fit_intercept)
        signs = 2.0 * labels - 1.0
        turned = Z[:, chosen]
        panels = [turned * signs[:, None], turned]
        names = ["the rows", "those of the first class reflected: z = y x"]
        if fit_intercept:
            line = np.column_stack([rows, np.zeros(len(rows))])
            panels.insert(0, line[:, :2])
            names = ["the rows", "with a constant 1", "reflected: z = y [x, 1]"]
        d = rows.shape[1]
        given = (
            _best(rows, y, fit_intercept=fit_intercept)
            if weights is None
            else as_weights(weights, d)
        )
        shown = None if given is None else given[chosen]
        if given is None:
            names[-1] += "; no a has a . z > 0 for all"
        display = cls(panels, labels, [str(c) for c in classes], weights=shown, names=names)
        return display.plot(**options)

    @plain_names
    def plot(self, axes: Any = None, *, legend: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        axes : sequence of matplotlib axes, optional
            As many as there are panels; a new figure without it.
        legend : bool, default=True
            Whether to draw one.

        Returns
        -------
        self
        """
        count = len(self.panels)
        if axes is None:
            figure = pyplot().figure(figsize=(4.6 * count, 4.4), layout="constrained")
            kinds = ["3d" if points.shape[1] == 3 else None for points in self.panels]
            axes = [figure.add_subplot(1, count, k + 1, projection=kinds[k]) for k in range(count)]
        self.axes_ = list(axes)
        self.figure_ = self.axes_[0].figure
        self.half_ = None
        self.planes_: list[Array] = []
        for number, (ax, points) in enumerate(zip(self.axes_, self.panels)):
            ax.set_title(self.names[number], fontsize="medium")
            if points.shape[1] == 3:
                self._draw_space(ax, points, turned=number == count - 1)
                continue
            box = box_around(np.vstack([points, np.zeros((1, 2))]))
            if number == count - 1:
                self._draw_half(ax, box)
            if number or count == 2:
                self._draw_line(ax, box)
                ax.plot(0, 0, marker="+", color=INK, markersize=11, zorder=3)
            elif self.panels[-1].shape[1] == 3:
                self._draw_line(ax, box)
            else:
                self._draw_threshold(ax)
            draw_points(ax, points, self.labels, self.classes)
            frame(ax, box)
        if legend:
            draw_legend(self.axes_[-1])
        return self

    # -- inside ---------------------------------------------------------------------------

    def _draw_half(self, ax: Any, box: Array) -> None:
        if self.weights is None:
            return
        polygon = clip(box_corners(box), self.weights, 0.0)
        if len(polygon) > 2:
            self.half_ = draw_polygon(
                ax, polygon, facecolor=(LIGHT, 0.2), edgecolor="none", zorder=0, label="a . z > 0"
            )

    def _draw_line(self, ax: Any, box: Array) -> None:
        if self.weights is None:
            return
        offset = float(self.weights[2]) if len(self.weights) == 3 else 0.0
        ends = line_in_box(self.weights[:2], offset, box)
        if ends is not None:
            draw_line(ax, ends, color=RULE, linewidth=1.3, zorder=1)

    def _draw_space(self, ax: Any, points: Array, *, turned: bool) -> None:
        """Rows among three coordinates, and the plane through the origin, seen from its edge."""
        box = box_around(np.vstack([points, np.zeros((1, 3))]), pad=0.08)
        draw_points_in_space(ax, points, self.labels, self.classes)
        ax.scatter([0], [0], [0], marker="+", c=INK, s=90, linewidths=1.6)
        for k, name in enumerate("xyz"):
            getattr(ax, f"set_{name}lim")(box[:, k])
            getattr(ax, f"{name}axis").get_major_locator().set_params(nbins=4)
        ax.tick_params(labelsize="x-small")
        ax.set_box_aspect(None, zoom=0.86)  # the label of the third axis is cut off otherwise
        head = "y " if turned else ""
        names = ["x1", "x2", "1" if len(self.panels) == 3 else "x3"]
        last = head.strip() if turned and names[2] == "1" else head + names[2]
        ax.set(xlabel=head + names[0], ylabel=head + names[1], zlabel=last)
        if self.weights is None:
            return
        self.planes_.append(draw_plane_in_box(ax, self.weights, 0.0, box))
        span = box[1] - box[0]
        unit = self.weights / np.linalg.norm(self.weights * span)
        tip = 0.34 * unit * span**2  # at a right angle to the plane as it is drawn
        ax.quiver(0, 0, 0, *tip, color=INK, linewidth=1.6, arrow_length_ratio=0.2)
        ax.text(*(1.15 * tip), "a", color=INK)
        ax.view_init(elev=16, azim=_edge_on(self.weights * span, np.radians(16)))

    def _draw_threshold(self, ax: Any) -> None:
        """The point between the classes on the line of the rows."""
        ax.axhline(0.0, color=RULE, linewidth=0.8, zorder=0)
        ax.get_yaxis().set_visible(False)
        ax.spines["left"].set_visible(False)
        if self.weights is not None and self.weights[0] != 0:
            ax.axvline(-self.weights[1] / self.weights[0], color=RULE, linewidth=1.3, zorder=1)


def _coordinates(d: int, *, fit_intercept: bool) -> list[int]:
    """The coordinates of the augmented space, if it is a plane or space."""
    size = d + int(fit_intercept)
    if size not in (2, 3):
        raise CapabilityError(
            f"the augmented space of these rows has {size} dimensions; it can be drawn for one "
            "feature or two with an intercept, or for two or three without."
        )
    return list(range(size))


def _edge_on(normal: Array, elevation: float) -> float:
    """Degrees around from which a plane is nearly seen from its edge, its upper side a little."""
    angles = np.radians(np.arange(-150.0, 30.0, 2.0))
    flat = np.cos(elevation) * np.column_stack([np.cos(angles), np.sin(angles)])
    towards = np.column_stack([flat, np.full(len(angles), np.sin(elevation))])
    seen = np.abs(towards @ normal) / np.linalg.norm(normal)
    return float(np.degrees(angles[np.abs(seen - 0.25).argmin()]))


def _best(rows: Array, y: Any, *, fit_intercept: bool) -> Array | None:
    """Weights of the largest margin, or None where none separate."""
    proof = separability(rows, y, fit_intercept=fit_intercept)
    if not proof.separable:
        return None
    return np.append(np.asarray(proof.coef, dtype=np.float64), float(proof.intercept or 0.0))
