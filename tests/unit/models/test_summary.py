"""The lines of a summary, formatted in one place."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import linsep
from linsep.errors import GapWarning
from linsep.models.summary import known, known_rule, radius, rule, work, written


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


def test_weights_have_the_digits_that_are_known():
    assert known(1.23456789, 0.0) == "+1.23457"
    assert known(1.23456789, 0.004) == "+1.23"
    assert known(-123.456, 20.0) == "-100"
    assert known(0.03, 0.07) == "+~0.03"
    assert known(1e-264, 0.07) == "+~0"
    model = SimpleNamespace(
        n_features_in_=3, classes_=np.array([0, 1]), coef_=np.array([[1.23456, -0.01, 0.5]]),
        intercept_=np.array([-0.9876]),
    )  # fmt: skip
    words = "1.2 x1 -~0.01 x2 +0.5 x3 >= 1  =>  1, otherwise 0"
    assert rule(model, 0.05) == ("rule", words)


def test_a_summary_prints_no_digit_that_a_tighter_fit_changes():
    """Digits of a rough fit, against those of a fit of many more."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 4))
    y = X @ [1.0, -0.5, 0.2, 0.0] + rng.logistic(size=3000) > 0
    for kind in (linsep.LinearSVM, linsep.LogisticRegression):
        rough, tight = kind(tol=1e-2).fit(X, y), kind(tol=1e-9).fit(X, y)
        assert "  weights     each within" in rough.summary() or rough.certificate_.gap < 1e-9
        assert np.abs(rough.coef_ - tight.coef_).max() <= radius(rough.certificate_) + 1e-4
        assert all(len(line) <= 80 for line in rough.summary().split("\n") if "each w" in line)


def test_without_a_penalty_the_digits_are_estimated():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(20_000, 3))
    y = X @ [0.3, -0.2, 0.01] - 2 + rng.logistic(size=20_000) > 0
    model = linsep.LogisticRegression(C=np.inf).fit(X, y)
    assert "of the best model's, estimated" in model.summary()
    tight = linsep.LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    within, how = model._known()
    assert how == "estimated" and (np.abs(model.coef_ - tight.coef_) <= within + 1e-12).all()


def test_a_fit_that_was_cut_short_claims_no_more_than_its_gap():
    """Digits follow from the gap, not from what a finished fit would have."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(20_000, 3))
    y = X @ [2.0, -1.0, 0.5] - 1 + rng.logistic(size=20_000) > 0
    with pytest.warns(GapWarning):
        short = linsep.LogisticRegression(C=np.inf, max_iter=2, tol=1e-9).fit(X, y)
    best = linsep.LogisticRegression(C=np.inf, tol=1e-9).fit(X, y)
    within, how = short._known()
    off = np.abs(short.coef_ - best.coef_).max()
    assert how == "estimated" and 1e-4 < off <= 2 * within.max()


def test_the_sign_for_no_digit_is_explained_where_it_stands():
    model = SimpleNamespace(
        n_features_in_=2, classes_=np.array([0, 1]), coef_=np.array([[1.0, 1e-9]]),
        intercept_=np.array([0.0]),
    )  # fmt: skip
    (label, words), (_, shown) = known_rule(model, 1e-7)
    assert label == "weights" and "~: no digit known" in words and "~" in shown
    (_, words), (_, shown) = known_rule(model, np.array([1e-3, 1e-12]))
    assert "~" not in words and "~" not in shown
    assert [label for label, _ in known_rule(model, 0.0)] == ["rule"]


def test_weights_of_a_run_that_has_not_ended_have_the_digits_that_are_known():
    """Least squares on a small table: the best weights are fractions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + rng.normal(size=60) > 0.3
    best = linsep.LeastSquares().fit(X, y)
    assert "  weights " not in best.summary()
    with pytest.warns(linsep.errors.GapWarning):
        model = linsep.LeastSquares(solver="widrow-hoff", max_iter=2).fit(X, y)
    off = max(abs(model.coef_ - best.coef_).max(), abs(model.intercept_ - best.intercept_).max())
    assert f"each within {off:.2g} of the best model's, proved" in model.summary()


def test_no_bound_of_the_offset_is_claimed_of_machines():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + rng.normal(size=60) > 0.3
    with pytest.warns(linsep.errors.GapWarning):
        model = linsep.LinearSVM(max_iter=2).fit(X, y)
    assert "  offset      no bound of its error is known" in model.summary()
