"""The route for very many rows: any kernel, with weights."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep
from linsep.kernels import RBF, ChiSquared, Intersection, Linear, Sigmoid
from linsep.models.kernel_large import KernelMap

rng = np.random.default_rng(0)
X = rng.random((300, 4))
Y = np.where((X - 0.5).prod(axis=1) + 0.02 * X[:, 0] > 0, "in", "out")


def by_hand(x, z):
    return float(np.exp(-2.0 * np.abs(x - z).sum()))


@parametrize_with_checks([KernelMap(RBF(gamma=0.3), n_components=5, random_state=0)])
def test_the_map_is_a_transformer(estimator, check):
    check(estimator)


def test_the_map_of_a_gaussian_is_that_of_scikit_learn():
    ours = KernelMap(RBF(gamma=0.7), n_components=40, random_state=3).fit(X)
    theirs = Nystroem(gamma=0.7, n_components=40, random_state=3).fit(X)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-6)
    phi = KernelMap(Intersection(), n_components=300, random_state=0).fit_transform(X)
    np.testing.assert_allclose(phi @ phi.T, Intersection().gram(X), atol=1e-8)  # all rows: exact


@pytest.mark.parametrize(
    "kernel",
    [ChiSquared(), Intersection(), RBF(gamma=1.0) + Linear(), Sigmoid(0.1, 0.0), by_hand],
    ids=["chi2", "intersection", "sum", "sigmoid", "function"],
)
def test_every_kernel_has_an_approximation(kernel):
    expected = pytest.warns(linsep.errors.NotPositiveWarning)
    with expected if isinstance(kernel, Sigmoid) else nullcontext():
        fast = linsep.approximate(linsep.KernelSVM(10.0, kernel=kernel), X, Y, n_components=60,
                                  sample=150)  # fmt: skip
    assert fast.agreement > 0.85
    assert fast.model.predict(X[:7]).shape == (7,)
    assert fast.model[-1].certificate_.relative_gap <= 1e-3


def test_rows_of_weight_zero_are_not_there_and_weights_count():
    weight = np.where(np.arange(300) < 200, 1.0, 0.0)
    svm = linsep.KernelSVM(10.0, gamma=2.0)
    some = linsep.approximate(svm, X, Y, sample_weight=weight, n_components=30)
    alone = linsep.approximate(svm, X[:200], Y[:200], n_components=30)
    assert some.exact == alone.exact and some.agreement == alone.agreement
    np.testing.assert_array_equal(some.model.predict(X), alone.model.predict(X))
    heavy = np.where(Y == "in", 50.0, 1.0)
    leaning = linsep.approximate(svm, X, Y, sample_weight=heavy, n_components=30)
    assert (leaning.predict(X) == "in").sum() > (alone.predict(X) == "in").sum()


def test_a_gram_matrix_has_no_rows():
    with pytest.raises(linsep.errors.SettingError, match="no rows to make features of"):
        linsep.approximate(linsep.KernelSVM(kernel="precomputed"), X @ X.T, Y)
    with pytest.raises(linsep.errors.SettingError, match="only for RBF"):
        linsep.approximate(linsep.KernelSVM(kernel="linear"), X, Y, method="random-features")


@pytest.mark.parametrize(
    "wrong",
    [{"n_components": 0}, {"n_components": 1.5}, {"n_components": "a"}, {"n_components": True},
     {"sample": 0}, {"sample": None}, {"svm": linsep.LinearSVM()}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_named(wrong):
    X, Y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    svm = wrong.pop("svm", linsep.KernelSVM())
    name = next(iter(wrong), "svm")
    with pytest.raises(
        linsep.errors.SettingError, match=f"'{name}' parameter of approximate must be"
    ):
        linsep.approximate(svm, X, Y, **wrong)


def test_no_more_components_than_rows():
    X, Y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    assert linsep.approximate(linsep.KernelSVM(), X, Y, n_components=10**9).n_components == 30
