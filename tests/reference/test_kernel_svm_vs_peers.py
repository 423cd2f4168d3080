"""KernelSVM against LIBSVM through scikit-learn, and against a general solver of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import linsep
from linsep.kernels import RBF, Intersection, Polynomial


def noisy(n=120, d=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    return rng.normal(size=(n, d)) + y[:, None] * 0.8, y


CASES = {
    "rbf": ({}, {}),
    "rbf, C=100": ({"C": 100.0, "gamma": 0.5}, {"C": 100.0, "gamma": 0.5}),
    "poly": (
        {"kernel": Polynomial(degree=3, coef0=1.0, gamma=0.2)},
        {"kernel": "poly", "degree": 3, "coef0": 1.0, "gamma": 0.2},
    ),
    "linear": ({"kernel": "linear", "C": 0.1}, {"kernel": "linear", "C": 0.1}),
    "balanced": ({"class_weight": "balanced"}, {"class_weight": "balanced"}),
}


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_decisions_are_those_of_libsvm(name, classes):
    ours, theirs = CASES[name]
    X, y = noisy(classes=classes, seed=classes)
    model, peer = linsep.KernelSVM(**ours).fit(X, y), SVC(tol=1e-9, **theirs).fit(X, y)
    new = np.random.default_rng(1).normal(size=(50, 4))
    assert model.status_.name == "CERTIFIED"
    assert model.decision_function(new) == pytest.approx(peer.decision_function(new), abs=2e-4)
    assert (model.predict(new) == peer.predict(new)).mean() > 0.97
    assert model.intercept_ == pytest.approx(peer.intercept_, abs=2e-4)
    assert model.dual_coef_.shape[0] == peer.dual_coef_.shape[0]
    best = linsep.certify(peer, X, y)
    assert model.certificate_.lower_bound <= best.objective * (1 + 1e-12)
    assert best.lower_bound <= model.certificate_.objective * (1 + 1e-12)


def test_pairs_of_libsvm_have_the_same_signs():
    X, y = noisy(classes=3, seed=7)
    model = linsep.KernelSVM(decision_function_shape="ovo").fit(X, y)
    peer = SVC(decision_function_shape="ovo", tol=1e-9).fit(X, y)
    assert model.decision_function(X) == pytest.approx(peer.decision_function(X), abs=1e-5)
    assert model.support_.tolist() == peer.support_.tolist()
    assert model.n_support_.tolist() == peer.n_support_.tolist()
    assert model.dual_coef_ == pytest.approx(peer.dual_coef_, abs=1e-4)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_known_tables(load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model, peer = linsep.KernelSVM(C=10.0).fit(X, y), SVC(C=10.0, tol=1e-8).fit(X, y)
    assert model.certificate_.relative_gap < 1e-6
    assert (model.predict(X) == peer.predict(X)).all()
    assert model.decision_function(X) == pytest.approx(peer.decision_function(X), abs=1e-4)


@pytest.mark.parametrize("free", [True, False])
def test_a_general_solver_finds_the_same_value(free):
    X, y = noisy(n=30, seed=3)
    sign = 2.0 * y - 1
    K = RBF(gamma=0.3).gram(X)
    Q = sign[:, None] * K * sign

    model = linsep.KernelSVM(C=2.0, gamma=0.3, fit_intercept=free).fit(X, y)
    ties = [{"type": "eq", "fun": lambda a: a @ sign, "jac": lambda a: sign}] if free else []
    found = minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1),
        np.full(30, 0.5),
        jac=True,
        bounds=[(0, 2.0)] * 30,
        constraints=ties,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    assert model.certificate_.lower_bound == pytest.approx(-found.fun, rel=1e-7)
    assert model.certificate_.relative_gap < 1e-7


def test_weights_are_repetitions():
    X, y = noisy(n=40, seed=4)
    times = np.random.default_rng(0).integers(0, 4, size=40)
    one = linsep.KernelSVM(gamma=0.2).fit(X, y, sample_weight=times)
    two = linsep.KernelSVM(gamma=0.2).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert one.decision_function(X) == pytest.approx(two.decision_function(X), abs=1e-7)


def test_layouts_and_formats_agree():
    X, y = noisy(classes=3, seed=5)
    X[np.abs(X) < 0.5] = 0
    dense = linsep.KernelSVM(gamma=0.2).fit(X, y)
    for form in (scipy.sparse.csr_array(X), np.asfortranarray(X), scipy.sparse.csc_matrix(X)):
        other = linsep.KernelSVM(gamma=0.2).fit(form, y)
        assert other.decision_function(form) == pytest.approx(dense.decision_function(X), abs=1e-7)
    small = linsep.KernelSVM(gamma=0.2).fit(X.astype(np.float32), y)
    assert small.support_vectors_.dtype == np.float32
    assert small.decision_function(X) == pytest.approx(dense.decision_function(X), abs=1e-4)
    gram = linsep.KernelSVM(kernel="precomputed").fit(RBF(gamma=0.2).gram(X), y)
    new = RBF(gamma=0.2).gram(X[:9], X)
    assert gram.decision_function(new) == pytest.approx(dense.decision_function(X[:9]), abs=1e-7)


def test_little_memory_gives_the_same_answer():
    X, y = noisy(n=900, d=3, seed=6)
    whole = linsep.KernelSVM(C=5.0).fit(X, y)
    part = linsep.KernelSVM(C=5.0, memory=1.0).fit(X, y)  # 353 rows in float64
    assert "rows that matter" in part.solver_used_
    assert part.status_.name == "CERTIFIED"
    assert part.outcome_.state.parts[0].generation > 0
    assert whole.certificate_.lower_bound <= part.certificate_.objective
    assert part.certificate_.lower_bound <= whole.certificate_.objective


def test_histograms_by_the_kernel_itself():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, size=(80, 6)).astype(float), rng.integers(2, size=80)
    X[y == 1, :3] += 2
    model = linsep.KernelSVM(kernel="intersection").fit(X, y)
    peer = SVC(kernel="precomputed", tol=1e-9).fit(Intersection().gram(X), y)
    assert model.decision_function(X) == pytest.approx(
        peer.decision_function(Intersection().gram(X)), abs=1e-5
    )
