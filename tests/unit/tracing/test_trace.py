"""Traces: steps, files, tables, words."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import linsep
from linsep.core.protocol import Status
from linsep.errors import CapabilityError, FormatError, SettingError


@pytest.fixture
def run():
    table = linsep.data.load("five-points")
    return linsep.trace(linsep.Perceptron(start=([1, 1], 1)), table.X, table.y, max_steps=30)


def test_a_saved_trace_is_the_same_trace(run, tmp_path):
    run.save(tmp_path / "run.json")
    again = linsep.Trace.load(tmp_path / "run.json")
    assert len(again) == len(run) == 31
    assert again.outcome == run.outcome
    for one, two in zip(run, again):
        assert one.coef.tolist() == two.coef.tolist()
        assert (one.intercept, one.errors, one.row, one.why) == (
            two.intercept, two.errors, two.row, two.why,
        )  # fmt: skip
        assert one.extra == two.extra


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": "other", "version": 1}'])
def test_another_file_is_refused(content, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(FormatError, match=r"run\.json"):
        linsep.Trace.load(path)


def test_frame_has_a_row_for_each_step(run):
    frame = run.frame()
    assert len(frame) == 31
    assert list(frame["x1"][:3]) == [1, 0, 2]
    assert frame["n_errors"].tolist() == [len(step.errors) for step in run]


def test_frame_of_many_classes():
    X, y = [[0, 2], [1, 3], [3, 0], [4, 1], [-3, -1]], ["a", "a", "b", "b", "c"]
    run = linsep.trace(linsep.Perceptron(), X, y)
    assert "intercept[2]" in run.frame()
    assert "against 'b'" in run.narrate()
    json.dumps(run.to_dict())


def test_trace_without_limit_ends_where_the_fit_ends():
    table = linsep.data.load("five-points")
    model = linsep.Perceptron(start=([1, 1], 1))
    run = linsep.trace(model, table.X, table.y)
    model.fit(table.X, table.y)
    assert run.outcome.status is model.status_ is Status.INSEPARABLE
    assert run.outcome.updates == model.n_updates_
    assert run[-1].coef.tolist() == model.coef_[0].tolist()
    assert not hasattr(linsep.Perceptron(), "coef_")


def test_steps_count_overshoot_and_undershoot(run):
    for before, after in itertools.pairwise(run):
        newly = set(after.errors) - set(before.errors)
        assert after.broken == len(newly)
        assert after.undershoot == (after.row in after.errors)


def test_only_estimators_of_linsep_can_be_traced():
    from sklearn.svm import LinearSVC

    for model in (LinearSVC(), linsep.AdditiveSVM()):
        with pytest.raises(CapabilityError, match="cannot be traced"):
            linsep.trace(model, [[0.0], [1.0]], [0, 1])


def test_sparse_data_and_pandas_names():
    import pandas
    import scipy.sparse

    table = linsep.data.load("example-3.2")
    dense = linsep.trace(linsep.Perceptron(), table.X, table.y)
    sparse = linsep.trace(linsep.Perceptron(), scipy.sparse.csr_array(table.X), table.y)
    np.testing.assert_array_equal(dense.X, sparse.X)
    assert [s.row for s in dense] == [s.row for s in sparse]
    named = linsep.trace(
        linsep.Perceptron(), pandas.DataFrame(table.X, columns=["east", "north"]), table.y
    )
    assert named.feature_names == ["east", "north"]


def test_an_unknown_extra_is_an_attribute_error(run):
    with pytest.raises(AttributeError, match="this step has no 'kappa'"):
        _ = run[1].kappa


def test_what_cannot_be_recorded_is_named():
    table = linsep.data.load("five-points")
    for options, words in (
        ({"row_names": ["a"]}, "row_names has 1 name for 5 rows"),
        ({"max_steps": -1}, "whole number >= 0. Got -1"),
        ({"max_steps": "two"}, "Got 'two'"),
    ):
        with pytest.raises(SettingError, match=words):
            linsep.trace(linsep.Perceptron(), table.X, table.y, **options)
    run = linsep.trace(linsep.Perceptron(), table.X, table.y, 2, convention=3)
    assert run.narrate() == run.narrate(convention="003") and run.convention == "003"


def test_a_look_shows_no_new_weights():
    """Kozinec's rule scans all rows before it moves; only the move tells weights."""
    table = linsep.data.load("students")
    model = linsep.Kozinec(space="augmented", steps="plain", eps=None)
    run = linsep.trace(model, table.X, table.y, visits=True)
    told = [line for line in run.narrate(convention="000").splitlines() if " = [" in line]
    assert len(told) == 1 + run.outcome.updates


def test_cost_is_that_of_the_new_weights():
    table = linsep.data.load("mse-1")
    criteria = linsep.criteria
    for model, criterion in (
        (linsep.Perceptron(update="batch"), criteria.Perceptron()),
        (linsep.LeastSquares(solver="gradient", eta=1e-3), criteria.Squares()),
        (linsep.LogisticRegression(solver="gradient"), criteria.Logistic(1.0)),
        (linsep.LogisticRegression(), criteria.Logistic(1.0)),
    ):
        for step in linsep.trace(model, table.X, table.y, 4):
            at = (step.coef, step.intercept)
            assert step.cost == pytest.approx(criterion.value(at, table.X, table.y)), model


@pytest.mark.parametrize("bad", [None, [], {}, {"X": [["a"]]}, {"X": [[1.0]], "y": 3}, "x"])
def test_a_dictionary_that_is_no_trace_is_refused(bad):
    with pytest.raises(FormatError, match="this is not a linsep trace"):
        linsep.Trace.from_dict(bad)
