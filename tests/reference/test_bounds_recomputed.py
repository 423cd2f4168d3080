"""Bounds of models with an L1 penalty, and of the machine of Crammer and Singer, in balls.

The objective is recomputed with 300 bits. No upper bound may lie below it and no lower bound above
the objective of any model at all, not by one unit in the last place.
"""

from __future__ import annotations

import flint
import numpy as np
import pytest
import scipy.sparse

import linsep
from linsep.core.problem import Problem
from linsep.losses import LOSSES
from linsep.losses.hinge import HINGE
from linsep.proofs.hinge import Objective
from linsep.proofs.l1 import l1_gap
from linsep.proofs.rivals import rivals_gap

KINDS = ["plain", "duplicates", "zero rows", "constant", "mixed", "tiny", "huge", "far away"]


@pytest.fixture(autouse=True)
def digits():
    before, flint.ctx.prec = flint.ctx.prec, 300
    yield
    flint.ctx.prec = before


def table(seed, kind, K):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(K + 2, 25)), int(rng.integers(1, 5))
    Z = rng.standard_normal((n, d)) if seed % 2 else rng.integers(-2, 3, (n, d)).astype(float)
    y = rng.integers(0, K, n)
    y[:K] = np.arange(K)
    if kind == "duplicates":
        Z[::2] = Z[0]
    elif kind == "zero rows":
        Z[::3] = 0.0
    elif kind == "constant":
        Z[:, 0] = 7.0
    elif kind == "far away":
        Z += 1e6
    else:
        Z = Z * {"mixed": 10.0 ** rng.uniform(-8, 8, d), "tiny": 1e-150, "huge": 1e120}.get(kind, 1)
    weight = None
    if seed % 3 == 0:
        weight = rng.uniform(0.1, 2.0, n) * 10.0 ** rng.uniform(-3, 3)
        if seed % 2:  # a class may be left without rows
            weight[K:] *= rng.random(n - K) < 0.6
            weight[(y == K - 1) & (K > 2)] = 0.0
    X = scipy.sparse.csr_array(Z) if seed % 5 == 4 else Z
    return X, y, weight, (1.0 if seed % 4 == 0 else 10.0 ** rng.uniform(-6, 6)), rng


def dense(problem):
    return np.asarray(problem.matrix.toarray() if problem.sparse else problem.matrix, float)


def score(weights, x):
    return sum((w * flint.arb(v) for w, v in zip(weights, x)), flint.arb(0)) + weights[-1]


def exact_l1(problem, a, loss, objective):
    w = [flint.arb(v) for v in a.tolist()]
    total = sum((abs(v) for v in w[:-1]), flint.arb(0))
    if objective.intercept == "penalised":
        total += abs(w[-1] / flint.arb(objective.constant))
    rows = zip(dense(problem).tolist(), problem.sign.tolist(), problem.weight.tolist())
    for x, sign, c in rows:
        m = sign * score(w, x)
        if loss == "logistic":
            value = (1 + (-m).exp()).log() if m > -1000 else (1 + m.exp()).log() - m
        else:
            value = (1 - m) ** 2 if m < 1 else flint.arb(0)
        total += flint.arb(objective.C) * flint.arb(c) * value
    return total


def exact_machine(problem, a, C):
    blocks = [[flint.arb(v) for v in row] for row in a.reshape(problem.K, -1).tolist()]
    total = sum((w * w for row in blocks for w in row[:-1]), flint.arb(0)) / 2
    for x, k, c in zip(dense(problem).tolist(), problem.label.tolist(), problem.weight.tolist()):
        scores = [score(row, x) for row in blocks]
        worst = flint.arb(0)
        for rival in scores[:k] + scores[k + 1 :]:
            lead = 1 + rival - scores[k]
            worst = lead if lead > worst else worst
        total += flint.arb(C) * flint.arb(c) * worst
    return total


def assert_enclosed(gaps, exact):
    for gap, value in zip(gaps, exact):
        assert gap.objective == np.inf or value <= flint.arb(gap.objective)
    best = max(gap.lower_bound for gap in gaps)
    assert all(flint.arb(best) <= value for value in exact)


