"""Lifts: the language, its safety, the transformer."""

from __future__ import annotations

import math
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC

import linsep
from linsep.errors import DataError, ModelError, SettingError
from linsep.lift import Lift
from linsep.lift.syntax import MOST_CHARACTERS

X2 = np.array([[0.5, -2.0], [3.0, 0.25], [-1.0, 1.5]])


def lifted(text, X=X2):
    return Lift(text).fit_transform(X)


# -- values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("x1", lambda a, b: a),
        ("-x1**2", lambda a, b: -(a**2)),
        ("(-x1)**2", lambda a, b: a**2),
        ("2**3**2 + 0*x1", lambda a, b: 512 + 0 * a),
        ("x1^2 - 1", lambda a, b: a * a - 1),
        ("x1 - x2 - 3", lambda a, b: a - b - 3),
        ("x1 / x2 / 2", lambda a, b: a / b / 2),
        ("x1**-1", lambda a, b: 1 / a),
        ("- - x1", lambda a, b: a),
        ("+x1*-x2", lambda a, b: -a * b),
        ("1.5e1*.5 + 2.*x1", lambda a, b: 7.5 + 2 * a),
        ("max(x1, x2, 0)", lambda a, b: np.maximum(np.maximum(a, b), 0)),
        ("min(x1, 1)", lambda a, b: np.minimum(a, 1)),
        ("sqrt(abs(x1))*sign(x2)", lambda a, b: np.sqrt(np.abs(a)) * np.sign(b)),
        ("hypot(x1, x2)", np.hypot),
        ("exp(-(x1**2 + x2**2)/2)", lambda a, b: np.exp(-(a**2 + b**2) / 2)),
        ("cos(pi*x1) + log(e)", lambda a, b: np.cos(np.pi * a) + 1),
        ("\n x1 +\n\tx2 ", lambda a, b: a + b),
    ],
)
def test_value_of_an_expression(text, function):
    np.testing.assert_allclose(lifted(text)[:, 0], function(*X2.T), rtol=1e-14)


def test_outputs_stand_side_by_side_and_a_constant_fills_its_column():
    out = lifted("x1, 1, (x1 - x2)**2")
    np.testing.assert_array_equal(
        out, np.column_stack([X2[:, 0], np.ones(3), [6.25, 7.5625, 6.25]])
    )


LEAVES = st.one_of(
    st.sampled_from(["x1", "x2", "pi"]),
    st.floats(0, 1e6, allow_nan=False).map(lambda v: repr(v)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"{t[0]} {t[1]} {t[2]}"),
        inner.map(lambda t: f"-{t}"),
        inner.map(lambda t: f"({t})**2"),
        inner.map(lambda t: f"abs({t})"),
        inner.map(lambda t: f"tanh({t})"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
    ),
    max_leaves=12,
)


@given(TREES)
def test_expressions_mean_what_they_mean_in_python(text):
    names = {"x1": X2[:, 0], "x2": X2[:, 1], "pi": np.float64(math.pi)}
    names |= {"abs": np.abs, "tanh": np.tanh, "max": np.maximum}
    with np.errstate(all="ignore"):
        try:
            expected = np.broadcast_to(eval(text, {"__builtins__": {}}, names), 3)
        except (ZeroDivisionError, OverflowError):
            expected = np.full(3, np.nan)
    try:
        found = lifted(text)[:, 0]
    except (SettingError, DataError):  # a number or value that is not finite
        assert "0" in text or not np.isfinite(expected).all()
        return
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@given(TREES, st.floats(-10, 10), st.floats(-10, 10))
def test_a_polynomial_has_the_value_of_its_expression(text, a, b):
    X = np.array([[a, b]])
    try:
        lift = Lift(text).fit(X)
    except (SettingError, DataError):
        return
    polynomials = lift.polynomials()
    if polynomials is None:
        assert any(word in text for word in ("/", "abs", "tanh", "max"))
        return
    value = polynomials[0](X)[0]
    size = sum(abs(float(c)) * 10 ** sum(p for _, p in m) for m, c in polynomials[0].terms.items())
    assert abs(value - lift.transform(X)[0, 0]) <= 1e-10 * (1 + size)


