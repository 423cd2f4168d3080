"""A study: its numbers had again by other means, its page, its limits."""

from __future__ import annotations

import contextlib
import html
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import StratifiedKFold, cross_val_score

import linsep
from linsep.errors import DataError, LabelError, SettingError
from linsep.study import run as running
from linsep.study.families import FAMILIES, are_amounts, code
from linsep.tables import Tabular

pytestmark = pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")


def table(n=90):
    rng = np.random.default_rng(3)
    hours, city = rng.uniform(0, 10, n), rng.choice(["Graz", "Linz", "<Wien>"], n)
    grade = np.where(hours + 2 * (city == "Linz") + rng.normal(size=n) > 5, "A", "F")
    return pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "hours": np.where(rng.random(n) < 0.1, np.nan, hours.round(1)),
            "rent": [f"{v:.2f}".replace(".", ",") for v in rng.uniform(300, 900, n)],
            "city": city,
            "grade": grade,
        }
    )


@pytest.fixture(scope="module")
def found():
    return linsep.study(table(), "grade", time_limit=None, folds=3)


def run_again(text, **names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(text, names)
    error, folds = printed.getvalue().strip().split("\n")
    return float(error), json.loads(folds)


def test_every_family_is_there_or_told(found):
    named = {row.family for row in found.rows} | {one.family for one in found.skipped}
    assert named == {family.name for family in FAMILIES}
    whole = {one.family: one.why for one in found.skipped if not one.part}
    assert set(whole) == {"Kozinec", "histogram kernels"}
    assert "no plane separates" in whole["Kozinec"]
    assert found.proof.separable is False and found.proving_rows()


def test_the_table_is_ranked_and_complete(found):
    shown = found.table()
    assert list(shown.columns) == [
        "family", "kind", "error", "standard_error", "train_error", "gap", "seconds", "parameters",
        "code",
    ]  # fmt: skip
    assert shown["error"].is_monotonic_increasing
    assert found.best_.error == shown[shown.kind.isin(["plane", "curved"])]["error"].min()
    simple = found.simplest_within_one_se_
    assert simple.error <= found.best_.error + found.best_.standard_error
    assert found.baseline_.error == np.mean(table().grade != table().grade.mode()[0])
    logistic = shown.set_index("family").loc["logistic regression"]
    assert logistic["gap"] < 1e-5 and "C" in logistic["parameters"]


@pytest.mark.parametrize("family", ["logistic regression", "quadratic lift", "linear SVM"])
def test_a_row_is_what_scikit_learn_finds(found, family):
    row = next(row for row in found.rows if row.family == family)
    X, y = table().drop(columns="grade"), table()["grade"].to_numpy(dtype=object)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    again = 1 - cross_val_score(Tabular(row.estimator), X, y, cv=cv)
    np.testing.assert_allclose(again, row.trial.folds, atol=1e-12)
    assert row.error == pytest.approx(np.average(again, weights=[30, 30, 30]))
    assert row.standard_error == pytest.approx(np.std(again, ddof=1) / np.sqrt(3))


def test_the_snippet_of_every_row_gives_its_digits(found):
    for row in found.rows:
        error, folds = run_again(found.snippet(row), table=table())
        assert (error, folds) == (row.error, row.trial.folds), row.family


def test_the_answer_is_three_sentences(found):
    first, second, third = found.sentences()
    assert (first.startswith(found.best_.family[:1].upper()) and "'F'" in first) or "'A'" in first
    assert "no plane separates" in second and "radient boosting" in third
    assert found.why() == f"{first} {second} {third}"
    assert str(found).startswith(first)
    assert 0 <= found.optimism_ < 0.2
    assert found.influence()[0][0] == "hours"


def test_the_page_asks_for_nothing_and_is_small(found):
    page = found.to_html()
    assert page.startswith("<!DOCTYPE html>") and len(page.encode()) < 3_000_000
    for asks in (
        r"<script[^>]+src=",
        r"<link",
        r"@import",
        r"url\(\s*['\"]?http",
        r"<img[^>]+src=['\"]?http",
    ):
        assert not re.search(asks, page), asks
    assert "<Wien>" not in page.split('class="data"')[0], "cells are escaped"
    for sentence in found.sentences():
        assert html.escape(sentence.replace("+-", "±")) in page
    proved = found.table_.iloc[found.proving_rows()[0]]
    assert f">{proved.rent}</td>" in page, "rows are shown as they stand"
    for one in found.skipped:
        assert one.family in page


def test_what_it_knows_goes_into_json(found, tmp_path):
    told = json.loads(json.dumps(found.to_dict()))
    assert told["best"] == found.best_.family and len(told["families"]) == len(found.rows)
    assert told["columns"]["id"]["role"] == "identifier"
    linsep.save(found.pipeline_, tmp_path / "model.json")
    again = linsep.load(tmp_path / "model.json")
    X = table().drop(columns="grade")
    np.testing.assert_array_equal(again.predict(X), found.pipeline_.predict(X))


def test_some_rows_where_all_would_take_too_long(monkeypatch):
    monkeypatch.setattr(running, "_FEWEST_ROWS", 60)
    monkeypatch.setattr(running, "_LEAST_SAMPLE", 60)
    monkeypatch.setattr(running, "_CHEAP", 1e-9)
    monkeypatch.setattr(running, "in_turn", lambda: [FAMILIES[0], FAMILIES[2]])
    frame = table(200)
    found = linsep.study(frame, "grade", time_limit=500, folds=3)
    assert len(found.chosen) == len(found.y) == 60
    assert "60 of 200 rows" in found.notes[-1]
    assert found.fitted_to(found.best_) == "all rows" and "fitted to all rows" in found.to_html()
    for row in found.rows:
        assert run_again(found.snippet(row), table=frame) == (row.error, row.trial.folds)


def test_a_last_fit_of_the_rows_studied_is_told(monkeypatch):
    monkeypatch.setattr(running, "_FEWEST_ROWS", 60)
    monkeypatch.setattr(running, "_LEAST_SAMPLE", 60)
    monkeypatch.setattr(running, "_CHEAP", 1e-9)
    monkeypatch.setattr(running._Run, "_expected", lambda self, row: 1000.0)  # of all rows
    monkeypatch.setattr(running, "in_turn", lambda: [FAMILIES[0], FAMILIES[2]])
    monkeypatch.setattr(running._Run, "_left", lambda self: 500.0)
    found = linsep.study(table(200), "grade", time_limit=500, folds=3)
    assert found.fitted_to(found.best_) == "the 60 rows studied"
    assert "fitted to the 60 rows studied" in found.to_html()
    assert "is fitted to the rows studied" in found.notes[-1]


def test_families_cut_short_are_tried_once_more_if_time_is_left(monkeypatch):
    cut, whole = [], running._Run._trial

    def once(self, family, setting):
        if family.name == "linear SVM" and not cut:
            cut.append(family.name)  # as if it had waited for machine code
            return None
        return whole(self, family, setting)

    monkeypatch.setattr(running._Run, "_trial", once)
    chosen = [f for f in FAMILIES if f.name in ("baseline", "least squares", "linear SVM")]
    monkeypatch.setattr(running, "in_turn", lambda: list(chosen))
    found = linsep.study(table(), "grade", time_limit=500, folds=3)
    assert cut == ["linear SVM"]
    assert {row.family for row in found.rows} == {f.name for f in chosen}
    assert not found.skipped


def test_the_baseline_is_there_on_a_large_table_without_time(monkeypatch):
    monkeypatch.setattr(running, "_SURE_ENTRIES", 0)
    monkeypatch.setattr(running, "in_turn", lambda: [FAMILIES[0]])
    told = []
    with pytest.raises(DataError, match="no family was finished in the time"):
        linsep.study(table(), "grade", time_limit=1e-6, folds=3, progress=told.append)
    assert told[0].startswith("baseline: ") and "left out" not in told[0]


def test_no_time_is_an_error_and_some_of_it_leaves_families_out(monkeypatch):
    hasty = linsep.study(table(), "grade", time_limit=1e-6, folds=3)  # a small table
    assert [row.family for row in hasty.rows] == ["baseline", "logistic regression"]
    assert all(row.trials[0].error >= row.error for row in hasty.rows)
    monkeypatch.setattr(running, "_SURE_ENTRIES", 0)
    with pytest.raises(DataError, match="no family was finished in the time"):
        linsep.study(table(), "grade", time_limit=1e-6)
    time = iter(np.arange(0.0, 1e6, 0.25))
    monkeypatch.setattr("linsep.core.limits._source", lambda: float(next(time)))
    found = linsep.study(table(), "grade", time_limit=150, folds=3)
    assert found.seconds_ <= 1.05 * 150
    assert any(" s" in one.why for one in found.skipped)


def test_a_sparse_matrix_of_counts(monkeypatch):
    monkeypatch.setattr(running, "in_turn", lambda: [FAMILIES[0], FAMILIES[3], FAMILIES[7]])
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = sparse.csr_array(rng.poisson(0.3 + 0.5 * y[:, None] * (np.arange(30) < 4), (80, 30)) * 1.0)
    found = linsep.study(X, y, time_limit=None, folds=2)
    assert {row.family for row in found.rows} == {
        "baseline", "logistic regression", "histogram kernels"
    }  # fmt: skip
    assert "TfidfTransformer" in found.rows[1].code
    for row in found.rows:
        assert run_again(found.snippet(row), X=X, y=y) == (row.error, row.trial.folds)
    assert "x1" in found.to_html()


@pytest.mark.parametrize(
    ("X", "y", "options", "error", "words"),
    [
        ({"a": [1, 2, 3]}, [1, 1, 1], {}, LabelError, "all rows have the label 1"),
        ({"a": [1, 2, 3]}, ["x", "y", "y"], {}, LabelError, "class 'x' has one row"),
        ({"a": [1, 2, 3]}, [0.5, 0.7, 0.9], {}, LabelError, "no classes"),
        ({"a": [1, 2, 3]}, None, {}, LabelError, "y is None"),
        ({"a": [1, 2, 3]}, [1, 2], {}, LabelError, "2 labels for 3 rows"),
        ({"a": [1, 2]}, [1, None], {}, LabelError, "row 2 has no label"),
        ({"a": [1, 2]}, "grade", {}, LabelError, "no column 'grade'"),
        ({"a": [1, 2]}, [1, 2], {"folds": 1}, SettingError, "folds is 1"),
        ({"a": [1, 2]}, [1, 2], {"time_limit": 0}, SettingError, "time_limit is 0"),
        ({"a": [1, 2]}, [1, 2], {"memory": -1}, SettingError, "memory is -1"),
        ({"a": [1, 2]}, [1, 2], {"delimiter": ";"}, SettingError, "delimiter= says how a file"),
        ({"a": [1, 2]}, [1, 2], {"delimeter": ";"}, SettingError, "no setting 'delimeter'"),
    ],
)
def test_what_cannot_be_studied_is_said(X, y, options, error, words):
    with pytest.raises(error, match=words):
        linsep.study(X, y, **options)


def test_amounts_are_counts_or_mostly_zero():
    assert are_amounts(np.array([[0, 1, 2, 0, 4.0]] * 3))
    assert not are_amounts(np.array([[0, 1, -2, 0, 4.0]] * 3))
    assert not are_amounts(np.array([[0.5, 1, 2, 3, 4.0]] * 3))


def test_code_names_what_is_set():
    assert (
        code(linsep.GaussianClassifier("shared"))
        == "linsep.GaussianClassifier(covariance='shared')"
    )
