"""The boundary of a linear model behind a lift, as a function of the inputs.

    f(x) = w . phi(x) + b,    {x : f(x) = 0} is the preimage of the plane

Where phi is polynomial, f is known exactly: a polynomial with rational coefficients.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from linsep.errors import CapabilityError, DataError, ModelError, SettingError, require
from linsep.lift.polynomial import Monomial, NotPolynomialError, Polynomial, monomial_text
from linsep.lift.transformer import Lift, column_texts

Array = NDArray[np.float64]


class Pullback:
    """A linear rule of the lifted rows, seen from the inputs; made by ``pullback``.

    Call it with rows to get the scores: shape (n,) for two classes, (n, K) for more. A single
    point has a single score, and f(x1, x2) takes the inputs one by one, numbers or arrays.

    Parameters
    ----------
    chain : Chain
        The steps before the linear model.
    coef : array of shape (1 or K, m)
    intercept : array of shape (1 or K,)
    classes : array of shape (2 or K,)

    Attributes
    ----------
    names : list of str
        The inputs, as a lift writes them.
    exact : bool
        Whether the function is a polynomial with exactly known coefficients.
    polynomials : list of Polynomial or None
        One for two classes, else one for each class; exact.
    """

    def __init__(self, chain: Chain, coef: Array, intercept: Array, classes: NDArray[Any]) -> None:
        self.chain, self.coef, self.intercept, self.classes = chain, coef, intercept, classes
        self.names = chain.names
        self.polynomials = _combined(chain.polynomials, coef, intercept)
        self.exact = self.polynomials is not None

    @property
    def n_inputs(self) -> int:
        """How many inputs there are."""
        return self.chain.n_inputs

    @property
    def polynomial(self) -> Any:
        """Coefficients by monomial, {"x**2": 3.12, "x": -1.5, "1": -0.12}; None if not polynomial.

        For more than two classes a list, one for each class.
        """
        if self.polynomials is None:
            return None
        out = [
            {monomial_text(m, self.names): float(c) for m, c in p.sorted()}
            for p in self.polynomials
        ]
        return out[0] if len(out) == 1 else out

    def __call__(self, *X: Any) -> Any:
        """The scores of rows, of a single point, or of coordinates given one by one."""
        if len(X) > 1:
            return self._of_coordinates(X)
        scores = self.scores(X[0])
        single = np.ndim(X[0]) == (0 if self.n_inputs == 1 else 1)
        return scores[0] if single else scores

    def scores(self, X: Any) -> Array:
        """The scores of rows: shape (n,) for two classes, (n, K) for more."""
        scores = self.chain(self._rows(X)) @ self.coef.T + self.intercept
        return np.asarray(scores[:, 0] if len(self.coef) == 1 else scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of the rows; a score of exactly 0 is the last of two classes."""
        numbers = self.numbers(X)
        if (numbers < 0).any():
            row = int(np.flatnonzero(numbers < 0)[0])
            raise DataError(f"the lift has no finite value at row {row}; drop that row.")
        return np.asarray(self.classes[numbers])

    def numbers(self, X: Any) -> NDArray[np.intp]:
        """Class numbers of the rows; -1 where the lift has no finite value."""
        return self._numbers(self.scores(X))

    def text(self, digits: int = 6) -> str:
        """The rule in words of the inputs, and for one input also as intervals."""
        return rule(self, digits)

    # -- one input --------------------------------------------------------------------------

    def roots(self, low: float | None = None, high: float | None = None) -> Array:
        """Where the score of two classes is zero; for more classes, where the class changes.

        Polynomials: all real roots, none missed. Other functions: those found by sign changes
        between 4097 equally spaced points from ``low`` to ``high``; without these, in the range
        of the data that the lift was fitted on and a tenth of it on either side.

        Returns
        -------
        array, ascending
        """
        self._require_inputs(1, "roots")
        low, high = part_of_line(low, high)
        if self.polynomials is None:
            pairs = sign_changes(self.numbers, *self.limits(low, high))
            return np.array([a for a, b in pairs if self._vanishes(a, b)], dtype=np.float64)
        if len(self.coef) > 1:
            return np.array([a for a, _, _ in self.intervals(low, high)[1:]], dtype=np.float64)
        return np.array(cuts_of(self.polynomials, low, high), dtype=np.float64)

    def intervals(
        self, low: float | None = None, high: float | None = None
    ) -> list[tuple[float, float, Any]]:
        """The line cut into pieces of one class each: [(from, to, class), ...].

        Polynomials: the whole line, or the part from ``low`` to ``high``. Other functions: the
        part that ``roots`` searches, and a class of None where the function has no value. A
        single point where a score touches zero is not an interval.
        """
        self._require_inputs(1, "intervals")
        low, high = part_of_line(low, high)
        if self.polynomials is not None:
            pieces = exact_pieces(self.polynomials, low, high)
        else:
            pieces = searched_pieces(self.numbers, *self.limits(low, high))
        return merged(pieces, self.classes.tolist())

    def limits(self, low: float | None = None, high: float | None = None) -> tuple[float, float]:
        """The part of the line that is searched when the function is no polynomial."""
        known = self.chain.limits()
        if known is None and (low is None or high is None):
            raise CapabilityError(
                "this function is no polynomial, and where the data lie is not known; say where "
                "to search: low=..., high=..."
            )
        if known is not None:
            span = float(known[1][0] - known[0][0]) or 1.0
            low = float(known[0][0]) - 0.1 * span if low is None else low
            high = float(known[1][0]) + 0.1 * span if high is None else high
        part_of_line(low, high)
        assert low is not None and high is not None
        return float(low), float(high)

    # -- two inputs -------------------------------------------------------------------------

    def contour(
        self,
        xlim: tuple[float, float] | None = None,
        ylim: tuple[float, float] | None = None,
        *,
        points: int = 200,
    ) -> list[Array]:
        """The boundary in a rectangle of the plane of two inputs, as lines.

        Parameters
        ----------
        xlim, ylim : pair of float, optional
            The rectangle; without it the range of the data that the lift was fitted on and a
            tenth of it on either side.
        points : int, default=200
            How many points a side the function is computed at. Details between them are not
            seen; the corners of the lines lie on the boundary to the last digits.

        Returns
        -------
        list of array of shape (k, 2)
            For more than two classes the borders of all regions.
        """
        self._require_inputs(2, "a contour")
        return contour_lines(self, self.box(xlim, ylim), points)

    def box(
        self, xlim: tuple[float, float] | None = None, ylim: tuple[float, float] | None = None
    ) -> Array:
        """Corners (low, high) of the rectangle that a contour covers."""
        known = self.chain.limits()
        if known is None and (xlim is None or ylim is None):
            raise CapabilityError("where the data lie is not known; give xlim=... and ylim=...")
        sides = []
        for axis, given in enumerate((xlim, ylim)):
            if given is None:
                assert known is not None
                span = float(known[1][axis] - known[0][axis]) or 1.0
                given = (known[0][axis] - 0.1 * span, known[1][axis] + 0.1 * span)
            if not given[0] < given[1]:
                raise DataError(f"the limits {given!r} are not ascending.")
            sides.append(given)
        return np.array(sides, dtype=np.float64).T

    def plot(self, X: Any, y: Any, **options: Any) -> Any:
        """Draw the rows and the boundary in the space of the inputs; see ``LiftDisplay``."""
        from linsep.display.lift import LiftDisplay

        return LiftDisplay.from_pullback(self, X, y, **options)

    def __repr__(self) -> str:
        kind = "exact polynomial" if self.exact else "function"
        return f"Pullback({kind} of {', '.join(self.names[:6])}; {len(self.classes)} classes)"

    # -- inside -----------------------------------------------------------------------------

    def _rows(self, X: Any) -> Array:
        rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        if rows.ndim < 2:
            rows = rows.reshape(-1, 1) if self.n_inputs == 1 else rows.reshape(1, -1)
        if rows.ndim != 2 or rows.shape[1] != self.n_inputs:
            raise DataError(
                f"X has shape {np.shape(X)}; rows of {self.n_inputs} inputs are needed."
            )
        return rows

    def _of_coordinates(self, coordinates: Sequence[Any]) -> Any:
        if len(coordinates) != self.n_inputs:
            raise DataError(
                f"{len(coordinates)} coordinates are given; the lift has {self.n_inputs} inputs."
            )
        arrays = np.broadcast_arrays(*coordinates)
        scores = self.scores(np.column_stack([np.ravel(a) for a in arrays]))
        return scores.reshape(arrays[0].shape + scores.shape[1:])[()]

    def _require_inputs(self, count: int, what: str) -> None:
        if self.n_inputs != count:
            way = {1: "roots() and intervals()", 2: "contour()"}.get(self.n_inputs)
            hint = f"; use {way}" if way else "; fix all other inputs yourself"
            raise CapabilityError(
                f"{what} need {count} input{'s'[: count > 1]}; this lift has {self.n_inputs}{hint}."
            )

    def _numbers(self, scores: Array) -> NDArray[np.intp]:
        """Class numbers of scores; -1 for NaN."""
        if scores.ndim == 1:
            numbers = (scores >= 0).astype(np.intp)
            return np.where(np.isnan(scores), -1, numbers)
        return np.where(np.isnan(scores).any(axis=1), -1, scores.argmax(axis=1))

    def _vanishes(self, a: float, b: float) -> bool:
        """Whether the function goes through zero between two neighbours, not past it."""
        if len(self.coef) > 1:
            return True
        near = self(np.array([a, b]))
        step = 1e-6 * max(abs(a), abs(b), 1e-300)
        around = self(np.array([a - step, b + step]))
        return bool(np.abs(near).max() <= 0.5 * np.nanmax(np.abs(around)))


