"""Criteria at given weights: the numbers of the lectures, slopes, and those who use them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

import linsep
from linsep import Linear, criteria
from linsep.errors import DataError, LabelError, SettingError
from linsep.losses import check_gradient

ALL = [
    criteria.Perceptron(), criteria.Perceptron(margin=0.7), criteria.Squares(), criteria.Hinge(),
    criteria.SquaredHinge(), criteria.Logistic(), criteria.Hinge(C=2.0),
    criteria.SquaredHinge(C=0.5), criteria.Logistic(C=3.0),
]  # fmt: skip


@pytest.mark.parametrize("criterion", ALL, ids=repr)
def test_gradients_agree_with_differences_and_values_with_losses(criterion):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(30, 4)), np.where(rng.random(30) < 0.4, "no", "yes")
    a = rng.normal(size=5)
    assert check_gradient(
        lambda a: criterion.value(a, X, y), lambda a: criterion.gradient(a, X, y), a
    )
    lost = criterion.losses(a, X, y)
    assert lost.shape == (30,) and (lost >= 0).all()
    penalty = 0 if criterion.C is None else a[:-1] @ a[:-1] / 2
    assert criterion.value(a, X, y) == pytest.approx(penalty + (criterion.C or 1) * lost.sum())
    for same in ((a[:-1], a[-1]), Linear(a[:-1], a[-1]), (a[:-1].tolist(), [a[-1]])):
        assert criterion.value(same, scipy.sparse.csr_array(X), y) == pytest.approx(
            criterion.value(a, X, y)
        )
    weight = np.arange(30.0)
    one, many = criterion.gradient(a, X, y, weight), np.repeat(np.arange(30), weight.astype(int))
    assert one == pytest.approx(criterion.gradient(a, X[many], y[many]))


def test_the_students_under_the_first_start():
    """Lecture 003: Steve has -1.25 under the first start (G1)."""
    table = linsep.data.load("students")
    start = ([0.25] * 4, 0.25)
    values = (2 * (table.y == max(table.y)) - 1) * (table.X @ np.full(4, 0.25) + 0.25)
    lost = criteria.Perceptron().losses(start, table.X, table.y)
    assert lost.tolist() == np.maximum(-values, 0).tolist() and 1.25 in lost
    assert criteria.Count().value(start, table.X, table.y) == (values <= 0).sum()


def test_a_row_on_the_plane_is_an_error_unless_strict():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    assert criteria.Count().losses(([1.0], -1.0), X, y).tolist() == [0, 1, 1]
    assert criteria.Count(strict=True).losses(([1.0], -1.0), X, y).tolist() == [0, 0, 1]
    # the rows with y f = 0 take part in the gradient of lecture 000: sum of -z
    assert criteria.Perceptron().gradient(([0.0], 0.0), X, y).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("name", "targets", "a", "left"), [
    ("mse-1", None, [(93, 89), (-84, 89), (237, 89)], Fraction(50, 89)),
    ("mse-2", None, [(21, 137), (-60, 137), (441, 137)], Fraction(242, 137)),
    ("mse-2", [1, 1, 1, 10], [(228, 137), (-123, 137), (-144, 137)], Fraction(8, 137)),
])  # fmt: skip
def test_squared_errors_of_lecture_003(name, targets, a, left):
    table = linsep.data.load(name)
    criterion = criteria.Squares(targets)
    at = [p / q for p, q in a]
    assert criterion.value(at, table.X, table.y) == pytest.approx(float(left), abs=1e-13)
    assert criterion.gradient(at, table.X, table.y) == pytest.approx(np.zeros(3), abs=1e-11)
    report = linsep.certify(Linear.from_augmented(at, loss=criterion), table.X, table.y)
    assert report.objective == pytest.approx(float(left)) and report.lower_bound > 0
    # What is left of the way to it: each step of a descent takes a share along each eigenvector.
    Z = np.column_stack([table.X, np.ones(len(table.X))])
    steps = linsep.descend(criterion, table.X, table.y, ([0, 0], 0), eta=2e-3, max_iter=2000)
    shares, vectors = np.linalg.eigh(np.eye(3) - 4e-3 * Z.T @ Z)
    way = (vectors * shares**2000) @ vectors.T @ np.array(at)
    assert steps.x == pytest.approx(at - way, abs=1e-10)


def test_the_anchor_of_lecture_002_is_an_offset():
    rng = np.random.default_rng(1)
    X, y, u, w = rng.normal(size=(9, 2)), np.arange(9) % 2, [0.3, -1.0], [2.0, 0.5]
    anchored = criteria.Perceptron(anchor=u)
    free = (w, -float(np.dot(w, u)))
    assert anchored.losses(w, X, y) == pytest.approx(criteria.Perceptron().losses(free, X, y))
    assert anchored.value((w, 0.0), X, y) == pytest.approx(anchored.value(w, X, y))
    with pytest.raises(DataError, match="anchor"):
        criteria.Perceptron(anchor=[1.0]).value(w, X, y)


def test_the_perceptron_criterion_is_the_length_times_the_distances():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(20, 3)), np.where(np.arange(20) % 3, 1, -1)
    plane = Linear([1.0, -2.0, 0.5], 0.3)
    far = np.minimum(y * plane.distance(X), 0).sum()
    assert criteria.Perceptron().value(plane, X, y) == pytest.approx(-far * np.sqrt(5.25))


def test_descent_on_the_count_is_refused_with_the_reason():
    table = linsep.data.load("mse-1")
    with pytest.raises(SettingError, match="gradient is zero almost everywhere"):
        linsep.descend(criteria.Count(), table.X, table.y, ([1.0, 1.0], 0.0))
    with pytest.raises(TypeError, match="X, y, start"):
        linsep.descend(criteria.Hinge(), table.X, table.y, ([1.0, 1.0], 0.0), lambda a: a)


@pytest.mark.parametrize("model", [
    linsep.LinearSVM(C=3.0), linsep.LinearSVM(loss="squared_hinge"), linsep.LeastSquares(),
    linsep.LogisticRegression(C=0.5), linsep.LogisticRegression(penalty=None),
], ids=repr)  # fmt: skip
def test_estimators_offer_what_they_minimise(model):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 2.0, -1.0] + rng.normal(size=60) > 0
    model.fit(X, y)
    found = model.criterion_
    best = found.value(model, X, y)
    assert best == pytest.approx(model.certificate_.objective, rel=1e-9)
    for _ in range(20):
        other = (model.coef_ + 0.05 * rng.normal(size=3), model.intercept_ + 0.05 * rng.normal())
        assert found.value(other, X, y) >= best
    if not isinstance(found, criteria.Hinge):
        assert np.abs(found.gradient(model, X, y)).max() < 1e-2


def test_separators_offer_the_perceptron_criterion():
    table = linsep.data.load("mse-2")
    for model in (linsep.Perceptron(), linsep.Kozinec()):
        model.fit(table.X, table.y)
        assert model.criterion_.value(model, table.X, table.y) == 0.0
    held = linsep.HoKashyap().fit(table.X, table.y)
    assert held.criterion_.targets.tolist() == held.targets_.tolist()


def test_what_is_no_weight_and_no_label():
    with pytest.raises(DataError, match="3 numbers"):
        criteria.Hinge().value([1.0, 2.0], [[1.0, 2.0]], [1])
    with pytest.raises(LabelError, match="3 classes"):
        criteria.Hinge().value([1.0, 2.0], [[1.0]] * 3, [0, 1, 2])
    with pytest.raises(SettingError, match="C must be"):
        criteria.Hinge(C=-1.0)
    with pytest.raises(SettingError, match="loss must be"):
        Linear([1], 0, loss=criteria.Count())


def test_weights_that_are_no_numbers_are_refused_with_the_way_out():
    for a in ("ab", None, (["a", "b"], 0), [[1], [2, 3]]):
        with pytest.raises(linsep.errors.DataError, match=r"are \(coef, intercept\), or 3 numbers"):
            linsep.criteria.Hinge().value(a, [[0.0, 1.0], [1.0, 0.0]], [0, 1])
