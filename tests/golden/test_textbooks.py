"""Worked examples of textbooks, with the numbers that the books print."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.stats
from sklearn.datasets import load_iris

import linsep
from linsep.kernels import RBF, Linear, Polynomial
from linsep.risk import (
    bayes_strategy,
    cover_count,
    gaussian_weights,
    minimax,
    neyman_pearson,
    novikoff_bound,
)

INF = float("inf")


def machines(X, y, kernel="linear", C=INF):
    """The same machine by every way that linsep has to it: values of the rows."""
    yield linsep.KernelSVM(C, kernel=kernel).fit(X, y)
    if kernel == "linear":
        yield linsep.LinearSVM(C).fit(X, y)
        yield linsep.Kozinec(eps=1e-9).fit(X, y)
    else:
        yield linsep.Kozinec(eps=1e-9, kernel=kernel).fit(X, y)


class TestMachines:
    def test_manning_raghavan_schuetze_example_15_1(self):
        """w = (2/5, 4/5), b = -11/5; the street is sqrt 5 wide."""
        X, y = [[1, 1], [2, 0], [2, 3]], [-1, -1, 1]
        model = linsep.LinearSVM(INF).fit(X, y)
        np.testing.assert_allclose(model.coef_, [[2 / 5, 4 / 5]], atol=1e-9)
        np.testing.assert_allclose(model.intercept_, [-11 / 5], atol=1e-9)
        assert model.certificate_.width == pytest.approx(5**0.5)
        assert linsep.separability(X, y).margin[0] == pytest.approx(5**0.5 / 2, rel=1e-3)

    def test_ventura_support_vectors(self):
        """Eight points; the plane x1 = 2, held by (1, 0), (3, 1) and (3, -1)."""
        X = [[3, 1], [3, -1], [6, 1], [6, -1], [1, 0], [0, 1], [0, -1], [-1, 0]]
        y = [1, 1, 1, 1, -1, -1, -1, -1]
        model = linsep.KernelSVM(INF, kernel="linear").fit(X, y)
        assert sorted(model.support_.tolist()) == [0, 1, 4]
        multipliers = dict(zip(model.support_.tolist(), np.abs(model.dual_coef_[0])))
        assert multipliers == pytest.approx({0: 0.25, 1: 0.25, 4: 0.5}, abs=1e-6)
        plane = linsep.Linear.of(linsep.LinearSVM(INF).fit(X, y))
        np.testing.assert_allclose([*plane.coef_[0], *plane.intercept_], [1, 0, -2], atol=1e-9)

    def test_theodoridis_square_has_one_plane_and_many_multipliers(self):
        """w = (1, 0), w0 = 0 whatever the multipliers are: 0.5 |w|^2 = 0.5."""
        X, y = [[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, 1, -1, -1]
        for model in machines(X, y):
            values = y * model.decision_function(X)
            np.testing.assert_allclose(values / values.min(), 1.0, atol=1e-6)
        exact = linsep.LinearSVM(INF).fit(X, y)
        assert exact.certificate_.objective == pytest.approx(0.5)
        np.testing.assert_allclose(exact.coef_, [[1, 0]], atol=1e-9)

    def test_haykin_and_burges_xor(self):
        """(1 + x.z)^2: alpha = 1/8, Q = 1/4, |w|^2 / 2 = 1/4, g = -x1 x2."""
        table = linsep.data.load("xor")
        model = linsep.KernelSVM(INF, kernel=Polynomial(2)).fit(table.X, table.y)
        np.testing.assert_allclose(np.abs(model.dual_coef_), 1 / 8)
        assert model.certificate_.objective == pytest.approx(1 / 4)
        some = np.random.default_rng(0).normal(size=(20, 2))
        np.testing.assert_allclose(
            model.decision_function(some), -some[:, 0] * some[:, 1], atol=1e-9
        )

    def test_gram_matrix_alone(self):
        """Burges: the data enter as dot products only."""
        iris = load_iris()
        X, y = iris.data[:100, :2], iris.target[:100]
        K = RBF(gamma=0.7).gram(X)
        own = linsep.KernelSVM(3.0, kernel=RBF(gamma=0.7)).fit(X, y)
        given = linsep.KernelSVM(3.0, kernel="precomputed").fit(K, y)
        np.testing.assert_allclose(own.decision_function(X), given.decision_function(K), atol=1e-4)


class TestLeastSquares:
    def test_theodoridis_example_3_4(self):
        """X'X and X'y as printed, w = (-3.218, 0.241, 1.431)."""
        one = [[0.4, 0.5], [0.6, 0.5], [0.1, 0.4], [0.2, 0.7], [0.3, 0.3]]
        two = [[0.4, 0.6], [0.6, 0.2], [0.7, 0.4], [0.8, 0.6], [0.7, 0.5]]
        X, y = np.array(one + two), np.repeat([1, -1], 5)
        Z = np.column_stack([X, np.ones(10)])
        np.testing.assert_allclose(Z.T @ Z, [[2.8, 2.24, 4.8], [2.24, 2.41, 4.7], [4.8, 4.7, 10]])
        np.testing.assert_allclose(Z.T @ y, [-1.6, 0.1, 0.0], atol=1e-12)
        model = linsep.LeastSquares().fit(X, y)
        np.testing.assert_allclose(
            [*model.coef_[0], *model.intercept_], [-3.218, 0.241, 1.431], atol=5e-4
        )

    def test_kernel_ridge_of_saunders_gammerman_vovk(self):
        """alpha = (K + lambda I)^-1 y, lambda = 1 / C, without an offset."""
        X = np.array([[0.0], [1.0], [2.0], [3.0]])
        y = np.array([-1, 1, 1, -1])
        kernel = Polynomial(2)
        model = linsep.LeastSquares(kernel=kernel, C=2.0, fit_intercept=False).fit(X, y)
        alpha = np.linalg.solve(kernel.gram(X) + np.eye(4) / 2.0, y)
        new = np.array([[0.5], [2.5]])
        np.testing.assert_allclose(model.decision_function(new), kernel.gram(new, X) @ alpha)


class TestBooleanFunctions:
    def test_how_many_are_threshold_functions(self):
        """Muroga: 14 of 16 with two inputs, 104 of 256 with three; Cover's count for the first."""
        found = {}
        for inputs in (2, 3):
            X = np.array(list(product([0, 1], repeat=inputs)))
            tables = list(product([0, 1], repeat=len(X)))
            some = [y for y in tables if len(set(y)) == 2]
            found[inputs] = 2 + sum(bool(linsep.separability(X, y).separable) for y in some)
        assert found == {2: 14, 3: 104}
        assert cover_count(4, 3) == 14  # four points in general position, with an offset

    @pytest.mark.parametrize("inputs", [2, 3, 4])
    def test_parity_is_none_and_majority_is_one(self, inputs):
        """Minsky and Papert: parity needs the product of all inputs."""
        X = np.array(list(product([-1, 1], repeat=inputs)))
        parity = X.prod(axis=1)
        proof = linsep.separability(X, parity)
        assert proof.separable is False and proof.check(X, parity)
        lifted = np.column_stack([X, parity])
        assert linsep.separability(lifted, parity).separable
        majority = np.where(X.sum(axis=1) > 0, 1, -1)
        model = linsep.Perceptron().fit(X, majority)
        assert model.status_.name == "SEPARATED"
        assert model.n_updates_ <= novikoff_bound(X, majority)


