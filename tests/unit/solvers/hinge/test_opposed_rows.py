"""Equal rows with opposite labels: found, and raised to the best dual point at once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep import LinearSVM
from linsep.core import drive
from linsep.core.limits import Limits
from linsep.core.problem import Problem
from linsep.losses import machine_loss
from linsep.solvers.hinge.proximal import ProximalNewton, opposed_rows


def table(seed, n=40, d=3, distinct=8):
    """Rows drawn from a few points, with labels and weights of their own."""
    rng = np.random.default_rng(seed)
    points = rng.integers(-2, 3, size=(distinct, d)).astype(float)
    X = points[rng.integers(distinct, size=n)]
    y = np.where(rng.random(n) < 0.6, 1, -1)
    y[:2] = 1, -1
    return X, y, rng.random(n) + 0.5


def dual(X, y, alpha, cost, loss):
    v = (alpha * y) @ X
    curved = (alpha**2 / (4 * cost)).sum() if loss == "squared_hinge" else 0.0
    return alpha.sum() - 0.5 * v @ v - curved


@pytest.mark.parametrize("sparse", [True, False])
def test_those_and_only_those_are_found(sparse):
    for seed in range(20):
        X, y, s = table(seed)
        problem = Problem(scipy.sparse.csr_array(X) if sparse else X, y, sample_weight=s)
        rows = {tuple(x): set() for x in X}
        for x, label in zip(X, y):
            rows[tuple(x)].add(int(label))
        expected = [i for i, x in enumerate(X) if len(rows[tuple(x)]) == 2]
        assert sorted(opposed_rows(problem).rows.tolist()) == expected


@given(seed=st.integers(0, 10**6), loss=st.sampled_from(["hinge", "squared_hinge"]))
@settings(max_examples=60, deadline=None)
def test_sums_stay_and_the_dual_value_grows(seed, loss):
    X, y, s = table(seed)
    rng = np.random.default_rng(seed + 1)
    cost = 3.0 * s
    alpha = cost * rng.random(len(y)) * (rng.random(len(y)) < 0.7)
    opposed = opposed_rows(Problem(X, y, sample_weight=s))
    raised = opposed.raised(alpha, cost, machine_loss(loss))
    assert (raised >= 0).all()
    assert loss == "squared_hinge" or (raised <= cost).all()
    assert (raised * y) @ X == pytest.approx((alpha * y) @ X, abs=1e-9)
    assert (raised * y).sum() == pytest.approx((alpha * y).sum(), abs=1e-9)
    found = dual(X, y, raised, cost, loss)
    assert found >= dual(X, y, alpha, cost, loss) - 1e-9
    for shift in rng.normal(size=(20, opposed.count)) * 0.1:  # no common move of a group is better
        other = raised.copy()
        other[opposed.rows] += (shift / opposed._sums(np.ones(len(opposed.rows))).T).T.ravel()[
            opposed.side
        ]
        if (other < 0).any() or (loss == "hinge" and (other > cost).any()):
            continue
        assert dual(X, y, other, cost, loss) <= found + 1e-9


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("offset", [True, False])
def test_contradictions_at_a_large_cost_take_few_steps(loss, offset):
    """Wide separable rows, some of them also with the other label: alpha is C there."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((300, 2000), density=0.01, random_state=rng, format="csr") * 30.0
    y = np.where(rng.random(300) < 0.5, 1, -1)
    X, y = scipy.sparse.vstack([X, X[:20]], format="csr"), np.append(y, -y[:20])
    problem = Problem(X, y, fit_intercept=offset)
    out = drive(problem, ProximalNewton(C=1e4, loss=machine_loss(loss), sweeps=4))
    assert out.status.name == "CERTIFIED"
    assert out.steps < 60
    model = LinearSVM(C=1e4, loss=loss, fit_intercept=offset).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3


def test_a_gap_that_rounding_forbids_is_not_gone_for_without_an_end():
    """Where rounding ends a run depends on the last bits; that it ends does not."""
    ends = set()
    for largest in (1e14, 1e16, 1e18):
        rng = np.random.default_rng(0)
        scales = np.array([largest, 1.0, 1.0, 1e-3, 10.0])
        X = rng.standard_normal((200, 5)) * scales
        y = np.where(X @ (1 / scales) + rng.standard_normal(200) > 0, 1, -1)
        solver = ProximalNewton(C=1e5, sweeps=2)
        ends.add(drive(Problem(X, y), solver, limits=Limits(steps=10_000)).status.name)
    assert "STALLED" in ends and ends <= {"STALLED", "CERTIFIED"}