def _combined(
    features: list[Polynomial] | None, coef: Array, intercept: Array
) -> list[Polynomial] | None:
    """w . phi(x) + b, exactly."""
    if features is None:
        return None
    out = []
    for weights, offset in zip(coef.tolist(), intercept.tolist()):
        terms: dict[Monomial, Fraction] = {(): Fraction(offset)}
        for weight, feature in zip(weights, features):
            w = Fraction(weight)
            for monomial, c in feature.terms.items():
                terms[monomial] = terms.get(monomial, Fraction(0)) + w * c
        out.append(Polynomial(terms))
    return out


# -- Pullbacks of fitted pipelines and of linear models behind a lift -----------------------------


def pullback(model: object) -> Pullback:
    """The boundary of a pipeline that ends in a linear classifier, as a function of its inputs.

    Parameters
    ----------
    model : fitted Pipeline
        Lifts, scalers (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler) and
        PolynomialFeatures in any order keep the function exact where it is a polynomial;
        other transformers are computed.

    Returns
    -------
    Pullback

    Examples
    --------
    >>> import linsep
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = [[-2.0], [-1.0], [0.0], [0.5], [2.0]], [1, 1, 0, 0, 1]
    >>> model = make_pipeline(linsep.Lift("x, x**2"), linsep.Kozinec(eps=1e-9)).fit(X, y)
    >>> f = linsep.lift.pullback(model)
    >>> [(round(a, 3), round(b, 3), label) for a, b, label in f.intervals()]
    [(-inf, -0.618, 1), (-0.618, 1.618, 0), (1.618, inf, 1)]
    """
    if not isinstance(model, Pipeline):
        raise CapabilityError(
            f"{type(model).__name__} is no pipeline; use lift.pullback(model) with the lift that "
            "made its features."
        )
    steps = [step for _, step in model.steps]
    return pullback_of_steps(steps[:-1], steps[-1])


