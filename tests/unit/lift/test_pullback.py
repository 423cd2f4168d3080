"""Boundaries behind lifts, seen from the inputs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

import linsep
from linsep.errors import CapabilityError, DataError, ModelError
from linsep.lift import Lift, compare, pullback

LINE = np.linspace(-3, 3, 25)[:, None]
BAND = np.where(np.abs(LINE[:, 0] - 0.4) < 1.2, "in", "out")


def disc(n=120, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, (np.hypot(*X.T) > 1.1).astype(int)


# -- one input ------------------------------------------------------------------------------


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=5), st.sampled_from([-1.0, 0.5, 3.0]))
def test_all_roots_of_a_polynomial_are_found(roots, factor):
    coefficients = factor * np.polynomial.polynomial.polyfromroots(roots)
    degree = len(roots)
    lift = Lift(", ".join(f"x**{k}" for k in range(1, degree + 1))).fit([[0.0]])
    f = lift.pullback((coefficients[1:], coefficients[0]))
    assert f.roots().tolist() == sorted(set(roots))
    for low, high, label in f.intervals():
        # beside the middle, where a function may touch zero
        middle = np.clip(low, -100, 100) / 2 + np.clip(high, -100, 100) / 2 + 0.123
        assert label == (1 if np.prod([middle - r for r in roots]) * factor > 0 else -1)
    ends = [end for low, high, _ in f.intervals() for end in (low, high)]
    assert ends[0] == -np.inf
    assert ends[-1] == np.inf
    assert ends[1:-1:2] == ends[2:-1:2]


def test_close_roots_are_told_apart():
    f = Lift("x, x**2").fit([[0.0]]).pullback(([-2.0, 1.0], 1 - 2.0**-50))
    np.testing.assert_allclose(f.roots() - 1, [-(2.0**-25), 2.0**-25], rtol=1e-8)
    assert Lift("x, x**2").fit([[0.0]]).pullback(([-2.0, 1.0], 1 + 2.0**-50)).roots().size == 0


def test_touching_and_vanishing_functions():
    lift = Lift("x, x**2").fit([[0.0]])
    assert lift.pullback(([0, 1.0], 0.0)).intervals() == [(-np.inf, np.inf, 1)]
    assert lift.pullback(([0, -1.0], 0.0)).roots().tolist() == [0.0]
    assert lift.pullback(([0, 0], 0.0)).intervals() == [(-np.inf, np.inf, 1)]
    assert lift.pullback(([0, 0], -1.0)).intervals() == [(-np.inf, np.inf, -1)]
    assert lift.pullback(([0, 0], -1.0)).text().endswith("that is no x")


def test_numbers_at_the_ends_of_the_range():
    lift = Lift("x, x**2").fit([[1.0]])
    np.testing.assert_allclose(lift.pullback(([0, 1e-300], -1.0)).roots(), [-1e150, 1e150])
    np.testing.assert_allclose(lift.pullback(([0, 1e300], -1e-300)).roots(), [-1e-300, 1e-300])
    beyond = lift.pullback(([0, 5e-324], -1e300))
    assert beyond.roots().size == 0
    assert beyond.intervals() == [(-np.inf, np.inf, -1)]
    assert lift.pullback(([0, 1.0], -1.0)).intervals(-np.inf, 0) == [(-np.inf, -1, 1), (-1, 0, -1)]
    for low, high in ((np.nan, 1), (1, 1), (2, 1)):
        with pytest.raises(DataError, match="low must be below high"):
            lift.pullback(([0, 1.0], -1.0)).intervals(low, high)
    with pytest.raises(ModelError, match="not finite"):
        lift.pullback(([0, np.inf], 0.0))


def test_roots_and_intervals_of_a_part_of_the_line():
    f = Lift("x, x**2").fit([[0.0]]).pullback(([0, 1.0], -4.0))
    assert f.roots(low=0).tolist() == [2.0]
    assert f.intervals(-1, 3) == [(-1.0, 2.0, -1), (2.0, 3.0, 1)]
    assert f.intervals(low=5) == [(5.0, np.inf, 1)]
    assert f.intervals(high=0.5) == [(-np.inf, -2.0, 1), (-2.0, 0.5, -1)]
    assert f.intervals(-1, 1) == [(-1.0, 1.0, -1)]


def test_other_functions_are_searched_where_the_data_lie():
    lift = Lift("sin(x)").fit([[0.0], [10.0]])
    f = lift.pullback(([2.0], -1.0))
    assert not f.exact
    assert f.polynomial is None
    assert f.limits() == (-1.0, 11.0)
    expected = np.arcsin(0.5) + 2 * np.pi * np.arange(2)
    both = np.sort(np.concatenate([expected, np.pi - np.arcsin(0.5) + 2 * np.pi * np.arange(2)]))
    np.testing.assert_allclose(f.roots(), both, rtol=1e-12)
    assert [label for _, _, label in f.intervals()] == [-1, 1, -1, 1, -1]
    np.testing.assert_allclose(f.roots(0, 2), [np.pi / 6], rtol=1e-12)
    assert f.text() == "predict 1 where 2*(sin(x)) - 1 >= 0, else -1"


def test_a_pole_is_a_border_but_no_root_and_gaps_have_no_class():
    f = Lift("1/x").fit([[-1.0], [2.0]]).pullback(([1.0], 0.0))
    assert f.roots().size == 0
    cut = f.intervals()
    assert [label for _, _, label in cut] == [-1, 1]
    assert abs(cut[0][1]) < 1e-12
    g = Lift("log(x)").fit([[1.0], [5.0]]).pullback(([1.0], -1.0))
    assert [label for _, _, label in g.intervals(-1, 5)] == [None, -1, 1]
    np.testing.assert_allclose(g.roots(-1, 5), [np.e], rtol=1e-12)


@pytest.mark.parametrize(
    "model", [linsep.LinearSVM(), LogisticRegression(), linsep.Perceptron(max_iter=50)]
)
@pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
def test_three_classes_on_a_line(model):
    y = np.digitize(LINE[:, 0], [-1.2, 0.8])
    pipe = make_pipeline(Lift("x, x**2"), model).fit(LINE, y)
    f = pullback(pipe)
    dense = np.linspace(-20, 20, 4001)[:, None]
    found = pipe.predict(dense)
    for low, high, label in f.intervals():
        inside = (dense[:, 0] > low) & (dense[:, 0] < high)
        assert (found[inside] == label).all()
    assert len(f.roots()) == len(f.intervals()) - 1
    assert len(f.polynomial) == 3
    assert "largest score" in f.text()


# -- several inputs -------------------------------------------------------------------------


def test_contours_lie_on_the_boundary_and_are_complete():
    lift = Lift("x1**2 + x2**2").fit([[-2.0, -2.0], [2.0, 2.0]])
    lines = lift.pullback(([1.0], -1.0)).contour(points=60)
    assert len(lines) == 1
    np.testing.assert_allclose((lines[0] ** 2).sum(axis=1), 1.0, rtol=1e-14)
    angles = np.sort(np.arctan2(*lines[0].T))
    assert np.diff(angles).max() < 0.2
    np.testing.assert_array_equal(lines[0][0], lines[0][-1])


def test_contours_outside_the_domain_and_of_three_classes():
    f = Lift("log(x1), x2").fit([[1.0, -1], [3.0, 1]]).pullback(([1.0, -1.0], 0.0))
    line = np.vstack(f.contour((-1, 3), (-1, 1)))
    np.testing.assert_allclose(np.log(line[:, 0]), line[:, 1], atol=1e-12)
    X, y = disc()
    y = y + (X[:, 0] > 0)
    pipe = make_pipeline(Lift("poly(2)"), LogisticRegression()).fit(X, y)
    line = np.vstack(pullback(pipe).contour())
    scores = np.sort(pipe.decision_function(line), axis=1)
    assert (scores[:, -1] - scores[:, -2]).max() < 1e-9


def test_wrong_numbers_of_inputs_are_refused():
    X, y = disc()
    f = pullback(make_pipeline(Lift("poly(2)"), LogisticRegression()).fit(X, y))
    with pytest.raises(CapabilityError, match="roots need 1 input; this lift has 2; use contour"):
        f.roots()
    g = Lift("x").fit([[0.0], [1.0]]).pullback(([1.0], 0.0))
    with pytest.raises(CapabilityError, match="use roots"):
        g.contour()
    with pytest.raises(DataError, match="rows of 2 inputs"):
        f(np.ones((3, 5)))
    with pytest.raises(DataError, match="not ascending"):
        f.contour((1, 0))
    with pytest.raises(ModelError, match="2 weights, and the lift 1 outputs"):
        Lift("x").fit([[0.0]]).pullback(([1.0, 2.0], 0.0))


# -- pipelines ------------------------------------------------------------------------------

SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler((-1, 2)),
    MaxAbsScaler(),
    RobustScaler(),
    RobustScaler(with_centering=False),
    RobustScaler(with_scaling=False),
    "passthrough",
]


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
@pytest.mark.parametrize("before", [True, False])
def test_scalers_before_and_behind_a_lift_are_folded(scaler, before):
    X, y = disc()
    lift = Lift("x1, x2, (x1 - 2*x2)**2, x1**3/3")
    steps = (scaler, lift) if before else (lift, scaler)
    pipe = make_pipeline(*steps, LogisticRegression()).fit(X, y)
    f = pullback(pipe)
    assert f.exact
    np.testing.assert_allclose(f(X), pipe.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(f.polynomials[0](X), f(X), rtol=1e-7, atol=1e-7)


def test_polynomial_features_and_two_lifts_are_exact_and_others_computed():
    X, y = disc()
    pipe = make_pipeline(PolynomialFeatures(2), Lift("poly(1), x2*x3"), LinearSVC()).fit(X, y)
    f = pullback(pipe)
    assert f.exact
    np.testing.assert_allclose(f.polynomials[0](X), pipe.decision_function(X), atol=1e-8)
    pipe = make_pipeline(Lift("poly(2)"), PCA(3), LinearSVC()).fit(X, y)
    f = pullback(pipe)
    assert not f.exact
    np.testing.assert_allclose(f(X), pipe.decision_function(X), atol=1e-10)
    assert "phi1" in f.text()
    assert len(f.contour()) >= 1
    clipped = make_pipeline(MinMaxScaler(clip=True), Lift("poly(2)"), LinearSVC()).fit(X, y)
    assert not pullback(clipped).exact


def test_a_lift_accepts_the_pipeline_it_is_in_and_frames():
    X, y = disc()
    frame = pd.DataFrame(X, columns=["a b", "c"])
    lift = Lift("`a b`**2 + c**2")
    pipe = make_pipeline(lift, linsep.LinearSVM()).fit(frame, y)
    f = pipe[0].pullback(pipe)
    assert set(f.polynomial) == {"`a b`**2", "c**2", "1"}
    assert "`a b`**2" in f.text()
    np.testing.assert_allclose(f(frame), pipe.decision_function(frame))
    assert f(X[0]) == f(X)[0]
    assert f(*X[0]) == f(X)[0]
    grid = np.meshgrid([0.0, 1.0, 2.0], [3.0, 4.0])
    np.testing.assert_allclose(
        f(*grid), f(np.column_stack([g.ravel() for g in grid])).reshape(2, 3)
    )
    with pytest.raises(DataError, match="3 coordinates"):
        f(1, 2, 3)
    line = Lift("x, x**2").fit([[0.0]]).pullback(([1.0, 1.0], 0.0))
    assert line(2.0) == 6.0
    assert line([1.0, 2.0]).tolist() == [2.0, 6.0]


def test_a_model_with_a_setting_called_steps_is_no_pipeline():
    lift = Lift("x, x**2")
    model = linsep.Kozinec().fit(lift.fit_transform(LINE), BAND)
    assert len(lift.pullback(model).roots()) == 2
    with pytest.raises(CapabilityError, match="holds no Lift"):
        linsep.LiftDisplay.from_estimator(model, LINE, BAND)


def test_what_cannot_be_pulled_back_says_why():
    X, y = disc()
    with pytest.raises(CapabilityError, match="no coef_"):
        pullback(make_pipeline(Lift(), SVC()).fit(X, y))
    with pytest.raises(CapabilityError, match="is no pipeline"):
        pullback(LogisticRegression().fit(X, y))
    three = y + (X[:, 0] > 0)
    with pytest.raises(CapabilityError, match="3 planes for 3 classes"):
        pullback(make_pipeline(Lift(), SVC(kernel="linear")).fit(X, three))
    scaled = make_pipeline(StandardScaler(), Lift("sin(x)"), LogisticRegression()).fit(LINE, BAND)
    with pytest.raises(CapabilityError, match="low="):
        pullback(scaled).roots()


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    st.floats(-1e3, 1e3),
    st.lists(st.floats(-10, 10), min_size=2, max_size=2),
)
def test_exact_and_float_scores_have_the_same_sign(weights, offset, x):
    f = Lift("x1, x1*x2, (x1 - x2)**2").fit([[0.0, 1.0]]).pullback((weights, offset))
    score = f(x)
    assume(abs(score) > 1e-6)
    from fractions import Fraction

    exact = f.polynomials[0].exact([Fraction(v) for v in x])
    assert (exact > 0) == (score > 0)


def test_a_lift_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError, match="not fitted"):
        Lift("x").pullback(([1.0], 0.0))


# -- comparison -----------------------------------------------------------------------------


def test_comparison_of_lifts_that_span_the_same_functions():
    X = np.array([[-2.0], [-1.5], [-0.5], [0.0], [0.5], [1.5], [2.0]])
    y = np.where(np.abs(X[:, 0]) > 1, 1, -1)
    found = compare({"plain": "x, x**2", "shifted": "x, x**2 - 1", "line": "x"}, X, y)
    for name in ("plain", "shifted"):
        row = found[name]
        assert row.separable
        assert row.updates <= row.bound + 1e-9
        assert row.gamma_low <= row.gamma_high
        np.testing.assert_allclose(row.bound, (row.D / row.gamma_low) ** 2, rtol=1e-9)
    rows = np.column_stack([X, X**2, np.ones(7)])
    np.testing.assert_allclose(found["plain"].D, np.linalg.norm(rows, axis=1).max())
    assert found["line"].separable is False
    assert found["line"].bound == np.inf
    assert found["line"].errors > 0
    assert found.frame()["name"].tolist() == ["plain", "shifted", "line"]
    assert len(found.table().splitlines()) == 4
    assert compare([Lift("x")], X, y, linsep.Kozinec())[0].updates is not None
    assert compare(["x"], X, y, LogisticRegression())[0].updates is None


def test_one_column_for_each_row_separates_consistent_labels_only():
    X = np.array([[3.0, 1], [0, 2], [5, 5], [-1, 4]])

    def one_hot(rows):
        return (rows[:, None] == X).all(axis=2).astype(float)

    for code in range(1, 15):
        y = [(code >> k) & 1 for k in range(4)]
        assert linsep.separability(Lift(one_hot).fit_transform(X), y).separable
    twice = np.vstack([X, X[:1]])
    proof = linsep.separability(Lift(one_hot).fit_transform(twice), [0, 0, 1, 1, 1])
    assert proof.separable is False
    assert set(proof.rows) == {0, 4}
