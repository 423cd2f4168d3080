"""Rows of two values as bits give the kernel that their numbers give."""

from __future__ import annotations

import numpy as np
import pytest

from linsep.kernels import RBF
from linsep.kernels import gaussian as jit
from linsep.kernels.blocks import signed_sums, weighted_sums
from linsep.kernels.rows import codes_of


def table(n, d, low=0.0, high=1.0, seed=0):
    return np.where(np.random.default_rng(seed).random((n, d)) < 0.3, high, low)


def distances_of(X, Z):
    return ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (0.25, 0.5), (-3.0, 0.0)])
@pytest.mark.parametrize("d", [1, 7, 63, 64, 65, 200])
def test_large_tiles_of_two_values_have_the_values_of_the_formula(low, high, d):
    X, Z = table(300, d, low, high), table(200, d, low, high, seed=1)
    X[0], Z[0] = low, high
    kernel = RBF(gamma=0.7 / d)
    rows = kernel.rows(X)
    kernel.prepare(rows)
    other = kernel.rows(Z, like=rows)
    kernel.prepare(other)
    assert rows.codes is not None and other.codes is not None
    truth = np.exp(-0.7 / d * distances_of(X, Z))
    np.testing.assert_allclose(kernel.block(rows, other), truth, rtol=1e-14)
    some = rows.take(np.arange(50, 250))
    np.testing.assert_array_equal(
        kernel.block(some, other.slice(10, 180)), kernel.block(rows, other)[50:250, 10:180]
    )
    short = kernel.rows(X, np.float32)
    assert np.abs(kernel.block(short, short) - np.exp(-0.7 / d * distances_of(X, X))).max() < 1e-6


def test_other_values_are_no_bits():
    X = table(100, 20)
    assert codes_of(X) is not None
    X[99, 19] = 0.5
    assert codes_of(X) is None  # the last entry of all
    assert codes_of(np.zeros((5, 3))) is None and codes_of(np.empty((0, 3))) is None
    kernel = RBF(gamma=0.1)
    rows = kernel.rows(table(200, 20))
    for new in (X, np.full((200, 20), 2.0), np.full((200, 20), 0.5)):
        other = kernel.rows(new, like=rows)
        assert other.codes is None
        truth = np.exp(-0.1 * distances_of(rows.matrix, new))
        np.testing.assert_allclose(kernel.block(rows, other), truth, rtol=1e-12)
    again = kernel.rows(np.ones((200, 20)), like=rows)  # one of the two values is enough
    assert again.codes is not None
    truth = np.exp(-0.1 * distances_of(rows.matrix, again.matrix))
    np.testing.assert_allclose(kernel.block(rows, again), truth, rtol=1e-14)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_by_sign_are_those_of_the_matrix(binary, dtype):
    rng = np.random.default_rng(3)
    X = table(1100, 30) if binary else rng.normal(size=(1100, 30))
    kernel, coef = RBF(gamma=0.05), rng.normal(size=700)
    coef[::7] = 0.0
    rows = kernel.rows(X, dtype)
    kernel.prepare(rows)
    A, B = rows, rows.slice(100, 800)
    K = np.exp(-0.05 * distances_of(X, X[100:800]))
    plus, minus = signed_sums(kernel, A, B, coef)
    tolerance = {"rtol": 1e-12 if dtype == np.float64 else 1e-5}
    np.testing.assert_allclose(plus, K @ np.maximum(coef, 0), **tolerance)
    np.testing.assert_allclose(minus, K @ np.maximum(-coef, 0), **tolerance)
    np.testing.assert_allclose(
        weighted_sums(kernel, A, B, coef[:, None])[:, 0], plus - minus, atol=1e-12
    )
    for one in (np.abs(coef), -np.abs(coef)):  # no row on one of the sides
        plus, minus = signed_sums(kernel, A, B, one)
        np.testing.assert_allclose(plus - minus, K @ one, **tolerance)


def test_compiled_routines_give_the_bits_of_python():
    rng = np.random.default_rng(0)
    many = {"size": 10**9, "work": 1}
    T = rng.random((37, 50)).astype(np.float32)
    coef = rng.normal(size=37).astype(np.float32)
    for cut in (0, 5, 16, 37):
        sums = [np.zeros((2, 50)) for _ in range(2)]
        part = np.empty(50, np.float32)
        jit.add_tile.python(T, coef, part, *sums[0], cut)
        jit.add_tile(T, coef, part, *sums[1], cut, **many)
        np.testing.assert_array_equal(*sums)
    one, two = -100 * T, -100 * T
    args = (np.zeros(37, np.float32), np.zeros(50, np.float32), *np.float32([1, -87, 0]))
    jit.exponents.python(one, *args)
    jit.exponents(two, *args, **many)
    np.testing.assert_array_equal(one, two)
    assert (np.exp(one)[T > 0.88] == 0).all() and (np.exp(one)[T < 0.86] > 0).all()
    A, B = (rng.integers(0, 2**63, shape).astype(np.uint64) for shape in ((9, 3), (3, 40)))
    values, outs = np.exp(-np.arange(193.0)), [np.empty((9, 40)) for _ in range(2)]
    count = np.empty(40, np.uint64)
    with np.errstate(over="ignore"):  # products of words wrap around, as they should
        jit.distances.python(A, B, values, outs[0], count)
    jit.distances(A, B, values, outs[1], count, **many)
    np.testing.assert_array_equal(*outs)
    bits = np.array([[bin(int(x)).count("1") for x in (a ^ B.T).ravel()] for a in A])
    np.testing.assert_array_equal(outs[0], values[bits.reshape(9, 40, 3).sum(axis=2)])
    totals = [np.zeros(40) for _ in range(2)]
    coef = rng.normal(size=9)
    with np.errstate(over="ignore"):
        jit.look_up.python(A, B, values, coef, totals[0], count)
    jit.look_up(A, B, values, coef, totals[1], count, **many)
    np.testing.assert_array_equal(*totals)
    G = np.zeros((60, 60), np.float32)
    jit.mirror(T[:20, :30], G, 3, 25, **many)
    np.testing.assert_array_equal(G[3:23, 25:55], T[:20, :30])
    np.testing.assert_array_equal(G[25:55, 3:23], T[:20, :30].T)
