"""separability(kernel=): verdicts on images, held against planes of explicit features."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import linsep
from linsep.errors import DataError, ProofError, SettingError
from linsep.kernels import RBF, Intersection, Linear, Polynomial, Sigmoid

XOR = linsep.data.load("xor")


def monomials(X, degree):
    """All products of up to ``degree`` columns: a plane of these is one of Polynomial(degree)."""
    X = np.asarray(X, dtype=float)
    columns = [
        np.prod(X[:, list(some)], axis=1)
        for size in range(1, degree + 1)
        for some in combinations_with_replacement(range(X.shape[1]), size)
    ]
    return np.column_stack(columns)


def by_fractions(kernel, X, proof):
    """y f(x) of every row in fractions, from the numbers of a proof alone."""
    exact = [[Fraction(float(v)) for v in row] for row in np.asarray(X)]
    values = []
    for x in exact:
        total = Fraction(float(proof.intercept))
        for j, c in zip(proof.support.tolist(), proof.dual_coef.tolist()):
            total += Fraction(c) * kernel(x, exact[j])
        values.append(total)
    return values


def test_xor_with_squares_has_the_alphas_of_the_lecture():
    proof = linsep.separability(XOR.X, XOR.y, kernel=Polynomial(2))
    assert proof.separable and proof.exact and proof.quasi is False
    assert np.allclose(np.abs(proof.dual_coef), 1 / 8, atol=1e-12)
    low, high = proof.margin
    assert low <= 2**0.5 <= high <= low * (1 + 1e-8)  # 1 / |w|, w = -1 / root 2 on x1 x2
    values = by_fractions(lambda x, z: (sum(a * b for a, b in zip(x, z)) + 1) ** 2, XOR.X, proof)
    assert all((v > 0) == (k == XOR.y.max()) for v, k in zip(values, XOR.y))
    assert proof.check(XOR.X, XOR.y)
    assert "in the feature space of Polynomial(degree=2)" in str(proof)


def test_xor_with_the_linear_kernel_is_one_point_of_four_rows():
    proof = linsep.separability(XOR.X, XOR.y, kernel="linear")
    assert proof.separable is False and proof.margin == (0.0, 0.0)
    assert proof.multipliers == (Fraction(1, 4),) * 4
    signs = np.where(XOR.y == XOR.y.max(), 1, -1)
    total = sum(
        m * int(signs[i]) * np.array([Fraction(float(v)) for v in [*XOR.X[i], 1.0]])
        for i, m in zip(proof.rows.tolist(), proof.multipliers)
    )
    assert not total.any()
    assert proof.check(XOR.X, XOR.y)


def test_a_circle_needs_squares():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 2))
    y = (X**2).sum(axis=1) > 1.3
    assert linsep.separability(X, y, kernel="linear").separable is False
    proof = linsep.separability(X, y, kernel=Polynomial(2))
    assert proof.separable and proof.check(X, y)
    hard = linsep.KernelSVM(C=np.inf, kernel=Polynomial(2)).fit(X, y)
    assert proof.margin[0] <= hard.certificate_.margin * (1 + 1e-6)
    assert hard.certificate_.margin <= proof.margin[1]


tables = st.integers(0, 10**6).map(np.random.default_rng)


@settings(max_examples=40, deadline=None)
@given(tables, st.integers(1, 3), st.booleans(), st.integers(2, 3))
def test_the_verdict_is_that_of_explicit_features(rng, degree, free, K):
    """Whole numbers: duplicates, zero rows, contradicting labels and few rows are common."""
    n, d = int(rng.integers(2, 14)), int(rng.integers(1, 4))
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    y = rng.integers(0, K, size=n)
    y[:2] = [0, 1]
    K_poly = Polynomial(degree, coef0=1.0)
    rows = monomials(X, degree)
    if not free:  # the constant is a feature then
        rows = np.column_stack([rows, np.ones(n)])
    truth = linsep.separability(rows, y, fit_intercept=free).separable
    proof = linsep.separability(X, y, kernel=K_poly, fit_intercept=free)
    assert proof.separable is truth
    assert proof.check(X, y)
    again = linsep.Proof.from_json(proof.to_json())
    assert again.check(X, y) and str(again) == str(proof)


@settings(max_examples=25, deadline=None)
@given(tables, st.booleans(), st.integers(2, 4))
def test_a_gaussian_separates_distinct_rows_only(rng, free, K):
    n, d = int(rng.integers(2, 20)), int(rng.integers(1, 3))
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    y = rng.integers(0, K, size=n)
    y[:2] = [0, 1]
    gamma = 10.0 ** rng.integers(-9, 3)
    seen = {}
    clash = any(seen.setdefault(tuple(row), k) != k for row, k in zip(X.tolist(), y.tolist()))
    proof = linsep.separability(X, y, kernel=RBF(gamma=gamma), fit_intercept=free)
    assert proof.separable is not clash
    assert proof.check(X, y)
    if clash:
        assert len(proof.rows) == 2 and proof.multipliers == (Fraction(1, 2),) * 2


def test_a_wide_gaussian_separates_though_float64_finds_no_sum():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 1))
    y = rng.integers(0, 2, 40)
    proof = linsep.separability(X, y, kernel=RBF(gamma=1e-6))
    assert proof.separable and not len(proof.support) and proof.margin[0] == 0.0
    assert "any labels of distinct rows" in str(proof)
    assert "strictly positive definite" in proof.explain()
    assert proof.check(X, y)
    for kernel in (RBF(gamma=1e-6) + Linear(), 2.0 * RBF(gamma=1e-6), RBF(gamma=1e-6).normalised()):
        assert linsep.separability(X, y, kernel=kernel).separable


def test_a_kernel_without_fractions_says_how_large_a_margin_can_be():
    X = np.array([[1.0, 1.0], [1.0, 3.0], [3.0, 1.0], [3.0, 3.0]])
    y = [0, 1, 1, 0]
    proof = linsep.separability(X, y, kernel="hellinger")  # XOR of roots: no plane
    assert proof.separable is None and 0 < proof.margin[1] < 1e-6
    assert "undecided" in str(proof) and proof.check(X, y)


def test_a_gram_matrix_may_be_given():
    X = XOR.X
    K = Polynomial(2).gram(X)
    proof = linsep.separability(K, XOR.y, kernel="precomputed")
    assert proof.separable and proof.check(K, XOR.y)
    low, high = proof.margin
    assert low <= 2**0.5 <= high
    flat = linsep.separability(Linear().gram(X), XOR.y, kernel="precomputed")
    assert flat.separable is False and flat.check(Linear().gram(X), XOR.y)
    with pytest.raises(DataError, match="4 x 2"):
        linsep.separability(X, XOR.y, kernel="precomputed")


def test_a_kernel_without_feature_space_has_no_margin():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.arange(12) % 2
    proof = linsep.separability(X, y, kernel=Sigmoid(1.0, 0.5))
    assert proof.separable and proof.margin == (0.0, np.inf)
    assert proof.check(X, y)


def test_functions_sparse_rows_and_histograms():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, size=(15, 4)).astype(float)
    y = np.arange(15) % 3
    for kernel in (Intersection(), "chi2", lambda x, z: (x @ z + 1.0) ** 3):
        proof = linsep.separability(X, y, kernel=kernel)
        assert proof.check(X, y)
    sparse = scipy.sparse.csr_array(X)
    assert linsep.separability(sparse, y, kernel=Polynomial(2)).check(sparse, y)


def test_three_classes_that_pairs_do_not_refute():
    # every two of them separate; no machine has all three, with the linear kernel
    X = np.array([[-3.0], [-1.0], [0.0], [1.0], [3.0]])
    y = [0, 1, 2, 1, 0]
    proof = linsep.separability(X, y, kernel="linear")
    assert proof.separable is linsep.separability(X, y).separable is False
    assert proof.rivals is not None and proof.check(X, y)
    two = linsep.separability(X, y, kernel=Polynomial(4))
    assert two.separable and two.dual_coef.shape[0] == 3 and two.check(X, y)


def tampered(proof):
    yield replace(proof, separable=not proof.separable)
    yield replace(proof, kernel=Polynomial(3))
    if proof.separable:
        yield replace(proof, dual_coef=-proof.dual_coef)
        yield replace(proof, intercept=proof.intercept + 9.0)
        yield replace(proof, margin=(proof.margin[0] * 1.01, proof.margin[1] * 2))
        yield replace(proof, margin=(0.0, proof.margin[1] * 0.9))
        yield replace(proof, support=np.zeros(0, np.int64), dual_coef=np.zeros(0))
        yield replace(proof, support=proof.support[[0, 0, 1, 2]])
        yield replace(proof, coef=np.ones(2))
    else:
        yield replace(proof, multipliers=(Fraction(1, 8), Fraction(3, 8), *[Fraction(1, 4)] * 2))
        yield replace(proof, multipliers=(Fraction(1, 8),) * 4)
        yield replace(proof, rows=proof.rows[[0, 1, 2, 2]])
        yield replace(proof, margin=(0.0, 1.0))


@pytest.mark.parametrize("kernel", [Polynomial(2), Polynomial(1)])
def test_a_forged_proof_is_refused(kernel):
    proof = linsep.separability(XOR.X, XOR.y, kernel=kernel)
    assert proof.check(XOR.X, XOR.y)
    for other in tampered(proof):
        with pytest.raises(ProofError):
            other.check(XOR.X, XOR.y)
    with pytest.raises(ProofError, match="other data"):
        proof.check(XOR.X + 1.0, XOR.y)
    stored = json.loads(proof.to_json())
    for bad in ({"type": "Evil"}, 3, {"type": "Polynomial", "degree": -2}):
        with pytest.raises(ProofError):
            linsep.Proof.from_dict({**stored, "kernel": bad})


def test_settings_that_make_no_sense():
    with pytest.raises(SettingError, match="exact=False"):
        linsep.separability(XOR.X, XOR.y, kernel="rbf", exact=False)
    with pytest.raises(SettingError, match="kernel is 'nope'"):
        linsep.separability(XOR.X, XOR.y, kernel="nope")
    with pytest.raises(DataError, match="NaN"):
        linsep.separability([[np.nan], [1.0]], [0, 1], kernel="rbf")
    assert linsep.separability(XOR.X, XOR.y, kernel="rbf", time_limit=0.0).separable is None
