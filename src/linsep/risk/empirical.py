"""The mean loss on data, and how far it may be from the risk.

R_emp(q) = sum_i s_i W(q(x_i), k_i) / sum_i s_i
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.validate import as_weights
from linsep.errors import DataError, LabelError, ModelError, SettingError
from linsep.risk.decision import decisions
from linsep.risk.intervals import binomial_interval, check_level, hoeffding_width
from linsep.risk.tables import as_table


class EmpiricalRisk(float):
    """A mean loss, as a float with what it is made of.

    Attributes
    ----------
    counts : array of shape (n_decisions, K)
        Total weight of the rows of class k (column) with decision d (row).
    decisions, classes : tuple
        Names of the rows and columns of ``counts``.
    n : int
        Rows.
    errors : float or int
        Total weight of the rows whose decision is not their class; reject counts as one.
    interval : (float, float) or None
        Where the risk is, with the confidence asked for, if the model has not seen the rows.
    words : str
        All that in a sentence.
    """

    counts: NDArray[np.float64]
    decisions: tuple[Any, ...]
    classes: tuple[Any, ...]
    n: int
    errors: float
    interval: tuple[float, float] | None
    words: str

    @classmethod
    def make(cls, value: float, **parts: Any) -> Self:
        """The number with its parts."""
        risk = cls(value)
        for name, part in parts.items():
            setattr(risk, name, part)
        return risk

    def __str__(self) -> str:
        return self.words


def empirical_risk(
    model: object,
    X: Any = None,
    y: Any = None,
    *,
    loss: Any = None,
    labels: Any = None,
    reject_label: Any = None,
    sample_weight: Any = None,
    confidence: float | None = None,
) -> EmpiricalRisk:
    """Mean loss of a classifier, or of predictions, under any loss.

    Parameters
    ----------
    model : classifier or array of shape (n,)
        Anything with predict, of any library, or predictions.
    X, y : data
        With predictions X may be left out: ``empirical_risk(predictions, y)``.
    loss : table W[d, k], optional
        A row for each decision and a column for each class, in the order of ``labels``; rows
        beyond the classes are reject options. None counts errors. A data frame or a
        dictionary is read by its names.
    labels : sequence, optional
        The classes in the order of the columns of loss. Default: sorted, as the model has
        them.
    reject_label : optional
        What predictions say for the rows of loss beyond the classes, a list if there are
        several. Default: "reject" for text labels, -1 (or 0 if -1 is a class) for numbers.
    sample_weight : array of shape (n,), optional
    confidence : float, optional
        Give an interval for the risk. It is true for rows that the model was not fitted to
        and not chosen by: Clopper-Pearson for plain errors, Hoeffding for other losses.

    Examples
    --------
    >>> from linsep.risk import empirical_risk
    >>> risk = empirical_risk(["a", "b", "b", "a"], ["a", "b", "a", "a"], confidence=0.95)
    >>> float(risk), risk.errors
    (0.25, 1)
    >>> print(risk)
    0.25 on 4 rows (1 error); between 0.00631 and 0.806 with 95% confidence on rows never seen

    A missed "b" costs ten times a false one:

    >>> float(empirical_risk(["a", "b", "b", "a"], ["b", "b", "a", "a"], loss=[[0, 10], [1, 0]]))
    2.75
    """
    predicted, truth = _predictions(model, X, y)
    classes = _classes(model, truth, labels, predicted if loss is None else truth)
    W, names = _loss(loss, classes, reject_label)
    weight = as_weights(sample_weight, len(truth))
    if not weight.any():
        raise DataError("all sample weights are zero; give some rows a positive weight.")
    column = _places(truth, classes, "y has the label")
    row = _places(predicted, names, "there is the prediction")
    losses = W[row, column]
    value = float(weight @ losses / weight.sum())
    counts = np.zeros(W.shape)
    np.add.at(counts, (row, column), weight)
    wrong = float(weight[row != column].sum())
    errors = int(wrong) if sample_weight is None else wrong
    interval = None
    if confidence is not None:
        interval = _interval(value, W, weight, losses, check_level(confidence, "confidence"))
    return EmpiricalRisk.make(
        value,
        counts=counts,
        decisions=tuple(names),
        classes=tuple(classes),
        n=len(truth),
        errors=errors,
        interval=interval,
        words=_words(value, errors, len(truth), interval, confidence),
    )


def _predictions(model: object, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Predictions and true labels, one of each for every row."""
    if hasattr(model, "predict"):
        if X is None or y is None:
            raise DataError("a model needs data: empirical_risk(model, X, y).")
        model = model.predict(X)
    elif callable(model):
        raise ModelError(f"{model!r} has no predict; give a classifier or its predictions.")
    if y is None:
        y = X
    if y is None:
        raise DataError("the true labels are missing: empirical_risk(predictions, y).")
    predicted, truth = _labels(model, "predictions"), _labels(y, "y")
    if len(predicted) != len(truth):
        raise LabelError(
            f"there are {len(predicted)} predictions and {len(truth)} labels; give one prediction "
            "for each label."
        )
    return predicted, truth


