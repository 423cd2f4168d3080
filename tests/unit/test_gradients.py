"""Numerical gradients and the check of gradients."""

from __future__ import annotations

import numpy as np
import pytest

import linsep
from linsep.certify.normal import aims, columns_of, flat, totals
from linsep.core import Problem
from linsep.errors import SettingError
from linsep.losses import check_gradient, numerical_gradient


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
