"""The Bayes rule with densities from anywhere, histograms, and the cost of wrong densities."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KernelDensity

from linsep import GaussianClassifier
from linsep.errors import CapabilityError, DataError, SettingError
from linsep.risk import (
    Histogram,
    PlugInClassifier,
    bayes_risk,
    bayes_strategy,
    excess_bound,
    excess_risk,
    plug_in,
    wrong_family,
)


def two_clouds(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 2)) + 2 * y[:, None], y


# -- known densities --------------------------------------------------------------------------


def test_known_densities_give_the_posterior_of_the_formula():
    parts = [stats.norm(0, 1), stats.norm(1, 2), stats.norm(-2, 0.5)]
    priors = np.array([0.5, 0.3, 0.2])
    x = np.linspace(-6, 6, 41)
    joint = priors * np.column_stack([part.pdf(x) for part in parts])
    rule = plug_in(parts, priors)
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(rule.predict_proba(x[:, None]), expected, rtol=1e-10)
    np.testing.assert_array_equal(rule.predict(x[:, None]), joint.argmax(axis=1))


def test_all_kinds_of_densities_agree():
    X = np.array([[0.3], [1.2], [-2.0]])
    kinds = {
        "logpdf": stats.norm(0, 1),
        "callable": lambda rows: stats.norm(0, 1).pdf(rows[:, 0]),
        "score_samples": GaussianMixture(1).fit(np.array([[-1.0], [1.0]])),
        "multivariate": stats.multivariate_normal([0.0], [[1.0]]),
    }
    other = stats.norm(2, 1)
    rules = {name: plug_in([part, other]) for name, part in kinds.items()}
    for rule in rules.values():
        np.testing.assert_allclose(
            rule.predict_proba(X), rules["logpdf"].predict_proba(X), rtol=1e-5
        )


def test_probabilities_of_counts_are_densities_too():
    rule = plug_in({"few": stats.poisson(1), "many": stats.poisson(5)}, {"few": 0.5, "many": 0.5})
    assert rule.predict([[0], [1], [4]]).tolist() == ["few", "few", "many"]


def test_reject_option_follows_chows_rule():
    """Reject where the largest posterior is below 1 - c (Chow 1970)."""
    cost = 0.2
    rule = plug_in(
        [stats.norm(-1, 1), stats.norm(1, 1)], loss=[[0, 1], [1, 0], [cost, cost]], reject_label=9
    )
    X = np.linspace(-4, 4, 801)[:, None]
    sure = rule.predict_proba(X).max(axis=1) >= 1 - cost
    np.testing.assert_array_equal(rule.predict(X) != 9, sure)
    np.testing.assert_allclose(rule.conditional_risk(X)[:, 2], cost)


def test_where_all_densities_vanish_the_priors_decide():
    flat = stats.uniform(0, 1)
    rule = plug_in([flat, stats.uniform(0.5, 1)], [0.7, 0.3])
    np.testing.assert_allclose(rule.predict_proba([[50.0]]), [[0.7, 0.3]])
    assert rule.predict([[50.0]]).tolist() == [0]
    assert rule.decision_function([[50.0]])[0] == pytest.approx(np.log(3 / 7))


@pytest.mark.parametrize(
    ("parts", "options", "words"),
    [
        ([stats.norm()], {}, "1 densities"),
        (stats.norm(), {}, "a density for each class"),
        ([stats.norm(), "normal"], {}, "class 1 is 'normal'"),
        ([stats.norm(), lambda rows: -np.ones(len(rows))], {}, "class 1 is -1.0 at row 0"),
        ([stats.norm(), lambda rows: np.ones(7)], {}, r"gave shape \(7,\) for 1 rows"),
        ([stats.norm(), stats.norm()], {"priors": [0.5, 0.6]}, "sum to 1.1"),
        ([stats.norm(), stats.norm()], {"priors": [0.0, 1.0]}, r"priors\[0\] is 0.0"),
        ([stats.norm(), stats.norm()], {"loss": [[0, 1]]}, r"shape \(1, 2\)"),
        ([stats.norm(), stats.norm()], {"loss": [[0, 1], [np.nan, 0]]}, r"loss\[1, 0\] is nan"),
        ([stats.norm(), stats.norm()], {"X": [[1.0]]}, "both X and y"),
    ],
)
def test_mistakes_are_named(parts, options, words):
    with pytest.raises((SettingError, DataError), match=words):
        plug_in(parts, **options).predict([[0.0]])


# -- fitted densities -------------------------------------------------------------------------


def test_one_gaussian_a_class_is_the_gaussian_classifier():
    X, y = two_clouds()
    mixture = plug_in(GaussianMixture(1, reg_covar=0.0), X=X, y=y)
    np.testing.assert_allclose(
        mixture.predict_proba(X), GaussianClassifier().fit(X, y).predict_proba(X), atol=1e-9
    )


def test_a_mixture_decides_what_one_gaussian_cannot():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-4, 0.5, 100), rng.normal(4, 0.5, 100), rng.normal(0, 0.5, 200)])
    y = np.repeat([0, 1], 200)
    rule = PlugInClassifier({0: GaussianMixture(2, random_state=0), 1: GaussianMixture(1)})
    assert rule.fit(X[:, None], y).score(X[:, None], y) == 1.0
    assert GaussianClassifier("shared").fit(X[:, None], y).score(X[:, None], y) < 0.8


def test_it_is_a_scikit_learn_classifier():
    X, y = two_clouds()
    model = clone(PlugInClassifier(KernelDensity(bandwidth=0.5), priors=[0.5, 0.5]))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.85


def test_weights_are_repetitions_and_refused_where_unknown():
    X, y = two_clouds(20)
    weight = np.arange(20) % 3
    density = Histogram(bins=[-5, -1, 1, 3, 7], smoothing=1.0)
    one = PlugInClassifier(density).fit(X, y, weight)
    many = PlugInClassifier(density).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_allclose(one.predict_proba(X), many.predict_proba(X))
    with pytest.raises(CapabilityError, match="GaussianMixture has no sample weights"):
        PlugInClassifier(GaussianMixture()).fit(X, y, weight)


def test_densities_that_cannot_be_fitted_are_refused():
    X, y = two_clouds(20)
    with pytest.raises(SettingError, match="no fit and score_samples"):
        PlugInClassifier(stats.norm(0, 1)).fit(X, y)
    with pytest.raises(SettingError, match="no entry for class 1"):
        PlugInClassifier({0: Histogram()}).fit(X, y)


# -- histograms ---------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_a_histogram_integrates_to_one(joint, smoothing):
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = Histogram([[-4, -1, 0, 4], [-4, 0, 1, 4]], joint=joint, smoothing=smoothing).fit(X)
    total = 0.0
    for a, b in zip(model.edges_[0][:-1], model.edges_[0][1:]):
        for c, d in zip(model.edges_[1][:-1], model.edges_[1][1:]):
            middle = [[(a + b) / 2, (c + d) / 2]]
            total += (b - a) * (d - c) * float(np.exp(model.score_samples(middle))[0])
    assert total == pytest.approx(1.0)


def test_histogram_agrees_with_numpy_on_edges():
    x = np.array([0.0, 0.5, 1.0, 1.0, 2.0, 3.0])
    model = Histogram(3).fit(x[:, None])
    density, edges = np.histogram(x, 3, density=True)
    places = [0.0, 0.99, 1.0, 2.0, 3.0]
    expected = [density[0], density[0], density[1], density[2], density[2]]
    np.testing.assert_array_equal(model.edges_[0], edges)
    np.testing.assert_allclose(np.exp(model.score_samples(np.c_[places])), expected)
    assert np.isneginf(model.score_samples([[-1e-9], [3.0000001]])).all()
    assert model.score(x[:, None]) == pytest.approx(model.score_samples(x[:, None]).sum())


def test_a_constant_column_has_a_bin_of_width_one():
    model = Histogram(1).fit([[2.0], [2.0]])
    assert model.edges_[0].tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bins": 0}, "whole number >= 1"),
        ({"bins": [0.0, 0.0]}, "rising"),
        ({"bins": [[0, 1]] * 3}, "edges of 3 columns; X has 2"),
        ({"smoothing": -1.0}, "smoothing"),
        ({"bins": 10_000, "joint": True}, "100000000 bins"),
        ({"bins": [50.0, 60.0]}, "no row lies within"),
    ],
)
def test_histogram_settings_are_checked(settings, words):
    with pytest.raises((SettingError, DataError), match=words):
        Histogram(**settings).fit(np.random.default_rng(0).normal(size=(5, 2)))


# -- excess risk ----------------------------------------------------------------------------------


def tables():
    counts = st.lists(st.integers(0, 9), min_size=6, max_size=6).filter(sum)
    return counts.map(lambda c: [[F(c[2 * i], sum(c)), F(c[2 * i + 1], sum(c))] for i in range(3)])


@given(tables(), tables(), st.lists(st.integers(-3, 5), min_size=6, max_size=6))
def test_the_excess_is_never_above_the_bound(p, p_hat, W):
    loss = [W[:2], W[2:4], W[4:]]
    for given_loss in (None, loss):
        excess = excess_risk(p, p_hat, given_loss)
        assert 0 <= excess <= excess_bound(p, p_hat, given_loss)
    assert excess_bound(p, p) == 0


def test_the_bound_is_reached():
    """p_hat moves just enough mass to change the decision for one x."""
    p = [[F(1, 2), F(1, 2) - F(1, 100)], [F(1, 100), F(0)]]
    p_hat = [[F(1, 2) - F(1, 100), F(1, 2)], [F(1, 100), F(0)]]
    assert excess_risk(p, p_hat) == F(1, 100)
    assert excess_bound(p, p_hat) == F(2, 100)
    W = [[0, 1], [1, 0], [F(1, 4), F(1, 4)]]
    assert excess_bound(p, p_hat, W) == F(2, 100)


def test_tables_must_fit_together():
    with pytest.raises(DataError, match=r"shape \(1, 2\) and p_hat \(2, 1\)"):
        excess_bound([[0.5, 0.5]], [[0.5], [0.5]])
    with pytest.raises(DataError, match="same order"):
        excess_risk({"a": [0.5, 0.5]}, {"b": [0.5, 0.5]})


@pytest.mark.parametrize("rare", [F(1, 3), F(1, 20), F(1, 1000)])
def test_a_wrong_family_is_as_bad_as_one_likes(rare):
    case = wrong_family(rare)
    assert (case.best_risk, case.linear_risk, case.plug_in_risk) == (0, rare, 1 - rare)
    assert case.excess == 1 - rare
    assert sum(v for row in case.p for v in row) == 1
    assert bayes_risk(case.p, bayes_strategy(case.p).decisions) == 0
    assert case.risk(case.gaussian_rule()) == 1 - rare


def test_more_rows_do_not_help_a_wrong_family():
    case = wrong_family(F(1, 10))
    for n in (2_000, 50_000):
        X, y = case.sample(n, random_state=1)
        assert case.risk(GaussianClassifier("shared").fit(X, y)) == F(9, 10)
        edges = [-100, -10, 0, 10, 100]
        assert case.risk(PlugInClassifier(Histogram(edges)).fit(X, y)) == 0
    with pytest.raises(SettingError, match="below 1/2"):
        wrong_family(0.5)
