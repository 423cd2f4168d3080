"""What students look at: one update, curved machines and their streets, pipelines, crowds."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import linsep
from linsep.display.look import class_style, marker_size
from linsep.errors import SettingError

mpl.use("Agg")


@pytest.fixture
def clouds():
    rng = np.random.default_rng(7)
    X = np.vstack([rng.normal(0, 1, (30, 2)), rng.normal(2, 1, (30, 2))])
    return X, np.repeat(["no", "yes"], 30)


def test_one_update_shows_the_old_and_the_new_line():
    table = linsep.data.load("five-points")
    model = linsep.Perceptron(start=([1, 1], 1))
    run = linsep.trace(model, table.X, table.y, max_steps=12)
    display = linsep.TraceDisplay.from_step(run, 3)
    assert display.weights.tolist() == [[2, -1, 1], [1, -4, 0]]
    assert len(display.lines_) == 2
    assert display.row == run[3].row
    assert "had value 0 and has 11; 3 others became wrong" in display.title
    with pytest.raises(SettingError, match="updates 1 to 12"):
        linsep.TraceDisplay.from_step(run, 13)


def test_an_update_that_undershoots_says_so():
    table = linsep.data.load("undershoot")
    run = linsep.trace(linsep.Perceptron(fit_intercept=False), table.X, table.y)
    title = linsep.TraceDisplay.from_step(run, 2).title
    assert "still wrong: it undershot (9 such updates in a row would set it right)" in title


def test_a_machine_with_a_kernel_shows_boundary_street_and_who_holds_it():
    table = linsep.data.load("xor")
    model = linsep.KernelSVM(kernel="poly", degree=2, C=np.inf).fit(table.X, table.y)
    display = linsep.RegionsDisplay.from_estimator(model, table.X, table.y)
    assert display.holding.tolist() == [True] * 4
    assert "0 of 4 rows on the wrong side; 4 hold the street" in display.title
    for paths, level in zip(display.street_.get_paths(), display.street_.levels):
        corners = paths.vertices
        scores = model.decision_function(corners)
        np.testing.assert_allclose(scores, level, atol=0.02)  # a curve, and no stairs


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_a_pipeline_of_scalers_is_drawn_in_the_space_of_its_rows(clouds, scale):
    X, y = clouds
    X = X * [1.0, scale] + [5.0, -3.0]
    model = make_pipeline(StandardScaler(), linsep.LinearSVM()).fit(X, y)
    display = linsep.DecisionDisplay.from_estimator(model, X, y)
    ends = np.array(display.line_.get_data()).T
    np.testing.assert_allclose(model.decision_function(ends), 0.0, atol=1e-8)
    assert display.title.startswith("LinearSVM")
    assert (display.normal_ is None) == (scale > 1)  # no right angles between such axes


def test_a_pipeline_that_bends_space_gets_its_areas_and_its_street(clouds):
    X, y = clouds
    model = make_pipeline(PolynomialFeatures(2), linsep.LinearSVM()).fit(X, y)
    display = linsep.DecisionDisplay.from_estimator(model, X, y)
    assert isinstance(display, linsep.RegionsDisplay) and "hold the street" in display.title


def test_a_machine_without_a_plane_gets_its_areas(clouds):
    X, y = clouds
    model = linsep.KernelSVM().fit(X, y)
    display = linsep.DecisionDisplay.from_estimator(model, X, y, feature_names=["a", "b"])
    assert isinstance(display, linsep.RegionsDisplay)
    assert display.ax_.get_xlabel() == "a"


def test_no_two_of_many_classes_look_alike():
    styles = [tuple(class_style(k).values()) for k in range(100)]
    assert len(set(styles)) == 100
    assert len({colour for colour, _ in styles[:12]}) == 12


def test_points_of_a_crowd_are_small_and_faint():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20_000, 2)), np.arange(20_000) % 2
    display = linsep.DecisionDisplay.from_estimator(linsep.LeastSquares().fit(X, y), X, y)
    assert marker_size(20_000) < 4
    assert display.points_[0].get_alpha() < 0.3
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert len(names) == len(set(names))


def test_the_axis_of_kozinecs_bounds_names_both():
    table = linsep.data.load("mse-1")
    figure = linsep.trace(linsep.Kozinec(eps=1e-3), table.X, table.y).plot().figure_
    panel = figure.axes[-1]
    names = [text.get_text() for text in panel.get_legend().get_texts()]
    assert names == ["upper bound |a|", "lower bound min z.a / |a|"]
    assert panel.get_ylabel() not in names


def test_the_legend_of_novikoff_lies_below_the_picture():
    table = linsep.data.load("undershoot")
    run = linsep.trace(linsep.Perceptron(fit_intercept=False), table.X, table.y)
    display = linsep.NovikoffDisplay.from_trace(run)
    display.figure_.canvas.draw()
    for ax in display.axes_:
        assert ax.get_legend().get_window_extent().y1 < ax.get_window_extent().y0


@pytest.mark.parametrize("start", [1.6, [3.0, 1.0], [1.0, 2.0, 3.0]])
def test_a_descent_is_drawn_with_its_start_and_end(start):
    run = linsep.descend(lambda x: float(np.sum((x - 1) ** 2)), start, eta=0.3)
    ax = run.plot()
    assert "stationary point" in ax.get_title().replace("\n", " ")
    drawn = {line.get_label(): line for line in ax.get_lines()}
    if np.size(start) < 3:
        np.testing.assert_allclose(drawn["end"].get_xdata()[0], run.x.ravel()[0])
        np.testing.assert_allclose(
            drawn["steps"].get_xdata(), run.path.reshape(len(run.path), -1)[:, 0]
        )


def test_the_band_of_an_epsilon_solution_holds_its_rows():
    X, y = np.array([[-2.0], [-1.0], [1.5], [3.0]]), [-1, -1, 1, 1]
    model = linsep.Kozinec(space="augmented", steps="plain", eps=0.2)
    run = linsep.trace(model, X, y)
    display = linsep.HullDisplay.from_trace(run, eps=0.2)
    a = np.append(run[-1].coef, run[-1].intercept)
    size = float(np.linalg.norm(a))
    ends = display.band_.get_xy() @ (a / size)
    assert ends.max() == pytest.approx(size)
    assert ends.min() == pytest.approx(size - 0.2)
    Z = np.column_stack([X, np.ones(4)]) * np.array(y)[:, None]
    assert (Z @ a / size >= size - 0.2 - 1e-9).all()


def test_thirty_inputs_of_a_neuron_do_not_overlap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    display = linsep.NeuronDisplay.from_estimator(linsep.LeastSquares().fit(X, X[:, 0] > 0))
    display.figure_.canvas.draw()
    boxes = [
        text.get_window_extent()
        for text in display.ax_.texts
        if text.get_position()[0] == 0.0 and "smaller" not in text.get_text()
    ]
    boxes.sort(key=lambda box: box.y0)
    assert len(boxes) > 5
    assert all(low.y1 <= high.y0 for low, high in itertools.pairwise(boxes))


def test_the_bound_of_kozinecs_rule_holds():
    for name in ("students", "mse-1", "example-3.2"):
        table = linsep.data.load(name)
        model = linsep.Kozinec(eps=None, space="augmented", steps="plain").fit(table.X, table.y)
        assert model.n_updates_ <= linsep.risk.kozinec_bound(table.X, table.y)
    five = linsep.data.load("five-points")
    assert linsep.risk.kozinec_bound(five.X, five.y) == float("inf")


def test_a_run_with_visits_is_drawn_by_visits_and_names_updates_rightly():
    table = linsep.data.load("mse-1")
    run = linsep.trace(linsep.Perceptron(), table.X, table.y, visits=True)
    display = run.plot()
    assert [ax.get_xlabel() for ax in display.axes_[1:]] == ["visit", "visit"]
    assert display.curves[0][0].x.tolist() == [step.visit for step in run]
    labels = [line.get_label() for line in display.lines_]
    assert labels[-1] == f"update {run.outcome.updates}"
    assert len(set(display.updates.tolist())) == len(display.updates)
    assert linsep.TraceDisplay.from_step(run, 3).updates.tolist() == [2, 3]
    novikoff = linsep.NovikoffDisplay.from_trace(run)
    assert novikoff.curves[0].x[-1] == run.outcome.updates == 15
    frames = linsep.LiftFramesDisplay.from_trace(run, updates=[1, 15])
    assert frames.axes_[1].get_title().startswith("update 15,")


def test_weights_that_are_kept_are_called_so():
    table = linsep.data.load("five-points")
    display = linsep.trace(linsep.Perceptron(start=([1, 1], 1)), table.X, table.y).plot()
    assert display.line_.get_label() == "kept: update 4"


def test_hulls_of_thirty_columns_without_scaling_are_areas():
    data = load_breast_cancer()
    display = linsep.HullDisplay.from_data(data.data[::9], data.target[::9])
    display.figure_.canvas.draw()
    for hull in display.hulls_:
        box = hull.get_window_extent()
        assert min(box.width, box.height) > 20
    assert display.distance == pytest.approx(np.linalg.norm(np.diff(display.nearest, axis=0)))


@pytest.mark.parametrize("features", [None, (2, "petal width (cm)")])
def test_machines_with_kernels_of_many_features_are_drawn_in_a_slice(features):
    frame = load_iris(as_frame=True)
    chosen = frame.target > 0
    X, y = frame.data[chosen], frame.target_names[frame.target[chosen]]
    model = linsep.KernelSVM(C=10).fit(X, y)
    display = linsep.DecisionDisplay.from_estimator(model, X, y, features=features)
    own = np.where(y == "virginica", 1, -1) * model.decision_function(X)
    np.testing.assert_array_equal(display.holding, own <= 1 + 1e-3)  # of the rows as they are
    np.testing.assert_array_equal(display.wrong, own < 0)
    assert "slice" in display.title
    at_mean = display.scores(display.points.mean(axis=0)[None])
    middle = type(X)(X.to_numpy().mean(axis=0)[None], columns=X.columns)
    np.testing.assert_allclose(at_mean, model.decision_function(middle), atol=1e-9)
    if features is None:
        assert "% of their spread" in display.ax_.get_xlabel()
    else:
        assert display.ax_.get_ylabel() == "petal width (cm)"


def test_a_pipeline_with_a_kernel_is_sliced_in_the_space_of_its_rows():
    data = load_wine()
    model = make_pipeline(StandardScaler(), linsep.KernelSVM()).fit(data.data, data.target)
    display = linsep.RegionsDisplay.from_estimator(model, data.data, data.target)
    assert len(display.regions_) == 3
    assert "0 of 178 rows on the wrong side" in display.title


def test_one_feature_with_a_kernel_is_stripes():
    x = np.linspace(-3, 3, 31)[:, None]
    y = np.where(np.abs(x[:, 0]) < 1.1, "in", "out")
    display = linsep.DecisionDisplay.from_estimator(linsep.KernelSVM(C=100).fit(x, y), x, y)
    low, high = display.scores(np.array([[0.3, -1.0], [0.3, 2.0]]))
    assert low == high
    assert len(display.ax_.get_yticks()) == 0


@pytest.mark.parametrize("lift", ["sqrt(2)*x1, sqrt(2)*x1*x2", "x1, x2, x1*x2, x1**2"])
def test_the_street_of_a_lifted_machine_is_pulled_back(lift):
    X, y = linsep.data.load("xor")
    model = make_pipeline(linsep.Lift(lift), linsep.LinearSVM(C=np.inf)).fit(X, y)
    display = linsep.LiftDisplay.from_estimator(model, X, y)
    assert display.street_.levels.tolist() == [-1, 1]
    for path, level in zip(display.street_.get_paths(), display.street_.levels):
        np.testing.assert_allclose(model.decision_function(path.vertices), level, atol=0.02)
    assert len(display.holding_.get_offsets()) == 4
    plain = make_pipeline(linsep.Lift(lift), linsep.Perceptron()).fit(X, y)
    assert linsep.LiftDisplay.from_estimator(plain, X, y).street_ is None


def test_wrong_rows_of_a_crowd_are_dots_and_not_rings():
    rng = np.random.default_rng(8)
    y = np.arange(5000) % 2
    X = rng.normal(size=(5000, 2)) + 2.4 * y[:, None]
    display = linsep.DecisionDisplay.from_estimator(linsep.LeastSquares().fit(X, y), X, y)
    assert 60 < display.wrong.sum() < 800
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "wrong side (dark dots)" in names


def test_the_legend_of_one_feature_stays_within_the_figure():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100, :1], np.array(["setosa", "versicolor"])[y[:100]]
    display = linsep.DecisionDisplay.from_estimator(linsep.LinearSVM().fit(X, y), X, y)
    display.figure_.canvas.draw()
    legend, whole = display.ax_.get_legend().get_window_extent(), display.figure_.bbox
    assert legend.x0 >= whole.x0 and legend.x1 <= whole.x1
    assert legend.y0 >= whole.y0 - 2  # pixels: the layout is solved up to that


def test_titles_of_proved_answers_tell_their_numbers():
    table = linsep.data.load("mse-1")
    machine = linsep.LinearSVM().fit(table.X, table.y)
    title = linsep.DecisionDisplay.from_estimator(machine, table.X, table.y).title
    assert title.startswith("LinearSVM: 1 of 4 rows not on its own side; objective within ")
    run = linsep.trace(linsep.LinearSVM(), table.X, table.y)
    assert "steps; objective 1.6, within " in run.plot().title
    run = linsep.trace(linsep.Kozinec(), table.X, table.y)
    assert "; the best margin lies between 0.4472 and 0.4473" in run.plot().title
    X, y = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], [0, 1, 2]
    shown = linsep.RegionsDisplay.from_estimator(linsep.LinearSVM().fit(X, y), X, y)
    assert shown.title.startswith("LinearSVM, largest score: ")


def test_small_markers_have_no_white_edge_and_a_legend_that_can_be_read():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)) + 3 * rng.integers(0, 6, 400)[:, None], np.arange(400) % 6
    model = linsep.LogisticRegression().fit(X, y)
    ax = linsep.RegionsDisplay.from_estimator(model, X, y).ax_
    clouds = [c for c in ax.collections if len(c.get_offsets()) > 10]
    assert len(clouds) == 6 and all(float(c.get_linewidths()[0]) == 0 for c in clouds)
    sizes = [h.get_sizes()[0] for h in ax.get_legend().legend_handles]
    assert min(sizes) >= 25


def test_a_descent_in_one_variable_shows_another_minimum():
    run = linsep.descend(lambda x: float(x[0] ** 4 - 3 * x[0] ** 2 + x[0]), [2.0], eta=0.02)
    ax = run.plot()
    assert ax.get_xlim()[0] < -1.3 and run.x[0] > 1  # the lower one is at -1.3
    assert ax.get_ylim()[1] < 2 * run.values[0]


def test_a_batch_rings_the_rows_that_were_wrong():
    table = linsep.data.load("example-3.1")
    run = linsep.trace(
        linsep.Perceptron(update="batch", eta=0.7, start=([1, 1], -0.5)), table.X, table.y
    )
    display = linsep.TraceDisplay.from_step(run, 1)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "wrong before the update" in labels and "wrong side" not in labels
    assert len(display.before) == 2 == len(table.X)


def test_a_descent_that_grows_asks_for_a_smaller_rate():
    run = linsep.descend(lambda x: x[0] ** 2, [1.0], eta=1.1, max_iter=30)
    assert "f has grown from 1" in str(run) and "smaller eta" in str(run)


def test_an_old_plane_along_the_edge_is_seen():
    table = linsep.data.load("five-points")
    run = linsep.trace(linsep.Perceptron(start=([1, 1], 1)), *table, max_steps=3, convention="003")
    display = linsep.TraceDisplay.from_step(run, 2)  # the old one is x2 = 0
    low, high = display.ax_.get_ylim()
    assert low < -0.02 * (high - low)
    assert [line.get_label() for line in display.lines_] == ["a(2)", "a(3)"]
    some = linsep.TraceDisplay.from_trace(run, steps=(1, 2, 3))
    assert "a(2) to a(4)" in some.title


def test_a_descent_that_runs_away_shows_its_first_steps():
    def bowl(x):
        return float((x[0] - 1) ** 2 + 2 * x[1] ** 2)

    ax = linsep.descend(bowl, [4.0, 2.0], eta=0.6).plot()
    assert np.abs(ax.get_ylim()).max() < 200  # the last step is 35,000 away
    assert "on outwards" in ax.get_legend().get_texts()[-1].get_text()
    curve = linsep.descend(lambda x: x[0] ** 4 - 3 * x[0] ** 2 + x[0], [2.0], eta=0.09).plot()
    assert len(curve.lines[0].get_xdata()) > 200  # f is a curve, not a polygon


def test_frames_take_the_lift_that_a_pipeline_was_made_of():
    x = np.linspace(-1.5, 1.5, 12)[:, None]
    y = np.abs(x[:, 0]) > 0.8
    lift = linsep.Lift("x1, x1**2")
    run = linsep.trace(make_pipeline(lift, linsep.Perceptron()), x, y)
    display = linsep.LiftFramesDisplay.from_trace(run, updates=[1, 2], lift=lift, X=x)
    assert len(display.strips_) == 2 and display.figure_.legends  # below, it covers no row


def test_the_street_of_a_lifted_machine_can_be_left_out():
    model = make_pipeline(linsep.Lift("x1, x1*x2"), linsep.LinearSVM(C=10.0))
    X, y = linsep.data.load("xor")
    model.fit(X, y)
    for street in (True, False):
        display = linsep.LiftDisplay.from_estimator(model, X, y, street=street)
        legend = [text.get_text() for text in display.figure_.axes[0].get_legend().get_texts()]
        assert any("street" in word for word in legend) == street
