"""Margins that are proved, also where all rows are about as near as the nearest."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
import scipy.sparse

from linsep.core.problem import Problem
from linsep.proofs import margins
from linsep.proofs.margins import margin_below
from linsep.rows.signs import float_bounds


def sparse_rows(n, d, seed=0):
    draw = np.random.default_rng(seed)
    X = scipy.sparse.random(n, d, 5 / d, "csr", rng=draw)
    X.data = draw.normal(size=X.nnz) * 10.0 ** draw.integers(-6, 6, X.nnz)
    return X, draw.normal(size=d), np.arange(n) % 2


@pytest.mark.parametrize("sparse", [True, False])
def test_bounds_of_scores_hold_the_true_score(sparse):
    X, w, y = sparse_rows(40, 3000)
    problem = Problem(X if sparse else X.toarray(), y)
    values, error = float_bounds(problem, w, 0.3)
    rows, exact = X.toarray(), [Fraction(v) for v in w.tolist()]
    for i, row in enumerate(rows.tolist()):
        some = [j for j in range(len(row)) if row[j]]
        true = sum(Fraction(row[j]) * exact[j] for j in some) + Fraction(0.3)
        assert abs(problem.sign[i] * true - Fraction(values[i])) <= Fraction(error[i])


def test_zeros_of_a_sparse_row_make_no_rounding():
    X, w, y = sparse_rows(40, 3000)
    error = [float_bounds(Problem(M, y), w, 0.3)[1] for M in (X, X.toarray())]
    assert (error[0] < 0.05 * error[1]).all()


def test_many_nearest_rows_are_not_all_taken_as_fractions(monkeypatch):
    """Least squares that meet every target: all rows are as near as each other, up to rounding."""
    draw = np.random.default_rng(1)
    X, y = draw.normal(size=(400, 3000)), np.arange(400) % 2
    w = np.linalg.lstsq(X, 2.0 * y - 1, rcond=None)[0]
    problem = Problem(X, y, fit_intercept=False)
    taken = []
    monkeypatch.setattr(margins, "_SHARP", 0.0)  # as on tables that are larger still
    monkeypatch.setattr(margins, "exact_values", lambda *_: taken.append(1))
    found = margin_below(problem, w, 0.0)
    numbers = [[int(Fraction(v) * 2**1074) for v in row] for row in (*X[:3].tolist(), w.tolist())]
    length = isqrt(sum(v * v for v in numbers[-1]))
    for row, label in zip(numbers, (-1, 1, -1)):
        true = label * sum(a * b for a, b in zip(row, numbers[-1])) // length / 2**1074
        assert 0 <= true - found < 1e-6 * true
    assert not taken
