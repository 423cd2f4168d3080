"""Why a perceptron ends: all rows in a ball, all beyond a slab, and two curves that must meet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.display.curves import Curve, novikoff_curves, trace_curves
from linsep.display.geometry import box_around, box_corners, clip
from linsep.display.look import (
    COLOURS,
    INK,
    RULE,
    draw_points,
    draw_polygon,
    frame,
    plain_names,
    pyplot,
)
from linsep.display.reflect import plane_coordinates, reflected
from linsep.errors import CapabilityError, require
from linsep.risk.novikoff import NovikoffBound, novikoff_bound

Array = NDArray[np.float64]
_DRAWN_BOUND = 40  # times the updates made: a bound beyond is not drawn to its end


class NovikoffDisplay:
    """The two facts behind Novikoff's bound, and what they make of a run.

    Left, where the augmented space is a plane: the reflected rows lie in a ball of radius D and
    beyond the slab u . z < gamma. Right: each update adds at most D^2 to |a|^2 and at least gamma
    to u . a, so |a|^2 stays between two curves that cross after D^2 / gamma^2 updates.

    Parameters
    ----------
    points : array of shape (n, 2) or None
        Reflected rows; None if they lie in no plane.
    labels : array of int
    classes : list of str
    bound : NovikoffBound
        D, gamma, u and the number of updates.
    curves : list of Curve
        |a|^2 and its bounds against updates.

    Attributes
    ----------
    figure_ : matplotlib figure
    axes_ : list of axes
    ball_ : circle or None
    slab_ : polygon or None

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("offset-pair")
    >>> run = linsep.trace(linsep.Perceptron(), table.X, table.y)
    >>> display = linsep.NovikoffDisplay.from_trace(run)
    >>> round(display.bound.radius ** 2, 6), len(run) - 1 <= display.bound
    (5.0, True)
    """

    def __init__(
        self,
        points: Array | None,
        labels: NDArray[np.intp],
        classes: list[str],
        bound: NovikoffBound,
        curves: list[Curve],
    ) -> None:
        self.points = points
        self.labels = labels
        self.classes = classes
        self.bound = bound
        self.curves = curves

    @classmethod
    def from_trace(cls, trace: Any, **options: Any) -> Self:
        """Draw a recorded run of a perceptron.

        Parameters
        ----------
        trace : Trace
            Of two separable classes, single sample, eta = 1.
        **options
            Passed to ``plot``.

        Returns
        -------
        NovikoffDisplay
        """
        offset = trace.fit_intercept
        bound = novikoff_bound(trace.X, trace.y, fit_intercept=offset)
        if not np.isfinite(bound):
            raise CapabilityError(
                "no plane separates these classes, so there is no bound to draw; "
                "linsep.TraceDisplay shows the run."
            )
        curves = trace_curves(trace, range(len(trace)), bounds=True)[-1]
        if len(curves) < 3:
            raise CapabilityError(
                "the bound is about updates by one row with eta = 1; give a trace of "
                "linsep.Perceptron() with its own settings."
            )
        made = np.array([step.update for step in trace if not step.closing], dtype=np.float64)
        length = replace(curves[0], x=made)
        updates = float(made[-1])
        last = float(bound) if bound <= _DRAWN_BOUND * (updates + 1) else 2 * (updates + 1)
        curves = [length, *novikoff_curves(trace, np.linspace(0.0, last, 200))]
        Z, labels, classes = reflected(trace.X, trace.y)
        try:
            points = Z[:, plane_coordinates(Z.shape[1] - 1, fit_intercept=offset)]
        except CapabilityError:
            points = None
        display = cls(points, labels, [str(c) for c in classes], bound, curves)
        return display.plot(**options)

    @plain_names
    def plot(self, axes: Any = None, *, legend: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        axes : sequence of matplotlib axes, optional
            Two, or one where the rows lie in no plane; a new figure without it.
        legend : bool, default=True
            Whether to draw it.

        Returns
        -------
        self
        """
        count = 1 if self.points is None else 2
        if axes is None:
            size = (5.6 * count, 4.8)
            axes = np.atleast_1d(pyplot().subplots(1, count, figsize=size, layout="constrained")[1])
        self.axes_ = list(axes)
        self.figure_ = self.axes_[0].figure
        self.ball_ = self.slab_ = None
        if self.points is not None:
            self._draw_rows(self.axes_[0], self.points)
        self._draw_growth(self.axes_[-1])
        if legend:
            for ax in self.axes_:  # below: inside it would cover rows and curves
                place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.11), "ncols": 2}
                ax.legend(framealpha=0.9, fontsize="small", **place)
        return self

    # -- inside ---------------------------------------------------------------------------

    def _draw_rows(self, ax: Any, points: Array) -> None:
        patches = require("matplotlib.patches", extra="plot")
        D, gamma = self.bound.radius, self.bound.margin[0]
        u = self.bound.separator[: points.shape[1]]
        box = box_around(np.array([[-D, -D], [D, D]]))
        inner = clip(clip(box_corners(box), u, 0.0), -u, gamma)
        self.slab_ = draw_polygon(
            ax, inner, facecolor=(RULE, 0.25), edgecolor="none", zorder=0,
            label=f"slab of width γ = {gamma:.4g}: no row",
        )  # fmt: skip
        self.ball_ = ax.add_artist(
            patches.Circle((0, 0), D, fill=False, color=RULE, linewidth=1.3, label=f"D = {D:.4g}")
        )
        arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", xy=0.5 * D * u, xytext=(0, 0), arrowprops=arrow, zorder=3)
        ax.annotate("u", xy=0.54 * D * u, ha="center", va="center", color=INK)
        draw_points(ax, points, self.labels, [f"reflected rows of {c}" for c in self.classes])
        frame(ax, box)
        ax.set_title("every |z| ≤ D and u · z ≥ γ", fontsize="medium")

    def _draw_growth(self, ax: Any) -> None:
        length, above, below = self.curves
        ax.plot(above.x, above.y, color=COLOURS[1], linewidth=1.3, label=above.name)
        ax.plot(length.x, length.y, color=INK, marker="o", markersize=3.5, label=length.name)
        ax.plot(below.x, below.y, color=COLOURS[0], linewidth=1.3, label=below.name)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_xlabel("updates")
        made = int(length.x[-1])
        words = (
            f"{made} update{'' if made == 1 else 's'}; at most {float(self.bound):.4g} are possible"
        )
        ax.set_title(words, fontsize="medium")
