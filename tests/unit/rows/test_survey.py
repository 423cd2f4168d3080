"""One pass that measures the data and finds what cannot be worked with."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from linsep.core.problem import Problem
from linsep.rows.loops import dense_squares
from linsep.rows.reader import survey

KINDS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "CSR": scipy.sparse.csr_array,
}


def problem_of(X, kind="C", dtype=np.float64):
    y = np.arange(len(X)) % 2
    return Problem(KINDS[kind](np.asarray(X, dtype=dtype)), y, check_finite=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lengths_of_rows_and_columns(kind, dtype):
    X = np.random.default_rng(0).normal(size=(5000, 7)) * 10.0 ** np.arange(-3, 4)
    X = X.astype(dtype)
    found = survey(problem_of(X, kind, dtype))
    wide = X.astype(np.float64)
    assert found.usable
    np.testing.assert_allclose(found.rows, (wide**2).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(found.columns, (wide**2).sum(axis=0), rtol=found.slack)
    assert (found.column_lengths() >= np.linalg.norm(wide, axis=0)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_numbers_that_cannot_be_worked_with(kind, bad):
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[17, 1] = bad
    assert not survey(problem_of(X, kind)).usable


def test_squares_that_leave_float32_are_taken_in_float64():
    for scale in (1e-30, 1e30):
        X = (np.random.default_rng(0).normal(size=(40, 3)) * scale).astype(np.float32)
        found = survey(problem_of(X, dtype=np.float32))
        assert found.usable
        np.testing.assert_allclose(found.columns, (X.astype(float) ** 2).sum(axis=0), rtol=1e-9)


def test_it_is_made_once():
    problem = problem_of(np.eye(4))
    assert survey(problem) is survey(problem)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(203, 54), (70, 8), (31, 7), (6, 20), (3, 1)])
def test_squares_of_dense_rows_have_the_same_bits_as_python(kind, shape):
    X = (1e3 * np.random.default_rng(0).normal(size=shape)).astype(kind)
    rows, columns = np.zeros((2, shape[0])), np.zeros((2, shape[1]))
    dense_squares.python(X, 1, shape[0], 16, rows[0], columns[0])
    dense_squares(X, 1, shape[0], 16, rows[1], columns[1], size=10**6, work=1)
    assert np.array_equal(rows[0], rows[1]) and np.array_equal(columns[0], columns[1])
    squares = X[1:].astype(np.float64) ** 2
    np.testing.assert_allclose(rows[0, 1:], squares.sum(axis=1), rtol=1e-14)
    np.testing.assert_allclose(columns[0], squares.sum(axis=0), rtol=1e-13)
