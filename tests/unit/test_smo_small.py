"""Small pairs of a kernel machine: one working set of all rows, on a matrix that is kept."""

from __future__ import annotations

import numpy as np
import pytest

import linsep
from linsep.core import Problem
from linsep.solvers import smo_round
from linsep.solvers.smo import SMO
from linsep.solvers.smo_active import desk_of, whole_of
from linsep.solvers.smo_parts import pairs_of


def table(n: int, classes: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, n)
    return rng.normal(size=(n, 4)) + 0.6 * np.eye(classes, 4)[label], label


@pytest.mark.parametrize(("n", "memory"), [(150, 1000.0), (2100, 1000.0), (150, 0.01)])
def test_the_matrix_of_all_rows_of_a_pair(n, memory):
    X, label = table(n, 4)
    problem = Problem(X, label)
    solver = SMO(linsep.kernels.RBF(gamma=0.3), memory=memory)
    state, pairs = solver.init(problem), pairs_of(problem, solver.kernel)
    for pair, part in zip(pairs.pairs, state.parts):
        part.active = np.arange(len(pair.y))
        desk = desk_of(pairs, pair, part, solver._limit(), False)
        K, m = whole_of(pairs, desk, pair), len(pair.y)
        rows = X[pairs.order[pair.ids]]
        np.testing.assert_allclose(K[:m, :m], solver.kernel.gram(rows), atol=1e-12)
        assert not K[m:].any() and not K[:, m:].any() and len(K) % 32 == 0
        assert whole_of(pairs, desk, pair) is K


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_one_working_set_or_many_give_the_same_machine(monkeypatch, fit_intercept):
    X, label = table(240, 3)
    settings = {"C": 3.0, "tol": 1e-8, "fit_intercept": fit_intercept}
    one = linsep.KernelSVM(**settings).fit(X, label)
    monkeypatch.setattr(smo_round, "WHOLE", 0)
    many = linsep.KernelSVM(**settings).fit(X, label)
    assert one.certificate_.relative_gap <= 1e-8 >= many.certificate_.relative_gap
    assert one.n_iter_ < many.n_iter_
    np.testing.assert_allclose(one.decision_function(X), many.decision_function(X), atol=1e-3)


def test_large_costs_leave_steps_of_two_variables_for_others():
    X, label = table(200, 2)
    model = linsep.KernelSVM(1e5, gamma=0.02).fit(X, label)
    assert model.status_ is linsep.Status.CERTIFIED
