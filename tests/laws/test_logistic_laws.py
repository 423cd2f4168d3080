"""The laws of solvers, for the solvers of logistic regression."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse

from linsep.core import drive
from linsep.core.checkpoint import load_checkpoint, save_checkpoint
from linsep.core.drive import Limits
from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.solvers.logistic.conjugate import LogisticCG
from linsep.solvers.logistic.gradient import GradientAscent
from linsep.solvers.logistic.newton import NewtonLogistic

INF = float("inf")
SOLVERS = {
    "newton": NewtonLogistic(C=1.0),
    "newton, tight": NewtonLogistic(C=10.0, tol=1e-12),
    "newton, no penalty": NewtonLogistic(C=INF, tol=1e-10),
    "cg": LogisticCG(C=1.0),
    "cg, no penalty": LogisticCG(C=INF, tol=1e-10),
    "gradient": GradientAscent(C=1.0),
    "gradient, inverse": GradientAscent(C=1.0, eta=0.05, decay="inverse", tol=0.05),
    "gradient, no penalty": GradientAscent(C=INF),
}
pairs = pytest.mark.parametrize(
    ("name", "offset"), [(name, offset) for name in SOLVERS for offset in (True, False)]
)


def data(n=60, d=4, seed=0, noise=3.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(2, d))[y] + noise * rng.normal(size=(n, d)), y


def same(one, other):
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        equal = np.array_equal(a, b, equal_nan=True) if isinstance(a, np.ndarray) else a == b
        if not equal:
            return False
    return True


@pairs
def test_any_way_of_cutting_a_run_gives_the_same_bits(name, offset):
    solver, problem = SOLVERS[name], Problem(*data(), fit_intercept=offset)
    whole, pieces = solver.init(problem), solver.init(problem)
    solver.advance(problem, whole, 17)
    for steps in (1, 2, 3, 5, 1, 5):
        solver.advance(problem, pieces, steps)
    assert same(whole, pieces)


@pairs
def test_looking_changes_nothing_and_a_copy_is_independent(name, offset):
    solver, problem = SOLVERS[name], Problem(*data(), fit_intercept=offset)
    state = solver.init(problem)
    solver.advance(problem, state, 2)
    before = state.copy()
    solver.status(state)
    solver.witness(problem, state)
    assert same(state, before)
    solver.advance(problem, before, 1)
    assert state.steps <= before.steps


@pairs
def test_a_saved_run_goes_on_where_it_stood(name, offset, tmp_path):
    solver, problem = SOLVERS[name], Problem(*data(), fit_intercept=offset)
    state = solver.init(problem)
    solver.advance(problem, state, 2)
    save_checkpoint(tmp_path / "run.npz", problem, solver, state)
    again = load_checkpoint(tmp_path / "run.npz", problem, solver)
    solver.advance(problem, state, 6)
    solver.advance(problem, again, 6)
    assert same(state, again)


@pairs
def test_an_ended_run_takes_no_further_step(name, offset):
    solver, problem = SOLVERS[name], Problem(*data(), fit_intercept=offset)
    outcome = drive(problem, solver, limits=Limits(seconds=30))
    assert outcome.status in (Status.CERTIFIED, Status.CONVERGED)
    assert solver.advance(problem, outcome.state, 10) == 0


@pytest.mark.parametrize("name", ["newton, tight", "newton, no penalty", "cg", "gradient"])
def test_layouts_end_alike(name):
    X, y = data()
    forms = [
        np.asfortranarray(X),
        scipy.sparse.csr_array(X),
        X.astype(np.float32),
    ]
    solver = SOLVERS[name]
    first = drive(Problem(X, y), solver).witness.a
    for form in forms:
        assert drive(Problem(form, y), solver).witness.a == pytest.approx(first, rel=1e-4, abs=1e-5)


def test_threads_do_not_change_a_bit_and_samples_lead_to_the_same_end():
    X, y = data(n=200_000, d=4)
    problem = Problem(X, y)
    solver = NewtonLogistic(C=1.0, tol=1e-9)
    ends = [drive(problem, dataclasses.replace(solver, threads=k)) for k in (1, 2)]
    assert same(ends[0].state, ends[1].state)
    assert ends[0].state.level == 2  # all rows, after two samples
    other = drive(problem, LogisticCG(C=1.0, tol=1e-9))
    assert ends[0].witness.a == pytest.approx(other.witness.a, abs=1e-5)
    loose = drive(problem, NewtonLogistic(C=1.0))
    assert loose.status is Status.CERTIFIED and not loose.state.fresh  # no second matrix needed


def test_compiled_and_plain_passes_agree():
    from linsep.rows import logistic as logistic_pass

    X, y = data(n=3000, d=40)  # just large enough to be compiled
    for form in (X, X.astype(np.float32)):
        problem = Problem(form, y, sample_weight=np.random.default_rng(0).random(3000) + 0.5)
        fast = logistic_pass.all_rows(problem, wide=False)
        plain = logistic_pass.all_rows(problem, wide=False)
        assert fast.X is not None
        plain.X = None
        a = np.random.default_rng(1).normal(size=41) * np.r_[np.full(40, 5.0), 1.0]
        one, two = (rows.read(a, offset=True, bent=True, threads=1) for rows in (fast, plain))
        rough = 1e-12 if form is X else 1e-4
        assert one.loss == pytest.approx(two.loss, rel=rough)
        assert one.v == pytest.approx(two.v, rel=rough, abs=rough * 1e4)
        assert one.curvature == pytest.approx(two.curvature, rel=10 * rough, abs=rough * 1e4)
        assert one.dual_sum == pytest.approx(two.dual_sum, rel=rough)
        assert one.dual_product == pytest.approx(two.dual_product, rel=rough)
        assert one.dual_length == pytest.approx(two.dual_length, rel=rough)
        one, two = (rows.gram(problem.weight, True, 2) for rows in (fast, plain))
        assert one == pytest.approx(two, rel=10 * rough, abs=rough * 1e4)


@pytest.mark.parametrize("name", ["newton", "cg", "gradient"])
def test_starting_from_the_answer_takes_no_step(name):
    problem, solver = Problem(*data()), SOLVERS[name]
    a = drive(problem, solver).witness.a
    assert drive(problem, solver, solver.init(problem, start=(a[:-1], a[-1]))).steps == 0
