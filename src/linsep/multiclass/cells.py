"""Cells of lines in a box of the plane, and where a linear machine's classes touch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["area", "cells", "empty_classes", "interval", "touching"]

Array = NDArray[np.float64]
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
