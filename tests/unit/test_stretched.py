"""Weights made longer until what rows lack no longer pays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep import LinearSVM
from linsep.core import Problem
from linsep.solvers.dual_point import stretched


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


def test_separable_rows_at_a_huge_cost_need_few_sweeps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 400))
    y = X[:, 0] > 0
    model = LinearSVM(C=1e6, solver="dual-cd", fit_intercept=False).fit(X, y)
    assert model.status_.ok and model.certificate_.relative_gap <= 1e-3
    assert model.outcome_.steps <= 600
