"""LinearSVM: lecture numbers, optimality, hostile data, limits."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import linsep
from linsep import LinearSVM, Status
from linsep.core import State, Witness
from linsep.errors import DataError, GapWarning, NotSeparatedWarning, SettingError
from linsep.losses.rivals import nearest_shares, rounded_loss

SOLVERS = ["newton", "dual-cd", "proximal-newton", "interior-point"]


def blobs(n=80, d=3, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    return noise * rng.normal(size=(n, d)) + 0.7 * y[:, None], y


# -- the lecture -----------------------------------------------------------------------------


@pytest.mark.parametrize("C", [np.inf, 1000.0])
def test_hard_margin_of_the_lecture_points(C):
    table = linsep.data.load("mse-1")
    model = LinearSVM(C=C).fit(table.X, table.y)
    assert model.status_ is Status.CERTIFIED
    np.testing.assert_allclose(model.coef_, [[2, -1]], rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, [-2], rtol=1e-9)
    alpha = np.zeros(4)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    np.testing.assert_allclose(alpha, [2, 0.5, 2.5, 0], rtol=1e-8)
    assert model.margin_width_ == pytest.approx(2 / np.sqrt(5), rel=1e-9)
    assert model.certificate_.margin == pytest.approx(1 / np.sqrt(5), rel=1e-9)
    np.testing.assert_allclose(model.slacks(table.X, table.y), 0, atol=1e-9)
    assert set(model.positions(table.X, table.y)) == {"ideal"}


def test_xor_has_no_hard_margin_and_the_rows_prove_it():
    table = linsep.data.load("xor")
    with pytest.warns(NotSeparatedWarning, match="hard margin does not exist"):
        model = LinearSVM(C=np.inf).fit(table.X, table.y)
    assert model.status_ is Status.INSEPARABLE
    assert model.proof_.check(table.X, table.y)
    assert sorted(model.proof_.rows) == [0, 1, 2, 3]


def test_violators_are_support_vectors_and_slacks_count_errors():
    table = linsep.data.load("five-points")
    model = LinearSVM().fit(table.X, table.y)
    slack = model.slacks(table.X, table.y)
    errors = (model.decision_function(table.X) * table.y <= 0).sum()
    assert slack.sum() >= errors == model.certificate_.errors
    assert set(np.flatnonzero(slack > 1e-9)) <= set(model.support_)
    assert model.kkt(table.X, table.y).largest < 1e-6
    assert "position" in str(model.kkt(table.X, table.y))
    assert 0 <= model.xi_alpha(table.X, table.y) <= 1
    assert model.leave_one_out_bound_ == len(model.support_) / 5


def test_hard_margin_without_an_intercept_and_on_wide_data():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 60)), rng.integers(2, size=20)
    for offset in (True, False):
        model = LinearSVM(C=np.inf, fit_intercept=offset).fit(X, y)
        assert model.status_ is Status.CERTIFIED and model.certificate_.errors == 0
        assert model.certificate_.relative_gap < 1e-3
        assert (np.abs(model.decision_function(X)).min()) >= 1 - 1e-6


def test_leave_one_out_bound_is_kept():
    X, y = blobs(n=30)
    model = LinearSVM(C=1.0).fit(X, y)
    wrong = 0
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        wrong += LinearSVM(C=1.0).fit(X[rest], y[rest]).predict(X[i : i + 1])[0] != y[i]
    assert wrong / len(y) <= model.leave_one_out_bound_


# -- optimality ------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("offset", [True, False])
def test_all_solvers_find_the_same_machine(solver, loss, offset):
    X, y = blobs()
    model = LinearSVM(C=0.5, solver=solver, loss=loss, fit_intercept=offset).fit(X, y)
    other = LinearSVM(C=0.5, loss=loss, fit_intercept=offset).fit(X, y)
    assert model.status_ is Status.CERTIFIED
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6, atol=1e-9)
    assert "as asked" in model.solver_used_


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("multi_class", ["one-vs-rest", "crammer-singer"])
def test_three_classes(loss, multi_class):
    X, y = load_iris(return_X_y=True)
    model = LinearSVM(C=0.1, loss=loss, multi_class=multi_class)
    if multi_class == "crammer-singer" and loss != "hinge":
        with pytest.raises(SettingError, match="crammer-singer"):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert model.status_ is Status.CERTIFIED and model.certificate_.relative_gap <= 1e-3
    assert model.coef_.shape == (3, 4) and model.dual_coef_.shape[0] == 3
    assert model.certificate_.errors == (model.predict(X) != y).sum()
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_integer_weights_equal_repeated_rows(solver, loss):
    X, y = blobs(n=40)
    weight = np.arange(40) % 4
    one = LinearSVM(solver=solver, loss=loss).fit(X, y, sample_weight=weight)
    two = LinearSVM(solver=solver, loss=loss).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6)
    np.testing.assert_allclose(one.intercept_, two.intercept_, rtol=1e-5, atol=1e-7)
    assert not np.isin(one.support_, np.flatnonzero(weight == 0)).any()


def test_class_weights_are_sample_weights():
    X, y = blobs()
    one = LinearSVM(class_weight={-1: 3, 1: 1}).fit(X, y)
    two = LinearSVM().fit(X, y, sample_weight=np.where(y < 0, 3, 1))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-8)


def test_unscaled_columns_converge_with_the_defaults():
    X, y = load_breast_cancer(return_X_y=True)
    for C in (1e-4, 1.0, 1e4):
        model = LinearSVM(C=C).fit(X, y)
        assert model.status_ is Status.CERTIFIED and model.certificate_.relative_gap <= 1e-3


@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0, 1e2, 1e4])
def test_separable_data_are_no_cliff(C):
    X, y = load_digits(return_X_y=True)
    model = LinearSVM(C=C).fit(X / 16, y == 0)
    assert model.status_ is Status.CERTIFIED
    assert model.n_iter_ < 500


# -- path, warm start ------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "dual-cd"])
def test_a_path_has_a_gap_for_each_C_and_grows_with_it(solver):
    X, y = blobs()
    path = linsep.svm_path(X, y, [0.01, 0.1, 1.0], solver=solver)
    assert (path.gaps <= 1e-3).all() and len(path) == 3
    values = [part.objective for part in path.certificates]
    assert values == sorted(values)
    assert "CERTIFIED" in str(path)


def test_warm_start_takes_fewer_steps():
    X, y = load_digits(return_X_y=True)
    model = LinearSVM(C=0.01, solver="dual-cd", warm_start=True).fit(X / 16, y == 3)
    cold = model.n_iter_
    assert model.set_params(C=0.011).fit(X / 16, y == 3).n_iter_ < cold


# -- hostile data ----------------------------------------------------------------------------


def hostile(kind, rng):
    X, y = blobs(n=16, seed=int(rng.integers(1000)))
    if kind == "duplicates":
        X, y = np.vstack([X, X, X]), np.concatenate([y, y, y])
    elif kind == "contradicting":
        X, y = np.vstack([X, X]), np.concatenate([y, -y])
    elif kind == "zero rows":
        X[::3] = 0.0
    elif kind == "all zero":
        X[:] = 0.0
    elif kind == "constant column":
        X[:, 1] = 7.0
    elif kind == "huge column":
        X[:, 0] *= 1e7
    elif kind == "tiny column":
        X[:, 0] *= 1e-300
    elif kind == "wide":
        X = rng.normal(size=(16, 40))
    elif kind == "one against many":
        y[:] = 1
        y[0] = -1
    return X, y


KINDS = ["plain", "duplicates", "contradicting", "zero rows", "all zero", "constant column",
         "huge column", "tiny column", "wide", "one against many"]  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 1000),
    C=st.sampled_from([1e-4, 1.0, 1e4]),
    loss=st.sampled_from(["hinge", "squared_hinge"]),
    offset=st.booleans(),
    layout=st.sampled_from(["C", "F", "f4", "csr", "csr64"]),
    weighted=st.booleans(),
)
def test_hostile_data_end_with_a_true_gap(kind, seed, C, loss, offset, layout, weighted):
    rng = np.random.default_rng(seed)
    X, y = hostile(kind, rng)
    form = {
        "C": lambda: X,
        "F": lambda: np.asfortranarray(X),
        "f4": lambda: X.astype(np.float32),
        "csr": lambda: scipy.sparse.csr_array(X),
        "csr64": lambda: long_indices(scipy.sparse.csr_array(X)),
    }[layout]()
    weight = rng.integers(1, 4, size=len(y)) if weighted else None
    model = LinearSVM(C=C, loss=loss, fit_intercept=offset, time_limit=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        model.fit(form, y, sample_weight=weight)
    gap = model.certificate_
    assert np.isfinite(model.coef_).all()
    assert gap.lower_bound <= gap.objective
    assert gap.relative_gap <= 1e-3, (model.status_, model.n_iter_)


def long_indices(X):
    return scipy.sparse.csr_array(
        (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
    )


def test_numbers_that_overflow_are_refused_with_their_place():
    X, y = blobs(n=10)
    X[3, 1] = 1e300
    with pytest.raises(DataError, match="column 1"):
        LinearSVM().fit(X, y)


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ({"C": 0}, "'C'"),
        ({"loss": "log"}, "'loss'"),
        ({"tol": 0}, "'tol'"),
        ({"solver": "x"}, "'solver'"),
    ],
)
def test_wrong_settings_are_named(setting, word):
    with pytest.raises(SettingError, match=word):
        LinearSVM(**setting).fit(*blobs())


# -- limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_limit_keeps_the_best_so_far_with_its_proof(solver):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(GapWarning, match="STEP_LIMIT"):
        model = LinearSVM(C=100.0, solver=solver, max_iter=3).fit(X, y)
    gap = model.certificate_
    assert model.status_ is Status.STEP_LIMIT
    assert gap.relative_gap > 1e-3 and 0 <= gap.lower_bound <= gap.objective < np.inf


def test_time_limit_zero_still_gives_a_model():
    X, y = blobs()
    with pytest.warns(GapWarning, match="TIME_LIMIT"):
        model = LinearSVM(time_limit=0).fit(X, y)
    assert model.predict(X).shape == y.shape


def test_summary_and_saving_speak():
    X, y = blobs()
    model = LinearSVM().fit(X, y)
    text = model.summary()
    assert "no model has less than" in text and "vectors" in text and "street" in text


def test_float32_rows_are_not_copied_to_float64():
    import tracemalloc

    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 60)).astype(np.float32)
    y = X[:, 0] + rng.normal(size=100_000) > 0
    LinearSVM(solver="newton").fit(X, y)  # compiles, which takes memory too
    tracemalloc.start()
    LinearSVM(solver="newton").fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * X.nbytes  # a copy alone is 2, and vectors of n numbers are about 0.7


def test_a_run_stopped_at_once_is_no_worse_than_weights_of_zero():
    X = np.random.default_rng(0).normal(size=(60, 5)) * 1e3
    y = np.random.default_rng(1).integers(0, 2, 60)
    for solver in ("dual-cd", "proximal-newton", "newton"):
        model = linsep.LinearSVM(C=1e3, solver=solver, max_iter=1, tol=1e-12)
        with pytest.warns(linsep.errors.GapWarning):
            model.fit(X, y)
        assert model.certificate_.objective <= 1e3 * len(y) * (1 + 1e-9), solver


def test_newton_on_very_wide_data_is_refused_with_the_way_out():
    X = scipy.sparse.random_array((30, 40_000), density=0.01, format="csr", random_state=0)
    with pytest.raises(linsep.errors.SettingError, match=r"40000 columns.*proximal-newton"):
        linsep.LinearSVM(solver="newton").fit(X, np.arange(30) % 2)


def test_hard_margin_of_three_classes_is_one_of_each_against_the_rest():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = np.array([[0, 5.0], [5, -3], [-5, -3]])[y] + 0.5 * rng.normal(size=(60, 2))
    model = linsep.LinearSVM(C=np.inf).fit(X, y)
    assert model.status_.name == "CERTIFIED" and model.certificate_.errors == 0
    for k in range(3):
        alone = linsep.LinearSVM(C=np.inf).fit(X, y == k)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-6)
        np.testing.assert_allclose(model.intercept_[k], alone.intercept_[0], rtol=1e-6)


def test_hard_margin_of_three_classes_names_the_one_that_cannot_be_cut_off():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(linsep.errors.NotSeparatedWarning, match="Class 1 against the rest"):
        model = linsep.LinearSVM(C=np.inf).fit(X, y)
    assert model.status_.name == "INSEPARABLE"
    assert model.proof_.check(X, np.where(y == 1, "1", "rest")[:])


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("offset", [True, False])
def test_crammer_singer_ends_on_unscaled_tables_for_every_C(load, C, offset):
    X, y = load(return_X_y=True)
    machine = linsep.LinearSVM(C=C, multi_class="crammer-singer", fit_intercept=offset, tol=1e-5)
    model = machine.fit(X, y)
    assert model.status_.name == "CERTIFIED"
    assert model.certificate_.relative_gap <= 1e-5


def test_crammer_singer_by_two_solvers_agrees_to_the_gaps():
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    one = linsep.LinearSVM(C=0.3, multi_class="crammer-singer").fit(X, y)
    other = linsep.LinearSVM(C=0.3, multi_class="crammer-singer", solver="dual-cd", tol=1e-5)
    other.fit(X, y)
    gap = one.certificate_.gap + other.certificate_.gap
    assert abs(one.certificate_.objective - other.certificate_.objective) <= gap
    assert ((one.coef_ - other.coef_) ** 2).sum() / 2 <= 2 * gap
    assert one.solver_used_.startswith("Newton for one loss")


def test_rounded_loss_of_a_machine_has_the_shares_as_slopes():
    rng = np.random.default_rng(0)
    g, center = rng.normal(size=(20, 4)), rng.dirichlet(np.ones(4), size=20)
    h = 0.3
    shares = nearest_shares(center + g / (2 * h))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares >= 0).all()
    for k in range(4):
        up, down = g.copy(), g.copy()
        up[:, k] += 1e-6
        down[:, k] -= 1e-6
        values = [
            rounded_loss(x, nearest_shares(center + x / (2 * h)), center, h) for x in (up, down)
        ]
        np.testing.assert_allclose((values[0] - values[1]) / 2e-6, shares[:, k], atol=1e-6)
    # any other shares give less
    for _ in range(50):
        other = rng.dirichlet(np.ones(4), size=20)
        assert (
            rounded_loss(g, other, center, h) <= rounded_loss(g, shares, center, h) + 1e-12
        ).all()


def test_a_dense_table_of_zeros_is_worked_on_like_a_sparse_one():
    X = scipy.sparse.random(4000, 300, density=0.03, random_state=0, format="csr")
    y = np.asarray(X @ np.random.default_rng(0).normal(size=300)).ravel() > 0
    sparse, dense = LinearSVM().fit(X, y), LinearSVM().fit(X.toarray(), y)
    assert np.array_equal(sparse.coef_, dense.coef_)
    bounds = sparse.certificate_.lower_bound, dense.certificate_.lower_bound
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-9)  # proved on the table as it was given
    table = X.toarray()
    table[17, 5] = np.nan
    with pytest.raises(DataError, match="NaN at row 17, column 5"):
        LinearSVM().fit(table, y)


@pytest.mark.parametrize("kind", [linsep.LinearSVM, linsep.KernelSVM, linsep.AdditiveSVM])
def test_beta_is_c_in_the_symbol_of_the_lectures(kind):
    X, y = np.abs(blobs()[0]), blobs()[1]
    by_name, by_symbol = kind(C=2.5).fit(X, y), kind(beta=2.5).fit(X, y)
    assert np.array_equal(by_name.dual_coef_, by_symbol.dual_coef_)
    assert by_symbol.certificate_ == by_name.certificate_
    assert linsep.certify(by_symbol, X, y).objective == by_symbol.certificate_.objective
    with pytest.raises(linsep.errors.SettingError, match="mean the same"):
        kind(C=3.0, beta=2.0).fit(X, y)
    with pytest.raises(linsep.errors.SettingError, match="beta"):
        kind(beta=-1.0).fit(X, y)


class Copycat:
    """A solver of the caller's: hands over what another fit has found, changed by a factor."""

    unit = "call"

    def __init__(self, model, factor=1.0):
        self.model, self.factor = model, factor

    def init(self, problem, *, start=None):
        return Asked(status=Status.RUNNING)

    def advance(self, problem, state, steps, log=None):
        state.steps, state.status = 1, Status.CERTIFIED
        return 1

    def status(self, state):
        return state.status

    def witness(self, problem, state):
        a = self.factor * problem.join(self.model.coef_, self.model.intercept_)
        return Witness(a, self.model.support_, np.abs(self.model.dual_coef_[0]), "dual")


