"""Names of classes and features stand in pictures as they are."""

from __future__ import annotations

import io

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
