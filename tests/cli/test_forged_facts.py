"""Every fact of a model file is held against the data, not its bounds alone."""

from __future__ import annotations

import json
import warnings

import pandas as pd
import pytest
from sklearn.datasets import load_iris

import linsep
from linsep.cli.main import main

MODELS = {
    "softmax": linsep.LogisticRegression(),
    "squares": linsep.LeastSquares(),
    "gauss": linsep.GaussianClassifier("shared"),
    "ho-kashyap": linsep.HoKashyap(),
}
EDITS = [
    ("softmax", "certificate.words", "sum of log-losses"),
    ("softmax", "params.fit_intercept", False),
    ("squares", "certificate.plane.wrong_rows.0", 5),
    ("squares", "certificate.plane.margin_aug", -0.01),
    ("squares", "certificate.plane.margin_low", 0.1),
    ("squares", "certificate.plane.finite", False),
    ("gauss", "certificate.wrong_rows.0", 5),
    ("gauss", "certificate.total_weight", 101.0),
    ("gauss", "certificate.stationarity", 0.001),
    ("gauss", "certificate.plane.errors", 2),
    ("ho-kashyap", "certificate.wrong_rows.0", 5),
    ("ho-kashyap", "certificate.rows.0", 33.3),
    ("ho-kashyap", "certificate.margin_high", 0.1),
]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Files of models of versicolor and virginica (softmax: of all three), and of the rows."""
    folder = tmp_path_factory.mktemp("models")
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    out = {}
    for name, model in MODELS.items():
        part = slice(0 if name == "softmax" else 50, None)
        data, path = folder / f"{name}.csv", folder / f"{name}.json"
        lines = [",".join(map(repr, [*x, k])) for x, k in zip(X[part].tolist(), y[part].tolist())]
        data.write_text("\n".join(["a,b,c,d,y", *lines]) + "\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            linsep.save(model.fit(frame[part], y[part]), path)
        out[name] = (path, data)
    return out


@pytest.mark.parametrize("name", sorted(MODELS))
def test_true_files_agree(stored, name):
    path, data = stored[name]
    assert main(["verify", str(path), str(data)]) == 0


@pytest.mark.parametrize(("name", "place", "value"), EDITS, ids=lambda v: str(v))
def test_edits_are_noticed(stored, tmp_path, name, place, value, capsys):
    path, data = stored[name]
    document = json.loads(path.read_text())
    *way, last = [int(key) if key.isdigit() else key for key in place.split(".")]
    at = document
    for key in way:
        at = at[key]
    assert at[last] != value
    at[last] = value
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(document))
    assert main(["verify", str(forged), str(data)]) != 0
    told = capsys.readouterr()
    refused = "fit_intercept is False" in told.err or "a whole number" in told.err
    assert "DIFFER" in told.out or refused
