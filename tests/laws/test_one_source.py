"""A routine computes the same bits as Python and as machine code, with any number of threads."""

from __future__ import annotations

import dataclasses
import importlib
import os
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from tests.laws.test_laws import run, same
from tests.tables import HINGE, KERNEL, KERNEL_MACHINES, MACHINES, PLANES, PROBLEMS, SQUARES

import linsep
from linsep.core import compile as compiling
from linsep.core import drive
from linsep.core.problem import Problem
from linsep.core.protocol import Status, new_log
from linsep.solvers.hulls.nearest import NearestHulls
from linsep.solvers.logistic import softmax as softmax_system
from linsep.solvers.logistic.conjugate import LogisticCG
from linsep.solvers.logistic.newton import NewtonLogistic


def routines() -> list[compiling.Routine]:
    """All that there are, found in the modules that hold loops."""
    found = {}
    for layer in ("rows", "numerics", "kernels", "solvers"):
        package = importlib.import_module(f"linsep.{layer}")
        for entry in pkgutil.walk_packages(package.__path__, f"linsep.{layer}."):
            for value in vars(importlib.import_module(entry.name)).values():
                if isinstance(value, compiling.Routine):
                    found[id(value)] = value
    return list(found.values())


ROUTINES = routines()

pytestmark = pytest.mark.numba


def end(solver, data, compiled, monkeypatch, log=None, steps=200):
    """The state after some steps, all of them in one of the two forms."""
    with monkeypatch.context() as patch:
        patch.setattr(compiling.Routine, "_pays", lambda *_: compiled)
        for routine in ROUTINES:
            patch.setattr(routine, "_ready", {})
        state = solver.init(data)
        solver.advance(data, state, steps, *([] if log is None else [log]))
    return state


# -- Python and machine code ------------------------------------------------------------------

STEPWISE = {
    name: (PLANES | SQUARES)[name]
    for name in (
        "cyclic", "shuffle, pocket", "random, average", "restart", "inverse rate", "batch", "worst",
        "kozinec", "kozinec, plain, eps", "nearest hulls", "nearest hulls, tol",
        "widrow-hoff, shuffle",
    )
}  # fmt: skip


@pytest.mark.parametrize("name", list(STEPWISE))
@pytest.mark.parametrize("kind", ["dense", "CSR", "three classes", "float32"])
def test_python_and_machine_code_agree_in_every_bit(name, kind, monkeypatch):
    X, y = PROBLEMS["three classes" if kind == "three classes" else "overlapping"]()
    X = scipy.sparse.csr_array(X) if kind == "CSR" else X
    data = Problem(X.astype(np.float32) if kind == "float32" else X, y)
    same(*(end(STEPWISE[name], data, fast, monkeypatch) for fast in (False, True)))


def noisy(n, d, classes=2, noise=1.5):
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    return 2.0 * rng.normal(size=(classes, d))[y] + noise * rng.normal(size=(n, d)), y


@pytest.mark.parametrize("name", ["newton", "dual-cd", "proximal", "newton, squared", "softmax"])
def test_python_and_machine_code_agree_in_every_bit_of_float32(name, monkeypatch):
    X, y = noisy(200, 3, 3 if name == "softmax" else 2)
    X = X.astype(np.float32)
    if name == "softmax":
        X[np.abs(X) < 1.0] = 0.0
        X = scipy.sparse.csr_array(X)
    data, solver = Problem(X, y), (HINGE | MACHINES)[name]
    monkeypatch.setattr(compiling.Routine, "_pays", lambda *_: False)
    for routine in ROUTINES:
        monkeypatch.setattr(routine, "_ready", {})
    slow = run(solver, data, 8)
    monkeypatch.setattr(compiling.Routine, "_pays", lambda *_: True)
    same(slow, run(solver, data, 8))


