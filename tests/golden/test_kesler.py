"""Golden example of Kesler's construction."""

from __future__ import annotations

import numpy as np
import pytest

import linsep
from linsep.multiclass import kesler_vectors

X = np.array([[0, 2], [1, 3], [3, 0], [4, 1], [-3, -1], [-2, -3]], dtype=float)
y = np.array([1, 1, 2, 2, 3, 3])


def test_block_vectors():
    vectors = kesler_vectors([[1, 2], [0, 0], [0, 0]], [2, 1, 3]).toarray()
    assert vectors[0].tolist() == [-1, -2, -1, 1, 2, 1, 0, 0, 0]
    assert vectors[1].tolist() == [0, 0, 0, 1, 2, 1, -1, -2, -1]


def by_hand():
    """Cyclic over the 12 vectors from zero weights, until 12 right visits in a row."""
    vectors = kesler_vectors(X, y).toarray()
    w, updates, visits, clean = np.zeros(9), 0, 0, 0
    while clean < len(vectors):
        v = vectors[visits % len(vectors)]
        visits += 1
        if w @ v <= 0:
            w, updates, clean = w + v, updates + 1, 0
        else:
            clean += 1
    return w.reshape(3, 3), updates, visits


@pytest.mark.parametrize("model", [
    linsep.Kesler(linsep.Perceptron()),
    linsep.Kesler(linsep.Perceptron(), explicit=True),
])  # fmt: skip
def test_implicit_and_explicit_rule_give_the_same_machine(model):
    model.fit(X, y)
    W, updates, visits = by_hand()
    assert W.astype(int).tolist() == [[0, 3, -1], [3, -2, 0], [-3, -1, 1]]
    np.testing.assert_array_equal(np.column_stack([model.coef_, model.intercept_]), W)
    machine = model.estimators_[0]
    assert (machine.n_updates_, machine.outcome_.state.n_visits) == (updates, visits) == (3, 21)
    assert model.certificate_.separable is True
    assert model.certificate_.separable is linsep.separability(X, y).separable


def test_the_native_perceptron_is_the_same():
    model = linsep.Perceptron().fit(X, y)
    np.testing.assert_array_equal(model.coef_, linsep.Kesler().fit(X, y).coef_)


def test_the_trace_shows_every_step():
    trace = linsep.trace(linsep.Kesler(), X, y)
    assert len(trace) == 4 and len(trace[-1].errors) == 0
    np.testing.assert_array_equal(trace[-1].coef, linsep.Kesler().fit(X, y).coef_)
    with pytest.raises(linsep.errors.CapabilityError, match="cannot be traced"):
        linsep.trace(linsep.Kesler(linsep.LinearSVM()), X, y)
