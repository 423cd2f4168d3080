"""One pass that measures the data and finds what cannot be worked with."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from linsep.certify.survey import survey
from linsep.core import Problem

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
