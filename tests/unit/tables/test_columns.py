"""Roles of columns, what is made of them, and models of whole tables."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score

import linsep
from linsep.errors import (
    CapabilityError,
    DataError,
    LabelError,
    LinsepWarning,
    ModelError,
    SettingError,
)
from linsep.tables import Columns, Tabular
from linsep.tables.columns import telling, telling_numbers
from linsep.tables.path import cost_path, folds_for
from linsep.tables.roles import find_roles

N = 60


@pytest.fixture
def frame():
    """Every role once, with gaps."""
    rng = np.random.default_rng(0)
    hours = rng.uniform(0, 10, N).round(1)
    return pd.DataFrame({
        "customer_id": 1000 + rng.permutation(N),
        "hours": np.where(np.arange(N) % 9 == 0, np.nan, hours),
        "rent": [f"{v:.2f}".replace(".", ",") for v in rng.uniform(300, 900, N)],
        "city": rng.choice(["Graz", "Wien", "?"], N),
        "member": rng.random(N) < 0.5,
        "since": [f"{13 + k % 15}.{1 + k % 12:02d}.2021" for k in range(N)],
        "note": [f"the {'red' if k % 3 else 'big'} one came on visit {k}" for k in range(N)],
        "token": [f"t{k:05x}" for k in range(N)],
        "country": "AT",
        "empty": None,
        "grade": np.where(hours + rng.normal(size=N) > 5, "A", "F"),
    })  # fmt: skip


def test_every_column_gets_its_role(frame):
    roles = Columns().fit(frame.drop(columns="grade")).roles_
    assert {name: role.kind for name, role in roles.items()} == {
        "customer_id": "identifier", "hours": "number", "rent": "number", "city": "category",
        "member": "category", "since": "date", "note": "text", "token": "identifier",
        "country": "ignored", "empty": "ignored",
    }  # fmt: skip
    assert roles["since"].format == "%d.%m.%Y"


def test_the_caller_decides(frame):
    columns = Columns(roles={"customer_id": "number", "hours": "category"}, drop=["note"])
    columns.fit(frame)
    kinds = {name: role.kind for name, role in columns.roles_.items()}
    assert (kinds["customer_id"], kinds["hours"], kinds["note"]) == (
        "number",
        "category",
        "ignored",
    )
    with pytest.raises(ValueError, match="no column 'ours'"):
        Columns(drop=["ours"]).fit(frame)
    with pytest.raises(ValueError, match="'numbr'; known: number"):
        Columns(roles={"hours": "numbr"}).fit(frame)


def test_numbers_are_what_scikit_learn_makes_of_them():
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    X = load_wine().data.copy()
    X[::7, 3] = np.nan
    made = Columns().fit(X).transform(X)
    expected = StandardScaler().fit_transform(SimpleImputer(strategy="median").fit_transform(X))
    names = Columns().fit(X).get_feature_names_out().tolist()
    at = names.index("x4 is missing")
    np.testing.assert_allclose(np.delete(made, at, axis=1), expected, atol=1e-12)
    np.testing.assert_array_equal(made[:, at], np.isnan(X[:, 3]))


def test_categories_are_what_scikit_learn_makes_of_them():
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.choice(list("xyz"), 50), "b": rng.choice(["no", "yes"], 50)})
    expected = OneHotEncoder(drop="if_binary", sparse_output=False).fit_transform(frame)
    np.testing.assert_array_equal(Columns().fit_transform(frame), expected)


def test_a_value_that_training_had_not_counts_as_none_and_is_told():
    frame = pd.DataFrame({"a": ["x", "y", "z"] * 5, "b": np.arange(15) % 4})
    columns = Columns().fit(frame)
    with pytest.warns(LinsepWarning, match=r"1 row has values of 'a' .* \('new'\)"):
        made = columns.transform(pd.DataFrame({"b": [1], "a": ["new"]}))
    assert made[0, :3].tolist() == [0, 0, 0]


def test_rare_values_of_a_long_list_stand_together():
    values = [f"v{k // 2}" for k in range(100)] + ["once", "alone"]
    frame = pd.DataFrame({"a": values, "b": np.arange(102) % 7})
    columns = Columns().fit(frame)
    assert "a=other" in columns.get_feature_names_out()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = columns.transform(pd.DataFrame({"a": ["never seen"], "b": [0]}))
    assert made.sum() == pytest.approx(1 + made[0, -1])


def test_dates_are_parts_and_gaps_are_average():
    when = pd.Series(pd.date_range("2024-01-01", periods=40, freq="13D"))
    when[3] = pd.NaT
    frame = pd.DataFrame({"when": when})
    columns = Columns().fit(frame)
    made = columns.transform(frame)
    assert columns.get_feature_names_out()[0] == "when_year"
    assert made[3, :-1].tolist() == [0.0] * (made.shape[1] - 1)
    assert made[3, -1] == 1
    text = pd.DataFrame({"when": when.dt.strftime("%Y-%m-%d")})
    np.testing.assert_allclose(Columns().fit_transform(text), made, atol=1e-9)


@pytest.mark.parametrize("form", ["%d %b %Y", "%b %d, %Y %I:%M %p", "%d/%m/%y", "%d.%m.%y"])
def test_dates_that_pandas_does_not_guess(form):
    when = pd.Series(pd.date_range("2024-01-01 14:30", periods=40, freq="13D"))
    role = Columns().fit(pd.DataFrame({"when": when.dt.strftime(form)})).roles_["when"]
    assert (role.kind, role.format) == ("date", form)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Kundennr", "identifier"), ("customerId", "identifier"), ("HUMID", "number"),
     ("paid", "number"), ("Rechnungsnummer", "identifier")],
)  # fmt: skip
def test_distinct_whole_numbers_are_identifiers_by_their_name(name, kind):
    frame = pd.DataFrame({name: 3 * np.arange(40), "b": np.arange(40) % 7})
    assert Columns().fit(frame).roles_[name].kind == kind


@pytest.mark.parametrize("form", ["+49 {} {}", "{} / {} 00", "({}) {} 7 7"])
def test_digits_and_marks_are_no_words(form):
    """Numbers of telephones, one for each row, are no text whose words could tell anything."""
    phones = [form.format(500 + i % 7, 1000 + 17 * i) for i in range(60)]
    frame = pd.DataFrame({"phone": phones, "hours": np.arange(60) % 8})
    assert Columns().fit(frame).roles_["phone"].kind == "identifier"
    frame.loc[3, "phone"] = "5 ask at the desk 5"
    assert Columns().fit(frame).roles_["phone"].kind == "text"


def test_a_cell_without_the_unit_of_its_column_is_refused_and_files_keep_the_unit():
    frame = pd.DataFrame({"way": [f"{k % 9}.5 km" for k in range(40)]})
    columns = Columns().fit(frame)
    again = Columns.from_model(columns.to_model())
    np.testing.assert_array_equal(again.transform(frame), columns.transform(frame))
    with pytest.raises(DataError, match=r"row 1: '12' .* with 'km' beside the digits"):
        again.transform(pd.DataFrame({"way": ["12"]}))


def test_numbers_in_several_units_are_refused():
    ways = [f"{k}.5 {'km' if k % 2 else 'm'}" for k in range(60)]
    with pytest.raises(DataError, match="more than one way"):
        Columns().fit(pd.DataFrame({"way": ways}))


@pytest.mark.parametrize("more", [0, 4])
def test_texts_are_words_and_many_words_are_sparse(frame, more):
    rare = [" ".join(f"w{j}x{k // 2}" for j in range(more)) for k in range(len(frame))]
    frame = frame.assign(note=frame["note"] + " " + pd.Series(rare, index=frame.index))
    columns = Columns().fit(frame[["note", "hours"]])
    made = columns.transform(frame)
    assert sparse.issparse(made) == columns.sparse_ == (made.shape[1] > 200)
    names = columns.get_feature_names_out().tolist()
    red = sparse.csr_array(made)[:, [names.index("note: red")]].toarray()[:, 0]
    np.testing.assert_array_equal(red > 0, frame["note"].str.contains("red"))


@pytest.mark.parametrize("cell", ["abc", "1.2.3"])
def test_a_cell_that_is_no_number_is_named(cell):
    frame = pd.DataFrame({"a": [*map(str, range(30)), cell], "b": range(31)})
    with pytest.raises(DataError, match=f"row 31: '{cell}' in column 'a' is not a number"):
        Columns().fit(frame)
    fitted = Columns(drop=["b"]).fit(frame[:30].assign(a=lambda f: f["a"] + ".5"))
    with pytest.raises(DataError, match="row 31"):
        fitted.transform(frame)


def test_infinity_is_refused():
    with pytest.raises(DataError, match=r"row 3: inf in column 'a'"):
        Columns().fit(pd.DataFrame({"a": [1.5, 2, np.inf]}))


def test_a_table_becomes_a_certified_model(frame):
    model = Tabular().fit(frame, "grade")
    assert model.status_ is linsep.Status.CERTIFIED
    assert model.score(frame, frame["grade"]) > 0.85
    summary = model.summary()
    assert "hours" in summary
    assert "customer_id  identifier, left out" in summary
    assert model.weights(sort=True)[0].name == "hours"


def test_weights_and_explanations_are_in_units_of_the_table(frame):
    model = Tabular(linsep.LogisticRegression()).fit(frame, "grade")
    base = frame.iloc[[5]]
    more = base.assign(hours=base["hours"] + 1)
    weight = next(one.weight for one in model.weights() if one.name == "hours")
    change = model.decision_function(more) - model.decision_function(base)
    assert change[0] == pytest.approx(weight)
    for row in (base, frame.iloc[5], frame.iloc[5].to_dict()):
        told = model.explain(row)
        assert told.score == pytest.approx(model.decision_function(base)[0])
        assert told.predicted == model.predict(base)[0]


def test_polars_and_arrow_tables_give_the_same(frame):
    import pyarrow

    polars = pytest.importorskip("polars")
    model = Tabular().fit(frame, "grade")
    for other in (polars.from_pandas(frame), pyarrow.Table.from_pandas(frame)):
        again = Tabular().fit(other, "grade")
        np.testing.assert_array_equal(
            again.decision_function(other), model.decision_function(frame)
        )


def test_a_file_holds_all_of_it(frame, tmp_path):
    model = Tabular().fit(frame, "grade")
    linsep.save(model, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    fresh = frame.assign(hours=np.nan, city="Linz", note="something else entirely was red")
    for table in (frame, fresh):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinsepWarning)
            expected = model.decision_function(table)
            np.testing.assert_array_equal(again.decision_function(table), expected)
    assert again.columns_.report() == model.columns_.report()
    assert _columns_and_weights(again.summary()) == _columns_and_weights(model.summary())


def _columns_and_weights(summary):
    return [line for line in summary.split("\n") if line.startswith(("  weight ", "  column "))]


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_file_is_refused(frame, tmp_path, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path / "m.json"
    linsep.save(Tabular().fit(frame.drop(columns="note"), "grade"), path)
    content = json.loads(path.read_text())
    inside = content["columns"]["$model"]
    encoder = inside["encoders"][rng.integers(len(inside["encoders"]))]
    key = rng.choice(sorted(encoder))
    encoder[key] = rng.choice(np.array([None, -1, "x", [], True, 1e300], dtype=object))
    path.write_text(json.dumps(content))
    try:
        model = linsep.load(path)
    except ModelError:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinsepWarning)
            model.predict(frame)
    except linsep.errors.LinsepError:
        pass


def test_a_column_that_tells_all_is_named(frame):
    leak = frame.assign(mark=np.where(frame["grade"] == "A", 1.25, 3.75) + np.arange(N) / 1000)
    assert Tabular().fit(leak, "grade").telling_ == {"mark": 1.0}
    assert "'mark' alone tells every label" in Tabular().fit(leak, "grade").summary()
    assert Tabular().fit(frame, "grade").telling_ == {}


def test_a_column_that_tells_nearly_all_is_named_with_its_share():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    late = np.where(np.arange(400) % 150, y, 1 - y)  # three labels wrong
    frame = pd.DataFrame({
        "noisy": 5 * y + random.normal(size=400) / 10, "late": np.array(["shut", "open"])[late],
        "code": late * 7.0, "strong": y + random.normal(size=400) / 3,
    })  # fmt: skip
    columns = linsep.tables.Columns().fit(frame)
    assert telling(frame, columns, y) == {"noisy": 1.0, "late": 0.9925, "code": 0.9925}
    assert list(telling_numbers(columns.transform(frame), y)) == ["x1", "x2", "x3"]
    rare = np.arange(400) >= 398  # nothing tells them, and yet 99.5 % are told
    assert telling(frame, columns, rare) == {}


@pytest.mark.parametrize("mark", ["x", 1.0])
def test_one_value_with_gaps_is_a_mark_and_may_tell_all(mark):
    y = np.array(["no", "yes"] * 40)
    paid = [mark if label == "yes" else None for label in y]
    frame = pd.DataFrame({"a": np.arange(80) % 7, "paid": paid, "unit": ["kg"] * 80})
    model = linsep.tables.Tabular(linsep.LogisticRegression()).fit(frame, y)
    roles = {name: role.kind for name, role in find_roles(frame).items()}
    assert roles == {"a": "number", "paid": "category", "unit": "ignored"}
    assert find_roles(frame)["paid"].why.endswith("in 40 of 80 rows")
    assert model.telling_ == {"paid": 1.0}


def test_it_works_in_searches(frame):
    X, y = frame.drop(columns="grade"), frame["grade"]
    assert cross_val_score(Tabular(), X, y, cv=3).mean() > 0.7
    search = GridSearchCV(Tabular(linsep.LinearSVM()), {"estimator__C": [0.1, 1]}, cv=3).fit(X, y)
    assert search.best_estimator_.status_ is linsep.Status.CERTIFIED
    assert clone(Tabular(drop=["x"])).drop == ["x"]


def test_bad_tables_are_refused(frame):
    with pytest.raises(LabelError, match="no column 'garde'"):
        Tabular().fit(frame, "garde")
    with pytest.raises(LabelError, match="row 2 has no label"):
        Tabular().fit(frame[:3], ["A", None, "F"])
    with pytest.raises(LabelError, match="2 labels for 60 rows"):
        Tabular().fit(frame, ["A", "F"])
    with pytest.raises(DataError, match="no column is left"):
        Tabular().fit(frame[["token", "empty"]], frame["grade"])
    model = Tabular().fit(frame, "grade")
    with pytest.raises(DataError, match="no column 'hours'"):
        model.predict(frame.drop(columns="hours"))
    with pytest.raises(DataError, match="two columns are called 'a'"):
        Columns().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(CapabilityError, match="no weights of columns"):
        Tabular(linsep.KernelSVM()).fit(frame, "grade").weights()


def test_many_classes():
    wine = load_wine(as_frame=True)
    model = Tabular(linsep.LogisticRegression()).fit(wine.data, wine.target)
    assert model.score(wine.data, wine.target) > 0.97
    row = wine.data.iloc[[100]]
    told = model.explain(row)
    assert told.score == pytest.approx(model.decision_function(row)[0].max())
    assert len(model.weights(of=2)) == 13
    with pytest.raises(DataError, match="name one of the classes 0, 1, 2"):
        model.weights()


def test_the_path_is_that_of_separate_fits(frame):
    X, y = frame.drop(columns="grade"), frame["grade"].to_numpy()
    costs = [0.01, 1.0]
    path = cost_path(linsep.LinearSVM(), Columns(), X, y, costs=costs, folds=4)
    assert path.costs == (0.01, 1.0)
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    for k, cost in enumerate(costs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinsepWarning)
            scores = cross_val_score(Tabular(linsep.LinearSVM(C=cost)), X, y, cv=folds)
        np.testing.assert_allclose(path.errors[k], 1 - scores, atol=1.5 / 15)
    assert path.risk[path.best] == np.mean(path.predicted != y)
    assert path.standard_error > 0


def test_costs_without_time_are_left_out(frame):
    X, y = frame[["hours"]], frame["grade"].to_numpy()
    path = cost_path(linsep.LinearSVM(), Columns(), X, y, time_limit=0.0)
    assert len(path.costs) == 1
    assert folds_for(np.array([0, 0, 0, 1]), 5) == 0
    assert folds_for(np.array([0, 0, 0, 1, 1, 1]), 5) == 3


INTERRUPTED = """
import os, signal, numpy as np, linsep
from linsep.tables import cost_path
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
class Interrupt(linsep.core.Observer):
    pressed = 0
    def moment(self, now):
        if now.state.steps > 1000 and not Interrupt.pressed:
            Interrupt.pressed += 1
            os.kill(os.getpid(), signal.SIGINT)
