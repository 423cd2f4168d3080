"""Pictures of the lectures: reflected rows, Novikoff's slab, a neuron."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import linsep
from linsep.errors import CapabilityError, LabelError


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")


LINE = np.array([[-2.0], [-1.2], [-0.4], [0.6], [1.1], [2.0]])
SIDES = ["A", "A", "A", "B", "B", "B"]


def test_one_feature_is_augmented_and_reflected_into_one_half_plane():
    display = linsep.ReflectionDisplay.from_data(LINE, SIDES)
    rows, augmented, turned = display.panels
    np.testing.assert_array_equal(rows[:, 0], LINE[:, 0])
    np.testing.assert_array_equal(augmented[:, 1], 1.0)
    np.testing.assert_array_equal(turned[:3], -augmented[:3])
    assert (turned @ display.weights > 0).all()
    corners = display.half_.get_xy()
    assert (corners @ display.weights >= -1e-9).all()
    assert len(display.axes_) == 3


def test_two_features_without_intercept_are_reflected_only():
    X = np.array([[1.0, 2.0], [-2.0, -1.0]])
    display = linsep.ReflectionDisplay.from_data(X, [1, 0], fit_intercept=False)
    assert len(display.axes_) == 2
    np.testing.assert_array_equal(display.panels[1], [[1.0, 2.0], [2.0, 1.0]])


def test_reflection_of_rows_that_nothing_separates_has_no_half_plane():
    display = linsep.ReflectionDisplay.from_data([[0.0], [1.0], [2.0]], [0, 1, 0])
    assert display.half_ is None and display.weights is None
    given = linsep.ReflectionDisplay.from_data(
        [[0.0], [1.0], [2.0]], [0, 1, 0], weights=(1.0, -1.5)
    )
    np.testing.assert_array_equal(given.weights, [1.0, -1.5])


def test_two_features_with_an_intercept_are_reflected_in_space():
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2][:, [0, 2]], np.array(["setosa", "versicolor"])[y[y < 2]]
    display = linsep.ReflectionDisplay.from_data(X, y)
    rows, augmented, turned = display.panels
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(augmented, np.column_stack([X, np.ones(len(X))]))
    np.testing.assert_array_equal(turned, augmented * np.where(y == "setosa", -1, 1)[:, None])
    assert (turned @ display.weights > 0).all()
    assert [ax.name for ax in display.axes_] == ["rectilinear", "3d", "3d"]
    for corners in display.planes_:  # through the origin
        np.testing.assert_allclose(corners @ display.weights, 0.0, atol=1e-9)
    line = display.axes_[0].findobj(lambda one: getattr(one, "get_xydata", None) is not None)
    assert any(
        np.allclose(one.get_xydata() @ display.weights[:2], -display.weights[2])
        for one in line
        if len(one.get_xydata()) == 2
    )


def test_reflection_in_space_of_rows_that_nothing_separates():
    display = linsep.ReflectionDisplay.from_data(*linsep.data.load("five-points"))
    assert display.planes_ == []
    assert "no a has a . z > 0" in display.axes_[-1].get_title()


def test_three_features_without_intercept_are_reflected_in_space():
    X = np.random.default_rng(5).normal(size=(12, 3))
    display = linsep.ReflectionDisplay.from_data(X, X @ [1, 2, -1] > 0, fit_intercept=False)
    assert [points.shape for points in display.panels] == [(12, 3)] * 2
    assert len(display.planes_) == 2


def test_reflection_says_what_cannot_be_drawn():
    with pytest.raises(CapabilityError, match="4 dimensions"):
        linsep.ReflectionDisplay.from_data(np.eye(3)[:2], [0, 1])
    with pytest.raises(LabelError, match="3 classes"):
        linsep.ReflectionDisplay.from_data([[0.0], [1.0], [2.0]], [0, 1, 2])


def test_novikoff_rows_lie_in_the_ball_and_beyond_the_slab():
    run = linsep.trace(linsep.Perceptron(), LINE + 0.1, SIDES)
    display = linsep.NovikoffDisplay.from_trace(run)
    D, gamma = display.bound.radius, display.bound.margin[0]
    u = display.bound.separator
    assert display.ball_.get_radius() == D
    assert np.linalg.norm(display.points, axis=1).max() == pytest.approx(D)
    assert (display.points @ u).min() == pytest.approx(gamma)
    across = display.slab_.get_xy() @ u
    assert across.min() >= -1e-9 and across.max() == pytest.approx(gamma)
    length, above, below = display.curves
    made = length.x.astype(int)
    assert (length.y <= D**2 * made + 1e-9).all()
    assert (length.y >= (gamma * made) ** 2 - 1e-9).all()
    assert above.y[-1] == pytest.approx(below.y[-1])  # they meet at D^2 / gamma^2


def test_novikoff_of_many_features_shows_the_growth_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5))
    y = np.sign(X @ rng.normal(size=5))
    display = linsep.NovikoffDisplay.from_trace(linsep.trace(linsep.Perceptron(), X, y))
    assert len(display.axes_) == 1 and display.points is None


@pytest.mark.filterwarnings("ignore")
def test_novikoff_needs_separable_classes_and_the_plain_rule():
    five = linsep.data.load("five-points")
    with pytest.raises(CapabilityError, match="no plane separates"):
        linsep.NovikoffDisplay.from_trace(linsep.trace(linsep.Perceptron(), five.X, five.y))
    run = linsep.trace(linsep.Perceptron(update="batch"), LINE + 1.5, SIDES)
    with pytest.raises(CapabilityError, match="eta = 1"):
        linsep.NovikoffDisplay.from_trace(run)


def test_neuron_of_two_classes_writes_its_weights():
    table = linsep.data.load("students")
    model = linsep.Perceptron().fit(table.X, table.y)
    display = linsep.NeuronDisplay.from_estimator(model)
    texts = [text.get_text() for text in display.ax_.texts]
    for weight in [*model.coef_[0], *model.intercept_]:
        assert f"{weight:.4g}" in texts
    assert display.activation == "step"


def test_neuron_of_many_classes_and_of_other_libraries():
    X, y = load_iris(return_X_y=True, as_frame=True)
    many = linsep.NeuronDisplay.from_estimator(LogisticRegression(max_iter=500).fit(X, y))
    assert many.activation == "largest" and len(many.edges_) == 3 * 5
    two = linsep.NeuronDisplay.from_estimator(LogisticRegression().fit(X[:100], y[:100]))
    assert two.activation == "sigmoid"
    dashed = [line.get_linestyle() != "-" for line in two.edges_]
    assert dashed == [bool(w < 0) for w in np.append(two.coef[0], two.intercept)]


def test_neuron_shows_the_largest_weights_of_many_inputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20))
    y = X[:, 3] > 0
    display = linsep.NeuronDisplay.from_estimator(linsep.LogisticRegression().fit(X, y))
    assert len(display.shown_) == 12 and 3 in display.shown_
    with pytest.raises(CapabilityError, match="no coef_"):
        linsep.NeuronDisplay.from_estimator(linsep.KernelSVM().fit(X, y))


@pytest.mark.parametrize(
    ("w", "b", "X"),
    [([2, -1], -2, [[0, 4], [6, 9]]), ([3], -6, [[0.5]]), ([1, 2, 3], 4, [[1, 1, 1], [0, 0, -3]])],
)
def test_a_plane_stands_beside_the_parallel_one_through_the_origin(w, b, X):
    plane = linsep.Linear(w, b)
    display = linsep.DecisionDisplay.from_plane(plane, X)
    normal, offset = display.view.weights[0], display.view.offsets[0]
    origin, foot = display.origin
    assert normal @ foot + offset == pytest.approx(0, abs=1e-12)
    assert np.linalg.norm(foot - origin) == pytest.approx(abs(plane.origin_distance))
    ends = np.array(display.parallel_.get_data()).T
    np.testing.assert_allclose((ends - origin) @ normal, 0.0, atol=1e-9)
    assert f"{abs(plane.origin_distance):.4g}" in display.shift_.get_label()
    long = [np.ptp(np.array(line.get_data()).T, axis=0) for line in display.distances_]
    np.testing.assert_allclose(np.linalg.norm(long, axis=1), np.abs(plane.distance(X)))
    side = "-1" if plane.origin_distance < 0 else "1"
    assert display.title.endswith(f"on the side of {side}")


def test_a_plane_through_the_origin_has_no_parallel_one():
    display = linsep.DecisionDisplay.from_plane(linsep.Linear([1, 1]))
    assert display.parallel_ is None
    assert "goes through the origin" in display.title
    with pytest.raises(CapabilityError, match="3 planes"):
        linsep.DecisionDisplay.from_plane(linsep.Linear(np.eye(3), np.zeros(3)))
