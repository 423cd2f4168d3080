"""The laws of solvers, for softmax regression."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from linsep.core import drive
from linsep.core.checkpoint import load_checkpoint, save_checkpoint
from linsep.core.drive import Limits
from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.solvers.logistic import softmax as softmax_system
from linsep.solvers.logistic.softmax import NewtonSoftmax

SOLVERS = {
    "plain": NewtonSoftmax(),
    "tight": NewtonSoftmax(C=10.0, tol=1e-9),
    "reference": NewtonSoftmax(reference=1),
    "likelihood": NewtonSoftmax(C=np.inf, tol=1e-6),
    "by corrections": NewtonSoftmax(C=3.0, tol=1e-8, seed=2),
}


def data(n=90, d=4, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(classes, d))[y] + 1.5 * rng.normal(size=(n, d)), y


@pytest.fixture(params=list(SOLVERS))
def case(request, monkeypatch):
    if request.param == "by corrections":  # as with many columns
        monkeypatch.setattr(softmax_system, "_SMALL", 5)
    return SOLVERS[request.param], Problem(*data())


def same(one, other):
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        equal = np.array_equal(a, b, equal_nan=True) if isinstance(a, np.ndarray) else a == b
        assert equal, field.name
    return True


def test_any_way_of_cutting_a_run_gives_the_same_bits(case):
    solver, problem = case
    whole, pieces = solver.init(problem), solver.init(problem)
    solver.advance(problem, whole, 14)
    for steps in (1, 2, 3, 5, 1, 2):
        solver.advance(problem, pieces, steps)
    assert same(whole, pieces)


def test_a_saved_run_goes_on_where_it_stood(case, tmp_path):
    solver, problem = case
    state = solver.init(problem)
    solver.advance(problem, state, 4)
    save_checkpoint(tmp_path / "run.npz", problem, solver, state)
    again = load_checkpoint(tmp_path / "run.npz", problem, solver)
    assert same(state, again)
    solver.advance(problem, state, 8)
    solver.advance(problem, again, 8)
    assert same(state, again)


def test_a_copy_is_independent_and_looking_changes_nothing(case):
    solver, problem = case
    state = solver.init(problem)
    solver.advance(problem, state, 3)
    before = state.copy()
    solver.status(state)
    first, second = solver.witness(problem, state), solver.witness(problem, state)
    np.testing.assert_array_equal(first.a, second.a)
    assert same(state, before)
    solver.advance(problem, before, 3)
    assert before.steps >= state.steps


def test_an_ended_run_takes_no_further_step_and_its_answer_none_at_all(case):
    solver, problem = case
    outcome = drive(problem, solver, limits=Limits(seconds=30))
    assert outcome.status is Status.CERTIFIED
    assert solver.advance(problem, outcome.state, 10) == 0
    if np.isinf(solver.C):
        return
    W = outcome.witness.a.reshape(problem.K, -1)
    loose = dataclasses.replace(solver, tol=max(solver.tol, 1e-6))
    again = loose.init(problem, start=(W[:, :-1], W[:, -1]))
    loose.advance(problem, again, 10)
    assert loose.status(again) is Status.CERTIFIED
    assert again.n_updates <= 2


@pytest.mark.parametrize("name", ["plain", "by corrections"])
def test_threads_do_not_change_a_bit(name, monkeypatch):
    if name == "by corrections":
        monkeypatch.setattr(softmax_system, "_SMALL", 5)
    X, y = data(n=60_000, d=8)
    problem = Problem(X.astype(np.float32), y)
    one, two = (dataclasses.replace(SOLVERS["plain"], tol=1e-5, threads=k) for k in (1, 2))
    first, second = one.init(problem), two.init(problem)
    one.advance(problem, first, 14)
    two.advance(problem, second, 14)
    assert same(first, second)


def test_python_and_machine_code_agree_to_the_last_bit(monkeypatch):
    import scipy.sparse

    from linsep.core import compile as jit

    X, y = data(n=60)
    X[np.abs(X) < 1.0] = 0.0
    problem = Problem(scipy.sparse.csr_array(X.astype(np.float32)), y)
    solver = SOLVERS["plain"]
    slow = solver.init(problem)
    solver.advance(problem, slow, 6)
    monkeypatch.setattr(jit, "_LARGE", 1)
    fast = solver.init(problem)
    solver.advance(problem, fast, 6)
    assert same(slow, fast)


def test_the_data_are_not_changed(case):
    solver, problem = case
    kept = problem.matrix.copy()
    drive(problem, solver, limits=Limits(steps=12))
    np.testing.assert_array_equal(problem.matrix, kept)
