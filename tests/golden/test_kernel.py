"""XOR with the kernel (x.z + 1)^2 and the hard margin of the lecture: exact numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import linsep
from linsep.kernels import Linear, Polynomial


@pytest.fixture(scope="module", params=[1.0, np.inf])
def xor(request):
    table = linsep.data.load("xor")
    model = linsep.KernelSVM(C=request.param, kernel=Polynomial(degree=2)).fit(table.X, table.y)
    return model, table


def test_xor_has_alpha_one_eighth_and_no_offset(xor):
    model, _ = xor
    assert abs(model.dual_coef_).tolist() == [[0.125] * 4]
    assert model.intercept_.tolist() == [0.0]
    assert sorted(model.support_.tolist()) == [0, 1, 2, 3]
    assert model.certificate_.objective == pytest.approx(0.25, rel=1e-9)
    assert model.certificate_.lower_bound == pytest.approx(0.25, rel=1e-9)
    assert model.certificate_.width == pytest.approx(2 * np.sqrt(2), rel=1e-12)


def test_xor_in_the_feature_space(xor):
    model, table = xor
    x1, x2 = model.support_vectors_.T
    root = np.sqrt(2)
    phi = np.column_stack([np.ones(4), root * x1, root * x2, root * x1 * x2, x1**2, x2**2])
    w = model.dual_coef_[0] @ phi
    sign = -1.0 if table.y[0] == 1 else 1.0  # which class the table calls positive
    assert w == pytest.approx([0, 0, 0, sign / root, 0, 0], abs=1e-15)
    points = np.random.default_rng(0).normal(size=(20, 2))
    assert model.decision_function(points) == pytest.approx(sign * points.prod(axis=1), abs=1e-14)


def test_hard_margin_of_four_points():
    table = linsep.data.load("mse-1")
    model = linsep.KernelSVM(C=np.inf, kernel=Linear()).fit(table.X, table.y)
    alpha = np.zeros(4)
    alpha[model.support_] = abs(model.dual_coef_[0])
    assert alpha == pytest.approx([2, 0.5, 2.5, 0], abs=1e-9)
    w = model.dual_coef_[0] @ model.support_vectors_
    assert w == pytest.approx([2, -1], abs=1e-9)
    assert model.intercept_ == pytest.approx([-2], abs=1e-9)
    assert model.certificate_.margin == pytest.approx(1 / np.sqrt(5), rel=1e-9)


def test_violators_are_support_vectors_too():
    table = linsep.data.load("five-points")
    model = linsep.KernelSVM(C=1.0, kernel="linear").fit(table.X, table.y)
    value = table.y * model.decision_function(table.X)
    slack = np.maximum(0, 1 - value)
    inside = np.flatnonzero(value < 1 - 1e-9)
    assert set(inside) <= set(model.support_.tolist())
    assert slack.sum() >= (value <= 0).sum()
    linear = linsep.LinearSVM(C=1.0).fit(table.X, table.y)
    assert model.certificate_.objective == pytest.approx(linear.certificate_.objective, rel=1e-6)


def test_pairs_of_rows_one_after_the_other():
    """working_set=2: each step moves two rows, as far as the dual of the two alone asks for."""
    X, y = linsep.data.load("xor")
    run = linsep.trace(linsep.KernelSVM(kernel=Polynomial(2), working_set=2), X, y)
    assert [f"{step.lower_bound:.9g}" for step in run] == ["0", "0.125", "0.25"]
    named = [set(re.findall(r"row (\d)", step.why.split(":")[0])) for step in run[1:]]
    assert all(len(rows) == 2 for rows in named) and named[0] | named[1] == set("0123")
    table = linsep.data.load("mse-1")
    slow = linsep.KernelSVM(float("inf"), kernel="linear", working_set=2).fit(table.X, table.y)
    np.testing.assert_allclose([*slow.coef_[0], *slow.intercept_], [2, -1, -2], atol=1e-6)
    assert slow.n_iter_ > 3 and "of 2 rows" in slow.solver_used_
