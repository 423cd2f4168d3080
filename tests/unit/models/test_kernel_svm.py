"""KernelSVM and KernelPerceptron: proofs, hostile data, files, words."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import linsep
from linsep.core.problem import Problem
from linsep.errors import DataError, LinsepError, LinsepWarning, ModelError, SettingError
from linsep.kernels import RBF, Linear, Polynomial, Sigmoid
from linsep.kernels.blocks import KernelValues
from linsep.proofs.kernel import kernel_gap


def data(n=60, d=3, classes=2, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, d)) + shift * y[:, None], y


# -- the proof ---------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 25), st.integers(0, 2**31), st.sampled_from([0.01, 1.0, 1e3]), st.booleans())
def test_no_dual_point_bounds_more_than_the_best_value(n, seed, C, free):
    """Any numbers as alpha and b: the bounds enclose the optimum of a tight fit."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), np.where(np.arange(n) < max(1, n // 3), -1.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinsepWarning)
        best = linsep.KernelSVM(C=C, gamma=0.5, fit_intercept=free).fit(X, y).certificate_
    values = KernelValues(Problem(X, y), RBF(gamma=0.5))
    alpha, b = rng.normal(size=n) * C, float(rng.normal()) if free else 0.0
    gap = kernel_gap(values, np.arange(n), y, np.full(n, C), alpha, b, free=free)
    assert gap.lower_bound <= best.objective
    assert best.lower_bound <= gap.objective
    assert gap.lower_bound <= gap.objective


def test_a_forged_model_is_found_out():
    X, y = data()
    model = linsep.KernelSVM().fit(X, y)
    good = linsep.certify(model, X, y)
    assert good.objective == pytest.approx(model.certificate_.objective, rel=1e-12)
    model.dual_coef_ = model.dual_coef_ * 0.5
    assert linsep.certify(model, X, y).relative_gap > 0.01
    with pytest.raises(ModelError, match="not rows of X"):
        linsep.certify(model, X + 1, y)


def test_a_kernel_that_is_not_positive_claims_no_bound():
    X, y = data(shift=0.3)
    with pytest.warns(linsep.errors.NotPositiveWarning):
        model = linsep.KernelSVM(kernel=Sigmoid(k=1.0, c=-2.0)).fit(X, y)
    assert model.status_.name == "CONVERGED"
    assert model.certificate_.lower_bound == -np.inf
    assert model.certificate_.violation <= model.tol
    assert "stationary point" in str(model.certificate_)
    assert "no lower bound" in model.summary()
    with (
        pytest.raises(SettingError, match="positive semidefinite"),
        pytest.warns(linsep.errors.NotPositiveWarning),
    ):
        linsep.KernelSVM(C=np.inf, kernel=Sigmoid(k=1.0, c=-2.0)).fit(X, y)


def test_a_matrix_that_is_no_gram_matrix():
    X, y = data(n=20)
    K = RBF(gamma=1.0).gram(X)
    K[3, 5] += 1
    with pytest.raises(DataError, match="not symmetric"):
        linsep.KernelSVM(kernel="precomputed").fit(K, y)
    with pytest.raises(DataError, match="square"):
        linsep.KernelSVM(kernel="precomputed").fit(K[:, :5], y)
    A = np.random.default_rng(0).normal(size=(20, 20))
    with pytest.warns(linsep.errors.NotPositiveWarning, match="on these rows"):
        model = linsep.KernelSVM(kernel="precomputed").fit(A + A.T, y)
    assert not model.certificate_.convex


# -- hard margin -------------------------------------------------------------------------------


def test_hard_margin_of_random_rows_is_proved():
    X, y = data(shift=0.0)
    model = linsep.KernelSVM(C=np.inf, gamma=2.0).fit(X, y)
    assert model.status_.name == "CERTIFIED"
    assert model.certificate_.errors == 0
    value = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert value.min() >= 1 - 1e-3


def test_equal_rows_of_two_classes_have_no_hard_margin():
    X, y = data()
    X[7] = X[10] = X[13]
    with pytest.warns(linsep.errors.NotSeparatedWarning, match="rows 7 and 10 are equal"):
        model = linsep.KernelSVM(C=np.inf).fit(X, y)
    assert model.status_.name == "INSEPARABLE"
    assert model.conflict_ == (7, 10)


# -- hostile data ------------------------------------------------------------------------------

NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-300, -1e-160, 1e150, 1e300, 3.0, -7.0])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_hostile_rows_end_with_an_answer_or_a_clear_error(data):
    n, d = data.draw(st.integers(2, 9)), data.draw(st.integers(1, 3))
    X = data.draw(hnp.arrays(np.float64, (n, d), elements=NUMBERS))
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    if len(set(y.tolist())) < 2:
        y[0], y[-1] = 0, 1
    C = data.draw(st.sampled_from([1e-8, 1.0, 1e10, np.inf]))
    kernel = data.draw(st.sampled_from(["rbf", "linear", "poly", RBF(gamma=1e-3)]))
    form = data.draw(st.sampled_from([np.asarray, scipy.sparse.csr_array]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinsepWarning)
        for model in (
            linsep.KernelSVM(C=C, kernel=kernel, time_limit=5.0),
            linsep.KernelPerceptron(kernel, max_iter=20),
        ):
            try:
                model.fit(form(X), y)
            except LinsepError:
                continue
            gap = model.certificate_
            assert gap.lower_bound <= gap.objective
            assert np.isfinite(model.decision_function(form(X))).all()
            if model.status_.name == "CERTIFIED":
                assert gap.relative_gap <= 1e-3
            assert model.outcome_.seconds < 5.0


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e8, np.inf])
def test_two_rows(C):
    model = linsep.KernelSVM(C=C, kernel="linear").fit([[0.0], [2.0]], ["a", "b"])
    alpha = min(C, 0.5)
    assert abs(model.dual_coef_) == pytest.approx(np.full((1, 2), alpha))
    assert model.certificate_.relative_gap <= 1e-4  # C times the rounding of 1 - y f(x)
    assert model.predict([[-1.0], [5.0]]).tolist() == ["a", "b"]


def test_constant_rows_give_the_larger_class():
    X, y = np.ones((9, 2)), np.array([0] * 6 + [1] * 3)
    model = linsep.KernelSVM().fit(X, y)
    assert model.status_.name == "CERTIFIED"
    assert model.predict(X).tolist() == [0] * 9
    assert model.certificate_.objective == pytest.approx(6.0)


def test_badly_scaled_rows_are_solved_by_the_interior_point_method():
    X, y = data(n=80, shift=0.5)
    model = linsep.KernelSVM(C=1.0, kernel=Polynomial(degree=2)).fit(20 * X, y)
    assert model.status_.name == "CERTIFIED"
    assert model.outcome_.state.parts[0].rescued == 1


def test_limits_keep_the_best_so_far():
    X, y = data(n=400, shift=0.3)
    with pytest.warns(linsep.errors.GapWarning, match="Raise max_iter"):
        model = linsep.KernelSVM(C=100.0, gamma=1.0, max_iter=1).fit(X, y)
    assert model.status_.name == "STEP_LIMIT"
    assert 0 < model.certificate_.lower_bound <= model.certificate_.objective
    with pytest.warns(linsep.errors.GapWarning):
        model = linsep.KernelSVM(C=100.0, gamma=1.0, time_limit=0.0).fit(X, y)
    assert model.status_.name == "TIME_LIMIT"


def test_a_class_whose_rows_have_no_weight():
    X, y = data(classes=3)
    model = linsep.KernelSVM().fit(X, y, sample_weight=(y != 2).astype(float))
    plain = linsep.KernelSVM(gamma=model.kernel_.rate).fit(X[y != 2], y[y != 2])
    assert (model.predict(X[y != 2]) == plain.predict(X[y != 2])).all()


# -- use ---------------------------------------------------------------------------------------


def test_search_reaches_the_kernel_and_clones_share_nothing():
    X, y = data()
    search = GridSearchCV(linsep.KernelSVM(kernel=RBF(gamma=1.0)), {"kernel__gamma": [0.1, 1.0]})
    search.fit(X, y)
    assert search.best_params_["kernel__gamma"] in (0.1, 1.0)
    model = linsep.KernelSVM(kernel=RBF(gamma=1.0))
    copy = clone(model).set_params(kernel__gamma=3.0)
    assert (model.kernel.gamma, copy.kernel.gamma) == (1.0, 3.0)


def test_parameters_of_a_kernel_by_name():
    X, y = data()
    assert linsep.KernelSVM(gamma=0.5).fit(X, y).kernel_ == RBF(gamma=0.5)
    assert linsep.KernelSVM(sigma=2.0).fit(X, y).kernel_.rate == 0.125
    with pytest.raises(SettingError, match="gamma"):
        linsep.KernelSVM(kernel="linear", gamma=0.5).fit(X, y)
    with pytest.raises(SettingError, match="kernel given by name"):
        linsep.KernelSVM(kernel=Linear(), gamma=0.5).fit(X, y)
    with pytest.raises(SettingError, match="kernel is 'cubic'"):
        linsep.KernelSVM(kernel="cubic").fit(X, y)


