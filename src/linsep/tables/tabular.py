"""A classifier for tables as people have them: its columns and an estimator behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from linsep._sklearn import BaseEstimator, ClassifierMixin, available_if, clone
from linsep.core.schema import mapped, real
from linsep.core.words import count, on_a_line
from linsep.errors import CapabilityError, DataError, LabelError, ModelError
from linsep.models.explain import Explanation, Term
from linsep.models.linear_svm import LinearSVM
from linsep.models.summary import SHOWN_WEIGHTS
from linsep.tables.columns import Columns, as_frame, telling, told_by

_SHOWN_COLUMNS = 40  # that a summary names
_SHOWN_TELLING = 5  # that tell the labels
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Weight:
    """How much one made column moves the score, in units of the table."""

    name: str
    weight: float
    """Change of the score for one more of the column."""
    effect: float
    """Change of the score for one standard deviation of it, or for 0 becoming 1."""


def _has(name: str) -> Any:
    def check(self: Tabular) -> bool:
        inner = getattr(self, "estimator_", self.estimator)
        getattr(LinearSVM() if inner is None else inner, name)
        return True

    return check


class Tabular(ClassifierMixin, BaseEstimator):
    """Tabular: any table to a certified model; its columns are prepared inside.

    Parameters
    ----------
    estimator : classifier, optional
        Of linsep or scikit-learn; by default ``LinearSVM()``.
    roles, drop, scale, decimal
        As for ``Columns``.

    Attributes
    ----------
    columns_ : Columns
        What is done to the columns; ``columns_.report()`` tells it.
    estimator_ : classifier
        Fitted to the numbers that they become.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    telling_ : dict of str to float
        Columns that alone tell the label of nearly every training row, and of what share.

    Examples
    --------
    >>> import pandas, linsep
    >>> frame = pandas.DataFrame({
    ...     "hours": [9, 1, 7, 2, 8, None], "sleeps": ["no", "yes", "no", "yes", "yes", "no"],
    ...     "grade": ["A", "F", "A", "F", "A", "F"],
    ... })
    >>> model = linsep.tables.Tabular().fit(frame, "grade")
    >>> model.predict(pandas.DataFrame({"hours": [8], "sleeps": ["no"]}))
    array(['A'], dtype=object)
    >>> model.status_.name
    'CERTIFIED'
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        roles: Mapping[str, str] | None = None,
        drop: Sequence[str] = (),
        scale: bool = True,
        decimal: str | None = None,
    ) -> None:
        self.estimator = estimator
        self.roles = roles
        self.drop = drop
        self.scale = scale
        self.decimal = decimal

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Tabular:
        """Find out what the columns are, prepare them, and train.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Arrow table, mapping of columns, or array
        y : labels, or the name of the column of X that holds them
        sample_weight : array, optional

        Returns
        -------
        Tabular
        """
        frame = as_frame(X)
        frame, labels = _labels(frame, y)
        settings = {name: getattr(self, name) for name in ("roles", "drop", "scale", "decimal")}
        self.columns_ = Columns(**settings).fit(frame)
        self.telling_ = telling(frame, self.columns_, labels)
        inner = LinearSVM() if self.estimator is None else clone(self.estimator)
        weights = {}
        if sample_weight is not None:
            if not has_fit_parameter(inner, "sample_weight"):
                raise CapabilityError(f"{type(inner).__name__} takes no sample_weight.")
            weights["sample_weight"] = sample_weight
        self.estimator_ = inner.fit(self.columns_.transform(frame), labels, **weights)
        self._take_over()
        return self

    @classmethod
    def of(cls, columns: Columns, estimator: Any) -> Tabular:
        """A fitted estimator behind the fitted columns that made its numbers."""
        settings = {name: getattr(columns, name) for name in ("roles", "drop", "scale", "decimal")}
        if hasattr(estimator, "feature_names_in_"):  # columns hand over plain arrays
            estimator = copy(estimator)
            del estimator.feature_names_in_
        made = cls(estimator, **settings)
        made.columns_, made.estimator_, made.telling_ = columns, estimator, {}
        made._take_over()
        return made

    def _take_over(self) -> None:
        self.classes_ = self.estimator_.classes_
        self.n_features_in_ = self.columns_.n_features_in_
        self.feature_names_in_ = self.columns_.feature_names_in_

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row."""
        return np.asarray(self.estimator_.predict(self._matrix(X)))

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Scores of the rows, as the estimator gives them."""
        return np.asarray(self.estimator_.decision_function(self._matrix(X)))

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, where the estimator has them."""
        return np.asarray(self.estimator_.predict_proba(self._matrix(X)))

    def _matrix(self, X: Any) -> Any:
        check_is_fitted(self, "columns_")
        return self.columns_.transform(X)

    @property
    def certificate_(self) -> Any:
        """That of the estimator, for the numbers that the columns become."""
        facts, columns = self.estimator_.certificate_, self.columns_
        if not hasattr(facts, "provable"):
            return facts

        def refuted(X: Any, y: Any, sample_weight: Any) -> list[str]:
            frame, labels = _labels(as_frame(X), y)
            wrong: list[str] = facts.prover(columns.transform(frame), labels, sample_weight)
            return wrong

        return facts.provable(refuted)

    @property
    def status_(self) -> Any:
        """Why the estimator stopped."""
        return self.estimator_.status_

    @property
    def outcome_(self) -> Any:
        """What the run of the estimator was."""
        return self.estimator_.outcome_

    def weights(self, sort: bool = False, of: Any = None) -> list[Weight]:  # noqa: FBT001, FBT002
        """Weights by name, in the units of the table.

        Parameters
        ----------
        sort : bool, default=False
            Whether the strongest come first, else they stand as the columns do.
        of : label, optional
            The class whose plane is meant, if there are more than two.

        Returns
        -------
        list of Weight
        """
        w, _ = self._plane(of)
        units = np.concatenate([encoder.units for encoder in self.columns_.encoders_])
        names = self.columns_.get_feature_names_out()
        found = [
            Weight(str(n), float(a / u), float(a)) for n, a, u in zip(names, w, units.tolist())
        ]
        return sorted(found, key=lambda one: -abs(one.effect)) if sort else found

    def explain(self, row: Any) -> Explanation:
        """One prediction as a sum over columns: weight x value, in the units of the table.

        Scaled numbers count from their mean; the intercept is the score of an average row.

        Parameters
        ----------
        row : frame of one row, Series, or mapping of cells

        Returns
        -------
        Explanation
        """
        one = as_frame({k: [v] for k, v in row.items()} if isinstance(row, Mapping) else row)
        if len(one) != 1:
            raise DataError(f"there are {count(len(one), 'row')}; give the one to explain.")
        matrix = self._matrix(one)
        x = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)[0]
        label = self.predict(one)[0]
        w, b = self._plane(None if len(self.classes_) == 2 else label)
        encoders = self.columns_.encoders_
        units = np.concatenate([encoder.units for encoder in encoders])
        zeros = np.concatenate([encoder.zeros for encoder in encoders])
        names = self.columns_.get_feature_names_out()
        terms = [
            Term(_above(str(n), float(z)), float(a / u), 1, float(v * u))
            for n, a, v, u, z in zip(names, w, x, units, zeros)
            if v != 0
        ]
        terms.sort(key=lambda term: -abs(term.product))
        return Explanation(tuple(terms), b, label.item() if hasattr(label, "item") else label)

    def _plane(self, of: Any) -> tuple[Array, float]:
        """Weights and intercept for the made columns."""
        check_is_fitted(self, "columns_")
        coef = getattr(self.estimator_, "coef_", None)
        if coef is None:
            raise CapabilityError(
                f"{type(self.estimator_).__name__} has no weights of columns; linear models have."
            )
        coef, intercept = np.atleast_2d(coef), np.atleast_1d(self.estimator_.intercept_)
        if len(coef) == 1:
            return coef[0], float(intercept[0])
        known = self.classes_.tolist()
        if of not in known:
            raise DataError(f"of is {of!r}; name one of the classes {', '.join(map(repr, known))}.")
        at = known.index(of)
        return coef[at], float(intercept[at])

    def summary(self) -> str:
        """The model, its proof, and what was done to the columns."""
        check_is_fitted(self, "columns_")
        told = getattr(self.estimator_, "summary", None)
        head = told() if told is not None else type(self.estimator_).__name__
        lines = [line for line in head.split("\n") if not line.startswith("  rule ")]
        if getattr(self.estimator_, "coef_", None) is not None and len(self.classes_) == 2:
            lines += self._weight_lines()
        lines += [
            f"  column      {line}"
            for line in self.columns_.report(most=_SHOWN_COLUMNS).split("\n")
        ]
        lines += [
            f"  look at     {told_by(name, share)}; is it known beforehand?"
            for name, share in list(self.telling_.items())[:_SHOWN_TELLING]
        ]
        return "\n".join(lines)

    def _weight_lines(self) -> list[str]:
        found = self.weights(sort=True)
        shown = [one for one in found[:SHOWN_WEIGHTS] if one.effect != 0]
        names = [on_a_line(one.name) for one in shown]
        width = max(map(len, names), default=0)
        lines = [
            f"  weight      {name:<{width}}  {one.weight:+.4g} a unit, {one.effect:+.4g} a "
            "standard deviation"
            if one.weight != one.effect
            else f"  weight      {name:<{width}}  {one.weight:+.4g}"
            for name, one in zip(names, shown)
        ]
        rest = len(found) - len(shown)
        positive = self.classes_[1]
        head = f"  weights     the strongest for {positive!s}" if shown else ""
        return [head, *lines, *([f"  weight      and {rest} more"] if rest else [])] if head else []

    def to_model(self) -> dict[str, Any]:
        """Fields of a model file."""
        check_is_fitted(self, "columns_")
        return {
            "columns": self.columns_,
            "model": self.estimator_,
            "telling": dict(self.telling_),
        }

    @classmethod
    def from_model(cls, fields: Mapping[str, Any]) -> Tabular:
        """The classifier of a model file."""
        columns, inner = fields["columns"], fields["model"]
        if not isinstance(columns, Columns) or not hasattr(inner, "predict"):
            raise ModelError("columns and model are not Columns and a classifier")
        width = len(columns.get_feature_names_out())
        if getattr(inner, "n_features_in_", width) != width:
            raise ModelError(f"the columns make {width} numbers, the model takes another number")
        made = cls.of(columns, inner)
        made.telling_ = mapped(real(0, 1))(fields["telling"], "telling")
        return made


def _above(name: str, zero: float) -> str:
    return name if zero == 0 else f"{name} {'-' if zero > 0 else '+'} {abs(zero):.4g}"


def _labels(frame: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """The table without its labels, and the labels."""
    if isinstance(y, str):
        if y not in frame.columns:
            known = ", ".join(repr(c) for c in frame.columns[:12])
            raise LabelError(f"there is no column {y!r} of labels; the table has {known}.")
        frame, y = frame.drop(columns=y), frame[y]
    labels = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if len(labels) != len(frame):
        raise LabelError(f"there are {len(labels)} labels for {count(len(frame), 'row')}.")
    gaps = np.array([value is None or value != value for value in labels.tolist()], dtype=bool)
    if gaps.any():
        raise LabelError(
            f"row {int(np.flatnonzero(gaps)[0]) + 1} has no label, {int(gaps.sum())} in all; give "
            "them, or leave these rows out."
        )
    return frame, labels
