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
