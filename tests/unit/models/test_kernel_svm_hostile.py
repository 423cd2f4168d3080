"""Kernel machines on hostile input: indefinite kernels, huge C, unscaled columns, no street."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.svm import SVC

import linsep
from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.errors import (
    DataError,
    GapWarning,
    ModelError,
    NotPositiveWarning,
    NotSeparatedWarning,
    ProofError,
)
from linsep.kernels import RBF, ChiSquared, Hellinger, Intersection, Linear, Polynomial, Precomputed
from linsep.kernels.blocks import KernelValues
from linsep.models import kernel_svm
from linsep.proofs import kernel as proofs
from linsep.proofs.kernel import Overlap, kernel_gap


def overlapping(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


# -- kernels that are not positive semidefinite ------------------------------------------------


def test_a_kernel_with_a_negative_diagonal_ends_in_a_stationary_point():
    y = np.array([0, 1] * 10)
    with pytest.warns(NotPositiveWarning, match="on these rows"):
        model = linsep.KernelSVM(kernel="precomputed").fit(-np.eye(20), y)
    assert model.status_.name == "CONVERGED"
    assert model.certificate_.violation <= 1e-3
    assert model.certificate_.lower_bound == -np.inf
    assert "2 / |w|" not in model.summary()  # |w|^2 < 0 is no length


def test_a_function_that_is_no_kernel_is_called_so():
    X, y = overlapping()
    with pytest.warns(NotPositiveWarning, match="on these rows"):
        model = linsep.KernelSVM(kernel=lambda a, b: -np.abs(a - b).sum()).fit(X, y)
    assert not model.certificate_.convex


def test_a_function_that_gives_nan_is_named():
    X, y = overlapping()
    with pytest.raises(DataError, match="of rows 0 and 0 is nan"):
        linsep.KernelSVM(kernel=lambda a, b: np.nan).fit(X, y)


# -- huge C ------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e6, 1e10, 1e15, 1e300])
@pytest.mark.parametrize("kernel", [Polynomial(2), RBF(gamma=0.5)])
def test_huge_costs_are_the_hard_margin(C, kernel):
    X, y = overlapping()
    soft = linsep.KernelSVM(C=C, kernel=kernel).fit(X, y)
    hard = linsep.KernelSVM(C=np.inf, kernel=kernel).fit(X, y)
    assert soft.status_.name == hard.status_.name == "CERTIFIED"
    assert soft.certificate_.objective == pytest.approx(hard.certificate_.objective, rel=1e-3)
    np.testing.assert_allclose(soft.decision_function(X), hard.decision_function(X), rtol=1e-2)


@pytest.mark.parametrize("C", [1e10, 1e300])
def test_two_rows_and_a_huge_cost(C):
    model = linsep.KernelSVM(C=C, kernel="linear").fit([[0.0], [1.0]], [0, 1])
    assert model.status_.name == "CERTIFIED"
    assert model.certificate_.objective == pytest.approx(2.0, rel=1e-3)
    np.testing.assert_allclose(model.coef_, [[2.0]], rtol=1e-9)


@pytest.mark.parametrize("C", [1e6, 1e14])
def test_contradicting_rows_and_a_huge_cost(C):
    X, y = overlapping(20)
    model = linsep.KernelSVM(C=C).fit(np.vstack([X, X]), np.r_[y, 1 - y])
    assert model.status_.name == "CERTIFIED"
    assert model.certificate_.objective == pytest.approx(40 * C, rel=1e-6)  # f = 0 is best


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_unscaled_columns_are_certified(degree, C):
    X, y = load_wine(return_X_y=True)
    kernel = Polynomial(degree, gamma=1 / 13)
    model = linsep.KernelSVM(C=C, kernel=kernel).fit(X, y)
    assert model.status_.name == "CERTIFIED"
    peer = SVC(C=C, kernel=kernel.gram, max_iter=20000)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it does not converge
        peer.fit(X, y)
    assert model.certificate_.objective <= linsep.certify(peer, X, y).objective


# -- the bounds in balls -----------------------------------------------------------------------


def exact_bounds(X, y, C, alpha, b):
    """Objective and dual value of a machine with the linear kernel, in fractions."""
    rows = [[Fraction(v) for v in x] for x in X.tolist()]
    K = [[sum((a * c for a, c in zip(x, z)), Fraction(0)) for z in rows] for x in rows]
    signs = [int(s) for s in y]
    coef = [Fraction(a) * s for a, s in zip(alpha.tolist(), signs)]
    f = [sum((k * c for k, c in zip(row, coef)), Fraction(0)) for row in K]
    square = sum((c * v for c, v in zip(coef, f)), Fraction(0))
    loss = sum((max(Fraction(0), 1 - s * (v + Fraction(b))) for s, v in zip(signs, f)), Fraction(0))
    return square / 2 + Fraction(C) * loss, sum(map(Fraction, alpha.tolist())) - square / 2


@pytest.mark.parametrize("C", [1.0, 1e8, 1e12])
@pytest.mark.parametrize("seed", range(5))
def test_bounds_hold_in_fractions_and_are_tight(C, seed):
    X, y = overlapping(12, 2, seed)
    signs = np.where(y == 1, 1.0, -1.0)
    rng = np.random.default_rng(seed)
    alpha = C * rng.random(12)
    m = min((signs > 0).sum(), (signs < 0).sum())
    for s in (1, -1):  # as many of each class, in steps of C / 8: balanced exactly
        alpha[signs == s] = 0.0
        alpha[np.flatnonzero(signs == s)[:m]] = C * np.arange(1, m + 1) / 8 % C
    values = KernelValues(Problem(X, y), Linear())
    gap = kernel_gap(values, np.arange(12), signs, np.full(12, C), alpha, 0.25)
    high, low = exact_bounds(X, signs, C, alpha, 0.25)
    assert gap.objective >= high
    assert gap.lower_bound <= max(low, 0)
    assert gap.objective == pytest.approx(float(high), rel=1e-6)


def test_variables_outside_the_box_are_measured_as_they_are():
    X, y = overlapping(12, 2)
    signs = np.where(y == 1, 1.0, -1.0)
    alpha = np.linspace(-1, 3, 12)
    values = KernelValues(Problem(X, y), Linear())
    gap = kernel_gap(values, np.arange(12), signs, np.ones(12), alpha, 0.0)
    w = (alpha * signs) @ X
    loss = np.maximum(0, 1 - signs * (X @ w)).sum()
    assert gap.objective == pytest.approx(w @ w / 2 + loss, rel=1e-9)


# -- no street ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(2), Polynomial(1), Linear() / 3, 2 * Linear() + 1]
)
def test_no_hard_margin_is_proved_in_fractions(kernel):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(120, 2)), rng.integers(0, 2, 120)
    with pytest.warns(NotSeparatedWarning, match="exact arithmetic"):
        model = linsep.KernelSVM(C=np.inf, kernel=kernel).fit(X, y)
    proof = model.overlap_
    assert model.status_.name == "INSEPARABLE"
    assert model.conflict_ is None
    assert proof.check(X, y)
    # by hand: sum a y = 0 and sum a y phi(x) = 0 in floats
    a = np.array([float(m) for m in proof.multipliers])
    a /= a.sum()
    s = np.where(y[list(proof.rows)] == 1, a, -a)
    assert (a > 0).all()
    assert abs(s.sum()) < 1e-12
    phi = kernel.features(X[list(proof.rows)])
    assert np.abs(s @ phi).max() < 1e-10 * np.abs(phi).max()
    assert "no street exists" in model.summary()
    # the machine is that of C = 1
    other = linsep.KernelSVM(C=1.0, kernel=kernel).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("kernel", [Intersection(), ChiSquared()])
def test_histograms_without_a_street(kernel):
    # x2 between x0 and x1 on the line: K is linear there, so the middle is a mean of the ends
    X = np.array([[0, 2], [2, 0], [1, 1], [5, 0], [5, 0]])
    if isinstance(kernel, ChiSquared):
        X = X[[3, 4, 2]]
        y = [0, 1, 1]
    else:
        X, y = np.array([[0.0], [2.0], [1.0], [0.0]]), [0, 0, 1, 1]
    with pytest.warns(NotSeparatedWarning):
        model = linsep.KernelSVM(C=np.inf, kernel=kernel).fit(X, y)
    assert model.overlap_.check(X, y)


def test_of_a_gram_matrix_the_entries_count():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-3, 4, (60, 2)).astype(float), rng.integers(0, 2, 60)
    keep = np.unique(X, axis=0, return_index=True)[1]
    X, y = X[keep], y[keep]
    with pytest.warns(NotSeparatedWarning):
        model = linsep.KernelSVM(C=np.inf, kernel="precomputed").fit(X @ X.T, y)
    assert model.overlap_.kernel == Precomputed()
    assert model.overlap_.check(X @ X.T, y)


def test_three_classes_and_rows_of_weight_zero():
    X, y = load_iris(return_X_y=True)
    weight = np.ones(150)
    weight[[3, 60]] = 0.0
    with pytest.warns(NotSeparatedWarning):
        model = linsep.KernelSVM(C=np.inf, kernel="linear").fit(X, y, weight)
    assert set(y[list(model.overlap_.rows)]) == {1, 2}
    assert not {3, 60} & set(model.overlap_.rows)
    assert model.overlap_.check(X, y)


def test_without_fractions_a_bound_of_the_street_is_proved():
    X, y = overlapping()
    with pytest.warns(GapWarning, match="proved that no street in the feature space is wider"):
        model = linsep.KernelSVM(C=np.inf, kernel=Hellinger()).fit(np.abs(X), y)
    assert model.status_.name == "STALLED"
    assert model.overlap_ is None
    assert np.isinf(model.certificate_.objective)
    assert model.certificate_.lower_bound > 1e6


def test_where_a_street_exists_there_is_no_overlap():
    X, y = overlapping()
    for kernel in (RBF(gamma=1.0), Polynomial(3)):
        model = linsep.KernelSVM(C=np.inf, kernel=kernel).fit(X, y)
        assert model.status_.name == "CERTIFIED"
        assert model.overlap_ is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": (0, 99)}, "not there"),
        ({"multipliers": (Fraction(1), Fraction(-1))}, "above zero"),
        ({"multipliers": (Fraction(1), Fraction(2))}, "different sums"),
        ({"rows": (0, 2)}, "two classes"),
        ({"rows": (0, 3)}, "different points"),
        ({"rows": (0, 0)}, "named once"),
    ],
)
def test_false_proofs_are_refused(change, words):
    X, y = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 1.0], [3.0, 0.0]]), [0, 1, 0, 1]
    proof = Overlap((0, 1), (Fraction(1), Fraction(1)), Linear())
    assert proof.check(X, y)
    assert replace(proof, kernel=RBF(gamma=1.0)).check(scipy.sparse.csr_array(X), y)
    with pytest.raises(ProofError, match=words):
        replace(proof, **change).check(X, y)


def test_the_proof_goes_with_the_model_file(tmp_path):
    X, y = overlapping()
    with pytest.warns(NotSeparatedWarning):
        model = linsep.KernelSVM(C=np.inf, kernel="linear").fit(X, y)
    path = tmp_path / "model.json"
    linsep.save(model, path)
    again = linsep.load(path)
    assert again.overlap_ == model.overlap_
    assert again.summary().splitlines()[-1] == model.summary().splitlines()[-1]
    assert linsep.certify(again, X, y).objective == model.certificate_.objective
    stored = json.loads(path.read_text())
    stored["overlap"]["multipliers"][0] = "1/7"
    path.write_text(json.dumps(stored))
    with pytest.raises(ProofError):
        linsep.certify(linsep.load(path), X, y)
    stored["overlap"]["multipliers"][0] = "1/0"
    path.write_text(json.dumps(stored))
    with pytest.raises(ModelError, match="a fraction p/q with q > 0 is due"):
        linsep.load(path)


# -- the linear kernel, callbacks --------------------------------------------------------------


def test_weights_with_the_linear_kernel():
    X, y = load_iris(return_X_y=True)
    model = linsep.KernelSVM(kernel="linear", decision_function_shape="ovo").fit(X, y)
    peer = SVC(kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.pair_coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(
        model.decision_function(X), X @ model.pair_coef_.T + model.intercept_, atol=1e-12
    )
    assert not hasattr(model, "coef_")  # three planes of pairs are no scores of three classes
    two = linsep.KernelSVM(kernel="linear").fit(X, y == 1)
    np.testing.assert_allclose(
        two.decision_function(X), X @ two.coef_[0] + two.intercept_, atol=1e-10
    )
    assert not hasattr(linsep.KernelSVM().fit(X, y == 1), "coef_")
    assert not hasattr(linsep.KernelSVM(kernel="linear"), "coef_")


class Monitor:
    """A callback of scikit-learn."""

    def __init__(self, most=10**9):
        self.calls, self.most = [], most

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.calls.append(context.task_name)
        assert fitted_estimator.predict(np.zeros((2, 3))).shape == (2,)
        return len(self.calls) > self.most


@pytest.mark.parametrize("kind", [linsep.KernelSVM, linsep.KernelPerceptron])
@pytest.mark.parametrize("classes", [2, 3])
def test_scikit_learn_callbacks(kind, classes):
    pytest.importorskip("sklearn.callback")
    X, y = overlapping(60)
    if classes == 3:
        y = y + (X[:, 1] > 0.5)
    monitor = Monitor()
    model = kind(gamma=2.0, callbacks=[monitor]).fit(X, y)
    assert monitor.calls[0] == "setup"
    assert monitor.calls[-1] == "teardown"
    assert len(monitor.calls) > 3
    np.testing.assert_array_equal(model.predict(X), kind(gamma=2.0).fit(X, y).predict(X))
    with pytest.raises(TypeError, match="callbacks holds 3"):
        kind(callbacks=[3]).fit(X, y)


def test_a_scikit_learn_callback_may_stop():
    pytest.importorskip("sklearn.callback")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    with pytest.warns(GapWarning, match="STOPPED"):
        model = linsep.KernelSVM(C=1e4, callbacks=[Monitor(2)]).fit(X, y)
    assert model.status_.name == "STOPPED"


def test_a_trace_of_working_sets_ends_where_the_fit_does():
    X, y = overlapping()
    run = linsep.trace(linsep.KernelSVM(), X, y)
    model = linsep.KernelSVM().fit(X, y)
    assert run.outcome.status is model.status_
    assert run[-1].gap <= run[1].gap


# -- the perceptron again ----------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_a_kernel_perceptron_is_certified_again(classes, tmp_path):
    X, y = overlapping(60)
    if classes == 3:
        y = y + (X[:, 1] > 0.5)
    model = linsep.KernelPerceptron(gamma=1.0).fit(X, y)
    assert linsep.certify(model, X, y) == model.certificate_
    linsep.save(model, tmp_path / "model.json")
    assert linsep.certify(linsep.load(tmp_path / "model.json"), X, y) == model.certificate_
    model.dual_coef_ = -model.dual_coef_
    assert linsep.certify(model, X, y).errors > 0


# -- model files that lie ----------------------------------------------------------------------


def _array(fields, name):
    return fields[name]["$array"]["values"]


FORGED = {
    "objective": lambda f: f["certificate"].update(objective=0.9 * f["certificate"]["objective"]),
    "lower bound": lambda f: f["certificate"].update(lower_bound=f["certificate"]["objective"] + 1),
    "errors": lambda f: f["certificate"].update(errors=f["certificate"]["errors"] + 1),
    "convex": lambda f: f["certificate"].update(convex=not f["certificate"]["convex"]),
    "words": lambda f: f["certificate"].update(words="the best model of all"),
    "a coefficient": lambda f: _array(f, "dual_coef").__setitem__(0, 0.123),
    "the offset": lambda f: _array(f, "intercept").__setitem__(0, 7.0),
    "a vector": lambda f: _array(f, "support_vectors").__setitem__(0, 0.123),
    "a row": lambda f: _array(f, "support").__setitem__(0, _array(f, "support")[1]),
    "counts": lambda f: _array(f, "n_support").__setitem__(
        slice(None), [1, sum(_array(f, "n_support")) - 1]
    ),
    "C": lambda f: f["params"].update(C=5.0),
    "kernel": lambda f: f.update(kernel={"type": "RBF", "sigma": 9.0, "gamma": "scale"}),
    "no street": lambda f: f["status"].update(name="INSEPARABLE"),
    "a street": lambda f: f["status"].update(name="CERTIFIED"),
    "no proof": lambda f: f.update(overlap=None),
    "another kernel's proof": lambda f: f["overlap"].update(kernel={"type": "Linear"}),
}


@pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("kind", ["soft", "none", "sigmoid"])
def test_forged_files_are_found_out(name, kind, tmp_path, capsys):
    from linsep.cli.main import main

    models = {
        "soft": linsep.KernelSVM(C=3.0, gamma=0.7),
        "none": linsep.KernelSVM(C=np.inf, kernel=Polynomial(1)),
        "sigmoid": linsep.KernelSVM(kernel="sigmoid"),
    }
    X, y = overlapping(30, 2)
    X = X.round(3)
    rows = [f"{a!r},{b!r},{'np'[k]}" for (a, b), k in zip(X.tolist(), y)]
    data, path = tmp_path / "data.csv", tmp_path / "model.json"
    data.write_text("\n".join(["a,b,label", *rows]) + "\n")
    linsep.save(models[kind].fit(X, np.array(["n", "p"])[y]), path)
    assert main(["verify", str(path), str(data)]) == 0
    fields = json.loads(path.read_text())
    before = json.dumps(fields)
    try:
        FORGED[name](fields)
    except AttributeError:
        pytest.skip("there is no such claim in this file")
    if json.dumps(fields) == before:
        pytest.skip("that is what the file says already")
    path.write_text(json.dumps(fields))
    assert main(["verify", str(path), str(data)]) == 1


# -- where rounding keeps a proof from tol -------------------------------------------------------


def both_ways(monkeypatch, C, tol):
    """Without and with runs after the first; as of a table too large for the last digits."""
    monkeypatch.setattr(kernel_svm, "FINE_ROWS", 0)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(640, 3))
    y = X[:, 0] + 2.0 * rng.normal(size=640) > 0
    more = linsep.KernelSVM(C, gamma=0.5, tol=tol).fit(X, y)
    monkeypatch.setattr(kernel_svm, "_LEGS", 0)
    with pytest.warns(GapWarning):
        first = linsep.KernelSVM(C, gamma=0.5, tol=tol).fit(X, y)
    assert first.status_ is Status.STALLED and first.certificate_.relative_gap > tol
    assert more.status_ is Status.CERTIFIED and more.certificate_.relative_gap <= tol
    assert more.n_iter_ > first.n_iter_ and more.n_updates_ > first.n_updates_


def test_the_solver_goes_on_where_a_proof_falls_short(monkeypatch):
    monkeypatch.setattr(proofs, "_share", lambda values, alpha: 7e-10)  # as of n C ten times larger
    both_ways(monkeypatch, 100.0, 1e-4)


def test_float32_is_left_where_it_is_too_rough(monkeypatch):
    monkeypatch.setattr(kernel_svm, "DOUBLE_ROWS", 0)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(640, 3))
    y = X[:, 0] + 2.0 * rng.normal(size=640) > 0
    rough, fine = (linsep.KernelSVM(10.0, gamma=0.5, tol=tol).fit(X, y) for tol in (1e-2, 1e-7))
    assert [m.outcome_.state.parts[0].double for m in (rough, fine)] == [0, 2]  # float64 at the end
    assert fine.status_ is Status.CERTIFIED and fine.certificate_.relative_gap <= 1e-7
    assert fine.certificate_.objective <= rough.certificate_.objective


def test_the_objective_of_a_kernel_without_a_feature_space_may_have_a_negative_square():
    K = np.array([[1.0, 3.0, 0.0], [3.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    y = np.array([1, -1, 1])
    with pytest.warns(NotPositiveWarning):
        model = linsep.KernelSVM(2.0, kernel="precomputed").fit(K, y)
    coef = np.zeros(3)
    coef[model.support_] = model.dual_coef_[0]
    losses = np.maximum(0, 1 - y * (K @ coef + model.intercept_))
    assert coef @ K @ coef < 0
    wanted = coef @ K @ coef / 2 + 2 * losses.sum()
    assert model.certificate_.objective == pytest.approx(wanted, rel=1e-12)


# -- raw tables: columns of any scale, as they come ------------------------------------------------


def raw_table(n, classes=2, seed=0):
    """A credit table: yes and no, ages, and incomes up to 100,001 of which most are small."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([
        rng.integers(0, 2, size=(n, 4)), rng.normal(30.0, 12.0, size=(n, 3)),
        rng.gamma(0.5, 3.0, size=(n, 2)), rng.integers(0, 2000, size=n),
        np.floor(rng.pareto(0.8, size=n) * 50.0).clip(0, 100_001),
    ])  # fmt: skip
    scores = X[:, :4] @ rng.normal(size=(4, classes)) + rng.normal(size=(n, classes))
    return X, (scores + np.log1p(X[:, [-1]]) * rng.normal(size=classes) / 3).argmax(axis=1)


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize(("n", "classes"), [(300, 2), (2500, 2), (400, 3)])
def test_a_raw_table_with_the_linear_kernel_is_certified(n, classes, C):
    """Its products of rows have 16 digits of 1e10 in them: the machine is found as a plane."""
    X, y = raw_table(n, classes)
    model = linsep.KernelSVM(C, kernel="linear").fit(X, y)
    assert model.status_ is Status.CERTIFIED
    plane = linsep.LinearSVM(C, tol=1e-8)
    if classes == 2:
        best = plane.fit(X, y).certificate_
        assert best.lower_bound <= model.certificate_.objective <= best.objective * (1 + 2e-5)
        assert model.certificate_.errors == pytest.approx(best.errors, abs=2)
    else:
        best = linsep.OneVsOne(plane).fit(X, y)
        total = sum(gap.objective for gap in best.certificates_)
        assert model.certificate_.objective == pytest.approx(total, rel=2e-5)


def test_planes_are_found_without_an_offset_and_with_weights():
    X, y = raw_table(300)
    weight = np.random.default_rng(5).choice([0.0, 0.5, 4.0], len(y))
    model = linsep.KernelSVM(100.0, kernel="linear", fit_intercept=False).fit(X, y, weight)
    plane = linsep.LinearSVM(100.0, fit_intercept=False, tol=1e-8).fit(X, y, weight)
    assert model.status_ is Status.CERTIFIED
    objective = model.certificate_.objective
    assert plane.certificate_.lower_bound <= objective <= 1.00002 * plane.certificate_.objective


def test_rows_in_short_floats_and_sparse_ones_are_planes_too():
    X, y = raw_table(300, seed=3)
    X = np.round(X, 2).astype(np.float32)
    dense = linsep.KernelSVM(100.0, kernel="linear").fit(X, y)
    thin = linsep.KernelSVM(100.0, kernel="linear").fit(scipy.sparse.csr_array(X), y)
    assert dense.status_ is thin.status_ is Status.CERTIFIED
    one, other = dense.certificate_.objective, thin.certificate_.objective
    assert one == pytest.approx(other, rel=2e-5)
