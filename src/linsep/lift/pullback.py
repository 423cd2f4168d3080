"""The boundary of a linear model behind a lift, as a function of the inputs.

    f(x) = w . phi(x) + b,    {x : f(x) = 0} is the preimage of the plane

Where phi is polynomial, f is known exactly: a polynomial with rational coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import CapabilityError, DataError
from linsep.lift.chain import Chain
from linsep.lift.contours import contour_lines
from linsep.lift.line import cuts_of, exact_pieces, merged, part_of_line, searched_pieces
from linsep.lift.polynomial import Monomial, Polynomial, monomial_text
from linsep.lift.roots import sign_changes
from linsep.lift.words import rule

__all__ = ["Pullback"]

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
