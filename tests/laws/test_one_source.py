"""A routine computes the same bits as Python and as machine code."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse
from tests.tables import PROBLEMS, SOLVERS

from linsep.core import compile as compiling
from linsep.core.log import new_log
from linsep.core.problem import Problem
from linsep.solvers.hulls.nearest import NearestHulls

NAMES = [
    "cyclic", "shuffle, pocket", "random, average", "restart", "inverse rate", "batch", "worst",
    "kozinec", "kozinec, plain, eps", "nearest hulls", "nearest hulls, tol",
]  # fmt: skip


def end(solver, data, compiled, monkeypatch, log=None):
    """The state after 200 steps, all of them in one of the two forms."""
    with monkeypatch.context() as patch:
        patch.setattr(compiling, "_LARGE", 0 if compiled else 2**62)
        patch.setattr(compiling, "_PATIENCE", 0 if compiled else 2**62)
        for routine in ROUTINES:
            patch.setattr(routine, "_ready", set())
        state = solver.init(data)
        solver.advance(data, state, 200, *([] if log is None else [log]))
    return state


def routines():
    from linsep.solvers.hulls import kozinec
    from linsep.solvers.hulls import loops as corral
    from linsep.solvers.hulls import loops as hulls
    from linsep.solvers.perceptron import single as perceptron

    modules = (corral, hulls, kozinec, perceptron)
    return [v for m in modules for v in vars(m).values() if isinstance(v, compiling.Routine)]


ROUTINES = routines()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["dense", "CSR", "three classes", "float32"])
def test_python_and_machine_code_agree_in_every_bit(name, kind, monkeypatch):
    X, y = PROBLEMS["three classes" if kind == "three classes" else "overlapping"]()
    X = scipy.sparse.csr_array(X) if kind == "CSR" else X
    data = Problem(X.astype(np.float32) if kind == "float32" else X, y)
    slow = end(SOLVERS[name], data, False, monkeypatch)
    fast = end(SOLVERS[name], data, True, monkeypatch)
    for field in dataclasses.fields(slow):
        a, b = getattr(slow, field.name), getattr(fast, field.name)
        np.testing.assert_array_equal(a, b, err_msg=field.name)


@pytest.mark.parametrize("tol", [None, 1e-6])
@pytest.mark.parametrize("intercept", [True, False])
def test_few_wide_rows_agree_in_every_bit(tol, intercept, monkeypatch):
    """All cycles of a search over few rows are one call; its corral outgrows its first room."""
    rng = np.random.default_rng(5)
    data = Problem(rng.normal(size=(130, 150)), np.arange(130) % 2, fit_intercept=intercept)
    logs = [new_log(64), new_log(64)]
    solver = NearestHulls(tol=tol)
    ends = [end(solver, data, fast, monkeypatch, log) for fast, log in zip((False, True), logs)]
    for field in dataclasses.fields(ends[0]):
        np.testing.assert_array_equal(*(getattr(state, field.name) for state in ends))
    assert list(logs[0].events()) == list(logs[1].events())
    assert ends[0].n_updates == len(list(logs[0].events())) > 2
    assert tol is None or ends[0].size > 48


def test_a_log_agrees_too(monkeypatch):
    data = Problem(*PROBLEMS["overlapping"]())
    logs = [new_log(64), new_log(64)]
    for log, compiled in zip(logs, (False, True)):
        end(SOLVERS["cyclic"], data, compiled, monkeypatch, log)
    assert list(logs[0].events()) == list(logs[1].events())
    assert len(list(logs[0].events())) > 10


@pytest.mark.timeout(120)
def test_tiny_problems_do_not_load_numba(tmp_path):
    import subprocess
    import sys

    code = (
        "import sys, linsep; t = linsep.data.load('students'); "
        "linsep.Perceptron().fit(t.X, t.y); linsep.Kozinec().fit(t.X, t.y); "
        "linsep.separability(t.X, t.y); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
