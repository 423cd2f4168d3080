"""Kernel machines of all kernels, with kernel values from formulas written out once more."""

from __future__ import annotations

from itertools import pairwise

import flint
import numpy as np
import pytest
from hypothesis import given
from tests.unit.proofs import truth
from tests.unit.proofs.test_hinge import quadratic_programme
from tests.unit.proofs.truth import assert_close, ball, dot, examples, many_digits, tables, total

from linsep.core.problem import Problem
from linsep.kernels import (
    RBF,
    ChiSquared,
    Constant,
    Hellinger,
    Intersection,
    Linear,
    Polynomial,
    PowerMean,
    Sigmoid,
)
from linsep.kernels.additive import Levels
from linsep.kernels.blocks import KernelValues
from linsep.proofs.additive import additive_gap
from linsep.proofs.kernel import Definite, criterion, kernel_gap

__all__ = ["many_digits"]


def far(x, z):
    return total((u - v) ** 2 for u, v in zip(x, z))


def harmonic(u, v):
    return 2 * u * v / (u + v) if u > 0 and v > 0 else flint.arb(0)


def power_mean(p, u, v):
    if not (u > 0 and v > 0):
        return flint.arb(0)
    return ((u ** ball(p) + v ** ball(p)) / 2) ** (1 / ball(p))


def added(mean):
    return lambda x, z: total(mean(u, v) for u, v in zip(x, z))


# each with its formula; those of histograms take rows that are not negative
KERNELS = {
    "linear": (Linear(), dot),
    "polynomial": (Polynomial(degree=3, gamma=0.5, coef0=1.0),
                   lambda x, z: (ball(0.5) * dot(x, z) + 1) ** 3),
    "gauss": (RBF(gamma=0.7), lambda x, z: (-ball(0.7) * far(x, z)).exp()),
    "sum": (Linear() + RBF(gamma=0.7), lambda x, z: dot(x, z) + (-ball(0.7) * far(x, z)).exp()),
    "product": (Polynomial(degree=2, gamma=1.0, coef0=1.0) * RBF(gamma=0.1),
                lambda x, z: (dot(x, z) + 1) ** 2 * (-ball(0.1) * far(x, z)).exp()),
    "scaled": (0.3 * Linear(), lambda x, z: ball(0.3) * dot(x, z)),
    "constant": (Linear() + Constant(2.5), lambda x, z: dot(x, z) + ball(2.5)),
    "intersection": (Intersection(), added(lambda u, v: u.min(v))),
    "chi squared": (ChiSquared(), added(harmonic)),
    "hellinger": (Hellinger(), added(lambda u, v: (u * v).sqrt())),
    "power mean": (PowerMean(p=-2.0), added(lambda u, v: power_mean(-2.0, u, v))),
    "tanh": (Sigmoid(k=0.5, c=-0.2), lambda x, z: (ball(0.5) * dot(x, z) - ball(0.2)).tanh()),
}  # fmt: skip
HISTOGRAMS = {"intersection", "chi squared", "hellinger", "power mean"}
TAME = ("plain", "integers", "duplicates", "zero rows", "constant", "wide", "float32", "sparse")
HARD = (*TAME, "mixed", "far away")


def gram(formula, problem):
    X = [[ball(v) for v in row] for row in truth.rows(problem).tolist()]
    return [[formula(x, z) for z in X] for x in X]


def objective(K, y, cost, alpha, b):
    """|w|^2 / 2 + sum of losses of f(x) = sum alpha_i y_i K(x_i, x) + b."""
    signed = [int(s) * ball(v) for s, v in zip(y, alpha)]
    s = [dot(row, signed) for row in K]
    value = dot(signed, s) / 2
    for sign, c, f in zip(y, cost, s):
        value += ball(c) * truth.above_zero(1 - int(sign) * (f + ball(b)))
    return value


def best_dual(K, y, cost, free):
    """Dual variables that Clarabel calls the best, and the best offset for them."""
    n = len(y)
    G = np.array([[float(v) for v in row] for row in K])
    Q = y[:, None] * (0.5 * (G + G.T)) * y + 1e-12 * np.trace(np.abs(G)) / n * np.eye(n)
    balance = [y, -y] if free else []
    left = np.vstack([np.eye(n), -np.eye(n), *balance])
    right = np.concatenate([cost, np.zeros(n + len(balance))])
    alpha = quadratic_programme(Q, -np.ones(n), left, right)
    if alpha is None:
        return np.zeros(n), 0.0
    alpha = np.clip(alpha, 0.0, cost)
    s = G @ (alpha * y)
    offsets = y - s if free else np.zeros(1)
    return alpha, min(offsets, key=lambda b: float(cost @ np.maximum(1 - y * (s + b), 0.0)))


def positive_part(problem):
    """The same table with entries that are not negative."""
    return Problem(
        abs(problem.matrix), problem.label, sample_weight=problem.weight,
        fit_intercept=problem.fit_intercept,
    )  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
