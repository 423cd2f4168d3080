"""The exact search for the nearest point of hulls: it ends, whatever it is told of the rows."""

from __future__ import annotations

import numpy as np

from linsep.core.drive import drive
from linsep.core.limits import Limits
from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.solvers.hulls import exact


def test_points_that_get_no_nearer_are_the_end_of_it(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) % 2
    problem, limits = Problem(X, y), Limits(steps=400)
    assert drive(problem, exact.ExactHulls(), limits=limits).status is Status.INSEPARABLE
    right = exact.reflected

    def turned(problem, rows):
        block = right(problem, rows).copy()
        block[::5] *= -1  # by their places, so that a row is another one each time
        return block

    monkeypatch.setattr(exact, "reflected", turned)
    assert drive(problem, exact.ExactHulls(), limits=limits).status is Status.STALLED
