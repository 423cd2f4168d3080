"""Who decides where: the regions of the classes, and those of no class or of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from linsep.core.notes import warn
from linsep.core.protocol import Scored
from linsep.core.words import count
from linsep.errors import CapabilityError, DataError, EmptyRegionWarning, SettingError
from linsep.models.fit import number
from linsep.multiclass.one_vs_one import OneVsOne, count_votes
from linsep.multiclass.one_vs_rest import OneVsRest

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
            f"{name!r} {_percent(share)}" for name, share in zip(self.classes.tolist(), self.shares)
        )
        text = f"{self.scheme}: {about}{_percent(self.undecided)} {what} undecided"
        if self.scheme != "argmax":
            text += f" ({_percent(self.none)} no class, {_percent(self.several)} several)"
        text += f"; {words}"
        if self.apart:
            text += f"; no common boundary: {', '.join(f'{a!r} and {b!r}' for a, b in self.apart)}"
        if self.empty:
            text += f"; without a region: {', '.join(map(repr, self.empty))}"
        return text


def _percent(share: float) -> str:
    return f"{round(100 * share, 9):.4g} %"  # less than that is rounding of the corners


def regions(
    model: Scored,
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
    check_is_fitted(model)
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


def _of_rows(model: Scored, X: Any, scheme: str) -> Regions:
    decided = decided_by(model, X, scheme)
    rows = X if hasattr(X, "shape") else np.asarray(X)
    facts = _linear_facts(model, scheme, None)
    return Regions(
        scheme,
        np.asarray(model.classes_),
        rows,
        decided,
        *_counted(decided, model),
        exact=False,
        **facts,
    )


def _counted(decided: Numbers, model: Scored) -> tuple[Array, float, float]:
    K, n = len(model.classes_), max(1, len(decided))
    shares = np.array([(decided == k).sum() / n for k in range(K)])
    return shares, float((decided == NONE).sum() / n), float((decided == SEVERAL).sum() / n)


def _of_box(model: Scored, box: Array, scheme: str, points: int) -> Regions:
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


def _polygons(model: Scored, box: Array, scheme: str) -> list[tuple[int, Array]] | None:
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


def _lines(model: Scored, scheme: str) -> tuple[Array, Array] | None:
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


def _scores(model: Scored) -> tuple[Array, Array] | None:
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


def _linear_facts(model: Scored, scheme: str, box: Array | None) -> dict[str, Any]:
    """Contiguous pairs, boundaries and empty regions of a linear machine."""
    scores = _scores(model) if scheme == "argmax" else None
    if scores is None or len(scores[0]) > _CLASSES:
        return {}
    coef, offset = scores
    names = np.asarray(model.classes_).tolist()
    empty = [names[k] for k in empty_classes(coef, offset)]
    if empty:
        warn(
            f"no point belongs to {', '.join(map(repr, empty))}: the score is nowhere the largest, "
            "so the class is never predicted.",
            EmptyRegionWarning,
        )
    pairs = touching(coef, offset)
    ends = {(i, j): interval(coef, offset, i, j, box) for i, j in pairs} if box is not None else {}
    return {
        "contiguous": [(names[i], names[j]) for i, j in pairs],
        "boundaries": {(names[i], names[j]): e for (i, j), e in ends.items() if e is not None},
        "empty": empty,
    }


# -- Which class a scheme gives to a row, or that it gives none or several ------------------------


NONE, SEVERAL = -1, -2


def scheme_of(model: object) -> str:
    """How a model decides."""
    if isinstance(model, OneVsOne):
        return "votes"
    return "unanimous" if getattr(model, "decide", "argmax") == "unanimous" else "argmax"


def decided_by(model: Scored, X: Any, scheme: str) -> Numbers:
    """Class number of each row under a scheme; -1 for none, -2 for several."""
    if scheme == "votes":
        if not isinstance(model, OneVsOne):
            raise CapabilityError(f"{type(model).__name__} has no duels to count; take OneVsOne.")
        return by_votes(model.votes(X))
    if scheme == "unanimous":
        if isinstance(model, OneVsOne):
            won = model.votes(X) == len(model.classes_) - 1
            return by_acceptance(won)
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        return by_acceptance(_columns(scores) > 0)
    return np.asarray(_columns(np.asarray(model.decision_function(X), float)).argmax(axis=1))


def _columns(scores: Array) -> Array:
    """One column a class; of two classes equal scores mean the last one."""
    if scores.ndim == 1:
        return np.column_stack([-scores, np.where(scores == 0, 1.0, scores)])
    return scores


def by_acceptance(accepts: NDArray[np.bool_]) -> Numbers:
    """The only class that is accepted."""
    count = accepts.sum(axis=1)
    return np.where(count == 1, accepts.argmax(axis=1), np.where(count == 0, NONE, SEVERAL))


def by_votes(votes: NDArray[np.int64]) -> Numbers:
    """The only class with most votes."""
    tied = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
    return np.where(tied, SEVERAL, votes.argmax(axis=1))


# -- Cells of lines in a box of the plane, and where a linear machine's classes touch -------------


_TOUCH = 1e-9  # of the room of a cone; less is a face


def area(polygon: Array) -> float:
    """Area of a polygon; 0 for less than three corners.

    >>> area(np.array([[0.0, 0], [2, 0], [0, 3]]))
    3.0
    """
    if len(polygon) < 3:
        return 0.0
    x, y = (polygon - polygon[0]).T
    return 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))


def cells(
    box: Array, weights: Array, offsets: Sequence[float]
) -> list[tuple[Array, NDArray[np.bool_]]]:
    """Convex pieces into which lines cut a box, each with the sides it lies on.

    The side of line k is True where weights[k] . x + offsets[k] > 0.

    >>> box = np.array([[-1.0, -1.0], [1.0, 1.0]])
    >>> [(area(p), s.tolist()) for p, s in cells(box, np.array([[1.0, 0.0]]), [0.5])]
    [(3.0, [True]), (1.0, [False])]
    """
    (x0, y0), (x1, y1) = box
    pieces = [(np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]), np.zeros(0, dtype=bool))]
    for w, b in zip(weights, offsets):
        after = []
        for polygon, sides in pieces:
            height = polygon @ w + b
            for side in (True, False):
                part = _half(polygon, height if side else -height, strict=side)
                if area(part) > 0:
                    after.append((part, np.append(sides, side)))
        pieces = after
    return pieces


def _half(polygon: Array, height: Array, *, strict: bool) -> Array:
    """The part of a convex polygon where the height of its corners is not negative; strictly:
    nothing where it is 0 everywhere."""
    if (height >= 0).all():
        return polygon[:0] if strict and not height.any() else polygon
    kept: list[Array] = []
    for i in range(len(polygon)):
        here, before = height[i], height[i - 1]
        if (here >= 0) != (before >= 0):
            kept.append(polygon[i - 1] + before / (before - here) * (polygon[i] - polygon[i - 1]))
        if here >= 0:
            kept.append(polygon[i])
    return np.array(kept).reshape(-1, 2)


def interval(coef: Array, offset: Array, i: int, j: int, box: Array) -> Array | None:
    """End points of the boundary of two classes of a linear machine within a box, or None."""
    w, b = coef[i] - coef[j], float(offset[i] - offset[j])
    size = float(w @ w)
    if not size > 0:
        return None
    start = -b / size * w
    along = np.array([-w[1], w[0]]) / np.sqrt(size)
    others = [k for k in range(len(coef)) if k not in (i, j)]
    normals = np.vstack([np.eye(2), -np.eye(2), *(coef[i] - coef[k] for k in others)])
    heights = np.concatenate([-box[0], box[1], [offset[i] - offset[k] for k in others]])
    low, high = -np.inf, np.inf
    for slope, height in zip(normals @ along, normals @ start + heights):
        if slope > 0:
            low = max(low, -height / slope)
        elif slope < 0:
            high = min(high, -height / slope)
        elif height < 0:
            return None
    return np.array([start + low * along, start + high * along]) if low < high else None


# -- any number of features -------------------------------------------------------------------


def empty_classes(coef: Array, offset: Array) -> list[int]:
    """Classes of a linear machine that no open set of points belongs to."""
    K = len(coef)
    out = []
    for i in range(K):
        others = [k for k in range(K) if k != i]
        if _room(coef[i] - coef[others], offset[i] - offset[others]) <= _TOUCH:
            out.append(i)
    return out


def touching(coef: Array, offset: Array) -> list[tuple[int, int]]:
    """Pairs of classes of a linear machine with a common boundary somewhere in the whole space.

    Somewhere on w_i . x + b_i = w_j . x + b_j all other scores are lower.
    """
    K = len(coef)
    out = []
    for i in range(K):
        for j in range(i + 1, K):
            w, b = coef[i] - coef[j], float(offset[i] - offset[j])
            if not w.any():
                continue
            others = [k for k in range(K) if k not in (i, j)]
            rows = _over(coef, offset, i, j, others)
            if _room(rows[:, :-1], rows[:, -1], (w, b)) > _TOUCH:
                out.append((i, j))
    return out


def _over(coef: Array, offset: Array, i: int, j: int, others: list[int]) -> Array:
    """By how much i and j, equal here, are above the others: the difference that rounds less."""
    full = np.column_stack([coef, offset])
    from_i, from_j = full[i] - full[others], full[j] - full[others]
    nearer = np.linalg.norm(from_i, axis=1) <= np.linalg.norm(from_j, axis=1)
    return np.asarray(np.where(nearer[:, None], from_i, from_j))


def _room(normals: Array, heights: Array, plane: tuple[Array, float] | None = None) -> float:
    """Room in the cone over a region: largest t with all normals . x + heights s >= t and s >= t.

    Points are x / s with s > 0, so far corners and nearly parallel planes weigh as much as near
    ones; all inequalities and the plane, if one is given, have length one, and x and s are at
    most 1 in size. An LP; positive if the region, or its part of the plane, is more than a face.
    """
    from scipy.optimize import linprog

    if not len(normals):
        return 1.0
    rows = np.column_stack([normals, heights])
    equal = np.zeros((0, rows.shape[1])) if plane is None else np.append(*plane)[None, :]
    size = np.maximum(np.abs(rows).max(axis=0), np.abs(equal).max(axis=0, initial=0.0))
    size[size == 0] = 1.0
    rows, equal = rows / size, equal / size  # other units of the features
    lengths = np.linalg.norm(rows, axis=1)
    if (lengths == 0).any():
        return 0.0  # the same scores everywhere
    rows, equal = rows / lengths[:, None], equal / (np.linalg.norm(equal, axis=1)[:, None] + 1e-300)
    d = rows.shape[1] - 1
    above = np.vstack([rows, np.append(np.zeros(d), 1.0)])
    found = linprog(
        np.append(np.zeros(d + 1), -1.0),
        A_ub=np.column_stack([-above, np.ones(len(above))]),
        b_ub=np.zeros(len(above)),
        A_eq=np.column_stack([equal, np.zeros(len(equal))]) if len(equal) else None,
        b_eq=np.zeros(len(equal)) if len(equal) else None,
        bounds=[(-1.0, 1.0)] * (d + 1) + [(None, 1.0)],
        method="highs",
    )
    return float(-found.fun) if found.status == 0 else 0.0
