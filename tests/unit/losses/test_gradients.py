"""Numerical gradients and the check of gradients."""

from __future__ import annotations

import numpy as np
import pytest

import linsep
from linsep.core.problem import Problem
from linsep.errors import SettingError
from linsep.losses import check_gradient, numerical_gradient
from linsep.rows.normal import aims, columns_of, flat, totals


def test_the_gradient_of_squared_errors_has_the_factor_two():
    table = linsep.data.load("mse-1")
    problem = Problem(table.X, table.y)
    T = aims(problem)

    def cost(a):
        return float(totals(problem, columns_of(problem, a), T).cost(problem).sum())

    def half(a):
        return flat(problem, totals(problem, columns_of(problem, a), T).gradient)

    a = np.array([0.3, -0.2, 0.5])
    assert check_gradient(cost, lambda a: 2 * half(a), a)
    wrong = check_gradient(cost, half, a)
    assert not wrong
    assert wrong.error == pytest.approx(0.5, rel=1e-6)
    assert "is wrong" in str(wrong)


def test_central_differences_of_smooth_functions():
    x = np.array([[0.5, -2.0], [100.0, 0.0]])
    got = numerical_gradient(lambda v: float(np.sin(v).sum() + (v**2).sum()), x)
    np.testing.assert_allclose(got, np.cos(x) + 2 * x, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(x, [[0.5, -2.0], [100.0, 0.0]])


@pytest.mark.parametrize("step", [0, -1.0, np.nan, np.inf])
def test_bad_steps_and_shapes_are_refused(step):
    with pytest.raises(SettingError, match="step"):
        numerical_gradient(lambda v: 0.0, [1.0], step=step)
    with pytest.raises(SettingError, match="shape"):
        check_gradient(lambda v: 0.0, lambda v: [1.0, 2.0], [1.0])


def test_squares_are_drawn_with_the_path_of_descent():
    import matplotlib

    matplotlib.use("Agg")
    x, y = np.array([[-1.0], [-0.5], [1.0], [1.5]]), [0, 0, 1, 1]
    run = linsep.trace(linsep.LeastSquares(solver="gradient"), x, y, max_steps=5)
    display = linsep.CostDisplay.from_trace(run)
    assert display.squares_ is not None
    at = np.unravel_index(display.squares.argmin(), display.squares.shape)
    best = linsep.LeastSquares().fit(x, y)
    step = display.x[1] - display.x[0]
    assert display.x[at[1]] == pytest.approx(best.coef_[0, 0], abs=step)
    assert display.y[at[0]] == pytest.approx(best.intercept_[0], abs=display.y[1] - display.y[0])
    with pytest.raises(SettingError, match="squares"):
        linsep.CostDisplay.from_line(x, y, ([1.0], 0.0), ([2.0], 0.0), what="squares")


class TestDescent:
    """S-shaped valleys, rates that are too small and too large, local minima."""

    def bowl(self, x):
        return float(x[0] ** 2 + 10 * x[1] ** 2)

    def test_with_and_without_a_formula_the_path_is_the_same(self):
        slope = lambda x: np.array([2 * x[0], 20 * x[1]])  # noqa: E731
        first = linsep.descend(self.bowl, [3.0, 1.0], slope, eta=0.04)
        second = linsep.descend(self.bowl, [3.0, 1.0], eta=0.04)
        assert first.status.name == second.status.name == "CONVERGED"
        n = min(len(first.path), len(second.path))
        np.testing.assert_allclose(first.path[:n], second.path[:n], atol=1e-7)
        assert "convex" in str(first)

    def test_rates(self):
        small = linsep.descend(self.bowl, [3.0, 1.0], eta=1e-4, max_iter=50)
        assert small.status.name == "STEP_LIMIT"
        assert len(small.path) == 51
        large = linsep.descend(self.bowl, [3.0, 1.0], eta=0.11)
        assert large.status.name == "DIVERGED"
        assert "smaller eta" in str(large)
        # a falling rate makes eta |gradient| small long before the gradient is
        falling = linsep.descend(self.bowl, [3.0, 1.0], eta=0.01, decay="inverse", max_iter=2000)
        assert falling.status.name == "STEP_LIMIT"
        assert 0.01 / 2000 * falling.slope < 1e-3 < falling.slope

    def test_the_start_decides_between_local_minima(self):
        f = lambda x: float((x**2 - 1) ** 2 + 0.3 * x)  # noqa: E731
        left, right = (linsep.descend(f, start, eta=0.05) for start in (-0.5, 0.7))
        assert left.value < right.value
        assert left.status.name == right.status.name == "CONVERGED"

    @pytest.mark.parametrize("wrong", [{"eta": 0}, {"tol": -1}, {"max_iter": 0}, {"eta": np.nan}])
    def test_bad_settings_are_refused(self, wrong):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            linsep.descend(self.bowl, [1.0, 1.0], **wrong)
