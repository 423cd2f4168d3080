"""Rows and labels of a caller as a problem, for estimators that no plane stands behind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from linsep.core import Problem
from linsep.errors import DataError, LabelError
from linsep.estimators.class_weight import row_weights

__all__ = ["checked_problem"]


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
    labels = _labels(y)
    return Problem(
        X,
        labels,
        sample_weight=row_weights(estimator.class_weight, labels, sample_weight),
        feature_names=getattr(estimator, "feature_names_in_", None),
    )


def _labels(y: Any) -> NDArray[Any]:
    try:
        labels = np.asarray(column_or_1d(y, warn=True))
        if labels.dtype.kind not in "biu":  # integers and booleans can only be classes
            assert_all_finite(labels, input_name="y")
            check_classification_targets(labels)
    except (TypeError, ValueError) as error:
        raise LabelError(str(error)) from error
    return labels