model = linsep.Perceptron(max_iter=10**9, order="shuffle", keep="pocket", callbacks=[Interrupt()])
try:
    cost_path(model, None, X, y, costs=[None], folds=4)
except KeyboardInterrupt as end:
    print(end)
"""


def test_one_interrupt_ends_the_path():
    """A fit survives Ctrl-C with what it has; a choice by half-trained folds would be none."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert done.stdout.strip() == "interrupted before a cost was chosen", done.stderr


@pytest.mark.parametrize(
    "estimator", [linsep.LinearSVM(), linsep.LogisticRegression(), linsep.KernelSVM()]
)
def test_a_bare_estimator_names_the_columns_that_are_no_numbers(estimator):
    frame = pd.DataFrame(
        {
            "hours": [1.0, 2.0, 3.0, 4.0],
            "city": ["Graz", "Linz", "Graz", "Wien"],
            "since": pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"]),
        }
    )
    y = [0, 1, 0, 1]
    with pytest.raises(DataError, match=r"'city' \(text\), 'since' \(dates\)") as caught:
        estimator.fit(frame, y)
    name = type(estimator).__name__
    assert f"linsep.tables.Tabular(linsep.{name}()).fit(X, y)" in str(caught.value)
    fitted = linsep.tables.Tabular(estimator).fit(frame, y)
    assert fitted.predict(frame).shape == (4,)


