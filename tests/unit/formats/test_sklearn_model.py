"""Pipelines of scikit-learn in model files: columns of any kind, without pickle."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

import linsep
from linsep.errors import ModelError

DRAW = np.random.default_rng(0)
N = 60
FRAME = pd.DataFrame(
    {
        "age": DRAW.integers(18, 80, N).astype(float),
        "income": DRAW.lognormal(size=N),
        "town": DRAW.choice(["Prague", "Brno", "Plzen"], N),
        "rooms": DRAW.integers(1, 4, N),
        "member": DRAW.choice([True, False], N),
        "words": DRAW.choice(["cheap and good", "far too dear", "good value", "never again"], N),
    }
)
FRAME.loc[[3, 17], "age"] = np.nan
FRAME.loc[[5, 9], "town"] = None
Y = np.where(FRAME.words.str.contains("good") ^ (FRAME.income > 2), "yes", "no")

NUMBERS = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
TOWN = make_pipeline(
    SimpleImputer(strategy="most_frequent"),
    OneHotEncoder(handle_unknown="ignore"),
)

TABLES = {
    "named": ColumnTransformer(
        [
            ("numbers", NUMBERS, ["age", "income"]),
            ("town", TOWN, ["town"]),
            ("text", TfidfVectorizer(ngram_range=(1, 2)), "words"),
            ("rooms", OneHotEncoder(drop="first", sparse_output=False), ["rooms", "member"]),
        ]
    ),
    "the rest": make_column_transformer(
        (OrdinalEncoder(), ["words", "rooms"]), ("drop", ["town", "age"]), remainder="passthrough"
    ),
    "selected": make_column_transformer(
        (make_pipeline(SimpleImputer(), PolynomialFeatures(2)),
         make_column_selector(dtype_include="number")),
        (CountVectorizer(binary=True), "words"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("model", [linsep.LinearSVM(), linsep.LogisticRegression(C=0.3)])
def test_a_pipeline_of_columns_comes_back(name, model, tmp_path):
    whole = make_pipeline(TABLES[name], model).fit(FRAME, Y)
    linsep.save(whole, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    new = FRAME.iloc[::-1].copy()
    np.testing.assert_array_equal(again.predict(new), whole.predict(new))
    np.testing.assert_allclose(again.decision_function(new), whole.decision_function(new))
    before, after = (one[:-1].get_feature_names_out().tolist() for one in (whole, again))
    assert before == after
    linsep.save(again, tmp_path / "twice.json")
    assert (tmp_path / "twice.json").read_bytes() == (tmp_path / "m.json").read_bytes()


def test_what_was_never_seen_is_treated_as_in_training(tmp_path):
    whole = make_pipeline(TABLES["named"], linsep.LinearSVM()).fit(FRAME, Y)
    linsep.save(whole, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    row = FRAME.iloc[[0]].assign(town="Ostrava", age=np.nan, words="unknown words only")
    np.testing.assert_array_equal(again.decision_function(row), whole.decision_function(row))
    for model in (whole, again):
        with pytest.raises(ValueError, match="columns are missing"):
            model.predict(FRAME.drop(columns="town"))


def test_columns_by_number(tmp_path):
    X = FRAME[["age", "income", "rooms"]].fillna(40.0).to_numpy()
    made = make_column_transformer(
        (StandardScaler(), slice(0, 2)), (OneHotEncoder(), np.array([False, False, True]))
    )
    whole = make_pipeline(made, linsep.LinearSVM()).fit(X, Y)
    linsep.save(whole, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    np.testing.assert_allclose(again.decision_function(X), whole.decision_function(X))


def test_texts_alone(tmp_path):
    whole = make_pipeline(TfidfVectorizer(), linsep.LogisticRegression()).fit(FRAME.words, Y)
    linsep.save(whole, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    np.testing.assert_array_equal(
        again.predict_proba(FRAME.words), whole.predict_proba(FRAME.words)
    )


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (OneHotEncoder(min_frequency=40, handle_unknown="ignore"), "rare categories"),
        (make_pipeline(SimpleImputer(add_indicator=True, strategy="most_frequent")), "add_indic"),
    ],
)
def test_what_a_file_cannot_hold_is_refused(step, words, tmp_path):
    frame = FRAME[["town", "rooms"]].astype(object)
    table = make_column_transformer((step, ["town", "rooms"])).fit(frame)
    with pytest.raises(ModelError, match=words):
        linsep.save(make_pipeline(table), tmp_path / "m.json")
    assert not list(tmp_path.iterdir())


def test_a_pattern_of_ones_own_is_refused(tmp_path):
    made = make_pipeline(TfidfVectorizer(token_pattern=r"(a+)+b")).fit(["aab", "ab"])
    with pytest.raises(ModelError, match="pattern"):
        linsep.save(made, tmp_path / "m.json")


def forged(path, change):
    content = json.loads(path.read_text())
    change(content["steps"])
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("n_features",), 10**12),
        (("parts", 0, 2), ["no such column"]),
        (("parts", 0, 1), "rm -rf"),
        (("parts", 3, 1, "$model", "learned", "categories"), [[], []]),
        (("parts", 2, 1, "$model", "learned", "words"), ["same", "same"]),
        (("parts", 2, 1, "$model", "params", "token_pattern"), "(a+)+$"),
        (("parts", 2, 1, "$model", "params", "tokenizer"), "os.system"),
        (("feature_names",), ["a"] * 6),
    ],
)
def test_forged_columns_are_refused_or_harmless(place, value, tmp_path):
    path = tmp_path / "m.json"
    linsep.save(make_pipeline(TABLES["named"], linsep.LinearSVM()).fit(FRAME, Y), path)

    def change(steps):
        at = steps[0][1]["$model"]
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] = value

    forged(path, change)
    if "token_pattern" in place:  # scikit-learn's own is used, whatever stands there
        made = linsep.load(path)
        assert made[0].named_transformers_["text"].estimator.token_pattern == r"(?u)\b\w\w+\b"
        return
    with pytest.raises(ModelError):
        linsep.load(path)


def test_powers_of_many_columns_are_not_made(tmp_path):
    path = tmp_path / "m.json"
    made = make_pipeline(PolynomialFeatures(2), linsep.LinearSVM())
    linsep.save(made.fit(FRAME[["income", "rooms"]].to_numpy(), Y), path)

    def change(steps):
        steps[0][1]["$model"]["params"]["degree"] = 60
        steps[0][1]["$model"]["n_features"] = 500

    forged(path, change)
    with pytest.raises(ModelError, match="too many"):
        linsep.load(path)
