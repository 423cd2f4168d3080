"""Lifted rows with the plane that a model draws among them, in two or three coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.display.areas import draw_areas
from linsep.display.geometry import box_around, box_corners, clip, line_in_box
from linsep.display.look import INK, RULE, class_style, draw_line, draw_points, frame, marker_size
from linsep.errors import require

__all__ = ["draw_feature_plane", "draw_feature_space"]

Array = NDArray[np.float64]


def draw_feature_plane(
    ax: Any, pullback: Any, features: Array, labels: NDArray[np.intp], names: Sequence[str]
) -> None:
    """Two features: the rows, the line, and for one input the curve that the lift makes of it."""
    box = box_around(features)
    if pullback.n_inputs == 1 and pullback.chain.limits() is not None:
        low, high = pullback.limits()
        curve = pullback.chain(np.linspace(low, high, 400)[:, None])
        style = {"color": RULE, "linewidth": 1.0, "zorder": 1, "label": "image of the line"}
        draw_line(ax, curve, **style)
    many = len(pullback.coef) > 1
    draw_areas(ax, lambda rows: _numbers(pullback, rows), box, len(names), edges=many)
    ends = None if many else line_in_box(pullback.coef[0], float(pullback.intercept[0]), box)
    if ends is not None:
        draw_line(ax, ends, color=INK, linewidth=1.8, zorder=3)
    draw_points(ax, features, labels, names)
    frame(ax, box, equal=False)
    texts = pullback.chain.names_out()
    ax.set_xlabel(texts[0])
    ax.set_ylabel(texts[1])
    ax.set_title("lifted rows", fontsize="medium")


def draw_feature_space(
    ax: Any, pullback: Any, features: Array, labels: NDArray[np.intp], names: Sequence[str]
) -> list[Array]:
    """Three features: the rows and the plane; gives the corners of the plane."""
    box = box_around(features, pad=0.1)
    size = marker_size(len(features))
    for k, name in enumerate(names):
        own, style = features[labels == k], class_style(k)
        ax.scatter(
            own[:, 0], own[:, 1], own[:, 2], s=size, c=style["color"], marker=style["marker"],
            edgecolors="white", linewidths=0.6, depthshade=False, label=name,
        )  # fmt: skip
    planes = [_draw_plane(ax, weights, offset, box) for weights, offset in _differences(pullback)]
    ax.set_xlim(box[:, 0])
    ax.set_ylim(box[:, 1])
    ax.set_zlim(box[:, 2])
    texts = pullback.chain.names_out()
    ax.set_xlabel(texts[0])
    ax.set_ylabel(texts[1])
    ax.set_zlabel(texts[2])
    ax.view_init(elev=18, azim=-62)
    ax.set_title("lifted rows and the plane", fontsize="medium")
    return planes


def _draw_plane(ax: Any, weights: Array, offset: float, box: Array) -> Array:
    """The part of the plane within the box: a polygon over the two flattest directions."""
    span = box[1] - box[0]
    axis = int(np.abs(weights * span).argmax())
    if not weights[axis]:
        return np.empty((0, 3))
    others = [k for k in range(3) if k != axis]
    slope, start = -weights[others] / weights[axis], -offset / weights[axis]
    polygon = box_corners(box[:, others], far=0.0)
    polygon = clip(polygon, slope, start - box[0, axis])
    polygon = clip(polygon, -slope, box[1, axis] - start)
    corners = np.empty((len(polygon), 3))
    corners[:, others] = polygon
    corners[:, axis] = polygon @ slope + start
    if len(corners) < 3:
        return corners
    art = require("mpl_toolkits.mplot3d.art3d", extra="plot")
    style = {"facecolors": RULE, "edgecolors": INK, "linewidths": 1.0, "alpha": 0.25}
    ax.add_collection3d(art.Poly3DCollection([corners], **style))
    return corners


def _numbers(pullback: Any, features: Array) -> NDArray[np.intp]:
    scores = features @ pullback.coef.T + pullback.intercept
    if scores.shape[1] == 1:
        return np.asarray(scores[:, 0] >= 0, dtype=np.intp)
    return np.asarray(scores.argmax(axis=1))


def _differences(pullback: Any) -> list[tuple[Array, float]]:
    """Weights and offset of the plane between two classes; for more classes of each pair."""
    coef, offset = pullback.coef, pullback.intercept
    if len(coef) == 1:
        return [(coef[0], float(offset[0]))]
    pairs = [(i, j) for i in range(len(coef)) for j in range(i)]
    return [(coef[i] - coef[j], float(offset[i] - offset[j])) for i, j in pairs]
