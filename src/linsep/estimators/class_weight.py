"""Weights of classes and weights of rows, multiplied."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from linsep.core.validate import as_weights

__all__ = ["row_weights"]


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
