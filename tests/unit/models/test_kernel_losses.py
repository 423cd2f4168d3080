"""Kernel logistic regression and kernel least squares, beside other ways to the same numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

import linsep
from linsep.cli.main import main
from linsep.errors import (
    CapabilityError,
    DataError,
    GapWarning,
    NotPositiveWarning,
    SettingError,
)
from linsep.kernels import RBF, Intersection, Linear, Polynomial, Sigmoid


@pytest.fixture
def rng():
    return np.random.default_rng(5)


BOTH = pytest.mark.parametrize("maker", [linsep.LogisticRegression, linsep.LeastSquares])


def rings(n=80, K=2, seed=0):
    """Classes around one another, with some rows in the wrong one."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, K, n)
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = 1.0 + 1.5 * label + rng.normal(scale=0.5, size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), label


def logistic_by_hand(K, label, cost, free=True):
    """The least penalised loss, by Newton's method on coordinates from eigenvectors of K."""
    n, classes = len(K), int(label.max()) + 1
    size, vectors = np.linalg.eigh(K)
    Z = np.column_stack([vectors * np.sqrt(np.maximum(size, 0.0)), np.full(n, float(free))])
    ridge = np.append(np.ones(n), 0.0 if free else 1.0)
    columns = 1 if classes == 2 else classes
    W, own = np.zeros((n + 1, columns)), np.eye(classes)[label]

    def shares(W):
        F = Z @ W
        F = np.column_stack([np.zeros(n), F]) if classes == 2 else F
        P = np.exp(F - F.max(axis=1, keepdims=True))
        return P / P.sum(axis=1, keepdims=True)

    for _ in range(30):
        P = shares(W)
        R = (cost[:, None] * (P - own))[:, -columns:]
        gradient = (Z.T @ R + ridge[:, None] * W).T.ravel()
        H = np.zeros((columns, n + 1, columns, n + 1))
        for i in range(columns):
            for j in range(columns):
                p, q = P[:, i - columns], P[:, j - columns]
                H[i, :, j] = Z.T @ ((cost * p * ((i == j) - q))[:, None] * Z)
            H[i, :, i] += np.diag(ridge)
        H = H.reshape(len(gradient), -1)
        step = np.linalg.lstsq(H, gradient, rcond=1e-13)[0]
        W -= step.reshape(columns, n + 1).T
    losses = -float(cost @ np.log((shares(W) * own).sum(axis=1)))
    return losses + float((ridge[:, None] * W**2).sum()) / 2


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.4), Polynomial(2)])
def test_logistic_bounds_hold_the_least_loss(classes, free, kernel, rng):
    X, label = rings(30, classes)
    weight = rng.uniform(0.5, 2.0, len(X))
    model = linsep.LogisticRegression(0.7, kernel=kernel, fit_intercept=free)
    gap = model.fit(X, label, weight).certificate_
    best = logistic_by_hand(kernel.gram(X), label, 0.7 * weight, free)
    assert gap.relative_gap <= 1e-8 and gap.proved
    assert gap.lower_bound <= best * (1 + 1e-12) and best <= gap.objective * (1 + 1e-10)
    assert gap.errors == int((model.predict(X) != label).sum())
    again = linsep.certify(model, X, label, sample_weight=weight)
    assert again == gap


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_squares_are_the_solution_of_their_system(classes, free, rng):
    X, label = rings(60, classes)
    weight, targets = rng.uniform(0.5, 2.0, (2, len(X)))
    kernel, C, n = RBF(gamma=0.4), 3.0, len(X)
    model = linsep.LeastSquares(kernel=kernel, C=C, targets=targets, fit_intercept=free)
    model.fit(X, label, weight)
    T = np.where(label[:, None] == (np.arange(classes) if classes > 2 else [1]), 1.0, -1.0)
    T *= targets[:, None]
    system = np.zeros((n + free, n + free))
    system[:n, :n] = kernel.gram(X) + np.diag(1.0 / (C * weight))
    system[:n, n:] = 1.0
    system[n:, :n] = 1.0
    found = np.linalg.solve(system, np.vstack([T, np.zeros((int(free), T.shape[1]))]))
    scores = kernel.gram(X) @ found[:n] + (found[n] if free else 0.0)
    assert np.allclose(model.decision_function(X).reshape(n, -1), scores, rtol=0, atol=1e-9)
    J = float((weight[:, None] * (scores - T) ** 2).sum())
    J += sum(c @ kernel.gram(X) @ c for c in found[:n].T) / C
    gap = model.certificate_
    assert gap.lower_bound <= J * (1 + 1e-12) and gap.objective * (1 + 1e-12) >= J
    assert gap.relative_gap <= 1e-8


