"""Polynomials of several variables with rational coefficients.

Just enough to follow a lift exactly: a float is a rational number, so the boundary that a linear
model draws through polynomial features has exactly known coefficients in the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Monomial = tuple[tuple[int, int], ...]
"""Pairs (variable, power > 0) in the order of the variables; () is the constant 1."""

_MOST_DEGREE = 99
_MOST_TERMS = 20_000
_MOST_PRODUCTS = 400_000


class NotPolynomialError(Exception):
    """The result is no polynomial, or one too large to be written out."""


class Polynomial:
    """A sum of rational multiples of monomials; arithmetic is exact.

    Parameters
    ----------
    terms : mapping of Monomial to Fraction

    Examples
    --------
    >>> x, y = Polynomial.variable(0), Polynomial.variable(1)
    >>> ((x - y) ** 2 - 0.5).text(["x1", "x2"])
    'x1**2 - 2*x1*x2 + x2**2 - 0.5'
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        if len(terms) > _MOST_TERMS:
            raise NotPolynomialError(f"{len(terms)} terms")
        self.terms = {monomial: c for monomial, c in terms.items() if c}

    @classmethod
    def variable(cls, index: int) -> Polynomial:
        """The variable of this number."""
        return cls({((index, 1),): Fraction(1)})

    @classmethod
    def constant(cls, value: float | Fraction) -> Polynomial:
        """A number."""
        return cls({(): Fraction(value)})

    @property
    def degree(self) -> int:
        """The largest sum of powers; 0 for a constant."""
        return max((sum(p for _, p in monomial) for monomial in self.terms), default=0)

    def __add__(self, other: Any) -> Polynomial:
        terms = dict(self.terms)
        for monomial, c in _as_polynomial(other).terms.items():
            terms[monomial] = terms.get(monomial, Fraction(0)) + c
        return Polynomial(terms)

    def __mul__(self, other: Any) -> Polynomial:
        other = _as_polynomial(other)
        if len(self.terms) * len(other.terms) > _MOST_PRODUCTS:
            raise NotPolynomialError("too many terms")
        if self.degree + other.degree > _MOST_DEGREE:
            raise NotPolynomialError("a high degree")
        terms: dict[Monomial, Fraction] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                product = _product(left, right)
                terms[product] = terms.get(product, Fraction(0)) + a * b
        return Polynomial(terms)

    def __neg__(self) -> Polynomial:
        return Polynomial({monomial: -c for monomial, c in self.terms.items()})

    def __sub__(self, other: Any) -> Polynomial:
        return self.__add__(-_as_polynomial(other))

    def __rsub__(self, other: Any) -> Polynomial:
        return (-self).__add__(other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> Polynomial:
        other = _as_polynomial(other)
        if other.degree or not other.terms:
            raise NotPolynomialError("a quotient")
        return self.__mul__(1 / other.terms[()])

    def __rtruediv__(self, other: Any) -> Polynomial:
        return _as_polynomial(other).__truediv__(self)

    def __pow__(self, exponent: Any) -> Polynomial:
        if isinstance(exponent, Polynomial):
            raise NotPolynomialError("a variable exponent")
        if exponent != int(exponent) or exponent < 0:
            raise NotPolynomialError("a root or quotient")
        power, out = int(exponent), Polynomial.constant(1)
        if power * max(1, self.degree) > _MOST_DEGREE:
            raise NotPolynomialError("a high degree")
        for _ in range(power):
            out = out * self
        return out

    def __rpow__(self, other: Any) -> Polynomial:
        raise NotPolynomialError("a variable exponent")

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        """The value at a rational point."""
        total = Fraction(0)
        for monomial, c in self.terms.items():
            for index, power in monomial:
                c = c * values[index] ** power
            total += c
        return total

    def __call__(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values at the rows of an array, in floats."""
        total = np.zeros(len(X))
        for monomial, c in self.terms.items():
            product = np.full(len(X), float(c))
            for index, power in monomial:
                product = product * X[:, index] ** power
            total = total + product
        return total

    def sorted(self) -> list[tuple[Monomial, Fraction]]:
        """The terms from the highest degree down."""
        return sorted(self.terms.items(), key=lambda term: _rank(term[0]))

    def text(self, names: Sequence[str], digits: int = 6) -> str:
        """The polynomial in the language of lifts, with rounded coefficients.

        Terms below 1e-13 of the largest are what rounding left in a fit; they are left out.
        """
        out, least = "", max(map(abs, self.terms.values()), default=Fraction(0)) / 10**13
        for monomial, c in self.sorted():
            if abs(c) < least:
                continue
            size = f"{abs(float(c)):.{digits}g}"
            if monomial:
                size = monomial_text(monomial, names) if size == "1" else (
                    f"{size}*{monomial_text(monomial, names)}"
                )  # fmt: skip
            sign = ("-" if c < 0 else "") if not out else (" - " if c < 0 else " + ")
            out += sign + size
        return out or "0"


def monomial_text(monomial: Monomial, names: Sequence[str]) -> str:
    """A monomial such as x1**2*x2; the constant is 1."""
    return "*".join(names[j] if p == 1 else f"{names[j]}**{p}" for j, p in monomial) or "1"


def _as_polynomial(value: Any) -> Polynomial:
    return value if isinstance(value, Polynomial) else Polynomial.constant(value)


def _product(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(left)
    for index, power in right:
        powers[index] = powers.get(index, 0) + power
    return tuple(sorted(powers.items()))


def _rank(monomial: Monomial) -> tuple[int, list[tuple[int, int]]]:
    return -sum(p for _, p in monomial), [(j, -p) for j, p in monomial]
