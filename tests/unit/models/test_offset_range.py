"""Offsets of a machine that are as good as the one it has."""

from __future__ import annotations

import numpy as np
import pytest

import linsep
from linsep.criteria import Hinge

LINE = np.array([[0.0], [1.0], [2.0], [3.0]])


def test_rows_that_are_all_inside_the_street_leave_the_offset_open():
    y = np.array([-1, -1, 1, 1])
    model = linsep.LinearSVM(0.1).fit(LINE, y)
    low, high = model.intercept_range_
    assert (low, high) == (pytest.approx(-1.0), pytest.approx(-0.2))
    assert "w is unique, b is not: from -1 to -0.2" in model.summary()
    cost = Hinge(0.1)
    best = cost.value((model.coef_[0], float(model.intercept_[0])), LINE, y)
    for b in np.linspace(low, high, 7):
        assert cost.value((model.coef_[0], float(b)), LINE, y) == pytest.approx(best)
    for b in (low - 0.01, high + 0.01):
        assert cost.value((model.coef_[0], float(b)), LINE, y) > best * (1 + 1e-6)


@pytest.mark.parametrize(
    "model",
    [
        linsep.LinearSVM(10.0),  # rows on both edges of the street hold it
        linsep.LinearSVM(np.inf),
        linsep.LinearSVM(0.1, loss="squared_hinge"),
        linsep.LinearSVM(0.1, fit_intercept=False),
    ],
)
def test_elsewhere_it_is_the_only_one(model):
    assert model.fit(LINE, [-1, -1, 1, 1]).intercept_range_ is None
    assert "b is not" not in model.summary()


def test_weights_of_rows_count():
    model = linsep.LinearSVM(0.1).fit(LINE, [-1, -1, 1, 1], sample_weight=[1.0, 1.0, 1.0, 1.5])
    assert model.intercept_range_ is None