def test_a_function_as_kernel():
    X, y = data(n=30)
    mine = linsep.KernelSVM(kernel=lambda x, z: (x @ z + 1) ** 2).fit(X, y)
    ours = linsep.KernelSVM(kernel=Polynomial(degree=2)).fit(X, y)
    assert mine.decision_function(X) == pytest.approx(ours.decision_function(X), abs=1e-8)
    with pytest.raises(ModelError, match="function"):
        mine.to_model()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_files(classes, sparse, tmp_path):
    X, y = data(classes=classes)
    X = scipy.sparse.csr_array(X) if sparse else X
    for model in (
        linsep.KernelSVM(calibrate="sigmoid"),
        linsep.KernelSVM(kernel=2.0 * RBF(gamma=0.5) + Linear()),
        linsep.KernelPerceptron(max_iter=5, keep="pocket"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinsepWarning)
            model.fit(X, y)
        linsep.save(model, tmp_path / "m.json")
        again = linsep.load(tmp_path / "m.json")
        assert (again.decision_function(X) == model.decision_function(X)).all()
        assert again.certificate_ == model.certificate_
        assert again.status_ is model.status_
        assert again.summary().splitlines()[0] == model.summary().splitlines()[0]
        assert again.get_params().keys() == model.get_params().keys()
    bad = (tmp_path / "m.json").read_text().replace('"n_features": 3', '"n_features": 4')
    (tmp_path / "bad.json").write_text(bad)
    with pytest.raises(ModelError, match="support_vectors has shape"):
        linsep.load(tmp_path / "bad.json")


def test_warm_start_and_resume(tmp_path):
    from linsep.core.checkpoint import Checkpointer

    X, y = data(n=700, shift=0.4)  # more than are one working set
    model = linsep.KernelSVM(C=10.0, warm_start=True).fit(X, y)
    cold = model.n_updates_
    assert model.fit(X, y).n_updates_ < 0.2 * cold
    watch = Checkpointer(tmp_path / "c.npz", every=0.0)
    with pytest.warns(linsep.errors.GapWarning):
        linsep.KernelSVM(C=10.0, max_iter=1, callbacks=[watch]).fit(X, y)
    end = linsep.KernelSVM(C=10.0).resume(X, y, tmp_path / "c.npz")
    straight = linsep.KernelSVM(C=10.0).fit(X, y)
    assert (end.dual_coef_ == straight.dual_coef_).all()


def test_what_it_costs_is_said_before(capsys):
    from linsep.models.kernel_base import cost_words

    class Many:
        n, d = 100_000, 7

    with pytest.warns(linsep.errors.CostWarning, match="100,000 x 100,000"):
        cost_words(Many(), RBF(gamma=1.0), 1000.0, 0)
    cost_words(Many(), Linear(), 1000.0, 1)
    assert "LinearSVM" in capsys.readouterr().err


def test_the_command_line(tmp_path, capsys):
    from linsep.cli.main import main

    X, y = data(n=30)
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,label", comments="")
    out = str(tmp_path / "m.json")
    fit = ["fit", str(path), "--algorithm", "kernel-svm", "--set", "gamma=0.5", "-o", out]
    assert main([*fit, "--quiet"]) == 0
    assert main(["verify", out, str(path)]) == 0
    assert main(["predict", out, str(path)]) == 0
    assert "they agree" in capsys.readouterr().out


# -- perceptron --------------------------------------------------------------------------------


def test_with_a_linear_kernel_it_is_the_perceptron():
    table = linsep.data.load("students")
    kernel = linsep.trace(linsep.KernelPerceptron("linear"), table.X, table.y)
    plain = linsep.trace(linsep.Perceptron(), table.X, table.y)
    assert len(kernel) == len(plain)
    for a, b in zip(kernel, plain, strict=True):
        assert (a.visit, a.row, a.value, a.errors) == (b.visit, b.row, b.value, b.errors)
        assert a.coef.tolist() == b.coef.tolist()
        assert a.intercept == b.intercept


@pytest.mark.parametrize("keep", ["last", "pocket", "average"])
@pytest.mark.parametrize("order", ["cyclic", "shuffle", "random"])
def test_separable_rows_are_separated(order, keep):
    X, y = data(shift=0.0, n=40)
    model = linsep.KernelPerceptron(gamma=5.0, order=order, keep=keep).fit(X, y)
    assert model.status_.name == "SEPARATED"
    assert (model.predict(X) == y).all()
    margin = model.certificate_.margin
    assert margin > 0


def test_the_pocket_is_no_worse_than_the_last_and_the_average_is_the_mean():
    X, y = data(shift=0.3, n=60)
    errors = {}
    for keep in ("last", "pocket"):
        with pytest.warns(linsep.errors.NotSeparatedWarning):
            model = linsep.KernelPerceptron("linear", keep=keep, max_iter=5).fit(X, y)
        errors[keep] = model.certificate_.errors
    assert errors["pocket"] <= errors["last"]
    # the mean over all visits, from the definition
    sign, alpha, b, total, total_b = np.where(y == 1, 1, -1), np.zeros(60), 0.0, np.zeros(60), 0.0
    for _ in range(5):
        for i in range(60):
            if sign[i] * (X @ X[i] @ (alpha * sign) + b) <= 0:
                alpha[i] += 1
                b += sign[i]
            total += alpha
            total_b += b
    with pytest.warns(linsep.errors.NotSeparatedWarning):
        model = linsep.KernelPerceptron("linear", keep="average", max_iter=5).fit(X, y)
    mean = X @ X.T @ (total / 300 * sign) + total_b / 300
    assert model.decision_function(X) == pytest.approx(mean, rel=1e-9)


# -- very many rows ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["nystroem", "random-features"])
def test_the_approximate_route_reports_its_loss(method):
    X, _ = data(n=400, d=2)
    y = np.where((X**2).sum(axis=1) > 2, "out", "in")
    found = linsep.approximate(
        linsep.KernelSVM(gamma=0.5), X, y, method=method, n_components=80, sample=200
    )
    assert found.trained == 200
    assert found.tested == 133
    assert found.loss == pytest.approx(found.exact - found.approximate)
    assert found.agreement > 0.85
    assert (found.predict(X) == y).mean() > 0.9
    assert found.model[-1].certificate_.relative_gap <= 1e-3
    assert "agreeing on" in str(found)


def test_the_approximate_route_refuses_what_it_cannot_do():
    X, y = data()
    with pytest.raises(SettingError, match="AdditiveSVM"):
        linsep.approximate(linsep.KernelSVM(kernel="chi2"), abs(X), y, method="random-features")
    with pytest.raises(SettingError, match="method is 'magic'"):
        linsep.approximate(linsep.KernelSVM(), X, y, method="magic")
    with pytest.raises(DataError, match="10 rows"):
        linsep.approximate(linsep.KernelSVM(), X[:4], y[:4])


def test_a_proof_says_what_it_takes_for_granted():
    """Nobody can know all eigenvalues of any function of two rows; of RBF they are known."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    given = linsep.KernelSVM(kernel="precomputed").fit(X @ X.T, y)
    assert "Precomputed() + " in str(given.certificate_) and given.certificate_.proved
    known = linsep.KernelSVM(gamma=1.0).fit(X, y)
    assert "taken as" not in str(known.certificate_)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("classes", [2, 3])
def test_the_nearest_row_of_a_hard_margin_has_the_value_one(classes, seed):
    """The dual variables are those of the optimum, and not a multiple of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2))
    y = np.arange(12) % classes
    model = linsep.KernelSVM(C=np.inf, kernel="rbf", gamma=1.0).fit(X, y)
    if classes == 2:
        values = np.where(y == 1, 1, -1) * model.decision_function(X)
        assert values.min() == pytest.approx(1.0, abs=1e-6)
        K = linsep.kernels.RBF(gamma=1.0).gram(X)
        a = np.zeros(12)
        a[model.support_] = model.dual_coef_.ravel()
        assert a @ K @ a / 2 == pytest.approx(model.certificate_.objective, rel=1e-6)
    assert model.status_ is linsep.Status.CERTIFIED


def test_exclusive_or_in_01_coordinates_has_its_exact_multipliers():
    X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    kernel = linsep.kernels.Polynomial(2)
    model = linsep.KernelSVM(C=np.inf, kernel=kernel, tol=1e-10).fit(X, y)
    a = np.zeros(4)
    a[model.support_] = model.dual_coef_.ravel()
    np.testing.assert_allclose(a, [-10 / 3, -2, 8 / 3, 8 / 3], atol=1e-5)


def test_classes_are_named_as_people_write_them():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    for model in (linsep.KernelSVM(), linsep.LinearSVM()):
        with pytest.raises(ModelError, match=r"classes \[0, 1\] but y has \[1, 2\]\."):
            linsep.certify(model.fit(X, y), X, y + 1)
