"""Hinge losses beside columns of 1e8: no run without an end, in float32 as in float64."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest

import linsep
from linsep.core import drive
from linsep.core.limits import Limits
from linsep.core.problem import Problem
from linsep.solvers.hinge.newton import NewtonHinge

SCALES = np.array([1e8, 1e-6, 1e-5, 1.0])


def table(n):
    rng = np.random.default_rng(1)
    X = (rng.standard_normal((n, 4)) * SCALES).astype(np.float32)
    return X, np.where(X @ (1 / SCALES) + 2 * rng.standard_normal(n) > 0.3, 1, -1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1e-4, 0.1, 100.0])
def test_hinge_gains_by_steps_that_the_objective_does_not_feel(C, dtype):
    X, y = table(20_000)
    model = linsep.LinearSVM(C=C, time_limit=20).fit(X.astype(dtype), y)
    assert model.status_.name == "CERTIFIED"
    assert model.n_iter_ < 60  # there was no end


def test_float32_that_is_too_short_is_noticed_on_the_way(monkeypatch):
    """Steps that gain nothing: rows are read in float64, where there was no end.

    Which costs need it depends on the last bits of sums in float32.
    """
    monkeypatch.setattr("linsep.solvers.hinge.newton.want_double", lambda *_: False)
    X, y = table(20_000)
    longest = float((X.astype(float) ** 2).sum(axis=1).max())
    noticed = []
    for cost in np.geomspace(1e6, 1e10, 9):
        solver = NewtonHinge(C=float(cost) / longest)
        out = drive(Problem(X, y), solver, limits=Limits(steps=200))
        assert out.status.name == "CERTIFIED"
        noticed.append(out.state.needs_double)
    assert any(noticed)


def test_rescues_keep_to_the_time_limit():
    """Inseparable and beyond all rounding: all ways together keep to one limit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 400)) * np.geomspace(1e-8, 1e8, 400)
    y = np.where(rng.random(3000) < 0.5, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = linsep.LinearSVM(C=1e4, time_limit=0.4).fit(X, y)  # compiles
        begin = time.perf_counter()
        model.fit(X, y)
    assert time.perf_counter() - begin < 4
