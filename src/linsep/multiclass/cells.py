"""Cells of lines in a box of the plane, and where a linear machine's classes touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["area", "cells", "empty_classes", "interval", "touching"]

Array = NDArray[np.float64]
_TOUCH = 1e-9  # of differences of scores whose normals have length one


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
            if _room(coef[i] - coef[others], offset[i] - offset[others], (w, b)) > _TOUCH:
                out.append((i, j))
    return out


def _room(normals: Array, heights: Array, plane: tuple[Array, float] | None = None) -> float:
    """Largest t <= 1 with all normals . x + heights >= t, on a plane if given; an LP."""
    from scipy.optimize import linprog

    if not len(normals):
        return 1.0
    sizes = np.linalg.norm(normals, axis=1)
    constant = sizes == 0
    if (heights[constant] <= 0).any():
        return float(min(0.0, heights[constant].min()))
    if constant.all():
        return 1.0
    normals, heights = normals[~constant], heights[~constant]
    scale = np.maximum(sizes[~constant], 1e-300)[:, None]
    normals, heights = normals / scale, heights / scale[:, 0]
    unit = max(1.0, float(np.abs(heights).max()))  # of the offsets, so that t has a size
    d = normals.shape[1]
    equal: dict[str, Any] = {}
    if plane is not None:
        w, b = plane
        length = float(np.linalg.norm(w))
        equal = {"A_eq": np.append(w / length, 0.0)[None, :], "b_eq": [-b / length / unit]}
    found = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.column_stack([-normals, np.ones(len(normals))]),
        b_ub=heights / unit,
        bounds=[(None, None)] * d + [(None, 1.0)],
        method="highs",
        **equal,
    )
    return float(-found.fun) if found.status == 0 else 0.0
