"""On which side of a given plane every row lies, decided without rounding.

Floating point decides where its error bound allows; rows within the bound are evaluated in
rational numbers, with the weights as they were given: integers and fractions stay exact.

    |computed - true| <= g (|x| . |w| + |b|) + tiny,   g = (d + 8) 2^-53 / (1 - (d + 8) 2^-53)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.words import count
from linsep.numerics.rounding import U
from linsep.proofs.margins import sqrt_down, sqrt_up
from linsep.rows.signs import exact_values

Array = NDArray[np.float64]

_NAMED = 8  # rows that a sentence names


@dataclass(frozen=True)
class Weights:
    """A plane w . x + b in floats, and in the numbers that were given."""

    coef: Array
    intercept: float
    exact: tuple[Any, ...]
    """w and then b: floats, integers or Fractions; each of them counts as the number it is."""

    @property
    def squared(self) -> Fraction:
        """|w|^2."""
        return sum((Fraction(w) ** 2 for w in self.exact[:-1]), Fraction(0))

    @property
    def squared_augmented(self) -> Fraction:
        """|[w, b]|^2."""
        return self.squared + Fraction(self.exact[-1]) ** 2

    def values(self, X: Any, rows: NDArray[np.intp]) -> list[Fraction]:
        """w . x + b of some rows, exactly."""
        block = X[rows]
        block = block.toarray() if hasattr(block, "toarray") else block
        if block.dtype != object:
            ones = np.ones((len(block), 1))
            return exact_values(np.hstack([block.astype(np.float64), ones]), self.exact)
        w, b = [Fraction(v) for v in self.exact[:-1]], Fraction(self.exact[-1])
        return [sum((p * Fraction(q) for p, q in zip(w, x)), b) for x in block.tolist()]


def sure_scores(plane: Weights, X: Any) -> tuple[Array, Array]:
    """w . x + b of all rows, with the right sign, and how far each may be off.

    X is an array of floats, a sparse matrix, or an array of objects that are rational numbers.

    Examples
    --------
    >>> import numpy as np
    >>> plane = Weights(np.array([0.0, 1.0]), 0.0, (0.0, 1.0, 0.0))
    >>> sure_scores(plane, np.array([[1e30, 2.0**-60], [1.0, 0.0]]))[0] > 0
    array([ True, False])
    """
    if not hasattr(X, "tocsr") and X.dtype == object:
        known = plane.values(X, np.arange(len(X)))
        return np.array([_rounded(v) for v in known]), np.zeros(len(X))
    g = (X.shape[1] + 8) * U
    g /= 1 - g
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        scores = np.asarray(X @ plane.coef, dtype=np.float64) + plane.intercept
        size = np.asarray(abs(X) @ np.abs(plane.coef), dtype=np.float64) + abs(plane.intercept)
        bound = 2 * g * size + (X.shape[1] + 2) * 2.0**-1000
        unsure = np.flatnonzero(~(np.abs(scores) > bound))
    if unsure.size:
        scores[unsure] = [_rounded(v) for v in plane.values(X, unsure)]
    return scores, bound


def _rounded(value: Fraction) -> float:
    """As a float that is zero only if the value is."""
    try:
        near = float(value)
    except OverflowError:
        near = np.inf if value > 0 else -np.inf
    return near if near or not value else (5e-324 if value > 0 else -5e-324)


@dataclass(frozen=True)
class Sides:
    """Whether a plane separates labelled rows, and which rows are not on their own side.

    True as a condition if every row is strictly on its own side. The margins are those of this
    plane, the least over the rows, rounded down; they are negative when a row is on the wrong side.
    """

    n: int
    strict: bool
    """y (w.x + b) > 0 for all rows: the classes lie in the two open half-spaces, each in its
    own (lecture 001, definitions 1.1 and 3.1)."""
    weak: bool
    """The same with >= 0: rows may lie on the plane."""
    reversed: bool
    """y (w.x + b) < 0 for all rows: the line separates as well, with the sides exchanged, which
    is all that lecture 002 asks of "L separates D"."""
    wrong: NDArray[np.intp]
    """Rows not strictly on their own side."""
    on: NDArray[np.intp]
    """Those of them that lie on the plane."""
    functional_margin: float
    """The least y (w.x + b)."""
    margin: float
    """The least y (w.x + b) / |w|: one-sided, in the units of X."""
    margin_aug: float
    """The least y (w.x + b) / |[w, b]|."""

    @property
    def width(self) -> float:
        """Twice the margin: the empty street, where the plane lies in its middle."""
        return 2.0 * self.margin

    def __bool__(self) -> bool:
        return self.strict

    def __str__(self) -> str:
        if self.strict:
            return (
                f"the plane separates: {_all(self.n)} strictly on the own side, margin "
                f"{self.margin:.6g}"
            )
        if self.reversed:
            return (
                f"the plane separates with its sides exchanged: {_all(self.n)} strictly on the "
                "side of the other class; turn the signs of all weights"
            )
        crossed = len(self.wrong) - len(self.on)
        on = f"{count(len(self.on), 'row lies', 'rows lie')} on it{_named(self.on)}"
        if self.weak:
            return f"the plane separates weakly, not strictly: {on}, no row is on the wrong side"
        only = np.setdiff1d(self.wrong, self.on)
        words = f"{crossed} of {count(self.n, 'row')} {'is' if crossed == 1 else 'are'}"
        words = f"the plane does not separate: {words} on the wrong side{_named(only)}"
        return f"{words}, {on}" if self.on.size else words

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers, lists and a sentence."""
        return {
            "strict": self.strict,
            "weak": self.weak,
            "reversed": self.reversed,
            "wrong": self.wrong.tolist(),
            "on": self.on.tolist(),
            "functional_margin": self.functional_margin,
            "margin": self.margin,
            "margin_aug": self.margin_aug,
            "width": self.width,
            "sentence": str(self),
        }


