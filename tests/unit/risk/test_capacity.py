"""VC dimension, smallest ball, Cover's count, structural bound and minimum."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import combinations, product
from math import inf, log, sqrt

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC

import linsep
from linsep.errors import CapabilityError, DataError, ModelError, SettingError
from linsep.risk import (
    compare_margins,
    cover_count,
    cover_probability,
    enclosing_ball,
    structural_bound,
    structural_minimum,
    vc_dimension,
)

# -- smallest ball ----------------------------------------------------------------------------

grid = arrays(
    np.float64, st.tuples(st.integers(1, 7), st.integers(1, 3)), elements=st.integers(-3, 3)
)


def circumcentre(points):
    """Centre at one distance to all points and in their plane, by elimination; None if none."""
    first = points[0]
    edges = [[a - b for a, b in zip(p, first)] for p in points[1:]]
    k = len(edges)
    rows = [
        [2 * sum(a * b for a, b in zip(u, v)) for v in edges] + [sum(a * a for a in u)]
        for u in edges
    ]
    for i in range(k):
        pivot = next((r for r in range(i, k) if rows[r][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for r in range(k):
            if r != i:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i])]
    return [f + sum(row[k] * e[j] for row, e in zip(rows, edges)) for j, f in enumerate(first)]


def smallest_radius_by_all_subsets(X):
    """The least ball through some of the rows that holds all of them."""
    points = sorted({tuple(F(v) for v in row) for row in X.tolist()})
    best = None
    for size in range(1, X.shape[1] + 2):
        for some in combinations(points, size):
            c = circumcentre(some)
            if c is None:
                continue
            r = sum((a - b) ** 2 for a, b in zip(some[0], c))
            if (best is None or r < best) and all(
                sum((a - b) ** 2 for a, b in zip(p, c)) <= r for p in points
            ):
                best = r
    return best


@given(grid)
@settings(max_examples=60)
def test_smallest_ball_is_exact_on_small_data(X):
    assert enclosing_ball(X).squared == smallest_radius_by_all_subsets(X)


@given(grid, st.sampled_from([1e-300, 2.0**-30, 1e150, 5e307]), st.sampled_from([0.0, 1e9]))
@settings(max_examples=40)
def test_smallest_ball_at_the_ends_of_the_range(X, scale, shift):
    if scale < 1e100:
        X = X * scale + shift
    else:
        X = X / 3 * scale
    ball = enclosing_ball(X)
    assert ball.squared == smallest_radius_by_all_subsets(X)
    assert ball.bounds[0] <= ball.bounds[1] == ball.radius


def test_smallest_ball_of_many_rows_has_close_bounds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 40))
    ball = enclosing_ball(X)
    low, high = ball.bounds
    assert ball.squared is None and 0 < high - low < 1e-9 * high
    assert np.linalg.norm(X - ball.centre, axis=1).max() <= high
    assert ball.shares.sum() == pytest.approx(1) and ball.shares.min() >= 0
    sparse = enclosing_ball(scipy.sparse.csr_matrix(np.where(np.abs(X) > 1.5, X, 0)))
    assert sparse.bounds[1] - sparse.bounds[0] < 1e-9 * sparse.bounds[1]


def test_smallest_ball_of_one_row_and_of_zeros():
    assert enclosing_ball([[5.0, 7.0]]).radius == 0
    assert enclosing_ball(np.zeros((4, 3))).radius == 0
    assert enclosing_ball(scipy.sparse.csr_matrix((3, 2))).radius == 0
    with pytest.raises(DataError, match="NaN"):
        enclosing_ball([[np.nan]])


# -- VC dimension -----------------------------------------------------------------------------


def test_dimension_of_the_class_is_n_plus_one_or_n():
    X, y = linsep.data.load("students")
    assert vc_dimension(linsep.Perceptron().fit(X, y)) == 5
    assert (
        vc_dimension(linsep.Perceptron(fit_intercept=False, max_iter=5).fit(X[:, :3], X[:, 3])) == 3
    )
    assert vc_dimension(4) == 5 and vc_dimension(4, fit_intercept=False) == 4
    assert vc_dimension(LogisticRegression().fit(X, y)) == 5
    assert vc_dimension(SVC(kernel="linear").fit(X, y)) == 5


def test_margin_of_the_lecture_data():
    X, y = linsep.data.load("mse-1")
    h = vc_dimension(linsep.LinearSVM(C=inf).fit(X, y), X, y)
    assert h == 3 and h.of_class == 3  # 77.25 would be allowed without the minimum
    assert h.ratio + 1 == pytest.approx(77.25)
    assert h.radius == pytest.approx(sqrt(61) / 2) and h.margin == pytest.approx(1 / sqrt(5))


def test_triangle_shows_why_the_ratio_is_rounded_up():
    # R = 1 and all eight labellings have a margin of 3/4 or more: so h is 3, not floor(16/9) + 1
    corners = np.array([[np.cos(t), np.sin(t)] for t in (0, 2 * np.pi / 3, 4 * np.pi / 3)])
    worst = inf
    for labels in product((0, 1), repeat=3):
        if len(set(labels)) == 2:
            worst = min(worst, linsep.separability(corners, labels).margin[0])
    assert worst == pytest.approx(0.75)
    model = linsep.LinearSVM(C=inf).fit(corners, [0, 0, 1])
    h = vc_dimension(model, corners, [0, 0, 1])
    assert h.ratio == pytest.approx(16 / 9) and h == 3


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6, 7, 8])
@pytest.mark.parametrize("offset", [True, False])
def test_bound_allows_what_a_simplex_shows(k, offset):
    """k corners of a simplex can be labelled in all ways with the margin of the halved one."""
    corners = np.eye(k) - 1 / k if offset else np.eye(k)
    y = np.arange(k) < k // 2
    proof = linsep.separability(corners, y, fit_intercept=offset)
    model = linsep.Linear(
        np.asarray(proof.coef, float), float(proof.intercept), classes=[False, True]
    )
    # the margin of labels with the smallest margin of all labellings, in k dimensions
    assert vc_dimension(model, corners, y, fit_intercept=offset) >= k


def test_margin_bound_never_exceeds_the_class_and_a_larger_margin_never_raises_it():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.normal(size=(12, 6))
        y = X[:, 0] > 0
        best = vc_dimension(linsep.LinearSVM(C=inf).fit(X, y), X, y)
        other = vc_dimension(linsep.Perceptron(max_iter=5000).fit(X, y), X, y)
        assert best <= other <= other.of_class == 7
        assert best.ratio <= other.ratio * (1 + 1e-6)


def test_a_model_that_does_not_separate_has_no_margin():
    X, y = linsep.data.load("five-points")
    model = linsep.LinearSVM().fit(X, y)
    h = vc_dimension(model, X, y)
    assert h == 3 and h.ratio is None and "does not separate" in h.words


def test_lifted_models_count_the_lifted_columns():
    X, y = linsep.data.load("xor")
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), linsep.LinearSVM(C=inf))
    model.fit(X, y)
    assert vc_dimension(model) == 6
    h = vc_dimension(model, X, y)
    assert h.margin > 0 and h <= 6
    lifted = make_pipeline(linsep.Lift("x1, x2, x1*x2"), linsep.LinearSVM(C=inf)).fit(X, y)
    assert vc_dimension(lifted) == 4


def test_other_models_are_refused_with_the_reason():
    X, y = linsep.data.load("xor")
    for model in (RandomForestClassifier(5), SVC()):
        with pytest.raises(CapabilityError, match="no coef_"):
            vc_dimension(model.fit(X, y))
    with pytest.raises(ModelError, match="not fitted"):
        vc_dimension(linsep.LinearSVM())
    with pytest.raises(CapabilityError, match="3 weight vectors"):
        vc_dimension(LinearSVC().fit(np.eye(3), [0, 1, 2]))
    model = linsep.Linear([1.0, 2.0])
    with pytest.raises(ModelError, match="2 weights, X has 3 columns"):
        vc_dimension(model, np.eye(3), [0, 1, 1])
    with pytest.raises(DataError, match="not finite"):
        vc_dimension(linsep.Linear([np.nan, 1.0]))
    with pytest.raises(DataError, match="both X and y"):
        vc_dimension(model, np.eye(2))
    with pytest.raises(SettingError, match="at least 1"):
        vc_dimension(0)
    with pytest.raises(SettingError, match="intercept 3"):
        vc_dimension(linsep.Linear([1.0], 3.0), fit_intercept=False)
    with pytest.raises(ModelError, match="knows the classes"):
        vc_dimension(LinearSVC().fit([[0.0], [1.0]], ["a", "b"]), [[0.0], [1.0]], [0, 1])


def test_margins_are_compared_side_by_side():
    X, y = linsep.data.load("students")
    table = compare_margins(
        {"p": linsep.Perceptron(), "k": linsep.Kozinec(), "s": linsep.LinearSVM(C=inf)}, X, y
    )
    margins = [row["m"] for row in table.rows()]
    assert margins[0] < margins[1] <= margins[2] * (1 + 1e-9)
    assert table.frame().shape == (3, 5)
    assert str(table).splitlines()[3].startswith("s ")
    twice = compare_margins([linsep.Perceptron(), linsep.Perceptron(order="shuffle")], X, y)
    assert twice.names == ("Perceptron 1", "Perceptron 2")


# -- Cover ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(1, 1), (3, 1), (4, 2), (5, 2), (5, 3)])
def test_count_is_that_of_all_labellings(n, d):
    rng = np.random.default_rng(n + 10 * d)
    X = rng.integers(-50, 50, size=(n, d)).astype(float)
    for offset in (True, False):
        found = sum(
            linsep.separability(X, labels, fit_intercept=offset).separable
            for labels in product((0, 1), repeat=n)
            if len(set(labels)) == 2
        )
        if offset:
            found += 2
        else:  # all of one class: reflect one row and its label
            flipped = X.copy()
            flipped[0] *= -1
            one = (
                n == 1
                or linsep.separability(flipped, [0] + [1] * (n - 1), fit_intercept=False).separable
            )
            found += 2 * one
        assert found == cover_count(n, d, fit_intercept=offset)


def test_probability_is_one_then_half_at_twice_the_dimension():
    for d in range(1, 8):
        assert all(cover_probability(n, d) == 1 for n in range(1, d + 1))
        assert cover_probability(2 * d, d) == F(1, 2)
        assert cover_count(2 * d, d) == 2 ** (2 * d - 1)
    assert cover_count(3, 0) == 0
    for bad in [(0, 1), (2, -1), (2.5, 1), (True, 1)]:
        with pytest.raises(SettingError):
            cover_count(*bad)


# -- structural bound -------------------------------------------------------------------------


def test_bound_is_the_published_formula():
    # (3) of Burges 1998 at l = 10 000, h / l = 0.1, eta = 0.05: his figure 3
    assert structural_bound(0, 1000, 10_000).capacity == pytest.approx(
        sqrt((1000 * (log(20) + 1) - log(0.05 / 4)) / 10_000)
    )
    # (7.46) of Hastie, Tibshirani, Friedman
    e = 4 * (7 * (log(2 * 500 / 7) + 1) - log(0.1 / 4)) / 500
    got = structural_bound(0.2, 7, 500, 0.1, form="relative")
    assert float(got) == pytest.approx(0.2 + e / 2 * (1 + sqrt(1 + 0.8 / e)))


@pytest.mark.parametrize("form", ["vapnik", "relative", "counted"])
def test_bound_grows_with_h_and_falls_with_n_and_eta(form):
    n = 60
    values = [structural_bound(0.1, h, n, form=form).capacity for h in [0, 1, 2, 5, 20, 60, 119]]
    assert values == sorted(values) and values[0] > 0
    past = [structural_bound(0.1, h, n, form=form).capacity for h in (120, 121, 10**9, inf)]
    assert past == [past[0]] * 4 and past[0] >= values[-1]
    rows = [structural_bound(0.1, 5, n, form=form).capacity for n in (10, 100, 1000, 10**6)]
    assert rows == sorted(rows, reverse=True) and rows[-1] < 0.02
    etas = [structural_bound(0.1, 5, 100, eta, form=form).capacity for eta in (0.001, 0.1, 0.9)]
    assert etas == sorted(etas, reverse=True)


@pytest.mark.parametrize("form", ["vapnik", "relative", "counted"])
def test_vacuous_is_said_with_the_rows_that_are_missing(form):
    bound = structural_bound(0.0, 11, 20, form=form)
    assert bound.vacuous and bound >= 1 and bound.words.startswith("vacuous")
    need = bound.rows_needed
    assert not structural_bound(0.0, 11, need, form=form).vacuous
    assert structural_bound(0.0, 11, need - 1, form=form).vacuous
    assert structural_bound(1.0, 1, 10**6, form=form).rows_needed == 0


def test_bound_refuses_what_is_no_share_no_dimension_no_count():
    for args in [(1.2, 3, 10), (-0.1, 3, 10), (0.1, 2.5, 10), (0.1, -1, 10), (0.1, 3, 0)]:
        with pytest.raises(SettingError):
            structural_bound(*args)
    for args in [("0", 3, 10), (0.1, "3", 10), (0.1, 3, None), (0.1, np.nan, 10)]:
        with pytest.raises(SettingError):
            structural_bound(*args)
    for eta in (0, 1, -1, 2):
        with pytest.raises(SettingError, match="eta"):
            structural_bound(0.1, 3, 10, eta)
    with pytest.raises(SettingError, match="form"):
        structural_bound(0.1, 3, 10, form="best")


@pytest.mark.parametrize("form", ["vapnik", "counted"])
def test_bound_holds_for_thresholds_on_a_line(form):
    """The class x > t or x < t (h = 2) on pure noise, where every risk is 1/2."""
    rng = np.random.default_rng(0)
    n, eta, broken = 60, 0.2, 0
    for _ in range(300):
        y = rng.random(n) < 0.5
        ones = np.cumsum(np.r_[0, y])  # rows sorted by x; errors of "x above t is one"
        wrong = ones + (np.arange(n + 1)[::-1] - (ones[-1] - ones))
        least = min(wrong.min(), (n - wrong).min()) / n
        broken += structural_bound(least, 2, n, eta, form=form) < 0.5
    assert broken / 300 <= eta


# -- structural minimum -----------------------------------------------------------------------


def test_minimum_chooses_the_simplest_class_that_fits():
    x = np.linspace(-1, 1, 300)[:, None]
    y = np.abs(x[:, 0]) > 0.5
    choice = structural_minimum([1, 2, 3, 4], x, y, estimator=linsep.LinearSVM(C=100.0))
    assert choice.best == "degree 2" and [int(h) for h in choice.dimensions] == [2, 3, 4, 5]
    assert (choice.best_estimator.predict(x) == y).all()
    # the level is shared: each bound is that of eta / 4
    alone = structural_bound(0.0, 3, 300, 0.05 / 4)
    assert float(choice.bound) == float(alone)
    assert choice.frame()["bound"].idxmin() == 1
    assert "degree 2" in str(choice).splitlines()[-1]


def test_minimum_takes_any_models_and_says_when_it_proves_nothing():
    X, y = linsep.data.load("students")
    choice = structural_minimum([("a", linsep.Perceptron()), ("b", LogisticRegression())], X, y)
    assert choice.bound.vacuous and "proves nothing" in str(choice)
    with pytest.raises(SettingError, match="estimator=linsep"):
        structural_minimum([1, 2], X, y)
    with pytest.raises(DataError, match="empty"):
        structural_minimum([], X, y)


def test_minimum_refuses_features_made_of_the_same_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    y = X[:, 0] > 0
    for step in (PCA(2), SelectKBest(k=2), KBinsDiscretizer(3)):
        with pytest.raises(CapabilityError, match="features of the same data"):
            structural_minimum([make_pipeline(step, linsep.LinearSVM())], X, y)
    structural_minimum([make_pipeline(StandardScaler(), linsep.LinearSVM())], X, y)
