"""Rational arithmetic on rows of floats, against Fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from linsep.core.problem import Problem
from linsep.numerics.integers import (
    independent_columns,
    integer_products,
    least_rank,
    null_space,
    scaled_integers,
    to_integers,
)
from linsep.proofs.margins import margin_above, margin_below, sqrt_down, sqrt_up
from linsep.rows.exact import dependency, positive_combination, reflected, spans, vanishes
from linsep.rows.signs import row_signs

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SMALL = st.integers(-3, 3).map(float)
blocks = arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=FLOATS)
small_blocks = arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=SMALL)


def fractions(block):
    return [[Fraction(v) for v in row] for row in np.asarray(block, dtype=float).tolist()]


@given(blocks)
def test_to_integers_is_exact(block):
    table, shift = to_integers(block)
    for i, row in enumerate(fractions(block)):
        for j, value in enumerate(row):
            assert int(table[i, j]) * Fraction(2) ** int(shift[j]) == value


@given(st.lists(st.fractions(), min_size=1, max_size=6))
def test_scaled_integers_is_exact(values):
    numbers, scale = scaled_integers(values)
    assert scale > 0
    assert [n * scale for n in numbers] == values


@settings(deadline=None)
@given(blocks, st.data())
def test_integer_products_are_exact(block, data):
    vectors = data.draw(
        st.lists(
            st.lists(
                st.integers(-(10**20), 10**20), min_size=block.shape[1], max_size=block.shape[1]
            ),
            min_size=1,
            max_size=3,
        )
    )
    values, low = integer_products(block, vectors)
    for i, row in enumerate(fractions(block)):
        for j, vector in enumerate(vectors):
            true = sum(a * b for a, b in zip(row, vector))
            assert int(values[i, j]) * Fraction(2) ** low == true


@settings(deadline=None)
@given(small_blocks)
def test_null_space_is_orthogonal_and_complete(block):
    vectors = null_space(block)
    rank = np.linalg.matrix_rank(block)
    assert len(vectors) == block.shape[1] - rank
    assert least_rank(block) == rank == len(independent_columns(block.astype(np.int64)))
    for vector in vectors:
        assert all(sum(a * b for a, b in zip(row, vector)) == 0 for row in fractions(block))
    if len(vectors):
        assert np.linalg.matrix_rank(np.array(vectors, dtype=float)) == len(vectors)


@settings(deadline=None)
@given(blocks)
def test_null_space_of_any_floats_is_orthogonal(block):
    for vector in null_space(block):
        assert any(vector)
        assert all(sum(a * b for a, b in zip(row, vector)) == 0 for row in fractions(block))


@settings(deadline=None)
@given(small_blocks)
def test_dependency_is_a_dependency(block):
    multipliers = dependency(block)
    if multipliers is None:
        return
    assert sum(multipliers) == 1 and min(multipliers) > 0
    assert vanishes(block, multipliers)
    for column in zip(*fractions(block)):
        assert sum(m * v for m, v in zip(multipliers, column)) == 0


def test_dependency_of_known_rows():
    xor = np.array([[-1.0, -1, 0, 0], [-1, -1, -1, -1], [1, 1, 0, 1], [1, 1, 1, 0]])[:, 1:]
    assert dependency(xor) == [Fraction(1, 4)] * 4
    assert dependency(np.zeros((1, 2))) == [Fraction(1)]
    assert dependency(np.array([[1.0, 0.0], [0.0, 1.0]])) is None
    assert dependency(np.array([[1.0], [2.0]])) is None


def test_positive_combination_solves_and_refuses():
    base, support = np.array([[1.0, 0.0]]), np.array([[-1.0, 1.0], [-1.0, -1.0]])
    assert positive_combination(base, [2], support) == [Fraction(1), Fraction(1)]
    assert positive_combination(base, [2], -support) is None
    assert positive_combination(base, [2], np.array([[-1.0, 1.0]])) is None
    more = np.array([[-1.0, 1.0], [-1.0, -1.0], [-2.0, 0.0]])  # than columns: they depend
    assert positive_combination(base, [2], more) is None


def naive_signs(problem, coef, intercept):
    out = []
    for row, sign in zip(fractions(_dense(problem.matrix)), problem.sign.tolist()):
        value = sum(Fraction(w) * v for w, v in zip(coef, row)) + Fraction(intercept)
        out.append(int(sign) * ((value > 0) - (value < 0)))
    return out


def _dense(matrix):
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


@settings(deadline=None, max_examples=200)
@given(
    arrays(np.float64, (4, 3), elements=FLOATS),
    arrays(np.float64, (3,), elements=FLOATS),
    FLOATS,
    st.sampled_from(["dense", "csr", "float32"]),
)
def test_row_signs_of_any_floats(X, w, b, layout):
    if layout == "float32":
        with np.errstate(over="ignore"):
            X = X.astype(np.float32)
        X[~np.isfinite(X)] = 1.0
    data = sparse.csr_array(X) if layout == "csr" else X
    problem = Problem(data, [0, 1, 0, 1])
    assert row_signs(problem, w, b).tolist() == naive_signs(problem, w.tolist(), b)


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_row_signs_of_rows_on_the_plane_up_to_the_last_bit(layout):
    rng = np.random.default_rng(0)
    w = rng.standard_normal(20)
    X = rng.standard_normal((300, 20))
    X[:, -1] = -(X[:, :-1] @ w[:-1]) / w[-1]  # on the plane but for rounding
    X[:100] = np.round(X[:100] * 64) / 64
    data = X if layout == "dense" else sparse.csr_array(X)
    problem = Problem(data, np.arange(300) % 2)
    assert row_signs(problem, w, 0.0).tolist() == naive_signs(problem, w.tolist(), 0.0)


def test_row_signs_of_rational_weights():
    problem = Problem([[1.0, 3.0], [2.0, 6.0], [1.0, 2.0]], [0, 1, 1])
    coef = np.array([Fraction(1), Fraction(-1, 3)], dtype=object)
    assert row_signs(problem, coef, Fraction(0)).tolist() == [0, 0, 1]


def test_reflected_rows_of_three_classes_leave_the_last_block_out():
    problem = Problem([[2.0], [3.0], [5.0]], [0, 1, 2])
    assert reflected(problem, [0, 1, 2, 3, 4, 5]).tolist() == [
        [2, 1, -2, -1],
        [2, 1, 0, 0],
        [-3, -1, 3, 1],
        [0, 0, 3, 1],
        [-5, -1, 0, 0],
        [0, 0, -5, -1],
    ]


@given(st.fractions(min_value=0))
def test_roots_are_on_the_right_side(value):
    low, high = sqrt_down(value), sqrt_up(value)
    assert Fraction(low) ** 2 <= value <= Fraction(high) ** 2
    assert high - low <= 4e-16 * max(high, 1e-300)


def test_roots_of_numbers_beyond_floats():
    assert sqrt_up(Fraction(10) ** 700) == np.inf
    assert sqrt_down(Fraction(10) ** 700) == np.finfo(float).max


@settings(deadline=None)
@given(arrays(np.float64, (6, 2), elements=st.floats(-1e6, 1e6)), st.booleans())
def test_margin_bounds_hold(X, fit_intercept):
    X[:3, 0] = np.abs(X[:3, 0]) + 1.0
    X[3:, 0] = -np.abs(X[3:, 0]) - 1.0
    problem = Problem(X, [1, 1, 1, 0, 0, 0], fit_intercept=fit_intercept)
    low = margin_below(problem, np.array([1.0, 0.0]), 0.0)
    assert low == pytest.approx(np.abs(X[:, 0]).min())
    assert low <= np.abs(X[:, 0]).min()
    high = margin_above(problem, np.arange(6), np.ones(6))
    mean = X[:3].mean(axis=0) - X[3:].mean(axis=0)
    assert high == pytest.approx(np.linalg.norm(mean) / 2)
    assert high >= low


def test_spans_decides_by_directions_and_by_combinations():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (6, 300)).astype(float)
    X[3] = X[0] + X[1]
    X[4] = X[0] - 2 * X[1] + X[2]
    for data in (X, X[:, :5]):
        problem = Problem(data, [0, 1, 0, 1, 0, 1], fit_intercept=False)
        rows = np.arange(6)
        assert spans(problem, rows[:3], rows[:5])
        assert spans(problem, rows, rows)
    assert not spans(Problem(X, [0, 1, 0, 1, 0, 1], fit_intercept=False), rows[:3], rows)


def test_a_long_solve_is_announced_before_it_begins():
    class TimeUpError(Exception):
        pass

    def tick(ahead=0.0):
        if ahead > 0.1:
            raise TimeUpError

    random = np.random.default_rng(0)
    wide = random.standard_normal((401, 400))
    with pytest.raises(TimeUpError):
        dependency(wide, tick=tick)
    with pytest.raises(TimeUpError):
        positive_combination(wide[:1], [1], wide[1:], tick=tick)
    assert dependency(np.array([[1.0], [-1.0]]), tick=tick) == [Fraction(1, 2)] * 2
