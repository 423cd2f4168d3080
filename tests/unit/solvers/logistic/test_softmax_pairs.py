"""Softmax by pairs of steps alone, and the matrix that takes over."""

import numpy as np
import pytest

import linsep
from linsep.core import Problem, drive
from linsep.core.checkpoint import load_checkpoint, save_checkpoint
from linsep.core.limits import Limits
from linsep.rows.softmax import SoftmaxRows
from linsep.solvers.logistic.softmax import NewtonSoftmax


def table(n=3000, d=24, K=5, *, mixed=False, seed=4):
    """Blobs of unequal sizes, with columns that are mixtures of few large parts if asked for."""
    rng = np.random.default_rng(seed)
    y = np.minimum(rng.integers(0, K, n), rng.integers(0, K, n))
    X = 0.6 * rng.normal(size=(K, d))[y] + rng.normal(size=(n, d))
    if mixed:
        X = X @ (rng.normal(size=(d, d)) * np.logspace(0, -3, d)[:, None])
    return X, y


@pytest.mark.parametrize("settings", [{}, {"reference": 2}, {"offset": False}])
@pytest.mark.parametrize("mixed", [False, True])
def test_the_end_is_that_of_newtons_method(mixed, settings):
    X, y = table(mixed=mixed)
    offset, reference = settings.get("offset", True), settings.get("reference")
    problem = Problem(X, y, fit_intercept=offset)
    solver = NewtonSoftmax(C=0.5, tol=1e-11, reference=reference)
    assert solver.init(problem).paired
    found = drive(problem, solver).witness.a
    state = solver.init(problem)
    state.paired = False
    np.testing.assert_allclose(found, drive(problem, solver, state).witness.a, atol=2e-4)


def test_hard_columns_are_handed_over_and_resumed_with_the_same_bits(tmp_path):
    X, y = table(mixed=True)
    solver = NewtonSoftmax(tol=1e-9)
    whole = drive(Problem(X, y), solver)
    assert whole.status.name == "CERTIFIED" and whole.state.kind == "blocks"
    for steps in (5, whole.steps - 1):
        problem = Problem(X, y)
        half = drive(problem, solver, limits=Limits(steps=steps)).state
        save_checkpoint(tmp_path / "run.npz", problem, solver, half)
        fresh = Problem(X, y)
        again = load_checkpoint(tmp_path / "run.npz", fresh, solver)
        np.testing.assert_array_equal(drive(fresh, solver, again).witness.a, whole.witness.a)


def test_easy_blobs_need_no_matrix_and_a_tol_that_is_given_ends_the_fit():
    X, y = table(8000, 30, 6)
    rough = linsep.LogisticRegression(tol=5e-2).fit(X, y)
    fine = linsep.LogisticRegression().fit(X, y)
    assert rough.outcome_.state.kind == "" and rough.certificate_.relative_gap <= 5e-2
    assert fine.certificate_.relative_gap <= 1e-6


@pytest.mark.parametrize("K", [3, 12])
def test_second_derivatives_of_few_and_of_many_classes_are_those_of_the_definition(K):
    random = np.random.default_rng(K)
    X, label, n = random.normal(size=(40, 1)), random.integers(0, K, 40), 40
    cost, p = random.uniform(1, 2, n), random.dirichlet(np.ones(K), n).T
    rows = SoftmaxRows(X, label, cost, K, double=True, threads=None, influence=np.ones(n))
    Z = np.column_stack([X, np.ones(n)])
    bend = [np.diag(q) - np.outer(q, q) for q in p.T]
    due = sum(c * np.einsum("km,i,j->kmij", b, z, z) for c, b, z in zip(cost, bend, Z))
    np.testing.assert_allclose(rows.second_derivatives(p, None, cost), due, atol=1e-12)
