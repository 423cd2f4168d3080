"""One of a thing is a thing: summaries, traces, certificates and the command line."""

from __future__ import annotations

import re

import numpy as np
import pytest

import linsep
from linsep.cli.main import main
from linsep.core.words import count, misplaced

WRONG = re.compile(
    r"(?<![\d.,])1 (rows|passes|updates|visits|steps|columns|features|errors|vectors|cycles)\b"
)
X, Y = np.array([[0.0], [2.0]]), np.array([0, 1])


@pytest.mark.parametrize(
    ("number", "noun", "expected"),
    [
        (1, "row", "1 row"),
        (0, "row", "0 rows"),
        (2, "pass", "2 passes"),
        (1.0, "pass", "1.0 passes"),
    ],
)
def test_count(number, noun, expected):
    assert count(number, noun) == expected


def test_the_number_is_judged_as_it_is_shown():
    assert count(1.00001, "pass", spec=".4g") == "1 pass"
    assert count(0.5, "pass", spec=".4g") == "0.5 passes"
    assert misplaced(1, sentence=True) == "1 row is not on its own side"


MODELS = [
    linsep.Perceptron(),
    linsep.Kozinec(),
    linsep.LinearSVM(),
    linsep.LogisticRegression(),
    linsep.LeastSquares(),
    linsep.KernelPerceptron(),
    linsep.KernelSVM(),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_summaries_and_certificates_of_two_rows(model):
    model.fit(X, Y)
    words = f"{model.summary()}\n{model.certificate_}"
    assert not WRONG.search(words), words


@pytest.mark.parametrize("model", [linsep.Perceptron(), linsep.Kozinec()], ids=["p", "k"])
def test_traces(model):
    trace = linsep.trace(model, X, Y)
    words = f"{trace!r}\n{trace}\n" + "\n".join(str(step) for step in trace)
    assert not WRONG.search(words), words


def test_the_command_line(tmp_path, capsys):
    path = tmp_path / "two.csv"
    path.write_text("x,y\n0,a\n2,b\n")
    for words in (["check", path], ["fit", path], ["trace", path]):
        main([str(word) for word in words])
        shown = "".join(capsys.readouterr())
        assert not WRONG.search(shown), shown
    assert "feature" in shown or "update" in shown
