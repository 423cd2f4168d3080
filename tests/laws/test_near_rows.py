"""Newton steps that read only the rows near the corner keep every law of the solver."""

from __future__ import annotations

import numpy as np
import pytest

from linsep import LinearSVM
from linsep.core import drive
from linsep.core.checkpoint import load_checkpoint, save_checkpoint
from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.losses.hinge import HINGE
from linsep.proofs.hinge import Objective, hinge_gap
from linsep.solvers.hinge import newton as hinge_near
from linsep.solvers.hinge.newton import NewtonHinge


@pytest.fixture
def rows_are_left_out(monkeypatch):
    monkeypatch.setattr(hinge_near, "SET_ASIDE", 0)
    monkeypatch.setattr(hinge_near, "_MOST_NEAR", 0.5)


def data(seed=0, n=30_000, d=4, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(dtype)
    X[::500] *= 30.0  # long rows
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0.3, 1, -1)


def until_near(problem, solver):
    state = solver.init(problem)
    while not state.near.size:
        assert solver.advance(problem, state, 1) == 1
    return state


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_the_answer_is_proved_on_all_rows(rows_are_left_out, offset, C):
    problem = Problem(*data(), fit_intercept=offset)
    solver = NewtonHinge(C=C, tol=1e-4)
    outcome = drive(problem, solver, until_near(problem, solver))
    assert outcome.status is Status.CERTIFIED and not outcome.state.near.size
    gap = hinge_gap(problem, outcome.witness, Objective(HINGE, C, "free" if offset else "none"))
    assert gap.relative_gap <= 1.001e-4


def test_the_same_answer_as_with_all_rows_read(monkeypatch):
    X, y = data(1)
    whole = LinearSVM(solver="newton", tol=1e-6).fit(X, y)
    monkeypatch.setattr(hinge_near, "SET_ASIDE", 0)
    near = LinearSVM(solver="newton", tol=1e-6).fit(X, y)
    bound = max(whole.certificate_.lower_bound, near.certificate_.lower_bound)
    for model in (whole, near):
        assert model.certificate_.objective <= bound * (1 + 2e-6)


def test_bits_do_not_depend_on_cuts_files_or_threads(rows_are_left_out, tmp_path):
    problem = Problem(*data(2))
    solver = NewtonHinge(tol=1e-5)
    state = until_near(problem, solver)
    solver.advance(problem, state, 1)
    assert state.near.size  # stopped in the middle of the near steps
    witness = solver.witness(problem, state)
    assert np.isfinite(witness.a).all()
    save_checkpoint(tmp_path / "run.npz", problem, solver, state)
    again = load_checkpoint(tmp_path / "run.npz", problem, solver)
    ends = [drive(problem, solver, state), drive(problem, solver, again)]
    ends += [drive(problem, NewtonHinge(tol=1e-5, threads=k)) for k in (1, 2)]
    for end in ends[1:]:
        assert np.array_equal(end.witness.a, ends[0].witness.a)
        assert np.array_equal(end.witness.multipliers, ends[0].witness.multipliers)


def test_rows_that_were_left_out_wrongly_are_found(rows_are_left_out, monkeypatch):
    monkeypatch.setattr(hinge_near, "_moved", lambda some, change: 0.0)  # a poor guess
    monkeypatch.setattr(hinge_near, "_LONG_ROW", np.inf)
    problem = Problem(*data(3))
    outcome = drive(problem, NewtonHinge(C=10.0, tol=1e-4))
    assert outcome.status is Status.CERTIFIED
    assert hinge_gap(problem, outcome.witness, Objective(HINGE, 10.0, "free")).relative_gap <= 1e-4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_count_rows_twice(rows_are_left_out, dtype):
    X, y = data(4, dtype=dtype)
    weight = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    once = LinearSVM(solver="newton").fit(X, y, sample_weight=weight)
    index = np.repeat(np.arange(len(y)), weight.astype(int))
    twice = LinearSVM(solver="newton").fit(X[index], y[index])
    low = max(once.certificate_.lower_bound, twice.certificate_.lower_bound)
    assert max(once.certificate_.objective, twice.certificate_.objective) <= low * (1 + 2e-3)
