"""What the tests of scikit-learn, LIBLINEAR and LIBSVM ask of their machines, asked of ours.

Left out, on purpose: intercept_scaling, penalty="l1" and dual=, which do not exist here; pairs of
classes (see OneVsOne); negative sample weights, which we refuse; support_vectors_ and sparsify;
texts of warnings.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_digits, load_iris, make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import recall_score
from sklearn.svm import SVC

import linsep
from linsep import LinearSVM, Perceptron

SIX = np.array([[-2, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]]), np.array([1, 1, 1, 2, 2, 2])
ELSEWHERE = np.array([[-1, -1], [2, 2], [3, 2]])


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, scipy.sparse.lil_array])
def test_six_points_have_two_support_vectors(form):
    X, y = SIX
    model = LinearSVM().fit(form(X), y)
    assert model.support_.tolist() == [1, 3]
    assert model.dual_coef_.tolist() == [[-0.25, 0.25]]
    assert model.coef_[0] == pytest.approx([0.5, 0.5], abs=1e-12)
    assert model.intercept_ == pytest.approx([0.0], abs=1e-12)
    assert model.predict(form(ELSEWHERE)).tolist() == [1, 2, 2]


def test_two_rows_of_the_manual_of_libsvm():
    X = scipy.sparse.csr_array([[1.0, 0.0, 1.0], [-1.0, 0.0, -1.0]])
    model = LinearSVM(C=4.0).fit(X, [1, -1])
    assert model.coef_[0] == pytest.approx([0.5, 0.0, 0.5], abs=1e-12)
    assert np.abs(model.dual_coef_[0]) == pytest.approx([0.25, 0.25], abs=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("multi_class", ["one-vs-rest", "crammer-singer"])
def test_iris_is_learnt_by_every_form(iris, loss, multi_class):
    if (loss, multi_class) == ("squared_hinge", "crammer-singer"):
        pytest.skip("the squared loss of all classes does not exist")
    X, y = iris
    model = LinearSVM(loss=loss, multi_class=multi_class).fit(X, y)
    assert model.score(X, y) > 0.93
    scores = model.decision_function(X)
    assert scores == pytest.approx(X @ model.coef_.T + model.intercept_, abs=1e-12)
    assert (model.classes_[scores.argmax(axis=1)] == model.predict(X)).all()
    sparse = LinearSVM(loss=loss, multi_class=multi_class).fit(scipy.sparse.csr_array(X), y)
    assert sparse.coef_ == pytest.approx(model.coef_, abs=1e-4)
    named = LinearSVM(loss=loss, multi_class=multi_class).fit(X, np.array(["u", "v", "w"])[y])
    assert (named.predict(X) == np.array(["u", "v", "w"])[model.predict(X)]).all()


def test_one_loss_for_all_classes_is_another_machine_and_the_same_for_two(iris):
    X, y = iris
    rest = LinearSVM().fit(X, y)
    machine = LinearSVM(multi_class="crammer-singer").fit(X, y)
    assert (rest.predict(X) == machine.predict(X)).mean() > 0.9
    assert (rest.coef_ != machine.coef_).all()
    X, y = make_classification(n_classes=2, random_state=0)
    same = [
        LinearSVM(multi_class=kind).fit(X, y).coef_ for kind in ("one-vs-rest", "crammer-singer")
    ]
    assert (same[0] == same[1]).all()


def test_weights_of_rows_classes_and_cost_multiply(iris):
    X, y = iris
    two = y < 2
    X, y = X[two] + np.random.default_rng(1).normal(size=(two.sum(), 4)), y[two]
    plain = LinearSVM(C=0.3).fit(X, y).coef_
    s = np.full(len(y), 3.0)
    assert LinearSVM(C=0.1).fit(X, y, s).coef_ == pytest.approx(plain, abs=1e-9)
    by_class = LinearSVM(C=0.1, class_weight={0: 3.0, 1: 3.0}).fit(X, y)
    assert by_class.coef_ == pytest.approx(plain, abs=1e-9)
    kept = np.arange(len(y)) % 3 != 0
    zero = LinearSVM(C=0.3).fit(X, y, kept.astype(float))
    gone = LinearSVM(C=0.3).fit(X[kept], y[kept])
    assert zero.coef_ == pytest.approx(gone.coef_, abs=1e-12)
    assert (np.flatnonzero(kept)[gone.support_] == zero.support_).all()


def test_weight_helps_the_rare_class():
    X, y = make_classification(
        n_samples=200, n_features=10, weights=[0.833, 0.167], flip_y=0.1, random_state=2
    )
    found = [
        recall_score(y, LinearSVM(class_weight=w).fit(X, y).predict(X))
        for w in (None, {0: 1.0, 1: 5.0}, "balanced")
    ]
    assert found[0] < min(found[1:])


def test_a_heavier_row_moves_the_plane_towards_its_side():
    X, y = np.array([[-1.0, -1], [-1, 0], [-0.8, -1], [1, 1], [1, 0]]), np.array([1, 1, 1, -1, -1])
    place = np.array([[0.2, -1.0]])
    settings = {"C": 1.0, "fit_intercept": True}
    before = LinearSVM(**settings).fit(X, y).decision_function(place)[0]
    after = LinearSVM(**settings, class_weight={1: 0.001}).fit(X, y).decision_function(place)[0]
    assert after < before


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_the_plane_of_svc_to_the_sum_of_gaps(iris, C):
    X, y = iris
    ours = LinearSVM(C=C).fit(X, y == 1)
    peer = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y == 1)
    gap = linsep.certify(peer, X, y == 1)
    assert gap.lower_bound <= ours.certificate_.objective
    distance = np.linalg.norm(ours.coef_ - peer.coef_)
    room = ours.certificate_.gap + gap.objective - ours.certificate_.lower_bound
    assert distance <= 2 * np.sqrt(2 * room) + 1e-12


@pytest.mark.parametrize("package", ["clarabel", "osqp"])
@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_optimum_of_another_quadratic_programme(package, offset, C):
    solver = pytest.importorskip(package)
    X, label = make_blobs(60, 3, centers=2, cluster_std=4.0, random_state=1)
    y = 2.0 * label - 1.0
    n, d = X.shape
    # variables w, b, xi; y (w.x + b) + xi >= 1, xi >= 0, and b = 0 without an offset
    P = scipy.sparse.diags_array([1.0] * d + [0.0] * (n + 1)).tocsc()
    q = np.r_[np.zeros(d + 1), np.full(n, C)]
    fix = np.zeros((1, d + 1 + n))
    fix[0, d] = 0.0 if offset else 1.0
    A = scipy.sparse.csc_array(
        np.vstack([
            np.hstack([-y[:, None] * X, -y[:, None], -np.eye(n)]),
            np.hstack([np.zeros((n, d + 1)), -np.eye(n)]), fix,
        ])
    )  # fmt: skip
    top = np.r_[np.full(n, -1.0), np.zeros(n), 0.0]
    if package == "clarabel":
        cones = [solver.NonnegativeConeT(2 * n), solver.ZeroConeT(1)]
        settings = solver.DefaultSettings()
        settings.verbose = False
        P, A = scipy.sparse.csc_matrix(P), scipy.sparse.csc_matrix(A)
        best = solver.DefaultSolver(P, q, A, top, cones, settings).solve().obj_val
        accuracy = 1e-6
    else:
        low = np.r_[np.full(2 * n, -np.inf), 0.0]
        run = solver.OSQP()
        P, A = scipy.sparse.csc_matrix(P), scipy.sparse.csc_matrix(A)
        run.setup(P, q, A, low, top, verbose=False, eps_abs=1e-7, eps_rel=1e-7, max_iter=100_000)
        best, accuracy = run.solve(raise_error=True).info.obj_val, 1e-4
    ours = LinearSVM(C=C, fit_intercept=offset).fit(X, y).certificate_
    assert ours.lower_bound <= best * (1 + accuracy)
    assert best * (1 - accuracy) <= ours.objective


def test_a_run_cut_short_warns_like_scikit_learn_and_counts_in_int():
    X, y = load_digits(return_X_y=True)
    with pytest.warns(ConvergenceWarning):
        model = LinearSVM(max_iter=1, tol=1e-9).fit(X[:300], y[:300])
    assert type(model.n_iter_) is int


def test_methods_that_do_not_exist_are_not_there():
    for model in (LinearSVM(), Perceptron()):
        for name in ("predict_proba", "predict_log_proba"):
            assert not hasattr(model, name)


def test_the_perceptron_is_the_plain_loop(iris):
    X, y = iris
    y = np.where(y == 1, 1, -1)
    w, b = np.zeros(4), 0.0
    for _ in range(2):
        for x, t in zip(X, y):
            if t * (x @ w + b) <= 0:
                w, b = w + t * x, b + t
    with pytest.warns(linsep.errors.NotSeparatedWarning):
        model = Perceptron(max_iter=2, keep="last").fit(X, y)
    assert model.coef_[0] == pytest.approx(w, abs=1e-12)
    assert model.intercept_[0] == pytest.approx(b)


@pytest.mark.filterwarnings("ignore::linsep.errors.NotSeparatedWarning")
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_the_perceptron_learns_iris(iris, form):
    X, y = iris
    assert Perceptron(max_iter=100).fit(form(X), y).score(form(X), y) > 0.7
