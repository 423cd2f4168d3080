"""Words of a model file that the data do not support."""

from __future__ import annotations

import json

import pytest

from linsep.cli.main import main

ROWS = "1,0,a\n2,0,b\n3,0,a\n4,0,b\n2.5,1,b\n3.5,1,b\n"  # column u alone decides some rows


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("dose,u,kind\n" + ROWS)
    return path


def verified(stored, table):
    path = table.with_name("model.json")
    path.write_text(json.dumps(stored))
    return main(["verify", str(path), str(table)])


def fitted(table, algorithm, *settings):
    path = table.with_name("model.json")
    sets = [word for setting in settings for word in ("--set", setting)]
    assert main(["fit", str(table), "-a", algorithm, *sets, "-o", str(path), "-q"]) == 0
    stored = json.loads(path.read_text())
    assert verified(stored, table) == 0
    return stored


@pytest.mark.parametrize(
    ("algorithm", "settings", "claims"),
    [
        ("logistic-regression", (), ("NO_MAXIMUM", "SEPARATED", "INSEPARABLE")),
        ("logistic-regression", ("C=inf",), ("CERTIFIED", "SEPARATED")),
        ("least-squares", (), ("SEPARATED", "NO_MAXIMUM")),
        ("ho-kashyap", (), ("SEPARATED", "NO_MAXIMUM")),
        ("gaussian", ("regularization=0.1",), ("SEPARATED", "INSEPARABLE", "NO_MAXIMUM")),
    ],
)
def test_a_status_that_the_data_do_not_support(algorithm, settings, claims, table, capsys):
    stored = fitted(table, algorithm, *settings)
    for claim in claims:
        stored["status"]["name"] = claim
        capsys.readouterr()
        assert verified(stored, table) == 1
        assert f"DIFFERS status: {claim}" in capsys.readouterr().out


@pytest.mark.parametrize("algorithm", ["ho-kashyap", "least-squares", "gaussian"])
def test_classes_in_another_order(algorithm, table, capsys):
    stored = fitted(table, algorithm, *(["regularization=0.1"] if algorithm == "gaussian" else []))
    stored["classes"]["values"].reverse()
    assert verified(stored, table) == 1
    assert "classes" in capsys.readouterr().err


def test_the_multipliers_beside_least_squares(table, capsys):
    stored = fitted(table, "least-squares")
    plane = stored["certificate"]["plane"]
    plane["multipliers"] = ["1/3"] * len(plane["multipliers"])
    assert verified(stored, table) == 1
    assert "do not combine the rows to zero" in capsys.readouterr().out


def test_priors_that_are_not_the_shares(table, capsys):
    stored = fitted(table, "gaussian", "regularization=0.1")
    stored["priors"]["$array"]["values"] = [0.34, 0.66]
    assert verified(stored, table) == 1
    assert "priors" in capsys.readouterr().out