def test_numbers_in_columns_of_objects_are_taken():
    frame = pd.DataFrame({"a": pd.Series([1, 2.5, 3, 4], dtype=object)})
    linsep.LinearSVM().fit(frame, [0, 0, 1, 1])


def test_many_columns_of_numbers_are_what_one_alone_is():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 60)) * 10.0 ** rng.integers(-3, 4, 60))
    frame[7] = np.where(rng.random(40) < 0.2, np.nan, frame[7])
    frame[8] = 3.0
    frame[9] = np.arange(40)
    together = Columns().fit(frame)
    alone = [Columns().fit(frame[[name]]) for name in frame if name not in (8, 9)]
    assert [together.roles_[str(name)].kind for name in (8, 9)] == ["ignored", "identifier"]
    one_by_one = np.hstack(
        [one.transform(frame[one.feature_names_in_.astype(int)]) for one in alone]
    )
    np.testing.assert_array_equal(together.transform(frame), one_by_one)
    assert together.encoders_ == [one.encoders_[0] for one in alone]
    frame.loc[3, 5] = np.inf
    with pytest.raises(DataError, match="row 4: inf in column '5'"):
        Columns().fit(frame)


@pytest.mark.parametrize(
    ("cells", "words"),
    [([[1, 2]] * 4, r"column 'b' holds a list"), ([1j] * 4, "column 'b' holds complex numbers")],
)
def test_cells_that_no_column_can_be_made_of_are_named(cells, words):
    with pytest.raises(DataError, match=words):
        Columns().fit(pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": cells}))


def test_durations_are_numbers_of_seconds():
    frame = pd.DataFrame({"b": pd.to_timedelta([1, 2, 4], unit="h")})
    made = Columns(scale=False).fit(frame).transform(frame)
    np.testing.assert_array_equal(made[:, 0], [3600.0, 7200.0, 14400.0])


def test_a_dash_is_a_gap_among_numbers_and_dates_and_a_value_among_texts():
    frame = pd.DataFrame(
        {
            "area": ["1 200", "-", "980", "1 010", "--"],
            "when": ["2024-01-31", "2024-02-01", "-", "2024-02-03", "2024-02-09"],
            "sign": ["+", "-", "+", "-", "+"],
        }
    )
    columns = Columns(scale=False).fit(frame)
    assert [role.kind for role in columns.roles_.values()] == ["number", "date", "category"]
    made = columns.transform(frame)
    np.testing.assert_array_equal(made[:, 0], [1200, 1010, 980, 1010, 1010])
    np.testing.assert_array_equal(made[:, 1], [0, 1, 0, 0, 1])
    assert columns.encoders_[1].gaps and not columns.encoders_[2].gaps


def test_a_bad_cell_is_named_by_its_row_in_the_table_not_in_a_fold():
    cells = [f"{v}.5" for v in range(60)]
    cells[40] = "tall"
    y = np.tile(["a", "b"], 30)
    with pytest.raises(DataError, match="row 41: 'tall' in column 'h'"):
        cost_path(linsep.LogisticRegression(), Columns(), pd.DataFrame({"h": cells}), y)


def test_a_header_in_the_middle_is_called_a_header():
    cells = [*map(str, range(10, 40)), "h", *map(str, range(30))]
    with pytest.raises(DataError, match="row 31: the header stands there again"):
        Columns().fit(pd.DataFrame({"h": cells}))


def test_a_summary_of_many_columns_is_short_and_names_stand_on_a_line():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 300))).assign(last=rng.choice(["a", "b\n\tc"], 50))
    frame.columns = frame.columns.astype(str)
    model = Tabular(linsep.LogisticRegression()).fit(frame, rng.choice(["p", "q"], 50))
    told = model.summary()
    lines = [line for line in told.split("\n") if line.startswith("  column ")]
    assert len(lines) == 7 and "last " in lines[-2]
    assert lines[-1].endswith("and 295 more: number each")
    assert all(line.startswith("  ") for line in told.split("\n")[1:])
    assert len(model.columns_.report().split("\n")) == 301


