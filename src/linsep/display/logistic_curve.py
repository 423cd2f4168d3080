"""The logistic curve: probability against log odds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.words import count
from linsep.display.look import (
    INK,
    RULE,
    axes,
    draw_points,
    draw_rings,
    plain_names,
    short,
    wrapped,
)
from linsep.display.view import class_numbers
from linsep.errors import CapabilityError
from linsep.risk.linear_rules import inverse_logit, logit

Array = NDArray[np.float64]
_LEAST_WIDTH, _MOST_WIDTH = 6.0, 12.0  # half widths of the picture, in log odds


class LogisticCurveDisplay:
    """The curve P = e^l / (1 + e^l) with its three marked values, and rows on it.

    The marks are P = 1/2 at log odds 0, and the limits 0 and 1 at -inf and +inf. Rows lie at
    their log odds, those of the last class at P = 1 and the others at P = 0.

    Parameters
    ----------
    log_odds : array of shape (n,), optional
        Of the rows; without it the curve alone is drawn.
    labels : array of int, optional
        0 or 1 for each row.
    class_names : pair of str, default=("0", "1")
    title : str

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    curve_ : line
    marks_ : list of (log odds, probability)
        The three marked values.
    points_ : list of scatter
    rings_ : scatter or None
        Rows on the wrong side of 1/2.
    beyond_ : int
        Rows outside the picture, drawn at its edge.

    Examples
    --------
    >>> import linsep
    >>> linsep.LogisticCurveDisplay().plot().marks_
    [(-inf, 0.0), (0.0, 0.5), (inf, 1.0)]
    """

    def __init__(
        self,
        log_odds: Any = None,
        labels: Any = None,
        class_names: Sequence[str] = ("0", "1"),
        *,
        title: str = "P = eˡ / (1 + eˡ)",
    ) -> None:
        self.log_odds = np.zeros(0) if log_odds is None else np.asarray(log_odds, np.float64)
        self.labels = np.zeros(0, np.intp) if labels is None else np.asarray(labels, np.intp)
        self.class_names = list(class_names)
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        model: object,
        X: Any,
        y: Any,
        *,
        class_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the rows of two classes on the curve of a fitted model.

        Parameters
        ----------
        model : classifier
            With log_odds or predict_proba, of two classes.
        X, y
            The rows to draw and their classes.
        class_names : pair of str, optional
        ax : matplotlib axes, optional
        **options
            Passed to ``plot``.

        Returns
        -------
        LogisticCurveDisplay
        """
        name = type(model).__name__
        classes = np.asarray(getattr(model, "classes_", ()))
        if len(classes) != 2:
            raise CapabilityError(
                f"the logistic curve is for fitted models of two classes; {name} has "
                f"{len(classes)}."
            )
        if hasattr(model, "log_odds"):
            values = model.log_odds(X)
        elif hasattr(model, "predict_proba"):
            values = np.asarray(logit(model.predict_proba(X)[:, 1]))
        else:
            raise CapabilityError(f"{name} has no predict_proba.")
        labels = class_numbers(y, classes, len(values))
        wrong = int(((values >= 0) != (labels == 1)).sum())
        display = cls(
            values,
            labels,
            [str(c) for c in (classes if class_names is None else class_names)],
            title=f"{name}: {wrong} of {len(values)} rows on the wrong side of 1/2",
        )
        return display.plot(ax, **options)

    @plain_names
    def plot(
        self, ax: Any = None, *, rings: bool = True, legend: bool = True, title: bool = True
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        rings, legend, title : bool, default=True
            Whether to ring wrong rows, and to draw the legend and the title.

        Returns
        -------
        self
        """
        self.ax_ = ax = axes(ax, size=(7.4, 4.2))
        self.figure_ = ax.figure
        finite = np.abs(self.log_odds[np.isfinite(self.log_odds)])
        reach = float(np.clip(1.05 * finite.max(initial=0.0), _LEAST_WIDTH, _MOST_WIDTH))
        x = np.linspace(-reach, reach, 401)
        self.curve_ = ax.plot(x, inverse_logit(x), color=INK, linewidth=2.2, zorder=3)[0]
        self._draw_marks(reach)
        self._draw_rows(reach, rings=rings)
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-0.13, 1.13)
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
        ax.set_xlabel(self._x_label())
        ax.set_ylabel(f"P({short(self.class_names[1])} | x)")
        ax.spines[["top", "right"]].set_visible(False)
        if legend and len(self.log_odds):
            ax.legend(framealpha=0.9, fontsize="small", loc="lower right", bbox_to_anchor=(1, 0.16))
        if title:
            ax.set_title(wrapped(self.title), fontsize="medium")
        return self

    def _x_label(self) -> str:
        first, last = (short(name) for name in self.class_names)
        words = f"log odds  l = ln P({last} | x) / P({first} | x)"
        beyond = count(self.beyond_, "row")
        return words + (f"; {beyond} further out, at the edge" if self.beyond_ else "")

    def _draw_marks(self, reach: float) -> None:
        ax = self.ax_
        self.marks_ = [(-np.inf, 0.0), (0.0, 0.5), (np.inf, 1.0)]
        for p in (0.0, 1.0):
            ax.axhline(p, color=RULE, linewidth=1.0, linestyle=(0, (5, 3)), zorder=1)
        ax.plot([0, 0, -reach], [-0.13, 0.5, 0.5], color=RULE, linewidth=1.0, zorder=1)
        ax.plot([0.0], [0.5], marker="o", markersize=8, color=INK, zorder=5)
        notes = [
            (-0.97 * reach, 0.07, "P → 0 as l → −∞", "left"),
            (-0.04 * reach, 0.56, "P = 1/2 at l = 0", "right"),
            (0.97 * reach, 0.93, "P → 1 as l → +∞", "right"),
        ]
        for at, height, words, side in notes:
            ax.text(at, height, words, ha=side, va="center", fontsize="small", color=INK)

    def _draw_rows(self, reach: float, *, rings: bool) -> None:
        self.points_, self.rings_, self.beyond_ = [], None, 0
        if not len(self.log_odds):
            return
        self.beyond_ = int((np.abs(self.log_odds) > reach).sum())
        points = np.column_stack(
            [np.clip(self.log_odds, -reach, reach), self.labels.astype(np.float64)]
        )
        self.points_ = draw_points(self.ax_, points, self.labels, self.class_names)
        if rings:
            wrong = (self.log_odds >= 0) != (self.labels == 1)
            words = "wrong side of 1/2"
            self.rings_ = draw_rings(self.ax_, points[wrong], words, n=len(points))
