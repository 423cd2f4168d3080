"""Pictures are checked by the numbers of their artists, never by pixels."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import SVC, LinearSVC

import linsep
from linsep import (
    CostDisplay,
    DecisionDisplay,
    HullDisplay,
    TraceDisplay,
    WeightSpaceDisplay,
)
from linsep.display.geometry import convex_hull, residual_direction
from linsep.errors import CapabilityError, DataError, LabelError, SettingError


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()  # an artist that cannot be drawn fails here
    plt.close("all")


@pytest.fixture
def kozinec():
    table = linsep.data.load("mse-1")
    return linsep.Kozinec(eps=1e-9).fit(table.X, table.y), table


def clouds(d, n=20, gap=3.0, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(classes * n, d))
    y = np.repeat(np.arange(classes), n)
    X[:, 0] += gap * (y == 1)
    if d > 1:
        X[:, 1] += gap * (y == 2)
    return X, y


def ends(line):
    return np.column_stack([line.get_xdata(), line.get_ydata()])


def offsets(scatter):
    return np.asarray(scatter.get_offsets())


# -- decision -------------------------------------------------------------------------------


def test_line_and_margins_lie_where_the_algebra_says(kozinec):
    model, table = kozinec
    display = DecisionDisplay.from_estimator(model, table.X, table.y)
    w, b = model.coef_[0], model.intercept_[0]
    length = np.linalg.norm(w)
    assert np.abs(ends(display.line_) @ w + b).max() < 1e-9 * length
    distances = sorted(float((ends(m) @ w + b).mean() / length) for m in display.margins_)
    m = model.certificate_.margin
    np.testing.assert_allclose(distances, [-m, m], rtol=1e-9)
    assert m == pytest.approx(1 / np.sqrt(5))


def test_normal_has_its_tail_on_the_line_and_points_to_the_positive_side(kozinec):
    model, table = kozinec
    arrow = DecisionDisplay.from_estimator(model, table.X, table.y).normal_
    w, b = model.coef_[0], model.intercept_[0]
    assert abs(np.array(arrow.xyann) @ w + b) < 1e-9
    step = np.array(arrow.xy) - np.array(arrow.xyann)
    assert step @ w == pytest.approx(np.linalg.norm(step) * np.linalg.norm(w))


def test_rings_mark_the_wrong_rows_and_the_rows_at_the_margin(kozinec):
    model, table = kozinec
    display = DecisionDisplay.from_estimator(model, table.X, table.y)
    assert len(offsets(display.rings_)) == 0
    np.testing.assert_array_equal(offsets(display.nearest_), table.X[:3])
    flipped = DecisionDisplay.from_estimator(model, table.X, [1, -1, -1, -1])
    np.testing.assert_array_equal(offsets(flipped.rings_), table.X[[1]])
    assert flipped.margins_ == []
    assert "1 of 4 rows" in flipped.ax_.get_title()


def test_sides_cover_the_picture_by_class(kozinec):
    model, table = kozinec
    display = DecisionDisplay.from_estimator(model, table.X, table.y)
    for k, region in enumerate(display.regions_):
        path = region.get_path()
        assert path.contains_points(table.X[display.labels == k]).all()
        assert not path.contains_points(table.X[display.labels != k]).any()


def test_picture_shows_every_row_at_one_scale(kozinec):
    model, table = kozinec
    ax = DecisionDisplay.from_estimator(model, table.X, table.y).ax_
    ax.figure.canvas.draw()
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    low, high = table.X.min(axis=0), table.X.max(axis=0)
    assert x0 < low[0] and y0 < low[1] and high[0] < x1 and high[1] < y1
    box = ax.get_window_extent()
    assert box.width / (x1 - x0) == pytest.approx(box.height / (y1 - y0))


def test_title_rounds_margins_to_the_safe_side(kozinec):
    model, table = kozinec
    title = DecisionDisplay.from_estimator(model, table.X, table.y).title
    assert title == (
        "Kozinec: every row is on its own side, margin 0.4472; no plane has more than 0.4473"
    )


def test_class_names_and_features_name_the_picture(kozinec):
    model, table = kozinec
    display = DecisionDisplay.from_estimator(
        model, *table, class_names=table.classes, feature_names=["height", "width"], features=(1, 0)
    )
    assert [s.get_label() for s in display.points_] == ["class 2", "class 1"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("width", "height")
    turned = ends(display.line_)[:, ::-1]
    assert np.abs(turned @ model.coef_[0] + model.intercept_[0]).max() < 1e-8


def test_one_feature_is_a_line_with_a_threshold():
    X, y = np.array([[0.0], [1.0], [4.0], [7.0]]), ["low", "low", "high", "high"]
    display = DecisionDisplay.from_estimator(linsep.Kozinec(eps=1e-9).fit(X, y), X, y)
    np.testing.assert_allclose(display.line_.get_xdata(), 2.5)
    np.testing.assert_allclose(sorted(m.get_xdata()[0] for m in display.margins_), [1.0, 4.0])
    assert not offsets(display.points_[0])[:, 1].any()


def test_many_features_keep_the_distance_to_the_plane():
    X, y = clouds(6, gap=8.0)
    model = linsep.Perceptron().fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y)
    distance = model.decision_function(X) / np.linalg.norm(model.coef_)
    np.testing.assert_allclose(display.view.points[:, 0], distance)
    np.testing.assert_allclose(display.line_.get_xdata(), 0.0, atol=1e-12)
    assert display.margin == pytest.approx(np.abs(distance).min())
    assert "signed distance" in display.ax_.get_xlabel()


def test_residual_direction_is_the_main_one():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 5)) * (1, 9, 3, 1, 1)
    unit = np.eye(5)[0]
    v, share = residual_direction(X, unit)
    rest = (X - X.mean(axis=0))[:, 1:]
    sizes, basis = np.linalg.svd(rest, full_matrices=False)[1:]
    assert abs(v[1:] @ basis[0]) == pytest.approx(1.0, abs=1e-9)
    assert abs(v[0]) < 1e-12
    assert share == pytest.approx(sizes[0] ** 2 / (sizes**2).sum())


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.coo_array, sparse.csr_matrix])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_sparse_rows_give_the_same_picture(kind, d):
    X, y = clouds(d, gap=9.0)
    model = linsep.Perceptron().fit(X, y)
    plain = DecisionDisplay.from_estimator(model, X, y)
    thin = DecisionDisplay.from_estimator(model, kind(X), y)
    np.testing.assert_allclose(thin.view.points, plain.view.points, atol=1e-6)


def test_three_classes_are_regions_of_the_largest_score():
    X, y = clouds(2, gap=9.0, classes=3)
    model = linsep.Perceptron().fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y)
    assert display.line_ is None
    assert len(display.regions_) == 3
    grid = np.random.default_rng(0).uniform(-3, 12, (300, 2))
    for k, region in enumerate(display.regions_):
        inside = region.get_path().contains_points(grid)
        np.testing.assert_array_equal(inside, model.predict(grid) == k)


def test_three_classes_of_many_features_stay_exact():
    X, y = clouds(5, gap=9.0, classes=3)
    model = LogisticRegression().fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y)
    scores = display.view.points @ display.view.weights.T + display.view.offsets
    np.testing.assert_array_equal(scores.argmax(axis=1), model.predict(X))


@pytest.mark.parametrize("model", [LinearSVC(), SVC(kernel="linear"), linsep.LinearSVM()])
def test_support_vector_machines_show_their_street(model):
    X, y = clouds(2, gap=2.0)
    display = DecisionDisplay.from_estimator(model.fit(X, y), X, y)
    w, b = model.coef_[0], float(model.intercept_[0])
    values = sorted(float((ends(m) @ w + b).mean()) for m in display.margins_)
    np.testing.assert_allclose(values, [-1.0, 1.0], rtol=1e-6)
    wrong = model.predict(X) != y
    np.testing.assert_array_equal(offsets(display.rings_), X[wrong])


def test_slice_of_two_features_has_no_margin_and_says_so():
    X, y = clouds(4, gap=9.0)
    model = linsep.Perceptron().fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y, features=(0, 3))
    assert display.margins_ == []
    assert "other features at their mean" in display.ax_.get_xlabel()
    rest = X.mean(axis=0)
    points = np.tile(rest, (2, 1))
    points[:, [0, 3]] = ends(display.line_)
    assert np.abs(model.decision_function(points)).max() < 1e-8 * np.abs(points).max()


def test_model_without_a_plane_draws_no_line():
    X, y = clouds(2)
    model = LogisticRegression().fit(X, y)
    model.coef_ = np.zeros((1, 2))
    display = DecisionDisplay.from_estimator(model, X, y)
    assert display.line_ is None and display.normal_ is None


def test_given_axes_are_used_and_options_leave_parts_out(kozinec):
    model, table = kozinec
    _, ax = plt.subplots()
    display = DecisionDisplay.from_estimator(
        model, *table, ax=ax, normal=False, rings=False, legend=False, title=False
    )
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert display.normal_ is None and display.rings_ is None
    assert ax.get_legend() is None and ax.get_title() == ""


def test_messages_say_what_to_give(kozinec):
    model, table = kozinec
    with pytest.raises(LabelError, match="class 7 in row 3"):
        DecisionDisplay.from_estimator(model, table.X, [1, -1, 1, 7])
    with pytest.raises(DataError, match="4 rows and y 2 labels"):
        DecisionDisplay.from_estimator(model, table.X, [1, -1])
    with pytest.raises(DataError, match="3 features and the model 2"):
        DecisionDisplay.from_estimator(model, np.ones((4, 3)), table.y)
    with pytest.raises(SettingError, match="give two of the 2 features"):
        DecisionDisplay.from_estimator(model, *table, features=(0, 5))
    pipe = make_pipeline(PolynomialFeatures(2), LogisticRegression()).fit(*table)
    with pytest.raises(CapabilityError, match=r"model\[-1\]"):
        DecisionDisplay.from_plane(pipe)
    with pytest.raises(CapabilityError, match="fit it first"):
        DecisionDisplay.from_estimator(linsep.Perceptron(), *table)
    X, y = clouds(2, classes=4)
    with pytest.raises(CapabilityError, match="6 planes for 4 classes"):
        DecisionDisplay.from_estimator(SVC(kernel="linear").fit(X, y), X, y)


# -- hulls ----------------------------------------------------------------------------------


def test_nearest_points_of_the_hulls_are_two_margins_apart(kozinec):
    model, table = kozinec
    for display in (
        HullDisplay.from_data(table.X, table.y),
        HullDisplay.from_estimator(model, table.X, table.y),
    ):
        assert display.distance / 2 == pytest.approx(1 / np.sqrt(5), rel=1e-6)
        np.testing.assert_allclose(display.nearest, [[5, 9], [5.8, 8.6]], atol=1e-5)
        np.testing.assert_allclose(ends(display.segment_), display.nearest)
        middle = display.nearest.mean(axis=0)
        start, end = ends(display.line_)
        along = (end - start) / np.linalg.norm(end - start)
        assert abs(along @ (display.nearest[1] - display.nearest[0])) < 1e-6
        off = middle - start - along * (along @ (middle - start))
        assert np.linalg.norm(off) < 1e-6


def test_overlapping_hulls_share_a_point():
    table = linsep.data.load("five-points")
    display = HullDisplay.from_data(table.X, table.y)
    assert display.distance == pytest.approx(0.0, abs=1e-12)
    assert display.line_ is None
    assert "not separable" in display.ax_.get_title()


def test_hulls_of_many_features_keep_their_distance():
    table = linsep.data.load("students")
    proof = linsep.separability(table.X, table.y)
    display = HullDisplay.from_data(sparse.csr_array(table.X), table.y)
    assert proof.margin[0] <= display.distance / 2 * (1 + 1e-9)
    assert display.distance / 2 <= proof.margin[1] * (1 + 1e-9)


def test_augmented_hull_has_arcs_at_the_bounds():
    X, y = np.array([[-1.0], [0.0], [1.0], [4.0], [5.0]]), [0, 0, 0, 1, 1]
    display = HullDisplay.from_data(X, y, space="augmented")
    low, high = display.bounds
    assert low == pytest.approx(high, rel=1e-6)
    radii = [np.linalg.norm(ends(arc), axis=1) for arc in display.arcs_]
    np.testing.assert_allclose(radii[0], high)
    np.testing.assert_allclose(radii[1], low)
    reflected = np.vstack([offsets(s) for s in display.points_])
    np.testing.assert_array_equal(reflected[:3], [[1, -1], [0, -1], [-1, -1]])
    with pytest.raises(CapabilityError, match="3 dimensions"):
        HullDisplay.from_data(*linsep.data.load("mse-1"), space="augmented")


def test_step_of_kozinec_shows_the_foot_on_the_segment():
    X, y = np.array([[-3.0], [-2.0], [-0.5], [1.0], [2.0]]), [0, 0, 0, 1, 1]
    run = linsep.trace(linsep.Kozinec(space="augmented", steps="plain", eps=1e-3), X, y)
    display = HullDisplay.from_trace(run, 2)
    before, row, after = display.move
    kappa = run[2].kappa
    np.testing.assert_allclose(after, (1 - kappa) * before + kappa * row)
    with pytest.raises(CapabilityError, match="from_data"):
        HullDisplay.from_estimator(linsep.Perceptron().fit(X, y), X, y)
    with pytest.raises(SettingError, match='"difference" or "augmented"'):
        HullDisplay.from_data(X, y, space="dual")


def test_convex_hull_leaves_out_points_on_edges():
    points = np.array([[0, 0], [1, 0], [2, 0], [2, 2], [0, 2], [1, 1]], dtype=float)
    assert convex_hull(points).tolist() == [[0, 0], [2, 0], [2, 2], [0, 2]]


# -- weights and costs ----------------------------------------------------------------------


def test_edges_of_the_half_planes_are_the_rows():
    table = linsep.data.load("undershoot")
    run = linsep.trace(linsep.Perceptron(fit_intercept=False), table.X, table.y)
    display = WeightSpaceDisplay.from_trace(run)
    for line, row in zip(display.edges_, table.X):
        assert np.abs(ends(line) @ row).max() < 1e-8
    assert display.region_.get_path().contains_point((1, -4.5))
    assert not display.region_.get_path().contains_point((1, -1.5))
    assert display.path.tolist()[-1] == [1.0, -4.5]
    assert len(display.arrows_) == len(run) - 1
    assert tuple(display.arrows_[0].xy) == (10.0, 0.0)


def test_no_region_where_nothing_separates():
    X, y = np.array([[1.0], [2.0], [3.0]]), [0, 1, 0]
    display = WeightSpaceDisplay.from_data(X, y)
    assert display.region_ is None
    assert "no weights here" in display.ax_.get_title()


def test_slice_of_weight_space_needs_two_weights():
    table = linsep.data.load("students")
    with pytest.raises(SettingError, match="there are 5 weights"):
        WeightSpaceDisplay.from_data(table.X, table.y)
    a = (np.array([1.25, -0.75, -0.75, -0.75]), -0.75)
    display = WeightSpaceDisplay.from_data(table.X, table.y, weights=(0, 4), at=a)
    assert display.contains((1.25, -0.75))
    assert "slice at w2 = -0.75" in display.ax_.get_xlabel()
    assert display.plane.names == ("w1", "b")
    with pytest.raises(SettingError, match="two of 0 to 4"):
        WeightSpaceDisplay.from_data(table.X, table.y, weights=(0, 5))
    with pytest.raises(LabelError, match="3 classes"):
        WeightSpaceDisplay.from_data(np.ones((3, 1)), [0, 1, 2])


def test_costs_along_a_line_are_those_of_the_formula():
    table = linsep.data.load("five-points")
    start, end = np.array([1.0, 1, 1]), np.array([3.0, -3, 1])
    display = CostDisplay.from_line(table.X, table.y, start, end)
    Z = np.column_stack([table.X, np.ones(5)]) * table.y[:, None]
    for k in range(len(display.x) - 1):
        t = (display.x[k] + display.x[k + 1]) / 2
        values = Z @ (start + t * (end - start))
        assert display.errors[k] == (values <= 0).sum()
        expected = (display.criterion[k] + display.criterion[k + 1]) / 2
        assert np.maximum(-values, 0).sum() == pytest.approx(expected)
    np.testing.assert_allclose(display.criterion_.get_xdata(), display.x)


@pytest.mark.parametrize("what", ["errors", "criterion"])
def test_costs_over_a_plane_are_those_of_the_formula(what):
    table = linsep.data.load("five-points")
    display = CostDisplay.from_plane(
        sparse.csr_array(table.X), table.y, weights=(0, 1), at=([1, 1], 1), what=what
    )
    Z = np.column_stack([table.X, np.ones(5)]) * table.y[:, None]
    values = Z @ [display.x[30], display.y[200], 1.0]
    assert display.errors[200, 30] == (values <= 0).sum()
    assert display.criterion[200, 30] == pytest.approx(np.maximum(-values, 0).sum())
    assert (getattr(display, what + "_") is not None) and display.ax_.get_title()
    with pytest.raises(SettingError, match="what is 'gradient'"):
        display.plot(what="gradient")


def test_cost_of_a_trace_draws_its_path():
    table = linsep.data.load("undershoot")
    run = linsep.trace(linsep.Perceptron(fit_intercept=False), table.X, table.y)
    display = CostDisplay.from_trace(run)
    assert display.path.shape == (11, 2)
    assert display.x[0] < 0 < display.x[-1]


# -- traces ---------------------------------------------------------------------------------


def five_points(updates):
    table = linsep.data.load("five-points")
    model = linsep.Perceptron(start=([1, 1], 1))
    return linsep.trace(model, table.X, table.y, max_steps=updates)


def test_lines_of_the_iterates_are_their_planes():
    run = five_points(12)
    display = run.plot()
    assert len(display.lines_) == 13
    for line, step in zip(display.lines_, run):
        assert np.abs(ends(line) @ step.coef + step.intercept).max() < 1e-6
    assert display.line_ is display.lines_[-1]
    np.testing.assert_array_equal(offsets(display.row_), run.X[[run[-1].row]])
    np.testing.assert_array_equal(offsets(display.rings_), run.X[list(run[-1].errors)])
    errors = display.axes_[1].lines[0]
    assert errors.get_ydata().tolist() == [len(step.errors) for step in run]


def test_chosen_steps_only():
    display = TraceDisplay.from_trace(five_points(920), steps=range(899, 915))
    assert display.updates.tolist() == list(range(899, 915))
    np.testing.assert_array_equal(display.weights[0], [17, -18, 26])
    assert display.curves[0][0].y.tolist() == [2, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 1, 1, 2, 2]
    with pytest.raises(SettingError, match="steps 0 to 3"):
        TraceDisplay.from_trace(five_points(3), steps=[9])


def test_long_traces_show_some_lines():
    display = TraceDisplay.from_trace(five_points(500), bounds=False)
    assert len(display.lines_) <= 24
    assert display.updates[[0, -1]].tolist() == [0, 500]


def test_curves_keep_within_the_bounds_of_novikoff():
    table = linsep.data.load("students")
    run = linsep.trace(linsep.Perceptron(), table.X, table.y)
    display = TraceDisplay.from_trace(run)
    assert display.points is None and display.lines_ == []
    length, above, below = display.curves[1]
    assert (length.y <= above.y + 1e-9).all()
    assert (length.y >= below.y - 1e-9).all()
    np.testing.assert_allclose(above.y, 5.0 * np.arange(5))


def test_kozinec_trace_shows_the_bounds_of_the_margin():
    table = linsep.data.load("mse-1")
    run = linsep.trace(linsep.Kozinec(eps=1e-6), table.X, table.y)
    upper, lower = TraceDisplay.from_trace(run).curves[1]
    assert upper.y[-1] == pytest.approx(0.4472, abs=1e-4)
    assert lower.y[-1] == pytest.approx(upper.y[-1], abs=1e-5)


def test_trace_of_three_classes_has_curves_only():
    X, y = clouds(2, gap=9.0, classes=3)
    display = linsep.trace(linsep.Perceptron(), X, y).plot()
    assert display.points is None
    assert len(display.axes_) == 2


def test_trace_on_given_axes_draws_the_data_only():
    _, ax = plt.subplots()
    display = five_points(4).plot(ax=ax)
    assert display.axes_ == [ax]
    assert ax.get_title().startswith("Perceptron")


def test_trace_that_starts_at_the_answer_has_one_line():
    table = linsep.data.load("mse-1")
    run = linsep.trace(linsep.Perceptron(start=([2, -1], -2)), table.X, table.y)
    display = run.plot()
    assert len(run) == len(display.lines_) == 1
    assert display.row_ is None


def test_equal_rows_can_be_drawn():
    X, y = np.ones((4, 2)), [0, 0, 1, 1]
    model = LogisticRegression().fit(X, y)
    model.coef_ = np.ones((1, 2))
    display = DecisionDisplay.from_estimator(model, X, y)
    assert np.diff(display.box_, axis=0).min() > 0


# -- the package ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_import_loads_no_matplotlib():
    code = "import sys, linsep, linsep.display; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_names():
    for name in ("Decision", "WeightSpace", "Hull", "Cost", "Trace"):
        assert getattr(linsep, f"{name}Display").__name__ == f"{name}Display"


def test_a_machine_of_a_derived_class_has_its_street():
    class Mine(linsep.LinearSVM):
        """A class of the caller's."""

    X, y = clouds(2, gap=1.0)
    margins = [
        DecisionDisplay.from_estimator(k().fit(X, y), X, y).margin for k in (Mine, linsep.LinearSVM)
    ]
    assert margins[0] == margins[1] > 0.1
