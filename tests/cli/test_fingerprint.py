"""A model written by ``linsep fit`` knows its rows: verify tells others apart by one digit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from linsep.cli.main import main

MODELS = (
    "linear-svm", "logistic-regression", "least-squares", "perceptron", "kernel-svm", "gaussian",
    "additive-svm",
)  # fmt: skip


def written(path, X, y):
    lines = [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), y)]
    path.write_text("a,b,c,y\n" + "\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize("name", MODELS)
def test_rows_that_differ_in_the_ninth_digit_are_other_rows(name, tmp_path, capsys):
    rng = np.random.default_rng(5)
    y = np.where(np.arange(24) % 2, "yes", "no")
    X = rng.gamma(2.0, size=(24, 3)) + 3.0 * (y == "yes")[:, None]
    data = written(tmp_path / "rows.csv", X, y)
    model = str(tmp_path / "model.json")
    main(["fit", data, "--target", "y", "--algorithm", name, "--output", model, "--quiet"])
    assert main(["verify", model, data, "--target", "y"]) == 0
    X[7, 1] *= 1 + 1e-9
    other = written(tmp_path / "other.csv", X, y)
    capsys.readouterr()
    assert main(["verify", model, other, "--target", "y", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert not report["agrees"] and any("not those of the fit" in line for line in report["wrong"])
