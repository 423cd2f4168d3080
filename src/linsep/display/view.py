"""How rows of any number of features come to lie in a plane picture.

One feature      a line: the second coordinate is 0
Two features     as they are
More             two classes: the signed distance to the plane, and the direction along the
                 plane in which the rows spread most; distances to the plane stay true.
                 more classes: the two directions in which the class weights differ most
Two of many      on request: a slice in which all other features have their mean
Without a plane  the slice through the mean of the rows along their two main directions
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import Steps, has_planes, is_pipeline, last_step
from linsep.core.words import count
from linsep.display.geometry import residual_direction
from linsep.errors import CapabilityError, DataError, LabelError, SettingError

Array = NDArray[np.float64]
_MACHINES = ("KernelSVM", "SVC", "AdditiveSVM", "LinearSVM", "LinearSVC")


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


def has_street(model: object) -> bool:
    """Whether f = -1 and f = 1 bound the street of a model, or of the end of a pipeline."""
    return any(kind.__name__ in _MACHINES for kind in type(last_step(model)).__mro__)


def no_planes(model: object) -> CapabilityError:
    """For models that are not fitted, or not linear."""
    return CapabilityError(
        f"{type(model).__name__} has no coef_ and classes_; fit it first, and give a linear "
        "classifier. RegionsDisplay draws any classifier of two features."
    )


def plane_of_model(model: object, X: Any = None) -> tuple[Array, Array, NDArray[Any]]:
    """coef, intercept and classes of a fitted linear model of linsep or scikit-learn.

    With rows X the plane of a pipeline is that in their space, if its steps are affine.
    """
    name = type(model).__name__
    if is_pipeline(model):
        flat = X is not None and hasattr(model.steps[-1][1], "coef_")
        found = affine(model, X) if flat else None
        if found is None:
            raise CapabilityError(
                f"{name} has no plane of X; draw its last step on the rows that it sees: "
                "model[-1] with model[:-1].transform(X)."
            )
        (A, c), (coef, offset, classes) = found, plane_of_model(model.steps[-1][1])
        return coef @ A, offset + coef @ c, classes
    if not has_planes(model):
        raise no_planes(model)
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


def affine(model: Steps, X: Any) -> tuple[Array, Array] | None:
    """The steps before the last one as rows -> A row + c, tried at some rows; None where they bend
    the space."""
    d, steps, columns = X.shape[1], model[:-1], getattr(X, "columns", None)

    def seen(rows: Array) -> Array:
        out = steps.transform(like(X, rows))
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
        return None
    return A, c


def like(X: Any, rows: Array) -> Any:
    """Rows as a data frame with the columns of X, if X is one."""
    columns = getattr(X, "columns", None)
    return rows if columns is None else type(X)(rows, columns=columns)


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


@dataclass(frozen=True)
class Section:
    """A plane section through the space of the rows: base + u1 basis1 + u2 basis2."""

    base: Array
    basis: Array
    inverse: Array
    """Coordinates of a row: (x - base) @ inverse."""
    names: tuple[str, str]
    note: str
    """What is not seen, empty if rows lie in the section as they are."""

    @property
    def whole(self) -> bool:
        """Whether the section is the whole space."""
        return len(self.base) == 2 and not self.note

    def points(self, rows: Array) -> Array:
        """Where rows lie in the picture."""
        return np.asarray((rows - self.base) @ self.inverse)

    def rows(self, points: Array) -> Array:
        """The rows that points of the picture stand for."""
        return np.asarray(self.base + points @ self.basis)


def section_of(X: Array, names: Sequence[str], features: Sequence[int | str] | None) -> Section:
    """The section in which a rule without a plane is drawn."""
    d = X.shape[1]
    if d == 1:
        return Section(np.zeros(1), np.array([[1.0], [0.0]]), np.eye(1, 2), (names[0], ""), "")
    if d == 2 and features is None:
        return Section(np.zeros(2), np.eye(2), np.eye(2), (names[0], names[1]), "")
    mean = X.mean(axis=0)
    if features is not None:
        i, j = _pair(features, names)
        mean[[i, j]] = 0.0
        basis = np.eye(d)[[i, j]]
        note = "slice: the other features have their mean" if d > 2 else ""
        return Section(mean, basis, basis.T, (names[i], names[j]), note)
    spread = X.std(axis=0)
    spread[spread == 0] = 1.0
    _, sizes, ways = np.linalg.svd((X - mean) / spread, full_matrices=False)
    ways = np.vstack([ways, np.zeros((2, d))])[:2]
    ways *= np.sign(ways[[0, 1], np.abs(ways).argmax(axis=1)])[:, None]
    share = np.append(sizes**2 / max(float((sizes**2).sum()), 1e-300), [0.0, 0.0])
    labels = [f"{word} main direction of the rows, {part:.0%} of their spread"
              for word, part in zip(("first", "second"), share)]  # fmt: skip
    note = "slice through the mean along these directions, onto which the rows are projected"
    return Section(mean, ways * spread, (ways / spread).T, (labels[0], labels[1]), note)


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
        return View(np.column_stack([x, 0 * x]), flat, offset, names[0], "", 1, true_distance=True)
    if d == 2:
        return _slice(X, coef, offset, names, (0, 1))
    return _project_plane(X, coef, offset) if len(coef) == 1 else _project_many(X, coef, offset)


def _column(X: Any, j: int) -> Array:
    column = X[:, [j]]
    return np.asarray(column.toarray() if hasattr(column, "toarray") else column, float).ravel()


def _pair(features: Sequence[int | str], names: Sequence[str]) -> tuple[int, int]:
    """Numbers of two features."""
    try:
        i, j = (names.index(f) if isinstance(f, str) else range(len(names))[f] for f in features)
    except (ValueError, IndexError, TypeError) as error:
        raise SettingError(
            f"features is {features!r}; give two of the {len(names)} features by number or name."
        ) from error
    return i, j


def _slice(
    X: Any, coef: Array, offset: Array, names: Sequence[str], features: Sequence[int | str]
) -> View:
    i, j = _pair(features, names)
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
        true_distance=True,
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
