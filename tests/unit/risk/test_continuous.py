"""Strategies for known densities, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.stats import norm

from linsep.errors import DataError, SettingError
from linsep.risk import bayes_strategy, gaussian_weights, minimax, neyman_pearson

PAIR = [norm(0, 1), norm(2, 1)]


def test_two_gaussians_of_one_variance():
    rule = bayes_strategy(PAIR, priors=[0.9, 0.1])
    assert rule.thresholds == pytest.approx([1 + np.log(9) / 2])
    expected = 0.9 * norm.sf(rule.thresholds[0]) + 0.1 * norm.cdf(rule.thresholds[0] - 2)
    assert rule.risk == pytest.approx(expected, abs=1e-14) and rule.error < 1e-12
    assert rule.linear and rule.coef.tolist() == [1.0]
    assert rule.predict([0.0, 2.0, 3.0]).tolist() == [0, 0, 1] and rule(5.0) == 1
    assert "linear" in str(rule)


def test_two_variances_leave_an_interval_to_the_narrow_class():
    rule = bayes_strategy([norm(0, 1), norm(0, 3)])
    t = np.sqrt(2 * np.log(3) / (1 - 1 / 9))
    assert rule.thresholds == pytest.approx([-t, t])
    assert [d for *_, d in rule.regions] == [1, 0, 1]
    assert not rule.linear and rule.coef is None
    assert rule.risks == pytest.approx([2 * norm.sf(t), norm.cdf(t / 3) - norm.cdf(-t / 3)])


def test_any_law_in_one_dimension():
    rule = bayes_strategy([stats.expon(), stats.gamma(3)])
    assert rule.thresholds == pytest.approx([np.sqrt(2)])  # e^-x = x^2 e^-x / 2
    heavy = bayes_strategy([stats.cauchy(0, 1), stats.cauchy(4, 1)])
    assert heavy.thresholds == pytest.approx([2.0])
    assert heavy.risk == pytest.approx(0.5 - np.arctan(2) / np.pi, abs=1e-9)
    apart = bayes_strategy([stats.uniform(2, 1), stats.uniform(0, 1)])
    assert apart.risk == 0.0 and 1.0 <= apart.thresholds[0] <= 2.0
    assert apart.predict([-5.0, 0.5, 2.5, 9.0]).tolist() == [1, 1, 0, 0]  # as its regions say


def test_a_reject_option():
    rule = bayes_strategy(PAIR, [[0, 1], [1, 0], [0.2, 0.2]], priors=[0.5, 0.5])
    low, high = rule.thresholds  # where the smaller posterior is 0.2
    assert (low, high) == pytest.approx((1 - np.log(4) / 2, 1 + np.log(4) / 2))
    assert rule.predict([-1.0, 1.0, 3.0]).tolist() == [0, 2, 1]


def test_minimax_makes_risks_equal():
    rule = minimax([norm(0, 1), norm(2, 2)])
    assert rule.risks[0] == pytest.approx(rule.risks[1], abs=1e-9)
    assert bayes_strategy([norm(0, 1), norm(2, 2)], priors=rule.weights).risk == pytest.approx(
        rule.risk
    )
    three = minimax([norm(0, 1), norm(2, 1), norm(5, 2)])
    assert np.ptp(three.risks) < 1e-7
    least = bayes_strategy([norm(0, 1), norm(2, 1), norm(5, 2)], priors=three.weights)
    assert least.risk == pytest.approx(three.risk, abs=1e-6)  # no strategy has less


def test_the_best_test():
    rule = neyman_pearson(PAIR, 0.05)
    assert rule.thresholds == pytest.approx([norm.isf(0.05)])
    assert rule.risk == pytest.approx(norm.cdf(norm.isf(0.05) - 2))
    assert rule.risks[0] == pytest.approx(0.05)


def test_ties_of_some_probability_are_left_to_chance():
    boxes = [stats.uniform(0, 1), stats.uniform(0.5, 1)]
    rule = minimax(boxes)
    assert rule.risks == pytest.approx([0.25, 0.25]) and rule.chance == pytest.approx(0.5)
    test = neyman_pearson(boxes, 0.1)
    assert test.risks == pytest.approx([0.1, 0.4]) and test.chance == pytest.approx(0.2)


def test_gaussians_of_one_covariance_are_exact_in_any_dimension():
    cov = np.array([[2.0, 1.0], [1.0, 2.0]])
    means = np.array([[0.0, 0.0], [2.0, 0.0]])
    densities = [stats.multivariate_normal(mean, cov) for mean in means]
    rule = bayes_strategy(densities, priors=[0.3, 0.7])
    known = gaussian_weights(means, cov, [0.3, 0.7])
    assert rule.linear and rule.samples == 0
    assert rule.coef == pytest.approx(known.coef_[0])
    assert rule.intercept == pytest.approx(known.intercept_[0])
    far = np.sqrt((means[1] - means[0]) @ np.linalg.solve(cov, means[1] - means[0]))
    assert minimax(densities).risk == pytest.approx(norm.sf(far / 2))
    X = np.random.default_rng(0).normal(size=(50, 2)) * 3
    assert (rule.predict(X) == known.predict(X)).all()


def test_other_laws_of_many_dimensions_are_sampled():
    wide = [stats.multivariate_normal([0, 0]), stats.multivariate_normal([0, 0], 9.0)]
    rule = bayes_strategy(wide)
    r2 = 2 * np.log(9) / (1 - 1 / 9)  # chi-square of two degrees
    exact = np.array([np.exp(-r2 / 2), 1 - np.exp(-r2 / 18)])
    assert not rule.linear and rule.samples > 0
    assert np.abs(rule.risks - exact).max() < 5 * rule.error
    three = [stats.multivariate_normal(mean) for mean in ([0, 0], [2, 0], [0, 2])]
    assert bayes_strategy(three).linear


def test_what_is_refused():
    with pytest.raises(DataError, match="class 1 has no density"):
        bayes_strategy([norm(0, 1), stats.poisson(2)])
    with pytest.raises(DataError, match="dimensions"):
        minimax([norm(0, 1), stats.multivariate_normal([0, 0])])
    with pytest.raises(DataError, match="two"):
        neyman_pearson([norm(0, 1), norm(1, 1), norm(2, 1)], 0.1)
    with pytest.raises(DataError, match="equal"):
        bayes_strategy([stats.multivariate_normal([0, 0])] * 2)
    with pytest.raises(SettingError, match="evidence"):
        bayes_strategy(PAIR, evidence=[0.5, 0.5])


def test_priors_in_the_place_of_the_loss_are_told_apart():
    with pytest.raises(DataError, match=r"given by name: priors="):
        bayes_strategy([norm(0, 1), norm(2, 1)], [0.5, 0.5])
    normal = stats.multivariate_normal
    rule = minimax([normal([0, 0]), normal([2, 1])])
    assert "where 2 x1 + x2 > 2.5;" in str(rule)
