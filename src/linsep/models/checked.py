"""Rows and labels of a caller as a problem, for estimators that no plane stands behind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from linsep.core.labels import plain_labels
from linsep.core.problem import Problem
from linsep.core.validate import as_weights
from linsep.errors import DataError, LabelError
from linsep.rows.survey import survey


def checked_problem(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Problem:
    """Check rows and labels as scikit-learn does, and keep the names of the columns."""
    if y is None:
        raise LabelError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    try:
        X = validate_data(
            estimator,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,  # Problem looks, and names the place
        )
    except TypeError:
        raise
    except ValueError as error:
        raise DataError(str(error)) from error
    labels = read_labels(y)
    return Problem(
        X,
        labels,
        sample_weight=row_weights(estimator.class_weight, labels, sample_weight),
        feature_names=getattr(estimator, "feature_names_in_", None),
    )


# -- Labels of a caller as one array, one label a row, held to scikit-learn's rules ---------------


def read_labels(y: Any) -> NDArray[Any]:
    """Labels as scikit-learn takes them, and some kinds more (see ``plain_labels``).

    Anything else that is no list of classes is a LabelError with its place.

    >>> read_labels(np.array([3, 1, 3], dtype=object)).dtype.kind
    'i'
    """
    plain = plain_labels(y)
    shape = np.asarray(plain).shape
    if len(shape) == 2 and shape[1] > 1:
        raise LabelError(
            f"y has shape {shape}: several labels for each row. Give one label for each row, or "
            "fit one classifier for each column with sklearn.multioutput.MultiOutputClassifier. "
            "y should be a 1d array."
        )
    try:
        labels = np.asarray(column_or_1d(plain, warn=True))
        if labels.dtype.kind not in "biu":  # integers and booleans can only be classes
            assert_all_finite(labels, input_name="y")
            check_classification_targets(labels)
    except (TypeError, ValueError) as error:
        raise LabelError(_words(plain, error)) from error
    return labels


def _words(y: Any, error: Exception) -> str:
    """What is wrong with labels; the words of scikit-learn where there is nothing to add."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.dtype.kind not in "OS" or labels.ndim != 1:
        return str(error)
    kinds = [type(label) for label in labels.tolist()]
    for at, label in enumerate(labels.tolist()):
        if label is None or (isinstance(label, float | np.floating) and label != label):
            return f"y has no label at row {at} ({label}); drop that row or give it a label."
        if isinstance(label, bytes):
            return (
                f"y has bytes at row {at} ({label!r}), which are neither text nor numbers. Convert "
                "the labels to a string or integer format: np.char.decode(np.array(y, dtype='S'))."
            )
    if len(set(kinds)) == 1:
        return str(error)
    names = sorted({kind.__name__ for kind in kinds})
    return (
        f"y mixes labels of the types {', '.join(names)}, which have no order; make them all "
        "text or all numbers."
    )


# -- Weights of classes and weights of rows, multiplied -------------------------------------------


def row_weights(
    class_weight: Any, y: NDArray[Any], sample_weight: Any, *, by_weight: bool = True
) -> Any:
    """Sample weights times class weights.

    "balanced" counts a row of weight s as s rows; other libraries count it as one
    (``by_weight=False``).

    >>> row_weights("balanced", np.array([0, 0, 1]), [1.0, 2.0, 3.0]).tolist()
    [1.0, 2.0, 3.0]
    """
    if class_weight is None:
        return sample_weight
    classes = np.unique(y)
    counted = None if sample_weight is None else as_weights(sample_weight, len(y))
    with np.errstate(divide="ignore"):  # of a class whose rows all have weight zero
        by_class = compute_class_weight(
            class_weight, classes=classes, y=y, sample_weight=counted if by_weight else None
        )
    by_class = np.where(np.isinf(by_class), 1.0, by_class)
    weight = by_class[np.searchsorted(classes, y)]
    return weight if counted is None else weight * counted


# -- Rows that cannot be worked with, by value and place ------------------------------------------


_TINY = 1e-70  # largest entry below which the square of a hard margin's weights may overflow


def refuse_unusable(problem: Problem) -> None:
    """NaN, infinity, and numbers too large for sums of squares, by name and place."""
    if survey(problem).usable:
        return
    problem.check_finite()
    data = problem.matrix.data if problem.sparse else problem.matrix
    if float(max(data.max(), -data.min())) > 1e100:
        raise DataError(overflow_words(problem))


def refuse_tiny(problem: Problem) -> None:
    """Numbers so small that the weights of a hard margin are not among the floating ones."""
    data = problem.matrix.data if problem.sparse else problem.matrix
    largest = float(np.abs(data).max(initial=0.0))
    if 0.0 < largest < _TINY:
        raise DataError(
            f"the largest entry of X is {largest:.3g}, so the weights of a hard margin (C=inf) "
            "overflow. Scale the columns, for instance with sklearn.preprocessing.MaxAbsScaler."
        )


def overflow_words(problem: Problem) -> str:
    """What to say when sums of squares overflow."""
    return (
        f"the numbers overflowed: {_largest(problem)}. Scale the columns, for instance "
        "with sklearn.preprocessing.MaxAbsScaler."
    )


def _largest(problem: Problem) -> str:
    """Where the largest entry of X stands."""
    values = abs(problem.matrix)
    if problem.sparse:
        at = int(values.data.argmax())
        column, size = int(values.indices[at]), float(values.data[at])
    else:
        at = int(values.argmax())
        column, size = at % problem.d, float(values.flat[at])
    return f"column {column} ({problem.feature_name(column)!r}) reaches {size:.3g}"
