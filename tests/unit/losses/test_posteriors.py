"""Probabilities of the classes from scores."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax

from linsep.losses.logistic import posteriors


def test_two_classes_keep_small_probabilities():
    scores = np.array([-800.0, -40.0, -1e-3, 0.0, 2.0, 40.0, 800.0])
    p = posteriors(scores)
    np.testing.assert_allclose(p[:, 1], expit(scores), rtol=4e-16)
    np.testing.assert_allclose(p[:, 0], expit(-scores), rtol=4e-16)


def test_many_rows_are_those_of_one_at_a_time():
    rng = np.random.default_rng(0)
    scores = 30 * rng.normal(size=(50_000, 3))
    p = posteriors(scores)
    np.testing.assert_allclose(p, softmax(scores, axis=1), rtol=1e-13)
    for i in (0, 10_921, 10_922, 10_923, 49_999):  # where blocks begin and end
        assert (posteriors(scores[i : i + 1]) == p[i]).all()
    odds = scores.ravel()
    assert (posteriors(odds)[123_456] == posteriors(odds[123_456:123_457])).all()


def test_rows_that_know_nothing():
    p = posteriors(np.array([[-np.inf, -np.inf], [0.0, -np.inf], [1e308, -1e308]]))
    assert p.tolist() == [[0.5, 0.5], [1.0, 0.0], [1.0, 0.0]]
    assert posteriors(np.empty((0, 4))).shape == (0, 4)
    assert posteriors(np.empty(0)).shape == (0, 2)


def test_the_class_that_is_predicted_leads():
    odds = np.array([0.0, 1e-20, -1e-20, 1e-3])
    assert posteriors(odds, lead=True).argmax(axis=1).tolist() == [1, 1, 0, 1]
    scores = np.array([[1.0, 1.0 + 1e-16, 1.0], [1.0, np.nextafter(1.0, 2), 0.0], [0.0, 0.0, 0.0]])
    p = posteriors(scores, lead=True)
    assert p.argmax(axis=1).tolist() == scores.argmax(axis=1).tolist()
    assert ((p == p.max(axis=1, keepdims=True)).sum(axis=1) == 1).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-15)
