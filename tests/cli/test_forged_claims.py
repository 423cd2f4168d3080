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


@pytest.mark.parametrize("asked", [[0.34, 0.66], -2.5])
def test_priors_that_nobody_asked_for(asked, table, capsys):
    stored = fitted(table, "gaussian", "regularization=0.1")
    stored["params"]["priors"] = asked
    assert verified(stored, table) > 0
    told = capsys.readouterr()
    assert "asked for" in told.out or "priors" in told.err


@pytest.mark.parametrize("algorithm", ["logistic-regression", "least-squares", "linear-svm"])
def test_a_sentence_that_is_not_the_one_of_its_status(algorithm, table, capsys):
    stored = fitted(table, algorithm)
    stored["status"]["sentence"] = "every row is on its own side of the plane"
    assert verified(stored, table) == 1
    assert "DIFFERS status.sentence" in capsys.readouterr().out


def test_the_sentence_of_a_machine_inside(table, capsys):
    table.write_text("dose,kind\n1,a\n2,b\n3,a\n4,c\n5,b\n6,c\n")
    stored = fitted(table, "one-vs-rest")
    text = json.dumps(stored)
    assert verified(json.loads(text.replace('"sentence": "', '"sentence": "surely ')), table) == 1
    assert "sentence: it is not the one of" in capsys.readouterr().out


@pytest.mark.parametrize(
    "claim",
    [
        "the classes are separable (separable, margin between 1 and 2)",
        "the classes are quasi-separable by the column 'dose' (not separable: these three rows "
        "prove it (1, 2 and 3); but a plane with no row strictly on the wrong side exists, "
        "carried by dose)",
        None,
    ],
)
def test_what_separates(claim, table, capsys):
    stored = fitted(table, "logistic-regression", "C=inf")
    assert stored["extra"]["separation_"].startswith("the classes are quasi-separable by")
    stored["extra"]["separation_"] = claim
    assert verified(stored, table) == 1
    assert "DIFFERS separation" in capsys.readouterr().out


def test_what_separates_where_a_maximum_exists(table, capsys):
    stored = fitted(table, "logistic-regression")
    stored["extra"]["separation_"] = "the classes are separable (separable, margin 1)"
    assert verified(stored, table) == 1
    assert "DIFFERS separation" in capsys.readouterr().out


def test_the_margin_of_what_separates(table, capsys):
    table.write_text("u,kind\n0,a\n1,a\n3,b\n4,b\n")
    stored = fitted(table, "logistic-regression", "C=inf")
    words = stored["extra"]["separation_"]
    start = words[: words.index("margin ")]
    for margin, code in [("margin between 0.9 and inf)", 0), ("margin between 2 and 3)", 1)]:
        stored["extra"]["separation_"] = start + margin
        assert verified(stored, table) == code
    stored["extra"]["separation_"] = words.replace("'u'", "'v'")
    assert verified(stored, table) == 1
    assert "DIFFERS separation" in capsys.readouterr().out


@pytest.mark.parametrize("rivals", [["a"], ["d"], ["own"], ["wrong"]])
def test_the_rivals_of_rows_of_many_classes(rivals, table, capsys):
    rows = [(1, "a"), (2, "b"), (3, "a"), (4, "c"), (5, "b"), (6, "c"), (2.5, "c")]
    table.write_text("dose,kind\n" + "".join(f"{x},{k}\n" for x, k in rows))
    stored = fitted(table, "least-squares")
    plane = stored["certificate"]["plane"]
    assert len(plane["rivals"]) == len(plane["rows"]) > 0
    own = [rows[row][1] for row in plane["rows"]]
    other = {("a", "b"): "c", ("a", "c"): "b", ("b", "c"): "a"}
    plane["rivals"] = {
        "a": ["a"],
        "d": ["d"] * len(own),
        "own": own,
        "wrong": [other[tuple(sorted(pair))] for pair in zip(own, plane["rivals"])],
    }[rivals[0]]
    assert verified(stored, table) == 1
    assert "DIFFERS" in capsys.readouterr().out


@pytest.mark.parametrize(
    "value", [1.0, "even", {"a": -1.0, "b": 1.0}, {"a": "x", "b": 1.0}, [1, 2]]
)
def test_weights_of_classes_that_no_fit_accepts(value, table, capsys):
    for algorithm in ("logistic-regression", "linear-svm"):
        stored = fitted(table, algorithm)
        stored["params"]["class_weight"] = value
        assert verified(stored, table) == 1
        assert "class_weight" in capsys.readouterr().err
