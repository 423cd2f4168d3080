"""Rows and labels of a caller as a problem, for estimators that no plane stands behind."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from linsep.core import Problem
from linsep.errors import DataError, LabelError
from linsep.estimators.class_weight import row_weights
from linsep.estimators.labels import read_labels

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
    labels = read_labels(y)
    return Problem(
        X,
        labels,
        sample_weight=row_weights(estimator.class_weight, labels, sample_weight),
        feature_names=getattr(estimator, "feature_names_in_", None),
    )
