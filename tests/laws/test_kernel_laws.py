"""The laws of solvers, for machines with kernels."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from linsep.core import drive
from linsep.core.checkpoint import load_checkpoint, save_checkpoint
from linsep.core.problem import Problem
from linsep.kernels import RBF, Linear
from linsep.solvers.kernel.smo import SMO
from linsep.solvers.one_vs_rest import OneVsRest
from linsep.solvers.perceptron.kernel import KernelMistakes

K = RBF(gamma=0.3)
SOLVERS = {
    "smo": (SMO(K, q=16, tol=1e-7, fine=1e-7), 2),
    "smo, pairs": (SMO(K, C=10.0, q=16), 3),
    "smo, little memory": (SMO(K, q=16, memory=0.01, tol=1e-6, fine=1e-6), 2),
    "smo, float32": (SMO(K, q=16, single=True), 2),
    "smo, linear, hard": (SMO(Linear(), C=np.inf), 2),
    "mistakes": (KernelMistakes(K), 2),
    "mistakes, shuffled": (KernelMistakes(K, order="shuffle", keep="average", seed=3), 2),
    "mistakes, pocket": (KernelMistakes(K, order="random", keep="pocket"), 2),
    "mistakes, classes": (OneVsRest(KernelMistakes(K), threads=1), 3),
}


def problem(classes, free=True, n=90):
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    return Problem(rng.normal(size=(n, 3)) + 1.5 * y[:, None], y, fit_intercept=free)


def same(one, other):
    for field in dataclasses.fields(one):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if isinstance(left, list):
            equal = all(map(same, left, right))
        else:
            equal = np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right
        if not equal:
            return False
    return True


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("name", list(SOLVERS))
def test_any_way_of_cutting_a_run_gives_the_same_bits(name, free):
    solver, classes = SOLVERS[name]
    data, twin = problem(classes, free), problem(classes, free)
    whole, pieces = solver.init(data), solver.init(twin)
    solver.advance(data, whole, 17)
    for steps in (1, 2, 3, 5, 1, 5):
        solver.advance(twin, pieces, steps)
    assert same(whole, pieces)
    assert whole.steps > 1


@pytest.mark.parametrize("name", list(SOLVERS))
def test_a_saved_run_goes_on_where_it_stood(name, tmp_path):
    solver, classes = SOLVERS[name]
    data = problem(classes)
    state = solver.init(data)
    solver.advance(data, state, 3)
    save_checkpoint(tmp_path / "run.npz", data, solver, state)
    fresh = problem(classes)
    again = load_checkpoint(tmp_path / "run.npz", fresh, solver)
    solver.advance(data, state, 6)
    solver.advance(fresh, again, 6)
    assert same(state, again)


@pytest.mark.parametrize("name", [name for name in SOLVERS if "smo" in name])
def test_an_ended_run_takes_no_further_step_and_looking_changes_nothing(name):
    solver, classes = SOLVERS[name]
    data = problem(classes)
    outcome = drive(data, solver)
    before = outcome.state.copy()
    solver.witness(data, outcome.state)
    assert outcome.status.done
    assert solver.advance(data, outcome.state, 10) == 0
    assert same(before, outcome.state)


@pytest.mark.parametrize("name", ["smo", "smo, pairs", "smo, float32"])
@pytest.mark.parametrize("free", [True, False])
def test_python_and_machine_code_agree_to_the_last_bit(name, free, monkeypatch):
    from linsep.core import compile as jit
    from linsep.kernels.sums import add_rows
    from linsep.solvers.kernel import pairs as smo

    solver, classes = SOLVERS[name]
    ends = []
    for size in (1, 2**62):
        monkeypatch.setattr(jit, "_LARGE", size)
        monkeypatch.setattr(jit, "_PATIENCE", size)
        for routine in (smo.solve_block, smo.solve_coordinates, add_rows):
            monkeypatch.setattr(routine, "_ready", set())
        data = problem(classes, free, n=40)
        state = solver.init(data)
        solver.advance(data, state, 8)
        ends.append(state)
    assert same(*ends)
