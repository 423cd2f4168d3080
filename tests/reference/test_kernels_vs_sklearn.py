"""Kernels against scikit-learn's pairwise functions, and its searches over our parameters."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC

from linsep.kernels import RBF, ChiSquared, Intersection, Linear, Polynomial, Sigmoid, as_kernel

rng = np.random.default_rng(0)
X, Z = rng.standard_normal((600, 12)), rng.standard_normal((90, 12))
few = sp.random(120, 3000, 0.01, format="csr", random_state=1)


@pytest.mark.parametrize(
    ("kernel", "function", "parameters"),
    [
        (Linear(), pairwise.linear_kernel, {}),
        (RBF(gamma=0.3), pairwise.rbf_kernel, {"gamma": 0.3}),
        (RBF(sigma=2.0), pairwise.rbf_kernel, {"gamma": 0.125}),
        (Polynomial(3, 1, 0.2), pairwise.polynomial_kernel, {"gamma": 0.2}),
        (
            Polynomial(5, 0, 0.1),
            pairwise.polynomial_kernel,
            {"degree": 5, "gamma": 0.1, "coef0": 0},
        ),
        (Sigmoid(0.1, -0.5), pairwise.sigmoid_kernel, {"gamma": 0.1, "coef0": -0.5}),
    ],
)
def test_values_are_those_of_scikit_learn(kernel, function, parameters):
    np.testing.assert_allclose(kernel.gram(X), function(X, **parameters), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel(X, Z), function(X, Z, **parameters), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel(few), function(few, **parameters), rtol=1e-9, atol=1e-12)


def test_chi_square_relation():
    H = load_digits().data[:150]
    total = H.sum(axis=1)
    sums = total[:, None] + total
    np.testing.assert_allclose(
        pairwise.additive_chi2_kernel(H), 2 * ChiSquared().gram(H) - sums, rtol=1e-9, atol=1e-9
    )


def test_intersection_from_city_block_distances():
    H = load_digits().data[:150]
    total = H.sum(axis=1)
    want = (total[:, None] + total - pairwise.manhattan_distances(H)) / 2
    np.testing.assert_array_equal(Intersection().gram(H), want)  # whole numbers: exact
    np.testing.assert_array_equal(Intersection().gram(sp.csr_matrix(H)), want)


def test_scale_is_that_of_svc():
    rows, y = load_iris(return_X_y=True)
    for form in (rows, sp.csr_matrix(rows)):
        for name in ("rbf", "poly", "sigmoid"):
            kernel = as_kernel(name, form, warn=False)
            gamma = kernel.get_params().get("gamma", kernel.get_params().get("k"))
            assert gamma == pytest.approx(SVC(kernel=name).fit(form, y)._gamma, rel=1e-12)


def test_svc_takes_our_kernels():
    rows, y = load_iris(return_X_y=True)
    ours = SVC(kernel=RBF(gamma=0.4).gram).fit(rows, y)
    theirs = SVC(gamma=0.4).fit(rows, y)
    np.testing.assert_allclose(
        ours.decision_function(rows), theirs.decision_function(rows), atol=1e-6
    )


def test_searches_reach_into_sums():
    rows, y = load_iris(return_X_y=True)
    kernel = RBF(gamma=1.0) + 0.1 * Linear()
    grid = {"kernel__left__gamma": [1e-3, 0.1, 100.0], "kernel__right__factor": [0.0, 1.0]}
    search = GridSearchCV(SVC(kernel=kernel), grid, cv=3).fit(rows, y)
    assert kernel == RBF(gamma=1.0) + 0.1 * Linear()  # the search works on copies
    best = search.best_estimator_.kernel
    assert best.left.gamma == search.best_params_["kernel__left__gamma"] != 100.0
    scores = cross_val_score(SVC(kernel=lambda A, B: best.gram(A, B)), rows, y, cv=3)
    assert search.best_score_ == pytest.approx(scores.mean())
