"""Published logistic fits, and the conventions of the lectures."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linsep

INF = float("inf")

# Hours of study of twenty students and whether they passed: the example of the encyclopedia
# article on logistic regression, with coefficients 1.5046 and -4.0777.
HOURS = [0.50, 0.75, 1.00, 1.25, 1.50, 1.75, 1.75, 2.00, 2.25, 2.50, 2.75, 3.00, 3.25, 3.50, 4.00,
         4.25, 4.50, 4.75, 5.00, 5.50]  # fmt: skip
PASSED = [0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1]

# Launches of the space shuttle before 1986: temperature in Fahrenheit and whether an O-ring was
# damaged (Dalal, Fowlkes, Hoadley 1989): 15.0429 - 0.2322 t.
DAMAGED = [53, 57, 58, 63, 70, 70, 75]
WHOLE = [66, 67, 67, 67, 68, 69, 70, 70, 72, 73, 75, 76, 76, 78, 79, 81]


def test_hours_of_study():
    model = linsep.LogisticRegression(C=INF).fit(np.array(HOURS)[:, None], PASSED)
    assert model.coef_[0, 0] == pytest.approx(1.5046, abs=5e-5)
    assert model.intercept_[0] == pytest.approx(-4.0777, abs=5e-5)
    assert model.predict_proba([[2.0], [4.0]])[:, 1] == pytest.approx([0.26, 0.87], abs=5e-3)
    assert model.log_likelihood_ == pytest.approx(-8.02988, abs=5e-6)
    assert model.null_log_likelihood_ == pytest.approx(20 * math.log(0.5))


def test_shuttle_launches():
    X = np.array([*DAMAGED, *WHOLE], dtype=float)[:, None]
    y = [1] * len(DAMAGED) + [0] * len(WHOLE)
    model = linsep.LogisticRegression(penalty=None).fit(X, y)
    assert model.coef_[0, 0] == pytest.approx(-0.2322, abs=5e-5)
    assert model.intercept_[0] == pytest.approx(15.0429, abs=5e-4)
    assert model.predict_proba([[31.0]])[0, 1] > 0.999


def test_the_gradient_is_zero_at_the_maximum():
    """sum_l X_i^l (Y^l - P(Y = 1 | X^l, W)) = 0 for all i, X_0 = 1."""
    X = np.array(HOURS)[:, None]
    model = linsep.LogisticRegression(C=INF).fit(X, PASSED)
    rest = np.array(PASSED) - model.predict_proba(X)[:, 1]
    assert abs(rest.sum()) < 1e-10 and abs((rest * X[:, 0]).sum()) < 1e-10


def test_the_likelihood_is_concave_along_any_line():
    X, y = np.array(HOURS), np.array(PASSED)
    sign = 2 * y - 1

    def likelihood(w, b):
        return -float(np.logaddexp(0, -sign * (w * X + b)).sum())

    rng = np.random.default_rng(0)
    for _ in range(50):
        p, q = rng.normal(size=(2, 2)) * 5
        middle = (p + q) / 2
        assert likelihood(*middle) >= (likelihood(*p) + likelihood(*q)) / 2 - 1e-12


def test_reference_and_plain_softmax_have_the_same_probabilities_without_a_penalty():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), rng.integers(0, 3, 120)
    plain = linsep.LogisticRegression(C=INF).fit(X, y)
    for reference in (0, 1, 2):
        model = linsep.LogisticRegression(C=INF, reference=reference).fit(X, y)
        assert (model.coef_[reference] == 0).all()
        assert model.predict_proba(X) == pytest.approx(plain.predict_proba(X), abs=1e-6)
        shifted = plain.coef_ - plain.coef_[reference]
        assert model.coef_ == pytest.approx(shifted, abs=1e-6)


def test_lecture_tables_without_a_maximum():
    """Weights grow for ever on separable data; the fit says so (students, and the and-table)."""
    for name in ("students", "offset-pair"):
        table = linsep.data.load(name)
        with pytest.warns(linsep.errors.NoMaximumWarning):
            model = linsep.LogisticRegression(C=INF).fit(table.X, table.y)
        assert model.status_.name == "NO_MAXIMUM"
    table = linsep.data.load("xor")
    model = linsep.LogisticRegression(C=INF).fit(table.X, table.y)
    assert model.predict_proba(table.X) == pytest.approx(0.5)
    assert np.abs(model.coef_).max() < 1e-12 and model.status_.name == "CERTIFIED"


# Tables of doses: a column or more, number of cases, number of successes, published weights.
BEETLES = (
    [[1.6907], [1.7242], [1.7552], [1.7842], [1.8113], [1.8369], [1.8610], [1.8839]],
    [59, 60, 62, 56, 63, 59, 62, 60],
    [6, 13, 18, 28, 52, 53, 61, 60],
    [-60.717, 34.270],  # Bliss 1935; Dobson, An Introduction to Generalized Linear Models
)
BUDWORMS = (
    [[sex, dose] for sex in (1, 0) for dose in range(6)],
    [20] * 12,
    [1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16],
    [-3.4732, 1.1007, 1.0642],  # Collett 1991; Venables and Ripley, section 7.2
)
MENARCHE = (
    [[a] for a in (9.21, 10.21, 10.58, 10.83, 11.08, 11.33, 11.58, 11.83, 12.08, 12.33, 12.58,
                   12.83, 13.08, 13.33, 13.58, 13.83, 14.08, 14.33, 14.58, 14.83, 15.08, 15.33,
                   15.58, 15.83, 17.58)],
    [376, 200, 93, 120, 90, 88, 105, 111, 100, 93, 100, 108, 99, 106, 105, 117, 98, 97, 120, 102,
     122, 111, 94, 114, 1049],
    [0, 0, 0, 2, 2, 5, 10, 17, 16, 29, 39, 51, 47, 67, 81, 88, 79, 90, 113, 95, 117, 107, 92, 112,
     1049],
    [-21.2264, 1.6320],  # Milicer and Szczotka 1966; Venables and Ripley, exercise 7.1
)  # fmt: skip


@pytest.mark.parametrize("table", [BEETLES, BUDWORMS, MENARCHE], ids=["beetles", "worms", "ages"])
def test_counts_are_sample_weights(table):
    X, cases, successes, wanted = table
    weight = [*successes, *(np.array(cases) - successes)]
    y = [1] * len(X) + [0] * len(X)
    model = linsep.LogisticRegression(C=INF).fit(X * 2, y, sample_weight=weight)
    found = [model.intercept_[0], *model.coef_[0]]
    assert found == pytest.approx(wanted, rel=2e-5, abs=6e-5)
    assert model.status_.name == "CERTIFIED"


def test_finney_vasoconstriction():
    """Finney 1947, Pregibon 1981: logarithms of volume and rate, 39 breaths."""
    volume = [3.7, 3.5, 1.25, 0.75, 0.8, 0.7, 0.6, 1.1, 0.9, 0.9, 0.8, 0.55, 0.6, 1.4, 0.75, 2.3,
              3.2, 0.85, 1.7, 1.8, 0.4, 0.95, 1.35, 1.5, 1.6, 0.6, 1.8, 0.95, 1.9, 1.6, 2.7, 2.35,
              1.1, 1.1, 1.2, 0.8, 0.95, 0.75, 1.3]  # fmt: skip
    rate = [0.825, 1.09, 2.5, 1.5, 3.2, 3.5, 0.75, 1.7, 0.75, 0.45, 0.57, 2.75, 3.0, 2.33, 3.75,
            1.64, 1.6, 1.415, 1.06, 1.8, 2.0, 1.36, 1.35, 1.36, 1.78, 1.5, 1.5, 1.9, 0.95, 0.4,
            0.75, 0.03, 1.83, 2.2, 2.0, 3.33, 1.9, 1.9, 1.625]  # fmt: skip
    y = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0,
         1, 0, 0, 1, 1, 1, 0, 0, 1]  # fmt: skip
    model = linsep.LogisticRegression(C=INF).fit(np.log(np.column_stack([volume, rate])), y)
    assert model.intercept_ == pytest.approx([-2.875], abs=6e-4)
    assert model.coef_[0] == pytest.approx([5.179, 4.562], abs=6e-4)


def test_newton_steps_of_a_trace_are_those_of_the_formula():
    """W <- W - H^-1 grad from zero, written out; l(W) and the cost of every step."""
    table = linsep.data.load("five-points")
    run = linsep.trace(linsep.LogisticRegression(C=2.0, solver="newton"), table.X, table.y)
    rows = np.column_stack([np.ones(5), table.X])
    label = (table.y > 0).astype(float)
    ridge, W = np.diag([0.0, 0.5, 0.5]), np.zeros(3)  # |w|^2 / 2 over C; the offset is free
    for step in run:
        np.testing.assert_allclose([step.intercept, *step.coef], W, rtol=1e-9, atol=1e-12)
        p = 1 / (1 + np.exp(-rows @ W))
        likely = float(np.log(np.where(label, p, 1 - p)).sum())
        assert step.log_likelihood == pytest.approx(likely, rel=1e-12)
        assert step.cost == step.objective == pytest.approx(W[1:] @ W[1:] / 2 - 2 * likely)
        H = (rows.T * (p * (1 - p))) @ rows + ridge
        W = W + np.linalg.solve(H, rows.T @ (label - p) - ridge @ W)
    assert 4 <= run.outcome.updates <= 8 and run[-1].gap <= 1e-12
    assert run[0].gap > 0.1 and "Newton step 1: objective" in run.narrate()
    assert f"l(W) = {run[1].log_likelihood:.6g}" in run.narrate(convention="003")