@pytest.mark.parametrize("name", ["smo", "smo, pairs", "smo, float32"])
@pytest.mark.parametrize("free", [True, False])
def test_python_and_machine_code_agree_in_every_bit_of_a_kernel(name, free, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(40) % (3 if name == "smo, pairs" else 2)
    X = rng.normal(size=(40, 3)) + 1.5 * y[:, None]
    solver, ends = (KERNEL | KERNEL_MACHINES)[name], []
    for fast in (False, True):
        data = Problem(X, y, fit_intercept=free)
        ends.append(end(solver, data, fast, monkeypatch, steps=8))
    same(*ends)


@pytest.mark.parametrize("tol", [None, 1e-6])
@pytest.mark.parametrize("intercept", [True, False])
def test_few_wide_rows_agree_in_every_bit(tol, intercept, monkeypatch):
    """All cycles of a search over few rows are one call; its corral outgrows its first room."""
    rng = np.random.default_rng(5)
    data = Problem(rng.normal(size=(130, 150)), np.arange(130) % 2, fit_intercept=intercept)
    logs = [new_log(64), new_log(64)]
    solver = NearestHulls(tol=tol)
    ends = [end(solver, data, fast, monkeypatch, log) for fast, log in zip((False, True), logs)]
    same(*ends)
    assert list(logs[0].events()) == list(logs[1].events())
    assert ends[0].n_updates == len(list(logs[0].events())) > 2
    assert tol is None or ends[0].size > 48


def test_a_log_agrees_too(monkeypatch):
    data = Problem(*PROBLEMS["overlapping"]())
    logs = [new_log(64), new_log(64)]
    for log, compiled in zip(logs, (False, True)):
        end(PLANES["cyclic"], data, compiled, monkeypatch, log)
    assert list(logs[0].events()) == list(logs[1].events())
    assert len(list(logs[0].events())) > 10


# -- threads --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["newton", "newton, tight", "newton, squared", "proximal"])
def test_threads_do_not_change_a_bit(name):
    data = Problem(*noisy(60_000, 8, noise=4.0))
    ones = (dataclasses.replace(HINGE[name], threads=threads) for threads in (1, 2))
    same(*(run(solver, data, 6) for solver in ones))


@pytest.mark.parametrize("corrections", [False, True])
def test_threads_do_not_change_a_bit_of_softmax(corrections, monkeypatch):
    if corrections:  # as with many columns
        monkeypatch.setattr(softmax_system, "WHOLE_HESSIAN", 5)
    X, y = noisy(60_000, 8, 3)
    data = Problem(X.astype(np.float32), y)
    ones = (dataclasses.replace(MACHINES["softmax"], tol=1e-5, threads=k) for k in (1, 2))
    same(*(run(solver, data, 14) for solver in ones))


def test_threads_do_not_change_a_bit_and_samples_lead_to_the_same_end():
    data = Problem(*noisy(200_000, 4, noise=6.0))
    solver = NewtonLogistic(C=1.0, tol=1e-9)
    ends = [drive(data, dataclasses.replace(solver, threads=k)) for k in (1, 2)]
    same(ends[0].state, ends[1].state)
    assert ends[0].state.level == 2  # all rows, after two samples
    other = drive(data, LogisticCG(C=1.0, tol=1e-9))
    assert ends[0].witness.a == pytest.approx(other.witness.a, abs=1e-5)
    loose = drive(data, NewtonLogistic(C=1.0))
    assert loose.status is Status.CERTIFIED and not loose.state.fresh  # no second matrix needed


# -- what is too small to be compiled ----------------------------------------------------------


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "code",
    [
        "t = linsep.data.load('students'); linsep.Perceptron().fit(t.X, t.y); "
        "linsep.Kozinec().fit(t.X, t.y); linsep.separability(t.X, t.y)",
        "t = linsep.data.load('mse-1'); linsep.LeastSquares().fit(t.X, t.y); "
        "linsep.HoKashyap().fit(t.X, t.y); "
        "linsep.LeastSquares(solver='widrow-hoff', tol=10).fit(t.X, t.y)",
    ],
    ids=["planes", "squares"],
)
def test_tiny_problems_do_not_load_numba(code, tmp_path):
    fresh = {**os.environ, "LINSEP_CACHE_DIR": str(tmp_path)}  # no machine code of earlier runs
    code = f"import sys, linsep; {code}; sys.exit('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False, env=fresh)
    assert done.returncode == 0, linsep.__file__
