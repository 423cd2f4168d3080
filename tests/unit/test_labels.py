"""Labels of integers are told apart without sorting, with the result of sorting."""

from __future__ import annotations

import numpy as np
import pytest

from linsep.core.validate import as_labels

CASES = [
    np.array([1, 0, 0, 1]),
    np.array([-128, 127, 127], np.int8),
    np.array([0, 255, 3], np.uint8),
    np.array([2**63, 0, 2**63], np.uint64),
    np.array([-(2**63), 2**63 - 1]),
    np.array([3, 1, 2, 3]),
    np.array([5, 900, 5, 6], np.int32),
]


@pytest.mark.parametrize("y", CASES, ids=lambda y: f"{y.dtype}-{y[0]}")
def test_integers_are_numbered_as_by_sorting(y):
    classes, label = as_labels(y, len(y))
    wanted, places = np.unique(y, return_inverse=True)
    assert classes.dtype == y.dtype and label.dtype == np.int64
    assert classes.tolist() == wanted.tolist() and label.tolist() == places.tolist()
