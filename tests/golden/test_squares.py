"""Minimum squared error and Ho-Kashyap on the examples of lectures and textbooks, in fractions."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

import linsep
from linsep.core.protocol import Status
from linsep.errors import GapWarning, NotSeparatedWarning

# name, targets, (a0, a1, a2) over q, Y a over q, least cost, rows on the wrong side
EXAMPLES = [
    ("mse-1", None, (237, 93, -84), 89, (39, 114, 54, 99), F(50, 89), ()),
    ("mse-2", None, (441, 21, -60), 137, (27, 126, -6, 159), F(242, 137), (2,)),
    ("mse-2", [1, 1, 1, 10], (-144, 228, -123), 137, (117, 135, 111, 1374), F(8, 137), ()),
]


@pytest.mark.filterwarnings("ignore::linsep.errors.NotSeparatedWarning")
@pytest.mark.parametrize(("name", "b", "a", "q", "values", "cost", "wrong"), EXAMPLES)
class TestLecture:
    def fit(self, name, b, **settings):
        table = linsep.data.load(name)
        return linsep.LeastSquares(targets=b, **settings).fit(table.X, table.y)

    def test_weights_in_fractions(self, name, b, a, q, values, cost, wrong):
        coef, offset = self.fit(name, b).exact_coefficients()
        assert [offset, *coef] == [F(v, q) for v in a]

    def test_coefficients_are_the_nearest_floats(self, name, b, a, q, values, cost, wrong):
        model = self.fit(name, b)
        assert model.intercept_[0] == float(F(a[0], q))
        assert model.coef_[0].tolist() == [float(F(v, q)) for v in a[1:]]

    def test_values_cost_and_sides(self, name, b, a, q, values, cost, wrong):
        model = self.fit(name, b)
        np.testing.assert_allclose(model.report().value, np.array(values) / q, rtol=1e-12)
        found = model.certificate_
        assert found.minimum == cost
        assert found.lower_bound <= cost <= F(found.objective)
        assert found.wrong_rows == wrong
        assert found.separable is (None if wrong else True)
        assert model.status_ is (Status.CERTIFIED if wrong else Status.SEPARATED)

    def test_only_ratios_of_targets_matter(self, name, b, a, q, values, cost, wrong):
        b = np.ones(4) if b is None else np.array(b)
        coef, offset = self.fit(name, 8 * b).exact_coefficients()
        assert [offset, *coef] == [F(8 * v, q) for v in a]


def test_the_second_example_is_separable_and_the_fit_says_so():
    table = linsep.data.load("mse-2")
    with pytest.warns(NotSeparatedWarning, match=r"separable .*leaves 1 of 4 rows .* \(2\)"):
        model = linsep.LeastSquares().fit(table.X, table.y)
    assert "although the classes are separable" in model.summary()
    assert model.proof_.separable is True


@pytest.mark.filterwarnings("ignore::linsep.errors.NotSeparatedWarning")
def test_the_far_sample_of_the_second_example_is_an_outlier_that_is_too_right():
    table = linsep.data.load("mse-2")
    report = linsep.LeastSquares().fit(table.X, table.y).report()
    # with one degree of freedom 1 - h_i = e_i^2 / J; residuals are 110, 11, 143, 22 over 137
    e = np.array([F(-110, 137), F(-11, 137), F(-143, 137), F(22, 137)])
    rest = e**2 / F(242, 137)
    np.testing.assert_allclose(report.leverage, [float(1 - r) for r in rest], rtol=1e-9)
    np.testing.assert_allclose(report.left_out, [float(1 + v / r) for v, r in zip(e, rest)])
    np.testing.assert_allclose(np.abs(report.standardised), 1, rtol=1e-9)
    assert 3 in report.outliers
    assert report.left_out[3] == pytest.approx(12)
    assert "too right" in report.kind(3)


def test_rates_of_the_lecture():
    """Example 1: eta(1) / k is still far off, a constant safe rate is not; E-53."""
    table = linsep.data.load("mse-1")
    a = np.array([93, -84, 237]) / 89

    def distance(**settings):
        with pytest.warns(GapWarning):
            model = linsep.LeastSquares(**settings).fit(table.X, table.y)
        return float(np.linalg.norm([*model.coef_[0], *model.intercept_] - a))

    assert distance(solver="widrow-hoff", decay="inverse", max_iter=500) > 2.5
    assert distance(solver="gradient", max_iter=5000) < 0.6
    with pytest.warns(GapWarning, match=r"2 / lambda_max = 0\.00642103"):
        model = linsep.LeastSquares(solver="gradient", eta=0.0065).fit(table.X, table.y)
    assert model.status_ in (Status.DIVERGED, Status.STEP_LIMIT)


def test_gradient_steps_come_to_the_exact_weights():
    table = linsep.data.load("mse-1")
    start = ([1.0, -0.9], 2.6)
    model = linsep.LeastSquares(solver="gradient", start=start, tol=1e-9, max_iter=50_000)
    model.fit(table.X, table.y)
    got = [*model.intercept_, *model.coef_[0]]
    np.testing.assert_allclose(got, np.array([237, 93, -84]) / 89, atol=1e-3)
    assert model.status_ is Status.SEPARATED


def test_the_example_of_duda_and_hart():
    """Section 5.8.1: a = (11/3, -4/3, -2/3), which separates; so Ho-Kashyap ends at once."""
    X, y = [[1, 2], [2, 0], [3, 1], [2, 3]], [1, 1, -1, -1]
    coef, offset = linsep.LeastSquares().fit(X, y).exact_coefficients()
    assert (offset, coef) == (F(11, 3), [F(-4, 3), F(-2, 3)])
    model = linsep.HoKashyap().fit(X, y)
    np.testing.assert_allclose([*model.intercept_, *model.coef_[0]], [11 / 3, -4 / 3, -2 / 3])
    assert (model.status_, model.n_updates_) == (Status.SEPARATED, 0)
    # the pseudo-inverse of the book
    Y = np.array([[1, 1, 2], [1, 2, 0], [-1, -3, -1], [-1, -2, -3]])
    book = np.array([[5 / 4, 13 / 12, 3 / 4, 7 / 12], [-1 / 2, -1 / 6, -1 / 2, -1 / 6]])
    book = np.vstack([book, [0, -1 / 3, 0, -1 / 3]])
    np.testing.assert_allclose(np.linalg.pinv(Y), book, atol=1e-12)
    a = book @ [1, 1, 1, 1]
    np.testing.assert_allclose(a, [11 / 3, -4 / 3, -2 / 3])


@pytest.mark.parametrize("name", ["xor", "xor-01", "five-points"])
def test_ho_kashyap_proves_that_nothing_separates(name):
    table = linsep.data.load(name)
    model = linsep.HoKashyap().fit(table.X, table.y)
    assert model.status_ is Status.INSEPARABLE
    rows, m = list(model.certificate_.rows), model.certificate_.multipliers
    Y = [[F(y) * F(v) for v in (*x, 1)] for x, y in zip(table.X.tolist(), table.y.tolist())]
    assert [sum(k * Y[r][j] for r, k in zip(rows, m)) for j in range(3)] == [0, 0, 0]
    assert min(m) > 0


def test_ho_kashyap_separates_the_second_example():
    table = linsep.data.load("mse-2")
    run = linsep.trace(linsep.HoKashyap(), table.X, table.y)
    assert run.outcome.status is Status.SEPARATED
    costs = [step.cost for step in run]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] == pytest.approx(242 / 137)


def test_targets_are_distances_in_two_spaces():
    """Lecture 003 writes b_i / |a|, which is the distance in the augmented space."""
    table = linsep.data.load("mse-2")
    b = np.array([1, 1, 1, 10])
    report = linsep.LeastSquares(targets=b).fit(table.X, table.y).report()
    w2, a2 = F(228**2 + 123**2, 137**2), F(144**2 + 228**2 + 123**2, 137**2)
    np.testing.assert_allclose(report.target_distance, b / float(w2) ** 0.5)
    np.testing.assert_allclose(report.target_distance_aug, b / float(a2) ** 0.5)
    plane = linsep.Linear([F(228, 137), F(-123, 137)], F(-144, 137))
    np.testing.assert_allclose(report.distance, table.y * plane.distance(table.X))
    assert "target_distance" in report.frame().columns