class TestDecisions:
    def test_duda_hart_stork_two_gaussians(self):
        """Chapter 2: x2 = 3.514 - 1.125 x1 + 0.1875 x1^2 between N(3, 6) and N(3, -2)."""
        rule = bayes_strategy(
            [
                scipy.stats.multivariate_normal([3, 6], np.diag([0.5, 2])),
                scipy.stats.multivariate_normal([3, -2], np.diag([2, 2])),
            ]
        )
        assert not rule.linear
        x1 = np.linspace(-3, 8, 12)
        x2 = 3.514 - 1.125 * x1 + 0.1875 * x1**2
        above, below = rule.predict(np.c_[x1, x2 + 0.01]), rule.predict(np.c_[x1, x2 - 0.01])
        assert (np.asarray(above) == 0).all() and (np.asarray(below) == 1).all()

    def test_johnson_wichern_hemophilia(self):
        """Example 11.3: y = 37.61 x1 - 28.92 x2, midpoint -4.61."""
        inverse = np.array([[131.158, -90.423], [-90.423, 108.147]])
        means = [[-0.2483, 0.0262], [-0.0065, -0.0390]]
        rule = gaussian_weights(means, np.linalg.inv(inverse))
        np.testing.assert_allclose(rule.coef_, [[37.61, -28.92]], atol=0.01)
        np.testing.assert_allclose(rule.intercept_, [4.61], atol=0.01)

    def test_neyman_pearson_and_minimax_of_two_normals(self):
        """N(0, 1) against N(1, 1) at 5 %: 1.645, power 0.2595; against N(2, 1): 1, risk 0.1587."""
        normal = scipy.stats.norm
        test = neyman_pearson([normal(0, 1), normal(1, 1)], 0.05)
        np.testing.assert_allclose(test.thresholds, [1.6449], atol=1e-4)
        assert 1 - test.risk == pytest.approx(0.2595, abs=1e-4)
        fair = minimax([normal(0, 1), normal(2, 1)])
        np.testing.assert_allclose(fair.thresholds, [1.0], atol=1e-6)
        assert fair.risk == pytest.approx(0.1587, abs=1e-4) and fair.linear

    def test_fisher_iris(self):
        """Linear discriminants leave rows 71, 84 and 134 wrong; setosa is separable."""
        iris = load_iris()
        model = linsep.GaussianClassifier("shared").fit(iris.data, iris.target)
        wrong = np.flatnonzero(model.predict(iris.data) != iris.target) + 1
        assert wrong.tolist() == [71, 84, 134]
        assert linsep.separability(iris.data, iris.target == 0).separable
        assert linsep.separability(iris.data, iris.target == 1).separable is False


