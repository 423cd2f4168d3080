"""A linear rule as a neuron: inputs, weights, a sum, an activation."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.protocol import has_planes
from linsep.display.look import COLOURS, INK, RULE, axes, plain_names, short
from linsep.errors import CapabilityError, require

Array = NDArray[np.float64]
_IN_A_CIRCLE = 3  # letters of a name
_DRAWN_INPUTS = 12  # inputs drawn before the rest is left out
_UNITS = 8


class NeuronDisplay:
    """Inputs on the left, one unit for two classes or one a class, its activation, its answer.

    Edges are as wide as the share of their weight; dashed edges are negative.

    Parameters
    ----------
    coef : array of shape (units, n_features)
    intercept : array of shape (units,)
    names : list of str
        Of the inputs.
    classes : list of str
    activation : {"step", "sigmoid", "largest"}
        What the unit does with its sum.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    edges_ : list of line
        From the inputs to the units, row by row of ``coef``.
    shown_ : array of int
        Inputs that are drawn, those of the largest weights if there are many.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("students")
    >>> model = linsep.Perceptron().fit(table.X, table.y)
    >>> display = linsep.NeuronDisplay.from_estimator(model)
    >>> display.activation, len(display.edges_)
    ('step', 5)
    """

    def __init__(
        self,
        coef: Array,
        intercept: Array,
        names: list[str],
        classes: list[str],
        *,
        activation: str = "step",
    ) -> None:
        self.coef = coef
        self.intercept = intercept
        self.names = names
        self.classes = classes
        self.activation = activation

    @classmethod
    def from_estimator(cls, model: object, *, ax: Any = None) -> Self:
        """Draw a fitted linear classifier.

        Parameters
        ----------
        model : fitted estimator
            With ``coef_``, ``intercept_`` and ``classes_``, of linsep or scikit-learn.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        NeuronDisplay
        """
        if not has_planes(model):
            raise CapabilityError(
                f"{type(model).__name__} has no coef_; a neuron shows a fitted linear classifier."
            )
        coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
        intercept = np.broadcast_to(np.ravel(model.intercept_), (len(coef),)).astype(np.float64)
        if len(coef) > _UNITS:
            raise CapabilityError(f"{len(coef)} units are too many for a picture; 8 fit.")
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            names = [f"x{j + 1}" for j in range(coef.shape[1])]
        activation = "largest" if len(coef) > 1 else "step"
        if len(coef) == 1 and any("Logistic" in kind.__name__ for kind in type(model).__mro__):
            activation = "sigmoid"
        classes = [str(c) for c in model.classes_]
        return cls(coef, intercept, [str(n) for n in names], classes, activation=activation).plot(
            ax
        )

    @plain_names
    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        self
        """
        size = np.abs(self.coef).max(axis=0)
        rows = min(self.coef.shape[1], _DRAWN_INPUTS) + 1
        self.ax_ = ax = axes(ax, size=(7.6, max(4.8, 0.42 * max(rows, len(self.coef)))))
        self.figure_ = ax.figure
        ax.set_axis_off()
        self.shown_ = np.sort(np.argsort(-size, kind="stable")[:_DRAWN_INPUTS])
        labels = [short(self.names[j], 20) for j in self.shown_]
        left_out = self.coef.shape[1] - len(labels)
        inputs = _column(len(labels) + 1)
        self._tall = min(0.15, 0.8 / len(inputs))
        units = _column(len(self.coef))
        self._draw_edges(inputs, units)
        boxed = any(len(name) > _IN_A_CIRCLE for name in labels)
        for name, y in zip([*labels, "1"], inputs):
            _node(ax, 0.0, y, name, face="white", tall=self._tall, boxed=boxed)
        if left_out:
            words = f"and {left_out} inputs of smaller weight"
            ax.text(0.0, -0.62, words, ha="center", va="top", fontsize="small", color=RULE)
        for k, y in enumerate(units):
            _node(ax, 1.0, y, "Σ", face="#f2f2f2")
            self._draw_answer(k, y)
        ax.set_xlim(-0.25, 2.2)
        ax.set_ylim(-0.68, 0.62)
        return self

    # -- inside ---------------------------------------------------------------------------

    def _draw_edges(self, inputs: Array, units: Array) -> None:
        largest = float(np.abs(np.column_stack([self.coef, self.intercept])).max()) or 1.0
        self.edges_ = []
        for k, y in enumerate(units):
            weights = np.append(self.coef[k, self.shown_], self.intercept[k])
            for start, weight in zip(inputs, weights):
                (line,) = self.ax_.plot(
                    [0.0, 1.0], [start, y], zorder=1, linewidth=0.6 + 3.4 * abs(weight) / largest,
                    color=COLOURS[0] if weight < 0 else COLOURS[1],
                    linestyle=(0, (4, 2)) if weight < 0 else "-",
                )  # fmt: skip
                self.edges_.append(line)
                if len(units) == 1:
                    _on_edge(self.ax_, start, y, f"{weight:.4g}")

    def _draw_answer(self, k: int, y: float) -> None:
        ax = self.ax_
        ax.plot([1.0, 1.5], [y, y], color=INK, linewidth=1.2, zorder=1)
        if self.activation == "largest":
            ax.text(
                1.54, y, f"score of {short(self.classes[k], 14)}", va="center", fontsize="small"
            )
            if k == 0:
                words = "the largest score decides"
                ax.text(1.54, 0.58, words, va="top", fontsize="small", color=RULE)
            return
        _node(ax, 1.5, y, "", face="white")
        at = np.linspace(-1, 1, 81)
        curve = np.where(at >= 0, 1.0, -1.0) if self.activation == "step" else np.tanh(3 * at)
        ax.plot(1.5 + 0.055 * at, y + 0.05 * curve, color=INK, linewidth=1.6, zorder=5)
        ax.plot([1.5, 1.78], [y, y], color=INK, linewidth=1.2, zorder=1)
        last, first = short(self.classes[1], 14), short(self.classes[0], 14)
        words = f"{last} if the sum ≥ 0,\n{first} otherwise"
        if self.activation == "sigmoid":
            words = f"probability of {last}"
        ax.text(1.8, y, words, va="center", fontsize="small")


def _column(count: int) -> Array:
    """Heights of nodes one above the other."""
    return np.zeros(1) if count == 1 else np.linspace(0.5, -0.5, count)


def _node(
    ax: Any, x: float, y: float, words: str, *, face: str, tall: float = 0.15, boxed: bool = False
) -> None:
    patches = require("matplotlib.patches", extra="plot")
    if not boxed:
        ax.add_artist(patches.Ellipse((x, y), 0.17, tall, facecolor=face, edgecolor=INK, zorder=3))
    box = {"boxstyle": "round", "facecolor": face, "edgecolor": INK} if boxed else None
    ax.text(x, y, words, ha="center", va="center", zorder=4, fontsize="small", bbox=box)


def _on_edge(ax: Any, start: float, end: float, words: str) -> None:
    """A number on an edge, nearer to the input, where edges are apart."""
    share = 0.36
    box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "none"}
    ax.text(
        share, start + share * (end - start), words, ha="center", va="center", fontsize="small",
        zorder=2, bbox=box,
    )  # fmt: skip