@dataclass(kw_only=True)
class Asked(State):
    passes: float = 0.0


def test_a_solver_of_the_caller_is_judged():
    X, y = blobs()
    known = LinearSVM(tol=1e-8).fit(X, y)
    model = LinearSVM(solver=Copycat(known)).fit(X, y)
    assert model.status_ is Status.CERTIFIED and model.certificate_.relative_gap <= 1e-8
    assert np.array_equal(model.coef_, known.coef_) and "Copycat" in model.summary()
    with pytest.warns(linsep.errors.GapWarning):
        wrong = LinearSVM(solver=Copycat(known, 3.0)).fit(X, y)
    assert wrong.status_ is not Status.CERTIFIED and wrong.certificate_.relative_gap > 0.1


def test_what_a_solver_of_the_caller_does_not_get():
    X, y = blobs()
    known = LinearSVM().fit(X, y)
    with pytest.raises(linsep.errors.SettingError, match="finite C"):
        LinearSVM(C=np.inf, solver=Copycat(known)).fit(X, y)
    with pytest.raises(linsep.errors.SettingError, match="OneVsRest"):
        LinearSVM(solver=Copycat(known)).fit(X, np.arange(len(X)) % 3)
    with pytest.raises(linsep.errors.SettingError, match="init, advance, status, witness"):
        LinearSVM(solver=object()).fit(X, y)