def pullback_of_steps(steps: Sequence[Any], model: object) -> Pullback:
    """The same from the fitted steps and the model, or a pair (coef, intercept)."""
    chain = Chain(steps)
    coef, intercept, classes = _plane(model)
    width = chain(np.zeros((1, chain.n_inputs))).shape[1]
    if coef.shape[1] != width:
        raise ModelError(f"the model has {coef.shape[1]} weights, and the lift {width} outputs.")
    return Pullback(chain, coef, intercept, classes)


def _plane(model: object) -> tuple[Array, Array, NDArray[Any]]:
    if isinstance(model, tuple) and len(model) == 2:
        coef, intercept, classes = model[0], model[1], None
    elif hasattr(model, "coef_") and hasattr(model, "intercept_"):
        coef, intercept = model.coef_, model.intercept_
        classes = getattr(model, "classes_", None)
    else:
        raise CapabilityError(
            f"{type(model).__name__} has no coef_; fit it first, and give a linear model."
        )
    dense = coef.toarray() if hasattr(coef, "toarray") else coef
    coef = np.atleast_2d(np.asarray(dense, dtype=np.float64))
    offset = np.broadcast_to(np.asarray(intercept, dtype=np.float64).ravel(), len(coef)).copy()
    if not (np.isfinite(coef).all() and np.isfinite(offset).all()):
        raise ModelError("the weights are not finite.")
    if classes is None:
        classes = np.array([-1, 1]) if len(coef) == 1 else np.arange(len(coef))
    classes = np.asarray(classes)
    one_vs_one = type(model).__name__ in ("SVC", "NuSVC") and len(classes) > 2
    if one_vs_one or len(coef) != (1 if len(classes) == 2 else len(classes)):
        raise CapabilityError(
            f"{type(model).__name__} has {len(coef)} planes for {len(classes)} classes; one score "
            "for each class is needed (one vs rest, softmax or a linear machine)."
        )
    return coef, offset, classes


