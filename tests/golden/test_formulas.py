"""Formulas of the lectures at numbers worked out by hand, through the public interface."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics.pairwise import additive_chi2_kernel

import linsep
from linsep import Linear, criteria, kernels, risk

INF = float("inf")


def table(name):
    found = linsep.data.load(name)
    return found.X, found.y


class TestPlanes:
    """Lectures 001, 002 and 004: a plane that is given."""

    def test_normal_shift_and_distances(self):
        plane = Linear([3, 4], -10)
        assert plane.origin_distance == -2  # the origin is on the negative side
        np.testing.assert_allclose(plane.distance([[2, 1], [6, 8]]), [0, 8])
        np.testing.assert_allclose(plane.distance([[1, 1]]), Linear([6, 8], -20).distance([[1, 1]]))
        np.testing.assert_allclose(plane.foot([[6, 8]]), [[6 - 8 * 0.6, 8 - 8 * 0.8]])
        assert np.linalg.norm(plane.shift) == pytest.approx(2)
        assert Linear.through([1, 2], normal=[3, 4]).intercept_[0] == -11  # w0 = -w'x0

    def test_sides_and_points_of_a_line(self):
        line = Linear.through([1, 0], normal=[1, 1])
        assert line.side([[2, 0], [1, 0], [0, 0]]).tolist() == [1, 0, -1]
        a = Linear.through([1, 2], direction=[1, 1])
        assert a.same_line(Linear.through([3, 4], direction=[-3, -3]))
        assert not a.same_line(Linear.through([1, 3], direction=[1, 1]))

    def test_all_separators_of_two_points(self):
        """y = m x + b with -1 < b < 1 and any m; no vertical line."""
        found = linsep.separators([[0, -1], [0, 1]], [0, 1])
        assert found.contains([0, 1], 0) and found.contains([-5, 1], 0.9)
        assert not (found.contains([0, 1], 1) or found.contains([1, 0], 0))
        assert found.interval == (-1, 1)

    def test_one_first_or_last(self):
        first, last = (Linear.from_augmented(a, position=p) for a, p in
                       (([1, 2, 3], "first"), ([2, 3, 1], "last")))  # fmt: skip
        assert first == last == Linear([2, 3], 1)


class TestCriteria:
    def test_perceptron_criterion_is_the_length_times_distances(self):
        X, y = table("five-points")
        plane = Linear([1, 1], 1)
        d = y * plane.distance(X)
        value = criteria.Perceptron().value(plane, X, y)
        assert value == pytest.approx(np.linalg.norm(plane.coef_) * -d[d <= 0].sum())

    def test_the_cost_of_example_3_1(self):
        """J = .05 + .05 at w = (1, 1, -.5), and 0 after the step."""
        X, y = table("example-3.1")
        assert criteria.Perceptron().value([1, 1, -0.5], X, y) == pytest.approx(0.1)
        assert criteria.Perceptron().value([1.42, 0.51, -0.5], X, y) == 0

    def test_gradients(self):
        """Of J_p, J_s and the likelihood, by their formulas; a corner counts as wrong."""
        X, y = table("five-points")
        Z, a = linsep.reflect(linsep.augment(X, "last"), y), np.array([2.0, -1.0, 1.0])
        v = Z @ a
        assert 0 in v
        np.testing.assert_array_equal(
            criteria.Perceptron().gradient(a, X, y), -Z[v <= 0].sum(axis=0)
        )
        np.testing.assert_allclose(criteria.Squares().gradient(a, X, y), 2 * Z.T @ (v - 1))
        P, Y = 1 / (1 + np.exp(-(linsep.augment(X, "last") @ a))), y > 0
        likelihood = linsep.augment(X, "last").T @ (Y - P)
        np.testing.assert_allclose(-criteria.Logistic().gradient(a, X, y), likelihood)

    def test_anchor(self):
        X, y, u, w = [[1.0, 2.0], [2.0, 1.0]], [1, -1], np.array([3.0, 0.0]), np.array([1.0, 0.0])
        by_hand = sum(max(-s * (w @ (np.array(x) - u)), 0) for x, s in zip(X, y))
        assert criteria.Perceptron(anchor=u).value(w, X, y) == by_hand == 2
        assert criteria.Perceptron().value((w, -(w @ u)), X, y) == by_hand


class TestStatistics:
    def test_equal_covariances_give_a_plane(self):
        S, means, p = np.array([[2, 0.5], [0.5, 1]]), np.array([[0, 0], [2.0, 1]]), [0.3, 0.7]
        rule = risk.gaussian_weights(means, S, p)
        w = np.linalg.solve(S, means[1] - means[0])
        np.testing.assert_allclose(rule.coef_[0], w)
        assert rule.intercept_[0] == pytest.approx(-means.sum(axis=0) @ w / 2 + math.log(7 / 3))

    def test_independent_binary_features_give_a_plane(self):
        rule = risk.bernoulli_weights([[0.2, 0.6], [0.7, 0.5]])
        wanted = [math.log(0.7 * 0.8 / (0.2 * 0.3)), math.log(0.5 * 0.4 / (0.6 * 0.5))]
        np.testing.assert_allclose(rule.coef_[0], wanted)

    def test_naive_bayes_as_logistic_weights(self):
        """The derivation of lecture 003, in the sign of its training slides."""
        X, y = table("five-points")
        model = linsep.GaussianClassifier(covariance="shared-diagonal").fit(X, y)
        m0, m1 = X[y == -1].mean(axis=0), X[y == 1].mean(axis=0)
        v = (((X[y == -1] - m0) ** 2).sum(axis=0) + ((X[y == 1] - m1) ** 2).sum(axis=0)) / 5
        rule = model.to_logistic()
        np.testing.assert_allclose(rule.coef_[0], (m1 - m0) / v)
        offset = math.log(3 / 2) + ((m0**2 - m1**2) / (2 * v)).sum()
        assert rule.intercept_[0] == pytest.approx(offset)

    def test_log_odds_and_their_limits(self):
        assert (risk.logit(0.5), risk.logit(0.0), risk.logit(1.0)) == (0, -INF, INF)
        p = risk.inverse_logit([-INF, -800, 0, 800, INF])
        np.testing.assert_allclose(p, [0, 0, 0.5, 1, 1], atol=1e-300)
        assert risk.odds(0.75) == pytest.approx(3)

    def test_two_normals(self):
        """N(0, 1) and N(2, 1): the threshold 1 and Phi(-1); at 5 % false alarms 1.6449."""
        pair = [scipy.stats.norm(0, 1), scipy.stats.norm(2, 1)]
        bayes, least = risk.bayes_strategy(pair), risk.minimax(pair)
        for rule in (bayes, least):
            assert rule.linear and rule.thresholds == pytest.approx([1])
            assert rule.risk == pytest.approx(scipy.stats.norm.cdf(-1))
        test = risk.neyman_pearson(pair, 0.05)
        assert test.thresholds == pytest.approx([1.6448536])
        skewed = risk.bayes_strategy(pair, priors=[0.9, 0.1])
        assert skewed.thresholds == pytest.approx([1 + math.log(9) / 2])

    def test_cover(self):
        assert [risk.cover_count(4, d) for d in (1, 2, 3, 4)] == [2, 8, 14, 16]
        assert risk.cover_probability(20, 10) == F(1, 2)


class TestKernels:
    def test_maps_of_quadratic_kernels(self):
        X = np.array([[1.0, 2.0], [3.0, -1.0]])
        r = 2**0.5
        for kernel, wanted in ((kernels.Polynomial(2, coef0=0.0), [1, 2 * r, 4]),
                               (kernels.Polynomial(2), [1, r, 2 * r, 2 * r, 1, 4])):  # fmt: skip
            phi = kernel.features(X)
            np.testing.assert_allclose(phi @ phi.T, kernel.gram(X))
            np.testing.assert_allclose(np.sort(np.abs(phi[0])), np.sort(wanted))

    def test_values(self):
        x, z = np.array([[3, 0, 2.0]]), np.array([[1, 4, 2.0]])
        assert kernels.Intersection().gram(x, z) == 3
        assert kernels.ChiSquared().gram(x, z) == pytest.approx(6 / 4 + 8 / 4)
        assert kernels.Hellinger().gram(x, z) == pytest.approx(3**0.5 + 2)
        assert kernels.Sigmoid(2.0, 1.0).gram([[1, 0]], [[2, 0]]) == pytest.approx(math.tanh(5))
        for rbf in (kernels.RBF(sigma=2.0), kernels.RBF(gamma=1 / 8)):
            assert rbf.gram([[0, 0]], [[3, 4]]) == pytest.approx(math.exp(-25 / 8))
        assert kernels.Polynomial(2).normalised().gram(x, x) == pytest.approx(1)

    def test_chi_square_of_the_lecture_and_of_scikit_learn(self):
        A = np.random.default_rng(0).random((4, 3))
        K, sums = kernels.ChiSquared().gram(A), A.sum(axis=1)
        np.testing.assert_allclose(additive_chi2_kernel(A), 2 * K - sums[:, None] - sums)

    def test_xor_in_the_plane_of_the_lecture(self):
        """(sqrt 2 x1, sqrt 2 x1 x2): the street is 2 sqrt 2 wide, as in the feature space."""
        X, y = table("xor")
        Z = linsep.Lift("sqrt(2)*x1, sqrt(2)*x1*x2").fit_transform(X)
        model = linsep.LinearSVM(C=INF).fit(Z, y)
        assert model.margin_width_ == pytest.approx(2 * 2**0.5)
        np.testing.assert_allclose(model.coef_, [[0, -(0.5**0.5)]], atol=1e-9)


def test_lifted_line_of_lecture_000():
    """f(x) = 3 - 1.5 x + 3.12 (x^2 - 1): roots -.069851 and .550620, class 1 outside."""
    back = linsep.Lift("x, x**2 - 1").fit([[0.0], [1.0]]).pullback(Linear([-1.5, 3.12], 3.0))
    np.testing.assert_allclose(sorted(np.ravel(back.roots())), [-0.069851, 0.550620], atol=1e-6)
    assert len(back.intervals()) == 3
