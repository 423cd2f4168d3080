"""Several classes without a maximum of the likelihood: the supremum, found and proved."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from scipy.special import logsumexp
from sklearn.datasets import load_iris

import linsep
from linsep.core.problem import Problem
from linsep.errors import GapWarning, NoMaximumWarning
from linsep.proofs.softmax import softmax_gap

INF = float("inf")


def fitted(X, y, **settings):
    model = linsep.LogisticRegression(C=INF, **settings)
    with pytest.warns(NoMaximumWarning, match="quasi-separable"):
        model.fit(X, y)
    assert model.status_.name == "NO_MAXIMUM"
    return model


def test_iris_is_versicolor_against_virginica():
    """Setosa stands apart: the supremum is that of the other two, deviance 11.8985 (as glm's)."""
    X, y = load_iris(return_X_y=True)
    model = fitted(X, y)
    two = linsep.LogisticRegression(C=INF).fit(X[y > 0], y[y > 0])
    assert 2 * model.certificate_.objective == pytest.approx(11.89855, abs=1e-4)
    assert model.certificate_.relative_gap < 1e-8
    assert model.certificate_.lower_bound == pytest.approx(two.certificate_.lower_bound, rel=1e-9)
    assert model.coef_[2] - model.coef_[1] == pytest.approx(two.coef_[0], rel=1e-5)
    assert model.predict_proba(X[y == 0])[:, 0].min() > 0.999999


@pytest.mark.parametrize("reference", [None, 0, 2])
def test_ties_cost_log_two_each(reference):
    X, y = np.array([[0.0], [1.0], [1.0], [2.0], [2.0], [3.0]]), np.array([0, 0, 1, 1, 2, 2])
    model = fitted(X, y, reference=reference)
    assert model.certificate_.lower_bound <= 4 * np.log(2) <= model.certificate_.objective
    assert model.certificate_.relative_gap < 1e-8


def test_a_row_of_zeros_has_no_say():
    """Without an intercept nothing changes its loss, log 3."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    model = fitted(X, np.array([0, 0, 1, 2]), fit_intercept=False)
    assert model.certificate_.lower_bound <= np.log(3) <= model.certificate_.objective
    assert model.certificate_.relative_gap < 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_the_supremum_is_that_of_the_rivals_in_doubt(seed):
    """Against BFGS on vanishing penalties, and the bound against every point that it visits."""
    rng = np.random.default_rng(seed)
    n, K = 50, 3 + seed % 2
    X = rng.integers(-2, 3, (n, 2)).astype(float)
    low, high = (
        (rng.integers(0, 2, n), rng.integers(K - 2, K, n))
        if K == 4
        else (rng.integers(0, 2, n), np.full(n, 2))
    )
    y = np.where(X[:, 0] > 0, high, low)
    s = rng.integers(1, 4, n).astype(float)
    model = linsep.LogisticRegression(C=INF)
    with pytest.warns(NoMaximumWarning):
        model.fit(scipy.sparse.csr_array(X) if seed % 3 == 0 else X, y, sample_weight=s)
    seen = []

    def losses(a, ridge):
        blocks = a.reshape(K, 3)
        S = X @ blocks[:, :2].T + blocks[:, 2]
        plain = float(s @ (logsumexp(S, axis=1) - S[np.arange(n), y]))
        seen.append(plain)
        return plain + ridge * float(a @ a)

    a = np.zeros(3 * K)
    for ridge in 10.0 ** -np.arange(1.0, 7.0):
        a = scipy.optimize.minimize(losses, a, args=(ridge,), method="BFGS").x
    gap = model.certificate_
    assert gap.lower_bound <= min(seen)
    assert gap.relative_gap < 1e-6 and gap.objective <= min(seen) * (1 + 1e-6)


def test_any_weights_get_a_true_bound():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    best = fitted(X, y).certificate_.objective
    for scale in (0.0, 1.0, 30.0, 1e3):
        a = scale * rng.standard_normal(15)
        assert softmax_gap(Problem(X, y), a, INF).lower_bound <= best


def test_a_bound_of_some_rivals_is_no_proof_of_a_maximum():
    X, y = load_iris(return_X_y=True)
    a = np.column_stack([fitted(X, y).coef_, fitted(X, y).intercept_]).ravel()
    assert softmax_gap(Problem(X, y), a, INF).lower_bound > 5.9
    assert softmax_gap(Problem(X, y), a, INF, part=False).lower_bound == 0.0


def test_a_class_without_rows_is_named():
    X, y = np.arange(8.0)[:, None], np.array([0, 0, 1, 1, 0, 1, 2, 2])
    with pytest.warns(GapWarning, match="Class 2 has no row of positive weight"):
        linsep.LogisticRegression(C=INF).fit(X, y, sample_weight=(y < 2).astype(float))


def test_a_run_without_a_maximum_ends_soon():
    """Columns far from zero: every step left the share 1 / e, thousands of times."""
    rng = np.random.default_rng(7)
    X = 1e4 + rng.standard_normal((11, 3))
    y = np.array([0, 1, 2, 3, 2, 2, 2, 2, 2, 2, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoMaximumWarning)
        model = linsep.LogisticRegression(C=INF).fit(X, y)
    assert model.status_.name == "NO_MAXIMUM" and model.n_iter_ < 300
