"""LinearSVM against other solvers of the same problem.

Two answers of one objective may differ by no more than the sum of their gaps: ours is proved,
that of a peer is the distance of its objective from our lower bound.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC

from linsep import LinearSVM


def objective(coef, b, X, y, C, loss="hinge", weight=1.0):
    u = np.maximum(0.0, 1.0 - y * (X @ coef + b))
    return 0.5 * coef @ coef + C * (weight * (u if loss == "hinge" else u * u)).sum()


def tables():
    X, y = load_breast_cancer(return_X_y=True)
    yield pytest.param(scale(X), 2 * y - 1, id="breast cancer")
    X, y = load_iris(return_X_y=True)
    yield pytest.param(X, np.where(y == 1, 1, -1), id="iris 1")
    X, y = load_wine(return_X_y=True)
    yield pytest.param(scale(X), np.where(y == 0, 1, -1), id="wine 0, separable")
    X, y = load_digits(return_X_y=True)
    yield pytest.param(X / 16, np.where(y == 8, 1, -1), id="digits 8")
    rng = np.random.default_rng(1)
    yield pytest.param(rng.normal(size=(30, 90)), np.arange(30) % 2 * 2 - 1, id="wide")


@pytest.mark.parametrize(("X", "y"), list(tables()))
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_svc_with_a_linear_kernel(X, y, C):
    ours = LinearSVM(C=C).fit(X, y)
    peer = SVC(kernel="linear", C=C, tol=1e-6).fit(X, y)
    theirs = objective(peer.coef_[0], peer.intercept_[0], X, y, C)
    proof = ours.certificate_
    mine = objective(ours.coef_[0], ours.intercept_[0], X, y, C)
    assert mine == pytest.approx(proof.objective, rel=1e-9)
    assert theirs >= proof.lower_bound
    assert mine <= theirs + proof.gap + 1e-12 * theirs
    gaps = (theirs - proof.lower_bound) + proof.gap
    distance = np.linalg.norm(ours.coef_[0] - peer.coef_[0])
    assert distance <= 2 * np.sqrt(2 * gaps) + 1e-9  # the objective is 1-strongly convex in w


@pytest.mark.parametrize(("X", "y"), list(tables()))
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_svc_through_the_origin(X, y, loss):
    ours = LinearSVM(C=0.1, loss=loss, fit_intercept=False).fit(X, y)
    peer = LinearSVC(C=0.1, loss=loss, fit_intercept=False, tol=1e-8, max_iter=500_000).fit(X, y)
    theirs = objective(peer.coef_[0], 0.0, X, y, 0.1, loss)
    proof = ours.certificate_
    assert proof.lower_bound <= theirs
    assert proof.objective <= theirs + proof.gap
    assert theirs <= proof.objective * (1 + 1e-4)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("offset", [True, False])
def test_general_quadratic_programming_on_the_dual(seed, loss, offset):
    rng = np.random.default_rng(seed)
    n, d = 18, 3
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X, s, C = rng.normal(size=(n, d)) + 0.4 * y[:, None], rng.integers(1, 4, size=n), 0.7
    Z = y[:, None] * X
    Q = Z @ Z.T + (np.diag(1 / (2 * C * s)) if loss == "squared_hinge" else 0.0)
    rules = [scipy.optimize.LinearConstraint(y[None, :], 0, 0)] if offset else []
    top = C * s if loss == "hinge" else np.full(n, np.inf)
    found = scipy.optimize.minimize(
        lambda v: 0.5 * v @ Q @ v - v.sum(),
        np.full(n, 0.0),
        jac=lambda v: Q @ v - 1.0,
        hess=lambda v: Q,
        bounds=scipy.optimize.Bounds(np.zeros(n), top),
        constraints=rules,
        method="trust-constr",
        options={"gtol": 1e-9, "xtol": 1e-12, "maxiter": 3000},
    )
    ours = LinearSVM(C=C, loss=loss, fit_intercept=offset).fit(X, y, sample_weight=s)
    assert ours.certificate_.relative_gap < 1e-8
    assert ours.certificate_.objective == pytest.approx(-found.fun, rel=1e-4)


def test_crammer_singer_of_liblinear():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    ours = LinearSVM(C=0.1, multi_class="crammer-singer", fit_intercept=False, tol=1e-4).fit(X, y)
    peer = LinearSVC(
        C=0.1, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=100_000
    ).fit(X, y)
    scores = X @ peer.coef_.T
    own = scores[np.arange(len(y)), y].copy()
    scores[np.arange(len(y)), y] = -np.inf
    losses = np.maximum(0.0, 1.0 - own + scores.max(axis=1)).sum()
    theirs = 0.5 * (peer.coef_**2).sum() + 0.1 * losses
    proof = ours.certificate_
    assert proof.lower_bound <= theirs
    assert proof.objective <= theirs * (1 + 1e-4)
