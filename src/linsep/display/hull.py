"""Convex hulls and their nearest points: why a margin cannot be larger."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.display.geometry import (
    alike,
    box_around,
    box_corners,
    box_for,
    clip,
    convex_hull,
    line_in_box,
)
from linsep.display.look import (
    COLOURS,
    INK,
    LIGHT,
    RULE,
    axes,
    dense,
    draw_line,
    draw_points,
    draw_polygon,
    draw_rings,
    frame,
    plain_names,
    wrapped,
)
from linsep.display.look import legend as draw_legend
from linsep.display.reflect import plane_coordinates, reflected, step_weights
from linsep.display.view import View, class_numbers, make_view
from linsep.display.view import feature_names as _feature_names
from linsep.errors import CapabilityError, LabelError, SettingError
from linsep.models.base import LinearClassifier
from linsep.models.kozinec import Kozinec
from linsep.proofs.separable import round_down, round_up
from linsep.separating.verdict import separability

Array = NDArray[np.float64]


class HullDisplay:
    """The hulls of two classes with their nearest points, or the hull of the reflected rows.

    In the space of the data the segment between the nearest points is twice as long as the
    best margin, and the plane of maximum margin halves it. In the augmented space, which is
    a plane for one feature and an offset, the point of the hull nearest the origin is the
    answer; any point of the hull bounds the margin from above by its length, and from below by
    the smallest projection of a row on it.

    Parameters
    ----------
    view : View
        Points in the plane of the picture.
    labels : array of int
        Class number of each point.
    class_names : sequence of str
        Names for the legend.
    hulls : list of array
        Corners of each hull.
    nearest : array of shape (2, 2)
        Ends of the segment: nearest points of two hulls, or the origin and a point of the hull.
    bounds : pair of float, optional
        Augmented space: lower and upper bound of the margin, drawn as arcs.
    move : array of shape (3, 2), optional
        One step: the weights before, the row, and the weights after.
    title : str
        The sentence above the picture.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    points_ : list of scatter
    hulls_ : list of polygon
    segment_ : line
        Between the nearest points.
    line_, margins_ : line or None, list of line
        The plane of maximum margin and the edges of the slab between the hulls.
    arcs_ : list of line
        Augmented space: the lower and the upper bound.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("mse-1")
    >>> display = linsep.HullDisplay.from_data(table.X, table.y)
    >>> display.nearest.round(3).tolist(), round(display.distance / 2, 4)
    ([[5.0, 9.0], [5.8, 8.6]], 0.4472)
    """

    def __init__(
        self,
        view: View,
        labels: NDArray[np.intp],
        class_names: Sequence[str],
        *,
        hulls: list[Array],
        nearest: Array,
        bounds: tuple[float, float] | None = None,
        move: Array | None = None,
        title: str = "",
    ) -> None:
        self.view = view
        self.labels = labels
        self.class_names = list(class_names)
        self.hulls = hulls
        self.nearest = nearest
        self.bounds = bounds
        self.move = move
        self.title = title
        self.eps: float | None = None

    @property
    def distance(self) -> float:
        """Length of the segment between the nearest points."""
        return float(np.linalg.norm(self.nearest[1] - self.nearest[0]))

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        space: str = "difference",
        fit_intercept: bool = True,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Find the nearest points and draw them.

        Parameters
        ----------
        X, y
            The rows, dense or sparse, and their classes, two of them.
        space : {"difference", "augmented"}, default="difference"
            Two hulls in the space of the data, or the hull of the rows y [x, 1]; that needs one
            feature, or two and no intercept.
        fit_intercept : bool, default=True
            Augmented space: whether the rows carry the constant 1.
        feature_names, class_names : sequence of str, optional
            Names to show.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        **options
            Passed to ``plot``.

        Returns
        -------
        HullDisplay
        """
        if space not in ("difference", "augmented"):
            raise SettingError(f'space is {space!r}; give "difference" or "augmented".')
        if space == "augmented":
            model = nearest_of_reflected(X, y, fit_intercept=fit_intercept)
            return cls.from_estimator(model, X, y, class_names=class_names, ax=ax, **options)
        rows, proof = dense(X), separability(dense(X), y)
        found = (proof.hull_rows, np.asarray(proof.hull_weights, dtype=np.float64))
        if not proof.separable:
            found = (proof.rows, np.array([float(m) for m in proof.multipliers]))
        names = _feature_names(X, rows.shape[1], feature_names)
        data = two_hulls(rows, y, found, names, class_names)
        return cls(**data, title=str(proof)).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        model: object,
        X: Any,
        y: Any,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the points of the hulls at which a fit of ``linsep.Kozinec`` ended.

        Parameters
        ----------
        model : Kozinec
            Fitted on X and y.
        X, y
            The rows it was fitted on, and their classes.
        feature_names, class_names : sequence of str, optional
            Names to show.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        **options
            Passed to ``plot``.

        Returns
        -------
        HullDisplay
        """
        none = CapabilityError(
            f"{type(model).__name__} holds no points of two hulls; "
            "linsep.HullDisplay.from_data(X, y) finds them."
        )
        if not isinstance(model, LinearClassifier) or not hasattr(model, "outcome_"):
            raise none
        witness = model.outcome_.witness
        if witness.rows.size == 0 or len(model.classes_) != 2:
            raise none
        if witness.claim == "two hulls":
            names = _feature_names(X, model.n_features_in_, feature_names, model)
            found = (witness.rows, witness.multipliers)
            data = two_hulls(X, y, found, names, class_names)
        else:
            a = combine(reflected(X, y)[0], witness.rows, witness.multipliers)
            data = reflected_hull(X, y, a, class_names, fit_intercept=model.fit_intercept)
        title = f"{type(model).__name__}: {model.certificate_}"
        return cls(**data, title=title).plot(ax, **options)

    @classmethod
    def from_trace(
        cls,
        trace: Any,
        step: int = -1,
        *,
        eps: float | None = None,
        class_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw one step of Kozinec's rule in the augmented space.

        Parameters
        ----------
        trace : Trace
            Of ``Kozinec(space="augmented")``, with one feature, or two and no intercept.
        step : int, default=-1
            Number of the step.
        eps : float, optional
            Shade the band in which all rows may lie farthest back at an epsilon-solution:
            |a| - a.z / |a| <= eps.
        class_names : sequence of str, optional
            Names to show.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        **options
            Passed to ``plot``.

        Returns
        -------
        HullDisplay
        """
        at = range(len(trace))[step]
        now, before = trace[at], trace[max(at - 1, 0)]
        move = None if now.row is None else (step_weights(before), now.row)
        offset = trace.fit_intercept
        data = reflected_hull(
            trace.X, trace.y, step_weights(now), class_names, move, fit_intercept=offset
        )
        title = f"{trace.algorithm}, update {now.update}: {now.why}"
        display = cls(**data, title=title)
        display.eps = eps
        return display.plot(ax, **options)

    @plain_names
    def plot(
        self, ax: Any = None, *, points: bool = True, legend: bool = True, title: bool = True
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        points, legend, title : bool, default=True
            Whether to draw the rows and the plane, the legend and the title.

        Returns
        -------
        self
        """
        self.ax_ = ax = axes(ax, size=(6.4, 2.7) if self.view.n_features == 1 else (6.4, 5.2))
        self.figure_ = ax.figure
        shown = [self.view.points, self.nearest, *([] if self.move is None else [self.move])]
        one_scale = self.bounds is not None or alike(np.vstack(shown))  # arcs are circles
        box = box_around(np.vstack(shown)) if one_scale else box_for(np.vstack(shown))
        flat = self.view.n_features == 1
        if flat:
            box[:, 1] = (-1.0, 1.0)
        self._draw_hulls()
        self.line_: Any = None
        self.margins_: list[Any] = []
        self.band_: Any = None
        self.arcs_: list[Any] = []
        self.points_: list[Any] = []
        if points:
            self._draw_slab(box)
            self.points_ = draw_points(ax, self.view.points, self.labels, self.class_names)
        if self.bounds is not None:
            self._draw_bounds(box)
        self._draw_segment()
        if points:
            frame(ax, box, equal=one_scale and not flat)
            ax.tick_params(axis="y", left=not flat, labelleft=not flat)
            ax.set_xlabel(self.view.x_label)
            ax.set_ylabel(self.view.y_label)
        if legend:
            draw_legend(ax)
        if title:
            ax.set_title(wrapped(self.title), fontsize="medium")
        return self

    # -- inside ---------------------------------------------------------------------------

    def _draw_hulls(self) -> None:
        one = len(self.hulls) == 1
        self.hulls_ = [
            draw_polygon(
                self.ax_, corners, facecolor=(RULE if one else COLOURS[k], 0.22),
                edgecolor=RULE if one else COLOURS[k], linewidth=1.4, zorder=1,
            )
            for k, corners in enumerate(self.hulls)
        ]  # fmt: skip

    def _draw_slab(self, box: Array) -> None:
        w, b = self.view.weights[0], float(self.view.offsets[0])
        ends = line_in_box(w, b, box)
        if ends is None:
            return
        style = {"color": INK, "zorder": 2}
        self.line_ = draw_line(self.ax_, ends, linewidth=2.0, label="maximum margin", **style)
        step = self.distance / 2.0 * w / np.linalg.norm(w)
        for side in (-1, 1):
            dashed = {"linewidth": 1.2, "linestyle": (0, (5, 3))}
            self.margins_.append(draw_line(self.ax_, ends + side * step, **dashed, **style))

    def _draw_segment(self) -> None:
        ends, words = self.nearest, f"nearest points, {round_up(self.distance, 4)} apart"
        if self.bounds is not None:
            words = "a"
        elif self.distance < 1e-12 * (1.0 + float(np.abs(ends).max())):
            words = "a point of both hulls"
        (self.segment_,) = self.ax_.plot(
            *ends.T, color=LIGHT, linewidth=2.6, marker="D", markersize=5, zorder=6,
            markerfacecolor="white", label=words,
        )  # fmt: skip

    def _draw_bounds(self, box: Array) -> None:
        """Circles of the two bounds, the line of the lower one, and the step that was made."""
        low, high = self.bounds or (0.0, 0.0)
        kinds = [(high, "-", f"upper bound {round_up(high, 4)}")]
        if low > 0:
            kinds.append((low, "--", f"lower bound {round_down(low, 4)}"))
            ends = line_in_box(self.nearest[1] / high, -low, box)
            if ends is not None:
                self.line_ = draw_line(
                    self.ax_, ends, color=INK, linewidth=1.0, linestyle=":", zorder=2
                )
        if self.eps is not None and high > 0:
            unit = self.nearest[1] / high
            strip = clip(clip(box_corners(box), unit, self.eps - high), -unit, high)
            style = {"facecolor": (COLOURS[4], 0.3), "edgecolor": "none", "zorder": 0}
            words = f"band of eps = {self.eps:g} before a"
            self.band_ = draw_polygon(self.ax_, strip, label=words, **style)
        middle = float(np.arctan2(*self.nearest[1][::-1]))
        angles = middle + np.radians(np.linspace(-75.0, 75.0, 151))
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        for radius, dash, words in kinds:
            style = {"color": INK, "linewidth": 1.5, "linestyle": dash, "zorder": 3}
            self.arcs_.append(draw_line(self.ax_, radius * circle, label=words, **style))
        self.ax_.plot(0, 0, marker="+", color=INK, markersize=12, zorder=6)
        if self.move is None:
            return
        before, row, after = self.move
        self.ax_.plot(*np.array([before, row]).T, color=RULE, linestyle=":", zorder=3)
        draw_rings(self.ax_, row[None, :], "row of this update")
        arrow = {"arrowstyle": "-|>", "color": LIGHT, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
        self.ax_.annotate("", xy=after, xytext=before, arrowprops=arrow, zorder=6)


# -- The numbers behind a picture of hulls --------------------------------------------------------


def two_hulls(
    X: Any,
    y: Any,
    combination: tuple[NDArray[np.int64], Array],
    names: Sequence[str],
    class_names: Sequence[str] | None,
) -> dict[str, Any]:
    """Hulls of the classes and the points of them that a combination of rows gives."""
    points, classes = dense(X), np.unique(np.asarray(y))
    if len(classes) != 2:
        raise LabelError(f"y has {len(classes)} classes; this picture is about two.")
    labels = class_numbers(y, classes, len(points))
    rows, weights = combination
    own = [labels[rows] == k for k in range(2)]
    ends = [combine(points, rows[part], weights[part]) for part in own]
    meet = bool(np.allclose(ends[0], ends[1], atol=1e-12 * (1 + np.abs(points).max())))
    means = [points[labels == k].mean(axis=0) for k in range(2)]
    w = means[1] - means[0] if meet else ends[1] - ends[0]
    b = -float(w @ (ends[0] + ends[1])) / 2.0
    view = make_view(np.vstack([points, ends]), w[None, :], np.array([b]), names)
    if meet:
        label = view.x_label if len(names) < 3 else "along the difference of the class means"
        view = replace(view, weights=np.zeros((1, 2)), x_label=label)
    shown = replace(view, points=view.points[:-2])
    return {
        "view": shown,
        "labels": labels,
        "class_names": [str(c) for c in (classes if class_names is None else class_names)],
        "hulls": [convex_hull(shown.points[labels == k]) for k in range(2)],
        "nearest": view.points[-2:],
    }


def reflected_hull(
    X: Any,
    y: Any,
    a: Array,
    class_names: Sequence[str] | None,
    move: tuple[Array, int] | None = None,
    *,
    fit_intercept: bool,
) -> dict[str, Any]:
    """Hull of the reflected rows, the weights a in it and their bounds of the margin."""
    Z, labels, classes = reflected(X, y)
    d = Z.shape[1] - 1
    keep = plane_coordinates(d, fit_intercept=fit_intercept)
    Z, a = Z[:, keep], a[keep]
    size = float(np.linalg.norm(a))
    low = float((Z @ a).min()) / size if size > 0 else -np.inf
    axis = ("y x", "y") if d == 1 else ("y x1", "y x2")
    names = classes if class_names is None else class_names
    return {
        "view": View(Z, np.zeros((1, 2)), np.zeros(1), *axis, n_features=2, true_distance=True),
        "labels": labels,
        "class_names": [f"{c}, reflected" if k == 0 else str(c) for k, c in enumerate(names)],
        "hulls": [convex_hull(Z)],
        "nearest": np.array([[0.0, 0.0], a]),
        "bounds": (low, size),
        "move": None if move is None else np.array([move[0][keep], Z[move[1]], a]),
    }


def nearest_of_reflected(X: Any, y: Any, *, fit_intercept: bool) -> Any:
    """A Kozinec fit in the augmented space, whatever its end."""
    model = Kozinec(eps=1e-9, space="augmented", fit_intercept=fit_intercept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(dense(X), y)


def combine(points: Array, rows: NDArray[np.int64], weights: Array) -> Array:
    """The convex combination of some rows."""
    return np.asarray(weights @ points[rows] / weights.sum())
