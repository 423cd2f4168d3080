"""Posteriors as shading, and the decisions that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import Predictor
from linsep.display.geometry import box_around
from linsep.display.look import (
    COLOURS,
    INK,
    RULE,
    axes,
    dense,
    draw_points,
    draw_rings,
    plain_names,
    wrapped,
)
from linsep.display.look import legend as draw_legend
from linsep.display.view import class_numbers, feature_names
from linsep.errors import CapabilityError, DataError, SettingError, require

Array = NDArray[np.float64]
_LEVELS = (0.1, 0.25, 0.75, 0.9)


class ProbabilityDisplay:
    """Rows by class over the posterior of a classifier, with its decision boundary.

    Usually made by ``from_estimator``. Two features: two classes are shaded by the posterior
    of the last, more by the colours of the classes. One feature: the posteriors as curves.

    Parameters
    ----------
    posterior : Posterior
        Probabilities and decisions on a grid.
    points : array of shape (n, 1) or (n, 2)
    labels : array of int
        Class number of each row.
    class_names, axis_names : sequence of str
    wrong : array of bool
        Rows that are given another class than their own.
    title : str

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    image_ : image or None
        The shading of two features.
    curves_ : list of line
        The posteriors of one feature.
    levels_ : contour set or None
        Lines of equal probability of two classes.
    boundary_ : list of contour sets, or of lines for one feature
    points_ : list of scatter, one for each class
    rings_ : scatter

    See Also
    --------
    DecisionDisplay : The plane of a linear classifier with its margin.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("example-3.1")
    >>> model = linsep.GaussianClassifier("shared", regularization=0.1).fit(table.X, table.y)
    >>> display = linsep.ProbabilityDisplay.from_estimator(model, table.X, table.y)
    >>> display.posterior.probability.shape[-1], len(display.points_)
    (2, 2)
    """

    def __init__(
        self,
        posterior: Posterior,
        points: Array,
        labels: NDArray[np.intp],
        class_names: Sequence[str],
        axis_names: Sequence[str],
        *,
        wrong: NDArray[np.bool_],
        title: str = "",
    ) -> None:
        self.posterior = posterior
        self.points = points
        self.labels = labels
        self.class_names = list(class_names)
        self.axis_names = list(axis_names)
        self.wrong = wrong
        self.title = title

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
        resolution: int = 240,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted classifier with predict_proba, of linsep or scikit-learn.

        Parameters
        ----------
        model : classifier
        X : array, data frame or sparse matrix of shape (n, d)
            The rows to draw.
        y : array of shape (n,)
        features : pair of int or str, optional
            Two features to show where there are more; the others have their mean.
        feature_names, class_names : sequence of str, optional
        resolution : int, default=240
            Points of the grid along each axis.
        ax : matplotlib axes, optional
        **options
            Passed to ``plot``.

        Returns
        -------
        ProbabilityDisplay
        """
        if not _is_rated(model):
            raise CapabilityError(
                f"{type(model).__name__} has no predict_proba; fit it first, and give a "
                "classifier with probabilities, such as GaussianClassifier."
            )
        names = _names(X, feature_names, model)
        rows = dense(X)
        labels = class_numbers(y, np.asarray(model.classes_), len(rows))
        shown = _shown(features, names)
        box = box_around(rows[:, shown])
        frame = list(X.columns) if hasattr(X, "columns") else None
        posterior = evaluate(model, rows.mean(axis=0), shown, box, int(resolution), frame)
        chosen = np.asarray(model.predict(X)).astype(object)
        decided = np.isin(chosen, np.asarray(model.classes_).astype(object))
        wrong = decided & (chosen != np.asarray(y).ravel())
        slice_words = " (slice: other features at their mean)" if len(names) > len(shown) else ""
        display = cls(
            posterior,
            rows[:, shown],
            labels,
            [str(c) for c in (model.classes_ if class_names is None else class_names)],
            [names[shown[0]] + slice_words, *(names[j] for j in shown[1:])],
            wrong=np.asarray(wrong, dtype=bool),
            title=_title(model, int(wrong.sum()), int((~decided).sum()), len(rows)),
        )
        return display.plot(ax, **options)

    @plain_names
    def plot(
        self, ax: Any = None, *, rings: bool = True, legend: bool = True, title: bool = True
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        rings, legend, title : bool, default=True
            Whether to ring wrong rows, and to draw the legend and the title.

        Returns
        -------
        self
        """
        flat = self.points.shape[1] == 1
        self.ax_ = ax = axes(ax, size=(7.4, 4.2) if flat else (7.2, 5.4))
        self.figure_ = ax.figure
        self.image_, self.levels_ = None, None
        self.curves_: list[Any] = []
        self.boundary_: list[Any] = []
        self._handles: list[Any] = []  # of the legend, for what has no label of its own
        points = self._draw_curves() if flat else self._draw_plane()
        self.points_ = draw_points(ax, points, self.labels, self.class_names)
        self.rings_ = None
        if rings:
            words = "wrong decision"
            self.rings_ = draw_rings(ax, points[self.wrong], words, n=len(points))
        ax.set_xlabel(self.axis_names[0])
        ax.spines[["top", "right"]].set_visible(False)
        if legend:
            handles = [*ax.get_legend_handles_labels()[0], *self._handles]
            draw_legend(ax, handles)
        if title:
            ax.set_title(wrapped(self.title), fontsize="medium")
        return self

    # -- two features -----------------------------------------------------------------------

    def _draw_plane(self) -> Array:
        ax, grid = self.ax_, self.posterior
        (x0, x1), (y0, y1) = grid.x[[0, -1]], grid.y[[0, -1]]
        picture = {"extent": (x0, x1, y0, y1), "origin": "lower", "aspect": "auto", "zorder": 0}
        if len(self.class_names) == 2:
            colours = require("matplotlib.colors", extra="plot")
            pair = [COLOURS[0], "#ffffff", COLOURS[1]]
            blend = colours.LinearSegmentedColormap.from_list("posterior", pair)
            shade = grid.probability[..., 1]
            self.image_ = ax.imshow(shade, cmap=blend, vmin=0, vmax=1, alpha=0.5, **picture)
            bar = self.figure_.colorbar(self.image_, ax=ax, fraction=0.045, pad=0.02)
            bar.set_label(f"P({self.class_names[1]} | x)")
            self.levels_ = ax.contour(
                grid.x, grid.y, shade, levels=_LEVELS, colors=RULE, linewidths=0.8, zorder=2
            )
            ax.clabel(self.levels_, fmt="%g", fontsize="x-small")
        else:
            self.image_ = ax.imshow(_mixed(grid.probability), alpha=0.5, **picture)
        self._draw_boundary()
        ax.set_xlim(x0, x1)
        ax.set_ylim(y0, y1)
        ax.set_ylabel(self.axis_names[1])
        return self.points

    def _draw_boundary(self) -> None:
        """A line where two decisions are equally good; hatching where none is taken."""
        ax, grid = self.ax_, self.posterior
        patches = require("matplotlib.patches", extra="plot")
        lines = require("matplotlib.lines", extra="plot")
        for value in _advantages(grid.value):
            if value.min() < 0 < value.max():
                style = {"levels": [0.0], "colors": INK, "linewidths": 1.8, "zorder": 3}
                self.boundary_.append(ax.contour(grid.x, grid.y, value, **style))
        if self.boundary_:
            line = {"color": INK, "linewidth": 1.8, "label": "decision boundary"}
            self._handles.append(lines.Line2D([], [], **line))
        rejected = grid.decision >= len(self.class_names)
        if rejected.any():
            area = ax.contourf(
                grid.x, grid.y, rejected.astype(float), levels=[0.5, 1.5], colors="none",
                hatches=["//"], zorder=1,
            )  # fmt: skip
            area.set(edgecolor=RULE, linewidth=0.0)
            hatch = {"facecolor": "none", "edgecolor": RULE, "hatch": "////"}
            self._handles.append(patches.Patch(label="no decision", **hatch))

    # -- one feature ------------------------------------------------------------------------

    def _draw_curves(self) -> Array:
        ax, grid = self.ax_, self.posterior
        for k, name in enumerate(self.class_names):
            style = {"color": COLOURS[k % len(COLOURS)], "linewidth": 2.0, "zorder": 3}
            curve = ax.plot(grid.x, grid.probability[:, k], label=f"P({name} | x)", **style)
            self.curves_ += curve
        names = [*self.class_names, *["no decision"] * 8]
        for k in np.unique(grid.decision):
            here = grid.decision == k
            colour = COLOURS[k % len(COLOURS)] if k < len(self.class_names) else "#bbbbbb"
            label = None if k < len(self.class_names) else names[k]
            ax.fill_between(
                grid.x, -0.2, 1.1, where=here, color=colour, alpha=0.12, linewidth=0, label=label
            )
        changes = np.flatnonzero(np.diff(grid.decision))
        for at in (grid.x[changes] + grid.x[changes + 1]) / 2:
            first = "decision boundary" if not self.boundary_ else None
            self.boundary_.append(ax.axvline(at, color=INK, linewidth=1.6, label=first, zorder=2))
        ax.axhline(0.5, color=RULE, linewidth=0.8, linestyle=(0, (5, 3)), zorder=1)
        ax.set_xlim(grid.x[0], grid.x[-1])
        ax.set_ylim(-0.2, 1.1)
        ax.set_ylabel("posterior")
        step = 0.1 / max(1, len(self.class_names) - 1)
        return np.column_stack([self.points[:, 0], -0.05 - step * self.labels])


def _mixed(probability: Array) -> Array:
    """Colours of the classes mixed by their posteriors, white where these are equal."""
    colours = require("matplotlib.colors", extra="plot")
    K = probability.shape[-1]
    base = np.array([colours.to_rgb(COLOURS[k % len(COLOURS)]) for k in range(K)])
    sure = (probability.max(axis=-1, keepdims=True) - 1 / K) / (1 - 1 / K)
    return np.asarray(sure * (probability @ base) + (1 - sure))


def _advantages(value: Array) -> list[Array]:
    """For every decision how much better it is than the best other one."""
    D = value.shape[-1]
    if D == 2:
        return [value[..., 1] - value[..., 0]]
    best = [np.delete(value, d, axis=-1).max(axis=-1) for d in range(D)]
    return [value[..., d] - best[d] for d in range(D)]


def _names(X: Any, given: Sequence[str] | None, model: object) -> list[str]:
    shape = np.shape(X)
    if len(shape) != 2:
        raise DataError(f"X has {len(shape)} axes where rows and columns are needed.")
    return feature_names(X, shape[1], given, model)


def _shown(features: Sequence[int | str] | None, names: list[str]) -> list[int]:
    if features is None:
        if len(names) > 2:
            raise SettingError(
                f"there are {len(names)} features; say with features=(i, j) which two to show."
            )
        return list(range(len(names)))
    try:
        chosen = [names.index(f) if isinstance(f, str) else range(len(names))[f] for f in features]
    except (ValueError, IndexError, TypeError) as error:
        raise SettingError(
            f"features is {features!r}; give one or two of {len(names)} by number or name."
        ) from error
    if len(chosen) not in (1, 2) or len(set(chosen)) != len(chosen):
        raise SettingError(f"features is {features!r}; give one feature or two different ones.")
    return chosen


def _title(model: object, wrong: int, open_: int, n: int) -> str:
    facts = f"{wrong} of {n} rows decided wrongly" if wrong else "no row is decided wrongly"
    rest = f", {open_} not at all" if open_ else ""
    structure = getattr(model, "covariance", None)
    kind = f" ({structure})" if isinstance(structure, str) else ""
    return f"{type(model).__name__}{kind}: {facts}{rest}"


# -- Probabilities, decisions and their advantages on a grid of one or two features ---------------


class Posterior(NamedTuple):
    """Values on the grid x (times y); the last axis counts classes or decisions."""

    x: Array
    y: Array
    probability: Array
    decision: NDArray[np.intp]
    """Number of the decision; from the number of classes on it is a reject option."""
    value: Array
    """A number for each decision; the largest decides."""


class Rated(Predictor, Protocol):
    """A fitted classifier with probabilities."""

    def predict_proba(self, X: Any, /) -> NDArray[Any]: ...


def _is_rated(model: object) -> TypeGuard[Rated]:
    return hasattr(model, "predict_proba") and hasattr(model, "classes_")


def evaluate(
    model: Rated,
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


def _values(model: Predictor, rows: Any, probability: Array) -> Array:
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