@pytest.mark.parametrize("model", [linsep.LinearSVM(), linsep.KernelSVM(), linsep.AdditiveSVM()])
def test_a_gap_that_is_asked_for_ends_a_small_fit(model):
    X, y = load_iris(return_X_y=True)
    fine = clone(model).fit(X, y)
    rough = clone(model).set_params(tol=1e-2).fit(X, y)
    assert rough.n_iter_ < fine.n_iter_
    assert fine.certificate_.relative_gap < 1e-9 < rough.certificate_.relative_gap <= 1e-2


@pytest.mark.parametrize("C", [1e6, 1e10, 1e14, 1e300])
def test_costs_at_which_no_row_is_inside_end_at_the_hard_margin(C):
    """Losses of rounding times such costs once ended a fit with a gap of 2e-6 at C = 1e6."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(3000, 20))
    y = X @ draw.normal(size=20) > 0
    model, hard = linsep.LinearSVM(C=C).fit(X, y), linsep.LinearSVM(C=np.inf).fit(X, y)
    assert model.status_.name == "CERTIFIED" and model.certificate_.errors == 0
    np.testing.assert_allclose(model.certificate_.objective, hard.certificate_.objective, rtol=1e-6)


def test_large_costs_that_a_run_is_a_match_for_are_left_to_it(monkeypatch):
    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr(linsep.models.linear_svm, "hard_machine", lambda *_: 1 / 0)
    model = linsep.LinearSVM(C=1e3).fit(X, y)
    assert model.status_.name == "CERTIFIED" and model.certificate_.relative_gap < 1e-7


def test_weights_that_are_whole_numbers_are_found_as_such():
    """No row lies on the edge of the street: w is the sum of rows inside."""
    X, y = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0], [3.0, 3.0]]), [-1, 1, 1, 1]
    model = LinearSVM().fit(X, y)
    assert model.coef_.tolist() == [[1.0, 0.0]]
    assert model.intercept_.tolist() == [-0.5]
    assert model.dual_coef_.tolist() == [[-1.0, 1.0]]