def test_squares_without_an_offset_are_kernel_ridge():
    X, label = rings()
    model = linsep.LeastSquares(kernel="rbf", gamma=0.3, C=4.0, fit_intercept=False)
    peer = KernelRidge(alpha=0.25, kernel="rbf", gamma=0.3).fit(X, 2.0 * label - 1)
    assert np.allclose(model.fit(X, label).decision_function(X), peer.predict(X), atol=1e-10)


def test_the_linear_kernel_is_no_kernel():
    X, label = rings(100, 3)
    for y in (label, label == 1):
        plain = linsep.LogisticRegression(2.0).fit(X, y)
        model = linsep.LogisticRegression(2.0, kernel="linear").fit(X, y)
        assert np.allclose(model.decision_function(X), plain.decision_function(X), atol=1e-7)
        assert np.isclose(model.log_likelihood_, plain.log_likelihood_, rtol=1e-9)
        assert model.null_log_likelihood_ == plain.null_log_likelihood_
        assert np.allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-8)
        assert np.allclose(model.odds(X), plain.odds(X), rtol=1e-6)


@BOTH
@pytest.mark.parametrize("classes", [2, 3])
def test_arbitrary_sums_are_bounded_too(maker, classes, rng, tmp_path):
    """Wrong sums: the objective grows, no bound moves beyond the least one."""
    X, label = rings(40, classes)
    model = maker(kernel=RBF(gamma=0.5)).fit(X, label)
    least = model.certificate_
    linsep.save(model, tmp_path / "model.json")
    for size in (1e-6, 1e-3, 1.0, 100.0):
        other = linsep.load(tmp_path / "model.json")
        other.dual_coef_ = model.dual_coef_ + size * rng.normal(size=model.dual_coef_.shape)
        other.intercept_ = model.intercept_ + size * rng.normal(size=model.intercept_.shape)
        found = linsep.certify(other, X, label)
        assert found.objective >= least.lower_bound
        assert 0.0 <= found.lower_bound <= least.objective


@BOTH
def test_kernels_of_every_kind(maker):
    X, y = rings()
    G = RBF(gamma=0.5).gram(X)
    plain = maker(kernel=RBF(gamma=0.5)).fit(X, y).decision_function(X)
    given = maker(kernel="precomputed").fit(G, y)
    assert given.status_.ok and np.allclose(given.decision_function(G), plain, atol=1e-8)
    sparse = maker(kernel="rbf", gamma=0.5).fit(scipy.sparse.csr_array(X), y)
    assert np.allclose(sparse.decision_function(X), plain, atol=1e-8)
    own = maker(kernel=lambda a, b: float(np.exp(-0.5 * ((a - b) ** 2).sum()))).fit(X, y)
    assert np.allclose(own.decision_function(X), plain, atol=1e-6)
    both = maker(kernel=RBF(gamma=0.5) + 2.0 * Linear()).fit(X, y)
    assert both.certificate_.relative_gap <= 1e-6
    assert maker(kernel=Intersection()).fit(np.abs(X), y).certificate_.relative_gap <= 1e-6
    with pytest.raises(DataError, match="no feature space"), pytest.warns(NotPositiveWarning):
        maker(kernel=Sigmoid(1.0, 1.0)).fit(X, y)


