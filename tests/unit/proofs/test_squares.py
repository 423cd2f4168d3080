"""Least squares against the minimum in fractions: the best cost there is, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import RidgeClassifier
from tests.unit.proofs import truth
from tests.unit.proofs.truth import examples, tables

import linsep
from linsep.core import Problem
from linsep.core.protocol import Witness
from linsep.proofs import squares
from linsep.proofs.squares import measure_squares, rational_squares, ridge_gap

TAME = ("plain", "integers", "duplicates", "sparse", "float32", "zero rows")


def fractions(values):
    return [[Fraction(float(v)) for v in row] for row in values]


def solved(A, B):
    """A solution of A X = B by Gauss and Jordan; free unknowns are 0. The system has one."""
    n, rows, pivots = len(A), [[*a, *b] for a, b in zip(A, B)], []
    for j in range(n):
        k = len(pivots)
        at = next((i for i in range(k, n) if rows[i][j]), None)
        if at is None:
            continue
        rows[k], rows[at] = rows[at], rows[k]
        rows[k] = [v / rows[k][j] for v in rows[k]]
        for i in range(n):
            if i != k and rows[i][j]:
                rows[i] = [u - rows[i][j] * v for u, v in zip(rows[i], rows[k])]
        pivots.append(j)
    X = [[Fraction(0)] * len(B[0]) for _ in range(n)]
    for k, j in enumerate(pivots):
        X[j] = rows[k][n:]
    return X


class Exact:
    """Rows [x, 1], targets -1 and +1, and weights as fractions."""

    def __init__(self, problem):
        self.d = problem.d
        X = fractions(truth.rows(problem))
        self.X = [[*x, Fraction(1)] if problem.fit_intercept else x for x in X]
        if problem.binary:
            self.T = [[Fraction(int(s))] for s in problem.sign]
        else:
            K = range(problem.K)
            self.T = [[Fraction(1 if k == own else -1) for k in K] for own in problem.label]
        self.S = [Fraction(float(s)) for s in problem.weight]

    def cost(self, A, lam=Fraction(0)):
        """sum of s |t - A'x|^2 + lam |w|^2; A has a column for each target."""
        value = lam * sum(v * v for row in A[: self.d] for v in row)
        for x, t, s in zip(self.X, self.T, self.S):
            for k, aim in enumerate(t):
                value += s * (aim - sum(u * row[k] for u, row in zip(x, A))) ** 2
        return value

    def least(self, lam=Fraction(0)):
        """The least cost, by the normal equations."""
        X, T, S, D = self.X, self.T, self.S, len(self.X[0])
        N = [[sum(s * x[i] * x[j] for x, s in zip(X, S)) for j in range(D)] for i in range(D)]
        for j in range(self.d):
            N[j][j] += lam
        H = [
            [sum(s * x[i] * t[k] for x, t, s in zip(X, T, S)) for k in range(len(T[0]))]
            for i in range(D)
        ]
        return self.cost(solved(N, H), lam)


def columns(problem, a):
    """The weights with a column for each target, the offset last."""
    blocks = fractions(np.asarray(a, float).reshape(-1, problem.d + 1))
    return [[block[j] for block in blocks] for j in range(problem.width)]


def near(problem):
    """Weights by numpy's least squares."""
    X = np.column_stack([truth.rows(problem), np.ones((problem.n, 1))])[:, : problem.width]
    T = problem.sign[:, None]
    if not problem.binary:
        T = 2.0 * (np.arange(problem.K) == problem.label[:, None]) - 1.0
    size = np.abs(X).max(axis=0)
    unit, root = np.where(size > 0, size, 1.0), np.sqrt(problem.weight)[:, None]
    A = np.linalg.lstsq(X / unit * root, T * root, rcond=None)[0] / unit[:, None]
    return np.vstack([A, np.zeros((problem.d + 1 - problem.width, A.shape[1]))]).T.ravel()


