"""AdditiveSVM against the exact kernel machine: Gram matrix plus SVC(kernel="precomputed")."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.svm import SVC

import linsep


def intersection(A, B):
    return 0.5 * (A.sum(1)[:, None] + B.sum(1) - cdist(A, B, "cityblock"))


def chi2(A, B):
    """2xz / (x + z) = (x + z) / 2 - (x - z)^2 / (2 (x + z)): by scikit-learn's distance."""
    return 0.5 * (A.sum(1)[:, None] + B.sum(1) + additive_chi2_kernel(A, B))


def hellinger(A, B):
    return np.sqrt(A) @ np.sqrt(B).T


def power_mean(p):
    return lambda A, B: linsep.kernels.PowerMean(p).gram(A, B)


KERNELS = {
    "intersection": intersection,
    "chi2": chi2,
    "hellinger": hellinger,
    -2.0: power_mean(-2.0),
    -0.5: power_mean(-0.5),
}


def shares(n=120, d=12):
    rng = np.random.default_rng(3)
    X = rng.dirichlet(np.full(d, 0.4), n) * 50
    return X, (X[:, :3].sum(1) > X[:, 3:6].sum(1) + rng.normal(0, 3, n)).astype(int)


def digits(n=250):
    X, y = load_digits(return_X_y=True)
    return X[:n], (y[:n] % 2).astype(int)


def counts(n=150, d=40):
    rng = np.random.default_rng(4)
    X = rng.poisson(0.4, (n, d)).astype(float)
    return X, (X[:, :8].sum(1) + rng.normal(0, 1, n) > 3.3).astype(int)


DATA = {"shares": shares, "digits": digits, "counts": counts}


def bounds(K, y, beta, b, C):
    """Objective and dual value of y alpha and an offset."""
    sign = np.where(y == y.max(), 1, -1)
    squared = beta @ K @ beta
    losses = np.maximum(0, 1 - sign * (K @ beta + b)).sum()
    return 0.5 * squared + C * losses, np.abs(beta).sum() - 0.5 * squared


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_the_same_machine_as_with_the_gram_matrix(data, kernel, C):
    X, y = DATA[data]()
    K = KERNELS[kernel](X, X)
    peer = SVC(C=C, kernel="precomputed", tol=1e-6).fit(K, y)
    beta = np.zeros(len(y))
    beta[peer.support_] = peer.dual_coef_[0]
    value, dual = bounds(K, y, beta, peer.intercept_[0], C)
    model = linsep.AdditiveSVM(kernel, C=C, tol=1e-5).fit(X, y)
    gap = model.certificate_
    assert gap.relative_gap <= 1e-5
    assert gap.lower_bound <= value * (1 + 1e-12)
    assert dual <= gap.objective * (1 + 1e-12)
    assert gap.objective == pytest.approx(dual, rel=1e-4)  # its objective comes down more slowly
    ours = np.zeros(len(y))
    ours[model.support_] = model.dual_coef_[0]
    found, low = bounds(K, y, ours, model.intercept_[0], C)
    if kernel != "hellinger":  # there the plane and the dual variables are two things
        assert found == pytest.approx(gap.objective, rel=1e-6)
    assert low == pytest.approx(gap.lower_bound, rel=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_new_rows_have_the_scores_of_the_gram_matrix(kernel):
    X, y = shares()
    model = linsep.AdditiveSVM(kernel, tol=1e-7).fit(X, y)
    Z = np.vstack([X[:5] * 3.7, np.zeros(12), np.eye(12)[:3] * 1e4, X[:4] / 1e3])
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    want = KERNELS[kernel](Z, X) @ beta + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(Z), want, rtol=1e-3, atol=1e-3)
    if kernel != "hellinger":
        np.testing.assert_allclose(model.decision_function(Z), want, rtol=1e-8, atol=1e-8)


def test_all_classes_against_the_rest():
    X, y = load_digits(return_X_y=True)
    X, y = scipy.sparse.csr_array(X[:300]), y[:300]
    model = linsep.AdditiveSVM("intersection").fit(X, y)
    K = intersection(X.toarray(), X.toarray())
    for k in range(10):
        own = np.where(y == k, 1, -1)
        peer = SVC(kernel="precomputed", tol=1e-5).fit(K, own)
        beta = np.zeros(len(y))
        beta[peer.support_] = peer.dual_coef_[0]
        value, _ = bounds(K, own, beta, peer.intercept_[0], 1.0)
        part = model.certificate_.parts[k]
        assert part.lower_bound <= value * (1 + 1e-9)
        assert value <= part.objective * (1 + 1e-3)
