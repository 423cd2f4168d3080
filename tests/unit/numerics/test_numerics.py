"""Solving, searching and correcting, against numpy, scipy and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse.linalg

from linsep.numerics.cholesky import Factor, inverse_roots, solved, triangle
from linsep.numerics.conjugate import conjugate_gradients
from linsep.numerics.lbfgs import solved_with_pairs
from linsep.numerics.line import Bracket, minimum


def matrix(d, seed=0, scale=1.0):
    B = np.random.default_rng(seed).standard_normal((3 * d, d))
    B *= np.logspace(0.0, scale, d)
    return B.T @ B + np.eye(d)


# -- line ---------------------------------------------------------------------------------------


def logistic_slopes(m, step):
    def slopes(t):
        q = 1.0 / (1.0 + np.exp(m + t * step))
        return 0.05 * t - float(q @ step), 0.05 + float((q * (1 - q)) @ (step * step))

    return slopes


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("start", [1e-3, 0.5, 1.0, 40.0])
def test_minimum_agrees_with_brentq(seed, start):
    rng = np.random.default_rng(seed)
    m, step = rng.standard_normal(30), rng.standard_normal(30) + 0.5
    slopes = logistic_slopes(m, step)
    high = 1.0
    while slopes(high)[0] < 0:
        high *= 2
    want = scipy.optimize.brentq(lambda t: slopes(t)[0], 0.0, high, xtol=1e-14)
    assert minimum(slopes, start, near=1e-12) == pytest.approx(want, rel=1e-9)
    assert minimum(slopes, start, near=0.01, cut=0.1) == pytest.approx(want, rel=1e-3)


def test_minimum_of_a_corner_is_found_by_cutting():
    """A slope that jumps, of which Newton's method knows nothing."""
    found = minimum(lambda t: (-1.0 if t < 0.3 else 1.0, 0.0), near=1e-9, steps=200)
    assert found == pytest.approx(0.3, abs=1e-8)


def test_minimum_at_a_vanishing_slope_stays():
    assert minimum(lambda t: (t - 1.0, 1.0)) == 1.0


def test_minimum_in_a_short_bracket_ends_early():
    seen = []

    def slopes(t):
        seen.append(t)
        return (-1.0 if t < 0.7 else 1.0), 0.0

    t = minimum(slopes, 0.5, high=1.0, near=0.0, narrow=0.5)
    assert len(seen) == 2
    assert 0.5 < t < 1.0


@pytest.mark.parametrize("root", [-1e6, -3.0, -1e-9, 0.5, 77.0, 1e9])
def test_bracket_without_ends_finds_any_root(root):
    bracket, t = Bracket(-np.inf, np.inf, unit=1.0), 0.0
    for _ in range(200):
        t = bracket.after(t, np.arctan(t - root), 0.0)  # no bend: the signs alone
    assert t == pytest.approx(root, rel=1e-12, abs=1e-12)


# -- Cholesky -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_factor_solves_whatever_the_scale_and_reads_one_triangle(lower, turned):
    H, q = matrix(12, scale=9.0), np.arange(12.0)
    half = np.tril(H) if lower else np.triu(H)
    scale = inverse_roots(H.diagonal())
    factor = Factor.of(half.copy(), scale, (1e-15,), lower=lower, turned=turned)
    assert factor is not None
    x = factor.solve(q)
    D = np.diag(scale)
    want = D @ np.linalg.solve(D @ H @ D, D @ q)
    np.testing.assert_allclose(x / scale, want / scale, rtol=1e-6)


def test_triangle_is_that_of_numpy_in_both_widths():
    H = matrix(7)
    scale = inverse_roots(H.diagonal())
    H = H * scale[:, None] * scale
    want = np.linalg.cholesky(H)
    np.testing.assert_allclose(triangle(H.copy(), (0.0,), lower=True), want, rtol=1e-12)
    short = triangle(H.astype(np.float32), (0.0,), lower=True)
    assert short.dtype == np.float32
    np.testing.assert_allclose(short, want, rtol=1e-4, atol=1e-5)