@BOTH
def test_files_clones_schemes_and_the_command_line(maker, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, label = rings(50)
    y = np.array(["in", "out"])[label]
    model = maker(kernel=RBF(gamma=0.7), C=2.0).fit(X, y)
    linsep.save(model, "model.json")
    back = linsep.load("model.json")
    assert back.certificate_ == model.certificate_ and back.summary()
    assert np.array_equal(back.decision_function(X), model.decision_function(X))
    assert clone(model).get_params()["kernel"] == RBF(gamma=0.7)
    many = rings(60, 3)
    for scheme in (linsep.OneVsRest, linsep.OneVsOne):
        assert scheme(clone(model)).fit(*many).score(*many) > 0.6
    with pytest.raises(CapabilityError, match="Kesler's vectors are for planes"):
        linsep.Kesler(clone(model)).fit(*many)
    lead = clone(model).fit(*many).explain(many[0][0])
    scores = np.sort(clone(model).fit(*many).decision_function(many[0][:1])[0])
    assert np.isclose(lead.score, scores[-1] - scores[-2])
    rows = "\n".join(f"{a},{b},{k}" for (a, b), k in zip(X, y))
    (tmp_path / "ring.csv").write_text("a,b,label\n" + rows + "\n")
    name = "logistic-regression" if maker is linsep.LogisticRegression else "least-squares"
    words = ["ring.csv", "-a", name, "-s", "kernel=rbf", "-s", "gamma=0.7", "-s", "C=2"]
    assert main(["fit", *words, "-o", "cli.json", "-q"]) == 0
    assert main(["verify", "cli.json", "ring.csv"]) == 0
    stored = json.loads((tmp_path / "cli.json").read_text())
    found = stored.get("model", stored)
    found["certificate"]["lower_bound"] *= 1.01
    found["certificate"]["objective"] *= 1.01
    (tmp_path / "forged.json").write_text(json.dumps(stored))
    assert main(["verify", "forged.json", "ring.csv"]) == 1
    assert "lower_bound" in capsys.readouterr().out


def test_a_logistic_machine_is_a_file_of_libsvm_with_its_probabilities(tmp_path):
    X, y = rings(60)
    model = linsep.LogisticRegression(kernel="rbf", sigma=1.0).fit(X, y)
    linsep.save(model, tmp_path / "x.model")
    back = linsep.load(tmp_path / "x.model")
    assert np.allclose(back.predict_proba(X), model.predict_proba(X), atol=1e-12)
    several = linsep.LogisticRegression(kernel="rbf").fit(*rings(60, 3))
    with pytest.raises(linsep.errors.ModelError, match="one machine for each class"):
        linsep.save(several, tmp_path / "y.model")


def test_gradient_steps_are_traced_in_the_feature_space():
    X, y = rings(40)
    run = linsep.trace(linsep.LogisticRegression(kernel="rbf", solver="gradient"), X, y)
    costs = run.frame()["cost"].to_numpy()
    assert (np.diff(costs) <= 0).all() and "a <- a - " in run.narrate()
    fit = linsep.LogisticRegression(kernel="rbf").fit(X, y)
    assert np.isclose(costs[-1], fit.certificate_.objective, rtol=1e-5)
    newton = linsep.trace(linsep.LogisticRegression(kernel="rbf"), X, y).frame()["cost"]
    assert np.isclose(newton.iloc[-1], fit.certificate_.objective, rtol=1e-9)
    with pytest.warns(GapWarning, match="eta=50.0 is too large"):
        linsep.LogisticRegression(kernel="rbf", solver="gradient", eta=50.0).fit(X, y)


def test_a_warm_start_begins_at_the_last_sums():
    X, y = rings()
    model = linsep.LogisticRegression(kernel="rbf", warm_start=True, tol=1e-4).fit(X, y)
    assert model.n_updates_ > 1
    assert model.fit(X, y).n_updates_ <= 1


def test_what_has_no_meaning_is_refused():
    X, y = rings()
    for settings in ({"C": np.inf}, {"penalty": None}):
        with pytest.raises(SettingError, match="finite C"):
            linsep.LogisticRegression(kernel="rbf", **settings).fit(X, y)
    with pytest.raises(SettingError, match="a penalty is needed"):
        linsep.LeastSquares(kernel="rbf", C=np.inf).fit(X, y)
    with pytest.raises(SettingError, match="without a kernel"):
        linsep.LeastSquares(C=1.0).fit(X, y)
    for maker in (linsep.LogisticRegression, linsep.LeastSquares, linsep.Kozinec):
        with pytest.raises(SettingError, match=r"gamma=2.0 has no effect without a kernel"):
            maker(gamma=2.0).fit(X, y)
    with pytest.raises(CapabilityError, match="solver='exact'"):
        linsep.LeastSquares(kernel="rbf", solver="gradient").fit(X, y)
    model = linsep.LeastSquares(kernel="rbf").fit(X, y)
    for ask in (model.report, model.exact_coefficients, model.ranking):
        with pytest.raises(CapabilityError, match="kernel"):
            ask()


@BOTH
def test_a_stream_is_not_taken_for_planes(maker, tmp_path):
    X, y = rings()
    path = tmp_path / "rings.csv"
    np.savetxt(path, np.c_[X, y], delimiter=",", header="a,b,y", comments="")
    with pytest.raises(CapabilityError, match="with a kernel needs all rows at once"):
        maker(kernel="rbf").fit(linsep.data.stream(path, target="y"))


@BOTH
def test_a_fit_without_kernel_forgets_the_one_with(maker):
    X, y = rings()
    model = maker(kernel="rbf").fit(X, y)
    assert not hasattr(model, "coef_")
    model.set_params(kernel=None).fit(X, y)
    assert not hasattr(model, "dual_coef_") and model.coef_.shape == (1, 2)
    model.set_params(kernel="rbf").fit(X, y)
    assert not hasattr(model, "coef_")


@BOTH
def test_no_time_gives_a_model_all_the_same(maker):
    X, y = rings(300)
    with pytest.warns(GapWarning):
        model = maker(kernel="rbf", time_limit=0.0).fit(X, y)
    assert model.certificate_.lower_bound <= model.certificate_.objective < np.inf
    assert model.score(X, y) > 0.6
