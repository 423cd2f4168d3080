"""Columns of 1e8 beside columns of 1e-6: answers are certified, in float32 as in float64."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import linsep
from linsep.core.problem import Problem
from linsep.proofs.sharp import sharp_sums
from linsep.rows.levels import want_double

SCALES = np.array([1e8, 1e-6, 1e-5, 1.0])


def table(n):
    rng = np.random.default_rng(1)
    X = (rng.standard_normal((n, 4)) * SCALES).astype(np.float32)
    return X, np.where(X @ (1 / SCALES) + 2 * rng.standard_normal(n) > 0.3, 1, -1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [2000, 6000, 20000])
def test_logistic(n, dtype):
    X, y = table(n)
    model = linsep.LogisticRegression(C=0.3).fit(X.astype(dtype), y)
    assert model.status_.name == "CERTIFIED"
    assert model.certificate_.relative_gap <= 1e-3


def test_hinge():
    """Columns of 1e7: sums in float32 never closed the gap."""
    rng = np.random.default_rng(4)
    scales = np.array([1e5, 1e7, 1e3, 1.0, 1e3, 0.1])
    X = (rng.standard_normal((50_000, 6)) * scales).astype(np.float32)
    y = np.where(X @ (1 / scales) + 2 * rng.standard_normal(len(X)) > 0.3, 1, -1)
    model = linsep.LinearSVM(C=0.054, time_limit=10).fit(X, y)
    assert model.status_.name == "CERTIFIED"
    assert model.certificate_.relative_gap <= 1e-3


def test_short_sums_serve_where_columns_are_of_order_one():
    X, y = table(1000)
    even = X / SCALES.astype(np.float32)
    assert want_double(Problem(X, y), 1.0, 1e-3, None)
    assert not want_double(Problem(even, y), 1.0, 1e-3, None)
    assert want_double(Problem(even, y), 1.0, 1e-6, None)
    assert not want_double(Problem(X.astype(float), y), 1.0, 1e-3, None)  # they are wide already


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(20_000, 20, 3), (4000, 300, 6)])  # all derivatives; a product
def test_softmax(shape, dtype):
    n, d, K = shape
    rng = np.random.default_rng(0)
    scales = 10.0 ** np.linspace(-6, 7, d)
    X = (rng.standard_normal((n, d)) * scales).astype(np.float32)
    W = rng.standard_normal((K, d)) / scales / np.sqrt(d)
    y = np.argmax(X @ W.T + rng.gumbel(size=(n, K)), axis=1)
    model = linsep.LogisticRegression(C=0.1).fit(X.astype(dtype), y)
    assert model.status_.name == "CERTIFIED"
    assert model.certificate_.relative_gap <= 1e-3


def test_softmax_with_a_matrix_for_each_class():
    """More steps than the first matrix is kept for."""
    rng = np.random.default_rng(3)
    n, d, K = 8000, 260, 6
    scales = 10.0 ** rng.uniform(-6, 6, d)
    X = rng.standard_normal((n, d)) * scales
    y = np.argmax(X @ (rng.standard_normal((K, d)) / scales).T, axis=1)
    model = linsep.LogisticRegression(C=10.0, tol=1e-3).fit(X, y)
    assert model.status_.name == "CERTIFIED"
    assert model.n_iter_ > 9


@pytest.mark.parametrize("shift", [0.0, 3.0])
@pytest.mark.parametrize("n", [300, 6000, 30_000])
def test_logistic_at_a_large_cost(n, shift):
    """Columns of 1e-8 and 1e8 at C=1e6: what plain sums may be off by was nearly all of the gap."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, 6))
    y = Z @ [1, 1, 0.5, -1, 0.3, 0.2] + 1.5 * rng.standard_normal(n) > 0
    X = (Z + shift * np.array([0, 1, 0, 1, 0, 0])) * [1e-8, 1e8, 1.0, 1e4, 1e-4, 1.0]
    model = linsep.LogisticRegression(C=1e6).fit(X, y)
    assert model.status_.name == "CERTIFIED"
    assert model.certificate_.relative_gap <= 1e-3


def test_sharp_sums_of_a_dual_point():
    """Against fractions: the alpha of the heavy class are made less until all balance."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 3)) * [1e8, 1.0, 1e-8]
    problem, alpha = Problem(X, np.arange(40) % 2), rng.random(40)
    found = sharp_sums(problem, alpha, free=True)
    share = [Fraction(a) * int(y) for a, y in zip(alpha, problem.sign)]
    heavy = Fraction(1) - abs(sum(share)) / abs(sum(s for s, h in zip(share, found.heavy) if h))
    share = [s * heavy if h else s for s, h in zip(share, found.heavy)]
    assert sum(share) == 0
    sums = [sum(s * Fraction(x) for s, x in zip(share, column)) for column in X.T]
    exact = sum(v * v for v in sums)
    assert exact <= Fraction(found.squared) <= exact * (1 + Fraction(1, 10**9))