def _labels(values: Any, what: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or not len(array):
        raise LabelError(f"{what} has shape {array.shape}; give one label for each row.")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise LabelError(f"{what} contains NaN at row {int(np.flatnonzero(np.isnan(array))[0])}.")
    return array


def _classes(model: object, truth: NDArray[Any], labels: Any, others: NDArray[Any]) -> list[Any]:
    """Classes in the caller's order, or sorted: those of the model and those of the data."""
    if labels is not None:
        classes = list(labels)
        if len(set(classes)) != len(classes):
            raise SettingError(f"labels names a class twice: {classes}.")
        return classes
    known = getattr(model, "classes_", None)
    found = {
        *truth.tolist(),
        *others.tolist(),
        *(() if known is None else np.asarray(known).tolist()),
    }
    try:
        return sorted(found)
    except TypeError:
        raise LabelError(
            "labels of different kinds (text and numbers) have no order; give labels=[...]."
        ) from None


def _loss(
    loss: Any, classes: list[Any], reject_label: Any
) -> tuple[NDArray[np.float64], list[Any]]:
    """W in floats, and the names of its rows."""
    K = len(classes)
    if loss is None:
        return 1.0 - np.eye(K), classes
    table = as_table(loss, "loss", "W(d, k)").floats()
    W = table.values
    if table.columns is not None and hasattr(loss, "keys"):
        columns = list(table.columns)
        missing = [k for k in classes if k not in columns]
        if missing:
            raise DataError(f"loss has no column for the class {missing[0]!r}.")
        W = W[:, [columns.index(k) for k in classes]]
    if table.rows is not None and hasattr(loss, "keys"):
        return W, list(table.rows)
    rule = decisions(W, np.array(classes), reject_label)
    return W, list(rule.labels.tolist())


def _places(values: NDArray[Any], names: list[Any], what: str) -> NDArray[np.int64]:
    place = {name: i for i, name in enumerate(names)}
    try:
        found = [place[v] for v in values.tolist()]
    except KeyError as error:
        known = ", ".join(repr(v) for v in names)
        raise LabelError(f"{what} {error.args[0]!r}; loss and labels know {known}.") from None
    return np.array(found, dtype=np.int64)


def _interval(
    value: float,
    W: NDArray[np.float64],
    weight: NDArray[np.float64],
    losses: NDArray[np.float64],
    confidence: float,
) -> tuple[float, float]:
    """Exact for losses of two values and equal weights, else Hoeffding's."""
    low, high = float(W.min()), float(W.max())
    if low == high:
        return low, high
    if (weight == weight[0]).all() and np.isin(W, (low, high)).all():
        count = int((losses == high).sum())
        ends = binomial_interval(count, len(losses), confidence)
        return low + (high - low) * ends[0], low + (high - low) * ends[1]
    shares = float((weight**2).sum() / weight.sum() ** 2)
    width = hoeffding_width(high - low, shares, confidence)
    return max(low, value - width), min(high, value + width)


def _words(value: float, errors: float, n: int, interval: Any, confidence: float | None) -> str:
    some = "1 error" if errors == 1 else f"{errors:g} errors"
    text = f"{value:.6g} on {n} row{'' if n == 1 else 's'} ({some})"
    if interval is None:
        return text
    return (
        f"{text}; between {interval[0]:.3g} and {interval[1]:.3g} with {confidence:.0%} "
        "confidence on rows never seen"
    )
