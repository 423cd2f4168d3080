"""The recomputed duality gap is a true bound, whatever it is given."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.svm import SVC, LinearSVC

import linsep
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.errors import ModelError
from linsep.losses import LOSSES, machine_loss
from linsep.losses.hinge import HINGE, SQUARED_HINGE
from linsep.proofs.gap import Gap
from linsep.proofs.hinge import Objective, hinge_gap
from linsep.proofs.l1 import l1_gap

SEEDS = st.integers(0, 10_000)


def small(seed, n=12, d=3):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1, -1)
    return rng.normal(size=(n, d)) + 0.5 * y[:, None], y, rng


def exact_objective(problem, a, objective):
    """P in rational arithmetic."""
    X = problem.matrix.toarray() if problem.sparse else problem.matrix
    w, b = [Fraction(float(v)) for v in a[:-1]], Fraction(float(a[-1]))
    total = sum(v * v for v in w) / 2
    if objective.intercept == "penalised":
        total += (b / Fraction(objective.constant)) ** 2 / 2
    for x, y, s in zip(X, problem.sign, problem.weight):
        f = sum(Fraction(float(v)) * c for v, c in zip(x, w)) + b
        u = max(1 - int(y) * f, Fraction(0))
        total += (
            Fraction(objective.C) * Fraction(float(s)) * (u if objective.loss is HINGE else u * u)
        )
    return total


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    loss=st.sampled_from(["hinge", "squared_hinge"]),
    intercept=st.sampled_from(["free", "none", "penalised"]),
    C=st.sampled_from([1e-3, 1.0, 1e3]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_bounds_hold_for_any_weights_and_any_dual_point(seed, loss, intercept, C, scale):
    X, y, rng = small(seed)
    problem = Problem(X * scale, y, fit_intercept=intercept != "none")
    objective = Objective(machine_loss(loss), C, intercept, constant=2.0)
    a = rng.normal(size=4) / scale
    if intercept == "none":
        a[-1] = 0.0
    alpha = C * rng.exponential(size=len(y)) * (rng.random(len(y)) < 0.7)
    report = hinge_gap(problem, Witness(a=a, rows=np.arange(len(y)), multipliers=alpha), objective)
    truth = exact_objective(problem, a, objective)
    assert Fraction(report.objective) >= truth
    assert report.objective <= float(truth) * (1 + 1e-9)
    for _ in range(5):  # no other weights are below the bound either
        other = rng.normal(size=4) * rng.exponential() / scale
        other[-1] *= intercept != "none"
        assert Fraction(report.lower_bound) <= exact_objective(problem, other, objective)
    assert Fraction(report.lower_bound) <= exact_objective(problem, np.zeros(4), objective)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_gap_of_a_solved_machine_is_small_and_brackets_every_other(loss, offset, C):
    X, y, _ = small(3, n=40)
    model = linsep.LinearSVM(C=C, loss=loss, fit_intercept=offset).fit(X, y)
    report = linsep.certify(model, X, y)
    assert report.relative_gap < 1e-7
    assert report.lower_bound <= report.objective
    again = linsep.certify(
        linsep.Linear(model.coef_ * 1.1, model.intercept_ * 0.9, loss=loss, C=C), X, y
    )
    assert again.objective >= report.lower_bound
    if offset:
        assert again.lower_bound <= report.objective


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (LinearSVC(loss="hinge", max_iter=200_000), "penalised as the weight of a constant"),
        (LinearSVC(intercept_scaling=5.0), "constant feature 5"),
        (LinearSVC(fit_intercept=False, class_weight="balanced"), "no intercept"),
        (SVC(kernel="linear"), "not penalised"),
        (LogisticRegression(tol=1e-8), "logistic losses; the intercept is not penalised"),
        (LogisticRegression(solver="liblinear", tol=1e-8), "penalised as the weight"),
        (RidgeClassifier(), "targets"),
    ],
    ids=lambda v: type(v).__name__ if not isinstance(v, str) else "",
)
def test_converged_models_of_scikit_learn_are_proved_to_be_close(model, word):
    X, y, _ = small(5, n=60)
    report = linsep.certify(model.fit(X, y), X, y)
    assert word in report.words
    assert report.relative_gap < 0.005
    assert report.errors == (model.decision_function(X) * y <= 0).sum()


def test_the_wrong_objective_would_not_prove_it():
    X, y, _ = small(5, n=60)
    model = LinearSVC(loss="hinge", C=0.05, max_iter=200_000).fit(X + 3.0, y)
    own = linsep.certify(model, X + 3.0, y)
    free = linsep.certify(linsep.Linear(model.coef_, model.intercept_, C=0.05), X + 3.0, y)
    assert own.relative_gap < 1e-3 < free.relative_gap


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_unfinished_models_are_shown_as_such():
    X, y, _ = small(7, n=200)
    report = linsep.certify(SGDClassifier(max_iter=2, random_state=0).fit(X, y), X, y)
    assert report.relative_gap > 0.01
    assert report.lower_bound > 0
    assert "x (|w|^2 / 2" in report.words
    assert linsep.certify(Perceptron(max_iter=2).fit(X, y), X, y).lower_bound == 0.0
    assert issubclass(ConvergenceWarning, Warning)


def test_three_classes_have_one_proof_each():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + 2 * np.eye(3, 4)[y]
    for model, parts in ((LinearSVC(), 3), (SVC(kernel="linear"), 3), (linsep.LinearSVM(), 3)):
        report = linsep.certify(model.fit(X, y), X, y)
        assert len(report.parts) == parts
        assert report.relative_gap == max(part.relative_gap for part in report.parts) < 2e-3
        assert report.errors == (model.predict(X) != y).sum()


def test_sparse_and_float32_rows_give_the_same_report():
    X, y, _ = small(11, n=50)
    X = X.astype(np.float32)
    model = LinearSVC().fit(X, y)
    reports = [
        linsep.certify(model, form, y)
        for form in (X, np.asfortranarray(X), scipy.sparse.csr_array(X))
    ]
    for report in reports[1:]:
        assert report.objective == pytest.approx(reports[0].objective, rel=1e-12)
        assert report.lower_bound == pytest.approx(reports[0].lower_bound, rel=1e-3)


def test_what_cannot_be_certified_is_refused_in_words():
    X, y, _ = small(1)
    with pytest.raises(ModelError, match="no kernel machine"):
        linsep.certify(object(), X, y)
    with pytest.raises(ModelError, match="penalty='l1'"):
        linsep.certify(SGDClassifier(penalty="l1", random_state=0).fit(X, y), X, y)
    assert linsep.certify(SVC(kernel="rbf").fit(X, y), X, y).relative_gap < 0.01
    with pytest.raises(ModelError, match="3 features but X has 2"):
        linsep.certify(LinearSVC().fit(X, y), X[:, :2], y)
    with pytest.raises(ModelError, match="classes"):
        linsep.certify(LinearSVC().fit(X, y), X, y + 5)


def test_a_report_survives_a_round_trip():
    X, y, _ = small(2)
    report = linsep.certify(linsep.LinearSVM().fit(X, y), X, y)
    assert Gap.from_dict(report.to_dict()) == report
    assert "no model has less than" in str(report)


def test_the_package_is_a_function_and_a_package():
    from linsep.proofs.hinge import hinge_gap as same

    assert callable(linsep.certify) and same is hinge_gap


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("intercept", ["free", "none", "penalised"])
def test_no_weights_at_all_are_below_the_bound_of_an_absolute_penalty(loss, intercept):
    objective = Objective(SQUARED_HINGE, 0.7, intercept, constant=2.0)

    def value(a, X, y):
        u = y * (X @ a[:-1] + a[-1])
        losses = np.maximum(1 - u, 0) ** 2 if loss == "squared_hinge" else np.logaddexp(0, -u)
        more = abs(a[-1]) / 2.0 if intercept == "penalised" else 0.0
        return np.abs(a[:-1]).sum() + more + 0.7 * losses.sum()

    for seed in range(10):
        X, y, rng = small(seed)
        problem = Problem(X, y, fit_intercept=intercept != "none")
        a = rng.normal(size=4)
        a[-1] *= intercept != "none"
        report = l1_gap(problem, a, LOSSES[loss], objective)
        assert report.objective == pytest.approx(value(a, X, y), rel=1e-12)
        for _ in range(50):
            other = a + rng.normal(size=4) * rng.exponential()
            other[-1] *= intercept != "none"
            assert report.lower_bound <= value(other, X, y)
