"""The data and the boundary of a linear classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import Status, has_scores, is_pipeline, last_step
from linsep.core.words import percent
from linsep.display.geometry import (
    alike,
    box_corners,
    box_for,
    box_with_line,
    clip,
    line_in_box,
    misses,
)
from linsep.display.look import (
    COLOURS,
    INK,
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
from linsep.display.regions import RegionsDisplay
from linsep.display.view import (
    View,
    affine,
    class_numbers,
    has_street,
    make_view,
    no_planes,
    plane_of_model,
)
from linsep.display.view import feature_names as _feature_names
from linsep.errors import CapabilityError, DataError
from linsep.models.linear import Linear
from linsep.proofs.separable import round_down, round_up

Array = NDArray[np.float64]


class DecisionDisplay:
    """Rows by class, the sides of the boundary, its normal vector and its margin.

    Usually made by ``from_estimator``. Rows of one feature lie on a line. Rows of more than
    two features are shown by their signed distance to the plane, true to scale, against the
    direction along the plane in which they spread most.

    Parameters
    ----------
    view : View
        Points in the plane of the picture, and the scores as functions of its coordinates.
    labels : array of int
        Class number of each row.
    class_names : sequence of str
        Names for the legend.
    wrong : array of bool
        Rows not strictly on their own side.
    nearest : array of bool
        Rows that hold the margin lines.
    margin : float or None
        Distance of the margin lines from the boundary; None for no such lines.
    street : bool
        Whether the margin lines are those of a support vector machine, y f(x) = 1.
    title : str
        The sentence above the picture.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    points_ : list of scatter, one for each class
    regions_ : list of polygon, one for each class
    line_ : line or None
        The boundary between two classes; its end points lie far outside the picture.
    margins_ : list of line
        The two margin lines, or none.
    rings_, nearest_ : scatter
        Rings around wrong rows, and around the rows at the margin.
    normal_ : annotation or None
        The normal vector, with its tail on the line.
    parallel_, shift_ : line or None
        After ``from_plane``: the parallel plane through the origin, and the way from it.
    distances_ : list of line
        After ``from_plane``: from each point to the plane.

    See Also
    --------
    HullDisplay : The convex hulls of the classes.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("mse-1")
    >>> model = linsep.Kozinec(eps=1e-6).fit(table.X, table.y)
    >>> display = linsep.DecisionDisplay.from_estimator(model, table.X, table.y)
    >>> round(display.margin, 4), len(display.margins_)
    (0.4472, 2)
    """

    def __init__(
        self,
        view: View,
        labels: NDArray[np.intp],
        class_names: Sequence[str],
        *,
        wrong: NDArray[np.bool_],
        nearest: NDArray[np.bool_],
        margin: float | None = None,
        street: bool = False,
        title: str = "",
    ) -> None:
        self.view = view
        self.labels = labels
        self.class_names = list(class_names)
        self.wrong = wrong
        self.nearest = nearest
        self.margin = margin
        self.street = street
        self.title = title
        self.origin: Array | None = None
        """The origin and its foot on the plane, where the picture is about them."""

    @classmethod
    def from_estimator(
        cls,
        model: object,
        X: Any,
        y: Any,
        *,
        features: Sequence[int | str] | None = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Any:
        """Draw a fitted linear classifier of linsep or scikit-learn.

        Parameters
        ----------
        model : classifier
            Fitted, with coef_, intercept_ and classes_, or a pipeline of scalers and one. Of
            others, as of machines with kernels or behind a ``Lift``, the areas and the street in
            the plane of X are drawn by ``RegionsDisplay``, which is given back then.
        X : array, data frame or sparse matrix of shape (n, d)
            The rows to draw.
        y : array of shape (n,)
            Their classes.
        features : pair of int or str, optional
            Two features to show as they are. With more features this is a slice, in which
            the others have their mean; without it such rows are projected.
        feature_names : sequence of str, optional
            Names of all features.
        class_names : sequence of str, optional
            Names of the classes, in the order of model.classes_.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        **options
            Passed to ``plot``.

        Returns
        -------
        DecisionDisplay
        """
        fitted = hasattr(model, "classes_")
        if fitted and not hasattr(model, "coef_") and not _is_affine(model, X):
            if not has_scores(model):
                raise no_planes(model)
            return RegionsDisplay.from_estimator(
                model, X, y, features=features, feature_names=feature_names,
                class_names=class_names, ax=ax,
                **{key: options[key] for key in ("legend", "title") if key in options},
            )  # fmt: skip
        coef, offset, classes = plane_of_model(model, X)
        names = _feature_names(X, coef.shape[1], feature_names, model)
        rows = X.tocsr() if hasattr(X, "tocsr") else np.atleast_2d(np.asarray(X, np.float64))
        labels = class_numbers(y, classes, rows.shape[0])
        view = make_view(rows, coef, offset, names, features)
        values, lengths = values_of(rows, labels, coef, offset)
        wrong = values <= 0
        model = last_step(model)
        margin, street = margin_of(model, values, lengths)
        near = nearest_of(values, lengths, margin, street=street)
        display = cls(
            view,
            labels,
            [str(c) for c in (classes if class_names is None else class_names)],
            wrong=wrong,
            nearest=near,
            street=street,
            margin=margin if view.true_distance and len(coef) == 1 else None,
            title=title_of(model, wrong, None if street else margin),
        )
        return display.plot(ax, **options)

    @classmethod
    def from_plane(
        cls,
        plane: Any,
        X: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the geometry of a plane: what its normal vector and its offset do.

        Beside the boundary w·x + b = 0 stands the parallel one through the origin, w·x = 0; the
        offset shifts one into the other, by |b| / |w| along w. Points are drawn with their
        distances |w·x + b| / |w|.

        Parameters
        ----------
        plane : Linear, or fitted linear classifier of two classes
        X : array of shape (n, d), optional
            Points to measure; of up to twelve the distances are written.
        feature_names, class_names : sequence of str, optional
            Names to show.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        **options
            Passed to ``plot``.

        Returns
        -------
        DecisionDisplay

        Examples
        --------
        >>> import linsep
        >>> display = linsep.DecisionDisplay.from_plane(linsep.Linear([2, -1], -2), [[0, 4]])
        >>> print(display.title)
        2 x1 - x2 >= 2: the origin is 0.8944 away, on the side of -1
        """
        coef, offset, classes = plane_of_model(plane)
        if len(coef) != 1:
            raise CapabilityError(
                f"there are {len(coef)} planes; this picture is about one, "
                "DecisionDisplay.from_estimator draws them all."
            )
        w, b = coef[0], float(offset[0])
        if not w.any():
            raise DataError("the normal vector is zero, so there is no plane to draw.")
        rows = np.zeros((0, len(w))) if X is None else dense(X)
        names = _feature_names(X, len(w), feature_names, plane)
        ends = np.array([np.zeros(len(w)), -b / (w @ w) * w])
        view = make_view(np.vstack([rows, ends]), coef, offset, names)
        labels = (rows @ w + b >= 0).astype(np.intp)
        shown = [str(c) for c in (classes if class_names is None else class_names)]
        none = np.zeros(len(rows), dtype=bool)
        seen = replace(view, points=view.points[:-2])
        title = _plane_title(plane, w, b, shown)
        display = cls(seen, labels, shown, wrong=none, nearest=none, title=title)
        display.origin = view.points[-2:]
        return display.plot(ax, **options)

    @plain_names
    def plot(
        self,
        ax: Any = None,
        *,
        normal: bool = True,
        rings: bool = True,
        legend: bool = True,
        title: bool = True,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        normal, rings, legend, title : bool, default=True
            Whether to draw the normal vector, the rings, the legend and the title.

        Returns
        -------
        self
        """
        view = self.view
        flat = view.n_features == 1
        self.ax_ = ax = axes(ax, size=(7.4, 3.1) if flat else (6.4, 5.4))
        self.figure_ = ax.figure
        self.box_ = box = self._box()
        self._draw_sides(box)
        self._draw_lines(box, flat=flat)
        self._draw_shift(box, flat=flat)
        self.points_ = draw_points(ax, view.points, self.labels, self.class_names)
        hold = self.nearest & ~self.wrong
        self.nearest_ = self.rings_ = None
        if rings:
            n, held = (
                len(view.points),
                "on or within the street" if self.street else "at the margin",
            )
            self.nearest_ = draw_rings(ax, view.points[hold], held, bold=False, n=n)
            self.rings_ = draw_rings(ax, view.points[self.wrong], "wrong side", n=n)
        right = normal and len(view.weights) == 1 and (flat or self._one_scale())
        self.normal_ = self._draw_normal(box) if right else None
        self._finish(box, flat=flat)
        if legend:
            if flat:
                place = {"loc": "upper center", "ncols": 3, "bbox_to_anchor": (0.5, -0.22)}
                ax.legend(framealpha=0.9, fontsize="small", columnspacing=1.0, **place)
            else:
                draw_legend(ax)
        if title:
            ax.set_title(wrapped(self.title), fontsize="medium")
        return self

    # -- inside ---------------------------------------------------------------------------

    def _box(self) -> Array:
        """The points, and enough of the boundary to be seen."""
        view, points = self.view, self.view.points
        if self.origin is not None:
            points = np.vstack([points, _surroundings(view, self.origin)])
        elif len(view.weights) == 1 and view.n_features != 2 and view.weights.any():
            w = view.weights[0]
            reach = 1.1 * (self.margin or 0.0) / np.linalg.norm(w)
            foot = points.mean(axis=0)
            foot = foot - (w @ foot + view.offsets[0]) / (w @ w) * w
            points = np.vstack([points, foot - reach * w, foot + reach * w])
        box = box_for(points)
        if len(view.weights) == 1 and view.n_features == 2:
            box = box_with_line(box, view.weights[0], float(view.offsets[0]))
        if view.n_features == 1:
            box[:, 1] = (-1.0, 1.9)
        return box

    def _one_scale(self) -> bool:
        return self.origin is not None or alike(self.view.points)

    def _draw_shift(self, box: Array, *, flat: bool) -> None:
        """The parallel plane through the origin, the way from it, and distances of points."""
        self.parallel_ = self.shift_ = None
        self.distances_: list[Any] = []
        if self.origin is None:
            return
        ax, w, b = self.ax_, self.view.weights[0], float(self.view.offsets[0])
        size, height = float(np.linalg.norm(w)), np.array([0.0, 0.55 if flat else 0.0])
        origin, foot = self.origin
        ax.plot(*origin, marker="+", color=INK, markersize=13, markeredgewidth=2, zorder=6)
        ax.annotate("0", origin, xytext=(5, -13), textcoords="offset points", zorder=6)
        away = float(np.linalg.norm(foot - origin))
        ends = line_in_box(w, -float(w @ origin), box)
        if away > 0 and ends is not None:
            style = {"color": RULE, "linewidth": 1.6, "linestyle": (0, (5, 3)), "zorder": 3}
            self.parallel_ = draw_line(ax, ends, label="w·x = 0, through the origin", **style)
            way = np.array([origin + height, foot + height])
            style = {"color": COLOURS[0], "linewidth": 2.4, "zorder": 5}
            words = f"offset: |b| / |w| = {away:.4g}"
            self.shift_ = draw_line(ax, way, label=words, **style)
        values = self.view.points @ w + b
        feet = self.view.points - np.outer(values / (w @ w), w)
        for point, end, value in zip(self.view.points, feet, values):
            style = {"color": INK, "linewidth": 0.9, "linestyle": ":", "zorder": 2}
            self.distances_.append(draw_line(ax, np.array([point, end]), **style))
            if len(values) <= 12:
                ax.annotate(
                    f"{abs(value) / size:.3g}", (point + end) / 2, xytext=(3, 3),
                    textcoords="offset points", fontsize="small", zorder=6,
                )  # fmt: skip

    def _draw_sides(self, box: Array) -> None:
        weights, offsets = self.view.weights, self.view.offsets
        if len(weights) == 1:
            weights = np.vstack([-weights, weights])
            offsets = np.concatenate([-offsets, offsets])
        edge = {"edgecolor": RULE, "linewidth": 1.4} if len(weights) > 2 else {"edgecolor": "none"}
        self.regions_ = []
        for k in range(len(weights)):
            polygon = box_corners(box)
            for other in range(len(weights)):
                if other != k:
                    difference = weights[k] - weights[other]
                    polygon = clip(polygon, difference, float(offsets[k] - offsets[other]))
            colour = (COLOURS[k % len(COLOURS)], 0.13)
            if len(polygon) == 0:
                polygon = np.full((1, 2), np.nan)
            self.regions_.append(
                draw_polygon(self.ax_, polygon, facecolor=colour, zorder=0, **edge)
            )

    def _draw_lines(self, box: Array, *, flat: bool) -> None:
        self.line_, self.margins_ = None, []
        if len(self.view.weights) > 1:
            return
        w, b = self.view.weights[0], float(self.view.offsets[0])
        ends = line_in_box(w, b, box)
        if ends is None:
            return
        name = "threshold w·x + b = 0" if flat else "w·x + b = 0"
        name += " (not in the picture)" if misses(w, b, box) else ""
        style = {"color": INK, "zorder": 3}
        self.line_ = draw_line(self.ax_, ends, linewidth=2.0, label=name, **style)
        if self.margin is not None:
            step = self.margin * w / np.linalg.norm(w)
            words = "y f(x) = 1, distance" if self.street else "margin"
            for side, text in ((-1, f"{words} {round_down(self.margin, 4)}"), (1, None)):
                dashes = {"linewidth": 1.2, "linestyle": (0, (5, 3)), "label": text}
                self.margins_.append(draw_line(self.ax_, ends + side * step, **dashes, **style))

    def _draw_normal(self, box: Array) -> Any:
        """The unit normal, stretched to be seen, from the middle of the line."""
        w, b = self.view.weights[0], float(self.view.offsets[0])
        ends = line_in_box(w, b, box)
        if ends is None:
            return None
        tail = ends.mean(axis=0)
        if self.view.n_features == 1:
            tail[1] = 0.55
        tip = tail + 0.16 * float((box[1] - box[0]).max()) * w / np.linalg.norm(w)
        arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
        self.ax_.annotate(
            "w", tip, xytext=(4, 4), textcoords="offset points", fontstyle="italic", zorder=6
        )
        return self.ax_.annotate("", xy=tip, xytext=tail, arrowprops=arrow, zorder=6)

    def _finish(self, box: Array, *, flat: bool) -> None:
        ax, view = self.ax_, self.view
        frame(ax, box, equal=not flat and self._one_scale())
        ax.set_xlabel(view.x_label)
        ax.set_ylabel(view.y_label)
        if flat:
            ax.axhline(0, color=RULE, linewidth=1, zorder=1)
            ax.set_yticks([])
            ax.spines["left"].set_visible(False)


# -- What a picture says about the rows of a linear classifier: sides, margins, words -------------


def _surroundings(view: View, origin: Array) -> Array:
    """The origin, its foot, and as much around them as shows two lines and a vector."""
    w = view.weights[0] / np.linalg.norm(view.weights[0])
    along = np.array([-w[1], w[0]]) if view.n_features > 1 else np.zeros(2)
    reach = 1.4 * float(np.linalg.norm(origin[1] - origin[0])) or 1.0
    middle = origin.mean(axis=0)
    ways = [reach * along, -reach * along, reach * w, -reach * w]
    return np.vstack([origin, *(middle + way for way in ways)])


def _plane_title(plane: Any, w: Array, b: float, classes: Sequence[str]) -> str:
    """The plane, and how far the origin is from it."""
    name = str(plane) if isinstance(plane, Linear) and len(w) <= 6 else type(plane).__name__
    away = abs(b) / float(np.linalg.norm(w))
    if not away:
        return f"{name}: the plane goes through the origin"
    return f"{name}: the origin is {away:.4g} away, on the side of {classes[int(b > 0)]}"


def _is_affine(model: object, X: Any) -> bool:
    if not is_pipeline(model) or not hasattr(last_step(model), "coef_"):
        return False
    return affine(model, X) is not None


def values_of(X: Any, labels: NDArray[np.intp], coef: Array, offset: Array) -> tuple[Array, Array]:
    """How far each row is on its own side (score units), and the length to divide it by."""
    scores = np.asarray(X @ coef.T) + offset
    if len(coef) == 1:
        length = np.full(len(labels), np.linalg.norm(coef[0]))
        return np.where(labels == 1, scores[:, 0], -scores[:, 0]), length
    at = np.arange(len(labels))
    own = scores[at, labels].copy()
    scores[at, labels] = -np.inf
    rival = scores.argmax(axis=1)
    return own - scores[at, rival], np.linalg.norm(coef[labels] - coef[rival], axis=1)


def margin_of(model: object, values: Array, lengths: Array) -> tuple[float | None, bool]:
    """Distance of the margin lines, and whether they are the street y f(x) = 1."""
    if not lengths.all():
        return None, False
    kernel = getattr(model, "kernel", "linear")
    if has_street(model) and kernel == "linear":
        return float(1.0 / lengths[0]), True
    return (float((values / lengths).min()), False) if (values > 0).all() else (None, False)


def nearest_of(
    values: Array, lengths: Array, margin: float | None, *, street: bool
) -> NDArray[np.bool_]:
    """Rows on the margin lines; of a street also those inside it."""
    if margin is None:
        return np.zeros(len(values), dtype=bool)
    slack = 1e-3 if street else 1e-6
    return np.asarray(values / lengths <= margin * (1 + slack))


def title_of(model: object, wrong: NDArray[np.bool_], margin: float | None) -> str:
    """Status and margin in one sentence."""
    n, errors = len(wrong), int(wrong.sum())
    if errors:
        facts = f"{errors} of {n} rows not on {'its' if errors == 1 else 'their'} own side"
    else:
        facts = "every row is on its own side"
    name, status = type(model).__name__, getattr(model, "status_", None)
    if margin is not None:
        facts += f", margin {round_down(margin, 4)}"
        best = getattr(getattr(model, "certificate_", None), "margin_high", np.inf)
        if np.isfinite(best) and best >= margin * (1 - 1e-9):
            return f"{name}: {facts}; no plane has more than {round_up(best, 4)}"
    if status is None or status.value.startswith("every row"):
        return f"{name}: {facts}"
    gap = getattr(getattr(model, "certificate_", None), "relative_gap", np.inf)
    if status is Status.CERTIFIED and np.isfinite(gap):
        return f"{name}: {facts}; objective within {percent(gap)} of the best"
    return f"{name}: {status.value}; {facts}"