@pytest.mark.parametrize("exactly", [True, False])
@examples
@given(table=st.one_of(tables(), tables(K=3)))
def test_no_weights_give_a_false_bound(exactly, table):
    problem = table.problem
    exact = Exact(problem)
    least = exact.least()
    known = rational_squares(problem) if exactly else None
    assert known is None or known.minimum == least
    for a in [*table.models(), near(problem)]:
        found = measure_squares(problem, Witness(a=a), known=known)
        assert Fraction(found.objective) >= exact.cost(columns(problem, a))
        assert np.isfinite(found.reach) or Fraction(found.lower_bound) <= least


@examples
@given(table=tables(kinds=TAME))
def test_any_basis_gives_a_true_bound(table):
    problem, r = table.problem, table.random
    least = Exact(problem).least()
    size = (problem.width, problem.width)
    for basis in (np.eye(problem.width), r.standard_normal(size), np.zeros(size)):
        found = measure_squares(problem, Witness(a=near(problem)), basis=basis)
        assert np.isfinite(found.reach) or Fraction(found.lower_bound) <= least


@examples
@given(table=tables(kinds=TAME))
def test_the_gap_of_the_best_weights_is_small(table):
    problem = table.problem
    found = measure_squares(problem, Witness(a=near(problem)))
    assert found.relative_gap <= 1e-9
    assert found.objective <= float(Exact(problem).least()) + 1e-9 * found.total


@examples
@given(table=tables())
def test_a_ridge(table):
    problem, r = table.problem, table.random
    lam = float(10.0 ** r.uniform(-6, 3))
    exact = Exact(problem)
    least = exact.least(Fraction(lam))
    for a in [*table.models(), near(problem)]:
        gap = ridge_gap(problem, a, lam, offset=problem.fit_intercept)
        assert Fraction(gap.objective) >= exact.cost(columns(problem, a), Fraction(lam))
        assert Fraction(gap.lower_bound) <= least


@pytest.mark.parametrize("seed", range(24))
def test_a_ridge_far_from_zero_is_bounded_closely(seed):
    """Against the minimum in fractions; the model is scikit-learn's, solved to the last digits."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 25)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3, size=d) + 10.0 ** rng.integers(0, 8)
    y, lam = np.arange(n) % 2, float(10.0 ** rng.integers(-2, 3))
    X = X.astype(np.float32) if seed % 4 == 0 else X
    model = RidgeClassifier(alpha=lam, solver="svd").fit(X.astype(np.float64), y)
    report = linsep.certify(model, X, y)
    rows = [[Fraction(float(v)) for v in row] + [Fraction(1)] for row in X]
    aim = [Fraction(1 if v else -1) for v in y]
    N = [
        [
            sum((row[j] * row[k] for row in rows), Fraction(lam) if j == k < d else Fraction(0))
            for k in range(d + 1)
        ]
        for j in range(d + 1)
    ]
    H = [[sum((row[j] * t for row, t in zip(rows, aim)), Fraction(0))] for j in range(d + 1)]
    best = [row[0] for row in solved(N, H)]
    own = [Fraction(float(v)) for v in [*np.ravel(model.coef_), np.ravel(model.intercept_)[0]]]

    def value(a):
        away = (sum((v * w for v, w in zip(row, a)), -t) for row, t in zip(rows, aim))
        return sum((r * r for r in away), Fraction(0)) + Fraction(lam) * sum(w * w for w in a[:-1])

    assert Fraction(report.lower_bound) <= value(best)
    assert value(own) <= Fraction(report.objective)
    assert report.relative_gap < 1e-6


@pytest.mark.parametrize(("d", "drawn"), [(6, False), (60, True)])
def test_rows_are_drawn_where_that_is_less_work_than_all_products(d, drawn, monkeypatch):
    rng = np.random.default_rng(d)
    y = np.arange(20_000) % 2
    problem = Problem(rng.normal(size=(20_000, d)) + y[:, None], y)
    rows = []
    made = squares.products
    monkeypatch.setattr(squares, "products", lambda part: rows.append(part.n) or made(part))
    a = linsep.LeastSquares().fit(problem.matrix, y)
    rows.clear()
    found = measure_squares(problem, Witness(problem.join(a.coef_, a.intercept_)))
    assert found.relative_gap < 1e-9 and (rows[0] < problem.n) is drawn
