"""Minimax and Neyman-Pearson against linear programs solved by HiGHS, intervals against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binomtest

from linsep.risk import minimax, neyman_pearson
from linsep.risk.intervals import binomial_interval


def minimax_by_lp(p, W):
    """min t subject to r_k(q) <= t, q(x, .) a distribution."""
    n, K = p.shape
    D = len(W)
    risk = np.einsum("xk,dk->kxd", p, W).reshape(K, n * D)
    result = linprog(
        np.r_[np.zeros(n * D), 1.0],
        A_ub=np.column_stack([risk, -np.ones(K)]),
        b_ub=np.zeros(K),
        A_eq=np.column_stack([np.kron(np.eye(n), np.ones((1, D))), np.zeros(n)]),
        b_eq=np.ones(n),
        bounds=[(0, None)] * (n * D) + [(None, None)],
    )
    return result.fun


@pytest.mark.parametrize("seed", range(12))
def test_minimax_agrees_with_the_lp(seed):
    rng = np.random.default_rng(seed)
    n, K, D = rng.integers(1, 25), rng.integers(1, 5), rng.integers(1, 5)
    p = rng.dirichlet(np.ones(n), size=K).T
    W = rng.integers(0, 6, size=(D, K)) + (rng.random((D, K)) if seed % 2 else 0.0)
    answer = minimax(p, W)
    assert answer.risk == pytest.approx(minimax_by_lp(p, W), abs=1e-7)
    assert answer.risk == pytest.approx(answer.lower_bound, abs=1e-12)
    assert answer.check()


def test_minimax_of_a_large_table_agrees_with_the_lp():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(200), size=3).T
    assert minimax(p).risk == pytest.approx(minimax_by_lp(p, 1 - np.eye(3)), abs=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_neyman_pearson_agrees_with_the_lp(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    p = rng.dirichlet(np.full(n, 0.5), size=2).T
    eps = rng.random() ** 2
    best = linprog(-p[:, 1], A_ub=p[None, :, 0], b_ub=[eps], bounds=[(0, 1)] * n)
    assert neyman_pearson(p, eps).power == pytest.approx(-best.fun, abs=1e-7)


@pytest.mark.parametrize(("count", "n"), [(0, 7), (7, 7), (3, 11), (50, 1000)])
def test_binomial_interval_is_that_of_clopper_and_pearson(count, n):
    reference = binomtest(count, n).proportion_ci(0.9, method="exact")
    assert binomial_interval(count, n, 0.9) == pytest.approx((reference.low, reference.high))
