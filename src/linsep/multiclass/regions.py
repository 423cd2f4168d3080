"""Who decides where: the regions of the classes, and those of no class or of several."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from linsep.core.words import count
from linsep.errors import DataError, EmptyRegionWarning, SettingError
from linsep.estimators.linear import Linear
from linsep.estimators.params import number
from linsep.multiclass.cells import area, cells, empty_classes, interval, touching
from linsep.multiclass.decisions import (
    NONE,
    SEVERAL,
    by_acceptance,
    by_votes,
    decided_by,
    scheme_of,
)
from linsep.multiclass.one_vs_one import OneVsOne, count_votes
from linsep.multiclass.one_vs_rest import OneVsRest

__all__ = ["SCHEMES", "Regions", "regions"]

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]

SCHEMES = ("unanimous", "votes", "argmax")
_LINES = 64  # up to which the areas are computed exactly
_CLASSES = 60  # up to which contiguous pairs are looked for


@dataclass(frozen=True)
class Regions:
    """Shares of the classes, and of what no class or several classes claim."""

    scheme: str
    """unanimous: one machine accepts, all others reject. votes: most duels won. argmax: the
    largest score."""
    classes: NDArray[Any]
    points: Array
    """The rows, or the points of the grid."""
    decided: Numbers
    """Class number of each point; -1: no class; -2: several."""
    shares: Array
    """Share of each class, of the box or of the rows."""
    none: float
    """Share of no class."""
    several: float
    """Share of several classes."""
    exact: bool
    """Whether the shares are those of areas, up to rounding, and not of points counted."""
    box: Array | None = None
    """Corners (low, high) of the box, or None for rows."""
    polygons: list[tuple[int, Array]] = field(default_factory=list)
    """Convex pieces of the box with their class number, -1 or -2, where they are exact."""
    contiguous: list[tuple[Any, Any]] | None = None
    """argmax of linear scores: pairs of classes with a common boundary, anywhere in space."""
    boundaries: dict[tuple[Any, Any], Array] = field(default_factory=dict)
    """End points of these boundaries within the box."""
    empty: list[Any] = field(default_factory=list)
    """argmax of linear scores: classes that get no region at all."""

    @property
    def undecided(self) -> float:
        """Share of no class or of several."""
        return self.none + self.several

    @property
    def apart(self) -> list[tuple[Any, Any]] | None:
        """Pairs of classes without a common boundary."""
        if self.contiguous is None:
            return None
        names = self.classes.tolist()
        pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        return [pair for pair in pairs if pair not in self.contiguous]

    def __str__(self) -> str:
        what = "of the box" if self.box is not None else f"of {count(len(self.points), 'row')}"
        about = "" if self.exact or self.box is None else "about "
        words = ", ".join(
            f"{name!r} {100 * share:.4g} %"
            for name, share in zip(self.classes.tolist(), self.shares)
        )
        text = f"{self.scheme}: {about}{100 * self.undecided:.4g} % {what} undecided"
        if self.scheme != "argmax":
            text += f" ({100 * self.none:.4g} % no class, {100 * self.several:.4g} % several)"
        text += f"; {words}"
        if self.apart:
            text += f"; no common boundary: {', '.join(f'{a!r} and {b!r}' for a, b in self.apart)}"
        if self.empty:
            text += f"; without a region: {', '.join(map(repr, self.empty))}"
        return text


def regions(
    model: Any,
    X: Any = None,
    *,
    box: ArrayLike | None = None,
    scheme: str | None = None,
    points: int = 201,
) -> Regions:
    """Find what a classifier of several classes leaves undecided.

    Parameters
    ----------
    model : fitted classifier
        OneVsRest, OneVsOne or Kesler; or any with a ``decision_function`` of K columns.
    X : array or sparse matrix of shape (n, d), optional
        Rows to look at.
    box : ((x_low, y_low), (x_high, y_high)), optional
        A box of the plane to look at instead, for two features.
    scheme : {"unanimous", "votes", "argmax"}, optional
        "unanimous": a class whose machine accepts where all others reject. "votes": the class
        that wins most duels; equal votes are several classes. "argmax": the largest score;
        nothing is undecided but exact ties. None: the scheme of the model.
    points : int, default=201
        Points of the grid along each side of the box.

    Returns
    -------
    Regions
        Shares are exact areas for linear machines of two features and few classes, otherwise
        those of the points of the grid, or of the rows.

    Warns
    -----
    EmptyRegionWarning
        A class of a linear machine is nowhere the largest, so it is never predicted.

    Examples
    --------
    >>> import linsep
    >>> X = [[0, 2], [1, 3], [3, 0], [4, 1], [-3, -1], [-2, -3]]
    >>> model = linsep.OneVsRest(linsep.LinearSVM()).fit(X, list("aabbcc"))
    >>> found = linsep.regions(model, box=((-5, -5), (5, 5)), scheme="unanimous")
    >>> found.exact, 0 < found.undecided < 0.3
    (True, True)
    >>> linsep.regions(model, box=((-5, -5), (5, 5)), scheme="argmax").undecided
    0.0
    """
    if not isinstance(model, Linear):
        check_is_fitted(model)
    elif model.classes_ is None:  # weights from anywhere
        model = Linear(model.coef_, model.intercept_, classes=range(max(2, len(model.coef_))))
    scheme = scheme_of(model) if scheme is None else scheme
    if scheme not in SCHEMES:
        raise SettingError(
            f"scheme must be one of {', '.join(map(repr, SCHEMES))}. Got {scheme!r}."
        )
    if (X is None) == (box is None):
        raise SettingError("give either rows X or a box of the plane.")
    if X is not None:
        return _of_rows(model, X, scheme)
    try:
        corners = np.asarray(box, dtype=np.float64)
    except (TypeError, ValueError):
        corners = np.zeros(0)
    good = corners.shape == (2, 2) and bool(np.isfinite(corners).all())
    if not good or not (corners[0] < corners[1]).all():
        raise SettingError(
            "box must be ((x_low, y_low), (x_high, y_high)), finite, with low below high. Got "
            f"{box!r:.80}."
        )
    if not number(2, whole=True).test(points):
        raise SettingError(f"points must be a whole number >= 2. Got {points!r}.")
    if getattr(model, "n_features_in_", 2) != 2:
        raise DataError(
            f"a box needs a model of two features; this one has {model.n_features_in_}: give X."
        )
    return _of_box(model, corners, scheme, points)


def _of_rows(model: Any, X: Any, scheme: str) -> Regions:
    decided = decided_by(model, X, scheme)
    rows = X if hasattr(X, "shape") else np.asarray(X)
    facts = _linear_facts(model, scheme, None)
    return Regions(
        scheme, np.asarray(model.classes_), rows, decided, *_counted(decided, model), False, **facts
    )


def _counted(decided: Numbers, model: Any) -> tuple[Array, float, float]:
    K, n = len(model.classes_), max(1, len(decided))
    shares = np.array([(decided == k).sum() / n for k in range(K)])
    return shares, float((decided == NONE).sum() / n), float((decided == SEVERAL).sum() / n)


def _of_box(model: Any, box: Array, scheme: str, points: int) -> Regions:
    axes = [np.linspace(box[0, j], box[1, j], points) for j in range(2)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    decided = decided_by(model, grid, scheme)
    facts = _linear_facts(model, scheme, box)
    polygons = _polygons(model, box, scheme)
    if polygons is None:
        counts = _counted(decided, model)
    else:
        whole = float(np.prod(box[1] - box[0]))
        total = np.zeros(len(model.classes_) + 2)
        for decision, polygon in polygons:
            total[decision] += area(polygon) / whole  # -1 and -2 are the last two
        counts = total[:-2], float(total[NONE]), float(total[SEVERAL])
    classes, exact = np.asarray(model.classes_), polygons is not None
    return Regions(
        scheme, classes, grid, decided, *counts, exact, box, polygons=polygons or [], **facts
    )  # fmt: skip


def _polygons(model: Any, box: Array, scheme: str) -> list[tuple[int, Array]] | None:
    """Convex pieces of the box by what is decided there; None where that is not linear."""
    lines = _lines(model, scheme)
    if lines is None or len(lines[0]) > _LINES:
        return None
    pieces = cells(box, lines[0], lines[1].tolist())
    K = len(model.classes_)
    sides = np.array([side for _, side in pieces])
    if isinstance(model, OneVsOne):
        flat = ~lines[0].any(axis=1)  # machines without a line have one answer everywhere
        sides[:, flat] = lines[1][flat] >= 0
        votes = count_votes(np.where(sides, 1.0, -1.0), model.pairs_)
        found = by_votes(votes) if scheme == "votes" else by_acceptance(votes == K - 1)
    elif scheme == "unanimous":
        accepts = np.column_stack([~sides[:, 0], sides[:, 0]]) if K == 2 else sides
        found = by_acceptance(accepts)
    else:
        coef, offset = _scores(model) or lines
        middle = np.array([polygon.mean(axis=0) for polygon, _ in pieces])
        found = (middle @ coef.T + offset).argmax(axis=1)
    return [(int(number), polygon) for number, (polygon, _) in zip(found, pieces)]


def _lines(model: Any, scheme: str) -> tuple[Array, Array] | None:
    """The lines at which something changes."""
    if isinstance(model, OneVsOne):
        if scheme == "argmax" or not all(hasattr(m, "coef_") for m in model.estimators_):
            return None
        return model.pair_coef_, model.pair_intercept_
    scores = _scores(model)
    if scores is None:
        return None
    coef, offset = scores
    if scheme == "unanimous":
        return (coef[1:] * 2, offset[1:] * 2) if len(model.classes_) == 2 else (coef, offset)
    i, j = np.triu_indices(len(coef), 1)
    return coef[i] - coef[j], offset[i] - offset[j]


def _scores(model: Any) -> tuple[Array, Array] | None:
    """Weights and offsets of one linear score for each class, if the model has them."""
    if isinstance(model, OneVsOne):
        return None
    if isinstance(model, OneVsRest) and not all(hasattr(m, "coef_") for m in model.estimators_):
        return None
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        return None
    raw = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    coef = np.atleast_2d(np.asarray(raw, dtype=np.float64))
    offset = np.broadcast_to(np.ravel(np.asarray(model.intercept_, dtype=np.float64)), len(coef))
    K = len(model.classes_)
    if K == 2 and len(coef) == 1:
        return np.vstack([-coef, coef]) / 2, np.append(-offset, offset) / 2
    return (coef, np.array(offset)) if len(coef) == K else None


def _linear_facts(model: Any, scheme: str, box: Array | None) -> dict[str, Any]:
    """Contiguous pairs, boundaries and empty regions of a linear machine."""
    scores = _scores(model) if scheme == "argmax" else None
    if scores is None or len(scores[0]) > _CLASSES:
        return {}
    coef, offset = scores
    names = np.asarray(model.classes_).tolist()
    empty = [names[k] for k in empty_classes(coef, offset)]
    if empty:
        warnings.warn(
            f"no point belongs to {', '.join(map(repr, empty))}: the score is nowhere the largest, "
            "so the class is never predicted.",
            EmptyRegionWarning,
            stacklevel=4,
        )
    pairs = touching(coef, offset)
    ends = {(i, j): interval(coef, offset, i, j, box) for i, j in pairs} if box is not None else {}
    return {
        "contiguous": [(names[i], names[j]) for i, j in pairs],
        "boundaries": {(names[i], names[j]): e for (i, j), e in ends.items() if e is not None},
        "empty": empty,
    }
