"""Interior points or Newton's method: the one that costs less, by the prices in core/costs.py; and
sweeps over dual variables first, where these cost little beside it."""

from __future__ import annotations

import numpy as np
import pytest

from linsep import LinearSVM
from linsep.core.problem import Problem
from linsep.losses.hinge import HINGE, SQUARED_HINGE
from linsep.models.svm_choice import choose_solver


def chosen(n: int, d: int, loss=HINGE, tol: float = 1e-3) -> str:
    problem = Problem(np.ones((n, d)) + np.arange(d), np.arange(n) % 2)
    solver, _ = choose_solver(
        problem, "auto", C=1.0, loss=loss, tol=tol, seed=0, threads=1, multi_class="one-vs-rest"
    )
    return type(solver).__name__


@pytest.mark.parametrize(("n", "d", "name"), [
    (2500, 30, "InteriorHinge"), (2500, 60, "InteriorHinge"), (1000, 300, "WideHinge"),
    (3000, 300, "WideHinge"), (3000, 1000, "WideHinge"), (10_000, 100, "ProximalNewton"),
    (10_000, 30, "NewtonHinge"), (30_000, 100, "NewtonHinge"), (100_000, 20, "NewtonHinge"),
    (64_000, 500, "NewtonHinge"),
])  # fmt: skip
def test_the_cheaper_method_is_chosen(n, d, name):
    assert chosen(n, d) == name


def test_a_smooth_loss_needs_fewer_steps_of_newton():
    assert chosen(2500, 60, SQUARED_HINGE) == "NewtonHinge" != chosen(2500, 60)


@pytest.mark.parametrize("d", [1, 10, 100, 500])
def test_the_choice_changes_once_as_rows_are_added(d):
    found = [chosen(n, d) == "NewtonHinge" for n in (1000, 2000, 4000, 8000, 16_000)]
    assert found == sorted(found)


@pytest.mark.parametrize("tol", [1e-1, 1e-6, 1e-12])
def test_tol_does_not_decide_so_that_a_smaller_one_is_never_worse(tol):
    assert [chosen(n, 300, tol=tol) for n in (3000, 30_000)] == ["WideHinge", "NewtonHinge"]


def test_a_table_of_zeros_and_ones_goes_without_its_zeros():
    X = np.zeros((6000, 40))
    X[np.arange(6000), np.arange(6000) % 40] = 1.0
    y = np.arange(6000) % 7 == 0
    model = LinearSVM(tol=1e-6).fit(X, y)
    newton = LinearSVM(tol=1e-6, solver="newton").fit(X, y)
    assert "coordinate descent" in model.solver_used_
    assert model.certificate_.objective == pytest.approx(newton.certificate_.objective, rel=2e-6)


def test_both_methods_give_the_same_machine_where_the_choice_changes():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2500, 40)) * 10.0 ** rng.uniform(-1, 2, size=40)
    y = X @ rng.normal(size=40) + 30 * rng.normal(size=2500) > 0
    one = LinearSVM(solver="interior-point", tol=1e-8).fit(X, y)
    other = LinearSVM(solver="newton", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-3, atol=1e-5)
    assert one.certificate_.objective == pytest.approx(other.certificate_.objective, rel=1e-7)
