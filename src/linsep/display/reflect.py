"""Reflected rows z = y [x, 1], and weights as one vector, offset last."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.display.look import dense
from linsep.display.view import class_numbers
from linsep.errors import CapabilityError, LabelError

__all__ = ["plane_coordinates", "reflected", "step_weights", "trace_has_offset", "weight_names"]

Array = NDArray[np.float64]


def reflected(X: Any, y: Any) -> tuple[Array, NDArray[np.intp], NDArray[Any]]:
    """All rows y [x, 1], their class numbers, and the two classes."""
    rows, classes = dense(X), np.unique(np.asarray(y))
    if len(classes) != 2:
        raise LabelError(f"y has {len(classes)} classes; this picture is about two.")
    labels = class_numbers(y, classes, len(rows))
    signs = 2.0 * labels - 1.0
    return np.column_stack([rows * signs[:, None], signs]), labels, classes


def plane_coordinates(d: int, fit_intercept: bool) -> list[int]:
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


def weight_names(d: int) -> list[str]:
    """w1, w2, ..., b."""
    return ["w", "b"] if d == 1 else [f"w{j + 1}" for j in range(d)] + ["b"]


def step_weights(step: Any) -> Array:
    """[coef, intercept] of a step of two classes."""
    if np.ndim(step.coef) != 1:
        raise CapabilityError("this picture is about two classes; the trace has more.")
    return np.append(np.asarray(step.coef, dtype=np.float64), float(step.intercept))


def trace_has_offset(trace: Any) -> bool:
    """Whether the offset ever moved; a fit without intercept keeps it at zero."""
    return any(np.any(step.intercept) for step in trace)
