"""One prediction as a sum of terms, and the features of a linear model by their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linsep.core.validate import require_finite
from linsep.core.words import on_a_line
from linsep.errors import DataError, printable

if TYPE_CHECKING:
    from linsep.models.kernel_base import KernelClassifier

Array = NDArray[np.float64]

_SHOWN_TERMS = 12  # terms that are printed
WARNING = (
    "weights rank features only where all are measured on one scale, and for this solution only: "
    "another plane that separates as well may rank them otherwise"
)


class Fitted(Protocol):
    """A model that knows its features."""

    n_features_in_: int


class Decides(Fitted, Protocol):
    """One with offsets, that predicts."""

    intercept_: Array

    def predict(self, X: Any, /) -> NDArray[Any]: ...


class Ruled(Decides, Protocol):
    """One with planes."""

    coef_: Array
    classes_: NDArray[Any]


@dataclass(frozen=True)
class Term:
    """One summand of a score."""

    name: str
    weight: float
    """The weight of a feature, or the dual variable of a support vector, which is not negative."""
    sign: int
    """+1, or the class of the support vector."""
    value: float
    """The value of the feature, or the similarity K(x_i, x)."""
    row: int | None = None
    """Number of the support vector in the rows of the fit."""
    at: float | None = None
    """Where a function of one feature is taken, of which ``value`` is the value."""

    @property
    def product(self) -> float:
        """weight x sign x value."""
        return self.weight * self.sign * self.value


@dataclass(frozen=True)
class Explanation:
    """A score as a sum of terms, the largest first, and the intercept."""

    terms: tuple[Term, ...]
    intercept: float
    predicted: Any

    @property
    def score(self) -> float:
        """The sum: w . x + b, or sum alpha y K + b."""
        return float(sum(term.product for term in self.terms)) + self.intercept

    def __str__(self) -> str:
        lines = [f"score {self.score:.6g} => {self.predicted!r}"]
        for term in self.terms[:_SHOWN_TERMS]:
            sign = "" if term.row is None else f" x {term.sign:+d}"
            made = f"{term.weight:.4g}{sign} x {term.value:.4g}"
            made = made if term.at is None else f"h({term.at:.4g})"
            lines.append(f"  {term.product:+10.4g} = {made}  {on_a_line(term.name)}")
        if len(self.terms) > _SHOWN_TERMS:
            rest = sum(term.product for term in self.terms[_SHOWN_TERMS:])
            lines.append(f"  {rest:+10.4g}   {len(self.terms) - _SHOWN_TERMS} more terms")
        return printable("\n".join([*lines, f"  {self.intercept:+10.4g}   intercept"]))


def explain_linear(model: Ruled, row: Any) -> Explanation:
    """Weight x value of every feature, in the units of the data."""
    x, frame = one_row(row, model.n_features_in_)
    if len(model.coef_) == 1:
        w, b = model.coef_[0], float(model.intercept_[0])
    else:  # against the best rival
        first, second = np.argsort(-(model.coef_ @ x + model.intercept_), kind="stable")[:2]
        w = model.coef_[first] - model.coef_[second]
        b = float(model.intercept_[first] - model.intercept_[second])
    names = feature_names(model)
    terms = [Term(name, float(p), 1, float(v)) for name, p, v in zip(names, w, x)]
    return _told(terms, b, model.predict(frame)[0])


def explain_kernel(model: KernelClassifier, row: Any, similarities: Array) -> Explanation:
    """Weight x sign x similarity of every support vector.

    With more than two classes it is the lead of the best class over the second.
    """
    signed, b = model._lead(similarities)
    labels = np.repeat(model.classes_, model.n_support_)
    names = [f"row {int(i)} ({_plain(label)!r})" for i, label in zip(model.support_, labels)]
    terms = [
        Term(name, abs(float(c)), 1 if c > 0 else -1, float(k), int(i))
        for name, c, k, i in zip(names, signed, similarities, model.support_)
        if c != 0 or len(model.classes_) == 2  # rows of a third class say nothing
    ]
    return _told(terms, b, model.predict(row)[0])


def explain_functions(model: Decides, row: Any, values: Array) -> Explanation:
    """The functions of single features, h_k(x_k): one column a class, or one for two classes."""
    x, frame = one_row(row, model.n_features_in_)
    h, b = values[:, 0], float(model.intercept_[0])
    if values.shape[1] > 1:  # against the best rival
        scores = values.sum(axis=0) + model.intercept_
        first, second = np.argsort(-scores, kind="stable")[:2]
        h, b = (
            values[:, first] - values[:, second],
            float(np.diff(model.intercept_[[second, first]])[0]),
        )
    names = feature_names(model)
    terms = [Term(name, 1.0, 1, float(t), at=float(v)) for name, t, v in zip(names, h, x)]
    return _told(terms, b, model.predict(frame)[0])


def _told(terms: list[Term], b: float, predicted: Any) -> Explanation:
    ordered = sorted(terms, key=lambda term: -abs(term.product))
    return Explanation(tuple(ordered), b, _plain(predicted))


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def one_row(row: Any, d: int) -> tuple[Array, Any]:
    """One row as a vector, and as a table with the names that it has."""
    frame = row.toarray() if hasattr(row, "toarray") else row
    if hasattr(row, "to_frame"):  # a row of a data frame
        frame = row.to_frame().T.astype(float)
    elif not hasattr(row, "columns"):
        frame = np.atleast_2d(_floats("row", frame))
    x = _floats("row", frame)
    if x.shape != (1, d):
        raise DataError(f"row has shape {x.shape}; give one row of {d} numbers.")
    return x[0], frame


def feature_names(model: Fitted) -> list[str]:
    """Of the columns, x1, x2, ... without names."""
    names = getattr(model, "feature_names_in_", None)
    return [str(n) for n in names] if names is not None else [
        f"x{j + 1}" for j in range(model.n_features_in_)
    ]  # fmt: skip


@dataclass(frozen=True)
class Ranking(Sequence[tuple[str, float]]):
    """Features and the sizes of their weights, the largest first; prints with a warning."""

    entries: tuple[tuple[str, float], ...]
    order: NDArray[np.intp]
    """Numbers of the features in this order."""
    scaled: bool
    """Whether the sizes are weights times the spread of the columns."""
    warning: str = WARNING
    what: str = ""
    """What the sizes are, where they are not those of weights."""

    @property
    def names(self) -> list[str]:
        """Features, the most important first."""
        return [name for name, _ in self.entries]

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, at: Any) -> Any:
        return self.entries[at]

    def __str__(self) -> str:
        what = "|w_j| x standard deviation of column j" if self.scaled else "|w_j|"
        lines = [f"features by {self.what or what}:"]
        lines += [f"  {size:10.4g}  {name}" for name, size in self.entries[:_SHOWN_TERMS]]
        if len(self) > _SHOWN_TERMS:
            lines.append(f"  {'':10}  {len(self) - _SHOWN_TERMS} more")
        return printable("\n".join([*lines, f"beware: {self.warning}."]))


def ranking_of(model: Ruled, X: Any = None) -> Ranking:
    """Features by |w_j|, with rows X by |w_j| times the standard deviation of the column."""
    size = np.linalg.norm(model.coef_, axis=0)
    if X is not None:
        size = size * many_rows(X, len(size)).std(axis=0)
    return ranked(model, size, scaled=X is not None)


def many_rows(X: Any, d: int) -> Array:
    """Rows of d numbers as an array."""
    rows = _floats("X", X.toarray() if hasattr(X, "toarray") else X)
    if rows.ndim != 2 or rows.shape[1] != d:
        raise DataError(f"X has shape {rows.shape}; the model has {d} features.")
    require_finite(rows, None)
    return rows


def _floats(name: str, values: Any) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} holds values that are not numbers ({error}).") from None


def ranked(model: Fitted, size: Array, **told: Any) -> Ranking:
    """Features by these sizes, the largest first."""
    order = np.argsort(-size, kind="stable")
    names = feature_names(model)
    return Ranking(tuple((names[j], float(size[j])) for j in order), order, **told)
