"""The softmax bound from sums rounded once: against fractions and balls, and what it certifies."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_iris

import linsep
from linsep.core.problem import Problem
from linsep.proofs.softmax import entropy_below, nearer, on_grid, sharp_softmax, softmax_gap

SCALES = np.array([1e-8, 1e8, 1.0, 1e4, 1e-4, 1.0])


def table(seed, n=40, d=4, K=3, shift=0.0):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, d))
    y = np.argmax(Z @ rng.standard_normal((d, K)) + 1.5 * rng.gumbel(size=(n, K)), axis=1)
    y[:K] = np.arange(K)
    return (Z + shift * np.resize([0, 1], d)) * np.resize(SCALES, d), y


def exact_sums(problem, alpha):
    """V with sum_i alpha_ki in its last column, in fractions."""
    X = problem.matrix.toarray() if problem.sparse else problem.matrix
    columns = [*np.asarray(X, float).T, np.ones(problem.n)]
    numbers = [[Fraction(a) for a in row] for row in alpha.tolist()]
    return [
        [sum(a * Fraction(x) for a, x in zip(row, column.tolist())) for column in columns]
        for row in numbers
    ]


def exact_entropy(problem, alpha, cost):
    """sum_i c_i H(shares of the rivals, the rest), a ball."""
    total = flint.arb(0)
    for i, c in enumerate(cost.tolist()):
        shares = [flint.arb(-a) / flint.arb(c) for a in alpha[:, i].tolist() if a < 0]
        shares.append(1 - sum(shares, flint.arb(0)))
        total += flint.arb(c) * sum((-q * q.log() for q in shares), flint.arb(0))
    return total


@pytest.fixture
def digits():
    before, flint.ctx.prec = flint.ctx.prec, 400
    yield
    flint.ctx.prec = before


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(6))
def test_sums_and_entropies_hold_in_exact_arithmetic(seed, C, digits):
    X, y = table(seed)
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.1, 3.0, len(y))
    problem = Problem(scipy.sparse.csr_array(X) if seed % 2 else X, y, sample_weight=weight)
    cost = C * problem.weight
    given = rng.standard_normal((3, 40)) * cost * 10.0 ** rng.uniform(-18, 0.5, (3, 40))
    alpha = on_grid(given, cost, problem.label)
    fractions = [[Fraction(a) for a in row] for row in alpha.tolist()]
    assert all(sum(column) == 0 for column in zip(*fractions))
    assert all(
        0 <= fractions[k][i] < Fraction(c)
        for i, (k, c) in enumerate(zip(problem.label, cost.tolist()))
    )
    V = exact_sums(problem, alpha)
    for reference in (None, 1):
        found = sharp_softmax(problem, alpha, reference, moved=False)
        squared = sum(v * v for k, row in enumerate(V) for v in row[:-1] if k != reference)
        assert squared <= Fraction(found.squared) <= squared * (1 + Fraction(1, 10**9))
        rest = sum(abs(row[-1]) for row in V)
        assert rest <= Fraction(found.rest) <= rest * (1 + Fraction(1, 10**9))
    exact = exact_entropy(problem, alpha, cost)
    low = flint.arb(entropy_below(problem, alpha, cost))
    assert low <= exact
    assert exact - low <= exact * flint.arb(1e-10)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_dual_point_comes_nearer(intercept):
    """Probabilities right to 10 digits: V is far from W in the columns of 1e8."""
    X, y = table(4, n=40, d=8, K=5)
    problem = Problem(X, y, fit_intercept=intercept)
    model = linsep.LogisticRegression(C=1e6, fit_intercept=intercept).fit(X, y)
    W, cost = model.coef_, np.full(40, 1e6)
    noise = 1 + 1e-10 * np.random.default_rng(0).standard_normal((5, 40))
    alpha = on_grid(-model.predict_proba(X).T * noise * cost, cost, problem.label)
    before = sharp_softmax(problem, alpha, None, moved=False)
    alpha = on_grid(nearer(problem, alpha, before.V, W, cost, None), cost, problem.label)
    after = sharp_softmax(problem, alpha, None, moved=False)
    far = [float(np.linalg.norm(sums.V[:, :-1] - W)) for sums in (before, after)]
    assert far[1] < 1e-3 * far[0]


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("shape", [(60, 4, 3), (40, 8, 5), (3000, 6, 3)])
def test_columns_of_all_sizes_are_certified(shape, C):
    n, d, K = shape
    for seed in range(3):
        for shift in (0.0, 3.0):
            X, y = table(seed, n, d, K, shift)
            for intercept in (True, False):
                model = linsep.LogisticRegression(C=C, fit_intercept=intercept, tol=1e-5)
                model.fit(X, y)  # rounding alone may leave 2e-6
                assert model.status_.name == "CERTIFIED"
                assert model.certificate_.relative_gap <= 1e-5


@pytest.mark.parametrize("reference", [None, 2])
@pytest.mark.parametrize("shift", [0.0, 3.0, 1000.0])
def test_bounds_enclose_every_model(shift, reference, digits):
    """No model, whatever its weights, lies below the bound of another one."""
    X, y = table(7, shift=shift)
    problem, C = Problem(X, y), 1e6
    best = linsep.LogisticRegression(C=C, tol=1e-6).fit(X, y)
    a = np.column_stack([best.coef_, best.intercept_])
    if reference is not None:
        a = a - a[reference]
    rng = np.random.default_rng(0)
    lows = []
    for size in (0.0, 1e-15, 1e-9, 1e-3, 0.5):
        moved = a * (1 + size * rng.standard_normal(a.shape))
        gap = softmax_gap(problem, moved.ravel(), C, reference)
        lows.append(gap.lower_bound)
        exact = objective(X, y, moved, C)
        assert exact <= flint.arb(gap.objective)
        assert all(flint.arb(low) <= exact for low in lows)


def objective(X, y, a, C):
    blocks = [[flint.arb(w) for w in row] for row in a.tolist()]
    total = sum((w * w for row in blocks for w in row[:-1]), flint.arb(0)) / 2
    for x, k in zip(X.tolist(), y.tolist()):
        scores = [
            sum((w * flint.arb(v) for w, v in zip(row, x)), flint.arb(0)) + row[-1]
            for row in blocks
        ]
        total += flint.arb(C) * sum(((s - scores[k]).exp() for s in scores), flint.arb(0)).log()
    return total


def test_no_better_bound_is_looked_for_than_is_asked_for(monkeypatch):
    X, y = load_iris(return_X_y=True)
    rough = linsep.LogisticRegression(tol=1e-3).fit(X, y)
    problem = Problem(X, y)
    a = problem.join(rough.coef_, rough.intercept_)
    sharp = softmax_gap(problem, a, 1.0)
    monkeypatch.setattr("linsep.proofs.softmax._sharp", lambda *_, **__: 1 / 0)
    plain = softmax_gap(problem, a, 1.0, goal=1e-3)
    assert plain.lower_bound <= sharp.lower_bound <= sharp.objective == plain.objective
    assert plain.relative_gap <= 1e-3
    with pytest.raises(ZeroDivisionError):
        softmax_gap(problem, a, 1.0)
