"""Plane geometry of the pictures: boxes, half-planes, hulls, directions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_APART = 12.0  # sides of a box beyond which one scale leaves a stripe
_WELL_INSIDE = 0.97  # share of a box in which a line is seen as one
_BEYOND = 40.0  # how far beyond the picture shading and lines reach, in widths of the picture


def box_around(points: Array, *, pad: float = 0.12) -> Array:
    """Corners (low, high) of a box around the points, a little larger than they need."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = high - low
    whole = float(span.max()) or max(1.0, float(np.abs(points).max()))
    span = np.where(span < 0.2 * whole, 0.2 * whole, span)
    middle = (low + high) / 2
    return np.array([middle - (0.5 + pad) * span, middle + (0.5 + pad) * span])


def alike(points: Array) -> bool:
    """Whether both axes can have one scale: then right angles look right."""
    sides = np.ptp(points, axis=0)
    return not sides.all() or bool(sides.max() <= _APART * sides.min())


def box_for(points: Array) -> Array:
    """As ``box_around``; where the axes cannot have one scale each side is as long as it needs."""
    if alike(points):
        return box_around(points)
    pad = 0.1 * np.ptp(points, axis=0)
    return np.array([points.min(axis=0) - pad, points.max(axis=0) + pad])


def box_corners(box: Array, *, far: float = _BEYOND) -> Array:
    """The corners, counter-clockwise, of the box enlarged by ``far`` of its widths."""
    width = far * (box[1] - box[0]).max()
    (x0, y0), (x1, y1) = box[0] - width, box[1] + width
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])


def clip(polygon: Array, normal: Array, offset: float) -> Array:
    """The part of a convex polygon where normal . x + offset >= 0 (Sutherland, Hodgman).

    >>> square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    >>> clip(square, np.array([1.0, 0.0]), -0.5).tolist()
    [[0.5, 0.0], [1.0, 0.0], [1.0, 1.0], [0.5, 1.0]]
    """
    if len(polygon) == 0:
        return polygon
    values = polygon @ normal + offset
    kept = []
    for i in range(len(polygon)):
        here, before = values[i], values[i - 1]
        if (here >= 0) != (before >= 0):
            share = before / (before - here)
            kept.append(polygon[i - 1] + share * (polygon[i] - polygon[i - 1]))
        if here >= 0:
            kept.append(polygon[i])
    return np.array(kept).reshape(-1, 2)


def line_in_box(normal: Array, offset: float, box: Array) -> Array | None:
    """Two points of the line normal . x + offset = 0, far outside the box; None for no line."""
    size = float(normal @ normal)
    if not (np.isfinite(size) and size > 0):
        return None
    middle = box.mean(axis=0)
    foot = middle - (normal @ middle + offset) / size * normal
    along = np.array([-normal[1], normal[0]]) / np.sqrt(size)
    reach = _BEYOND * float((box[1] - box[0]).max())
    return np.array([foot - reach * along, foot + reach * along])


def misses(normal: Array, offset: float, box: Array) -> bool:
    """Whether the line normal . x + offset = 0 does not cross the box."""
    values = box_corners(box, far=0.0) @ normal + offset
    return bool((values > 0).all() or (values < 0).all())


def box_with_line(box: Array, normal: Array, offset: float) -> Array:
    """The box, enlarged by up to its own width where a line would be just outside of it.

    >>> box = np.array([[0.0, 0.0], [4.0, 4.0]])
    >>> box_with_line(box, np.array([1.0, 0.0]), 1.0).round(6).tolist()  # x1 = -1
    [[-1.2, -0.2], [4.0, 4.0]]
    >>> box_with_line(box, np.array([1.0, 0.0]), 100.0).tolist()
    [[0.0, 0.0], [4.0, 4.0]]
    """
    size, middle = float(normal @ normal), box.mean(axis=0)
    inside = middle + _WELL_INSIDE * (box - middle)  # a line along the edge is not seen
    if not (np.isfinite(size) and size > 0) or not misses(normal, offset, inside):
        return box
    corners, width = box_corners(box, far=0.0), float((box[1] - box[0]).max())
    values = corners @ normal + offset
    k = int(np.abs(values).argmin())
    foot = corners[k] - values[k] / size * normal
    if abs(values[k]) > width * np.sqrt(size):
        return box
    pad = 0.05 * width
    return np.array([np.minimum(box[0], foot - pad), np.maximum(box[1], foot + pad)])


def convex_hull(points: Array) -> Array:
    """Corners of the convex hull, counter-clockwise (Andrew's chain).

    >>> convex_hull(np.array([[0.0, 0], [2, 0], [1, 1], [1, 3]])).tolist()
    [[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]]
    """
    rows = np.unique(points, axis=0)
    if len(rows) < 3:
        return rows
    lower, upper = _chain(rows), _chain(rows[::-1])
    return np.array(lower[:-1] + upper[:-1])


def _chain(rows: Array) -> list[Array]:
    out: list[Array] = []
    for point in rows:
        while len(out) > 1:
            first, second = out[-1] - out[-2], point - out[-2]
            if first[0] * second[1] - first[1] * second[0] > 0:
                break
            out.pop()
        out.append(point)
    return out


def residual_direction(X: Any, unit: Array) -> tuple[Array, float]:
    """Direction of largest spread of the rows orthogonal to a unit vector, and its share.

    Power iteration on the centred rows, which works on sparse rows without filling them.
    """
    n = X.shape[0]
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()

    def spread(v: Array) -> Array:
        v = v - unit * (unit @ v)
        t = np.asarray(X @ v, dtype=np.float64).ravel() - mean @ v
        out = np.asarray(X.T @ t, dtype=np.float64).ravel() - mean * t.sum()
        return np.asarray(out - unit * (unit @ out))

    squares = X.multiply(X) if hasattr(X, "multiply") else np.asarray(X, dtype=np.float64) ** 2
    total = float(squares.sum()) - n * float(mean @ mean)
    along = np.asarray(X @ unit, dtype=np.float64).ravel()
    total -= float(((along - along.mean()) ** 2).sum())
    start = np.zeros(len(unit))
    start[: len(unit)] = np.cos(np.arange(len(unit)) * 1.7) + 0.1
    v = start - unit * (unit @ start)
    for _ in range(200):
        new = spread(v)
        size = float(np.linalg.norm(new))
        if size <= 1e-300:
            break
        if np.linalg.norm(new / size - v) < 1e-12:
            v = new / size
            break
        v = new / size
    v = v / (float(np.linalg.norm(v)) or 1.0)
    v *= np.sign(v[np.abs(v).argmax()]) or 1.0
    share = float(v @ spread(v)) / total if total > 0 else 0.0
    return v, min(1.0, max(0.0, share))
