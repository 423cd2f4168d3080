"""The laws of solvers, for the solvers of support vector machines."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse

from linsep import LinearSVM
from linsep.core import drive
from linsep.core.checkpoint import load_checkpoint, save_checkpoint
from linsep.core.drive import Limits
from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.solvers.hinge.crammer_singer import CrammerSinger
from linsep.solvers.hinge.dual_cd import DualCD
from linsep.solvers.hinge.interior import InteriorHinge
from linsep.solvers.hinge.newton import NewtonHinge
from linsep.solvers.hinge.newton_machine import NewtonMachine
from linsep.solvers.hinge.proximal import ProximalNewton
from linsep.solvers.hinge.wide import WideHinge
from linsep.solvers.one_vs_rest import OneVsRest

BINARY = {
    "newton": NewtonHinge(C=1.0),
    "newton, tight": NewtonHinge(C=10.0, tol=1e-8),
    "newton, squared": NewtonHinge(C=1.0, loss="squared_hinge"),
    "dual-cd": DualCD(C=1.0, seed=3),
    "dual-cd, squared": DualCD(C=1.0, loss="squared_hinge"),
    "interior": InteriorHinge(C=1.0),
    "interior, tight": InteriorHinge(C=100.0, tol=1e-8),
    "interior, squared": InteriorHinge(C=1.0, loss="squared_hinge", tol=1e-6),
    "proximal": ProximalNewton(C=10.0, sweeps=3),
    "proximal, squared": ProximalNewton(C=1.0, sweeps=2, loss="squared_hinge"),
    "wide": WideHinge(C=10.0, sweeps=3),
    "wide, squared": WideHinge(C=1.0, tol=1e-6, loss="squared_hinge"),
}
MACHINES = {
    "crammer-singer": CrammerSinger(C=1.0),
    "newton machine": NewtonMachine(C=1.0),
    "newton machine, tight": NewtonMachine(C=100.0, tol=1e-6),
    "one-vs-rest": OneVsRest(DualCD(C=1.0, seed=2)),
    "one-vs-rest, newton": OneVsRest(NewtonHinge(C=1.0)),
    "one-vs-rest, interior": OneVsRest(InteriorHinge(C=1.0)),
    "one-vs-rest, wide": OneVsRest(WideHinge(C=1.0, sweeps=2)),
}


def data(n=60, d=4, classes=2, seed=0, noise=1.5):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    middles = rng.normal(size=(classes, d)) * 2
    return middles[y] + noise * rng.normal(size=(n, d)), y


def cases():
    for name, solver in BINARY.items():
        for offset in (True, False):
            yield pytest.param(
                solver, lambda o=offset: Problem(*data(), fit_intercept=o), id=f"{name}, {offset}"
            )
    for name, solver in MACHINES.items():
        yield pytest.param(solver, lambda: Problem(*data(classes=3)), id=name)


def fields(state):
    return {f.name: getattr(state, f.name) for f in dataclasses.fields(state)}


def same(one, other):
    left, right = fields(one), fields(other)
    return all(same_value(left[k], right[k]) for k in left)


def same_value(left, right):
    if isinstance(left, np.ndarray):
        return np.array_equal(left, right, equal_nan=True)
    if isinstance(left, list):
        return all(map(same, left, right))
    if dataclasses.is_dataclass(left):
        return type(left) is type(right) and same(left, right)
    return left == right


@pytest.mark.parametrize(("solver", "make"), list(cases()))
def test_any_way_of_cutting_a_run_gives_the_same_bits(solver, make):
    problem = make()
    whole, pieces = solver.init(problem), solver.init(problem)
    solver.advance(problem, whole, 17)
    for steps in (1, 2, 3, 5, 1, 5):
        solver.advance(problem, pieces, steps)
    assert same(whole, pieces)


@pytest.mark.parametrize(("solver", "make"), list(cases()))
def test_a_copy_is_independent_and_looking_changes_nothing(solver, make):
    problem = make()
    state = solver.init(problem)
    solver.advance(problem, state, 4)
    before = state.copy()
    solver.status(state)
    solver.witness(problem, state)
    assert same(state, before)
    solver.advance(problem, before, 3)
    assert state.steps <= before.steps


@pytest.mark.parametrize(("solver", "make"), list(cases()))
def test_a_saved_run_goes_on_where_it_stood(solver, make, tmp_path):
    problem = make()
    state = solver.init(problem)
    solver.advance(problem, state, 5)
    save_checkpoint(tmp_path / "run.npz", problem, solver, state)
    again = load_checkpoint(tmp_path / "run.npz", problem, solver)
    solver.advance(problem, state, 6)
    solver.advance(problem, again, 6)
    assert same(state, again)


@pytest.mark.parametrize(("solver", "make"), list(cases()))
def test_an_ended_run_takes_no_further_step(solver, make):
    problem = make()
    outcome = drive(problem, solver, limits=Limits(seconds=30))
    assert outcome.status is Status.CERTIFIED
    assert solver.advance(problem, outcome.state, 10) == 0


@pytest.mark.parametrize("name", list(BINARY))
@pytest.mark.parametrize("offset", [True, False])
def test_layouts_end_alike(name, offset):
    X, y = data()
    solver = BINARY[name]
    forms = [
        np.ascontiguousarray(X),
        np.asfortranarray(X),
        scipy.sparse.csr_array(X),
        X.astype(np.float32),
        scipy.sparse.csr_array(
            (X.ravel(), np.tile(np.arange(4), 60).astype(np.int64), np.arange(0, 241, 4)), X.shape
        ),
    ]
    ends = [drive(Problem(form, y, fit_intercept=offset), solver) for form in forms]
    assert {end.status for end in ends} == {Status.CERTIFIED}
    values = [end.state.best_primal for end in ends]
    assert max(values) <= min(values) * (1 + 2 * solver.tol + 1e-6)


@pytest.mark.parametrize("name", ["newton", "newton, tight", "newton, squared", "proximal"])
def test_threads_do_not_change_a_bit(name):
    X, y = data(n=60_000, d=8, noise=4.0)
    solver = BINARY[name]
    one, two = (dataclasses.replace(solver, threads=threads) for threads in (1, 2))
    problem = Problem(X, y)
    first, second = one.init(problem), two.init(problem)
    one.advance(problem, first, 6)
    two.advance(problem, second, 6)
    assert same(first, second)


@pytest.mark.parametrize("name", ["newton", "dual-cd", "proximal", "newton, squared"])
def test_python_and_machine_code_agree_to_the_last_bit(name, monkeypatch):
    from linsep.core import compile as jit

    X, y = data(n=200, d=3)
    solver, problem = BINARY[name], Problem(X.astype(np.float32), y)
    slow = solver.init(problem)
    solver.advance(problem, slow, 8)
    monkeypatch.setattr(jit, "_LARGE", 1)
    fast = solver.init(problem)
    solver.advance(problem, fast, 8)
    assert same(slow, fast)


@pytest.mark.parametrize("name", ["dual-cd", "proximal", "dual-cd, squared"])
def test_starting_from_the_answer_takes_no_step(name):
    problem = Problem(*data())
    solver = BINARY[name]
    outcome = drive(problem, solver)
    alpha = np.zeros(problem.n)
    alpha[outcome.witness.rows] = outcome.witness.multipliers
    loose = dataclasses.replace(solver, tol=0.05)
    assert drive(problem, loose, loose.init(problem, start=alpha)).steps == 0


@pytest.mark.parametrize("name", ["newton", "dual-cd", "proximal-newton", "interior-point"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_fitted_again_takes_no_step(name, loss, classes):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 40))
    y = np.digitize(X[:, 0] + rng.normal(size=3000), [0.0, 1.0][: classes - 1])
    model = LinearSVM(solver=name, loss=loss, warm_start=True).fit(X, y)
    proved = model.certificate_.relative_gap
    model.fit(X, y)
    assert model.outcome_.steps == 0 and model.status_ is Status.CERTIFIED
    assert model.certificate_.relative_gap <= max(1e-3, proved)
