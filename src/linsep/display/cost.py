"""What is descended: the number of errors, the perceptron criterion, the squared errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.validate import as_targets
from linsep.core.words import count
from linsep.criteria import Count, Perceptron
from linsep.display.geometry import box_around
from linsep.display.look import COLOURS, INK, axes, frame, plain_names, wrapped
from linsep.display.look import legend as draw_legend
from linsep.display.reflect import (
    as_weights,
    reflected,
    step_weights,
    weight_plane,
)
from linsep.display.weight_space import draw_path
from linsep.errors import SettingError

Array = NDArray[np.float64]
_GRID = 241
_COUNT, _CRITERION = Count(), Perceptron()
_NAMES = {
    "criterion": "perceptron criterion J_p",
    "errors": "number of errors J",
    "squares": "sum of squared errors J_s",
}


class CostDisplay:
    """Errors J and criterion J_p along a line, or over a plane, of weights.

    J(a) counts the rows with z_i . a <= 0; it is constant between jumps, so its gradient
    says nothing. J_p(a) = sum of -z_i . a over these rows is piecewise linear and can be
    descended; it is 0 at a = 0, which is no solution. Over a plane there is also the sum of
    squared errors J_s(a) = sum of (z_i . a - b_i)^2, a bowl with one minimum.

    Parameters
    ----------
    x : array
        Along a line: where the pieces end, and the two ends of the picture. Over a plane:
        values of the first weight.
    y : array or None
        Over a plane: values of the second weight.
    errors : array
        J. Along a line: of each piece, one fewer than x. Over a plane: of shape (y, x).
    criterion : array
        J_p at x, or of shape (y, x).
    squares : array of shape (y, x), optional
        Over a plane: J_s.
    names : pair of str
        Labels of the axes.
    path : array of shape (T, 2), optional
        Weights of successive steps.
    title : str
        The sentence above the picture.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    errors_, criterion_, squares_ : artists or None
        Stairs and line, or filled contours.
    twin_ : axes or None
        Along a line: the axes of the criterion.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("offset-pair")
    >>> display = linsep.CostDisplay.from_line(table.X, table.y, ([-1], 0), ([2], -3))
    >>> display.x.round(3).tolist(), display.errors.tolist()
    ([-0.25, 0.667, 1.25], [1.0, 0.0])
    """

    def __init__(
        self,
        x: Array,
        y: Array | None,
        errors: Array,
        criterion: Array,
        *,
        squares: Array | None = None,
        names: Sequence[str] = ("t", ""),
        path: Array | None = None,
        title: str = "",
    ) -> None:
        self.x = x
        self.y = y
        self.errors = errors
        self.criterion = criterion
        self.squares = squares
        self.names = list(names)
        self.path = path
        self.title = title

    @classmethod
    def from_line(
        cls,
        X: Any,
        y: Any,
        start: Any,
        end: Any,
        *,
        reach: tuple[float, float] = (-0.25, 1.25),
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw both costs along the line a(t) = start + t (end - start).

        Parameters
        ----------
        X, y
            The rows, dense or sparse, and their classes, two of them.
        start, end : array or (coef, intercept)
            Weights at t = 0 and t = 1.
        reach : pair of float, default=(-0.25, 1.25)
            First and last t.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        **options
            Passed to ``plot``.

        Returns
        -------
        CostDisplay
        """
        Z = reflected(X, y)[0]
        a, b = (as_weights(given, Z.shape[1] - 1) for given in (start, end))
        first, slope = Z @ a, Z @ (b - a)
        moving = slope != 0
        jumps = -first[moving] / slope[moving]
        inside = jumps[(jumps > reach[0]) & (jumps < reach[1])]
        t = np.unique(np.concatenate([[reach[0], reach[1]], inside]))
        values = first + np.outer(t, slope)
        between = first + np.outer((t[:-1] + t[1:]) / 2, slope)
        display = cls(
            t,
            None,
            _COUNT.of_values(between).sum(axis=1),
            _CRITERION.of_values(values).sum(axis=1),
            names=("t, where a(t) = start + t (end − start)", ""),
            title=f"{count(len(Z), 'row')}: errors jump, the criterion is piecewise linear",
        )
        return display.plot(ax, **options)

    @classmethod
    def from_plane(
        cls,
        X: Any,
        y: Any,
        *,
        fit_intercept: bool = True,
        weights: Sequence[int] | None = None,
        at: Any = None,
        targets: Any = None,
        path: Any = None,
        box: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw one of the costs over a plane of two weights.

        Parameters
        ----------
        X, y
            The rows, dense or sparse, and their classes, two of them.
        fit_intercept : bool, default=True
            Whether the intercept is a weight.
        weights : pair of int, optional
            The two weights that vary, counted from 0, the intercept last. Needed unless there
            are two.
        at : array or (coef, intercept), optional
            All weights; those that do not vary keep these values. Zero without it.
        targets : array, optional
            b of the squared errors; ones without it.
        path : array of shape (T, d + 1), optional
            Weights to draw as a path.
        box : ((low, low), (high, high)), optional
            Corners of the picture.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        **options
            Passed to ``plot``.

        Returns
        -------
        CostDisplay
        """
        plane = weight_plane(X, y, fit_intercept=fit_intercept, weights=weights, at=at)
        if path is not None:
            path = np.atleast_2d(np.asarray(path, dtype=np.float64))[:, list(plane.chosen)]
        corners = _corners(path, at, plane.chosen, np.shape(X)[1]) if box is None else box
        (x0, y0), (x1, y1) = np.asarray(corners, dtype=np.float64)
        gx, gy = np.linspace(x0, x1, _GRID), np.linspace(y0, y1, _GRID)
        errors, criterion, squares = (np.zeros((_GRID, _GRID)) for _ in range(3))
        b = as_targets(targets, len(plane.normals))
        b = np.ones(len(plane.normals)) if b is None else b
        for normal, offset, target in zip(plane.normals, plane.offsets, b):
            value = normal[0] * gx + normal[1] * gy[:, None] + offset
            errors += _COUNT.of_values(value)
            criterion += _CRITERION.of_values(value)
            squares += (value - target) ** 2
        note = f"   ({plane.note})" if plane.note else ""
        names = (plane.names[0] + note, plane.names[1])
        display = cls(gx, gy, errors, criterion, squares=squares, names=names, path=path)
        return display.plot(ax, **options)

    @classmethod
    def from_trace(
        cls, trace: Any, *, weights: Sequence[int] | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the path of a recorded run over the contours of a cost.

        Parameters
        ----------
        trace : Trace
            Of two classes.
        weights : pair of int, optional
            The two weights that vary; the others keep the values of the last step.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        **options
            Passed to ``from_plane`` and ``plot``.

        Returns
        -------
        CostDisplay
        """
        path = np.array([step_weights(step) for step in trace])
        if trace.algorithm == "LeastSquares":
            options.setdefault("what", "squares")
        return cls.from_plane(
            trace.X, trace.y, fit_intercept=trace.fit_intercept, weights=weights,
            at=path[-1], path=path, ax=ax, **options,
        )  # fmt: skip

    @plain_names
    def plot(
        self,
        ax: Any = None,
        *,
        what: str = "criterion",
        legend: bool = True,
        title: bool = True,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        what : {"criterion", "errors", "squares"}, default="criterion"
            Over a plane: which cost to draw; a trace of LeastSquares has "squares". A line
            shows errors and criterion.
        legend, title : bool, default=True
            Whether to draw them.

        Returns
        -------
        self
        """
        if what not in _NAMES or (what == "squares" and self.squares is None):
            raise SettingError(f'what is {what!r}; give "criterion" or "errors", or over a plane '
                               '"squares".')  # fmt: skip
        self.ax_ = ax = axes(ax, size=(6.4, 3.6) if self.y is None else (6.4, 5.2))
        self.figure_ = ax.figure
        self.errors_ = self.criterion_ = self.squares_ = self.twin_ = None
        if self.y is None:
            self._draw_line(legend=legend)
        else:
            self._draw_plane(what, legend=legend)
        ax.set_xlabel(self.names[0])
        if title:
            ax.set_title(wrapped(self.title or _NAMES[what]), fontsize="medium")
        return self

    # -- inside ---------------------------------------------------------------------------

    def _draw_line(self, *, legend: bool) -> None:
        ax, blue = self.ax_, COLOURS[1]
        self.errors_ = ax.stairs(
            self.errors, self.x, baseline=None, color=INK, linewidth=2, label="errors J"
        )
        ax.set_ylabel("errors J")
        ax.set_ylim(bottom=-0.05 * max(1.0, float(self.errors.max())))
        ax.yaxis.get_major_locator().set_params(integer=True)
        self.twin_ = twin = ax.twinx()
        (self.criterion_,) = twin.plot(
            self.x, self.criterion, color=blue, linestyle="--", label="criterion J_p"
        )
        twin.set_ylabel("criterion J_p", color=blue)
        twin.tick_params(axis="y", colors=blue)
        twin.set_ylim(bottom=-0.05 * float(self.criterion.max() or 1.0))
        ax.spines[["top"]].set_visible(False)
        twin.spines[["top"]].set_visible(False)
        if legend:
            draw_legend(twin, [self.errors_, self.criterion_])

    def _draw_plane(self, what: str, *, legend: bool) -> None:
        ax = self.ax_
        if what == "errors":
            most = int(self.errors.max())
            levels = np.arange(most + 2) - 0.5
            self.errors_ = ax.contourf(self.x, self.y, self.errors, levels, cmap="Blues")
            bar = self.figure_.colorbar(self.errors_, ax=ax, label="errors J")
            bar.set_ticks(np.arange(0, most + 1, max(1, most // 10)))
        elif what == "squares":
            assert self.squares is not None
            low, high = float(self.squares.min()), float(self.squares.max())
            levels = low + (high - low) * np.linspace(0, 1, 15) ** 2  # even steps in the weights
            self.squares_ = ax.contourf(self.x, self.y, self.squares, levels, cmap="Blues")
            self.figure_.colorbar(self.squares_, ax=ax, label="squared errors J_s")
            ax.contour(self.x, self.y, self.squares, levels, colors=INK, linewidths=0.4)
        else:
            self.criterion_ = ax.contourf(self.x, self.y, self.criterion, 14, cmap="Blues")
            self.figure_.colorbar(self.criterion_, ax=ax, label="criterion J_p")
            ax.contour(self.x, self.y, self.criterion, 14, colors=INK, linewidths=0.4)
        if self.path is not None:
            draw_path(ax, self.path)
            if legend:
                draw_legend(ax)
        ax.plot(0, 0, marker="+", color=INK, markersize=11, zorder=3)
        assert self.y is not None
        frame(ax, np.array([[self.x[0], self.y[0]], [self.x[-1], self.y[-1]]]), equal=False)
        ax.set_ylabel(self.names[1])


def _corners(path: Array | None, at: Any, chosen: tuple[int, int], d: int) -> Array:
    """A box around the origin and the path, or the fixed weights."""
    points = [np.zeros((1, 2))]
    if path is not None:
        points.append(path)
    elif at is not None:
        points.append(as_weights(at, d)[None, list(chosen)])
    shown = np.vstack(points)
    reach = float(np.abs(shown).max()) or 1.0
    return box_around(np.vstack([shown, 0.5 * reach * np.array([[-1, -1], [1, 1]])]))
