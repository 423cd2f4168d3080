"""The regions of several classes, and the zones that a scheme leaves undecided."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from linsep.core.protocol import Scored, is_pipeline, last_step
from linsep.display.areas import FINE, HOLDS, draw_areas, draw_street, grid_of
from linsep.display.geometry import box_for
from linsep.display.look import (
    COLOURS,
    INK,
    axes,
    dense,
    draw_line,
    draw_points,
    draw_polygon,
    draw_rings,
    frame,
    plain_names,
    pyplot,
    wrapped,
)
from linsep.display.look import legend as draw_legend
from linsep.display.view import Section, class_numbers, has_street, like, section_of
from linsep.display.view import feature_names as _feature_names
from linsep.errors import DataError, EmptyRegionWarning, require
from linsep.models.linear_svm import LinearSVM
from linsep.multiclass.kesler import Kesler
from linsep.multiclass.one_vs_one import OneVsOne
from linsep.multiclass.one_vs_rest import OneVsRest
from linsep.multiclass.regions import Regions, regions

_HATCH = {-1: ("//", "no class"), -2: ("xx", "several classes")}
_TITLES = {
    "unanimous": "one against all, exactly one accepts",
    "votes": "pairwise votes",
    "argmax": "largest score",
}
_COARSE = 201  # points a side of areas that are counted


class RegionsDisplay:
    """What each class gets of the plane, and what nobody or several claim.

    Usually made by ``from_estimator``, or by ``compare`` for all schemes side by side.

    Parameters
    ----------
    found : Regions
        What ``linsep.regions(model, box=...)`` gave.
    points : array of shape (n, 2)
        Rows to draw.
    labels : array of int
        Class number of each row.
    class_names : sequence of str
        Names for the legend.
    names : pair of str
        Names of the two features.
    title : str
        The words above the picture.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    regions_ : list of polygon or image
        The pieces of the plane, coloured by class.
    undecided_ : list of polygon or contour set
        The hatched pieces.
    boundaries_ : dict of line
        Common boundaries of a linear machine by pair of classes.
    points_ : list of scatter, one for each class
    displays_ : list of RegionsDisplay
        After ``compare``: one for each scheme.

    See Also
    --------
    linsep.regions : The same in numbers.

    Examples
    --------
    >>> import linsep
    >>> X = [[0, 2], [1, 3], [3, 0], [4, 1], [-3, -1], [-2, -3]]
    >>> model = linsep.OneVsRest(decide="unanimous").fit(X, list("aabbcc"))
    >>> display = linsep.RegionsDisplay.from_estimator(model, X, list("aabbcc"))
    >>> len(display.undecided_) > 0, display.found.exact
    (True, True)
    """

    def __init__(
        self,
        found: Regions,
        points: NDArray[np.float64],
        labels: NDArray[np.intp],
        class_names: Sequence[str],
        *,
        names: Sequence[str] = ("x1", "x2"),
        title: str = "",
        scores: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
        holding: NDArray[np.bool_] | None = None,
        wrong: NDArray[np.bool_] | None = None,
    ) -> None:
        self.scores = scores
        self.wrong = wrong
        self.holding = holding
        self.found = found
        self.points = points
        self.labels = labels
        self.class_names = list(class_names)
        self.names = list(names)
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        model: Scored,
        X: Any,
        y: Any,
        *,
        scheme: str | None = None,
        box: Any = None,
        features: Sequence[int | str] | None = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted classifier; of more than two features a plane section.

        Parameters
        ----------
        model : classifier
            OneVsRest, OneVsOne, Kesler, or any with ``decision_function``.
        X : array, data frame or sparse matrix of shape (n, d)
            The rows to draw. With more than two features they are projected onto the slice
            through their mean along the two directions in which they spread most, columns scaled
            to the same spread; the colours are those of the slice.
        y : array of shape (n,)
            Their classes.
        scheme : {"unanimous", "votes", "argmax"}, optional
            As in ``linsep.regions``; None is that of the model.
        box : ((x_low, y_low), (x_high, y_high)), optional
            What to show; None is a box around the rows.
        features : pair of int or str, optional
            Two features to show as they are, in a slice where the others have their mean.
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
        RegionsDisplay
        """
        rows = dense(X)
        names = _feature_names(X, rows.shape[1], feature_names, model)
        section = section_of(rows, names, features)
        points = section.points(rows)
        box = box_for(points) if box is None else np.asarray(box, dtype=np.float64)
        found = _found(model, X, section, box, scheme)
        labels = class_numbers(y, found.classes, len(points))
        shown = [str(c) for c in (found.classes if class_names is None else class_names)]
        scores, holding, wrong = None, None, None
        title = f"{type(last_step(model)).__name__}, {title_of(found)}"
        if not found.exact and found.scheme == "argmax" and hasattr(model, "decision_function"):
            score = _scores_of(model, X)
            own = score(rows)
            holding = _holding(model, own, labels)
            title = _student_title(model, own, labels, holding)
            wrong = None if section.whole else _decided(own) != labels

            def scores(points: NDArray[np.float64]) -> NDArray[np.float64]:
                return _without_steps(model, X, score)(section.rows(points))

        title += f"; {section.note}" if section.note else ""
        display = cls(
            found, points, labels, shown, names=section.names, title=title, scores=scores,
            holding=holding, wrong=wrong,
        )  # fmt: skip
        return display.plot(ax, **options)

    @classmethod
    def compare(cls, X: Any, y: Any, *, estimator: Any = None, box: Any = None) -> Self:
        """Fit one estimator in every scheme and draw the four pictures side by side.

        Parameters
        ----------
        X : array or data frame of shape (n, 2)
        y : array of shape (n,)
        estimator : classifier or None, default=None
            A linear binary classifier; None is LinearSVM().
        box : ((x_low, y_low), (x_high, y_high)), optional

        Returns
        -------
        RegionsDisplay
            Of the first picture; ``displays_`` holds all.
        """
        inner = LinearSVM() if estimator is None else estimator
        rest, pairs, machine = (
            scheme(clone(inner)).fit(X, y) for scheme in (OneVsRest, OneVsOne, Kesler)
        )
        models = [(rest, "unanimous"), (rest, "argmax"), (pairs, "votes"), (machine, "argmax")]
        figure, panels = pyplot().subplots(2, 2, figsize=(11.4, 9.4), layout="constrained")
        displays = [
            cls.from_estimator(model, X, y, scheme=scheme, box=box, ax=ax, legend=k == 0)
            for k, (ax, (model, scheme)) in enumerate(zip(panels.ravel(), models))
        ]
        heads = ("one against all: exactly one accepts", "one against all: largest value",
                 "pairwise: most votes", "one linear machine (Kesler): largest score")  # fmt: skip
        for display, head in zip(displays, heads):
            display.ax_.set_title(head + "\n" + wrapped(_shares(display.found), 60), fontsize=9.5)
        displays[0].displays_ = displays
        displays[0].figure_ = figure
        return displays[0]

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
        box = self.found.box
        if box is None:
            raise DataError("these regions are of rows; a picture needs those of a box.")
        self.displays_: list[Self] = [self]
        self.regions_: list[Any] = []
        self.undecided_: list[Any] = []
        if self.found.exact:
            self._draw_pieces()
        elif self.scores is not None:
            self._draw_smooth(box)
        else:
            self._draw_grid(box)
        self.boundaries_ = {
            pair: draw_line(ax, ends, color=INK, linewidth=1.6, zorder=3)
            for pair, ends in self.found.boundaries.items()
        }
        self.points_ = draw_points(ax, self.points, self.labels, self.class_names)
        self.rings_ = self.wrong_ = None
        n = len(self.points)
        if self.holding is not None:
            self.rings_ = draw_rings(ax, self.points[self.holding], HOLDS, bold=False, n=n)
        if self.wrong is not None:
            self.wrong_ = draw_rings(ax, self.points[self.wrong], "wrong side", n=n)
        frame(ax, box, equal=False)
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        if not self.names[1]:  # one feature
            ax.set_yticks([])
        if legend:
            self._legend()
        if title:
            ax.set_title(wrapped(self.title, 74), fontsize="medium")
        return self

    # -- inside ---------------------------------------------------------------------------

    def _draw_pieces(self) -> None:
        """Convex pieces; the lines between them are those of the machines."""
        edge = self.found.scheme != "argmax"
        for number, polygon in self.found.polygons:
            rule = {"edgecolor": (INK, 0.55), "linewidth": 0.8 if edge else 0.0}
            if number >= 0:
                colour = (COLOURS[number % len(COLOURS)], 0.16)
                piece = draw_polygon(self.ax_, polygon, facecolor=colour, zorder=0, **rule)
                self.regions_.append(piece)
            else:
                style = {"facecolor": "white", "hatch": _HATCH[number][0], "zorder": 1}
                self.undecided_.append(draw_polygon(self.ax_, polygon, **style, **rule))

    def _draw_smooth(self, box: NDArray[np.float64]) -> None:
        """Areas and boundaries as contours of the scores; of a machine the street as well."""
        assert self.scores is not None
        x, y, grid = grid_of(box)
        scores = self.scores(grid)
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])
        for k in range(scores.shape[1]):
            rest = np.delete(scores, k, axis=1).max(axis=1)
            lead = (scores[:, k] - rest).reshape(FINE, FINE)
            if not (lead > 0).any():
                continue
            colour = {"colors": [COLOURS[k % len(COLOURS)]], "alpha": 0.16, "zorder": 0}
            most = max(float(lead.max()), 1e-300)
            self.regions_.append(self.ax_.contourf(x, y, lead, levels=[0.0, 2 * most], **colour))
            if (lead < 0).any():
                style = {"colors": [INK], "linewidths": 1.8, "zorder": 3}
                self.ax_.contour(x, y, lead, levels=[0.0], **style)
        self.street_ = None
        if self.holding is not None:
            self.street_ = draw_street(self.ax_, x, y, scores[:, 1])

    def _draw_grid(self, box: NDArray[np.float64]) -> None:
        """Colours of the points of a grid, hatched where they are not decided."""
        found = self.found
        side = round(len(found.points) ** 0.5)
        grid = found.decided.reshape(side, side)
        image = draw_areas(
            self.ax_, lambda rows: grid.ravel(), box, len(found.classes), points=side
        )
        self.regions_.append(image)
        x, y = (np.linspace(box[0, j], box[1, j], side) for j in range(2))
        for number, (hatch, _) in _HATCH.items():
            own = (grid == number).astype(float)
            if own.any():
                style = {"levels": [0.5, 1.5], "hatches": [hatch], "colors": "none"}
                self.undecided_.append(self.ax_.contourf(x, y, own, **style, zorder=1))

    def _legend(self) -> None:
        patches = require("matplotlib.patches", extra="plot")
        handles, _ = self.ax_.get_legend_handles_labels()
        for number, (hatch, words) in _HATCH.items():
            share = self.found.none if number == -1 else self.found.several
            if share > 0:
                style = {"facecolor": "white", "edgecolor": INK, "hatch": hatch}
                handles.append(patches.Patch(label=f"{words}, {100 * share:.3g} %", **style))
        draw_legend(self.ax_, handles)


