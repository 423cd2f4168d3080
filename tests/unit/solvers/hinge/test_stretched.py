"""Weights made longer until what rows lack no longer pays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep import LinearSVM
from linsep.core.problem import Problem
from linsep.losses.hinge import best_stretch
from linsep.solvers.hinge.dual_point import stretched


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    C=st.sampled_from([1e-2, 1.0, 1e4]),
    half=st.sampled_from([1e-2, 1.0, 30.0]),
    shift=st.sampled_from([-1.0, 0.0, 0.9]),
)
def test_no_other_factor_is_better(seed, C, half, shift):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 20))
    weight = rng.choice([0.5, 1.0, 3.0], n)
    problem = Problem(rng.normal(size=(n, 1)), np.arange(n) % 2, sample_weight=weight)
    values = rng.normal(size=n) + shift

    def objective(t):
        return half * t * t + C * float(weight @ np.maximum(0.0, 1.0 - t * values))

    t, found = stretched(problem, C, half, values, objective(1.0))
    corners = 1.0 / values[(values > 1e-3) & (values < 1.0)]
    others = [objective(x) for x in (*np.geomspace(1.0, 1e3, 300), *corners)]
    assert t >= 1.0 and found == pytest.approx(objective(t))
    assert found <= min(others) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_factor_stays_below_its_limit(seed):
    rng = np.random.default_rng(seed)
    cost, margin = rng.gamma(1.0, 3.0, 20), 1.0 + 0.2 * rng.standard_normal(20)
    squared = float(rng.gamma(1.0, 20.0))

    def objective(s):
        return 0.5 * squared * s**2 + float(cost @ np.maximum(0.0, 1 - s * margin))

    s = best_stretch(squared, cost, margin, 1.4)
    assert 1.0 <= s <= 1.4
    grid = np.linspace(1.0, 1.4, 2001)
    assert objective(s) <= min(map(objective, grid)) + 1e-9


def test_a_machine_at_its_bounds_is_not_made_longer():
    assert best_stretch(1.0, np.array([5.0]), np.array([0.9]), 1.0) == 1.0


def test_separable_rows_at_a_huge_cost_need_few_sweeps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 400))
    y = X[:, 0] > 0
    model = LinearSVM(C=1e6, solver="dual-cd", fit_intercept=False).fit(X, y)
    assert model.status_.ok and model.certificate_.relative_gap <= 1e-3
    assert model.outcome_.steps <= 600
