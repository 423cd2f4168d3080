"""Verdicts against HiGHS: a feasible linear program is a separator."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import linsep


def separable_by_lp(X, y, fit_intercept):
    classes = np.unique(y)
    Z = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    if len(classes) == 2:
        rows = Z * np.where(y == classes[1], 1.0, -1.0)[:, None]
    else:
        rows = []
        for z, label in zip(Z, y):
            own = int(np.searchsorted(classes, label))
            for rival in range(len(classes)):
                if rival != own:
                    row = np.zeros((len(classes), Z.shape[1]))
                    row[own], row[rival] = z, -z
                    rows.append(row.ravel())
        rows = np.array(rows)
    result = linprog(
        np.zeros(rows.shape[1]), A_ub=-rows, b_ub=-np.ones(len(rows)), bounds=(None, None)
    )
    return result.status == 0


def quasi_by_lp(X, y, fit_intercept):
    """Most that a weak separator of bounded size can gain; zero means there is none."""
    Z = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    rows = Z * np.where(y == np.unique(y)[1], 1.0, -1.0)[:, None]
    result = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1))
    return -result.fun > 1e-7


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("seed", range(25))
def test_integer_tables(seed, fit_intercept):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 60)), int(rng.integers(1, 6))
    X = rng.integers(-3, 4, (n, d)).astype(float)
    w = rng.integers(-2, 3, d)
    scores = X @ w + 0.3 * rng.standard_normal(n) * (seed % 3)
    y = (scores > np.median(scores)).astype(int)
    y[:2] = 0, 1
    proof = linsep.separability(X, y, fit_intercept=fit_intercept)
    assert proof.separable == separable_by_lp(X, y, fit_intercept)
    assert proof.check(X, y)
    if not proof.separable:
        assert proof.quasi == quasi_by_lp(X, y, fit_intercept)


@pytest.mark.parametrize("seed", range(10))
def test_several_classes(seed):
    rng = np.random.default_rng(seed)
    K, n, d = int(rng.integers(3, 6)), 40, int(rng.integers(1, 5))
    centers = rng.standard_normal((K, d)) * 4
    y = np.arange(n) % K
    X = centers[y] + rng.standard_normal((n, d)) * (0.2 + 0.3 * (seed % 3))
    proof = linsep.separability(X, y)
    assert proof.separable == separable_by_lp(X, y, True)
    assert proof.check(X, y)


@pytest.mark.parametrize("seed", range(6))
def test_one_hot_tables_dense_and_sparse(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (120, 4))
    X = np.concatenate([np.eye(6)[c] for c in codes.T], axis=1)
    y = (codes[:, 0] + codes[:, 1] + (seed % 2) * rng.integers(0, 4, 120) > 5).astype(int)
    proof = linsep.separability(X, y)
    again = linsep.separability(sparse.csr_matrix(X), y)
    assert proof.separable == again.separable == separable_by_lp(X, y, True)
    assert proof.quasi == again.quasi
    if not proof.separable:
        assert proof.quasi == quasi_by_lp(X, y, True)
    assert proof.check(X, y) and again.check(X, y)


def test_margin_against_a_quadratic_program():
    """The margin of two squares is known; a rotation and a scale must not matter."""
    rng = np.random.default_rng(0)
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    for scale in (1e-8, 1.0, 1e8):
        angle = rng.uniform(0, 2 * np.pi)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        X = np.vstack([square, square + np.array([3.0, 0.0])]) @ turn * scale
        low, high = linsep.separability(X, np.repeat([0, 1], 4)).margin
        assert low <= high <= low * (1 + 1e-6)
        assert low == pytest.approx(scale, rel=1e-9)
