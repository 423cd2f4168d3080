"""Rows of one class, 1 or -1: is there a half-space at the origin that holds them all?"""

from __future__ import annotations

import numpy as np
import pytest

import linsep
from linsep.errors import LabelError

OPPOSITE = ([[1.0], [-1.0]], [1, 1])  # erratum E-22: not separable, and yet no mistake with "<"


def test_opposite_rows_of_one_class_lie_in_no_half_space():
    proof = linsep.separability(*OPPOSITE, fit_intercept=False)
    assert proof.separable is False
    assert list(map(float, proof.multipliers)) == [0.5, 0.5]
    assert linsep.Proof.from_dict(proof.to_dict()).check(*OPPOSITE)
    assert linsep.separators(*OPPOSITE, fit_intercept=False).contains([1], 0) is False
    assert linsep.risk.novikoff_bound(*OPPOSITE, fit_intercept=False) == float("inf")
    assert linsep.risk.minimum_errors(*OPPOSITE, fit_intercept=False).errors == 1


def test_the_literal_rule_makes_no_mistake_and_the_right_one_in_every_pass():
    literal = linsep.Perceptron(fit_intercept=False, misclassified="<")
    assert linsep.trace(literal, *OPPOSITE).outcome.updates == 0
    model = linsep.Perceptron(fit_intercept=False)
    run = linsep.trace(model, *OPPOSITE, max_steps=12, visits=True)
    assert all(step.wrong for step in run[1:])
    assert "class 1 is 1, class 2 is -1" in run.narrate(convention="003")
    fitted = model.fit(*OPPOSITE)
    assert fitted.status_.name == "INSEPARABLE"
    assert fitted.classes_.tolist() == [-1, 1]


@pytest.mark.parametrize("sign", [1, -1, 1.0])
def test_rows_in_a_half_space_are_separable_with_the_margin_of_their_hull(sign):
    X = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, -1.0]])
    y = np.full(3, sign)
    proof = linsep.separability(X, y, fit_intercept=False)
    assert proof.separable
    low, high = proof.margin
    assert low <= 7 / np.sqrt(13) <= high  # distance of the segment from (1, 2) to (3, -1)
    assert proof.check(X, y)
    model = linsep.Perceptron(fit_intercept=False).fit(X, y)
    assert (model.predict(X) == sign).all()
    found = linsep.separators(X, y, fit_intercept=False)
    assert found.contains(model.coef_[0], 0)


def test_one_class_without_a_sign_or_with_an_offset_is_refused():
    with pytest.raises(LabelError, match="one class has a side if it is 1 or -1"):
        linsep.separability([[1.0], [2.0]], ["a", "a"], fit_intercept=False)
    with pytest.raises(LabelError, match="one class"):
        linsep.separability([[1.0], [2.0]], [1, 1])
    with pytest.raises(LabelError, match="one class"):
        linsep.LinearSVM(fit_intercept=False).fit([[1.0], [2.0]], [1, 1])


def test_reflection_of_one_class():
    assert linsep.reflect([[1.0], [2.0]], [-1, -1]).tolist() == [[-1.0], [-2.0]]
    with pytest.raises(LabelError):
        linsep.reflect([[1.0], [2.0]], ["a", "a"])
