"""Names of classes and features stand in pictures as they are."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import linsep

HOSTILE = [r"$\bad{$", r"a$b$c^{", "tab\tnew"]


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_no_formula(name):
    plt = pytest.importorskip("matplotlib.pyplot")
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    X = pandas.DataFrame(rng.normal(size=(20, 2)), columns=[name, "other"])
    y = np.array([name, "z"])[np.arange(20) % 2]
    model = linsep.LinearSVM().fit(X, y)
    for display in (
        linsep.DecisionDisplay.from_estimator(model, X, y),
        linsep.HullDisplay.from_data(X, y),
    ):
        display.figure_.savefig(io.BytesIO())
        plt.close(display.figure_)


def test_powers_of_ten_stay_formulas():
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, ax = plt.subplots()
    ax.set_xscale("log")
    ax.plot([1, 1e6], [1, 2], label="$x$")
    from linsep.display.look import _without_formulas

    ax.legend()
    figure.canvas.draw()
    _without_formulas(ax)
    assert all(text.get_parse_math() for text in ax.get_xticklabels())
    assert not ax.get_legend().get_texts()[0].get_parse_math()
    plt.close(figure)


NAMES = [r"$\bad{$", "a$b$c^_{", "<b>&\x1b[31m"]
COLUMNS = [r"$x\frac$", "z\x1b[2J$"]


def _rows(classes):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.arange(20 * classes) % classes
    X = rng.normal(size=(len(y), 2)) + 3 * np.column_stack([y, y % 2])
    return pandas.DataFrame(X, columns=COLUMNS), np.array(NAMES)[::-1][y]


def _trace():
    X, y = _rows(2)
    names = [NAMES[k % 3] for k in range(len(y))]
    return linsep.trace(linsep.Perceptron(), X, y, max_steps=5, row_names=names)


def _of(kind, model, classes=2):
    def draw():
        X, y = _rows(classes)
        return getattr(linsep, kind).from_estimator(model.fit(X, y), X, y)

    return draw


PICTURES = {
    "decision": _of("DecisionDisplay", linsep.LinearSVM()),
    "kernel": _of("DecisionDisplay", linsep.KernelSVM()),
    "regions": _of("RegionsDisplay", linsep.LinearSVM(), 3),
    "probability": _of("ProbabilityDisplay", linsep.LogisticRegression(), 3),
    "gram": _of("GramDisplay", linsep.KernelSVM()),
    "hull": lambda: linsep.HullDisplay.from_data(*_rows(2)),
    "neuron": lambda: linsep.NeuronDisplay.from_estimator(linsep.LinearSVM().fit(*_rows(3))),
    "trace": lambda: linsep.TraceDisplay.from_trace(_trace()),
    "step": lambda: linsep.TraceDisplay.from_step(_trace(), 1),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_holds_names_as_they_are(picture):
    pytest.importorskip("matplotlib")
    display = PICTURES[picture]()
    file = io.BytesIO()
    display.figure_.savefig(file, format="svg")
    ElementTree.fromstring(file.getvalue())  # a control character would be no XML
    assert b"\x1b" not in file.getvalue()
    assert "a$b$c^_{" in file.getvalue().decode() or picture in ("neuron", "step")


def test_words_about_columns_hold_no_control_characters():
    X, y = _rows(2)
    model = linsep.LinearSVM().fit(X, y)
    for text in (str(model.ranking()), str(model.explain(X.iloc[[0]])), model.summary()):
        assert "\x1b" not in text
        assert "z\\x1b[2J$" in text or "x1" in text
    page = _trace().to_html()
    assert "\x1b" not in page
    assert "<b>&" not in page