def best_offset(problem, loss, C):
    """b alone, the weights being 0: a model that is often the best one, to the last digit."""
    plus, minus = problem.weight[problem.sign > 0].sum(), problem.weight[problem.sign < 0].sum()
    b = np.log(plus / minus) if loss == "logistic" else (plus - minus) / (plus + minus)
    return np.append(np.zeros(problem.d), b)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("intercept", ["free", "none", "penalised"])
def test_l1(intercept, loss, kind):
    for seed in range(8):
        X, y, weight, C, rng = table(seed, kind, 2)
        problem = Problem(X, y, sample_weight=weight, fit_intercept=intercept != "none")
        constant = float(rng.choice([1.0, 0.5, 10.0]))
        objective = Objective(HINGE, C, intercept, constant)
        size = np.abs(dense(problem)).max(axis=0)
        size = np.where(size > 0, size, 1.0)
        models = [np.zeros(problem.d + 1)]
        models += [np.append(rng.standard_normal(problem.d) / size * t, t) for t in (1e-9, 0.3)]
        if intercept == "none":
            models = [np.append(a[:-1], 0.0) for a in models]
        else:
            models.append(best_offset(problem, loss, C))
        gaps = [l1_gap(problem, a, LOSSES[loss], objective) for a in models]
        assert_enclosed(gaps, [exact_l1(problem, a, loss, objective) for a in models])


def test_l1_bounds_are_close_where_no_weight_pays():
    """C so small that all weights are 0: the bound is the objective, but for a few roundings."""
    X, y, _, _, _ = table(1, "plain", 2)
    problem = Problem(X, y)
    for loss in ("logistic", "squared_hinge"):
        a = best_offset(problem, loss, 1e-6)
        gap = l1_gap(problem, a, LOSSES[loss], Objective(HINGE, 1e-6, "free"))
        assert 0 < gap.relative_gap <= 1e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intercept", [True, False])
def test_machine(intercept, kind):
    for seed in range(8):
        K = 12 if seed == 5 else 3 + seed % 2
        X, y, weight, C, rng = table(seed, kind, K)
        problem = Problem(X, y, sample_weight=weight, fit_intercept=intercept)
        cost = C * problem.weight[:, None]
        size = np.append(np.abs(dense(problem)).max(axis=0), 1.0)
        blocks = rng.standard_normal((K, problem.d + 1)) / np.where(size > 0, size, 1.0)
        empty = np.bincount(problem.label, minlength=K) == 0
        blocks[:, -1] -= 1e15 * empty  # nobody holds this class up
        blocks[:, -1] *= intercept
        models = [np.zeros(problem.dim), blocks.ravel(), 1e-9 * blocks.ravel()]
        even = np.repeat(-cost / (K - 1), K, axis=1)
        duals = [even, even * rng.uniform(0.0, 1.5, even.shape)]
        gaps = [rivals_gap(problem, a, alpha, C) for a in models for alpha in duals]
        exact = [exact_machine(problem, a, C) for a in models for _ in duals]
        assert_enclosed(gaps, exact)


@pytest.mark.parametrize("seed", range(6))
def test_fitted_machine(seed):
    X, y, weight, _, _ = table(seed, "plain", 3)
    weight = None if weight is None else np.maximum(weight, 0.1)
    model = linsep.LinearSVM(C=0.5, multi_class="crammer-singer", tol=1e-6)
    model.fit(X, y, sample_weight=weight)
    problem = Problem(X, y, sample_weight=weight)
    a = np.column_stack([model.coef_, model.intercept_]).ravel()
    exact = exact_machine(problem, a, 0.5)
    assert_enclosed([model.certificate_], [exact])
    assert model.certificate_.relative_gap <= 1e-6


def test_overflow_proves_nothing():
    X = np.array([[1e160, 1.0], [-1e160, 2.0], [0.0, 1.0], [1.0, 1.0]])
    problem = Problem(X, [0, 1, 2, 2])
    gap = rivals_gap(problem, np.zeros(9), -np.ones((4, 3)), 1.0)
    assert gap.lower_bound == 0.0
    assert gap.objective >= 4.0