# -- The steps before a linear model, as one map from the inputs: in floats, and exactly ----------
#
# Scalers of scikit-learn are affine, so behind or before a lift they leave polynomials
# polynomials.


class Chain:
    """Fitted transformers, one after the other.

    Parameters
    ----------
    steps : sequence of fitted transformers
        At least one of them tells n_features_in_.
    """

    def __init__(self, steps: Sequence[Any]) -> None:
        self.steps = [step for step in steps if step not in (None, "passthrough")]
        first = next((s for s in self.steps if hasattr(s, "n_features_in_")), None)
        if first is None:
            raise CapabilityError(
                "no step of the model tells how many inputs it has; fit it first."
            )
        self.n_inputs = int(first.n_features_in_)
        names = getattr(first, "feature_names_in_", None)
        self.names = column_texts(
            None if names is None else [str(name) for name in names], self.n_inputs
        )
        self.polynomials = self._polynomials()

    def __call__(self, X: Any) -> Array:
        """The features of the rows; a row whose features are not finite is NaN throughout."""
        values = np.asarray(X, dtype=np.float64)
        with warnings.catch_warnings():
            # Plain arrays are meant here, also where the fit saw a data frame.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            for step in self.steps:
                good = np.isfinite(values).all(axis=1, keepdims=True)
                safe = np.where(good, values, 0.0)
                out = step.evaluate(safe) if isinstance(step, Lift) else step.transform(safe)
                out = np.asarray(out.toarray() if hasattr(out, "toarray") else out, np.float64)
                values = np.where(good, out, np.nan)
        return np.where(np.isfinite(values).all(axis=1, keepdims=True), values, np.nan)

    def names_out(self) -> list[str]:
        """Texts of the features: of the last step that can tell, else phi1, phi2, ..."""
        last = self.steps[-1]
        if isinstance(last, Lift) and len(self.steps) == 1:
            return [str(name) for name in last.get_feature_names_out()]
        width = self(np.zeros((1, self.n_inputs))).shape[1]
        return [f"phi{k + 1}(x)" for k in range(width)]

    def limits(self) -> tuple[Array, Array] | None:
        """The range of the rows that the lift was fitted on, if it is the first step."""
        first = self.steps[0]
        return (first.data_low_, first.data_high_) if isinstance(first, Lift) else None

    def _polynomials(self) -> list[Polynomial] | None:
        values: list[Polynomial] | None = [Polynomial.variable(j) for j in range(self.n_inputs)]
        for step in self.steps:
            if values is None:
                return None
            try:
                values = _through(step, values)
            except NotPolynomialError:
                return None
        return values


def _through(step: Any, values: list[Polynomial]) -> list[Polynomial] | None:
    """Polynomials behind a step, or None where it makes no polynomials of them."""
    if isinstance(step, Lift):
        return step.polynomials(values)
    if hasattr(step, "powers_"):
        return [_monomial(powers, values) for powers in step.powers_.tolist()]
    affine = _affine(step, len(values))
    if affine is None:
        return None
    return [p * a + b for p, (a, b) in zip(values, affine)]


