"""The interior point method for small tables."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import linsep
from linsep import LinearSVM
from linsep.core import drive
from linsep.core.problem import Problem, against_rest
from linsep.core.protocol import Status
from linsep.errors import SettingError
from linsep.losses import machine_loss
from linsep.models import svm_choice
from linsep.solvers.hinge.interior import InteriorHinge


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("offset", [True, False])
def test_few_steps_for_any_cost_on_unscaled_tables(load, loss, offset):
    X, y = load(return_X_y=True)
    for C in (1e-6, 1e-3, 1.0, 1e3, 1e6):
        outcome = drive(
            Problem(X, y == 1, fit_intercept=offset), InteriorHinge(C, machine_loss(loss), 1e-7)
        )
        assert outcome.status is Status.CERTIFIED and outcome.steps <= 60, (C, outcome.steps)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    C=st.sampled_from([1e-4, 1.0, 1e4]),
    loss=st.sampled_from(["hinge", "squared_hinge"]),
    offset=st.booleans(),
    kind=st.sampled_from(["plain", "equal rows", "zero rows", "constant", "wide", "scales"]),
)
def test_the_optimum_of_another_method(seed, C, loss, offset, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 30)) if kind == "wide" else rng.normal(size=(40, 5))
    if kind == "equal rows":
        X = X[rng.integers(0, 8, len(X))]
    elif kind == "zero rows":
        X[::3] = 0.0
    elif kind == "constant":
        X[:, 1] = 2.0
    elif kind == "scales":
        X *= np.array([1e-3, 1.0, 1e3, 1e-2, 1.0])
    y, weight = np.arange(len(X)) % 2, rng.choice([0.5, 1.0, 3.0], len(X))
    given = {"C": C, "loss": loss, "fit_intercept": offset, "tol": 1e-6}
    ours, theirs = (
        LinearSVM(solver=name, **given).fit(X, y, weight) for name in ("interior-point", "newton")
    )
    assert ours.status_ is Status.CERTIFIED
    one, two = ours.certificate_, theirs.certificate_
    assert one.lower_bound <= two.objective and two.lower_bound <= one.objective


def test_more_columns_than_rows_are_as_good_as_all_their_combinations():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20, 400)), np.arange(20) % 2
    wide = LinearSVM(tol=1e-8).fit(X, y)
    assert wide.solver_used_.startswith("interior point method")
    basis, corner = np.linalg.qr(X.T)
    narrow = LinearSVM(tol=1e-8).fit(corner.T, y)
    np.testing.assert_allclose(wide.coef_, narrow.coef_ @ basis.T, atol=1e-7)


def test_copies_of_a_problem_with_other_labels_have_a_table_of_their_own():
    X, y = load_iris(return_X_y=True)
    whole = Problem(X, y)
    first, solver = against_rest(whole, 0), InteriorHinge()
    drive(first, solver)
    second = against_rest(first, 0)  # the labels of the first turned round
    a, b = (drive(problem, solver).witness.a for problem in (first, second))
    np.testing.assert_allclose(a, -b, atol=1e-6)


def test_layouts_and_types_end_alike():
    X, y = load_wine(return_X_y=True)
    X = np.round(X)
    wanted = LinearSVM().fit(X, y).coef_
    for other in (np.asfortranarray(X), scipy.sparse.csr_array(X), X.astype(np.float32)):
        np.testing.assert_allclose(LinearSVM().fit(other, y).coef_, wanted, rtol=1e-6, atol=1e-9)


def test_newton_follows_where_rounding_stops_it(monkeypatch):
    def stopped(self, problem, state):
        state.status = Status.STALLED

    monkeypatch.setattr(InteriorHinge, "_step", stopped)
    X, y = load_iris(return_X_y=True)
    model = LinearSVM().fit(X, y)
    assert model.status_ is Status.CERTIFIED
    assert "lost to rounding" in model.solver_used_
    asked = LinearSVM(solver="interior-point")
    with pytest.warns(linsep.errors.GapWarning):
        asked.fit(X, y)
    assert asked.status_ is Status.STALLED


def test_large_systems_and_other_schemes_are_refused(monkeypatch):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(SettingError, match="crammer-singer"):
        LinearSVM(solver="interior-point", multi_class="crammer-singer").fit(X, y)
    assert LinearSVM(multi_class="crammer-singer").fit(X, y).status_.ok
    monkeypatch.setattr(svm_choice, "_MOST_COLUMNS", 3)
    with pytest.raises(SettingError, match="each of the 4 columns"):
        LinearSVM(solver="interior-point").fit(X, y)
    with pytest.raises(SettingError, match="each of the 5 rows"):
        LinearSVM(solver="interior-point").fit(np.eye(5, 9), [0, 1, 0, 1, 0])
