"""A perceptron at work among lifted rows: one small picture for each chosen update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from linsep.display.areas import draw_spans
from linsep.display.curves import update_steps
from linsep.display.geometry import box_around, line_in_box
from linsep.display.look import (
    INK,
    RULE,
    draw_line,
    draw_points,
    draw_rings,
    frame,
    plain_names,
    pyplot,
)
from linsep.display.view import class_numbers
from linsep.errors import CapabilityError, DataError, SettingError

Array = NDArray[np.float64]


class LiftFramesDisplay:
    """Frames of a recorded run on rows lifted to two coordinates.

    Each frame shows the lifted rows, the line after the update, the row that caused it, the rows
    still wrong, and how many rows were visited. With the lift and one input, a strip under each
    frame shows the classes along the line of the input.

    Parameters
    ----------
    trace : Trace
        Recorded on the lifted rows.
    updates : list of int
        Which steps to show.
    lift : Lift or None
    x : array of shape (n,) or None
        The single input.

    Attributes
    ----------
    figure_ : matplotlib figure
    axes_ : list of axes, one for each frame
    strips_ : list of axes
        Under the frames; empty without lift and input.

    Examples
    --------
    >>> import linsep
    >>> x = [[-2.0], [-1.5], [-0.5], [0.0], [0.5], [1.5], [2.0]]
    >>> y = [1, 1, -1, -1, -1, 1, 1]
    >>> lift = linsep.Lift("x, x**2")
    >>> run = linsep.trace(linsep.Perceptron(), lift.fit_transform(x), y)
    >>> display = linsep.LiftFramesDisplay.from_trace(run, lift=lift, X=x)
    >>> display.axes_[0].get_title()
    'update 1, 1 visited'
    """

    def __init__(
        self, trace: Any, updates: Sequence[int], *, lift: Any = None, x: Array | None = None
    ) -> None:
        self.trace, self.updates, self.lift, self.x = trace, list(updates), lift, x

    @classmethod
    def from_trace(
        cls,
        trace: Any,
        *,
        updates: Sequence[int] | None = None,
        lift: Any = None,
        X: Any = None,
    ) -> Self:
        """Draw frames of a trace.

        Parameters
        ----------
        trace : Trace
            ``linsep.trace(estimator, lift.fit_transform(X), y)``.
        updates : sequence of int, optional
            Numbers of updates; without it up to nine, denser at the start.
        lift : Lift, optional
            The lift that made the rows, fitted or not, and
        X : array of shape (n, 1), optional
            what it made them of: for the strips under the frames.

        Returns
        -------
        LiftFramesDisplay
        """
        if trace.X.shape[1] != 2 or np.ndim(trace[0].coef) != 1:
            raise CapabilityError(
                f"the trace has rows of {trace.X.shape[1]} features; frames need two features and "
                "two classes. TraceDisplay draws other runs."
            )
        last = max(update_steps(trace))
        if updates is None:
            updates = sorted(
                {round(v) for v in np.geomspace(1, max(1, last), 9)} & {*range(last + 1)}
            )
        chosen = list(updates) or [0]
        if not all(isinstance(t, int | np.integer) and 0 <= t <= last for t in chosen):
            raise SettingError(f"updates is {updates!r}; the trace has updates 0 to {last}.")
        x = None if X is None else np.asarray(X, dtype=np.float64).ravel()
        if x is not None and len(x) != len(trace.X):
            raise DataError(f"X has {len(x)} values and the trace {len(trace.X)} rows.")
        if lift is not None and x is not None and not hasattr(lift, "n_features_in_"):
            lift = clone(lift).fit(x[:, None])  # a pipeline has fitted its own
        return cls(trace, chosen, lift=lift, x=x if lift is not None else None).plot()

    @plain_names
    def plot(self) -> Self:
        """Draw."""
        count = len(self.updates)
        columns = min(3, count)
        rows = -(-count // columns)
        strips = self.x is not None
        heights = [3.0, 0.5] * rows if strips else [3.0] * rows
        self.figure_, grid = pyplot().subplots(
            len(heights), columns, figsize=(3.7 * columns, sum(heights) + 0.4), squeeze=False,
            height_ratios=heights, layout="constrained",
        )  # fmt: skip
        self.axes_: list[Any] = []
        self.strips_: list[Any] = []
        classes = self.trace.classes
        labels = class_numbers(self.trace.y, classes, len(self.trace.X))
        at = update_steps(self.trace)
        for k in range(rows * columns):
            line, place = (2 if strips else 1) * (k // columns), k % columns
            if k >= count:
                for extra in range(2 if strips else 1):
                    grid[line + extra, place].set_axis_off()
                continue
            step = self.trace[at[self.updates[k]]]
            self._frame(grid[line, place], step, labels, [str(c) for c in classes], legend=k == 0)
            if strips:
                self._strip(grid[line + 1, place], step, labels)
        handles, _ = self.axes_[0].get_legend_handles_labels()  # a row may lie in any corner
        self.figure_.legend(
            handles=handles, loc="outside lower center", ncols=len(handles), fontsize="small"
        )
        self.figure_.suptitle(
            f"{self.trace.algorithm}: {self.trace.outcome.message}", fontsize="medium"
        )
        return self

    def _frame(
        self, ax: Any, step: Any, labels: NDArray[np.intp], names: list[str], *, legend: bool
    ) -> None:
        points = self.trace.X
        box = box_around(points, pad=0.16)
        ends = line_in_box(np.asarray(step.coef), float(step.intercept), box)
        if ends is not None:
            draw_line(ax, ends, color=INK, linewidth=2.0, zorder=3)
        draw_points(ax, points, labels, names)
        if step.row is not None:
            draw_rings(ax, points[[step.row]], "row of the update", bold=False, n=len(points))
        draw_rings(ax, points[list(step.errors)], "wrong side", n=len(points))
        frame(ax, box, equal=False)
        ax.set_title(f"update {step.update}, {step.visit} visited", fontsize="small")
        ax.tick_params(labelsize="x-small")
        if legend:
            ax.set_xlabel(self.trace.feature_names[0], fontsize="small")
            ax.set_ylabel(self.trace.feature_names[1], fontsize="small")
        self.axes_.append(ax)

    def _strip(self, ax: Any, step: Any, labels: NDArray[np.intp]) -> None:
        """The input as a line: the rows and the classes that the step gives it."""
        assert self.x is not None
        f = self.lift.pullback((step.coef, float(step.intercept)))
        low, high = f.limits()
        numbered = [(a, b, -1 if c is None else int(c > 0)) for a, b, c in f.intervals(low, high)]
        draw_spans(ax, numbered, low, high)
        ax.axhline(0, color=RULE, linewidth=0.8, zorder=1)
        points = np.column_stack([self.x, 0 * self.x])
        draw_points(ax, points, labels, [str(k) for k in range(int(labels.max()) + 1)])
        ax.set_xlim(low, high)
        ax.set_yticks([])
        ax.tick_params(labelsize="x-small")
        ax.spines[["top", "right", "left"]].set_visible(False)
        self.strips_.append(ax)
