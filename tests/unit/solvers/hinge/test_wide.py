"""Wide tables of few rows: coordinate descent, then interior points."""

from __future__ import annotations

import numpy as np
import pytest

from linsep import LinearSVM
from linsep.core import drive
from linsep.core.problem import Problem, against_rest
from linsep.core.protocol import Status
from linsep.solvers.hinge.interior import InteriorHinge, table_of
from linsep.solvers.hinge.wide import WideHinge


def table(n, d, decades, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)
    return X * 10.0 ** rng.uniform(-decades, decades, size=d), y


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("offset", [False, True])
def test_columns_of_any_size_are_certified(loss, C, offset):
    X, y = table(90, 1300, 8)
    model = LinearSVM(C=C, loss=loss, fit_intercept=offset).fit(X, y)
    assert model.solver_used_.startswith("dual coordinate descent, then interior points")
    assert model.status_ is Status.CERTIFIED
    assert model.certificate_.relative_gap <= 1e-3
    assert model.n_iter_ < 300


def test_sweeps_alone_where_they_are_quick():
    X, y = table(100, 1200, 0)
    out = drive(Problem(X, y), WideHinge())
    assert out.status is Status.CERTIFIED
    assert not out.state.inside


def test_same_optimum_as_with_all_columns():
    X, y = table(60, 40, 1)
    wide = np.concatenate([X, np.zeros((60, 2000))], axis=1)
    one = LinearSVM(C=3.0, tol=1e-8, solver="interior-point").fit(X, y)
    other = drive(Problem(wide, y), WideHinge(3.0, tol=1e-8, sweeps=2))
    np.testing.assert_allclose(other.witness.a[:40], one.coef_[0], rtol=1e-5, atol=1e-7)
    assert not other.witness.a[40:-1].any()


def test_proximal_steps_follow_where_rounding_stops(monkeypatch):
    def stopped(self, problem, state):
        state.status = Status.STALLED

    monkeypatch.setattr(InteriorHinge, "_step", stopped)
    X, y = table(50, 80, 0)
    out = drive(Problem(X, y), WideHinge(10.0, tol=1e-5, sweeps=1))
    assert out.status is Status.CERTIFIED
    assert out.state.second.status is Status.STALLED
    assert out.state.first.newton


def test_columns_are_reduced_once_for_all_classes():
    X, _ = table(30, 90, 2)
    whole, solver = Problem(X, np.arange(30) % 3), InteriorHinge()
    solver.prepare(whole)
    parts = [against_rest(whole, k) for k in range(3)]
    for part in parts:
        solver.init(part)
    assert all(table_of(part).basis is table_of(parts[0]).basis for part in parts)
    assert solver.witness(parts[0], solver.init(parts[0])).a.shape == (91,)


def test_three_classes():
    X, _ = table(60, 2000, 6)
    y = np.arange(60) % 3
    model = LinearSVM().fit(X, y)
    assert "interior points" in model.solver_used_
    assert model.certificate_.relative_gap <= 1e-3
    again = LinearSVM(n_jobs=1).fit(X, y)
    assert np.array_equal(model.coef_, again.coef_)
