"""A plane in the space of a lift, and the boundary that it is in the space of the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.display.areas import HOLDS, draw_areas, draw_spans, draw_street, grid_of
from linsep.display.geometry import box_around, line_in_box
from linsep.display.look import (
    INK,
    RULE,
    dense,
    draw_line,
    draw_plane_in_box,
    draw_points,
    draw_points_in_space,
    draw_rings,
    frame,
    plain_names,
    pyplot,
    wrapped,
)
from linsep.display.look import legend as draw_legend
from linsep.display.view import class_numbers, has_street
from linsep.errors import CapabilityError

Array = NDArray[np.float64]
_DASHES = {"color": INK, "linewidth": 1.1, "linestyle": (0, (5, 3)), "zorder": 3}


class LiftDisplay:
    """Rows and boundary in the space of the inputs, and beside it the lifted rows and the plane.

    One input is shown as a line with the function f(x) over it, two inputs as a plane. The lifted
    rows are shown if they have two or three coordinates.

    Parameters
    ----------
    pullback : Pullback
        The rule as a function of the inputs.
    rows : array of shape (n, 1 or 2)
        The inputs.
    labels : array of int
        Class number of each row.
    class_names : sequence of str
        Names for the legend.
    title : str
        The sentence above the picture.

    Attributes
    ----------
    figure_, ax_ : matplotlib figure, and the axes of the inputs
    space_ : axes or None
        Those of the lifted rows.
    planes_ : list of array of shape (k, 3)
        Corners of the planes among lifted rows of three coordinates.
    lines_ : list of line
        The boundary among the inputs: one for each root, or the lines of a contour.
    curve_ : line or None
        f(x) over the line of one input.
    rings_, holding_ : scatter or None
        Rings around rows on the wrong side, and around those that hold the street of a machine.
    street_ : list of line, or contour set, or None
        Of a support vector machine where f is -1 and 1 among the inputs.

    Examples
    --------
    >>> import linsep
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = linsep.data.load("xor-01")
    >>> model = make_pipeline(linsep.Lift("x1, x2, (x1 - x2)**2"), linsep.Kozinec()).fit(X, y)
    >>> display = linsep.LiftDisplay.from_estimator(model, X, y)
    >>> len(display.lines_), display.space_.name
    (2, '3d')
    """

    def __init__(
        self,
        pullback: Any,
        rows: Array,
        labels: NDArray[np.intp],
        class_names: Sequence[str],
        *,
        title: str = "",
    ) -> None:
        self.pullback = pullback
        self.rows = rows
        self.labels = labels
        self.class_names = list(class_names)
        self.title = title
        self.street = False

    @classmethod
    def from_estimator(cls, model: object, X: Any, y: Any, **options: Any) -> Self:
        """Draw a fitted pipeline of a lift and a linear classifier.

        Parameters
        ----------
        model : fitted Pipeline
            With a ``Lift`` among its steps.
        X : array or data frame of shape (n, 1 or 2)
        y : array of shape (n,)
        **options
            As for ``from_pullback``.

        Returns
        -------
        LiftDisplay
        """
        steps = getattr(model, "steps", None)
        for _, step in steps if isinstance(steps, list) else []:
            if hasattr(step, "pullback"):
                options.setdefault("street", has_street(model))
                return cls.from_pullback(step.pullback(model), X, y, **options)
        raise CapabilityError(
            f"{type(model).__name__} holds no Lift; give a pipeline of a Lift and a linear "
            "classifier, or use DecisionDisplay."
        )

    @classmethod
    def from_pullback(
        cls,
        pullback: Any,
        X: Any,
        y: Any,
        *,
        class_names: Sequence[str] | None = None,
        street: bool = False,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a pullback.

        Parameters
        ----------
        pullback : Pullback
        X, y
            The rows and their classes.
        class_names : sequence of str, optional
            Names of the classes in their order.
        street : bool, default=False
            Whether to draw where f is -1 and 1, the street of a support vector machine.
        ax : matplotlib axes, optional
            Draw the inputs only, here.
        **options
            Passed to ``plot``.

        Returns
        -------
        LiftDisplay
        """
        rows = dense(X)
        if pullback.n_inputs > 2:
            raise CapabilityError(
                f"the lift has {pullback.n_inputs} inputs; a picture needs one or two. Draw the "
                "lifted rows with DecisionDisplay: model[-1] and model[:-1].transform(X)."
            )
        labels = class_numbers(y, pullback.classes, len(rows))
        names = pullback.classes if class_names is None else class_names
        display = cls(pullback, rows, labels, [str(n) for n in names], title=_title(pullback))
        display.street = street and len(pullback.coef) == 1
        return display.plot(ax, **options)

    @plain_names
    def plot(self, ax: Any = None, *, space: bool = True, legend: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Draw the inputs only, here.
        space : bool, default=True
            Whether to show the lifted rows too, if there is no ax.
        legend : bool, default=True

        Returns
        -------
        self
        """
        features = self.pullback.chain(self.rows)
        self.lines_: list[Any] = []
        self.curve_: Any = None
        self.space_: Any = None
        self.planes_: list[Array] = []
        self.street_: Any = None
        self._panels(ax, features.shape[1] if space else 0)
        wrong = self.pullback.numbers(self.rows) != self.labels
        if self.pullback.n_inputs == 1:
            self._draw_line(wrong)
        else:
            self._draw_plane(wrong)
        self._draw_space(features)
        if legend:
            draw_legend(self.ax_)
        words = "\n".join(wrapped(line, 96) for line in self.title.splitlines())
        if ax is None:
            self.figure_.suptitle(words, fontsize="medium")
        else:
            self.ax_.set_title(words, fontsize="medium")
        return self

    # -- inside ---------------------------------------------------------------------------

    def _panels(self, ax: Any, width: int) -> None:
        if ax is not None or width not in (2, 3):
            self.ax_ = ax or pyplot().subplots(figsize=(6.4, 5.0), layout="constrained")[1]
            self.figure_ = self.ax_.figure
            return
        self.figure_ = pyplot().figure(figsize=(11.0, 5.0), layout="constrained")
        self.ax_ = self.figure_.add_subplot(1, 2, 1)
        kind = {"projection": "3d"} if width == 3 else {}
        self.space_ = self.figure_.add_subplot(1, 2, 2, **kind)

    def _draw_space(self, features: Array) -> None:
        if self.space_ is None:
            return
        given = (self.space_, self.pullback, features, self.labels, self.class_names)
        if features.shape[1] == 3:
            self.planes_ = draw_feature_space(*given)
        else:
            draw_feature_plane(*given, street=self.street)

    def _draw_line(self, wrong: NDArray[np.bool_]) -> None:
        ax, x, pullback = self.ax_, self.rows[:, 0], self.pullback
        box = box_around(np.column_stack([x, 0 * x]))
        low, high = float(box[0, 0]), float(box[1, 0])
        cuts = pullback.intervals(low, high)
        classes = pullback.classes.tolist()
        numbered = [(a, b, -1 if c is None else classes.index(c)) for a, b, c in cuts]
        draw_spans(ax, numbered, low, high)
        grid = np.linspace(low, high, 600)
        scores = pullback(grid).reshape(len(grid), -1)
        for k in range(scores.shape[1]):
            name = "f(x)" if scores.shape[1] == 1 else f"score of {self.class_names[k]}"
            dash = ("-", "--", ":", "-.")[k % 4]
            (line,) = ax.plot(grid, scores[:, k], color=INK, lw=1.6, ls=dash, label=name, zorder=2)
            self.curve_ = self.curve_ or line
        ax.axhline(0, color=RULE, linewidth=1, zorder=1)
        if self.street:
            style = {**_DASHES, "label": "street: f(x) = ±1"}
            self.street_ = [ax.axhline(-1.0, **style), ax.axhline(1.0, **style | {"label": None})]
        for root in pullback.roots(low, high).tolist():
            text = "boundary" if not self.lines_ else None
            style = {"color": INK, "linewidth": 1.1, "linestyle": (0, (4, 3)), "label": text}
            self.lines_.append(ax.axvline(root, zorder=2, **style))
        points = np.column_stack([x, 0 * x])
        draw_points(ax, points, self.labels, self.class_names)
        self._draw_rings(points, wrong)
        self._finish_line(scores, low, high)

    def _draw_rings(self, points: Array, wrong: NDArray[np.bool_]) -> None:
        n, self.holding_ = len(points), None
        if self.street:
            values = np.where(self.labels == 1, 1.0, -1.0) * self.pullback.scores(self.rows)
            held = points[(values <= 1 + 1e-3) & ~wrong]
            self.holding_ = draw_rings(self.ax_, held, HOLDS, bold=False, n=n)
        self.rings_ = draw_rings(self.ax_, points[wrong], "wrong side", n=n)

    def _finish_line(self, scores: Array, low: float, high: float) -> None:
        ax = self.ax_
        ax.set_xlim(low, high)
        size = float(np.nanmax(np.abs(scores))) or 1.0
        floor = float(np.nanmin(scores))
        ax.set_ylim(min(floor, -0.25 * size) - 0.05 * size, max(float(np.nanmax(scores)), 0) * 1.1)
        ax.set_xlabel(self.pullback.names[0])
        ax.set_ylabel("w·φ(x) + b")
        ax.spines[["top", "right"]].set_visible(False)

    def _draw_plane(self, wrong: NDArray[np.bool_]) -> None:
        ax, pullback = self.ax_, self.pullback
        box = box_around(self.rows, pad=0.2)
        draw_areas(ax, lambda g: pullback.numbers(g), box, len(self.class_names), edges=False)
        for line in pullback.contour(tuple(box[:, 0]), tuple(box[:, 1])):
            text = "boundary" if not self.lines_ else None
            style = {"color": INK, "linewidth": 1.8, "zorder": 3, "label": text}
            self.lines_.append(draw_line(ax, line, **style))
        if self.street:
            x, y, grid = grid_of(box)
            self.street_ = draw_street(ax, x, y, pullback.scores(grid))
        draw_points(ax, self.rows, self.labels, self.class_names)
        self._draw_rings(self.rows, wrong)
        frame(ax, box, equal=False)
        ax.set_xlabel(pullback.names[0])
        ax.set_ylabel(pullback.names[1])


def _title(pullback: Any) -> str:
    """The rule, if it is short enough to be read above a picture."""
    lines = pullback.text(4).splitlines()
    if "that is" in lines:  # the picture of one input shows the intervals of many classes
        lines = lines[: lines.index("that is")]
    if len(lines) <= 5 and max(map(len, lines)) <= 180:
        return "\n".join(lines)
    kind = "a sum of functions"
    if pullback.polynomials is not None:
        kind = f"a polynomial of degree {max(p.degree for p in pullback.polynomials)}"
    return f"f is {kind} of {' and '.join(pullback.names)}; {len(pullback.classes)} classes"


# -- Lifted rows with the plane that a model draws among them, in two or three coordinates --------


def draw_feature_plane(
    ax: Any,
    pullback: Any,
    features: Array,
    labels: NDArray[np.intp],
    names: Sequence[str],
    *,
    street: bool = False,
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
    for side in (-1.0, 1.0) if street else ():
        ends = line_in_box(pullback.coef[0], float(pullback.intercept[0]) - side, box)
        if ends is not None:
            draw_line(ax, ends, **_DASHES)
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
    draw_points_in_space(ax, features, labels, names)
    planes = [
        draw_plane_in_box(ax, weights, offset, box) for weights, offset in _differences(pullback)
    ]
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
