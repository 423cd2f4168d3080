"""The laws of the solver protocol, for every solver on every problem."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
from tests.tables import LAYOUTS, PROBLEMS, SOLVERS, problem

from linsep.core import drive
from linsep.core.checkpoint import load_checkpoint, save_checkpoint
from linsep.core.drive import Limits
from linsep.core.log import new_log
from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.proofs.certificate import judge
from linsep.solvers.hulls.cloud import by_products

STEPS = 300
pairs = pytest.mark.parametrize(
    ("solver", "name"),
    [(s, p) for s in SOLVERS for p in PROBLEMS],
    ids=[f"{s} on {p}" for s in SOLVERS for p in PROBLEMS],
)


def same(first, second):
    """Whether two states agree bit for bit."""
    for field in dataclasses.fields(first):
        a, b = getattr(first, field.name), getattr(second, field.name)
        equal = np.array_equal(a, b, equal_nan=True) if isinstance(a, np.ndarray) else a == b
        assert equal, f"{field.name}: {a} and {b}"


def run(solver, data, steps=STEPS, state=None, chunks=None):
    """Advance by the given chunks (at once without them) to a total of ``steps`` at most."""
    state = solver.init(data) if state is None else state
    for chunk in chunks or [steps]:
        solver.advance(data, state, chunk)
    return state


@pairs
def test_any_way_of_splitting_a_run_gives_the_same_bits(solver, name):
    solver, data = SOLVERS[solver], problem(name)
    whole = run(solver, data)
    same(whole, run(solver, data, chunks=[1] * STEPS))
    same(whole, run(solver, data, chunks=[7, 1, 113, 2, 50, 127]))


@pairs
def test_resuming_from_a_file_gives_the_same_bits(solver, name, tmp_path):
    solver, data = SOLVERS[solver], problem(name)
    whole = run(solver, data)
    half = run(solver, data, steps=STEPS // 3)
    save_checkpoint(tmp_path / "run.npz", data, solver, half)
    again = load_checkpoint(tmp_path / "run.npz", problem(name), solver)
    same(half, again)
    same(whole, run(solver, problem(name), STEPS - STEPS // 3, again))


@pairs
def test_a_copy_is_independent(solver, name):
    solver, data = SOLVERS[solver], problem(name)
    state = run(solver, data, steps=20)
    kept = copy.deepcopy(state)
    other = state.copy()
    run(solver, data, steps=50, state=other)
    same(state, kept)


@pairs
def test_a_log_changes_nothing(solver, name):
    solver, data = SOLVERS[solver], problem(name)
    state, log, taken = solver.init(data), new_log(1), 0
    while taken < STEPS:
        step = solver.advance(data, state, STEPS - taken, log)
        taken += step
        log.used[:] = 0
        if step == 0:
            break
    same(state, run(solver, data))


@pairs
def test_a_finished_state_takes_no_step(solver, name):
    solver, data = SOLVERS[solver], problem(name)
    state = run(solver, data, steps=20_000)
    if solver.status(state).done:
        kept = state.copy()
        assert solver.advance(data, state, 10) == 0
        same(state, kept)


@pairs
def test_status_and_witness_change_nothing(solver, name):
    solver, data = SOLVERS[solver], problem(name)
    state = run(solver, data, steps=17)
    kept = state.copy()
    solver.status(state)
    first, second = solver.witness(data, state), solver.witness(data, state)
    same(state, kept)
    np.testing.assert_array_equal(first.a, second.a)
    np.testing.assert_array_equal(first.multipliers, second.multipliers)


@pairs
def test_two_runs_and_the_driver_give_the_same_bits(solver, name):
    solver = SOLVERS[solver]
    first = drive(problem(name), solver, limits=Limits(steps=STEPS))
    second = drive(problem(name), solver, limits=Limits(steps=STEPS))
    same(first.state, second.state)
    same(first.state, run(solver, problem(name)))


@pairs
def test_the_data_are_not_changed(solver, name):
    X, y = PROBLEMS[name]()
    kept = X.copy()
    data = Problem(X, y)
    run(SOLVERS[solver], data)
    np.testing.assert_array_equal(X, kept)


@pairs
def test_starting_from_the_answer_takes_no_update(solver, name):
    solver, data = SOLVERS[solver], problem(name)
    state = run(solver, data, steps=20_000)
    if solver.status(state) not in (Status.SEPARATED, Status.CERTIFIED):
        return
    start = state.weights() if hasattr(state, "weights") else data.split(state.a)
    again = solver.init(data, start=start)
    solver.advance(data, again, 10)
    assert again.n_updates == 0
    assert solver.status(again) is solver.status(state)


@pairs
def test_what_ends_as_separated_is_separated(solver, name):
    solver, data = SOLVERS[solver], problem(name)
    outcome = drive(data, solver, limits=Limits(steps=5_000), certifier=judge)
    status = outcome.certificate.settle(outcome.status)
    if status is Status.SEPARATED:
        assert outcome.certificate.separable is True
        assert outcome.certificate.errors == 0
    if status is Status.INSEPARABLE:
        assert name in ("five points", "xor", "overlapping", "four classes, overlapping")
        assert sum(outcome.certificate.multipliers) == 1


@pytest.mark.parametrize("layout", [key for key in LAYOUTS if key != "C float64"])
@pairs
def test_every_layout_ends_alike(solver, name, layout):
    X, y = PROBLEMS[name]()
    ends = []
    for key in ("C float64", layout):
        data = Problem(LAYOUTS[key](X), y)
        outcome = drive(data, SOLVERS[solver], limits=Limits(steps=STEPS))
        ends.append(outcome)
    assert ends[0].status is ends[1].status
    if layout != "F float64":
        return
    if SOLVERS[solver].unit == "major cycle" and by_products(data):
        # few wide rows are multiplied as they lie in memory, so sums have another order
        np.testing.assert_allclose(ends[0].witness.a, ends[1].witness.a, rtol=1e-10, atol=1e-14)
    else:
        np.testing.assert_array_equal(ends[0].witness.a, ends[1].witness.a)


@pairs
def test_float32_ends_like_float64_of_the_same_values(solver, name):
    X, y = PROBLEMS[name]()
    short = np.asarray(X, dtype=np.float32)
    first = drive(Problem(short, y), SOLVERS[solver], limits=Limits(steps=STEPS))
    second = drive(
        Problem(short.astype(np.float64), y), SOLVERS[solver], limits=Limits(steps=STEPS)
    )
    assert first.status is second.status
    np.testing.assert_array_equal(first.witness.a, second.witness.a)