def _all(n: int) -> str:
    return "the row lies" if n == 1 else f"all {n} rows lie"


def _named(rows: Sequence[int] | NDArray[np.intp]) -> str:
    some = ", ".join(str(int(row)) for row in rows[:_NAMED])
    return f" ({'row' if len(rows) == 1 else 'rows'} {some}{', ...' if len(rows) > _NAMED else ''})"


def sides_of(plane: Weights, X: Any, sign: Array) -> Sides:
    """The sides of rows whose labels are +1 and -1.

    Examples
    --------
    >>> import numpy as np
    >>> plane = Weights(np.array([1.0]), -1.0, (1, -1))
    >>> found = sides_of(plane, np.array([[0.0], [1.0], [3.0]]), np.array([-1.0, 1.0, 1.0]))
    >>> print(found)
    the plane separates weakly, not strictly: 1 row lies on it (row 1), no row is on the wrong side
    """
    scores, bound = sure_scores(plane, X)
    values = sign * scores
    least = _least(plane, X, sign, values, bound)
    return Sides(
        n=len(values),
        strict=bool((values > 0).all()),
        weak=bool((values >= 0).all()),
        reversed=bool((values < 0).all()),
        wrong=np.flatnonzero(values <= 0),
        on=np.flatnonzero(values == 0),
        functional_margin=_rounded(least),
        margin=_over(least, plane.squared),
        margin_aug=_over(least, plane.squared_augmented),
    )


def _least(plane: Weights, X: Any, sign: Array, values: Array, bound: Array) -> Fraction:
    """The least value, exactly: of the rows that may have it."""
    close = np.flatnonzero(~(values - bound > (values + bound).min()))
    exact = plane.values(X, close)
    return min(int(s) * value for s, value in zip(sign[close], exact))


def _over(value: Fraction, squared: Fraction) -> float:
    """The value over the root of squared, rounded down."""
    ratio = value * value / squared
    return sqrt_down(ratio) if value >= 0 else -sqrt_up(ratio)
