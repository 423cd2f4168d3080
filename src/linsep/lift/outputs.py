"""The parts of a lift: expressions, all monomials, functions. Each makes columns of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linsep.errors import DataError, SettingError
from linsep.lift.columns import column_texts, finder
from linsep.lift.polynomial import Monomial, NotPolynomialError, Polynomial, monomial_text
from linsep.lift.program import FUNCTIONS, Expression, Powers, run
from linsep.lift.syntax import parse

__all__ = ["Part", "compile_parts"]

Array = NDArray[Any]
_ARRAYS = {name: function for name, (function, _) in FUNCTIONS.items()}


class Part(Protocol):
    """Some neighbouring outputs of a lift."""

    def evaluate(self, X: Array) -> Array:
        """The columns for the rows of X, of X's type."""

    def names(self, count: int, first: int) -> list[str]:
        """Their names, if there are ``count`` of them from place ``first`` on."""

    def polynomials(self, inputs: Sequence[Polynomial]) -> list[Polynomial]:
        """The outputs as polynomials, or NotPolynomialError."""


class ExpressionPart:
    """One expression, one column."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def evaluate(self, X: Array) -> Array:
        with np.errstate(all="ignore"):
            value = run(self.expression.program, list(X.T), _ARRAYS)
        return np.broadcast_to(np.asarray(value, dtype=X.dtype), len(X))[:, None]

    def names(self, count: int, first: int) -> list[str]:
        return [self.expression.text]

    def polynomials(self, inputs: Sequence[Polynomial]) -> list[Polynomial]:
        try:
            value = run(self.expression.program, inputs, {})
        except KeyError as error:
            raise NotPolynomialError(f"the function {error}") from error
        return [value if isinstance(value, Polynomial) else Polynomial.constant(value)]


class PowersPart:
    """All monomials of some columns up to a degree, as scikit-learn orders them."""

    def __init__(self, powers: Powers, texts: Sequence[str]) -> None:
        self.powers, self.texts = powers, texts

    def evaluate(self, X: Array) -> Array:
        from sklearn.preprocessing import PolynomialFeatures

        maker = PolynomialFeatures(self.powers.degree, include_bias=False)
        with np.errstate(all="ignore"):
            return np.asarray(maker.fit_transform(X[:, self.powers.columns]), dtype=X.dtype)

    def monomials(self) -> list[Monomial]:
        """The outputs as powers of the columns."""
        out: list[Monomial] = []
        for degree in range(1, self.powers.degree + 1):
            for chosen in combinations_with_replacement(self.powers.columns, degree):
                out.append(tuple((j, chosen.count(j)) for j in dict.fromkeys(chosen)))
        return out

    def names(self, count: int, first: int) -> list[str]:
        return [monomial_text(monomial, self.texts) for monomial in self.monomials()]

    def polynomials(self, inputs: Sequence[Polynomial]) -> list[Polynomial]:
        out = []
        for monomial in self.monomials():
            product = Polynomial.constant(1)
            for index, power in monomial:
                product = product * inputs[index] ** power
            out.append(product)
        return out


class FunctionPart:
    """A function of all rows at once."""

    def __init__(self, function: Callable[[Array], Any]) -> None:
        self.function = function

    def evaluate(self, X: Array) -> Array:
        given = self.function(X.copy())  # a function may write into what it is given
        if hasattr(given, "toarray"):
            given = given.toarray()
        try:
            values = np.asarray(given)
            if values.dtype.kind not in "fiub":
                raise ValueError(f"its type is {values.dtype}")
        except ValueError as error:
            raise DataError(f"{self._called()} gave no array of numbers ({error}).") from error
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) != len(X) or values.shape[1] == 0:
            raise DataError(
                f"{self._called()} gave shape {np.shape(given)} for {len(X)} rows; it gets all "
                "rows at once and gives one row for each: write X[:, 0] for the first column, "
                "and np.column_stack([...]) around several."
            )
        return values.astype(X.dtype)

    def names(self, count: int, first: int) -> list[str]:
        return [f"phi{first + k + 1}" for k in range(count)]

    def polynomials(self, inputs: Sequence[Polynomial]) -> list[Polynomial]:
        raise NotPolynomialError("a function")

    def _called(self) -> str:
        return f"the function {getattr(self.function, '__name__', type(self.function).__name__)}"


def compile_parts(phi: Any, names: Sequence[str] | None, n_columns: int) -> list[Part]:
    """The parts of a lift that is a text, a function, or a sequence of these."""
    texts = column_texts(names, n_columns)
    items = list(phi) if isinstance(phi, list | tuple) else [phi]
    if not items:
        raise SettingError("the lift is empty; give outputs such as 'x1, x2, (x1 - x2)**2'.")
    out: list[Part] = []
    for item in items:
        if isinstance(item, str):
            for found in parse(item, finder(names, n_columns), texts, n_columns):
                if isinstance(found, Powers):
                    out.append(PowersPart(found, texts))
                else:
                    out.append(ExpressionPart(found))
        elif callable(item) and not isinstance(item, type):
            out.append(FunctionPart(item))
        else:
            raise SettingError(
                f"a lift is a text such as 'x1, x2, (x1 - x2)**2', a function of X, or a list of "
                f"these. Got {item!r:.80} instead."
            )
    return out