MONTHS = [f"{month:02d}" for month in range(1, 13)]
TURNED = list(zip(MONTHS, MONTHS[::-1]))


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        ([f"{a}/{b}/2021" for a, b in TURNED], None),
        ([f"{a}/{b}/21" for a, b in TURNED], None),
        ([f"{a}-{b}-2021 10:00" for a, b in TURNED], None),
        ([*(f"{a}/{b}/2021" for a, b in TURNED), "25/01/2021"], "%d/%m/%Y"),
        ([*(f"{a}/{b}/2021" for a, b in TURNED), "01/25/2021"], "%m/%d/%Y"),
        ([f"{a}.{b}.2021" for a, b in TURNED], "%d.%m.%Y"),
        ([f"{a}.{b}.21" for a, b in TURNED], "%d.%m.%y"),
        ([f"2021-{a}-{b}" for a, b in TURNED], "%Y-%m-%d"),
        ([f"{a}/{a}/2021" for a in MONTHS], "%m/%d/%Y"),  # the same day in both
    ],
)
def test_dates_with_two_readings_are_asked_about(cells, form):
    frame = pd.DataFrame({"since": cells})
    if form is not None:
        assert find_roles(frame)["since"].format == form
        return
    for roles in ({}, {"since": "date"}):
        with pytest.raises(DataError, match=r"two readings, such as '01.12") as error:
            find_roles(frame, roles=roles)
    ways = re.findall(r"'(date:[^']*)'", str(error.value))
    assert len(ways) == 2
    for way in ways:
        assert find_roles(frame, roles={"since": way})["since"].format == way.removeprefix("date:")
    with pytest.raises(DataError, match=r"row 1: '01.12.* is no date of the form %Y"):
        find_roles(frame, roles={"since": "date:%Y"})
    with pytest.raises(SettingError, match="number:%Y"):
        find_roles(frame, roles={"since": "number:%Y"})