def test_the_linear_kernel_changes_nothing():
    """Cristianini and Shawe-Taylor: a dual rule with the plain dot product is the primal one."""
    table = linsep.data.load("students")
    plain = linsep.trace(linsep.Perceptron(), table.X, table.y)
    dual = linsep.trace(linsep.KernelPerceptron(Linear()), table.X, table.y)
    assert [step.row for step in plain] == [step.row for step in dual]
    assert [step.value for step in plain] == [step.value for step in dual]


# Duda, Hart and Stork, chapter 5, computer exercises: ten points of each of four categories
OMEGA = {
    1: [(0.1, 1.1), (6.8, 7.1), (-3.5, -4.1), (2.0, 2.7), (4.1, 2.8),
        (3.1, 5.0), (-0.8, -1.3), (0.9, 1.2), (5.0, 6.4), (3.9, 4.0)],
    2: [(7.1, 4.2), (-1.4, -4.3), (4.5, 0.0), (6.3, 1.6), (4.2, 1.9),
        (1.4, -3.2), (2.4, -4.0), (2.5, -6.1), (8.4, 3.7), (4.1, -2.2)],
    3: [(-3.0, -2.9), (0.54, 8.7), (2.9, 2.1), (-0.1, 5.2), (-4.0, 2.2),
        (-1.3, 3.7), (-3.4, 6.2), (-4.1, 3.4), (-5.1, 1.6), (1.9, 5.1)],
    4: [(-2.0, -8.4), (-8.9, 0.2), (-4.2, -7.7), (-8.5, -3.2), (-6.7, -4.0),
        (-0.5, -9.2), (-5.3, -6.7), (-8.7, -6.4), (-7.1, -9.7), (-8.0, -6.3)],
}  # fmt: skip


