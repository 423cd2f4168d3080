"""What a plane of least squares says about its weights and its rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.certify.rational import rational_squares
from linsep.certify.squares import Squares, measure_squares
from linsep.core import Problem, Witness
from linsep.errors import ModelError, SettingError
from linsep.estimators.influence import RowReport, row_report
from linsep.solvers.pseudo_inverse import fits, pseudo_inverse

__all__ = ["SquaresFacts"]


class SquaresFacts:
    """Methods of a fitted plane of least squares."""

    certificate_: Any
    coef_: Any
    intercept_: Any
    classes_: Any
    n_features_in_: int
    fit_intercept: bool
    targets: Any

    def exact_coefficients(self) -> tuple[Any, Any]:
        """The minimiser of least length in fractions: coefficients and offset.

        With several classes lists of them, one for each class. Raises ModelError where the table
        was too large for fractions.
        """
        check_is_fitted(self)
        weights = self.certificate_.weights
        if not weights:
            raise ModelError(
                "this model has no exact coefficients: fractions are computed for tables of at "
                "most 3000 entries and 20 columns. coef_ and intercept_ are correct up to the "
                "relative_gap of certificate_."
            )
        zero = Fraction(0)
        coef = [list(column[: self.n_features_in_]) for column in weights]
        offset = [column[-1] if self.fit_intercept else zero for column in weights]
        return (coef[0], offset[0]) if len(weights) == 1 else (coef, offset)

    def report(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> RowReport:
        """Value, residual, leverage and influence of every row.

        Without arguments of the rows of the last fit; large data have to be given again. After
        ``linsep.load`` they have to be given as well.
        """
        check_is_fitted(self)
        if X is None:
            kept: RowReport | None = getattr(self, "_report", None)
            if kept is None:
                raise SettingError(
                    "the report was not computed in fit (a large table, or a model from a file); "
                    "give the rows: report(X, y)."
                )
            return kept
        problem = self._again(X, y, sample_weight)
        if not fits(problem):
            raise SettingError(
                f"leverages of {problem.n} x {problem.d} data are out of reach; take fewer columns."
            )
        return row_report(problem, problem.join(self.coef_, self.intercept_))

    def certificate_for(self, X: Any, y: Any, sample_weight: Any = None) -> Squares:
        """What is proved about these weights on the given rows; ``linsep.certify`` calls it."""
        problem = self._again(X, y, sample_weight)
        a = problem.join(self.coef_, self.intercept_)
        basis = None
        if fits(problem):
            factors = pseudo_inverse(problem)
            basis = None if factors.by_rows else factors.half / factors.scale[:, None]
        known = rational_squares(problem)
        return measure_squares(problem, Witness(a=a), known=known, basis=basis)

    def _again(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        """A problem of rows that fit this model."""
        check_is_fitted(self)
        me: Any = self
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        problem = Problem(
            X,
            y,
            sample_weight=me._weights(np.asarray(y), sample_weight),
            fit_intercept=self.fit_intercept,
            targets=self.targets,
        )
        if not np.array_equal(problem.classes, self.classes_):
            raise ModelError(
                f"y holds the classes {problem.classes.tolist()}; the model was trained on "
                f"{self.classes_.tolist()}."
            )
        return problem
