"""Newton's step in a box against Clarabel and the conditions of optimality; projections."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep.numerics.box import balanced, free_values, newton_change


def clarabel_minimum(P, q, low, high, total=None):
    """min 1/2 x'Px + q'x in a box, with the sum given, by another solver."""
    import clarabel

    n = len(q)
    rows = [np.eye(n), -np.eye(n)] if total is None else [np.ones((1, n)), np.eye(n), -np.eye(n)]
    right = np.concatenate([high, -low] if total is None else [[total], high, -low])
    cones = [] if total is None else [clarabel.ZeroConeT(1)]
    cones.append(clarabel.NonnegativeConeT(2 * n))
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-12
    A = scipy.sparse.csc_matrix(np.vstack(rows))
    P = scipy.sparse.csc_matrix(np.triu(P))
    return np.array(clarabel.DefaultSolver(P, q, A, right, cones, options).solve().x)


def matrix(seed: int, n: int):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n + 5))
    return A @ A.T / n + np.eye(n), rng


def gain(K, f, d):
    return -f @ d - 0.5 * d @ K @ d


@pytest.mark.parametrize("sums", [True, False])
@pytest.mark.parametrize("n", [15, 260])  # a factor in float64, and one in float32
@pytest.mark.parametrize("seed", range(4))
def test_a_step_is_nearly_the_best_of_the_box(seed, n, sums):
    """No bound is let go again, so a part of the best gain is left where one should be."""
    K, rng = matrix(seed, n)
    f = rng.normal(size=n)
    low, high = -rng.uniform(0.3, 3.0, n), rng.uniform(0.3, 3.0, n)
    d = newton_change(K, f, low, high, balanced=sums)
    assert d is not None
    assert (d >= low).all() and (d <= high).all()
    if sums:
        assert abs(d.sum()) < 1e-9 * np.abs(d).sum()
    best = clarabel_minimum(K, f, low, high, 0.0 if sums else None)
    assert 0.97 * gain(K, f, best) <= gain(K, f, d) <= gain(K, f, best) * (1 + 1e-9)
    # those inside have one slope, and those at a bound are exactly there
    inside = (d > low) & (d < high)
    slope = (f + K @ d)[inside]
    assert np.abs(slope - (slope.mean() if sums else 0.0)).max() < 1e-6 * np.abs(f).max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_where_too_many_meet_a_bound_there_is_no_step(dtype):
    K, rng = matrix(1, 40)
    f = 100 * rng.normal(size=40)
    low, high = np.full(40, -1e-3), np.full(40, 1e-3)
    assert newton_change(K.astype(dtype), f, low, high, balanced=True) is None


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 30), st.booleans())
def test_a_step_never_loses_whatever_the_rank(seed, n, rank, sums):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, rank))
    K, f = A @ A.T, rng.normal(size=n)
    low, high = -rng.exponential(size=n), rng.exponential(size=n)
    d = newton_change(K, f, low, high, balanced=sums)
    if d is not None:
        assert gain(K, f, d) >= -1e-9 * (1 + np.abs(K).max() * np.abs(d).sum() ** 2)
        assert (d >= low - 1e-12).all() and (d <= high + 1e-12).all()


def test_a_matrix_that_is_not_positive_has_no_step():
    assert (
        newton_change(-np.eye(20), np.ones(20), -np.ones(20), np.ones(20), balanced=False) is None
    )


def test_balanced_variables():
    y = np.array([1.0, 1.0, -1.0, -1.0])
    got = balanced(np.array([0.5, np.nan, 9.0, -1.0]), y, np.full(4, 2.0))
    np.testing.assert_array_equal(got, [0.5, 0.0, 0.5, 0.0])
    assert not balanced(np.array([1.0, 1.0, 0.0, 0.0]), y, np.ones(4)).any()


@pytest.mark.parametrize("signs", [True, False])
def test_free_values_solve_their_equations_in_fractions(signs):
    rng = np.random.default_rng(5)
    E = rng.integers(-9, 9, (5, 7)).astype(float) * 10.0 ** rng.integers(-2, 3, (5, 1))
    K, right = E @ E.T, rng.normal(size=5)
    sign = np.array([1.0, -1.0, 1.0, 1.0, -1.0]) if signs else None
    x = free_values(K, right, sign, 0.25)
    if signs:
        assert sum(Fraction(s) * Fraction(v) for s, v in zip(sign, x)) == pytest.approx(0.25)
    left = [float(sum(Fraction(k) * Fraction(v) for k, v in zip(row, x))) for row in K]
    rest = right - np.array(left)
    if signs:
        rest = rest - sign * (rest @ sign) / 5  # what the multiplier takes
    assert np.abs(rest).max() < 1e-8 * np.abs(right).max()


def test_free_values_of_rows_that_depend_on_each_other_are_the_shortest():
    E = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, -1.0]])
    x = free_values(E @ E.T, np.array([1.0, 1.0, 2.0]))
    assert x[0] == pytest.approx(x[1])
    np.testing.assert_allclose(E @ E.T @ x, [1.0, 1.0, 2.0], atol=1e-12)
    assert free_values(np.full((2, 2), np.inf), np.ones(2)) is None