class TestExercises:
    @pytest.mark.parametrize(
        ("pair", "steps", "a"),
        [((1, 2), 23, [34, -30.4, 34.1]), ((3, 2), 16, [19, -41.36, 48.6])],
    )
    def test_duda_hart_stork_batch_perceptron(self, pair, steps, a):
        """From zero with rate 1."""
        X, y = np.array(OMEGA[pair[0]] + OMEGA[pair[1]]), np.repeat([1, -1], 10)
        model = linsep.Perceptron(update="batch").fit(X, y)
        assert model.n_updates_ == steps
        np.testing.assert_allclose([*model.intercept_, *model.coef_[0]], a, rtol=1e-12)

    def test_duda_hart_stork_ho_kashyap(self):
        """Categories 1 and 3 are not separable, 2 and 4 are."""
        y = np.repeat([1, -1], 10)
        for pair, status in (((1, 3), "INSEPARABLE"), ((2, 4), "SEPARATED")):
            X = np.array(OMEGA[pair[0]] + OMEGA[pair[1]])
            assert linsep.HoKashyap().fit(X, y).status_.name == status

    def test_abu_mostafa_magdon_ismail_lin_example_8_2(self):
        """w = (1, -1), b = -1, margin 1 / sqrt 2, multipliers 1/2, 1/2, 1, 0."""
        X, y = [[0, 0], [2, 2], [2, 0], [3, 0]], [-1, -1, 1, 1]
        for model in machines(X, y):
            np.testing.assert_allclose(model.predict(X), y)
            assert model.certificate_.margin == pytest.approx(0.5**0.5, abs=1e-6)
        machine = linsep.KernelSVM(INF, kernel="linear").fit(X, y)
        np.testing.assert_allclose([*machine.coef_[0], *machine.intercept_], [1, -1, -1], atol=1e-9)
        shares = dict(zip(machine.support_.tolist(), np.abs(machine.dual_coef_[0])))
        assert shares == pytest.approx({0: 0.5, 1: 0.5, 2: 1.0})

    def test_tan_steinbach_kumar_eight_points(self):
        """w = (-6.64, -9.32), b = 7.93, two support vectors of multiplier 65.5."""
        X = [[0.3858, 0.4687], [0.4871, 0.6110], [0.9218, 0.4103], [0.7382, 0.8936],
             [0.1763, 0.0579], [0.4057, 0.3529], [0.9355, 0.8132], [0.2146, 0.0099]]  # fmt: skip
        y = [1, -1, -1, -1, 1, 1, -1, 1]
        model = linsep.KernelSVM(INF, kernel="linear").fit(X, y)
        assert sorted(model.support_.tolist()) == [0, 1]
        # of two support vectors: w = 2 d / |d|^2, alpha = 2 / |d|^2
        d = np.subtract(X[0], X[1])
        np.testing.assert_allclose(model.coef_[0], 2 * d / (d @ d), rtol=1e-6)
        np.testing.assert_allclose(np.abs(model.dual_coef_), 2 / (d @ d), rtol=1e-6)
        np.testing.assert_allclose(
            [*model.coef_[0], *model.intercept_], [-6.64, -9.32, 7.93], atol=0.01
        )

    def test_schoelkopf_smola_homogeneous_kernel(self):
        """(x.z)^2 on the corners of a square: g = x1 x2, W = 1/4; multipliers are not unique."""
        X, y = [[1, 1], [-1, -1], [1, -1], [-1, 1]], [1, 1, -1, -1]
        model = linsep.KernelSVM(INF, kernel=Polynomial(2, coef0=0.0)).fit(X, y)
        assert model.certificate_.objective == pytest.approx(0.25)
        np.testing.assert_allclose(model.decision_function([[0.5, 3], [2, -2]]), [1.5, -4])
        assert np.abs(model.dual_coef_).sum() == pytest.approx(0.5)

    def test_fausett_bipolar_and(self):
        """Example 2.12: (1, 1, 1), (0, 2, 0), (1, 1, -1), and the second epoch changes nothing."""
        X, y = [[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, -1, -1, -1]
        run = linsep.trace(linsep.Perceptron(), X, y)
        assert [[*s.coef, s.intercept] for s in run[1:]] == [[1, 1, 1], [0, 2, 0], [1, 1, -1]]

    def test_gutierrez_osuna_fisher_direction(self):
        """Two clouds of five points: w* = (0.91, 0.39)."""
        X = [[4, 1], [2, 4], [2, 3], [3, 6], [4, 4], [9, 10], [6, 8], [9, 5], [8, 7], [10, 8]]
        y = np.repeat([0, 1], 5)
        w = linsep.GaussianClassifier(covariance="shared").fit(X, y).coef_[0]
        within = sum(np.cov(np.transpose(X[5 * k : 5 * k + 5]), bias=True) for k in (0, 1)) / 2
        by_hand = np.linalg.solve(within, [8.4 - 3, 7.6 - 3.6])
        np.testing.assert_allclose(w, by_hand)
        np.testing.assert_allclose(w / np.linalg.norm(w), [0.91, 0.39], atol=0.01)

    def test_ng_scaling_moves_the_functional_margin_alone(self):
        """CS229: (2 w, 2 b) doubles the functional margin and leaves the geometric one."""
        X, y = [[0, 0], [2, 2], [2, 0], [3, 0]], [-1, -1, 1, 1]
        one, two = (linsep.certify(linsep.Linear([s, -s], -s), X, y) for s in (1, 2))
        assert two.functional_margin == 2 * one.functional_margin == 2
        assert two.margin == pytest.approx(one.margin) == pytest.approx(0.5**0.5)

    def test_cristianini_shawe_taylor_mistakes_of_the_dual_rule(self):
        """At most (R / gamma)^2 mistakes in the feature space, whatever its dimension."""
        X, y = linsep.data.load("xor")
        kernel = Polynomial(2)
        mistakes = linsep.KernelPerceptron(kernel=kernel).fit(X, y).n_updates_
        street = linsep.KernelSVM(INF, kernel=kernel).fit(X, y).certificate_.width
        assert mistakes <= (9 + 1) / (street / 2) ** 2  # the offset is a coordinate of 1
