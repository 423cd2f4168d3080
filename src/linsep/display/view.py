"""How rows of any number of features come to lie in a plane picture.

One feature      a line: the second coordinate is 0
Two features     as they are
More             two classes: the signed distance to the plane, and the direction along the
                 plane in which the rows spread most; distances to the plane stay true.
                 more classes: the two directions in which the class weights differ most
Two of many      on request: a slice in which all other features have their mean
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.words import count
from linsep.display.geometry import residual_direction
from linsep.errors import CapabilityError, DataError, LabelError, SettingError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class View:
    """Points of the plane picture, and the scores as functions of its two coordinates."""

    points: Array
    weights: Array
    """One row for two classes, else one for each class."""
    offsets: Array
    x_label: str
    y_label: str
    n_features: int
    true_distance: bool
    """Whether distances to the boundary are those among all features."""


def is_pipeline(model: Any) -> bool:
    """Whether a model is a pipeline of scikit-learn; Kozinec has steps of another kind."""
    return isinstance(getattr(model, "steps", None), list)


def plane_of_model(model: Any, X: Any = None) -> tuple[Array, Array, NDArray[Any]]:
    """coef, intercept and classes of a fitted linear model of linsep or scikit-learn.

    With rows X the plane of a pipeline is that in their space, if its steps are affine.
    """
    name = type(model).__name__
    if is_pipeline(model):
        if X is not None and hasattr(model.steps[-1][1], "coef_"):
            coef, offset, classes = plane_of_model(model.steps[-1][1])
            A, c = _affine(model, X)
            return coef @ A, offset + coef @ c, classes
        raise CapabilityError(
            f"{name} has no coef_; draw its last step on the rows that it sees: "
            "model[-1] with model[:-1].transform(X)."
        )
    if not (hasattr(model, "coef_") and hasattr(model, "classes_")):
        raise CapabilityError(
            f"{name} has no coef_ and classes_; fit it first, and give a linear classifier. "
            "RegionsDisplay draws any classifier of two features."
        )
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    offset = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).ravel(), len(coef))
    classes = np.asarray(model.classes_)
    if len(coef) != (1 if len(classes) == 2 else len(classes)):
        raise CapabilityError(
            f"{name} has {len(coef)} planes for {len(classes)} classes; a picture needs one "
            "score for each class (one vs rest, softmax or a linear machine)."
        )
    return coef, np.array(offset), classes


def _affine(model: Any, X: Any) -> tuple[Array, Array]:
    """The steps before the last one as rows -> A row + c, tried at some rows."""
    d, steps, columns = X.shape[1], model[:-1], getattr(X, "columns", None)

    def seen(rows: Array) -> Array:
        given: Any = rows if columns is None else type(X)(rows, columns=columns)
        out = steps.transform(given)
        return np.asarray(out.toarray() if hasattr(out, "toarray") else out, dtype=np.float64)

    some = X[:50] if columns is None else X.iloc[:50]
    some = np.asarray(some.toarray() if hasattr(some, "toarray") else some, dtype=np.float64)
    at = some.mean(axis=0)  # near the rows, where rounding is least
    reach = np.abs(some - at).max(axis=0) + 1.0
    middle = seen(at[None])[0]
    A = (seen(at + np.diag(reach)) - middle).T / reach
    c = middle - A @ at
    found, size = seen(some), np.abs(middle).max() + np.abs(A @ np.diag(reach)).max() + 1.0
    if A.shape[1] != d or not np.allclose(some @ A.T + c, found, atol=1e-6 * size):
        raise CapabilityError(
            "the steps of this pipeline bend the space, so its plane is no plane of X; draw its "
            "last step on the rows that it sees: model[-1] with model[:-1].transform(X)."
        )
    return A, c


def feature_names(X: Any, d: int, given: Sequence[str] | None, model: object = None) -> list[str]:
    """Names of the features: as given, of the data frame, of the model, or x1, x2, ..."""
    for names in (given, getattr(X, "columns", None), getattr(model, "feature_names_in_", None)):
        if names is not None:
            if len(names) != d:
                raise DataError(f"there are {len(names)} feature names for {count(d, 'feature')}.")
            return [str(name) for name in names]
    return [f"x{j + 1}" for j in range(d)]


def class_numbers(y: Any, classes: NDArray[Any], n: int) -> NDArray[np.intp]:
    """Class number of each label."""
    y = np.asarray(y).ravel()
    if len(y) != n:
        raise DataError(f"X has {count(n, 'row')} and y {count(len(y), 'label')}.")
    numbers = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    foreign = np.flatnonzero(classes[numbers] != y)
    if foreign.size:
        raise LabelError(
            f"y has the class {y[foreign[0]].item()!r} in row {foreign[0]}; the model knows "
            f"{', '.join(repr(c) for c in classes.tolist())}."
        )
    return np.asarray(numbers, dtype=np.intp)


def make_view(
    X: Any,
    coef: Array,
    offset: Array,
    names: Sequence[str],
    features: Sequence[int | str] | None = None,
) -> View:
    """The plane picture of rows X under the scores X @ coef.T + offset."""
    d = coef.shape[1]
    if X.shape[1] != d:
        raise DataError(f"X has {count(X.shape[1], 'feature')} and the model {d}.")
    if features is not None and d > 1:
        return _slice(X, coef, offset, names, features)
    if d == 1:
        x = _column(X, 0)
        flat = np.column_stack([coef[:, 0], np.zeros(len(coef))])
        return View(np.column_stack([x, 0 * x]), flat, offset, names[0], "", 1, True)
    if d == 2:
        return _slice(X, coef, offset, names, (0, 1))
    return _project_plane(X, coef, offset) if len(coef) == 1 else _project_many(X, coef, offset)


def _column(X: Any, j: int) -> Array:
    column = X[:, [j]]
    return np.asarray(column.toarray() if hasattr(column, "toarray") else column, float).ravel()


def _slice(
    X: Any, coef: Array, offset: Array, names: Sequence[str], features: Sequence[int | str]
) -> View:
    try:
        i, j = (names.index(f) if isinstance(f, str) else range(len(names))[f] for f in features)
    except (ValueError, IndexError, TypeError) as error:
        raise SettingError(
            f"features is {features!r}; give two of the {len(names)} features by number or name."
        ) from error
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    mean[[i, j]] = 0.0
    points = np.column_stack([_column(X, i), _column(X, j)])
    others = " (slice: other features at their mean)" if len(names) > 2 else ""
    return View(
        points,
        coef[:, [i, j]],
        offset + coef @ mean,
        names[i] + others,
        names[j],
        len(names),
        len(names) == 2,
    )


def _project_plane(X: Any, coef: Array, offset: Array) -> View:
    """Signed distance to the plane, and the main direction along it."""
    size = float(np.linalg.norm(coef[0]))
    unit = coef[0] / size if size > 0 else np.eye(len(coef[0]))[0]
    along, share = residual_direction(X, unit)
    shift = offset[0] / size if size > 0 else 0.0
    distance = np.asarray(X @ unit).ravel() + shift
    points = np.column_stack([distance, np.asarray(X @ along).ravel()])
    weights = np.array([[size, 0.0]])
    offsets = np.zeros(1) if size > 0 else offset
    return View(
        points,
        weights,
        offsets,
        "signed distance to the plane, (w·x + b) / |w|",
        f"main direction along the plane ({share:.0%} of the spread there)",
        coef.shape[1],
        True,
    )


def _project_many(X: Any, coef: Array, offset: Array) -> View:
    """The two directions in which the weights of the classes differ most."""
    _, sizes, basis = np.linalg.svd(coef - coef.mean(axis=0), full_matrices=False)
    basis = basis[:2]
    share = float((sizes[:2] ** 2).sum() / (sizes**2).sum()) if sizes.any() else 1.0
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    rest = mean - basis.T @ (basis @ mean)
    points = np.asarray(X @ basis.T)
    exact = share > 1 - 1e-12
    note = "" if exact else f", {share:.0%} of the differences of the weights"
    return View(
        points,
        coef @ basis.T,
        offset + coef @ rest,
        "first direction of the class weights" + note,
        "second direction of the class weights",
        coef.shape[1],
        exact,
    )