def test_codes_with_zeros_in_front_are_no_amounts(tmp_path):
    places = np.random.default_rng(0).choice(["01067", "04109", "80331"], N)
    frame = pd.DataFrame(
        {"place": places, "age": np.arange(N) % 7, "hour": ["07", "12"] * (N // 2)}
    )
    roles = Columns().fit(frame).roles_
    assert (roles["place"].kind, roles["hour"].kind) == ("category", "number")
    frame["grade"] = ["A", "F"] * (N // 2)
    for times in (1, 400):  # cut by the standard library, and by pyarrow
        file = tmp_path / f"{times}.csv"
        pd.concat([frame] * times).to_csv(file, index=False)
        read = linsep.tables.read(file)
        model = Tabular().fit(read.columns, read.y)
        assert model.columns_.roles_["place"].kind == "category"
        assert list(model.columns_.get_feature_names_out()[:3]) == [
            "place=01067", "place=04109", "place=80331",
        ]  # fmt: skip
    alone = pd.DataFrame({"place": [80331.0], "age": [3], "hour": [7]})  # of a file without zeros
    assert model.columns_.transform(alone)[0, :3].tolist() == [0, 0, 1]
    frame["place"] = [f"{7 * k:05d}" for k in range(N)]
    assert Columns().fit(frame).roles_["place"].kind == "identifier"


def test_dates_written_as_numbers_are_dates():
    days = pd.date_range("2020-01-30", periods=N).strftime("%Y%m%d")
    for column in (days.astype(int), days.astype(str)):
        role = find_roles(pd.DataFrame({"when": column}))["when"]
        assert (role.kind, role.format) == ("date", "%Y%m%d")
    amounts = np.linspace(20200101, 20201231, N).astype(int)  # in no calendar
    assert find_roles(pd.DataFrame({"paid": amounts}))["paid"].kind == "number"


def test_months_in_words_and_a_comma_are_dates():
    days = pd.date_range("2020-01-30", periods=N, freq="9D")
    for form in ("%B %d, %Y", "%d %B %Y", "%b %d, %Y"):
        role = find_roles(pd.DataFrame({"when": days.strftime(form)}))["when"]
        assert (role.kind, role.format) == ("date", form)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["2021-08-12", "13.05.2021"], r"row 2: '13.05.2021' .* of the form of '2021-08-12'"),
        (["2021-08-12"] * 11 + ["soon"], r"row 12: 'soon' in column 'when' is no date"),
    ],
)
def test_dates_of_several_forms_are_refused(cells, words):
    days = pd.date_range("2021-08-13", periods=24).strftime("%Y-%m-%d").tolist()
    mixed = [f"{day[8:]}.{day[5:7]}.{day[:4]}" if k % 2 and len(cells) == 2 else day
             for k, day in enumerate(days)]  # fmt: skip
    with pytest.raises(DataError, match=words):
        find_roles(pd.DataFrame({"when": [*cells, *mixed]}))


