"""Arguments that mean nothing are refused in words, whatever name of the lectures they go to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gamma, norm, uniform

import linsep
from linsep import Linear, criteria
from linsep.errors import DataError, SettingError

TABLE = linsep.data.load("mse-1")
PLANE = Linear([2, -1], -2)
NAN = float("nan")
FOUND = linsep.separators(*TABLE)
MODEL = linsep.LinearSVM().fit(*TABLE)


@pytest.mark.parametrize(
    ("ask", "kind", "words"),
    [
        (lambda: Linear([1, 2], 0, classes="ab"), SettingError, "2 different labels"),
        (lambda: PLANE.parallel([1, 2, 3]), DataError, "3 coordinates, the plane 2"),
        (lambda: FOUND.contains([NAN, 1]), DataError, "finite numbers"),
        (lambda: FOUND.contains([1, 2], None), DataError, "finite numbers"),
        (lambda: FOUND.contains([1, 2], [1, 2]), DataError, "one intercept"),
        (lambda: criteria.Hinge(C="a"), SettingError, "C must be"),
        (lambda: criteria.Perceptron(anchor="ab"), SettingError, "anchor is 'ab'"),
        (lambda: criteria.Squares([NAN]), SettingError, "targets is"),
        (lambda: criteria.Hinge().value(PLANE, [[NAN, 1]], [1]), DataError, "NaN at row 0"),
        (
            lambda: criteria.Hinge().value(PLANE, *TABLE, sample_weight=[1, 2]),
            DataError,
            "sample_weight has shape",
        ),
        (lambda: linsep.descend(criteria.Hinge, *TABLE, PLANE), SettingError, r"such as Hinge\(\)"),
        (lambda: linsep.descend(3, [1.0]), SettingError, "function is 3"),
        (lambda: linsep.descend(lambda x: x, [1.0, 2.0]), SettingError, "not one number"),
        (lambda: linsep.descend(criteria.Hinge(), *TABLE), TypeError, "start missing"),
        (lambda: linsep.Perceptron(start=([NAN, 1], 0)).fit(*TABLE), SettingError, "start is"),
        (
            lambda: linsep.trace(linsep.Perceptron(), *TABLE).narrate("003", class_names=["F"]),
            SettingError,
            "1 name for 2 classes",
        ),
        (
            lambda: linsep.separability(*TABLE, kernel=linsep.kernels.RBF),
            SettingError,
            "the class RBF",
        ),
        (lambda: MODEL.explain("ab"), DataError, "not numbers"),
        (lambda: MODEL.ranking([[NAN, 1], [1, 2]]), DataError, "NaN at row 0"),
        (lambda: linsep.risk.bayes_strategy([norm(0, -1), norm()]), DataError, "of class 0"),
        (lambda: linsep.risk.bayes_strategy([gamma, norm()]), DataError, "of class 0"),
        (
            lambda: linsep.risk.minimax([uniform(0, 1), uniform(0.5, 1)], deterministic=True),
            SettingError,
            "deterministic is for tables",
        ),
    ],
)
def test_what_means_nothing_is_refused_in_words(ask, kind, words):
    with pytest.raises(kind, match=words):
        ask()


def test_a_plane_is_a_start():
    run = linsep.trace(linsep.Perceptron(start=Linear([1, 2], 3)), *TABLE)
    assert [*run[0].coef, run[0].intercept] == [1, 2, 3]
    display = linsep.ReflectionDisplay.from_data(*TABLE, weights=PLANE)
    assert np.array_equal(display.weights, [2, -1, -2])
