"""What all pictures share: colours, markers, axes, points.

Classes differ by marker first and by colour second (Okabe and Ito's colours, which readers
with any kind of colour vision can tell apart).
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from linsep.display.geometry import box_corners, clip
from linsep.errors import CapabilityError, printable, require

P = ParamSpec("P")
T = TypeVar("T")

COLOURS = (
    "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#5D3A9B",
    "#8C510A", "#1A1A1A", "#B2182B", "#A6D854",
)  # fmt: skip
MARKERS = ("s", "o", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h")
INK = "#222222"
RULE = "#6b6b6b"
LIGHT = "#009E73"  # what is allowed: solution regions, common points

_DENSE_LIMIT = 50_000_000
_LONG_LEGEND = 8  # lines of a legend that covers too much of a picture
_LETTER, _LINE = 0.075, 0.17  # inches of a letter's width and of a line's height in a legend
_PLACES = (
    "upper right", "upper left", "lower left", "lower right", "center right", "center left",
    "lower center", "upper center",
)  # fmt: skip
_RINGS = 60  # rings in a crowd that cover it
_CROWD = 800  # points that cover each other
_THIN = "PX*"  # markers of which little is left within a white edge
_FAT = 40.0  # area of a marker that a white edge leaves
_SMALL = 150  # points whose markers are small


def _faint(n: int) -> float:
    """How opaque points of a crowd are, so that the middle of a cloud is seen to be dense."""
    return float(np.clip(2000.0 / n, 0.15, 0.9))


def pyplot() -> Any:
    """matplotlib.pyplot, or the line to type when it is missing."""
    return require("matplotlib.pyplot", extra="plot")


def axes(ax: Any, *, size: tuple[float, float] = (6.4, 5.2)) -> Any:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=size, layout="constrained")[1]


def plain_names(plot: Callable[P, T]) -> Callable[P, T]:
    """A picture in which names stand as they are: a dollar sign in one begins no formula.

    Nor do they hold what no picture file may: control characters are shown. The labels of ticks are
    left alone, for powers of ten are formulas; a name among them goes through ``at_tick``.
    """

    @wraps(plot)
    def drawn(*args: P.args, **how: P.kwargs) -> T:
        out = plot(*args, **how)
        figure = getattr(args[0], "figure_", None)
        for ax in [] if figure is None else figure.axes:
            _without_formulas(ax)
        for text in [] if figure is None else [*figure.texts, *_headings(figure)]:
            _as_it_is(text)
        return out

    return drawn


def _without_formulas(ax: Any) -> None:
    from matplotlib.text import Text

    ticks = {id(text) for axis in ax._axis_map.values() for text in axis.findobj(Text)}
    ticks -= {id(axis.label) for axis in ax._axis_map.values()}
    for text in ax.findobj(Text):
        if id(text) not in ticks:
            _as_it_is(text)


def at_tick(name: Any) -> str:
    """A name at a tick, where numbers may be formulas: it stands as it is."""
    return printable(str(name)).replace("$", r"\$")


def _as_it_is(text: Any) -> None:
    text.set_parse_math(False)
    text.set_text(printable(text.get_text()))


def _headings(figure: Any) -> list[Any]:
    found = [getattr(figure, name, None) for name in ("_suptitle", "_supxlabel", "_supylabel")]
    return [text for text in found if text is not None]


def class_style(k: int) -> dict[str, str]:
    """Colour and marker of class number k; of the first 144 no two have both."""
    again = k // len(COLOURS)
    return {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[(k + again) % len(MARKERS)]}


def marker_size(n: int) -> float:
    """Area of a marker that leaves n rows apart."""
    return 56.0 if n <= 60 else max(2.0, 3000.0 / n + min(6.0, 9000.0 / n))


def draw_points(
    ax: Any, points: NDArray[np.float64], labels: NDArray[np.intp], names: Sequence[str]
) -> list[Any]:
    """One scatter for each class, with its name in the legend."""
    size, n = marker_size(len(points)), len(points)
    small = (
        n > _SMALL
    )  # a white edge would be all of a thin marker, and a legend of dots unreadable
    many: dict[str, float] = {"linewidths": 0.0 if small else 0.8 if size > _FAT else 0.25}
    if n > _CROWD:
        many["alpha"] = _faint(n)
    out = []
    for k, name in enumerate(names):
        own = points[labels == k]
        style = class_style(k)
        area = size * (1.8 if style["marker"] in _THIN else 1.0)
        out.append(
            ax.scatter(
                own[:, 0], own[:, 1], s=area, c=style["color"], marker=style["marker"],
                edgecolors="white", zorder=4, label=None if small else name, **many,
            )
        )  # fmt: skip
        if small:
            ax.scatter([], [], s=30.0, c=style["color"], marker=style["marker"], label=name)
    return out


def draw_points_in_space(
    ax: Any, points: NDArray[np.float64], labels: NDArray[np.intp], names: Sequence[str]
) -> None:
    """The same among three coordinates."""
    size = marker_size(len(points))
    for k, name in enumerate(names):
        own, style = points[labels == k], class_style(k)
        ax.scatter(
            own[:, 0], own[:, 1], own[:, 2], s=size, c=style["color"], marker=style["marker"],
            edgecolors="white", linewidths=0.6, depthshade=False, label=name,
        )  # fmt: skip


def draw_rings(
    ax: Any, points: NDArray[np.float64], label: str, *, bold: bool = True, n: int = 0
) -> Any:
    """Rings around some of n points; bold for wrong rows, thin and dashed for supporting ones.

    Of a crowd rings would be all that is seen: then they are dots.
    """
    if len(points) > _CROWD or (n > _CROWD and len(points) > _RINGS):
        ink = {"c": INK if bold else RULE, "marker": "."}
        ax.scatter([], [], s=90.0, label=f"{label} (dark dots)", **ink)
        return ax.scatter(
            points[:, 0], points[:, 1], s=3 * marker_size(n), linewidths=0.0,
            alpha=_faint(len(points)), zorder=5, **ink,
        )  # fmt: skip
    size, width = 3.2 * marker_size(n) + 12, 2.0 if n <= 200 else 1.4
    return ax.scatter(
        points[:, 0], points[:, 1], s=size, facecolors="none", edgecolors=INK,
        linewidths=width if bold else 1.1, linestyles="-" if bold else (0, (2, 1.5)),
        zorder=5, label=label if len(points) else None,
    )  # fmt: skip


def draw_line(ax: Any, ends: NDArray[np.float64], **style: Any) -> Any:
    """A line that takes no part in the choice of the limits, for it may reach far outside."""
    lines = require("matplotlib.lines", extra="plot")
    return ax.add_artist(lines.Line2D(ends[:, 0], ends[:, 1], **style))


def draw_polygon(ax: Any, corners: NDArray[np.float64], **style: Any) -> Any:
    """A filled polygon that takes no part in the choice of the limits."""
    patches = require("matplotlib.patches", extra="plot")
    return ax.add_artist(patches.Polygon(corners, closed=True, **style))


def draw_plane_in_box(
    ax: Any, weights: NDArray[np.float64], offset: float, box: NDArray[np.float64]
) -> NDArray[np.float64]:
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


def legend(ax: Any, handles: list[Any] | None = None, fontsize: str = "small") -> Any:
    """The legend, in the emptiest corner; beside the picture where it is long.

    matplotlib looks for a place too, each time a figure is drawn, and warns where many rows make
    that slow.
    """
    shown = ax.get_legend_handles_labels()[0] if handles is None else handles
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    if len(shown) <= _LONG_LEGEND:
        place = {"loc": _emptiest(ax, [handle.get_label() for handle in shown])}
    return ax.legend(handles=shown, framealpha=0.9, fontsize=fontsize, **place)


def _emptiest(ax: Any, labels: list[str]) -> str:
    """The corner or side in which a legend of these lines covers the fewest points and lines."""
    box = ax.get_window_extent()
    letters = max((len(label) for label in labels), default=0)
    width = min(1.0, (_LETTER * letters + 3 * _LINE) * ax.figure.dpi / box.width)
    height = min(1.0, _LINE * (len(labels) + 1) * ax.figure.dpi / box.height)
    drawn = _drawn(ax)
    at = {"upper": 1.0, "lower": 0.0, "center": 0.5, "right": 1.0, "left": 0.0}

    def covered(place: str) -> int:
        up, along = (at[word] for word in place.split())
        low = np.array([along * (1 - width), up * (1 - height)])
        high = low + np.array([width, height])
        return int(((drawn >= low) & (drawn <= high)).all(axis=1).sum())

    return min(_PLACES, key=covered)


def _drawn(ax: Any) -> NDArray[np.float64]:
    """Places of points and lines in the axes, from 0 to 1 in both directions."""
    if ax.name == "3d":  # where they are is known when they are drawn
        return np.zeros((0, 2))
    clouds = [
        cloud.get_offset_transform().transform(np.ma.filled(cloud.get_offsets(), np.nan))
        for cloud in ax.collections
        if len(cloud.get_offsets()) and cloud.get_offset_transform() is ax.transData
    ]
    for line in ax.lines:
        path = line.get_transform().transform(np.column_stack(line.get_data(orig=False)))
        if 1 < len(path) < 200 and line.get_linestyle() != "None":  # along its way too
            ends = np.arange(len(path))
            along = np.linspace(0, ends[-1], 24 * ends[-1] + 1)
            path = np.column_stack([np.interp(along, ends, path[:, j]) for j in (0, 1)])
        clouds.append(path)
    if not clouds:
        return np.zeros((0, 2))
    return np.asarray(ax.transAxes.inverted().transform(np.concatenate(clouds)))


def frame(ax: Any, box: NDArray[np.float64], *, equal: bool = True) -> None:
    """Show at least the box, with one scale for both axes if asked for."""
    ax.update_datalim(box)
    if equal:
        ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlim(box[:, 0], auto=None)
    ax.set_ylim(box[:, 1], auto=None)
    ax.spines[["top", "right"]].set_visible(False)


def dense(X: Any) -> NDArray[np.float64]:
    """X as a plain array of two axes."""
    if hasattr(X, "toarray"):
        if X.shape[0] * X.shape[1] > _DENSE_LIMIT:
            raise CapabilityError(
                f"a {X.shape[0]} x {X.shape[1]} sparse matrix is too large for this picture; "
                "give some of its rows or columns."
            )
        X = X.toarray()
    return np.atleast_2d(np.asarray(X, dtype=np.float64))


def wrapped(words: str, width: int = 78) -> str:
    """A title in as few lines as need be, about equally long."""
    lines = -(-len(words) // width)
    even = width if lines < 2 else len(words) // lines + 8
    return "\n".join(textwrap.wrap(words, min(width, even)))


# -- Words of pictures ----------------------------------------------------------------------------


def short(value: Any, width: int = 24) -> str:
    """A value in a title or at an axis."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= width else text[: width - 3] + "..."
