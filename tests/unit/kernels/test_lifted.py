"""Gaussians in float32 by one product of rows with two more columns, and powers of two."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep.kernels import RBF
from linsep.kernels import gaussian as jit
from linsep.kernels.blocks import signed_sums
from linsep.kernels.rows import as_rows
from linsep.proofs.kernel import single_sums

MANY = {"size": 10**9, "work": 1}
U = 2.0**-24


def prepared(kernel, X, like=None):
    rows = kernel.rows(X, np.float32, like=like)
    kernel.prepare(rows)
    return rows


def true_values(kernel, A, B):
    squares = ((A.astype(np.longdouble)[:, None, :] - B.astype(np.longdouble)) ** 2).sum(axis=2)
    return np.exp(-kernel.rate * squares)


def test_powers_of_two_are_right_to_their_bound_and_never_denormal():
    z = -np.linspace(0, 124.9, 1_000_000).astype(np.float32).reshape(1000, 1000)
    T = z.copy()
    jit.gaussians(T, **MANY)
    assert (np.abs(T / np.exp2(z.astype(np.float64)) - 1) <= 4 * U).all()
    edge = np.float32([[0, 1e-6, 3, -124.999, -125, -126, -1e3, -np.inf]])
    jit.gaussians(edge, **MANY)
    assert edge[0, :3].tolist() == [1, 1, 1]
    assert (edge[0, 3:] >= np.finfo(np.float32).tiny).all() and (edge[0, 4:] <= 2.0**-124).all()


def test_compiled_sums_have_the_bits_of_python_and_of_values_that_are_kept():
    rng = np.random.default_rng(0)
    T = (-140 * rng.random((37, 50)) + 1).astype(np.float32)
    coef, kept = rng.normal(size=37).astype(np.float32), T.copy()
    slow = T.copy()
    jit.gaussians(kept, **MANY)
    jit.gaussians.python(slow)
    np.testing.assert_array_equal(kept, slow)
    for cut in (0, 5, 16, 37):
        part, sums = np.empty(50, np.float32), np.zeros((3, 2, 50))
        jit.add_gaussians(T.copy(), coef, part, *sums[0], cut, **MANY)  # it may write into T
        jit.add_gaussians.python(T.copy(), coef, part, *sums[1], cut)
        jit.add_tile(kept, coef, part, *sums[2], cut, **MANY)
        np.testing.assert_array_equal(sums[0], sums[1])
        np.testing.assert_array_equal(sums[0], sums[2])


@settings(max_examples=30)
@given(
    st.sampled_from([1e-12, 1e-3, 0.02, 1.0, 40.0]),
    st.sampled_from([1e-3, 1.0, 3.0, 50.0]),
    st.integers(1, 60),
    st.integers(0, 2**32 - 1),
)
def test_sums_are_within_their_bounds_whatever_the_scale(rate, scale, d, seed):
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(700, d)) * rng.choice([1.0, 0.0, -1.0], size=(700, 1))
    kernel = RBF(gamma=rate)
    B = prepared(kernel, X)
    A = prepared(kernel, X[::2] + scale * 1e-4, B)
    coef = rng.normal(size=(700, 1)) * 10.0 ** rng.integers(-8, 8)
    found = single_sums(kernel, A, B, coef)
    if found is None:
        return
    assert B.lifted(rate) is not None or B.codes is not None or B.origin is not None
    exact = true_values(kernel, X[::2] + scale * 1e-4, X) @ coef
    assert (np.abs(found[0] - exact) <= found[1]).all()


@pytest.mark.parametrize("few", [1, 40, 255, 256, 300])
@pytest.mark.parametrize("order", ["mixed", "negative first", "positive first", "negative only"])
def test_sums_by_sign_of_few_rows_and_of_runs_of_signs(few, order):
    rng = np.random.default_rng(3)
    X, coef = rng.normal(size=(1300, 7)), rng.normal(size=1300)
    if order != "mixed":
        coef = {"negative first": np.sort(coef), "positive first": -np.sort(coef)}.get(
            order, -np.abs(coef)
        )
    kernel = RBF(gamma=0.1)
    for dtype, close in ((np.float32, 2e-6), (np.float64, 1e-13)):
        B = kernel.rows(X, dtype)
        kernel.prepare(B)
        plus, minus = signed_sums(kernel, B.slice(0, few), B, coef)
        K = true_values(kernel, X[:few], X)
        for got, sizes in ((plus, np.maximum(coef, 0)), (minus, np.maximum(-coef, 0))):
            np.testing.assert_allclose(got, (K @ sizes).astype(float), rtol=close, atol=1e-12)


def test_rows_taken_out_keep_their_columns_and_tiles_are_those_of_the_formula():
    rng = np.random.default_rng(5)
    X, kernel = rng.normal(size=(900, 20)) + 30, RBF(gamma=0.05)  # far from zero: rows are moved
    rows = prepared(kernel, X)
    some = rng.permutation(900)[:300]
    T = kernel.block(rows.take(some), rows.slice(100, 400))
    np.testing.assert_allclose(T, true_values(kernel, X[some], X[100:400]), atol=2e-6)
    assert rows.take(some).lifted(0.05) is not None and rows.lifted(0.06) is None
    other = RBF(gamma=0.06)  # columns for another rate are of no use
    T = other.block(rows.take(some), rows.slice(100, 400))
    np.testing.assert_allclose(T, true_values(other, X[some], X[100:400]), atol=2e-6)


def test_rows_that_no_product_resolves_are_not_lifted():
    kernel = RBF(gamma=1.0)
    for X in (np.full((50, 3), 1e3) * np.arange(50)[:, None], np.ones((50, 400)) * 0.1):
        rows = as_rows(X.astype(np.float32), np.float32)
        kernel.prepare(rows)
        assert rows.lifted(1.0) is None
