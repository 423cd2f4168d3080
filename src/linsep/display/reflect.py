"""Reflected rows z = y [x, 1], and weights as one vector, offset last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.display.look import dense
from linsep.display.view import class_numbers
from linsep.errors import CapabilityError, DataError, LabelError, SettingError

Array = NDArray[np.float64]


def reflected(X: Any, y: Any) -> tuple[Array, NDArray[np.intp], NDArray[Any]]:
    """All rows y [x, 1], their class numbers, and the two classes."""
    rows, classes = dense(X), np.unique(np.asarray(y))
    if classes.tolist() in ([-1], [1]):  # its side is known
        classes = np.array([-1, 1], classes.dtype)
    if len(classes) != 2:
        raise LabelError(f"y has {len(classes)} classes; this picture is about two.")
    labels = class_numbers(y, classes, len(rows))
    signs = 2.0 * labels - 1.0
    return np.column_stack([rows * signs[:, None], signs]), labels, classes


def plane_coordinates(d: int, *, fit_intercept: bool) -> list[int]:
    """Which two of the d + 1 coordinates make up the augmented space, if it is a plane."""
    if d == 1 and fit_intercept:
        return [0, 1]
    if d == 2 and not fit_intercept:
        return [0, 1]
    size = d + int(fit_intercept)
    raise CapabilityError(
        f"the augmented space of these rows has {size} dimensions; it can be drawn for one "
        "feature with an intercept, or for two features without."
    )


@dataclass(frozen=True)
class WeightPlane:
    """Two weights that vary; row i is right where normals[i] . a + offsets[i] > 0."""

    normals: Array
    offsets: Array
    labels: NDArray[np.intp]
    classes: list[str]
    names: tuple[str, str]
    chosen: tuple[int, int]
    note: str
    """What the other weights are; empty when there are none."""


def weight_plane(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool,
    weights: Sequence[int] | None,
    at: Any = None,
) -> WeightPlane:
    """The plane of two weights: all there are, or a slice in which the others stay fixed."""
    Z, labels, classes = reflected(X, y)
    d = Z.shape[1] - 1
    size = d + int(fit_intercept)
    if weights is None and size != 2:
        raise SettingError(
            f"there are {size} weights; give weights=(i, j), the two to show, counted from 0 "
            f"{'with the intercept last' if fit_intercept else ''}."
        )
    try:
        i, j = (range(size)[k] for k in ((0, 1) if weights is None else weights))
    except (ValueError, IndexError, TypeError) as error:
        raise SettingError(f"weights is {weights!r}; give two of 0 to {size - 1}.") from error
    fixed = np.zeros(d + 1) if at is None else as_weights(at, d)
    names = (["w"] if d == 1 else [f"w{k + 1}" for k in range(d)]) + ["b"]
    others = [k for k in range(size) if k not in (i, j)]
    listed = ", ".join(f"{names[k]} = {fixed[k]:.4g}" for k in others[:4])
    note = f"slice at {listed}{', ...' if len(others) > 4 else ''}" if others else ""
    return WeightPlane(
        Z[:, [i, j]],
        Z[:, others] @ fixed[others],
        labels,
        [str(c) for c in classes],
        (names[i], names[j]),
        (i, j),
        note,
    )


def as_weights(given: Any, d: int) -> Array:
    """(coef, intercept), a plane, or one vector with or without the offset, as d + 1 numbers."""
    if hasattr(given, "coef_"):  # a Linear, or another fitted model
        given = np.append(np.ravel(given.coef_), np.ravel(given.intercept_))
    pair = isinstance(given, tuple) and len(given) == 2 and np.size(given[1]) == 1
    if pair and np.ndim(given[0]) > 0 and np.size(given[0]) == d:
        return np.append(np.ravel(given[0]), np.ravel(given[1])).astype(np.float64)
    flat = np.ravel(np.asarray(given, dtype=np.float64))
    if flat.size == d:
        flat = np.append(flat, 0.0)
    if flat.size != d + 1:
        raise DataError(f"there are {flat.size} weights for {d} features and an intercept.")
    return flat


def step_weights(step: Any) -> Array:
    """[coef, intercept] of a step of two classes."""
    if np.ndim(step.coef) != 1:
        raise CapabilityError("this picture is about two classes; the trace has more.")
    return np.append(np.asarray(step.coef, dtype=np.float64), float(step.intercept))