def _monomial(powers: list[int], values: list[Polynomial]) -> Polynomial:
    product = Polynomial.constant(1)
    for power, value in zip(powers, values):
        product = product * value**power
    return product


def _affine(step: Any, width: int) -> list[tuple[Fraction, Fraction]] | None:
    """Factor and summand of each column, exactly, for the scalers of scikit-learn."""
    kind = type(step).__name__
    ones, zeros = [Fraction(1)] * width, [Fraction(0)] * width
    if kind == "MinMaxScaler" and not step.clip:
        return list(zip(_exact(step.scale_), _exact(step.min_)))
    centre = {"StandardScaler": "mean_", "RobustScaler": "center_", "MaxAbsScaler": ""}.get(kind)
    if centre is None or getattr(step, "clip", False):
        return None
    uses = (getattr(step, "with_mean", True), getattr(step, "with_centering", True))
    found = getattr(step, centre, None) if centre and all(uses) else None
    shift = zeros if found is None else _exact(found)
    size = ones if getattr(step, "scale_", None) is None else _exact(step.scale_)
    return [(1 / s, -c / s) for s, c in zip(size, shift)]


def _exact(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.ravel(values)]


# -- A pulled back rule in words ------------------------------------------------------------------


def rule(pullback: Any, digits: int) -> str:
    """The rule, and the intervals of a polynomial of one input."""
    scores = [score_text(pullback, k, digits) for k in range(len(pullback.coef))]
    labels = [str(label) for label in pullback.classes.tolist()]
    if len(scores) == 1:
        lines = [f"predict {labels[1]} where {scores[0]} >= 0, else {labels[0]}"]
    else:
        lines = ["predict the class with the largest score:"]
        lines += [f"  {label}: {score}" for label, score in zip(labels, scores)]
    if pullback.n_inputs == 1 and pullback.exact:
        found = pullback.intervals()
        if len(scores) == 1:
            words = interval_words(found, pullback.classes.tolist()[1], pullback.names[0], digits)
            lines.append(f"that is {words}")
        else:
            lines.append("that is")
            for label in pullback.classes.tolist():
                words = interval_words(found, label, pullback.names[0], digits)
                lines.append(f"  {label}: {words}")
    return "\n".join(lines)


def score_text(pullback: Any, k: int, digits: int) -> str:
    """A score as a polynomial of the inputs, or as a sum of multiples of the lift's outputs."""
    if pullback.polynomials is not None:
        return str(pullback.polynomials[k].text(pullback.names, digits))
    out = ""
    for weight, name in zip(pullback.coef[k].tolist(), pullback.chain.names_out()):
        if weight:
            sign = ("-" if weight < 0 else "") if not out else (" - " if weight < 0 else " + ")
            whole = name if name.replace("_", "").isalnum() else f"({name})"
            out += f"{sign}{abs(weight):.{digits}g}*{whole}"
    offset = float(pullback.intercept[k])
    if offset or not out:
        sign = ("-" if offset < 0 else "") if not out else (" - " if offset < 0 else " + ")
        out += f"{sign}{abs(offset):.{digits}g}"
    return out


def interval_words(
    intervals: list[tuple[float, float, Any]], label: Any, name: str, digits: int
) -> str:
    """Where one class is predicted: "x <= 1 or 2 <= x <= 3"."""
    parts = []
    for low, high, found in intervals:
        if found != label:
            continue
        if math.isinf(low) and math.isinf(high):
            return f"every {name}"
        if math.isinf(low):
            parts.append(f"{name} <= {high:.{digits}g}")
        elif math.isinf(high):
            parts.append(f"{name} >= {low:.{digits}g}")
        else:
            parts.append(f"{low:.{digits}g} <= {name} <= {high:.{digits}g}")
    return " or ".join(parts) or f"no {name}"


# -- Lines where a function of two inputs changes class -------------------------------------------


Score = Callable[[Array], Array]


