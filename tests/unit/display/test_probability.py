"""Pictures of probabilities, checked by the numbers of their artists."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from linsep import GaussianClassifier, LogisticCurveDisplay, ProbabilityDisplay
from linsep.errors import CapabilityError, DataError, LabelError, SettingError


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")


def clouds(d=2, K=2, n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return rng.normal(size=(n, d)) + 2.0 * y[:, None], y


def vertices(contours):
    return np.vstack([path.vertices for path in contours.get_paths()])


@pytest.mark.parametrize("structure", ["full", "shared"])
@pytest.mark.parametrize("loss", [None, [[0, 5.0], [1.0, 0]]])
def test_the_boundary_lies_where_the_score_is_zero(structure, loss):
    X, y = clouds()
    model = GaussianClassifier(structure, loss=loss).fit(X, y)
    display = ProbabilityDisplay.from_estimator(model, X, y)
    (line,) = display.boundary_
    scores = model.decision_function(vertices(line))
    assert np.abs(scores).max() < 1e-3 * np.abs(model.decision_function(X)).max()
    levels = {level: model.predict_proba(path.vertices)[:, 1] for level, path in
              zip(display.levels_.levels, display.levels_.get_paths())}  # fmt: skip
    for level, p in levels.items():
        np.testing.assert_allclose(p, level, atol=0.02)


def test_the_shading_is_the_posterior_in_its_place():
    X, y = clouds()
    model = GaussianNB().fit(X, y)
    display = ProbabilityDisplay.from_estimator(model, X, y, resolution=31)
    grid = display.posterior
    at = np.array([[grid.x[7], grid.y[20]]])
    assert grid.probability[20, 7, 1] == pytest.approx(model.predict_proba(at)[0, 1])
    left, right, bottom, top = display.image_.get_extent()
    assert left < X[:, 0].min() and right > X[:, 0].max()
    assert bottom < X[:, 1].min() and top > X[:, 1].max()


def test_wrong_rows_are_ringed_and_rejected_ones_are_not():
    X, y = clouds()
    plain = ProbabilityDisplay.from_estimator(GaussianClassifier().fit(X, y), X, y)
    wrong = GaussianClassifier().fit(X, y).predict(X) != y
    np.testing.assert_array_equal(np.asarray(plain.rings_.get_offsets()), X[wrong])
    W = [[0, 1], [1, 0], [0.1, 0.1]]
    model = GaussianClassifier(loss=W).fit(X, y)
    display = ProbabilityDisplay.from_estimator(model, X, y)
    chosen = model.predict(X)
    assert display.wrong.sum() == ((chosen != y) & (chosen != -1)).sum()
    assert f"{(chosen == -1).sum()} not at all" in display.ax_.get_title()
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "no decision" in words and "decision boundary" in words


def test_three_classes_have_three_boundaries_and_mixed_colours():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.iloc[:, [0, 2]]
    model = GaussianClassifier().fit(X, y)
    display = ProbabilityDisplay.from_estimator(model, X, y)
    assert len(display.boundary_) == 3 and display.levels_ is None
    image = np.asarray(display.image_.get_array())
    assert image.shape[-1] == 3 and image.min() >= 0 and image.max() <= 1
    for line in display.boundary_:
        at = pd.DataFrame(vertices(line), columns=X.columns)
        P = np.sort(model.predict_proba(at), axis=1)
        assert np.median(P[:, -1] - P[:, -2]) < 0.05


def test_one_feature_is_drawn_as_curves():
    X, y = clouds(1, 3)
    model = GaussianClassifier().fit(X, y)
    display = ProbabilityDisplay.from_estimator(model, X, y)
    x = display.curves_[0].get_xdata()
    P = np.column_stack([curve.get_ydata() for curve in display.curves_])
    np.testing.assert_allclose(P, model.predict_proba(x[:, None]))
    for line in display.boundary_:
        at = line.get_xdata()[0]
        step = 2 * (x[1] - x[0])
        assert len(set(model.predict([[at - step], [at + step]]))) == 2


def test_slices_of_more_features():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = LogisticRegression(max_iter=500).fit(X, y)
    names = [X.columns[2], X.columns[3]]
    display = ProbabilityDisplay.from_estimator(model, X, y, features=names, resolution=40)
    assert display.ax_.get_xlabel().startswith(names[0]) and "slice" in display.ax_.get_xlabel()
    row = X.mean().to_frame().T
    row[names[0]], row[names[1]] = display.posterior.x[3], display.posterior.y[5]
    np.testing.assert_allclose(
        display.posterior.probability[5, 3], model.predict_proba(row)[0], rtol=1e-9
    )


def test_what_cannot_be_drawn_is_said():
    X, y = clouds(3)
    model = GaussianClassifier().fit(X, y)
    with pytest.raises(SettingError, match="3 features; say with features"):
        ProbabilityDisplay.from_estimator(model, X, y)
    with pytest.raises(SettingError, match="two different ones"):
        ProbabilityDisplay.from_estimator(model, X, y, features=[1, 1])
    with pytest.raises(SettingError, match="by number or name"):
        ProbabilityDisplay.from_estimator(model, X, y, features=["x9", "x1"])
    with pytest.raises(CapabilityError, match="LinearSVC has no predict_proba"):
        ProbabilityDisplay.from_estimator(LinearSVC().fit(X, y), X, y, features=(0, 1))
    with pytest.raises(DataError, match="1 axes"):
        ProbabilityDisplay.from_estimator(model, X[0], y)
    with pytest.raises(LabelError, match="class 7"):
        ProbabilityDisplay.from_estimator(model, X, y + 7, features=(0, 1))


# -- the curve --------------------------------------------------------------------------------


def test_the_curve_and_its_three_marks():
    display = LogisticCurveDisplay().plot()
    x, p = display.curve_.get_data()
    np.testing.assert_allclose(p, expit(x), rtol=1e-14)
    assert display.marks_ == [(-np.inf, 0.0), (0.0, 0.5), (np.inf, 1.0)]
    words = [text.get_text() for text in display.ax_.texts]
    assert words == ["P → 0 as l → −∞", "P = 1/2 at l = 0", "P → 1 as l → +∞"]
    assert display.points_ == []


@pytest.mark.parametrize("structure", ["shared", "full"])
def test_rows_lie_at_their_log_odds(structure):
    X, y = clouds()
    model = GaussianClassifier(structure, loss=[[0, 9.0], [1.0, 0]]).fit(X, y)
    display = LogisticCurveDisplay.from_estimator(model, X, y)
    reach = display.ax_.get_xlim()[1]
    odds = model.log_odds(X)
    for k, scatter in enumerate(display.points_):
        at = np.asarray(scatter.get_offsets())
        np.testing.assert_allclose(at[:, 0], np.clip(odds[y == k], -reach, reach))
        assert (at[:, 1] == k).all()
    assert display.beyond_ == (np.abs(odds) > reach).sum()
    assert len(display.rings_.get_offsets()) == ((odds >= 0) != (y == 1)).sum()


def test_probabilities_of_others_are_turned_into_log_odds():
    X, y = clouds()
    model = LogisticRegression().fit(X, y)
    display = LogisticCurveDisplay.from_estimator(model, X, y)
    np.testing.assert_allclose(display.log_odds, model.decision_function(X), rtol=1e-6)
    far = LogisticCurveDisplay(np.array([-np.inf, 900.0]), [0, 1]).plot()
    assert far.beyond_ == 2 and "2 rows further out" in far.ax_.get_xlabel()
    with pytest.raises(CapabilityError, match="two classes; GaussianNB has 3"):
        LogisticCurveDisplay.from_estimator(GaussianNB().fit(X, np.arange(60) % 3), X, y)
    with pytest.raises(CapabilityError, match="no predict_proba"):
        LogisticCurveDisplay.from_estimator(LinearSVC().fit(X, y), X, y)
