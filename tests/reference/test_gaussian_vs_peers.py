"""GaussianClassifier against scikit-learn, scipy.stats and plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from linsep import GaussianClassifier
from linsep.risk import bernoulli_weights

STRUCTURES = ["full", "shared", "diagonal", "shared-diagonal"]


@pytest.fixture(params=["iris", "wine", "two"])
def data(request):
    if request.param == "two":
        X, y = load_wine(return_X_y=True)
        return X[y > 0], y[y > 0]
    return (load_iris if request.param == "iris" else load_wine)(return_X_y=True)


def covariances(model):
    """One (d, d) matrix for each class."""
    C, K = model.covariance_, len(model.classes_)
    parts = [C] * K if model.covariance.startswith("shared") else C
    return [np.diag(part) if part.ndim == 1 else part for part in parts]


def test_naive_bayes_is_gaussian_nb_without_smoothing(data):
    X, y = data
    ours, theirs = GaussianClassifier("diagonal").fit(X, y), GaussianNB(var_smoothing=0).fit(X, y)
    np.testing.assert_allclose(ours.means_, theirs.theta_, rtol=1e-12)
    np.testing.assert_allclose(ours.covariance_, theirs.var_, rtol=1e-10)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)


def test_full_is_qda(data):
    """scikit-learn 1.9 divides by n_k as we do; earlier releases divided by n_k - 1."""
    X, y = data
    ours = GaussianClassifier().fit(X, y)
    theirs = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    for k, C in enumerate(theirs.covariance_):
        np.testing.assert_allclose(ours.covariance_[k], C, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_shared_is_lda(data, solver):
    """All solvers of scikit-learn 1.9 divide by n; svd divided by n - K before."""
    X, y = data
    ours = GaussianClassifier("shared").fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver=solver, store_covariance=True).fit(X, y)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_densities_and_posteriors_are_those_of_scipy(data, structure):
    X, y = data
    priors = np.arange(1, len(np.unique(y)) + 1) / np.arange(1, len(np.unique(y)) + 1).sum()
    model = GaussianClassifier(structure, priors=priors).fit(X, y)
    expected = np.column_stack(
        [
            stats.multivariate_normal(mean, C).logpdf(X)
            for mean, C in zip(model.means_, covariances(model))
        ]
    )
    np.testing.assert_allclose(model.log_density(X), expected, rtol=1e-9, atol=1e-7)
    joint = np.exp(expected - expected.max(axis=1, keepdims=True)) * priors
    posterior = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), posterior, atol=1e-9)
    A, b, c = model.quadratic_
    form = np.einsum("ni,kij,nj->nk", X, A, X) + X @ b.T + c
    np.testing.assert_allclose(form, expected + np.log(priors), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_no_nearby_parameters_are_more_likely(structure):
    """The certificate's numbers against scipy, and its bound against random rivals."""
    X, y = load_iris(return_X_y=True)
    model = GaussianClassifier(structure).fit(X, y)

    def likelihood(means, parts):
        return sum(
            stats.multivariate_normal(means[k], parts[k]).logpdf(X[y == k]).sum() for k in range(3)
        )

    facts = model.certificate_
    parts = covariances(model)
    assert facts.log_likelihood == pytest.approx(likelihood(model.means_, parts), rel=1e-12)
    assert 0 <= facts.gap < 1e-8
    assert facts.stationarity < 1e-12
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        means = model.means_ + size * rng.normal(size=model.means_.shape)
        wider = [C * (1 + size * rng.random()) for C in parts]
        if structure.startswith("shared"):
            wider = [wider[0]] * 3
        assert -likelihood(means, wider) > facts.lower_bound


def test_gaussian_naive_bayes_exponent_of_the_lecture():
    """P(1|x) = 1 / (1 + exp(ln((1-pi)/pi) + sum (mu0-mu1)/s2 x + (mu1^2-mu0^2)/(2 s2)))."""
    rng = np.random.default_rng(1)
    y = (rng.random(200) < 0.3).astype(int)
    X = rng.normal(size=(200, 3)) * [1.0, 2.0, 0.5] + np.outer(y, [1.0, -1.0, 0.3])
    model = GaussianClassifier("shared-diagonal").fit(X, y)
    (mu0, mu1), s2, pi = model.means_, model.covariance_, model.priors_[1]
    v = (mu0 - mu1) / s2
    v0 = np.log((1 - pi) / pi) + ((mu1**2 - mu0**2) / (2 * s2)).sum()
    rule = model.to_logistic()
    got, got0 = rule.derivation_form()
    np.testing.assert_allclose(got, v, rtol=1e-12)
    assert got0 == pytest.approx(v0, rel=1e-12)
    posterior = 1 / (1 + np.exp(X @ v + v0))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], posterior, rtol=1e-12)
    np.testing.assert_allclose(rule.predict_proba(X)[:, 1], posterior, rtol=1e-12)
    np.testing.assert_allclose(model.log_odds(X), -(X @ v + v0), rtol=1e-10, atol=1e-12)


def test_weights_of_binary_features_give_the_posterior_of_bayes():
    a, priors = np.array([[0.1, 0.7, 0.5], [0.6, 0.2, 0.5]]), np.array([0.25, 0.75])
    rule = bernoulli_weights(a, priors)
    X = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    joint = priors * np.prod(np.where(X[:, None], a, 1 - a), axis=2)
    posterior = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(rule.predict_proba(X), posterior, rtol=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("layout", [sparse.csr_array, np.float32, np.asfortranarray])
def test_layouts_give_the_same_model(structure, layout):
    X, y = load_iris(return_X_y=True)
    X = np.round(X * 4) / 4  # exact in float32
    X[::7] = 0
    plain = GaussianClassifier(structure).fit(X, y)
    other = GaussianClassifier(structure).fit(layout(X), y)
    np.testing.assert_allclose(other.covariance_, plain.covariance_, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(other.predict_proba(layout(X)), plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_weights_are_repetitions(structure):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(2).integers(0, 4, len(y))
    one = GaussianClassifier(structure).fit(X, y, weight)
    many = GaussianClassifier(structure).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.covariance_, many.covariance_, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(one.priors_, many.priors_, rtol=1e-14)
    assert one.certificate_.log_likelihood == pytest.approx(many.certificate_.log_likelihood)
