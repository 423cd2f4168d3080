"""A recorded run: the lines of its iterates, its errors, and what its proof bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import Status
from linsep.core.words import percent
from linsep.display.curves import Curve, trace_curves, update_steps
from linsep.display.geometry import box_around, box_with_line, line_in_box, misses
from linsep.display.look import (
    COLOURS,
    INK,
    axes,
    draw_line,
    draw_points,
    draw_rings,
    frame,
    plain_names,
    pyplot,
    wrapped,
)
from linsep.display.look import legend as draw_legend
from linsep.display.view import class_numbers
from linsep.errors import SettingError
from linsep.proofs.separable import round_down, round_up

Array = NDArray[np.float64]
_MANY_LINES = 24
_LOG_AXIS = 200  # updates beyond which the curves need a logarithmic axis


class TraceDisplay:
    """Lines of successive iterates, from light to dark, and curves of the run.

    With two features and two classes the lines are drawn on the data: the last one bold, the
    one before it dashed, the row of the last update ringed. Beside them stand the errors
    after each update and |a|^2 with the bounds of Novikoff's proof, or the bounds of the
    margin. Other data have the curves only.

    Parameters
    ----------
    points : array of shape (n, 2) or None
        The rows, if they can be drawn.
    labels : array of int
        Class number of each row.
    class_names : sequence of str
        Names for the legend.
    weights : array of shape (T, 3)
        [w1, w2, b] of the steps whose lines are shown.
    updates : array of shape (T,)
        Their numbers.
    row : int or None
        Row of the last update.
    wrong : sequence of int
        Rows misclassified after it.
    curves : list of list of Curve
        One list for each small panel.
    axis_labels : pair of str
        Names of the two features.
    unit : {"update", "visit"}
        What the curves count; visits where these were recorded.
    kept : bool
        Whether the last line is that of the weights which are kept, and of no update.
    title : str
        The sentence above the picture.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        ``ax_`` holds the data, or the errors when there is no data panel.
    axes_ : list of axes
        All panels.
    lines_ : list of line
        One for each step shown whose weights are not zero.
    line_ : line or None
        The last of them.
    row_, rings_ : scatter or None
        Rings around the row of the last update, and around wrong rows.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("five-points")
    >>> run = linsep.trace(linsep.Perceptron(start=([1, 1], 1)), table.X, table.y, max_steps=10)
    >>> display = linsep.TraceDisplay.from_trace(run)
    >>> display.weights[1].tolist(), len(display.lines_)
    ([0.0, -2.0, 0.0], 11)
    """

    def __init__(
        self,
        points: Array | None,
        labels: NDArray[np.intp],
        class_names: Sequence[str],
        *,
        weights: Array,
        updates: NDArray[np.intp],
        row: int | None = None,
        wrong: Sequence[int] = (),
        before: Sequence[int] = (),
        curves: Sequence[Sequence[Curve]] = (),
        axis_labels: Sequence[str] = ("x1", "x2"),
        unit: str = "update",
        kept: bool = False,
        line_names: Sequence[str] = (),
        title: str = "",
    ) -> None:
        self.unit = unit
        self.kept = kept
        self.points = points
        self.labels = labels
        self.class_names = list(class_names)
        self.weights = weights
        self.updates = updates
        self.line_names = list(line_names) or [f"update {t}" for t in updates.tolist()]
        self.row = row
        self.wrong = list(wrong)
        self.before = list(before)
        self.curves = [list(panel) for panel in curves]
        self.axis_labels = list(axis_labels)
        self.title = title

    @classmethod
    def from_trace(
        cls,
        trace: Any,
        *,
        steps: Sequence[int] | None = None,
        bounds: bool = True,
        class_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a trace.

        Parameters
        ----------
        trace : Trace
            The recorded run.
        steps : sequence of int, optional
            Numbers of the steps whose lines to draw, for instance range(900, 916); the curves
            then cover these steps only. All steps without it, or some of many.
        bounds : bool, default=True
            Whether to find the margin that Novikoff's bounds of |a|^2 need.
        class_names : sequence of str, optional
            Names to show.
        ax : matplotlib axes, optional
            Draw only the data panel, here; without data panel the errors.
        **options
            Passed to ``plot``.

        Returns
        -------
        TraceDisplay
        """
        shown, whole = _shown(len(trace), steps)
        classes = trace.classes
        last = trace[shown[-1]]
        flat = trace.X.shape[1] == 2 and np.shape(last.coef) == (2,)
        lines = _one_each(trace, shown)
        weights = [np.append(trace[t].coef, trace[t].intercept) for t in lines] if flat else []
        unit = "visit" if trace.has_looks else "update"
        first, end = (getattr(trace[t], unit) for t in (whole[0], whole[-1]))
        updates = [_update(trace, t) for t in lines]
        names = [_named(trace, update) for update in updates]
        span = "" if len(whole) == len(trace) else f", {unit}s {first} to {end}"
        if span and names and trace.convention is not None:
            span = f", {names[0]} to {names[-1]}"
        words = last.why if span else _ended(trace)
        display = cls(
            trace.X if flat else None,
            class_numbers(trace.y, classes, len(trace.X)),
            [str(c) for c in (classes if class_names is None else class_names)],
            weights=np.array(weights, dtype=np.float64).reshape(-1, 3),
            updates=np.array(updates, dtype=np.intp),
            kept=last.closing,
            line_names=names,
            row=last.row,
            unit=unit,
            wrong=last.errors,
            curves=trace_curves(trace, whole, bounds=bounds and ax is None),
            axis_labels=trace.feature_names[:2],
            title=f"{trace.algorithm}{span}: {words}",
        )
        return display.plot(ax, **options)

    @classmethod
    def from_step(cls, trace: Any, update: int, *, ax: Any = None, **options: Any) -> Self:
        """Draw one update: the row that caused it, the old line dashed and the new one bold.

        The title tells what the update did: the value of the row before and after it, and how
        many rows it broke.

        Parameters
        ----------
        trace : Trace
            Of rows with two features and two classes.
        update : int
            Number of the update, from 1.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        **options
            Passed to ``plot``.

        Returns
        -------
        TraceDisplay
        """
        found = update_steps(trace)
        if update not in found or update < 1:
            raise SettingError(f"update is {update!r}; the trace has updates 1 to {max(found)}.")
        at = found[update]
        if trace.X.shape[1] != 2 or np.shape(trace[at].coef) != (2,):
            raise SettingError(
                "a picture of one update needs two features and two classes; "
                "TraceDisplay.from_trace draws the curves of any run."
            )
        step = trace[at]
        classes = trace.classes
        pair = [trace[at - 1], step]
        display = cls(
            trace.X,
            class_numbers(trace.y, classes, len(trace.X)),
            [str(c) for c in classes],
            weights=np.array([[*one.coef, one.intercept] for one in pair], dtype=np.float64),
            updates=np.array([update - 1, update], dtype=np.intp),
            line_names=[_named(trace, update - 1), _named(trace, update)],
            row=step.row,
            wrong=step.errors,
            before=trace[at - 1].errors if step.row is None else (),
            axis_labels=trace.feature_names[:2],
            title=f"Update {update}: {_did(trace, step)}",
        )
        return display.plot(axes(ax), **options)

    @plain_names
    def plot(self, ax: Any = None, *, legend: bool = True, title: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Draw only the first panel, here; a new figure of all panels without it.
        legend, title : bool, default=True
            Whether to draw them.

        Returns
        -------
        self
        """
        self.lines_: list[Any] = []
        self.line_ = self.row_ = self.rings_ = None
        self.axes_ = [ax] if ax is not None else self._panels()
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        rest = self.axes_
        if self.points is not None:
            self._draw_data(legend=legend)
            rest = rest[1:]
        for panel, curves in zip(rest, self.curves):
            _draw_curves(panel, curves, self.unit)
        if title:
            if ax is None:
                self.figure_.suptitle(wrapped(self.title, 110), fontsize="medium")
            else:
                self.ax_.set_title(wrapped(self.title), fontsize="medium")
        return self

    # -- inside ---------------------------------------------------------------------------

    def _panels(self) -> list[Any]:
        n = len(self.curves)
        if self.points is None:
            made = pyplot().subplots(1, n, figsize=(5.0 * n, 3.4), layout="constrained")
            return list(np.atleast_1d(made[1]))
        mosaic = [["data", f"curve {k}"] for k in range(n)]
        _, named = pyplot().subplot_mosaic(
            mosaic, figsize=(10.0, 5.2), width_ratios=(1.5, 1), layout="constrained"
        )
        return [named["data"], *(named[f"curve {k}"] for k in range(n))]

    def _draw_data(self, *, legend: bool) -> None:
        ax, points = self.ax_, self.points
        assert points is not None
        box = box_around(points, pad=0.2)
        for a in self.weights[-2:]:
            box = box_with_line(box, a[:2], float(a[2]))
        many = len(self.weights) > 2
        shades = np.linspace(0.82 if many else 0.45, 0.35, max(len(self.weights), 2))
        for k, (a, name) in enumerate(zip(self.weights, self.line_names)):
            ends = line_in_box(a[:2], float(a[2]), box)
            if ends is None:
                continue
            final, before = k == len(self.weights) - 1, k == len(self.weights) - 2
            style = {"color": INK if final else str(shades[k]), "linewidth": 2.6 if final else 1.2}
            text = name if final or before or not self.lines_ else None
            if final and self.kept:
                text = "kept" if self.updates[k] < 0 else f"kept: {name}"
            if text is not None and misses(a[:2], float(a[2]), box):
                text += " (not in the picture)"
            dash = (0, (5, 2)) if before else "-"
            line = draw_line(ax, ends, linestyle=dash, zorder=2 + final, label=text, **style)
            self.lines_.append(line)
            self.line_ = line if final else self.line_
        draw_points(ax, points, self.labels, self.class_names)
        n = len(points)
        if self.row is not None:
            self.row_ = draw_rings(
                ax, points[[self.row]], f"row of the last {self.unit}", bold=False, n=n
            )
        elif len(self.before):  # a batch
            words = f"wrong before the {self.unit}"
            self.row_ = draw_rings(ax, points[self.before], words, bold=False, n=n)
        self.rings_ = draw_rings(ax, points[self.wrong], "wrong side", n=n)
        frame(ax, box)
        ax.set_xlabel(self.axis_labels[0])
        ax.set_ylabel(self.axis_labels[1])
        if legend:
            draw_legend(ax)


def _named(trace: Any, update: int) -> str:
    """What the lecture of the trace calls the weights after so many updates."""
    way = None if trace.convention is None else trace.way()
    return f"update {update}" if way is None else str(way.weights.format(way.number(update)))


def _update(trace: Any, t: int) -> int:
    """The update that made the weights of a step; -1 for none of them."""
    if not trace[t].closing:
        return int(trace[t].update)
    return -1 if trace.outcome.t_lup is None else int(trace.outcome.t_lup)


def _one_each(trace: Any, steps: Sequence[int]) -> list[int]:
    """Of steps with the same weights the first: a look at a row draws no line of its own."""
    kept: list[int] = []
    for t in steps:
        known = kept and trace[t].update == trace[kept[-1]].update and not trace[t].closing
        kept += [] if known else [t]
    return kept


def _did(trace: Any, step: Any) -> str:
    """What an update did to its row and to the others."""
    if step.row is None:
        return f"all wrong rows together; {len(step.errors)} wrong now"
    name = trace.row_names[step.row] if trace.row_names else f"row {step.row}"
    words = f"{name} had value {step.value:.4g}"
    if step.value_after is not None:
        words += f" and has {step.value_after:.4g}"
        words += ", still wrong: it undershot" if step.value_after <= 0 else ""
    if step.repeats and step.repeats > 1:
        words += f" ({step.repeats} such updates in a row would set it right)"
    broken = int(step.extra.get("broken", 0))
    return words + (f"; {broken} other{'s' if broken > 1 else ''} became wrong" if broken else "")


def _draw_curves(ax: Any, curves: Sequence[Curve], unit: str) -> None:
    for k, curve in enumerate(curves):
        few = len(curve.x) <= 40
        style = {"color": INK} if k == 0 else {"color": COLOURS[k], "linestyle": ("--", ":")[k % 2]}
        marker = {"marker": "o", "markersize": 3.5} if few and k == 0 else {}
        draw = ax.plot if not curve.stairs or few else ax.step
        where = {"where": "post"} if draw == ax.step else {}
        draw(curve.x, curve.y, label=curve.name, linewidth=1.5, **style, **marker, **where)
    if any(curve.decades and np.isfinite(curve.y).any() for curve in curves):
        ax.set_yscale("log")
    ax.set_xlabel(unit)
    ax.set_ylabel(curves[0].axis or curves[0].name)
    ax.grid(alpha=0.25)
    if curves[0].x[0] == 0 and curves[0].x[-1] > _LOG_AXIS:
        ax.set_xscale("symlog", linthresh=1.0)
        ax.set_xlim(0, curves[0].x[-1])
    else:
        ax.xaxis.get_major_locator().set_params(integer=True)
    if curves[0].stairs:
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set_ylim(bottom=-0.04 * max(1.0, float(curves[0].y.max())))
    ax.spines[["top", "right"]].set_visible(False)
    if len(curves) > 1:
        draw_legend(ax)


def _ended(trace: Any) -> str:
    """How a run ended; of a proved answer its numbers, which say more than that it is proved."""
    outcome, last = trace.outcome, trace[-1].extra
    if outcome.status is not Status.CERTIFIED:
        return str(outcome.message)
    work = outcome.message.removeprefix(f"{outcome.status.value}: ")
    if "lower" in last and "upper" in last:
        low, high = round_down(last["lower"], 4), round_up(last["upper"], 4)
        return f"{work}; the best margin lies between {low} and {high}"
    if "gap" in last:
        return (
            f"{work}; objective {last['objective']:.6g}, within {percent(last['gap'])} of the best"
        )
    return str(outcome.message)


def _shown(n: int, steps: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """Steps whose lines are drawn, and steps that the curves cover."""
    if steps is None:
        whole = list(range(n))
        picks = np.linspace(0, n - 1, min(n, _MANY_LINES)).round().astype(int)
        return picks.tolist(), whole
    try:
        shown = sorted({range(n)[k] for k in steps})
    except (IndexError, TypeError) as error:
        raise SettingError(f"steps is {steps!r}; the trace has steps 0 to {n - 1}.") from error
    if not shown:
        raise SettingError(f"steps is {steps!r}; give at least one step.")
    return shown, list(range(shown[0], shown[-1] + 1))