def contour_lines(pullback: Any, box: Array, points: int) -> list[Array]:
    """Zero lines of the score; for more classes those of each class against its best rival."""
    if points < 2:
        raise SettingError(f"points must be a whole number >= 2. Got {points!r} instead.")
    out: list[Array] = []
    for k in range(len(pullback.coef)):
        out += _zero_lines(_score_of(pullback, k), box, points)
    return out


def _score_of(pullback: Any, k: int) -> Score:
    def score(rows: Array) -> Array:
        scores = pullback(rows)
        if scores.ndim == 1:
            return np.asarray(scores)
        rivals = np.delete(scores, k, axis=1).max(axis=1)
        return np.asarray(scores[:, k] - rivals)

    return score


def _zero_lines(score: Score, box: Array, points: int) -> list[Array]:
    contourpy = require("contourpy", extra="plot")
    x = np.linspace(box[0, 0], box[1, 0], points)
    y = np.linspace(box[0, 1], box[1, 1], points)
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    values = score(grid.reshape(-1, 2)).reshape(points, points)
    # Zero belongs to the positive side, here as in predict.
    values = np.where(values == 0, np.finfo(float).tiny, values)
    masked = np.ma.masked_invalid(values)
    lines = contourpy.contour_generator(x, y, masked, name="serial").lines(0.0)
    return [_refined(np.asarray(line), score, x, y) for line in lines]


def _refined(line: Array, score: Score, x: Array, y: Array) -> Array:
    """Each corner lies on an edge of the grid; bisection moves it along it to the zero."""
    start, end = line.copy(), line.copy()
    for k, (a, b) in enumerate(line):
        i, j = _near(x, a), _near(y, b)
        if abs(x[i] - a) / (x[1] - x[0]) <= abs(y[j] - b) / (y[1] - y[0]):
            lower = int(np.clip(np.searchsorted(y, b, side="right") - 1, 0, len(y) - 2))
            start[k], end[k] = (x[i], y[lower]), (x[i], y[lower + 1])
        else:
            lower = int(np.clip(np.searchsorted(x, a, side="right") - 1, 0, len(x) - 2))
            start[k], end[k] = (x[lower], y[j]), (x[lower + 1], y[j])
    below = score(start) < 0
    good = below != (score(end) < 0)
    for _ in range(60):
        middle = (start + end) / 2
        same = (score(middle) < 0) == below
        start[same], end[~same] = middle[same], middle[~same]
    return np.where(good[:, None], (start + end) / 2, line)


def _near(values: Array, at: float) -> int:
    return int(np.abs(values - at).argmin())


# -- A line cut into pieces of one class each: exactly for polynomials, by a search for others ----


Numbers = Callable[[NDArray[np.float64]], NDArray[np.intp]]
Piece = tuple[float, float, int]
"""From, to, and the number of the class; -1 for none."""


