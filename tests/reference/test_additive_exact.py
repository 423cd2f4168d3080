"""Certificates of AdditiveSVM against rational and high-precision arithmetic.

min(x, z) and 2 x z / (x + z) of doubles are fractions, so the objective of a model and the value
of a dual point are known exactly; other power means are enclosed by balls of 200 bits.
"""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest

from linsep.core.problem import Problem
from linsep.kernels.additive import AdditiveFunction, Levels
from linsep.proofs.additive import additive_gap

NUMBERS = [0.0, 0.0, 1.0, 2.0, 0.1, 0.3, 1e-300, 5e-324, 1e6, 1e-5, 12345.678, 1 / 3]


def mean(p, x, z):
    if x == 0 or z == 0:
        return Fraction(0)
    return min(x, z) if np.isneginf(p) else 2 * x * z / (x + z)


def ball(p, x, z):
    if x == 0 or z == 0:
        return flint.arb(0)
    x, z, p = (flint.arb(*v.as_integer_ratio()[:1]) / v.as_integer_ratio()[1] for v in (x, z, p))
    return ((x**p + z**p) / 2) ** (1 / p)


def exact_objective(value, X, sign, function, offset, cost):
    """|w|^2 / 2 + sum of losses of f(x) = sum of c_s M(x_k, v_s) + b, in the numbers of value."""
    slots = [
        (k, function.values[s], function.coef[s, 0])
        for k in range(function.d)
        for s in range(function.start[k], function.start[k + 1])
    ]
    squared = sum(
        number(c) * number(e) * value(u, v) for k, u, c in slots for j, v, e in slots if j == k
    )
    total = squared / 2
    for x, y, s in zip(X, sign, cost):
        score = number(offset) + sum(number(c) * value(x[k], v) for k, v, c in slots)
        loss = 1 - int(y) * score
        if loss > 0:
            total = total + number(s) * loss
    return total


def number(v):
    return Fraction(float(v))


def hostile(rng):
    n, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    X = rng.choice(NUMBERS, (n, d)) if rng.random() < 0.6 else rng.gamma(0.5, 3.0, (n, d))
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    return X, y, float(rng.choice([1e-3, 1.0, 1e3, 1e6]))


@pytest.mark.parametrize("p", [-np.inf, -1.0])
def test_bounds_hold_in_fractions(p):
    rng = np.random.default_rng(7)
    for _ in range(40):
        X, y, C = hostile(rng)
        problem = Problem(X, y, sample_weight=rng.choice([0.5, 1.0, 3.0], len(y)))
        alpha = rng.uniform(0, C, problem.n) * rng.integers(0, 2, problem.n)
        levels = Levels(problem.matrix, p)
        rows = np.arange(problem.n)
        function = levels.function(rows, (alpha * problem.sign)[:, None])
        offset = float(rng.normal())
        gap = additive_gap(problem, function, np.array([offset]), alpha[None], C, "")

        def value(x, z):
            return mean(p, Fraction(float(x)), Fraction(float(z)))

        exact = exact_objective(
            value, problem.matrix, problem.sign, function, offset, C * problem.weight
        )
        assert exact <= Fraction(gap.objective) <= exact * Fraction("1.0001") + Fraction(1, 10**9)
        assert Fraction(gap.lower_bound) <= exact


@pytest.mark.parametrize("p", [-np.inf, -1.0])
def test_the_lower_bound_is_that_of_the_dual_point(p):
    """A balanced point of the box: D(alpha) in fractions."""
    rng = np.random.default_rng(8)
    for _ in range(40):
        X, y, C = hostile(rng)
        problem = Problem(X, y)
        alpha = np.zeros(problem.n)
        size = C / 2.0 ** rng.integers(0, 30)
        alpha[[0, 1]] = size  # one of each class: balanced exactly
        function = AdditiveFunction(
            p, np.zeros(problem.d + 1, dtype=np.int64), np.zeros(0), np.zeros((0, 1))
        )
        gap = additive_gap(problem, function, np.zeros(1), alpha[None], C, "")
        a, b = ([Fraction(float(v)) for v in problem.matrix[i]] for i in (0, 1))
        squared = sum(mean(p, u, u) + mean(p, v, v) - 2 * mean(p, u, v) for u, v in zip(a, b))
        dual = 2 * Fraction(size) - Fraction(size) ** 2 * squared / 2
        assert Fraction(gap.lower_bound) <= max(dual, 0)
        if dual > 0:
            slack = Fraction(1, 10**9) * (2 * Fraction(size) + Fraction(size) ** 2 * squared)
            reach = Fraction(size) ** 2 * sum(a + b) / 10**10
            assert Fraction(gap.lower_bound) >= dual - slack - reach


@pytest.mark.parametrize("p", [-0.5, -2.0, -40.0, -1e-3, -1e-9])
def test_bounds_hold_in_balls(p):
    rng = np.random.default_rng(9)
    precision = flint.ctx.prec
    flint.ctx.prec = 200
    try:
        for _ in range(10):
            X, y, C = hostile(rng)
            problem = Problem(X, y)
            alpha = rng.uniform(0, C, problem.n)
            function = Levels(problem.matrix, p).function(
                np.arange(problem.n), (alpha * problem.sign)[:, None]
            )
            gap = additive_gap(problem, function, np.zeros(1), alpha[None], C, "")
            total = flint.arb(0)
            sums = [sum_of(p, x, function) for x in problem.matrix]
            for x, s in zip(sums, problem.sign):
                loss = 1 - int(s) * x
                total += max(loss, flint.arb(0)) * flint.arb(C)
            for k in range(function.d):
                own = range(function.start[k], function.start[k + 1])
                for s in own:
                    for t in own:
                        v, u = float(function.values[s]), float(function.values[t])
                        c = flint.arb(float(function.coef[s, 0])) * float(function.coef[t, 0])
                        total += c * ball(p, v, u) / 2
            assert total < flint.arb(gap.objective) or total.overlaps(flint.arb(gap.objective))
            assert flint.arb(gap.lower_bound) < total
    finally:
        flint.ctx.prec = precision


def sum_of(p, x, function):
    total = flint.arb(0)
    for k in range(function.d):
        for s in range(function.start[k], function.start[k + 1]):
            v = float(function.values[s])
            total += flint.arb(float(function.coef[s, 0])) * ball(p, float(x[k]), v)
    return total
