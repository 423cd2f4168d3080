"""When a routine changes from Python to machine code."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

from linsep.core import compile as compiling
from linsep.core import costs


def slow(x):
    """One and a half hundredths of a second, where it is Python."""
    end = time.thread_time() + 0.015
    while time.thread_time() < end:
        pass
    return x[0]


@pytest.fixture
def made(monkeypatch):
    """Names of what would have been compiled, and the files of an earlier run."""
    names: list[str] = []
    monkeypatch.setattr(compiling, "_compile", lambda f: names.append(f.__name__) or f)
    monkeypatch.setattr(compiling, "_specialise", lambda *_: None)
    monkeypatch.setattr(compiling, "_kept_names", frozenset)
    monkeypatch.setattr(compiling, "_on_disk", compiling.Spent())
    for cost, seconds in (("COMPILING", 0.05), ("LOADING", 0.03), ("READING", 0.0075)):
        monkeypatch.setattr(costs, cost, seconds)
    return names


def test_time_spent_in_python_decides(made):
    routine, x = compiling.routine(slow), np.ones(3)
    for _ in range(2):
        assert routine(x, size=3, work=3) == 1.0
    assert not made
    for _ in range(3):
        routine(x, size=3, work=3)
    assert made == ["slow"]


def test_machine_code_on_the_disk_is_taken_sooner(made, monkeypatch):
    monkeypatch.setattr(compiling, "_kept_names", lambda: frozenset(["slow"]))
    monkeypatch.setitem(sys.modules, "numba", sys)  # loaded for another routine
    routine, x = compiling.routine(slow), np.ones(3)
    routine(x, size=3, work=3)
    routine(x, size=3, work=3)
    assert made == ["slow"]


def test_what_waits_for_numba_counts_together(made, monkeypatch):
    monkeypatch.setattr(compiling, "_kept_names", lambda: frozenset(["slow"]))
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    routines, x = [compiling.routine(slow) for _ in range(3)], np.ones(3)
    for routine in routines:  # each of them alone would go on in Python
        routine(x, size=3, work=3)
    assert not made
    for routine in routines:
        routine(x, size=3, work=3)
    assert made == ["slow"] * 3


@pytest.mark.parametrize("kept", [False, True])
def test_a_first_call_with_much_work_is_not_interpreted(kept, made, monkeypatch):
    monkeypatch.setattr(compiling, "_kept_names", lambda: frozenset(["slow"] if kept else []))
    compiling.routine(slow)(np.ones(3), size=3, work=10**8)
    assert made == ["slow"]


def test_a_loop_that_ends_early_is_known_for_it(made):
    """Its work is stated as what it may touch at most; what it took before tells more."""
    routine, x = compiling.routine(lambda x: x[0]), np.ones(3)
    routine(x, size=3, work=10**4)
    for _ in range(20):
        routine(x, size=3, work=10**6)
    assert not made


def test_a_large_table_does_not_wait(made):
    compiling.routine(slow)(np.ones(3), size=10**6, work=3)
    assert made == ["slow"]


def test_a_loop_is_charged_by_its_entries(made):
    routine, x = compiling.routine(slow), np.ones(3)
    assert routine.choose(x, size=3, work=1000) is routine.python
    routine.choose(x, size=3, work=10**6)
    assert made == ["slow"]


def test_the_names_of_files(tmp_path, monkeypatch):
    folder = tmp_path / "jit_0123"
    folder.mkdir()
    (folder / "smo.solve_block-114.py311.nbi").touch()
    monkeypatch.setattr(compiling, "_cache_folder", lambda: str(tmp_path))
    assert compiling._kept_names.__wrapped__() == {"solve_block"}
