"""A given plane as an object: made, measured, compared, asked, drawn and saved."""

from __future__ import annotations

import json
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import linsep
from linsep import Linear
from linsep.cli.main import main
from linsep.errors import DataError, LabelError, ModelError, SettingError
from linsep.risk import empirical_risk

whole = st.integers(-9, 9)
numbers = st.fractions(-9, 9, max_denominator=12)


def vectors(d, of=numbers):
    return st.lists(of, min_size=d, max_size=d)


planes = (
    st.integers(1, 4).flatmap(lambda d: st.tuples(vectors(d), numbers)).filter(lambda p: any(p[0]))
)


def test_the_hard_margin_of_the_first_squares_example():
    table = linsep.data.load("mse-1")
    plane = Linear([2, -1], -2)
    verdict = plane.separates(table.X, table.y)
    assert verdict.strict and verdict.weak and not verdict.wrong.size and verdict
    assert verdict.margin == pytest.approx(1 / sqrt(5), abs=1e-15)
    assert verdict.margin**2 <= 1 / 5 and verdict.functional_margin == 1
    assert verdict.margin_aug == pytest.approx(1 / 3) and verdict.width == 2 * verdict.margin
    assert plane.origin_distance == pytest.approx(-2 / sqrt(5))
    assert plane.score(table.X, table.y) == 1.0
    assert float(empirical_risk(plane, table.X, table.y)) == 0.0


def test_the_separators_of_lecture_002():
    X, y = [[0, -1], [0, 1]], [0, 1]  # labels 0 and 1 as the lecture has them
    for b in (Fraction(-999, 1000), 0, 0.5):
        assert Linear([3, 1], -b).separates(X, y).strict
    edge = Linear([3, 1], 1).separates(X, y)
    assert not edge.strict and edge.weak and edge.wrong.tolist() == [0] == edge.on.tolist()
    assert "weakly" in str(edge) and edge.margin == 0.0
    upright = Linear([1, 0], 0).separates(X, y)
    assert upright.weak and upright.wrong.tolist() == [0, 1]
    turned = Linear([-3, -1], 0).separates(X, y)
    assert turned.reversed and not turned.strict and "exchanged" in str(turned)


def test_xor_has_no_plane_that_separates():
    table = linsep.data.load("xor")
    verdict = Linear([1, 1], Fraction(-1, 2)).separates(table.X, table.y)
    assert not verdict.weak and len(verdict.wrong) >= 1 and "does not separate" in str(verdict)
    assert verdict.margin < 0


def test_example_3_1_of_lecture_004():
    plane = Linear.from_augmented([1.42, 0.51, -0.5])
    assert plane.decision_function([[0.4, 0.05], [-0.2, 0.75]]) == pytest.approx([0.0935, -0.4015])
    assert plane.predict([[0.4, 0.05], [-0.2, 0.75]]).tolist() == [1, -1]


def test_one_row_on_each_side_and_one_between_is_never_rounded():
    third = Linear([Fraction(1, 3), -1], 0)
    assert third.side([[3, 1], [3, 1 + 2**-50], [3, 1 - 2**-50]]).tolist() == [0, -1, 1]
    assert Linear([1 / 3, -1], 0).side([[3, 1]]).tolist() == [-1]  # the float is less than 1/3
    X = np.array([[Fraction(1, 7), Fraction(1, 21)]], dtype=object)
    assert third.side(X).tolist() == [0] and third.predict(X).tolist() == [1]
    assert Linear([1, -1], 0).side([[2.0**60 + 2**10, 2.0**60]]).tolist() == [1]


@pytest.mark.parametrize(("zero", "answer"), [("positive", 1), ("negative", -1), ("reject", 0)])
def test_a_score_of_zero_is_what_was_chosen(zero, answer):
    plane = Linear([1], -1, zero=zero)
    assert plane.predict([[1.0], [2.0], [0.0]]).tolist() == [answer, 1, -1]
    named = Linear([1], -1, classes=("a", "b"), zero=zero).predict([[1.0]])
    assert named.tolist() == [{1: "b", -1: "a", 0: "reject"}[answer]]


@given(planes, st.fractions(Fraction(1, 50), 50, max_denominator=50))
@settings(max_examples=40, deadline=None)
def test_equality_is_up_to_a_positive_factor(plane, factor):
    w, b = plane
    one = Linear(w, b)
    assert one == Linear([factor * v for v in w], factor * b)
    turned = Linear([-factor * v for v in w], -factor * b)
    assert one != turned and one.same_line(turned) and hash(one) == hash(turned)
    assert one != Linear(w, b + 1) and not one.same_line(Linear(w, b + 1))