def part_of_line(low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """The ends as they are used: None for an infinite one."""
    left = -math.inf if low is None else float(low)
    right = math.inf if high is None else float(high)
    if not left < right:
        raise DataError(f"low is {left:g} and high is {right:g}; low must be below high.")
    return (None if math.isinf(left) else left), (None if math.isinf(right) else right)


def cuts_of(
    polynomials: Sequence[Polynomial], low: float | None, high: float | None
) -> list[float]:
    """Roots of the function, or of the differences between the classes, within the ends."""
    p = polynomials
    functions = p if len(p) == 1 else [a - b for k, a in enumerate(p) for b in p[:k]]
    roots = sorted({root for function in functions for root in polynomial_roots(function)})
    return [r for r in roots if (low is None or low < r) and (high is None or r < high)]


def exact_pieces(
    polynomials: Sequence[Polynomial], low: float | None, high: float | None
) -> list[Piece]:
    """The pieces between the roots, with the class at a rational point of each."""
    cuts = cuts_of(polynomials, low, high)
    ends = [-math.inf if low is None else low, *cuts, math.inf if high is None else high]
    numbers = [_number_at(polynomials, point) for point in _points(cuts, low, high)]
    return [(a, b, number) for (a, b), number in zip(pairwise(ends), numbers)]


def searched_pieces(numbers: Numbers, low: float, high: float) -> list[Piece]:
    """The pieces between the changes of class that a grid shows."""
    lefts = [a for a, _ in sign_changes(numbers, low, high)]
    found = numbers(np.array([*lefts, high])).tolist()
    return [(a, b, int(k)) for (a, b), k in zip(pairwise([low, *lefts, high]), found)]


def merged(pieces: Sequence[Piece], classes: Sequence[Any]) -> list[tuple[float, float, Any]]:
    """Neighbours of the same class together, with the class instead of its number."""
    out: list[tuple[float, float, Any]] = []
    for a, b, number in pieces:
        label = None if number < 0 else classes[number]
        if out and out[-1][2] == label:
            out[-1] = (out[-1][0], float(b), label)
        else:
            out.append((float(a), float(b), label))
    return out


def _number_at(polynomials: Sequence[Polynomial], point: Fraction) -> int:
    values = [p.exact([point]) for p in polynomials]
    return int(values[0] >= 0) if len(values) == 1 else values.index(max(values))


def _points(cuts: list[float], low: float | None, high: float | None) -> list[Fraction]:
    """A point in each interval between the ends and the cuts."""
    inner = between(cuts)
    first, last = (cuts[0], cuts[-1]) if cuts else (None, None)
    if low is not None:
        right = first if first is not None else low + 1 if high is None else high
        inner[0] = (Fraction(low) + Fraction(right)) / 2
    if high is not None:
        left = last if last is not None else high - 1 if low is None else low
        inner[-1] = (Fraction(high) + Fraction(left)) / 2
    return inner


# -- Where functions of one variable change sign --------------------------------------------------
#
# Polynomials with rational coefficients: all real roots, isolated by ball arithmetic, so none is
# missed and none is invented. Other functions: sign changes between the points of a grid,
# narrowed by bisection; what lies between two neighbouring points, or beyond the ends, is not
# seen.


GRID = 4096


def polynomial_roots(polynomial: Polynomial) -> list[float]:
    """All real roots of a polynomial of one variable, each once, as the nearest floats.

    Roots beyond the range of floats are left out: no input lies there.

    >>> x = Polynomial.variable(0)
    >>> polynomial_roots((x - 1) ** 2 * (x**2 + 1) * (2 * x + 1))
    [-0.5, 1.0]
    """
    from flint import ctx, fmpz_poly

    if polynomial.degree == 0:
        return []
    coefficients = [Fraction(0)] * (polynomial.degree + 1)
    for monomial, c in polynomial.terms.items():
        coefficients[monomial[0][1] if monomial else 0] = c
    scale = math.lcm(*(c.denominator for c in coefficients))
    whole = fmpz_poly([int(c * scale) for c in coefficients])
    with ctx.workprec(128):
        found = [float(root.real.mid()) for root, _ in whole.complex_roots() if root.imag == 0]
    return sorted({root for root in found if math.isfinite(root)})


def between(cuts: Sequence[float]) -> list[Fraction]:
    """One rational point in each of the intervals that the cuts make of the line."""
    if not cuts:
        return [Fraction(0)]
    exact = [Fraction(cut) for cut in cuts]
    inner = [(a + b) / 2 for a, b in pairwise(exact)]
    return [exact[0] - abs(exact[0]) - 1, *inner, exact[-1] + abs(exact[-1]) + 1]


def sign_changes(
    classes: Callable[[Array], NDArray[np.intp]], low: float, high: float, points: int = GRID
) -> list[tuple[float, float]]:
    """Neighbouring floats (a, b) between low and high whose classes differ.

    ``classes`` gives a class number for each point, -1 where the function has no value.
    """
    grid = np.linspace(low, high, points + 1)
    found = classes(grid)
    out = []
    for k in np.flatnonzero(found[1:] != found[:-1]).tolist():
        out.append(_narrow(classes, float(grid[k]), float(grid[k + 1]), int(found[k])))
    return out


def _narrow(
    classes: Callable[[Array], NDArray[np.intp]], a: float, b: float, left: int
) -> tuple[float, float]:
    for _ in range(200):
        middle = a + (b - a) / 2
        if not a < middle < b:
            break
        if int(classes(np.array([middle]))[0]) == left:
            a = middle
        else:
            b = middle
    return a, b
