"""The laws of the solver protocol for the least-squares family."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from tests.laws.test_laws import run, same
from tests.tables import LAYOUTS, PROBLEMS, problem

from linsep.core import compile as compiling
from linsep.core import drive
from linsep.core.checkpoint import load_checkpoint, save_checkpoint
from linsep.core.drive import Limits
from linsep.core.log import new_log
from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.solvers.schedule import Schedule
from linsep.solvers.squares import widrow_hoff as loops
from linsep.solvers.squares.conjugate import ConjugateSquares
from linsep.solvers.squares.gradient import GradientSquares
from linsep.solvers.squares.ho_kashyap import HoKashyap
from linsep.solvers.squares.normal import ExactSquares
from linsep.solvers.squares.widrow_hoff import WidrowHoff

STEPS = 150
SOLVERS = {
    "exact": ExactSquares(),
    "conjugate": ConjugateSquares(),
    "gradient": GradientSquares(),
    "gradient, inverse": GradientSquares(Schedule(1.0, "inverse")),
    "gradient, too fast": GradientSquares(Schedule(10.0), auto=False),
    "widrow-hoff": WidrowHoff(),
    "widrow-hoff, shuffle": WidrowHoff(order="shuffle", seed=3),
    "widrow-hoff, constant": WidrowHoff(slow=False),
    "widrow-hoff, inverse": WidrowHoff(Schedule(1.0, "inverse"), slow=False),
    "ho-kashyap": HoKashyap(),
}
TWO = [name for name in PROBLEMS if "classes" not in name]
pairs = pytest.mark.parametrize(
    ("solver", "name"),
    [(s, p) for s in SOLVERS for p in PROBLEMS if s != "ho-kashyap" or p in TWO],
)


@pairs
def test_splits_logs_copies_files_and_the_driver_change_nothing(solver, name, tmp_path):
    solver, data = SOLVERS[solver], problem(name)
    with np.errstate(all="ignore"):
        whole = run(solver, data, STEPS)
        same(whole, run(solver, data, chunks=[1] * STEPS))
        half = run(solver, data, 40)
        kept = half.copy()
        first, second = solver.witness(data, half), solver.witness(data, half)
        np.testing.assert_array_equal(first.a, second.a)
        save_checkpoint(tmp_path / "run.npz", data, solver, half)
        again = load_checkpoint(tmp_path / "run.npz", problem(name), solver)
        same(half, again)
        same(whole, run(solver, problem(name), STEPS - 40, again))
        same(half, kept)
        state, log, taken = solver.init(data), new_log(1), 0
        while taken < STEPS:
            step = solver.advance(data, state, STEPS - taken, log)
            taken += step
            log.used[:] = 0
            if step == 0:
                break
        same(whole, state)
    same(whole, drive(problem(name), solver, limits=Limits(steps=STEPS)).state)


@pairs
def test_a_finished_state_takes_no_step(solver, name):
    solver, data = SOLVERS[solver], problem(name)
    with np.errstate(all="ignore"):
        state = run(solver, data, 2000)
        if solver.status(state).done:
            assert solver.advance(data, state, 10) == 0


@pairs
@pytest.mark.parametrize("layout", ["F float64", "CSR"])
def test_every_layout_ends_alike(solver, name, layout):
    X, y = PROBLEMS[name]()
    ends = [
        drive(Problem(LAYOUTS[key](X), y), SOLVERS[solver], limits=Limits(steps=60))
        for key in ("C float64", layout)
    ]
    if ends[0].status is not Status.DIVERGED:
        np.testing.assert_allclose(ends[0].witness.a, ends[1].witness.a, rtol=1e-7, atol=1e-9)


def test_states_hold_arrays_and_numbers_only():
    for solver in SOLVERS.values():
        state = solver.init(problem("five points"))
        for field in dataclasses.fields(state):
            value = getattr(state, field.name)
            assert isinstance(value, np.ndarray | int | float | Status), field.name


@pytest.mark.parametrize("kind", ["dense", "CSR", "three classes", "float32"])
def test_python_and_machine_code_agree_in_every_bit(kind, monkeypatch):
    X, y = PROBLEMS["three classes" if kind == "three classes" else "overlapping"]()
    X = scipy.sparse.csr_array(X) if kind == "CSR" else X
    data = Problem(X.astype(np.float32) if kind == "float32" else X, y)
    ends = []
    for limit in (2**62, 0):  # never compiled, always compiled
        with monkeypatch.context() as patch:
            patch.setattr(compiling, "_LARGE", limit)
            patch.setattr(compiling, "_PATIENCE", limit)
            patch.setattr(loops.visit, "_ready", set())
            solver = SOLVERS["widrow-hoff, shuffle"]
            ends.append(run(solver, data, 200))
    same(*ends)
    assert ends[0].n_updates == 200


@pytest.mark.timeout(120)
def test_tiny_problems_do_not_load_numba(tmp_path):
    code = (
        "import sys, linsep; t = linsep.data.load('mse-1'); "
        "linsep.LeastSquares().fit(t.X, t.y); linsep.HoKashyap().fit(t.X, t.y); "
        "linsep.LeastSquares(solver='widrow-hoff', tol=10).fit(t.X, t.y); "
        "sys.exit('numba' in sys.modules)"
    )
    fresh = {**os.environ, "LINSEP_CACHE_DIR": str(tmp_path)}  # no machine code of earlier runs
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False, env=fresh)
    assert done.returncode == 0