@given(vectors(2), vectors(2, whole).filter(any), numbers, st.integers(-5, 5).filter(bool))
@settings(max_examples=40, deadline=None)
def test_a_line_does_not_depend_on_its_point_and_the_length_of_its_direction(u, v, t, c):
    """Lecture 002: L_{u',v} = L_{u,v} for u' on it, L_{u,cv} = L_{u,v}."""
    line = Linear.through(u, direction=v)
    moved = [p + t * q for p, q in zip(u, v)]
    assert line == Linear.through(moved, direction=v)
    assert line.same_line(Linear.through(u, direction=[c * q for q in v]))
    assert line.side(np.array([u, moved], dtype=object)).tolist() == [0, 0]
    left = [u[0] - v[1], u[1] + v[0]]
    assert line.side(np.array([left], dtype=object)).tolist() == [1]


@given(planes, st.data())
@settings(max_examples=40, deadline=None)
def test_feet_lie_on_the_plane_at_the_distance(plane, data):
    w, b = plane
    one = Linear(w, b)
    x = np.array([data.draw(vectors(len(w)))], dtype=object)
    foot, distance = one.foot(x), one.distance(x)
    size = 1 + np.abs(foot).max() + abs(distance[0])
    assert abs(one.distance(foot)[0]) <= 1e-12 * size
    assert np.linalg.norm(x.astype(float) - foot) == pytest.approx(abs(distance[0]), abs=1e-12)
    assert np.sign(distance[0]) == one.side(x)[0]
    at_origin = Linear(w, 0)
    assert one.parallel() == at_origin and one.parallel(x[0]).side(x)[0] == 0
    assert abs(one.distance(one.shift[None])[0]) <= 1e-12 * size
    assert np.linalg.norm(one.shift) == pytest.approx(abs(one.origin_distance))
    assert one == Linear.from_augmented([b, *w], position="first")


def test_directions_in_space_span_a_plane():
    plane = Linear.through([0, 0, 1], direction=[[1, 0, 0], [0, 1, 0]])
    assert plane.same_line(Linear([0, 0, 1], -1)) and plane.side([[5, 5, 1]]).tolist() == [0]
    with pytest.raises(DataError, match="depend on each other"):
        Linear.through([0, 0, 1], direction=[[1, 2, 0], [2, 4, 0]])
    with pytest.raises(DataError, match="needs 2 directions"):
        Linear.through([0, 0, 1], direction=[1, 2, 0])


@pytest.mark.parametrize("text", [
    "2*x1 - x2 >= 2", "2 x1 - x2 >= 2", "x2 <= 2*x1 - 2", "2*(x1 - 1) > x2", "x1 - x2/2 - 1",
    "x1 - 1/2*x2 = 1", "4x1 - 2x2 ≥ 4", "-(x2 - 2 x1) >= 1 + 1",
])  # fmt: skip
def test_formulas_of_one_plane(text):
    assert Linear.parse(text) == Linear([2, -1], -2)


def test_formulas_with_names_and_what_they_print():
    plane = Linear.parse("`body mass` - 3 age > 1/3", ["age", "body mass", "height"])
    assert plane.coef_.tolist() == [[-3.0, 1.0, 0.0]]
    assert plane._weights.exact[-1] == Fraction(-1, 3)
    assert str(plane) == "-3 age + body mass > 1/3" and plane.zero == "negative"
    assert str(Linear([0.5, 0, -1], 0)) == "0.5 x1 - x3 >= 0"


@pytest.mark.parametrize(("text", "why"), [
    ("x1*x2 >= 1", "not linear"), ("x1**2 >= 1", "not linear"), ("x1 >= x2 >= 0", "comparison"),
    ("x1/0 >= 1", "divides by zero"), ("y >= 1", "no column"), ("x1 >=", "no formula"),
    ("__import__('os') >= 1", "not linear"), ("x1 != 2", "comparison"), ("x0 >= 1", "no column"),
])  # fmt: skip
def test_what_is_no_formula_of_a_plane(text, why):
    with pytest.raises(SettingError, match=why):
        Linear.parse(text)


def test_a_normal_vector_of_zero_is_refused_with_the_reason():
    for make in (
        lambda: Linear([0, 0], 1),
        lambda: Linear.through([1, 2], normal=[0, 0]),
        lambda: Linear.through([1, 2], direction=[0, 0]),
        lambda: Linear.from_augmented([0.0, 0.0, 3.0]),
        lambda: Linear.parse("x1 - x1 >= 2"),
    ):
        with pytest.raises(DataError, match="zero"):
            make()
    assert Linear([Fraction(1, 10**400)], 0).side([[1.0]]).tolist() == [1]  # no float, not zero


