"""Labels of integers are told apart without sorting, with the result of sorting."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KernelDensity

import linsep
from linsep.core import validate
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


def test_every_reader_of_labels_takes_the_same_kinds():
    """A list of whole numbers held as objects gives integer classes, whoever reads it."""
    X = np.array([[0.0], [0.2], [2.0], [2.3]])
    y = np.array([3, 3, 7, 7], dtype=object)
    rule = linsep.risk.PlugInClassifier(KernelDensity()).fit(X, y)
    assert rule.classes_.dtype.kind == "i" and rule.predict(X).tolist() == [3, 3, 7, 7]
    assert as_labels(y, 4)[0].dtype.kind == "i"
    assert linsep.separability(X, y).separable


def test_classes_of_a_small_range_are_not_counted(monkeypatch):
    """Sorting the labels of a table is a pass that the count of its classes does not need."""
    monkeypatch.setattr(validate, "total_memory", lambda: 1 << 30)
    monkeypatch.setattr(validate.np, "unique", None)
    validate.refuse_too_many_classes(np.arange(100_000) % 3)
