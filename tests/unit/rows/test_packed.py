"""Sparse rows in few bytes, and Newton systems over some rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import linsep
from linsep.core.layouts import CSR, Marks
from linsep.core.problem import Problem
from linsep.numerics.conjugate import conjugate_gradients
from linsep.rows import loops as products
from linsep.rows.packed import may_round, packed
from linsep.solvers.row_system import RowSystem, factored


def sparse(n=4000, d=120, ones=False, dtype=np.float64, scale=1.0):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(n, d, density=0.25, format="csr", rng=rng, dtype=dtype)
    X.data[:] = 1.0 if ones else scale * (X.data + 0.5)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1, -1)
    return X, y


def unpacked(X, shape):
    data = np.ones(len(X.indices)) if isinstance(X, Marks) else X.data
    return scipy.sparse.csr_matrix((data, X.indices.astype(np.int32), X.indptr), shape=shape)


@pytest.mark.parametrize("ones", [True, False])
@pytest.mark.parametrize("narrow", [True, False])
def test_the_same_rows_in_fewer_bytes(ones, narrow):
    X, y = sparse(ones=ones)
    kept = packed(Problem(X, y), narrow=narrow)
    assert isinstance(kept, Marks if ones else CSR)
    assert kept.indices.dtype == np.uint16
    tolerance = 1e-7 if narrow and not ones else 0.0
    np.testing.assert_allclose(unpacked(kept, X.shape).toarray(), X.toarray(), rtol=tolerance)


def test_entries_that_float32_cannot_hold_stay():
    X, y = sparse(scale=1e-20)
    assert packed(Problem(X, y), narrow=True).data.dtype == np.float64
    assert not may_round(Problem(*sparse()), 1e6, 1e-3)
    assert not may_round(Problem(*sparse()), 1.0, 1e-6)


def test_small_and_dense_rows_are_left_alone():
    X, y = sparse(n=100)
    assert packed(Problem(X, y)).indices.dtype == np.uint32
    dense = Problem(X.toarray(), y)
    assert packed(dense) is dense.rows.X


@pytest.mark.parametrize("compiled", [True, False])
def test_rows_of_ones_give_the_same_bits(compiled):
    X, _ = sparse(n=60, ones=True)
    w, out = np.random.default_rng(1).normal(size=X.shape[1]), np.empty((2, 60))
    forms = (CSR(X.data, X.indices, X.indptr), Marks(X.indices.astype(np.uint16), X.indptr))
    for form, own in zip(forms, out):
        products.scores(form, w, 0, 60, own, size=10**6 if compiled else 1, work=1)
    assert np.array_equal(out[0], out[1])


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("ones", [True, False])
def test_a_factored_system_is_the_operator_and_its_inverse(offset, ones):
    X, y = sparse(ones=ones)
    problem = Problem(X, y, fit_intercept=offset)
    rng = np.random.default_rng(2)
    free = np.sort(rng.choice(problem.n, 900, replace=False))
    system = RowSystem(problem, rng.uniform(0.1, 2.0, problem.n), free, None)
    r = rng.normal(size=problem.d + 1)
    r[-1] *= offset
    x, _ = factored(system, r)
    back = np.empty_like(x)
    value = system.product(x, back)
    np.testing.assert_allclose(back, r, atol=1e-9)
    assert value == pytest.approx(float(x @ back))
    slow, _ = conjugate_gradients(system, r, 1e-10, most=2000)
    np.testing.assert_allclose(slow, x, atol=1e-7)


def test_sparse_tables_of_few_columns_are_certified_for_any_C():
    X, y = sparse(ones=True)
    for C in (1e-4, 1.0, 1e4):
        model = linsep.LinearSVM(C=C, fit_intercept=False, solver="proximal-newton").fit(X, y)
        assert model.status_.name == "CERTIFIED"
        assert model.certificate_.relative_gap <= 1e-3