# -- safety ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("x1.real", 3, "no attributes"),
        ("x1.__class__", 3, "no attributes"),
        ("__import__('os').system('true')", 17, "no attributes"),
        ("__import__('os')", 1, "no function '__import__'"),
        ("eval(x1)", 1, "no function 'eval'"),
        ("__builtins__", 1, "no column '__builtins__'"),
        ("lambda: 1", 7, "':' means nothing"),
        ("[x for x in x1]", 1, "'[' means nothing"),
        ("x1[0]", 3, "'[' means nothing"),
        ("{x1}", 1, "'{' means nothing"),
        ("x1 if x2 else 1", 4, "operator is missing"),
        ("x1 or x2", 4, "operator is missing"),
        ("x1 == x2", 4, "'=' means nothing"),
        ("x1; x2", 3, "by commas"),
        ("9**9**9", 4, "the exponent is 3.8742e+08"),
        ("x1**1001", 5, "the exponent is 1001"),
        ("9**999", 2, "inf"),
        ("1e999", 1, "inf"),
        ("1/0", 2, "divides by zero"),
        ("log(0) + x1", 1, "-inf"),
        ("sqrt(-1)", 1, "nan"),
        ("(x1", 4, "')' is missing"),
        ("x1)", 3, "')' is not expected"),
        ("x1,", 4, "an output is missing"),
        (",x1", 1, "an output is missing"),
        ("x1,,x2", 4, "an output is missing"),
        ("x1 +", 5, "ends where a value"),
        ("2x1", 2, "write * for a product"),
        ("2(x1)", 2, "write * for a product"),
        ("x1(x2)", 1, "write * for a product"),
        ("(x1, x2)", 4, "comma within parentheses"),
        ("exp x1", 1, "exp is a function"),
        ("exp()", 1, "takes 1 argument, not 0"),
        ("max(x1)", 1, "two or more"),
        ("lgo(x1)", 1, "did you mean log?"),
        ("x1² + 1", 1, "no column 'x1²'"),
        ("x1 − x2", 4, "write - for minus"),
        ("x1 > 0", 4, "no comparisons"),
        ("x1 \x00", 4, "means nothing"),
        ("x3", 1, "Columns: x1, x2."),
        ("x0", 1, "no column 'x0'"),
        ("`x1", 1, "no closing `"),
        ("poly(2) + 1", 9, "not expected"),
        ("1 + poly(2)", 5, "stands alone"),
        ("poly(0)", 6, "whole number from 1"),
        ("poly(2.5)", 6, "whole number from 1"),
        ("poly(99)*1", 9, "not expected"),
    ],
)
def test_refusals_point_at_the_character(text, place, words):
    with pytest.raises(SettingError) as caught:
        lifted(text)
    message = str(caught.value)
    assert words in message
    assert f"at character {place}:" in message
    lines = message.splitlines()
    caret = next(k for k, line in enumerate(lines) if line.strip() == "^")
    assert lines[caret].index("^") == 4 + place - 1
    shown = text[:20].replace("\n", " ").replace("\0", "\\x00")
    assert lines[caret - 1][4:].startswith(shown)


@pytest.mark.parametrize("text", ["", "  \n", []])
def test_an_empty_lift_is_refused(text):
    with pytest.raises(SettingError, match="empty"):
        lifted(text)


def test_bombs_are_refused_at_once():
    wide = np.zeros((2, 60))
    begin = time.perf_counter()
    for text, X in (
        ("-" * 5000 + "x1", X2),
        ("(" * 5000 + "x1" + ")" * 5000, X2),
        ("x1" + "**1" * 5000, X2),
        ("x1+" * MOST_CHARACTERS, X2),
        ("poly(9)", wide),
        ("exp(" * 3000, X2),
    ):
        with pytest.raises(SettingError):
            lifted(text, X)
    assert time.perf_counter() - begin < 2


def test_long_sums_and_large_powers_are_computed_but_not_expanded():
    out = lifted("+".join(["x1"] * 4000))
    np.testing.assert_allclose(out[:, 0], 4000 * X2[:, 0])
    begin = time.perf_counter()
    wide = np.ones((2, 40))
    big = Lift("(" + "+".join(f"x{j + 1}" for j in range(40)) + ")**90").fit(wide)
    assert big.polynomials() is None
    assert Lift("(x1 + x2)**90").fit(X2).polynomials() is not None
    assert time.perf_counter() - begin < 2


@given(st.text(max_size=30))
def test_any_text_gives_numbers_or_a_setting_error(text):
    try:
        out = lifted(text)
    except (SettingError, DataError):
        return
    assert np.isfinite(out).all()


def test_long_texts_are_shown_around_the_place():
    text = "x1 + " * 40 + "y + " + "x2 + " * 40 + "1"
    with pytest.raises(SettingError) as caught:
        lifted(text)
    lines = str(caught.value).splitlines()
    assert lines[2].index("^") == lines[1].index("y")
    assert len(lines[1]) < 100


# -- names ----------------------------------------------------------------------------------


def test_names_of_a_frame_are_columns():
    frame = pd.DataFrame(X2, columns=["petal width", "e"])
    lift = Lift("`petal width` * e, 'petal width'**2, x1, exp(\"e\")").fit(frame)
    a, b = X2.T
    np.testing.assert_allclose(
        lift.transform(frame), np.column_stack([a * b, a**2, a, np.exp(b)]), rtol=1e-14
    )
    assert lift.get_feature_names_out().tolist()[0] == "`petal width` * e"


