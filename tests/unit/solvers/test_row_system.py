"""Scaling of Newton systems by a few long rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from linsep.core.problem import Problem
from linsep.numerics.conjugate import conjugate_gradients
from linsep.solvers import row_system as module
from linsep.solvers.row_system import LongRows, RowSystem, long_rows


def counts(n=400, d=90, seed=0):
    """Rows of which few are long, as counts of words."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.08, size=(n, d)).astype(float)
    X[rng.choice(n, 12, replace=False)] *= rng.integers(20, 90, size=(12, 1))
    X[:, -1] = 0.0
    return scipy.sparse.csr_matrix(X), np.where(np.arange(n) % 2 == 0, 1, -1)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(module, "ROWS_KEPT_APART", 0)
    monkeypatch.setattr(module, "_MOST_ROWS", 12)


@pytest.mark.parametrize("offset", [True, False])
def test_the_scaling_is_the_inverse_of_what_it_stands_for(offset):
    X, y = counts()
    problem = Problem(X, y, fit_intercept=offset)
    rng = np.random.default_rng(1)
    rows, sigma = np.array([3, 50, 51, 399]), rng.uniform(0.1, 3.0, problem.n)
    diagonal = rng.uniform(0.5, 4.0, problem.d + 1)
    Z = np.column_stack([X.toarray(), np.full(problem.n, float(offset))])[rows]
    M = np.diag(diagonal) + (Z.T * sigma[rows]) @ Z
    scaling = LongRows(problem, rows, sigma, diagonal, None)
    r = rng.normal(size=problem.d + 1)
    less, p = scaling.weigh(r), r / diagonal
    scaling.correct(p)
    np.testing.assert_allclose(p, np.linalg.solve(M, r), rtol=1e-10, atol=1e-12)
    assert float(r @ (r / diagonal)) - less == pytest.approx(float(r @ p))


def test_long_rows_are_chosen_and_rows_alike_are_not(small):
    X, y = counts()
    problem, free = Problem(X, y), np.arange(400)
    ones = np.ones(400)
    lengths = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    assert set(long_rows(problem, ones, free)) == set(np.argsort(lengths)[-12:])
    assert long_rows(problem, 1.0 / (lengths + 1.0), free) is None
    assert long_rows(problem, ones, free[:30]) is None
    assert long_rows(Problem(X.toarray(), y), ones, free) is None


@pytest.mark.parametrize("threads", [1, 2])
def test_fewer_products_lead_to_the_same_solution(small, monkeypatch, threads):
    X, y = counts()
    problem, sigma = Problem(X, y), np.random.default_rng(2).uniform(0.01, 0.25, 400)
    r = np.random.default_rng(3).normal(size=problem.d + 1)
    system = RowSystem(problem, sigma, np.arange(400), threads)
    x, _ = conjugate_gradients(system, r, 1e-10)
    back = np.empty_like(x)
    system.product(x, back)
    np.testing.assert_allclose(back, r, atol=1e-7)
    rough, _ = conjugate_gradients(system, r, 0.0, most=15)
    monkeypatch.setattr(module, "ROWS_KEPT_APART", 10**9)
    plain, _ = conjugate_gradients(system, r, 0.0, most=15)
    assert np.linalg.norm(rough - x) < 0.5 * np.linalg.norm(plain - x)
