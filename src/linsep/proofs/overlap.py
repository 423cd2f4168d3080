"""The proof that no plane in the feature space separates two classes.

Positive fractions a_i on some rows of both classes with

    sum a_i y_i = 0   and   |sum a_i y_i phi(x_i)|^2 = sum a_i a_j y_i y_j K(x_i, x_j) = 0.

Then sum a_i y_i f(x_i) = 0 for every f(x) = w.phi(x) + b, so f is not on the right side of all of
them: the convex hulls of the images of the two classes meet. Everything is computed in fractions
from the formula of the kernel. Equal rows have equal images for every kernel, whatever its values.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.core.problem import Problem
from linsep.errors import ModelError, ProofError
from linsep.kernels import Kernel, from_dict
from linsep.kernels.base import exact_gram, fraction


@dataclass(frozen=True)
class Overlap:
    """Rows of two classes whose weighted images are one point; ``check`` recomputes it.

    Attributes
    ----------
    rows : tuple of int
        Numbers of the rows.
    multipliers : tuple of Fraction
        Positive, one for each row.
    kernel : Kernel
    fit_intercept : bool
    """

    rows: tuple[int, ...]
    multipliers: tuple[Fraction, ...]
    kernel: Kernel
    fit_intercept: bool = True

    def check(self, X: Any, y: Any) -> bool:
        """True; raises ProofError if these rows of X and y prove nothing.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        bool
        """
        problem = X if isinstance(X, Problem) else Problem(X, np.asarray(y))
        signed = [s * a for s, a in zip(self._signs(problem), self.multipliers)]
        if self.fit_intercept and sum(signed) != 0:
            raise ProofError("the multipliers of the two classes have different sums.")
        if self.kernel.given:
            K = [[fraction(problem.matrix[i, j]) for j in self.rows] for i in self.rows]
        else:
            rows, signed = _merged(self._rows(problem), signed)
            K = exact_gram(self.kernel, rows)
        if _square(K, signed) != 0:
            raise ProofError("the weighted images of the two classes are different points.")
        return True

    def _signs(self, problem: Problem) -> list[int]:
        inside = bool(self.rows) and 0 <= min(self.rows) <= max(self.rows) < problem.n
        if not inside or len(self.rows) != len(self.multipliers) or problem.row_index is not None:
            raise ProofError("the proof names rows that are not there.")
        if len(set(self.rows)) < len(self.rows) or not min(self.multipliers) > 0:
            raise ProofError("rows are named once, with multipliers above zero.")
        labels = problem.label[list(self.rows)]
        if len(set(labels.tolist())) != 2:
            raise ProofError("the rows are not of two classes.")
        return [1 if label == labels.max() else -1 for label in labels]

    def _rows(self, problem: Problem) -> list[tuple[float, ...]]:
        some = problem.matrix[list(self.rows)]
        some = some if isinstance(some, np.ndarray) else some.toarray()
        return [tuple(float(x) for x in row) for row in some]

    def __str__(self) -> str:
        if len(self.rows) == 2:
            i, j = self.rows
            return f"rows {i} and {j} have the same image and different labels"
        names = ", ".join(map(str, self.rows[:12])) + (", ..." if len(self.rows) > 12 else "")
        return (
            f"weighted means of the images of {len(self.rows)} rows of both classes ({names}) are "
            "the same point, in exact arithmetic"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a model file."""
        return {
            "rows": list(self.rows),
            "multipliers": [str(a) for a in self.multipliers],
            "kernel": self.kernel.to_dict(),
            "fit_intercept": self.fit_intercept,
        }

    @classmethod
    def from_dict(cls, fields: Any) -> Overlap:
        """The proof of a model file."""
        try:
            return cls(
                rows=tuple(int(i) for i in fields["rows"]),
                multipliers=tuple(Fraction(a) for a in fields["multipliers"]),
                kernel=from_dict(fields["kernel"]),
                fit_intercept=bool(fields["fit_intercept"]),
            )
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise ModelError(f"the proof that no street exists cannot be read: {error}") from error


def _merged(
    rows: list[tuple[float, ...]], signed: list[Fraction]
) -> tuple[list[tuple[float, ...]], list[Fraction]]:
    """Equal rows as one; those whose multipliers cancel are left out."""
    total: dict[tuple[float, ...], Fraction] = {}
    for row, weight in zip(rows, signed):
        key = tuple(x + 0.0 for x in row)  # -0.0 is 0.0
        total[key] = total.get(key, Fraction(0)) + weight
    left = {row: weight for row, weight in total.items() if weight != 0}
    return list(left), list(left.values())


def _square(K: list[list[Any]], weights: list[Fraction]) -> Any:
    from flint import fmpq

    w = [fmpq(a.numerator, a.denominator) for a in weights]
    total = fmpq(0)
    for i, a in enumerate(w):
        total += a * sum((K[i][j] * b for j, b in enumerate(w)), fmpq(0))
    return total
