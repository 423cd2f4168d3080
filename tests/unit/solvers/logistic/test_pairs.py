"""Steps by pairs on dense rows, and the factor of a sample that takes over."""

import numpy as np
import pytest

import linsep
from linsep.core import Problem, drive
from linsep.core.checkpoint import load_checkpoint, save_checkpoint
from linsep.core.limits import Limits
from linsep.solvers.logistic.conjugate import LogisticCG, sample_scaling
from linsep.solvers.logistic.newton import NewtonLogistic


def table(n=2000, d=80, *, mixed=False, seed=3):
    """Columns that are nearly independent, or mixtures of few large parts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if mixed:
        X = X @ (rng.normal(size=(d, d)) * np.logspace(0, -2.5, d)[:, None])
        X /= X.std(axis=0)
    return X, X @ rng.normal(size=d) + 3.0 * rng.normal(size=n) > 0


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("mixed", [False, True])
def test_the_end_is_that_of_newtons_method(mixed, offset):
    X, y = table(mixed=mixed)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    problem = Problem(X, y, sample_weight=weight, fit_intercept=offset)
    found = drive(problem, LogisticCG(C=2.0, tol=1e-12))
    known = drive(problem, NewtonLogistic(C=2.0, tol=1e-14))
    assert found.status.name == "CERTIFIED"
    np.testing.assert_allclose(found.witness.a, known.witness.a, rtol=1e-4, atol=1e-6)


def test_easy_rows_take_a_few_passes_and_no_factor():
    problem = Problem(*table(6000, 60))
    out = drive(problem, LogisticCG(tol=1e-3))
    assert out.passes < 10 and not out.state.pivot.size and out.state.paired


def test_hard_columns_are_handed_over_to_a_factor_and_resumed_with_the_same_bits(tmp_path):
    X, y = table(3000, 60, mixed=True)
    solver = LogisticCG(tol=1e-10)
    whole = drive(Problem(X, y), solver)
    assert whole.state.pivot.size and not whole.state.paired and whole.passes < 60
    for steps in (4, whole.steps - 2):  # among pairs, and after them
        problem = Problem(X, y)
        half = drive(problem, solver, limits=Limits(steps=steps)).state
        save_checkpoint(tmp_path / "run.npz", problem, solver, half)
        fresh = Problem(X, y)
        again = load_checkpoint(tmp_path / "run.npz", fresh, solver)
        np.testing.assert_array_equal(drive(fresh, solver, again).witness.a, whole.witness.a)


def test_the_factor_of_few_rows_is_that_of_all_second_derivatives():
    X, y = table(300, 40)
    problem = Problem(X, y)
    a = np.random.default_rng(1).normal(size=41) / 10
    m = problem.values(a)
    Z = np.column_stack([X, np.ones(300)])
    bend = np.exp(-np.abs(m)) / (1 + np.exp(-np.abs(m))) ** 2
    H = 5.0 * (Z.T * bend) @ Z + np.diag([1.0] * 40 + [0.0])
    scaling = sample_scaling(problem, a, 5.0, 1.0, 0, None)
    r = np.random.default_rng(2).normal(size=41)
    less = scaling.weigh(r)
    p = scaling.inverse * r
    scaling.correct(p)
    np.testing.assert_allclose(p, np.linalg.solve(H, r), rtol=1e-8)
    assert r @ (scaling.inverse * r) - less == pytest.approx(r @ p)


@pytest.mark.parametrize("shape", [(4000, 90), (9000, 20), (700, 1500)])
def test_a_tol_that_is_given_ends_the_fit_and_the_default_goes_further(shape):
    X, y = table(*shape)
    rough = linsep.LogisticRegression(tol=1e-2).fit(X, y)
    fine = linsep.LogisticRegression().fit(X, y)
    assert rough.certificate_.relative_gap <= 1e-2
    assert fine.certificate_.relative_gap <= 1e-6
    assert rough.outcome_.passes < fine.outcome_.passes
    assert fine.certificate_.objective <= rough.certificate_.objective