def test_columns_that_are_called_like_places_mean_themselves():
    frame = pd.DataFrame(X2, columns=["x2", "x1"])
    np.testing.assert_array_equal(Lift("x1").fit_transform(frame)[:, 0], X2[:, 1])
    with pytest.raises(SettingError, match="no column 'x3'"):
        Lift("x3").fit(pd.DataFrame(X2, columns=["x1", "b"]))


def test_near_names_are_offered():
    frame = pd.DataFrame(X2, columns=["height", "weight"])
    with pytest.raises(SettingError, match="did you mean height or weight"):
        Lift("heigt").fit(frame)


def test_names_out_are_a_lift_again():
    lift = Lift("poly(3)").fit(X2)
    again = Lift(", ".join(lift.get_feature_names_out()))
    np.testing.assert_allclose(again.fit_transform(X2), lift.transform(X2), rtol=1e-14)
    frame = pd.DataFrame(X2, columns=["a b", "c"])
    lift = Lift("poly(2), `a b` / 2").fit(frame)
    again = Lift(", ".join(lift.get_feature_names_out()))
    np.testing.assert_allclose(again.fit_transform(frame), lift.transform(frame), rtol=1e-14)


def test_poly_is_that_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(5, 3))
    expected = PolynomialFeatures(3, include_bias=False).fit_transform(X)
    np.testing.assert_allclose(Lift.polynomial(3).fit_transform(X), expected)
    np.testing.assert_allclose(
        Lift("poly(2, x3, x1)").fit_transform(X),
        PolynomialFeatures(2, include_bias=False).fit_transform(X[:, [2, 0]]),
    )
    with pytest.raises(SettingError, match="degree"):
        Lift.polynomial(0)


def test_set_output_gives_frames_with_names():
    frame = pd.DataFrame(X2, columns=["a", "b"], index=[5, 6, 7])
    out = Lift("a, a*b").set_output(transform="pandas").fit_transform(frame)
    assert out.columns.tolist() == ["a", "a*b"]
    assert out.index.tolist() == [5, 6, 7]


# -- data -----------------------------------------------------------------------------------


def test_values_that_are_not_finite_are_named():
    X = np.array([[1.0], [2.0], [0.0], [-1.0]])
    with pytest.raises(DataError, match=r"'log\(x\)' is -inf at row 2, where x = 0 \(2 values"):
        Lift("x, log(x)").fit(X)
    lift = Lift("x, log(x)").fit(X[:2])
    with pytest.raises(DataError, match=r"is nan at row 1, where x = -1"):
        lift.transform([[1.0], [-1.0]])
    with pytest.raises(DataError, match="NaN at row 0, column 0"):
        lift.transform([[np.nan]])
    with pytest.raises(DataError, match=r"is inf at row 0, where x = 1e\+300"):
        Lift("x**2").fit([[1e300]])


def test_float32_stays_and_integers_become_floats():
    X = X2.astype(np.float32)
    for text in ("x1, 2*x2 + 0.1, max(x1, 0.5), 3", "poly(2)"):
        assert Lift(text).fit_transform(X).dtype == np.float32
    assert Lift(lambda X: X * 2.0).fit_transform(X).dtype == np.float32
    assert Lift("x1/2").fit_transform(np.array([[1], [2]]))[:, 0].tolist() == [0.5, 1.0]


def test_sparse_rows_are_refused_with_a_way_out():
    with pytest.raises(TypeError, match="toarray"):
        Lift("x1").fit(sparse.csr_array(X2))


# -- functions ------------------------------------------------------------------------------


def circle(X):
    return np.column_stack([X, X[:, 0] ** 2 + X[:, 1] ** 2])


def test_functions_and_lists_of_parts():
    lift = Lift([circle, "x1*x2", lambda X: X[:, 1]]).fit(X2)
    out = lift.transform(X2)
    np.testing.assert_allclose(out[:, 2], (X2**2).sum(axis=1))
    np.testing.assert_allclose(out[:, 3], X2.prod(axis=1))
    assert lift.get_feature_names_out().tolist() == ["phi1", "phi2", "phi3", "x1*x2", "phi5"]
    assert lift.polynomials() is None


