"""Labels of a caller as one array, one label a row, held to scikit-learn's rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from linsep.core.labels import plain_labels
from linsep.errors import LabelError

__all__ = ["read_labels"]


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
