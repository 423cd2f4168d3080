"""The under- and overfit curve of a choice among models."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from linsep.display.look import COLOURS, INK, LIGHT, axes, plain_names, pyplot, short, wrapped
from linsep.display.look import legend as draw_legend


class ChoiceDisplay:
    """Training risk and cross-validated risk from the simplest model to the richest.

    The bars are one standard error. The dotted line is the best risk plus its standard error;
    the simplest model below it is chosen. The structural bound, if there is one, is drawn in a
    panel of its own, for it is far above.

    Parameters
    ----------
    choice : Choice
        What ``linsep.choose`` gave.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    bound_ax_ : axes or None
        Those of the structural bound.
    train_, cv_ : lines
    bound_ : line or None
    best_, chosen_ : scatter
        The marks of the two choices.

    Examples
    --------
    >>> import linsep, numpy as np
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> choice = linsep.choose(linsep.LinearSVM(), X, X[:, 0] ** 2 > 0.3, "lift degree", [1, 2, 3])
    >>> display = linsep.ChoiceDisplay.from_choice(choice)
    >>> display.cv_.get_ydata().tolist() == choice.cv_risk.tolist()
    True
    """

    def __init__(self, choice: Any) -> None:
        self.choice = choice

    @classmethod
    def from_choice(cls, choice: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw a choice; options are those of ``plot``."""
        return cls(choice).plot(ax, **options)

    @plain_names
    def plot(self, ax: Any = None, *, bound: bool = True, legend: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw, without the bound; a new figure without it.
        bound, legend : bool, default=True
            Whether to draw them.

        Returns
        -------
        self
        """
        choice = self.choice
        bound = bound and ax is None and bool(np.isfinite(choice.bound).any())
        self.ax_, self.bound_ax_ = ax, upper = _panels(ax, bound=bound)
        self.figure_ = ax.figure
        x, ticks = self._places()
        cv = {"color": COLOURS[1], "marker": "o", "lw": 1.8, "label": "cross-validated"}
        error = np.nan_to_num(choice.standard_error)
        ax.errorbar(x, choice.cv_risk, yerr=error, color=COLOURS[1], fmt="none", capsize=3, lw=1.1)
        (self.cv_,) = ax.plot(x, choice.cv_risk, **cv)
        train = {"color": COLOURS[0], "marker": "s", "lw": 1.6, "ls": "--", "label": "training"}
        (self.train_,) = ax.plot(x, choice.train_risk, **train)
        self.bound_ = None
        if upper is not None:
            style = {"color": LIGHT, "marker": "^", "lw": 1.4}
            (self.bound_,) = upper.plot(x, choice.bound, **style)
            _finish_bound(upper, choice.bound)
        best, chosen = choice.best_index, choice.chosen_index
        limit = choice.cv_risk[best] + error[best]
        ax.axhline(limit, color=COLOURS[1], lw=0.9, ls=(0, (1, 2)), label="best + 1 standard error")
        self.best_ = self._mark(x[best], best, "*", "best")
        self.chosen_ = self._mark(x[chosen], chosen, "o", "chosen: simplest within it")
        self._finish(ticks, legend=legend)
        return self

    def _places(self) -> tuple[Any, list[str] | None]:
        """Where the values stand: as numbers, on a logarithmic axis, or one after the other."""
        values = self.choice.values
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            numbers = np.array(values, dtype=float)
            if np.isfinite(numbers).all() and len(set(values)) == len(values):
                if numbers.min() > 0 and numbers.max() / numbers.min() > 50:
                    self.ax_.set_xscale("log")
                return numbers, None
        return np.arange(len(values)), [short(v) for v in values]

    def _mark(self, x: float, k: int, marker: str, name: str) -> Any:
        large = {"*": 210, "o": 190}[marker]
        face = "none" if marker == "o" else COLOURS[1]
        return self.ax_.scatter(
            [x], [self.choice.cv_risk[k]], s=large, marker=marker, facecolors=face, edgecolors=INK,
            linewidths=1.6, zorder=5, label=name,
        )  # fmt: skip

    def _finish(self, ticks: list[str] | None, *, legend: bool) -> None:
        ax, choice = self.ax_, self.choice
        if ticks is not None:
            ax.set_xticks(range(len(ticks)), ticks, rotation=20 if max(map(len, ticks)) > 8 else 0)
        elif all(isinstance(v, int) for v in choice.values) and len(choice.values) <= 20:
            ax.set_xticks(choice.values)
        ends = (self.cv_.get_xdata()[0], self.cv_.get_xdata()[-1])
        if (ends[0] > ends[1]) == (choice.simplest == "first"):
            ax.invert_xaxis()
        ax.set_xlabel(f"{choice.parameter}   (simple on the left, rich on the right)")
        ax.set_ylabel(choice.measure)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
        top = ax if self.bound_ax_ is None else self.bound_ax_
        top.set_title(wrapped(choice.sentence(), 84), fontsize="medium")
        if legend:
            draw_legend(ax)


def _panels(ax: Any, *, bound: bool) -> tuple[Any, Any]:
    """Axes of the risks, and above them axes of the bound if there is one."""
    if not bound:
        return axes(ax, size=(7.4, 4.8)), None
    made = pyplot().subplots(
        2, 1, figsize=(7.4, 6.0), height_ratios=(1, 2.6), sharex=True, layout="constrained"
    )[1]
    return made[1], made[0]


def _finish_bound(ax: Any, bound: Any) -> None:
    """Scale and rule of the small panel; above 1 a bound promises nothing."""
    if np.nanmax(bound) >= 1:
        ax.axhline(1, color=INK, lw=0.8)
        ax.annotate(
            "no promise above 1", (0.01, 1), xycoords=("axes fraction", "data"), fontsize="x-small",
            va="bottom",
        )  # fmt: skip
    ax.set_ylabel("structural\nbound")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25)