def test_a_function_sees_a_copy_and_is_called_once_in_fit_transform():
    calls = []

    def spoil(X):
        calls.append(1)
        X *= 0
        return X

    X = X2.copy()
    Lift(spoil).fit_transform(X)
    np.testing.assert_array_equal(X, X2)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: (x[0], x[1], (x[0] - x[1]) ** 2), "all rows at once"),
        (lambda X: X[:2], "for 4 rows"),
        (lambda X: "no", "no array of numbers"),
        (lambda X: [[1], [1, 2], [3], [4]], "no array of numbers"),
        (lambda X: None, "no array of numbers"),
        (lambda X: X[:, :0], "for 4 rows"),
        (lambda X: np.log(X * 0 - 1), "is nan at row 0"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_with_wrong_answers_are_named(function, words):
    with pytest.raises(DataError, match=words):
        Lift(function).fit(np.ones((4, 2)))


def test_a_function_of_changing_width_is_refused():
    lift = Lift(lambda X: np.ones((len(X), len(X)))).fit(X2)
    with pytest.raises(DataError, match="gave 2 columns, and 3 in fit"):
        lift.transform(X2[:2])


@pytest.mark.parametrize("phi", [3, None, [1.0], Lift, {"x1": 1}])
def test_other_things_are_no_lift(phi):
    with pytest.raises(SettingError, match="a lift is a text"):
        Lift(phi).fit(X2)


# -- with others ----------------------------------------------------------------------------

LINEAR = [
    name
    for name in ("Perceptron", "Kozinec", "LinearSVM", "LogisticRegression", "LeastSquares")
    if name in dir(linsep)
]


@pytest.mark.parametrize("name", LINEAR)
def test_every_estimator_learns_a_disc_behind_a_lift(name):
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(80, 2))
    radius = np.hypot(*X.T)
    keep = np.abs(radius - 1.2) > 0.2
    X, y = X[keep], np.where(radius[keep] < 1.2, "in", "out")
    frame = pd.DataFrame(X, columns=["left right", "up"])
    model = make_pipeline(Lift("poly(2)"), StandardScaler(), getattr(linsep, name)())
    model.fit(frame, y)
    assert model.score(frame, y) > 0.95
    found = linsep.lift.pullback(model)
    assert found.exact
    np.testing.assert_array_equal(found.predict(frame), model.predict(frame))
    np.testing.assert_allclose(
        found.polynomials[0](X), model.decision_function(frame), rtol=1e-6, atol=1e-6
    )


def test_a_pipeline_is_certified_on_the_rows_that_its_last_step_sees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (np.hypot(*X.T) > 1).astype(int)
    model = make_pipeline(Lift("poly(2)"), LinearSVC(loss="hinge", random_state=0)).fit(X, y)
    report = linsep.certify(model, X, y)
    again = linsep.certify(model[-1], model[:-1].transform(X), y)
    assert (report.objective, report.lower_bound) == (again.objective, again.lower_bound)
    alone = make_pipeline(linsep.LinearSVM()).fit(X, y)
    assert linsep.certify(alone, X, y).errors == (alone.predict(X) != y).sum()


def test_grid_search_over_texts():
    X, y = linsep.data.load("xor")
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    model = make_pipeline(Lift(), RidgeClassifier())
    search = GridSearchCV(model, {"lift__phi": ["x1, x2", "x1*x2"]}, cv=2).fit(X, y)
    assert search.best_params_ == {"lift__phi": "x1*x2"}
    assert clone(search.best_estimator_)[0].phi == "x1*x2"


def test_saved_lifts_and_pipelines_come_back(tmp_path):
    X, y = linsep.data.load("xor-01")
    frame = pd.DataFrame(X, columns=["a", "b c"])
    model = make_pipeline(Lift("a, `b c`, (a - `b c`)**2"), linsep.Perceptron()).fit(frame, y)
    linsep.save(model, tmp_path / "m.json")
    again = linsep.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.decision_function(frame), model.decision_function(frame))
    assert again.feature_names_in_.tolist() == ["a", "b c"]
    assert linsep.lift.pullback(again).polynomial == linsep.lift.pullback(model).polynomial
    assert again[-1].certificate_.separable
    linsep.save(model[0], tmp_path / "l.json")
    assert linsep.load(tmp_path / "l.json").phi == model[0].phi


def test_functions_are_not_saved(tmp_path):
    with pytest.raises(ModelError, match="holds no code"):
        linsep.save(Lift(circle).fit(X2), tmp_path / "l.json")
    model = make_pipeline(Lift(circle), linsep.Perceptron()).fit(X2, [0, 1, 1])
    with pytest.raises(ModelError, match="holds no code"):
        linsep.save(model, tmp_path / "m.json")
    turned = make_pipeline(PCA(), linsep.Perceptron()).fit(X2, [0, 1, 1])
    with pytest.raises(ModelError, match="PCA"):
        linsep.save(turned, tmp_path / "m.json")
    assert not list(tmp_path.iterdir())


def test_a_damaged_lift_is_refused(tmp_path):
    path = tmp_path / "l.json"
    linsep.save(Lift("x1 + x2").fit(X2), path)
    good = path.read_text()
    path.write_text(good.replace("x1 + x2", "x1.real"))
    with pytest.raises(ModelError, match="no attributes"):
        linsep.load(path)
    path.write_text(good.replace('"n_features": 2', '"n_features": 1'))
    with pytest.raises(ModelError):
        linsep.load(path)
