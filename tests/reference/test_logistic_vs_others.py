"""Logistic regression against scikit-learn, SciPy and ball arithmetic."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.linear_model import LogisticRegressionCV, SGDClassifier
from sklearn.preprocessing import scale

import linsep
from linsep.core.problem import Problem
from linsep.proofs.logistic import likelihood_gap, logistic_gap

flint = pytest.importorskip("flint")
INF = float("inf")


def overlapping(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.choice([0.01, 1.0, 30.0], d)
    return X, (X[:, 0] / X[:, 0].std() + 2 * rng.normal(size=n) > 0.4).astype(int)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("offset", [True, False])
def test_coefficients_agree_with_scikit_learn(seed, offset):
    X, y = overlapping(seed=seed)
    s = np.random.default_rng(seed).random(len(y)) + 0.1
    for C in (0.01, 1.0, 1e3, INF):
        peer = Peer(C=C, solver="newton-cholesky", tol=1e-11, max_iter=500, fit_intercept=offset)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer.fit(X, y, sample_weight=s)
        ours = linsep.LogisticRegression(C=C, fit_intercept=offset).fit(X, y, sample_weight=s)
        size = np.abs(X).max(axis=0)
        assert ours.coef_[0] * size == pytest.approx(peer.coef_[0] * size, rel=1e-5, abs=1e-6)
        assert ours.predict_proba(X) == pytest.approx(peer.predict_proba(X), abs=1e-6)


def test_real_tables():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    ours = linsep.LogisticRegression().fit(X, y)
    peer = Peer(solver="newton-cholesky", tol=1e-12).fit(X, y)
    assert ours.coef_ == pytest.approx(peer.coef_, abs=1e-9)
    X, y = load_iris(return_X_y=True)
    ours = linsep.LogisticRegression().fit(X, y)
    peer = Peer(tol=1e-9, max_iter=10_000).fit(X, y)
    assert ours.coef_ == pytest.approx(peer.coef_, abs=1e-4)


def exact_value(problem, a, C):
    """The objective in balls of 160 bits."""
    with flint.ctx.workprec(160):
        total = flint.arb(0)
        weights = [flint.arb(float(v)) for v in a]
        for x, sign, s in zip(problem.matrix.tolist(), problem.sign, problem.weight):
            f = sum((flint.arb(u) * w for u, w in zip(x, weights)), weights[-1])
            total += flint.arb(float(s)) * (1 + (-int(sign) * f).exp()).log()
        if np.isfinite(C):
            total = flint.arb(C) * total + sum((w * w for w in weights[:-1]), flint.arb(0)) / 2
        return total


@pytest.mark.parametrize("seed", range(8))
def test_the_bounds_hold_in_exact_arithmetic(seed):
    """The best weights that Newton's method finds in long double have a value above the bound."""
    X, y = overlapping(n=25, d=2, seed=100 + seed)
    s = np.random.default_rng(seed).random(len(y)) + 0.1
    problem = Problem(X, y, sample_weight=s)
    for C in (1e-4, 1.0, 1e6, INF):
        cost, ridge = (1.0, 0.0) if np.isinf(C) else (C, 1.0)
        Z = np.column_stack([X, np.ones(len(y))]).astype(np.longdouble) * problem.sign[:, None]
        D = np.diag(np.r_[np.full(2, ridge), 0.0])
        a = np.zeros(3, np.longdouble)
        for _ in range(60):
            p = 1 / (1 + np.exp(Z @ a))
            H = D + (cost * (Z.T * (s * p * (1 - p))) @ Z).astype(float)
            g = D @ a - cost * (Z.T @ (s * p))
            a = a - 0.9 * np.linalg.solve(H.astype(float), g.astype(float))
        best = np.asarray(a, dtype=float)
        value = exact_value(problem, best, C)
        for start in (best, best * 1.01, best + 1e-4):
            gap = (
                likelihood_gap(problem, start)
                if np.isinf(C)
                else logistic_gap(problem, start, C, "free")
            )
            assert flint.arb(gap.lower_bound) < value
            assert exact_value(problem, start, C) < flint.arb(gap.objective)
        assert logistic_gap(problem, best, C, "free").relative_gap < 1e-9


def test_the_likelihood_bound_is_tight_before_convergence():
    X, y = overlapping(seed=3)
    problem = Problem(X, y)
    best = linsep.LogisticRegression(C=INF).fit(X, y)
    a = np.append(best.coef_[0], best.intercept_[0])
    off = a * 1.05
    gap = likelihood_gap(problem, off)
    true = gap.objective - best.certificate_.objective
    assert 0 < gap.lower_bound <= best.certificate_.objective * (1 + 1e-12)
    assert gap.gap <= 1.5 * true


def test_scipy_finds_nothing_below_the_bound():
    X, y = overlapping(seed=5)
    problem = Problem(X, y)

    def value(a):
        return float(np.logaddexp(0, -problem.values(a)).sum())

    found = minimize(value, np.zeros(4), method="BFGS", tol=1e-12)
    ours = linsep.LogisticRegression(C=INF).fit(X, y).certificate_
    assert ours.lower_bound <= found.fun and ours.objective <= found.fun * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "peer",
    [
        Peer(tol=1e-7, max_iter=2000),
        Peer(solver="liblinear", tol=1e-7),
        Peer(C=INF, tol=1e-7, max_iter=2000),
        Peer(class_weight="balanced", tol=1e-7, max_iter=2000),
        SGDClassifier(loss="log_loss", random_state=0),
    ],
    ids=["lbfgs", "liblinear", "no penalty", "balanced", "sgd"],
)
def test_models_of_scikit_learn_are_certified(peer):
    X, y = overlapping(seed=9)
    X = scale(X)
    report = linsep.certify(peer.fit(X, y), X, y)
    assert report.lower_bound <= report.objective
    if isinstance(peer, SGDClassifier):  # a poor model: the bound is that of a better one
        lam = peer.alpha * len(y)
        best = linsep.LogisticRegression(C=1 / lam).fit(X, y).certificate_.objective * peer.alpha
        assert report.lower_bound == pytest.approx(best, rel=1e-3)
    else:
        assert report.relative_gap < 1e-6


def test_softmax_and_cross_validated_models_are_certified():
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    report = linsep.certify(Peer(tol=1e-7, max_iter=2000).fit(X, y), X, y)
    assert report.relative_gap < 1e-4 and "3 classes" in report.words
    pair = y < 2
    pair[:7] = ~pair[:7]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = LogisticRegressionCV(Cs=3, cv=3, tol=1e-7).fit(X, pair)
    assert linsep.certify(chosen, X, pair).relative_gap < 1e-3


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
def test_an_unfinished_model_is_told_apart():
    X, y = overlapping(seed=2)
    rough = Peer(max_iter=2).fit(X, y)
    report = linsep.certify(rough, X, y)
    best = linsep.LogisticRegression().fit(X, y).certificate_
    assert report.lower_bound == pytest.approx(best.objective, rel=1e-3)
    assert report.lower_bound <= best.objective < report.objective
