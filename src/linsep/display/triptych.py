"""One data set under three classes of rules: too poor, right, too rich."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import Predictor
from linsep.display.areas import draw_areas, draw_spans
from linsep.display.geometry import box_around
from linsep.display.look import (
    INK,
    RULE,
    dense,
    draw_points,
    draw_rings,
    frame,
    plain_names,
    pyplot,
    short,
)
from linsep.display.look import legend as draw_legend
from linsep.display.view import class_numbers, feature_names
from linsep.errors import CapabilityError, SettingError

Array = NDArray[np.float64]


class TriptychDisplay:
    """Underfit, fit and overfit: three models of a choice on the same rows of one or two features.

    Training risk and cross-validated risk are written on each panel.

    Parameters
    ----------
    choice : Choice
        What ``linsep.choose`` gave.
    rows : array of shape (n, 1 or 2)
    labels : array of int
        Class number of each row.
    classes : array
    indices : list of int
        Which values of the choice to show, from the simplest on.
    names : list of str
        Names of the features.

    Attributes
    ----------
    figure_ : matplotlib figure
    axes_ : list of axes
    words_ : list of str
        What is written above each panel.

    Examples
    --------
    >>> import linsep, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(60, 2))
    >>> y = X[:, 1] > X[:, 0] ** 2 - 0.3
    >>> choice = linsep.choose(linsep.LinearSVM(C=10), X, y, "lift degree", [1, 2, 6])
    >>> len(linsep.TriptychDisplay.from_choice(choice, X, y).axes_)
    3
    """

    def __init__(
        self,
        choice: Any,
        rows: Array,
        labels: NDArray[np.intp],
        classes: NDArray[Any],
        *,
        indices: Sequence[int],
        names: Sequence[str],
    ) -> None:
        self.choice, self.rows, self.labels, self.classes = choice, rows, labels, classes
        self.indices, self.names = list(indices), list(names)

    @classmethod
    def from_choice(
        cls, choice: Any, X: Any, y: Any, *, indices: Sequence[int] | None = None
    ) -> Self:
        """Draw models of a choice.

        Parameters
        ----------
        choice : Choice
        X, y
            The rows that it was made with.
        indices : sequence of int, optional
            Places among choice.values; without it the simplest, the chosen and the richest.

        Returns
        -------
        TriptychDisplay
        """
        rows = dense(X)
        if rows.shape[1] > 2:
            raise CapabilityError(
                f"X has {rows.shape[1]} features; this picture needs one or two: choose columns."
            )
        n = len(choice.values)
        order = list(range(n)) if choice.simplest == "first" else list(range(n))[::-1]
        if indices is None:
            middle = choice.chosen_index
            if middle in (order[0], order[-1]) and n > 2:
                middle = order[n // 2]
            indices = list(dict.fromkeys([order[0], middle, order[-1]]))
        if not indices or not all(-n <= k < n for k in indices):
            raise SettingError(f"indices is {indices!r}; the choice has values 0 to {n - 1}.")
        classes = np.unique(np.asarray(y))
        labels = class_numbers(y, classes, len(rows))
        names = feature_names(X, rows.shape[1], None)
        return cls(choice, rows, labels, classes, indices=indices, names=names).plot()

    @plain_names
    def plot(self) -> Self:
        """Draw."""
        count, flat = len(self.indices), self.rows.shape[1] == 1
        size = (4.1 * count, 2.6 if flat else 4.4)
        self.figure_, grid = pyplot().subplots(
            1, count, figsize=size, squeeze=False, sharex=True, sharey=True, layout="constrained"
        )
        self.axes_ = list(grid[0])
        self.words_: list[str] = []
        for ax, k in zip(self.axes_, self.indices):
            self._panel(ax, k)
        draw_legend(self.axes_[0])
        return self

    def _panel(self, ax: Any, k: int) -> None:
        choice, model = self.choice, self.choice.estimators_[k]
        flat = self.rows.shape[1] == 1
        points = np.column_stack([self.rows, 0 * self.rows]) if flat else self.rows
        box = box_around(points, pad=0.08)

        def numbers(grid: Array) -> NDArray[np.intp]:
            return class_numbers(_predict(model, grid), self.classes, len(grid))

        if flat:
            self._spans(ax, numbers, float(box[0, 0]), float(box[1, 0]))
        else:
            draw_areas(ax, numbers, box, len(self.classes))
        draw_points(ax, points, self.labels, [str(c) for c in self.classes])
        wrong = numbers(self.rows) != self.labels
        draw_rings(ax, points[wrong], "wrong", n=len(points))
        frame(ax, box, equal=False)
        if flat:
            ax.set_ylim(-1, 1)
            ax.set_yticks([])
        ax.set_xlabel(self.names[0])
        if not flat and ax is self.axes_[0]:
            ax.set_ylabel(self.names[1])
        words = f"{choice.parameter} {short(choice.values[k])}{self._verdict(k)}\n"
        words += f"training {choice.empirical_risk[k]:.3f}, cross-validated {choice.cv_risk[k]:.3f}"
        ax.set_title(words, fontsize="medium")
        self.words_.append(words)

    def _spans(self, ax: Any, numbers: Any, low: float, high: float) -> None:
        grid = np.linspace(low, high, 2001)
        found = numbers(grid[:, None])
        cuts = np.flatnonzero(found[1:] != found[:-1])
        ends = [low, *((grid[cuts] + grid[cuts + 1]) / 2), high]
        kinds = [*found[cuts].tolist(), int(found[-1])]
        draw_spans(ax, list(zip(ends, ends[1:], kinds)), low, high)
        for cut in ends[1:-1]:
            ax.axvline(cut, color=INK, linewidth=1.4, zorder=3)
        ax.axhline(0, color=RULE, linewidth=1, zorder=1)

    def _verdict(self, k: int) -> str:
        """Too poor or too rich: worse than the best by more than its standard error."""
        choice = self.choice
        limit = choice.cv_risk[choice.best_index]
        limit += np.nan_to_num(choice.standard_error[choice.best_index])
        if k == choice.chosen_index:
            return ": chosen"
        if choice.cv_risk[k] <= limit:
            return ""
        simple = k < choice.chosen_index
        return ": underfit" if simple == (choice.simplest == "first") else ": overfit"


def _predict(model: Predictor, grid: Array) -> Any:
    """Predictions for a plain array, also where the model was fitted on a data frame."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return model.predict(grid)
