"""The numbers behind a picture of hulls."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.display.geometry import convex_hull
from linsep.display.look import dense
from linsep.display.reflect import plane_coordinates, reflected
from linsep.display.view import View, class_numbers, make_view
from linsep.errors import LabelError
from linsep.estimators.kozinec import Kozinec

__all__ = ["combine", "nearest_of_reflected", "reflected_hull", "two_hulls"]

Array = NDArray[np.float64]


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
    fit_intercept: bool,
    class_names: Sequence[str] | None,
    move: tuple[Array, int] | None = None,
) -> dict[str, Any]:
    """Hull of the reflected rows, the weights a in it and their bounds of the margin."""
    Z, labels, classes = reflected(X, y)
    d = Z.shape[1] - 1
    keep = plane_coordinates(d, fit_intercept)
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


def nearest_of_reflected(X: Any, y: Any, fit_intercept: bool) -> Any:
    """A Kozinec fit in the augmented space, whatever its end."""
    model = Kozinec(eps=1e-9, space="augmented", fit_intercept=fit_intercept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(dense(X), y)


def combine(points: Array, rows: NDArray[np.int64], weights: Array) -> Array:
    """The convex combination of some rows."""
    return np.asarray(weights @ points[rows] / weights.sum())