@examples
@given(table=tables(kinds=HARD))
def test_no_witness_gives_a_false_bound(name, table):
    kernel, formula = KERNELS[name]
    problem = positive_part(table.problem) if name in HISTOGRAMS else table.problem
    y, free, every = problem.sign, problem.fit_intercept, np.arange(problem.n)
    cost, K = table.C * problem.weight, gram(formula, problem)
    convex = name != "tanh"
    values, found, exact = KernelValues(problem, kernel), [], []
    offset = float(table.random.standard_normal()) if free else 0.0
    tried = [(v, offset) for v in table.alphas(problem.n, cost)]
    tried.append(best_dual(K, y, cost, free))
    for alpha, b in tried:
        gap = kernel_gap(values, every, y, cost, alpha, b, free=free, known=Definite(convex=convex))
        used = np.nan_to_num(alpha, posinf=0.0, neginf=0.0)
        found.append(gap)
        exact.append(objective(K, y, cost, used, b))
        assert gap.objective == np.inf or exact[-1] <= ball(gap.objective)
    best = max(gap.lower_bound for gap in found)
    assert convex or best == -np.inf
    # the least value over all functions of the span; those with a negative length are none
    assert not convex or all(ball(best) <= value for value in exact)


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "tanh"])
@examples
@given(table=tables(kinds=TAME))
def test_numbers_are_close_where_nothing_is_hostile(name, table):
    kernel, formula = KERNELS[name]
    problem = positive_part(table.problem) if name in HISTOGRAMS else table.problem
    y, free = problem.sign, problem.fit_intercept
    cost, K = min(table.C, 10.0) * problem.weight, gram(formula, problem)
    alpha, b = best_dual(K, y, cost, free)
    gap = kernel_gap(
        KernelValues(problem, kernel), np.arange(problem.n), y, cost, alpha, b, free=free
    )
    value = objective(K, y, cost, alpha, b)
    mass = float(alpha @ np.sqrt([float(K[i][i]) for i in range(problem.n)]))
    assert_close(gap, value, float(cost.sum()) * (1.0 + mass) + float(value) + mass**2)
    assert gap.gap <= 1e-4 * float(cost.sum())


@examples
@given(table=tables(kinds=HARD))
def test_the_criterion_of_a_perceptron(table):
    problem, r = table.problem, table.random
    alpha = r.integers(0, 5, problem.n).astype(float)
    b = float(r.integers(-3, 4))
    y, weight = problem.sign, problem.weight
    K = gram(dot, problem)
    gap, _ = criterion(KernelValues(problem, Linear()), y, weight, alpha, b)
    signed = [int(s) * ball(v) for s, v in zip(y, alpha)]
    sides = [int(s) * (dot(row, signed) + ball(b)) for s, row in zip(y, K)]
    value = total(ball(s) * truth.above_zero(-v) for s, v in zip(weight, sides))
    assert value <= ball(gap.objective)
    assert gap.errors >= sum(not v > 0 for v in sides)


# -- the same machines as functions of one feature each -------------------------------------------

POWERS = {"intersection": -np.inf, "chi squared": -1.0, "hellinger": 0.0, "power mean": -2.0}


def mean(p, u, v):
    if p == 0.0:
        return (u * v).sqrt()
    return u.min(v) if np.isneginf(p) else harmonic(u, v) if p == -1.0 else power_mean(p, u, v)


def additive_objective(problem, function, b, C):
    """|w|^2 / 2 + losses from the list of slots: a feature, a value, a coefficient."""
    p, starts = function.power, function.start
    slots = [
        [(ball(function.values[s]), ball(function.coef[s, 0])) for s in range(lo, hi)]
        for lo, hi in pairwise(starts)
    ]
    value = flint.arb(0)
    for own in slots:
        value += total(c * e * mean(p, u, v) for u, c in own for v, e in own) / 2
    for x, sign, c in zip(truth.rows(problem), problem.sign, truth.costs(problem, C)):
        f = ball(b)
        for own, entry in zip(slots, x):
            f += total(e * mean(p, ball(entry), v) for v, e in own)
        value += c * truth.above_zero(1 - int(sign) * f)
    return value


@pytest.mark.parametrize("name", POWERS)
@examples
@given(table=tables(kinds=TAME, intercept=True))
def test_additive_machines(name, table):
    problem, C, p = positive_part(table.problem), table.C, POWERS[name]
    every, cost = np.arange(problem.n), table.C * problem.weight
    duals = table.alphas(problem.n, cost)
    alpha, b = best_dual(gram(KERNELS[name][1], problem), problem.sign, cost, True)
    duals.append(alpha)
    function = Levels(problem.matrix, p).function(every, (duals[1] * problem.sign)[:, None])
    good = Levels(problem.matrix, p).function(every, (duals[-1] * problem.sign)[:, None])
    models = [(function, 1.5), (good, b)]
    found = [
        additive_gap(problem, f, np.array([offset]), v[None].copy(), C, name)
        for f, offset in models
        for v in duals
    ]
    exact = [additive_objective(problem, f, offset, C) for f, offset in models]
    truth.assert_true(found, [value for value in exact for _ in duals])
