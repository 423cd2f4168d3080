"""Dual values from sums that are rounded once, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import linsep
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.losses.hinge import HINGE
from linsep.proofs.hinge import Objective, hinge_gap, sharp_dual


def exact_dual(X, sign, alpha, *, free):
    """D(alpha) in fractions, the heavier class scaled down until the classes are in balance."""
    a = [Fraction(float(v)) for v in alpha]
    y = [int(v) for v in sign]
    if free:
        plus = sum(v for v, s in zip(a, y) if s > 0)
        minus = sum(v for v, s in zip(a, y) if s < 0)
        if not plus or not minus:
            return None
        a = [v * min(1, minus / plus if s > 0 else plus / minus) for v, s in zip(a, y)]
    columns = [sum(v * s * Fraction(float(x)) for v, s, x in zip(a, y, col)) for col in X.T]
    return sum(a) - sum(v * v for v in columns) / 2


@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([1e-200, 1e-8, 1.0, 1e8, 1e60]),
    cost=st.sampled_from([1e-12, 1.0, 1e7]),
    free=st.booleans(),
    sparse=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_it_is_a_lower_bound_and_a_close_one(seed, size, cost, free, sparse):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 30)), int(rng.integers(1, 4))
    X = rng.standard_normal((n, d)) * size ** rng.random(d)
    y = np.where(np.arange(n) % 2, 1, -1)
    alpha = cost * rng.random(n) * (rng.random(n) < 0.7)
    problem = Problem(scipy.sparse.csr_array(X) if sparse else X, y, fit_intercept=free)
    found = sharp_dual(problem, alpha, free=free)
    true = exact_dual(X, problem.sign, alpha, free=free)
    if true is None or found is None:
        assert found is None or Fraction(found) <= 0
        return
    assert Fraction(found) <= true
    scale = abs(true) + Fraction(float(alpha.sum()))
    assert true - Fraction(found) <= Fraction(1, 10**13) * scale


def test_bounds_are_sharp_where_columns_cancel():
    """v = 0 to sixteen digits: the usual bound of errors is larger than all of D."""
    rng = np.random.default_rng(0)
    n = 4000
    half = rng.standard_normal((n // 2, 2)) * [1e9, 1.0]
    X = np.vstack([half, half])
    y = np.repeat([1, -1], n // 2)
    problem = Problem(X, y)
    witness = Witness(np.zeros(3), np.arange(n), np.full(n, 1e4), claim="dual")
    gap = hinge_gap(problem, witness, Objective(HINGE, 1e4, "free"))
    assert gap.lower_bound == pytest.approx(1e4 * n, rel=1e-9)


def test_not_tried_where_products_overflow():
    problem = Problem(np.array([[1e200], [-1e200]]), [1, -1])
    assert sharp_dual(problem, np.ones(2), free=True) is None
    assert sharp_dual(problem, np.zeros(2), free=True) is None


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_large_costs_beside_columns_of_1e8_are_certified(loss):
    rng = np.random.default_rng(1)
    scales = np.array([1e8, 1e-6, 1e-5, 1.0])
    X = rng.standard_normal((20_000, 4)) * scales
    y = np.where(X @ (1 / scales) + 2 * rng.standard_normal(len(X)) > 0.3, 1, -1)
    model = linsep.LinearSVM(C=1e4, loss=loss).fit(X, y)
    assert model.status_.name == "CERTIFIED" and model.certificate_.relative_gap <= 1e-3
    again = linsep.certify(model, X, y)
    assert again.lower_bound == pytest.approx(model.certificate_.lower_bound, rel=1e-6)
