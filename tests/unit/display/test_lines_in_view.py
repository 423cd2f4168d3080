"""A boundary that is drawn is in the picture, or the legend says that it is not."""

from __future__ import annotations

import numpy as np
import pytest

import linsep
from linsep.errors import CapabilityError, DataError


def labels(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def crosses(display, w, b):
    (x0, x1), (y0, y1) = display.ax_.get_xlim(), display.ax_.get_ylim()
    corners = np.array([[x0, y0], [x1, y0], [x0, y1], [x1, y1]])
    values = corners @ w + b
    return values.min() < 0 < values.max()


def test_a_step_shows_the_old_and_the_new_line():
    table = linsep.data.load("mse-1")
    run = linsep.trace(linsep.Perceptron(), table.X, table.y)
    for update in range(2, 16):
        shown = linsep.TraceDisplay.from_step(run, update)
        seen = crosses(shown, run[update].coef, run[update].intercept)
        assert seen is not any("not in the picture" in text for text in labels(shown))
    assert crosses(linsep.TraceDisplay.from_step(run, 3), np.array([1.0, -4.0]), -1.0)


def test_a_far_boundary_is_told():
    table = linsep.data.load("five-points")
    far = linsep.LinearSVM(0.01).fit(table.X, table.y)
    shown = linsep.DecisionDisplay.from_estimator(far, table.X, table.y)
    assert "w·x + b = 0 (not in the picture)" in labels(shown)
    near = linsep.LinearSVM(1.0).fit(table.X, table.y)
    assert "w·x + b = 0" in labels(linsep.DecisionDisplay.from_estimator(near, table.X, table.y))


def test_a_replay_has_the_names_of_the_classes(tmp_path):
    table = linsep.data.load("students")
    run = linsep.trace(linsep.Perceptron(), table.X, table.y)
    assert '"classes":["-1","1"]' in run.to_html()
    assert '"classes":["F","A"]' in run.to_html(class_names=table.classes)
    with pytest.raises(DataError, match="2 classes and 3 class_names"):
        run.to_html(class_names=["a", "b", "c"])
    from linsep.cli.main import main

    page = tmp_path / "run.html"
    assert main(["trace", "students", "--html", str(page)]) == 0
    assert '"classes":["F","A"]' in page.read_text()


@pytest.mark.parametrize("algorithm", ["linear-svm", "kernel-svm"])
def test_machines_are_traced_on_the_command_line(algorithm, tmp_path, capsys):
    from linsep.cli.main import main

    page = tmp_path / "run.html"
    assert main(["trace", "five-points", "-a", algorithm, "--html", str(page)]) == 0
    told = capsys.readouterr().out
    assert "no model has less than" in told and "objective" in told
    assert page.stat().st_size > 1000


def test_a_trace_in_a_feature_space_draws_its_cost_and_no_length():
    table = linsep.data.load("xor")
    model = linsep.LogisticRegression(kernel="rbf", solver="gradient")
    shown = linsep.trace(model, table.X, table.y, max_steps=5).plot()
    assert [curve.name for panel in shown.curves for curve in panel] == ["rows wrong", "cost"]
    with pytest.raises(CapabilityError, match="no weights of features"):
        linsep.KernelSVM().fit(table.X, table.y).ranking()
    with pytest.raises(DataError, match="another Linear"):
        linsep.Linear([1.0, 2.0], 0.0).same_line(5)