def test_clock_times_are_numbers():
    frame = pd.DataFrame({
        "at": [f"{k % 24:02d}:{k % 60:02d}" for k in range(N)],
        "took": [f"{k % 3}:{k % 60:02d}:{59 - k % 60:02d}" for k in range(N)],
    })  # fmt: skip
    columns = Columns(scale=False).fit(frame)
    assert [role.kind for role in columns.roles_.values()] == ["number", "number"]
    assert columns.transform(frame)[37].tolist() == [13 * 60 + 37, 3600 + 37 * 60 + 22]
    assert Columns.from_model(json.loads(json.dumps(columns.to_model()))).report() == (
        columns.report()
    )


def test_a_number_that_may_mark_gaps_is_told_and_taken_for_one_if_asked(tmp_path):
    ages = np.where(np.arange(N) % 9 == 0, -999, 20 + np.arange(N) % 50)
    frame = pd.DataFrame({"age": ages, "y": ["A", "F"] * (N // 2)})
    plain = Columns().fit(frame[["age"]])
    assert "-999 is far from all others and may mark gaps" in plain.report()
    asked = Tabular(roles={"age": "number:-999"}).fit(frame, "y")
    assert asked.columns_.get_feature_names_out().tolist() == ["age", "age is missing"]
    assert "-999 is a gap" in asked.summary()
    linsep.save(asked, tmp_path / "model.json")
    again = linsep.load(tmp_path / "model.json")
    assert np.array_equal(again.decision_function(frame), asked.decision_function(frame))
    wide = pd.DataFrame({f"x{j}": ages for j in range(60)})  # columns that are read together
    made = Columns(roles={"x3": "number:-999"}, scale=False).fit(wide)
    assert made.transform(wide).shape == (N, 61)
    assert made.transform(wide)[0, [0, 3, 4]].tolist() == [-999.0, np.median(ages[ages > 0]), 1.0]
    for far in ([0, 1] * 30, np.arange(N), [-999] + [5] * 58 + [4000]):
        assert (
            "may mark gaps" not in Columns().fit(pd.DataFrame({"x": far, "z": ages})).report()[:30]
        )
    with pytest.raises(SettingError, match="number:-999"):
        Columns(roles={"age": "number:x"}).fit(frame)


def test_what_is_no_number_is_a_gap_if_asked(tmp_path):
    cells = [str(20 + k) for k in range(N)]
    cells[4], cells[9] = "about 40", "unknown"
    frame = pd.DataFrame({"age": cells, "y": ["A", "F"] * (N // 2)})
    with pytest.raises(DataError, match=r"row 5: 'about 40'.*roles=\{'age': 'number'\}") as error:
        Tabular().fit(frame, "y")
    assert "--role age=number, or all as they stand with --role age=category" in (
        error.value.for_shell()
    )
    model = Tabular(roles={"age": "number"}).fit(frame, "y")
    assert model.columns_.transform(frame)[:, 1].sum() == 2
    linsep.save(model, tmp_path / "model.json")
    again = linsep.load(tmp_path / "model.json")
    assert again.predict(pd.DataFrame({"age": ["old"]})).shape == (1,)


def test_nothing_tells_the_labels_of_one_class():
    frame = pd.DataFrame({"x": np.arange(N) % 7, "c": ["u", "v"] * (N // 2)})
    one = np.array(["yes"] * N)
    assert telling(frame, Columns().fit(frame), one) == {}
    assert telling_numbers(frame[["x"]].to_numpy(dtype=float), one) == {}


def test_columns_of_arrow_in_a_frame_are_what_they_are_in_the_table():
    import pyarrow as pa

    when = pd.date_range("2021-01-01 05:00", periods=N, freq="31h")
    table = pa.table({
        "when": pa.array(when),
        "zoned": pa.array(when.tz_localize("Europe/Vienna")),
        "took": pa.array([7 * k % 50 for k in range(N)], type=pa.duration("s")),
        "half": pa.array([None if k == 3 else k / 2 for k in range(N)]),
        "word": pa.array(["u", "v", "w"] * (N // 3)).dictionary_encode(),
    })  # fmt: skip
    usual = Columns().fit_transform(table)
    columns = Columns().fit(table.to_pandas(types_mapper=pd.ArrowDtype))
    assert [role.kind for role in columns.roles_.values()] == [
        "date", "date", "number", "number", "category",
    ]  # fmt: skip
    assert np.array_equal(columns.transform(table.to_pandas(types_mapper=pd.ArrowDtype)), usual)


def test_many_columns_of_no_use_are_told_in_a_line():
    frame = pd.DataFrame({f"c{k}": [7.0] * 12 for k in range(300)})
    with pytest.raises(DataError, match=r"\('c0': .*; and 295 more\)") as caught:
        Columns().fit(frame)
    assert len(str(caught.value)) < 500


def test_labels_of_single_rows_are_told_by_anything_and_so_by_nothing():
    numbers = np.random.default_rng(0).permutation(90).astype(float)
    frame = pd.DataFrame({"a": numbers})
    columns = Columns().fit(frame)
    assert telling(frame, columns, np.argsort(numbers)) == {}
    assert telling_numbers(numbers[:, None], np.argsort(numbers)) == {}
    assert telling(frame, columns, (numbers > 40).astype(int)) == {"a": 1.0}
