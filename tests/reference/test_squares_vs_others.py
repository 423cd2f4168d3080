"""Least squares against numpy, scikit-learn and the definition of influence."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import RidgeClassifier

import linsep

pytestmark = pytest.mark.filterwarnings("ignore::linsep.errors.NotSeparatedWarning")


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_ridge_without_a_penalty_is_the_same_classifier(load, kind):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = linsep.LeastSquares().fit(kind(X), y)
    peer = RidgeClassifier(alpha=1e-10, solver="svd").fit(X, y)
    np.testing.assert_allclose(model.coef_, np.atleast_2d(peer.coef_), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    assert model.status_.ok


@pytest.mark.parametrize("shape", [(200, 7), (8, 20), (30, 30), (3, 500)])
@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_numpy_gives_the_same_shortest_solution(shape, offset, weighted):
    rng = np.random.default_rng(shape[0])
    n = shape[0]
    X = rng.normal(size=shape)
    X[:, -1] = X[:, 0]  # a repeated column
    y = np.arange(n) % 2
    b, s = rng.uniform(0.5, 2, n), rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    model = linsep.LeastSquares(targets=b, fit_intercept=offset).fit(X, y, sample_weight=s)
    W = np.column_stack([X, np.ones(n)]) if offset else X
    root = np.sqrt(s)
    a = np.linalg.lstsq(W * root[:, None], root * (2 * y - 1) * b, rcond=None)[0]
    got = np.append(model.coef_[0], model.intercept_) if offset else model.coef_[0]
    np.testing.assert_allclose(got, a, rtol=1e-8, atol=1e-10)
    cost = float((s * (W @ a - (2 * y - 1) * b) ** 2).sum())
    assert model.certificate_.objective == pytest.approx(cost, rel=1e-9, abs=1e-18)


def test_columns_of_very_different_size_are_no_trouble():
    """Where numpy's cut-off for small singular values drops columns, ours does not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = (X[:, 0] + X[:, 5] + rng.normal(size=300) > 0).astype(int)
    scale = 10.0 ** np.array([-8, 8, -8, 8, 0, -8, 8, 0])
    plain = linsep.LeastSquares().fit(X, y)
    scaled = linsep.LeastSquares().fit(X * scale, y)
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-9)
    assert scaled.certificate_.relative_gap < 1e-12


@pytest.mark.parametrize("weighted", [True, False])
def test_influence_is_what_leaving_a_row_out_does(weighted):
    rng = np.random.default_rng(4)
    n, d = 25, 3
    X, y = rng.normal(size=(n, d)), np.arange(n) % 2
    X[0] *= 5
    s = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    model = linsep.LeastSquares().fit(X, y, sample_weight=s)
    report = model.report()
    W, t = np.column_stack([X, np.ones(n)]), 2.0 * y - 1
    root = np.sqrt(s)
    H = (W * root[:, None]) @ np.linalg.pinv(W * root[:, None])
    np.testing.assert_allclose(report.leverage, np.diagonal(H), rtol=1e-9)
    full = W @ np.append(model.coef_[0], model.intercept_)
    variance = float((s * (full - t) ** 2).sum()) / (n - d - 1)
    for i in range(n):
        rest = np.arange(n) != i
        other = linsep.LeastSquares().fit(X[rest], y[rest], sample_weight=s[rest])
        scores = W @ np.append(other.coef_[0], other.intercept_)
        assert report.left_out[i] == pytest.approx(t[i] * scores[i], rel=1e-8)
        moved = float((s * (scores - full) ** 2).sum()) / ((d + 1) * variance)
        assert report.cook[i] == pytest.approx(moved, rel=1e-7)


def test_leverages_of_wide_data_are_one():
    X, y = np.random.default_rng(0).normal(size=(6, 30)), [0, 1] * 3
    np.testing.assert_allclose(linsep.LeastSquares().fit(X, y).report().leverage, 1)