def test_it_is_a_classifier_of_scikit_learn():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    plane = Linear([Fraction(1, 3), -2, 0.5], 1, classes=("no", "yes"), C=2.0)
    y = plane.predict(X)
    assert is_classifier(plane) and clone(plane) == plane and clone(plane).C == 2.0
    assert cross_val_score(plane, X, y, cv=3).tolist() == [1.0, 1.0, 1.0]
    assert (plane.predict(scipy.sparse.csr_array(X)) == y).all()
    assert plane.set_params(coef=[1, 0, 0]) == Linear([1, 0, 0], 1)
    assert make_pipeline(StandardScaler(), plane).fit(X, y).predict(X).shape == (40,)
    with pytest.raises(DataError, match="2 features, the plane 3 weights"):
        plane.predict(X[:, :2])
    with pytest.raises(LabelError, match="the class 'maybe' in row 1"):
        plane.separates(X[:2], ["no", "maybe"])
    with pytest.raises(SettingError, match="sorted order"):
        Linear([1], 0, classes=("yes", "no"))


def test_the_plane_of_a_fitted_model_takes_rows_as_they_are():
    table = linsep.data.load("mse-2")
    model = linsep.LinearSVM(C=7.0).fit(table.X, table.y)
    plane = Linear.of(model)
    assert plane.loss == "hinge" and plane.C == 7.0
    assert plane.decision_function(table.X) == pytest.approx(model.decision_function(table.X))
    one, other = linsep.certify(plane, table.X, table.y), model.certificate_
    assert one.objective == pytest.approx(other.objective) and one.relative_gap < 1e-3
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) * [1, 10, 100, 0.1] + 5
    y = X[:, 0] + X[:, 1] > 10
    piped = make_pipeline(StandardScaler(), MinMaxScaler(), LogisticRegression()).fit(X, y)
    assert Linear.of(piped).decision_function(X) == pytest.approx(piped.decision_function(X))
    with pytest.raises(ModelError, match="no plane"):
        Linear.of(linsep.KernelSVM())


def test_files_keep_fractions(tmp_path):
    plane = Linear([Fraction(1, 3), 2], Fraction(-1, 7), classes=("a", "b"), zero="reject",
                   feature_names=["mass", "age"])  # fmt: skip
    linsep.save(plane, tmp_path / "plane.json")
    again = linsep.load(tmp_path / "plane.json")
    assert again == plane and again._given == plane._given
    assert again.get_params()["zero"] == "reject" and str(again) == str(plane)
    assert again.classes_.tolist() == ["a", "b"]


def test_pictures_take_a_given_plane():
    table = linsep.data.load("mse-1")
    plane = Linear([2, -1], -2)
    display = linsep.DecisionDisplay.from_estimator(plane, table.X, table.y)
    assert display.margin == pytest.approx(1 / sqrt(5)) and len(display.margins_) == 2
    assert len(linsep.NeuronDisplay.from_estimator(plane).edges_) == 3
    assert linsep.RegionsDisplay.from_estimator(plane, table.X, table.y).figure_ is not None
    assert linsep.regions(plane, box=((0, 0), (1, 1))).exact


def test_the_command_line_asks_about_one_plane(tmp_path, capsys):
    path = tmp_path / "four.csv"
    path.write_text("mass,age,class\n6,9,1\n5,7,1\n5,9,-1\n0,4,-1\n")
    assert main(["check", str(path), "--plane", "2 x1 - x2 >= 2"]) == 0
    assert "the plane separates: all 4 rows" in capsys.readouterr().out
    assert main(["check", str(path), "--plane", "mass >= 5", "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["wrong"] == [1, 2] and told["on"] == [1, 2] and told["plane"] == "mass >= 5"
    assert main(["check", str(path), "--plane", "mass * age >= 5"]) == 2


def test_numbers_of_a_formula_may_have_exponents():
    assert Linear.parse("1/2*x1 + x2/4 >= 1e-1") == Linear([10, 5], -2)
    assert Linear.parse("2e1 x1 - 1E+1x2 >= 20") == Linear([2, -1], -2)


def test_a_row_on_the_plane_has_a_margin_without_sign():
    found = Linear([2, -1], -2).separates([[3, 1], [0, 0], [1, 0]], [1, -1, 1])
    assert str(found.margin) == str(found.margin_aug) == "0.0" and not found.strict


def test_a_weight_that_prints_as_one_is_left_out():
    assert str(linsep.Linear([2.0, -1.0 - 1e-9], -2.0)) == "2 x1 - x2 >= 2"
    assert str(linsep.Linear([2.0, -1.1], -2.0)) == "2 x1 - 1.1 x2 >= 2"
