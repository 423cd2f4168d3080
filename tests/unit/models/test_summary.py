"""The lines of a summary, formatted in one place."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import linsep
from linsep.models.summary import rule, work, written


def test_labels_stand_in_one_column_and_are_repeated():
    text = written("Model: done", [("rule", "one\ntwo"), ("best margin", "3"), ("work", "")])
    assert text.split("\n") == [
        "Model: done",
        "  rule        one",
        "  rule        two",
        "  best margin 3",
        "  work        ",
    ]


def test_rules_of_two_classes_and_of_more():
    model = SimpleNamespace(
        n_features_in_=2, classes_=np.array(["no", "yes"]), coef_=np.array([[1.5, 0.0]]),
        intercept_=np.array([-3.0]),
    )  # fmt: skip
    assert rule(model) == ("rule", "1.5 x1 >= 3  =>  'yes', otherwise 'no'")
    model.classes_, model.coef_ = np.array([1, 2, 3]), np.array([[0.0, 0], [1, -2], [0, 1]])
    model.intercept_, model.feature_names_in_ = np.array([0.0, 1, -1]), ["p", "q"]
    assert rule(model)[1].split("\n") == [
        "score of 1 = 0 +0",
        "score of 2 = 1 p -2 q +1",
        "score of 3 = 1 q -1",
        "the class of the largest score",
    ]


def test_long_rules_are_cut():
    model = SimpleNamespace(
        n_features_in_=20, classes_=np.array([0, 1]), coef_=np.ones((1, 20)),
        intercept_=np.zeros(1),
    )  # fmt: skip
    assert "+1 x12 ... (8 more) >= 0" in rule(model)[1]


def test_models_of_files_do_not_know_their_work(tmp_path):
    table = linsep.data.load("five-points")
    model = linsep.LinearSVM().fit(table.X, table.y)
    assert work(None) == [] and work(model.outcome_)[0][0] == "work"
    linsep.save(model, tmp_path / "m.json")
    told, again = model.summary(), linsep.load(tmp_path / "m.json").summary()
    assert "  work        " in told and "  work        " not in again
    lost = [line for line in told.split("\n") if line not in again.split("\n")]
    assert [line.split()[0] for line in lost] == ["work", "support"]
