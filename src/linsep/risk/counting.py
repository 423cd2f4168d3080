"""The soft margin that counts rows instead of adding up their slack.

    |w|^2 / 2 + beta sum_i [xi_i > 0],     xi_i = max(0, 1 - y_i f(x_i))

It says what a support vector machine would minimise if it could: the hinge loss stands in for the
count, which is hard to minimise. This is for reports.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.words import count
from linsep.errors import SettingError
from linsep.risk.capacity import last_step, match, plane_of_model
from linsep.rows.signs import row_signs


class CountedMargin(float):
    """The objective, as a float with its parts.

    Attributes
    ----------
    penalty : float
        |w|^2 / 2.
    rows : array of int
        Rows with y f(x) < 1 - tol: inside the margin or wrong.
    errors : int
        Rows with y f(x) <= 0.
    """

    penalty: float
    rows: NDArray[np.int64]
    errors: int

    @classmethod
    def make(cls, beta: float, penalty: float, rows: NDArray[np.int64], errors: int) -> Self:
        """The number with its parts."""
        out = cls(penalty + beta * len(rows))
        out.penalty, out.rows, out.errors = penalty, rows, errors
        return out

    def __str__(self) -> str:
        return (
            f"{float(self):.6g} = {self.penalty:.6g} + beta x "
            f"{count(len(self.rows), 'row')} inside the "
            f"margin, {self.errors} of them wrong"
        )


def counted_margin(
    model: Any, X: Any, y: Any, *, beta: float = 1.0, tol: float = 1e-6
) -> CountedMargin:
    """|w|^2 / 2 plus beta times the number of rows with y f(x) < 1.

    Parameters
    ----------
    model : fitted linear classifier of two classes, or pipeline that ends in one
    X, y : data
    beta : float, default=1.0
        What a row inside the margin costs.
    tol : float, default=1e-6
        A row counts as inside when y f(x) < 1 - tol: support vectors lie on the margin up to
        rounding, and rounding must not decide.

    Examples
    --------
    >>> import linsep
    >>> from linsep.risk import counted_margin
    >>> X, y = linsep.data.load("mse-1")
    >>> print(counted_margin(linsep.Linear([2, -1], -2), X, y, beta=10))
    2.5 = 2.5 + beta x 0 rows inside the margin, 0 of them wrong
    """
    if not beta >= 0 or not np.isfinite(beta):
        raise SettingError(f"beta must be a number >= 0. Got {beta!r} instead.")
    lift, last = last_step(model)
    coef, intercept, offset = plane_of_model(last, None)
    problem = Problem(X if lift is None else lift.transform(X), y, fit_intercept=offset)
    match(last, problem, coef)
    with np.errstate(all="ignore"):
        values = problem.values(problem.join(coef, intercept))
        wrong = row_signs(problem, coef, intercept) <= 0
    inside = values < 1 - tol
    return CountedMargin.make(
        float(beta), float(coef @ coef) / 2, np.flatnonzero(inside), int(wrong.sum())
    )