def test_triangle_takes_the_first_damping_that_will_do():
    H = np.array([[1.0, -2.0], [-2.0, 1.0]])
    found = triangle(H.copy(), (0.0, 0.5, 1.5, 10.0), lower=True)
    np.testing.assert_allclose(found @ found.T, [[2.5, -2.0], [-2.0, 2.5]])
    assert triangle(H.copy(), (0.0, 0.5)) is None


def test_solved_leaves_columns_without_entries_and_shares_dependent_ones():
    H = np.zeros((3, 3))
    H[:2, :2] = 4.0
    x = solved(H, np.array([4.0, 4.0, 5.0]))
    np.testing.assert_allclose(x, [0.5, 0.5, 0.0], rtol=1e-6)
    assert H[0, 0] == 4.0  # as it was


# -- L-BFGS -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rescale", [False, True])
def test_pairs_give_the_inverse_that_bfgs_writes_down(rescale):
    rng, d = np.random.default_rng(1), 6
    H, A = matrix(d, 2), np.diag(np.arange(1.0, d + 1))
    steps = rng.standard_normal((3, d))
    pairs = [(s, H @ s) for s in steps]
    inverse = np.linalg.inv(A)
    if rescale:
        s, y = pairs[-1]
        inverse *= (s @ y) / (y @ inverse @ y)
    for s, y in pairs:  # BFGS, the inverse as a matrix
        V = np.eye(d) - np.outer(y, s) / (s @ y)
        inverse = V.T @ inverse @ V + np.outer(s, s) / (s @ y)
    q = rng.standard_normal(d)
    found = solved_with_pairs(q, pairs, lambda r: np.linalg.solve(A, r), rescale=rescale)
    np.testing.assert_allclose(found, inverse @ q, rtol=1e-10)
    s, y = pairs[-1]  # the last pair holds
    np.testing.assert_allclose(
        solved_with_pairs(y, pairs, lambda r: np.linalg.solve(A, r), rescale=rescale), s, rtol=1e-9
    )


def test_no_pairs_leave_the_system_and_the_argument_alone():
    q = np.array([2.0, 4.0])
    assert solved_with_pairs(q, [], lambda r: r / 2).tolist() == [1.0, 2.0]
    assert q.tolist() == [2.0, 4.0]


# -- conjugate gradients ------------------------------------------------------------------------


class Dense:
    """A matrix written down, scaled by its diagonal; the last column is empty."""

    size, share = 100, 0.5

    def __init__(self, H):
        self.H = H

    def product(self, p, out):
        out[:] = self.H @ p
        return float(p @ out)

    def scaling(self):
        diagonal = self.H.diagonal()
        return np.where(diagonal > 0, 1.0 / np.where(diagonal > 0, diagonal, 1.0), 0.0), None


def test_conjugate_gradients_agree_with_scipy():
    H = np.zeros((10, 10))
    H[:9, :9] = matrix(9, scale=2.0)
    r = np.arange(10.0)
    x, work = conjugate_gradients(Dense(H), r, 1e-12)
    want = scipy.linalg.solve(H[:9, :9], r[:9], assume_a="pos")
    np.testing.assert_allclose(x[:9], want, rtol=1e-8)
    assert x[9] == 0.0
    assert work <= 0.5 * 20


def test_conjugate_gradients_stop_at_what_is_enough():
    H, r = matrix(30, scale=1.0), np.ones(30)
    rough, little = conjugate_gradients(Dense(H), r, 1e-14, enough=1e-2)
    fine, more = conjugate_gradients(Dense(H), r, 1e-14)
    assert little < more
    assert float(np.sum((r - H @ rough) ** 2)) <= 1.1e-2
    assert float(np.sum((r - H @ fine) ** 2)) <= 1e-16