def _found(
    model: Scored, X: Any, section: Section, box: NDArray[np.float64], scheme: str | None
) -> Regions:
    """The regions of the box, or of the points of a grid in a section."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyRegionWarning)  # the title says it
        if section.whole:
            return regions(model, box=box, scheme=scheme)
        grid = grid_of(box, _COARSE)[2]
        found = regions(model, like(X, section.rows(grid)), scheme=scheme)
        return replace(found, points=grid, box=box)


def _decided(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    return np.asarray(scores >= 0 if scores.ndim == 1 else scores.argmax(axis=1), dtype=np.intp)


def _scores_of(model: Scored, X: Any) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Scores of points, with the names of the features where the model knows them."""

    def scores(points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(model.decision_function(like(X, points)), dtype=np.float64)

    return scores


def _without_steps(
    model: Scored, X: Any, scores: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Scores with the same winner that do not jump where a pair of classes changes its vote.

    A class that wins against every other has its narrowest victory as score, which is 0 at the
    boundary; contours of votes would be stairs.
    """
    last = last_step(model)
    K = len(getattr(last, "classes_", ()))
    if K < 3 or getattr(last, "decision_function_shape", None) is None:
        return scores
    pairs = copy(last)
    pairs.decision_function_shape = "ovo"
    before = model[:-1].transform if is_pipeline(model) and len(model.steps) > 1 else None

    def smooth(points: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = like(X, points)
        values = pairs.decision_function(rows if before is None else before(rows))
        won = np.full((len(points), K), np.inf)
        for at, (i, j) in enumerate(combinations(range(K), 2)):
            won[:, i] = np.minimum(won[:, i], values[:, at])
            won[:, j] = np.minimum(won[:, j], -values[:, at])
        around = won.max(axis=1) <= 0  # nobody wins against all: there the votes decide
        won[around] = scores(points[around]) if around.any() else won[around]
        return won

    return smooth


def _holding(
    model: Scored, scores: NDArray[np.float64], labels: NDArray[np.intp]
) -> NDArray[np.bool_] | None:
    """Rows at or inside the street of a machine of two classes; None where there is none."""
    if scores.ndim > 1 or not has_street(model):
        return None
    return np.asarray(np.where(labels == 1, scores, -scores) <= 1 + 1e-3)


def _student_title(
    model: Scored, scores: NDArray[np.float64], labels: NDArray[np.intp], holding: Any
) -> str:
    """Which model it is, what it gets wrong, and which rows hold it."""
    last = last_step(model)
    wrong = int((_decided(scores) != labels).sum())
    kernel = getattr(last, "kernel", None)
    name = type(last).__name__ + (f" with kernel {kernel}" if kernel is not None else "")
    words = f"{name}: {wrong} of {len(labels)} rows on the wrong side"
    return words if holding is None else f"{words}; {int(holding.sum())} hold the street f = ±1"


def title_of(found: Regions) -> str:
    """Scheme and shares."""
    return f"{_TITLES[found.scheme]}: {_shares(found)}"


def _shares(found: Regions) -> str:
    about = "" if found.exact else "about "
    if found.scheme != "argmax":
        if not found.undecided:
            return "nothing of this box is undecided"
        return f"{about}{100 * found.undecided:.3g} % of this box is undecided"
    words = "regions are convex" if found.contiguous is not None else "every point is decided"
    if found.apart:
        pairs = ", ".join(f"{a} and {b}" for a, b in found.apart[:4])
        more = ", ..." if len(found.apart) > 4 else ""
        words += f"; no common boundary: {pairs}{more}"
    if found.empty:
        words += f"; never predicted: {', '.join(map(str, found.empty))}"
    return words
