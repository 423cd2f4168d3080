"""What defaults give: weights and predictions beside the optimum and other libraries."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as TheirLogistic

import linsep


def optimum(X, y, C=np.inf, steps=60):
    """Weights and their standard errors, by Newton's method in float64 on all rows."""
    A = np.column_stack([X, np.ones(len(X))]).astype(float)
    sign = np.where(y, 1.0, -1.0)
    cost, ridge = (1.0, 0.0) if np.isinf(C) else (C, 1.0)
    penalty = np.append(np.full(X.shape[1], ridge), 0.0)
    a = np.zeros(A.shape[1])

    def value(a):
        return 0.5 * float(penalty @ a**2) + cost * float(np.logaddexp(0, -sign * (A @ a)).sum())

    for _ in range(steps):
        p = expit(-sign * (A @ a))
        gradient = penalty * a - cost * (A.T @ (sign * p))
        H = cost * (A.T * (p * (1 - p))) @ A + np.diag(penalty)
        step, t = np.linalg.solve(H, gradient), 1.0
        while value(a - t * step) > value(a) * (1 + 1e-12) and t > 1e-6:
            t /= 2
        a = a - t * step
        if step @ gradient < 1e-20 * cost:
            break
    return a, np.sqrt(np.diag(np.linalg.inv(H / cost)))


def rare(seed, n=60_000, d=5):
    """Few rows of one class, and effects that only many rows show."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, X @ (0.4 / 2.0 ** np.arange(d)) - 3 + rng.logistic(size=n) > 0


def unscaled(seed, n=30_000, d=12):
    """Columns of very different units."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d) * np.logspace(-2, 2, d)
    return X, X @ (rng.randn(d) / np.logspace(-2, 2, d)) + 0.5 + rng.logistic(size=n) > 0


def tails(seed, n=40_000, d=4):
    """Entries with long tails, float32."""
    rng = np.random.RandomState(seed)
    X = (rng.exponential(size=(n, d)) ** 2).astype(np.float32)
    return X, X @ (0.1 * rng.randn(d)) - 1 + rng.logistic(size=n) > 0


@pytest.mark.parametrize("table", [rare, unscaled, tails])
@pytest.mark.parametrize("C", [1e-3, 1.0, np.inf])
@pytest.mark.parametrize("seed", [0, 11])
def test_no_weight_is_off_by_more_than_a_hundredth_of_its_standard_error(table, C, seed):
    X, y = table(seed)
    best, error = optimum(X, y, C)
    model = linsep.LogisticRegression(C=C).fit(X, y)
    found = np.append(model.coef_[0], model.intercept_)
    assert float((np.abs(found - best) / error).max()) <= 0.01


def test_a_larger_tol_ends_sooner_and_keeps_its_promise():
    X, y = rare(3)
    fine = linsep.LogisticRegression(C=np.inf).fit(X, y)
    for tol in (1e-2, 0.5):
        model = linsep.LogisticRegression(C=np.inf, tol=tol).fit(X, y)
        assert model.certificate_.relative_gap <= tol
        assert model.outcome_.passes < fine.outcome_.passes
        assert model.certificate_.objective >= fine.certificate_.lower_bound


def words(seed, n=3000, d=6000):
    """Sparse rows of unit length, as text gives them."""
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random(n, d, 0.01, format="csr", random_state=rng)
    X.data = rng.exponential(size=len(X.data))
    X = scipy.sparse.diags(1 / np.sqrt(np.maximum(X.multiply(X).sum(1).A1, 1e-9))) @ X
    return scipy.sparse.csr_matrix(X), X @ rng.standard_normal(d) + 0.1 > 0


def test_predictions_of_text_are_those_of_the_optimum():
    X, y = words(1)
    exact = linsep.LogisticRegression(C=10, tol=1e-10).fit(X, y)
    ours = linsep.LogisticRegression(C=10).fit(X, y)
    theirs = TheirLogistic(C=10).fit(X, y)
    assert (ours.predict(X) != exact.predict(X)).sum() == 0
    far = np.linalg.norm(theirs.coef_ - exact.coef_)
    assert np.linalg.norm(ours.coef_ - exact.coef_) <= far


@pytest.mark.parametrize(("seed", "C"), [(2, 1.0), (3, 1.0), (2, 10.0)])
def test_weights_of_text_are_no_further_off_than_those_of_liblinear(seed, C):
    """Each from its own optimum: liblinear penalises the intercept."""
    X, y = words(seed)
    ones = scipy.sparse.csr_matrix(scipy.sparse.hstack([X, np.ones((len(y), 1))]))
    exact = linsep.LogisticRegression(C, tol=1e-10).fit(X, y).coef_
    theirs = linsep.LogisticRegression(C, tol=1e-10, fit_intercept=False).fit(ones, y).coef_[:, :-1]
    ours = linsep.LogisticRegression(C).fit(X, y)
    peer = TheirLogistic(C=C, solver="liblinear").fit(X, y)

    def off(found, best):
        return np.linalg.norm(found - best) / np.linalg.norm(best)

    assert off(ours.coef_, exact) <= off(peer.coef_, theirs)
