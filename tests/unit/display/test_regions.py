"""Pictures of regions: what is drawn is what the numbers say."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import linsep
from linsep.multiclass.regions import area

X, y = make_blobs(60, centers=4, cluster_std=1.6, random_state=4)
names = np.array(list("abcd"))[y]


@pytest.fixture(autouse=True)
def no_windows():
    mpl.use("Agg")
    yield
    mpl.pyplot.close("all")


def test_undecided_zones_are_hatched_with_their_area():
    model = linsep.OneVsRest(decide="unanimous").fit(X, names)
    display = linsep.RegionsDisplay.from_estimator(model, X, names)
    box = display.found.box
    whole = np.prod(box[1] - box[0])
    hatched = sum(area(p.get_xy()[:-1]) for p in display.undecided_) / whole
    assert hatched == pytest.approx(display.found.undecided, rel=1e-9)
    assert {p.get_hatch() for p in display.undecided_} == {"//", "xx"}
    assert f"{100 * display.found.undecided:.3g} %" in display.title
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend[:4] == list("abcd") and any("no class" in words for words in legend)
    display.figure_.canvas.draw()


def test_all_schemes_side_by_side():
    display = linsep.RegionsDisplay.compare(X, names, estimator=linsep.LinearSVM())
    schemes = [d.found.scheme for d in display.displays_]
    assert schemes == ["unanimous", "argmax", "votes", "argmax"]
    assert display.displays_[1].boundaries_ and not display.displays_[0].boundaries_
    assert not display.displays_[1].undecided_ and display.displays_[0].undecided_
    display.figure_.canvas.draw()


def test_boundaries_of_a_machine_are_those_of_its_pairs():
    model = linsep.LinearSVM().fit(X, names)
    display = linsep.RegionsDisplay.from_estimator(model, X, names)
    for (a, b), line in display.boundaries_.items():
        ends = np.column_stack(line.get_data())
        scores = model.decision_function(ends.mean(axis=0)[None])[0]
        i, j = model.classes_.tolist().index(a), model.classes_.tolist().index(b)
        assert scores[i] == pytest.approx(scores[j], abs=1e-9)


def test_curved_regions_come_from_a_grid():
    model = linsep.OneVsRest(SVC(gamma=0.3), decide="unanimous").fit(X, names)
    display = linsep.RegionsDisplay.from_estimator(model, X, names)
    assert not display.found.exact and "about" in display.title and display.undecided_
    display.figure_.canvas.draw()


def test_more_than_two_features_are_a_slice_that_says_so():
    rows, labels = load_iris(return_X_y=True)
    model = linsep.LinearSVM().fit(rows, labels)
    display = linsep.RegionsDisplay.from_estimator(model, rows, labels)
    assert "slice through the mean" in display.title
    np.testing.assert_array_equal(display.wrong, model.predict(rows) != labels)


def test_boundaries_of_votes_are_smooth():
    """Three classes of a kernel machine: their edge turns little by little, not in stairs."""
    X, y = load_iris(return_X_y=True)
    for model in (linsep.KernelSVM(), make_pipeline(StandardScaler(), SVC())):
        display = linsep.RegionsDisplay.from_estimator(model.fit(X[:, 2:], y), X[:, 2:], y)
        grid = np.random.default_rng(0).uniform([1, 0.1], [6.9, 2.5], size=(400, 2))
        classes = model.classes_[display.scores(grid).argmax(axis=1)]
        assert (classes == model.predict(grid)).all()
        turns = []
        for drawn in display.regions_:
            for path in drawn.get_paths():
                for edge in path.to_polygons(closed_only=False):
                    step = np.diff(edge, axis=0) / [5.9, 2.4]
                    angle = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
                    turns.append(np.abs(np.diff(angle)).mean())
        assert max(turns) < 0.2  # stairs turn by about pi / 4 at every step
