"""Logit, its inverse, odds, and the linear rules built on them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linsep.errors import DataError, SettingError
from linsep.risk import bernoulli_weights, gaussian_weights, inverse_logit, logit, odds, probability


def test_limits():
    assert [logit(p) for p in (0.0, 0.5, 1.0)] == [-math.inf, 0.0, math.inf]
    assert [inverse_logit(v) for v in (-math.inf, 0.0, math.inf)] == [0.0, 0.5, 1.0]
    assert [odds(p) for p in (0.0, 0.5, 1.0)] == [0.0, 1.0, math.inf]
    assert [probability(o) for o in (0.0, 1.0, math.inf)] == [0.0, 0.5, 1.0]
    assert logit(0.3) == pytest.approx(math.log(3 / 7), rel=1e-15)


@given(st.floats(0.0, 1.0))
def test_round_trip_of_a_probability(p):
    """The log odds carry an error of an ulp, which moves p by p q |log odds| ulp."""
    value = logit(p)
    slack = 0.0 if math.isinf(value) else p * (4 * 2.0**-53 * (1 + abs(value))) + 5e-324
    assert abs(inverse_logit(value) - p) <= slack
    assert abs(probability(odds(p)) - p) <= p * 2.0**-51 + 5e-324


@given(st.floats(-700.0, 36.0))
def test_round_trip_of_log_odds(value):
    """Below 0 nothing is lost; above, p near 1 keeps 2^-53 / (1 - p) of it."""
    slack = 1e-14 * (1 + abs(value)) + 2.0**-52 / inverse_logit(-value)
    assert abs(logit(inverse_logit(value)) - value) <= slack
    tiny = math.exp(-abs(value))
    assert inverse_logit(-abs(value)) == pytest.approx(tiny / (1 + tiny), rel=1e-14)


@given(st.floats(1e-300, 1.0, exclude_max=True))
def test_logit_against_rational_arithmetic(p):
    exact = Fraction(p) / (1 - Fraction(p))
    expected = math.log(exact) if Fraction(1, 2) > exact or exact > 2 else math.log1p(exact - 1)
    assert logit(p) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_arrays_keep_their_shape_and_one_number_is_a_float():
    assert logit(np.full((2, 3), 0.5)).shape == (2, 3)
    assert type(logit(0.2)) is float
    assert type(inverse_logit(np.float32(1.0))) is float


@pytest.mark.parametrize("p", [-1e-9, 1.0000001, math.nan])
def test_no_probability_is_refused(p):
    with pytest.raises(DataError, match=r"p\[1\] is"):
        logit([0.5, p])
    with pytest.raises(DataError, match="from 0 to 1"):
        odds(p)
    with pytest.raises(DataError, match="odds is"):
        probability(-1.0)
    with pytest.raises(DataError, match="log odds is nan"):
        inverse_logit(math.nan)


# -- linear rules -----------------------------------------------------------------------------


def test_gaussian_weights_are_those_of_the_lecture():
    """w = S^-1 (mu1 - mu2), w0 = -(mu1 + mu2)'w / 2 + ln(p1 / p2), positive class last."""
    mu = np.array([[1.0, -2.0], [3.0, 5.0]])
    S = np.array([[2.0, 0.3], [0.3, 1.0]])
    rule = gaussian_weights(mu, S, [0.2, 0.8], classes=["no", "yes"])
    w = np.linalg.solve(S, mu[1] - mu[0])
    np.testing.assert_allclose(rule.coef_[0], w, rtol=1e-12)
    assert rule.intercept_[0] == pytest.approx(-(mu[0] + mu[1]) @ w / 2 + math.log(4), rel=1e-12)
    assert rule.predict([mu[1], mu[0]]).tolist() == ["yes", "no"]


def test_variances_are_a_diagonal_covariance():
    mu, v = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 4.0]]), np.array([0.5, 2.0])
    one, two = gaussian_weights(mu, v), gaussian_weights(mu, np.diag(v))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-14)
    np.testing.assert_allclose(one.intercept_, two.intercept_, rtol=1e-14)


def test_scores_of_more_classes_differ_as_the_pairs_do():
    rng = np.random.default_rng(0)
    mu, S = rng.normal(size=(3, 2)), np.diag([1.0, 3.0])
    many = gaussian_weights(mu, S, [0.2, 0.3, 0.5])
    pair = gaussian_weights(mu[:2], S, [0.4, 0.6])
    np.testing.assert_allclose(many.coef_[1] - many.coef_[0], pair.coef_[0])
    assert many.intercept_[1] - many.intercept_[0] == pytest.approx(pair.intercept_[0])
    with pytest.raises(SettingError, match="two classes; there are 3"):
        many.derivation_form()


@pytest.mark.parametrize(
    ("covariance", "words"),
    [
        ([[1.0, 1.0], [1.0, 1.0]], "not positive definite"),
        ([[1.0, 0.5], [0.4, 1.0]], "not symmetric"),
        ([1.0, 0.0], "variance of feature 1 is 0.0"),
        (np.eye(3), r"shape \(3, 3\)"),
    ],
)
def test_covariances_that_are_none_are_refused(covariance, words):
    with pytest.raises(DataError, match=words):
        gaussian_weights([[0.0, 0.0], [1.0, 1.0]], covariance)


def test_certain_features_are_refused():
    with pytest.raises(DataError, match=r"probabilities\[1, 0\] is 1.0"):
        bernoulli_weights([[0.5], [1.0]])
    with pytest.raises(SettingError, match="2 class labels for 3"):
        bernoulli_weights([[0.5]] * 3, classes=["a", "b"])
