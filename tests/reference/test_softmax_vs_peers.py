"""Softmax regression against scikit-learn and scipy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression

from linsep.core import drive
from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.proofs.softmax import softmax_gap
from linsep.solvers.logistic.softmax import NewtonSoftmax


def blocks(coef, intercept):
    return np.column_stack([coef, intercept]).ravel()


def plain_objective(X, y, a, C, K):
    """P by scipy's logsumexp alone."""
    W = np.asarray(a).reshape(K, -1)
    S = X @ W[:, :-1].T + W[:, -1]
    losses = scipy.special.logsumexp(S, axis=1) - S[np.arange(len(y)), y]
    return 0.5 * np.sum(W[:, :-1] ** 2) + C * losses.sum()


DATA = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine, unscaled": lambda: load_wine(return_X_y=True),
    "digits": lambda: tuple(part[:250] for part in load_digits(return_X_y=True)),
    "random": lambda: (
        np.random.default_rng(0).normal(size=(200, 5)),
        np.random.default_rng(1).integers(0, 4, 200),
    ),
}


@pytest.mark.parametrize("name", list(DATA))
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_weights_agree_with_scikit_learn_as_far_as_both_gaps_allow(name, C):
    X, y = DATA[name]()
    problem = Problem(X, y)
    out = drive(problem, NewtonSoftmax(C=C, tol=1e-10))
    ours = softmax_gap(problem, out.witness.a, C)
    assert out.status is Status.CERTIFIED
    assert ours.relative_gap < 1e-8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver = "lbfgs" if name == "digits" else "newton-cholesky"
        steps = 60 if name == "digits" else 500
        peer = LogisticRegression(C=C, solver=solver, tol=1e-9, max_iter=steps).fit(X, y)
    theirs = softmax_gap(problem, blocks(peer.coef_, peer.intercept_), C)
    # |w - w*|^2 / 2 <= gap for both
    reach = np.sqrt(2 * ours.gap) + np.sqrt(2 * theirs.gap)
    mine, _ = np.split(out.witness.a.reshape(problem.K, -1), [problem.d], axis=1)
    assert np.linalg.norm(mine - peer.coef_) <= reach + 1e-9
    assert ours.lower_bound <= theirs.objective
    assert theirs.lower_bound <= ours.objective
    plain = plain_objective(X, y, out.witness.a, C, problem.K)
    assert ours.objective == pytest.approx(plain, rel=1e-10)


@pytest.mark.parametrize("seed", range(60))
def test_no_optimum_found_by_scipy_lies_below_our_bound(seed):
    rng = np.random.default_rng(seed)
    K, d, n = int(rng.integers(2, 5)), int(rng.integers(1, 5)), int(rng.integers(8, 40))
    X, y = rng.normal(size=(n, d)), np.arange(n) % K
    C = float(10.0 ** rng.uniform(-2, 2))
    problem = Problem(X, y)
    found = scipy.optimize.minimize(
        lambda a: plain_objective(X, y, a, C, K), np.zeros(K * (d + 1)), method="BFGS",
        options={"maxiter": 60},
    )  # fmt: skip
    out = drive(problem, NewtonSoftmax(C=C, tol=1e-10))
    proof = softmax_gap(problem, out.witness.a, C)
    assert proof.lower_bound <= found.fun * (1 + 1e-12)
    rough = softmax_gap(problem, found.x, C)
    assert rough.lower_bound <= proof.objective
    assert found.fun == pytest.approx(rough.objective, rel=1e-10)


def test_without_a_penalty_the_likelihood_is_that_of_scikit_learn():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(150, 3)), rng.integers(0, 3, 150)
    problem = Problem(X, y)
    out = drive(problem, NewtonSoftmax(C=np.inf))
    proof = softmax_gap(problem, out.witness.a, np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = LogisticRegression(C=np.inf, solver="lbfgs", tol=1e-12, max_iter=2000).fit(X, y)
    log_likelihood = np.log(peer.predict_proba(X)[np.arange(150), y]).sum()
    assert proof.relative_gap < 1e-9
    assert proof.objective == pytest.approx(-log_likelihood, rel=1e-8)


def test_sample_weights_agree_with_scikit_learn():
    rng = np.random.default_rng(5)
    X, y, s = rng.normal(size=(90, 3)), rng.integers(0, 3, 90), rng.uniform(0.1, 5, 90)
    out = drive(Problem(X, y, sample_weight=s), NewtonSoftmax(tol=1e-10))
    peer = LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(X, y, sample_weight=s)
    np.testing.assert_allclose(out.witness.a.reshape(3, -1)[:, :-1], peer.coef_, atol=1e-6)
