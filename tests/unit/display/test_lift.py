"""Pictures of lifts and of choices, checked by the numbers of their artists."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import linsep
from linsep.errors import CapabilityError, DataError, SettingError


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")


X1 = np.array([[-2.0], [-1.5], [-0.5], [0.0], [0.5], [1.5], [2.0]])
Y1 = np.where(np.abs(X1[:, 0]) > 1, 1, -1)


def test_boundary_of_xor_and_its_plane():
    X, y = linsep.data.load("xor-01")
    lift = linsep.Lift("x1, x2, (x1 - x2)**2").fit(X)
    display = lift.pullback(([0, 0, 1.0], -0.5)).plot(X, y)
    for line in display.lines_:
        difference = np.subtract(line.get_xdata(), line.get_ydata())
        np.testing.assert_allclose(np.abs(difference), np.sqrt(0.5))
    assert display.planes_[0].shape == (4, 3)
    np.testing.assert_allclose(display.planes_[0][:, 2], 0.5)
    assert display.rings_.get_offsets().shape[0] == 0


def test_line_with_function_roots_and_lifted_rows():
    model = make_pipeline(linsep.Lift("x, x**2"), linsep.Kozinec(eps=1e-9)).fit(X1, Y1)
    display = linsep.LiftDisplay.from_estimator(model, X1, Y1)
    roots = linsep.lift.pullback(model).roots()
    np.testing.assert_allclose([line.get_xdata()[0] for line in display.lines_], roots)
    x, f = display.curve_.get_data()
    np.testing.assert_allclose(f, model.decision_function(np.array(x)[:, None]))
    assert display.space_.get_ylabel() == "x**2"


def test_rings_around_wrong_rows_and_frames_and_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    frame = pd.DataFrame(X, columns=["left", "right side"])
    y = np.digitize(np.hypot(*X.T), [0.8, 1.5])
    model = make_pipeline(linsep.Lift("poly(2)"), StandardScaler(), LogisticRegression(C=10))
    model.fit(frame, y)
    display = linsep.LiftDisplay.from_estimator(model, frame, y, class_names=["a", "b", "c"])
    assert len(display.rings_.get_offsets()) == (model.predict(frame) != y).sum()
    assert display.space_ is None  # five features cannot be drawn
    assert display.ax_.get_ylabel() == "`right side`"
    assert display.title.splitlines()[0] == "predict the class with the largest score:"
    long = make_pipeline(linsep.Lift("poly(6)"), LogisticRegression()).fit(frame, y > 0)
    rich = linsep.LiftDisplay.from_estimator(long, frame, y > 0)
    assert rich.title == "f is a polynomial of degree 6 of left and `right side`; 2 classes"
    ax = plt.figure().add_subplot()
    assert linsep.LiftDisplay.from_estimator(model, frame, y, ax=ax).ax_ is ax


def test_pictures_of_lifts_without_a_polynomial():
    model = make_pipeline(linsep.Lift("x, sin(3*x)"), LogisticRegression()).fit(X1, Y1)
    display = linsep.LiftDisplay.from_estimator(model, X1, Y1)
    assert "sin(3*x)" in display.title
    X = np.abs(np.random.default_rng(1).normal(size=(30, 2))) + 0.1
    y = (X[:, 0] * X[:, 1] > 0.5).astype(int)
    model = make_pipeline(linsep.Lift("log(x1), log(x2)"), LogisticRegression(C=100)).fit(X, y)
    assert len(linsep.LiftDisplay.from_estimator(model, X, y).lines_) >= 1


def test_what_cannot_be_drawn():
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = (X[:, 0] > 0).astype(int)
    model = make_pipeline(linsep.Lift("poly(2)"), LogisticRegression()).fit(X, y)
    with pytest.raises(CapabilityError, match="3 inputs"):
        linsep.LiftDisplay.from_estimator(model, X, y)
    with pytest.raises(CapabilityError, match="holds no Lift"):
        linsep.LiftDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    run = linsep.trace(linsep.Perceptron(), X, y)
    with pytest.raises(CapabilityError, match="rows of 3 features"):
        linsep.LiftFramesDisplay.from_trace(run)


def test_frames_of_a_run():
    lift = linsep.Lift("x, x**2 - 1")
    run = linsep.trace(linsep.Perceptron(), lift.fit_transform(X1), Y1)
    display = linsep.LiftFramesDisplay.from_trace(run, lift=lift, X=X1, updates=[0, 1])
    step = run[1]
    assert display.axes_[1].get_title() == f"update 1, {step.visit} visited"
    assert len(display.strips_) == 2
    assert len(linsep.LiftFramesDisplay.from_trace(run).strips_) == 0
    with pytest.raises(SettingError, match="the trace has updates"):
        linsep.LiftFramesDisplay.from_trace(run, updates=[99])
    with pytest.raises(DataError, match="3 values"):
        linsep.LiftFramesDisplay.from_trace(run, lift=lift, X=X1[:3])


@pytest.fixture(scope="module")
def choice():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(90, 2))
    y = np.where(X[:, 1] - 2 * X[:, 0] ** 2 + 0.5 + 0.2 * rng.normal(size=90) > 0, "up", "down")
    model = make_pipeline(StandardScaler(), LogisticRegression(C=100, solver="newton-cholesky"))
    return linsep.choose(model, X, y, "lift degree", [1, 2, 6]), X, y


def test_curves_of_a_choice(choice):
    found, _, _ = choice
    display = found.plot()
    np.testing.assert_array_equal(display.cv_.get_ydata(), found.cv_risk)
    np.testing.assert_array_equal(display.train_.get_ydata(), found.train_risk)
    np.testing.assert_array_equal(display.bound_.get_ydata(), found.bound)
    assert display.chosen_.get_offsets()[0].tolist() == [2, found.cv_risk[1]]
    ax = plt.figure().add_subplot()
    display = found.plot(ax)
    assert display.ax_ is ax
    assert display.bound_ is None


def test_curves_on_other_axes(choice):
    _, X, y = choice
    display = linsep.choose(SVC(), X, y, "gamma", [0.01, 1.0, 100.0], cv=3).plot()
    assert display.ax_.get_xscale() == "log"
    display = linsep.choose(SVC(), X, y, "kernel", ["linear", "rbf"], cv=3).plot()
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["linear", "rbf"]
    back = linsep.choose(LogisticRegression(), X, y, "C", [2.0, 1.0], cv=3, simplest="last").plot()
    assert back.ax_.get_xlim()[0] < back.ax_.get_xlim()[1]  # 1 is the simplest and stands left


def test_triptych_says_what_fits(choice):
    found, X, y = choice
    display = linsep.TriptychDisplay.from_choice(found, X, y)
    assert display.indices == [0, 1, 2]
    assert "underfit" in display.words_[0]
    assert "chosen" in display.words_[1]
    for k, words in enumerate(display.words_):
        assert f"training {found.empirical_risk[k]:.3f}" in words
        assert f"cross-validated {found.cv_risk[k]:.3f}" in words
    assert len(linsep.TriptychDisplay.from_choice(found, X, y, indices=[1]).axes_) == 1
    with pytest.raises(SettingError, match="values 0 to 2"):
        linsep.TriptychDisplay.from_choice(found, X, y, indices=[7])


def test_triptych_of_one_feature_and_of_none():
    flat = linsep.choose(linsep.LinearSVM(C=100), X1, Y1, "lift degree", [1, 2], cv=2)
    display = linsep.TriptychDisplay.from_choice(flat, X1, Y1)
    assert len(display.axes_) == 2
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = (X[:, 0] > 0).astype(int)
    with pytest.raises(CapabilityError, match="3 features"):
        linsep.TriptychDisplay.from_choice(linsep.choose(SVC(), X, y, "C", [1.0]), X, y)
