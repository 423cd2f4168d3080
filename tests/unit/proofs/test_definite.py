"""Gram matrices that somebody gives: positive semidefinite by proof, by assumption, or not.

The proofs are checked in fractions: a symmetric matrix is positive semidefinite if elimination
meets no negative pivot, and a zero one with zeros beside it only.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics.pairwise import rbf_kernel

import linsep
from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.errors import DataError, GapWarning, NotPositiveWarning, ProofError, SettingError
from linsep.kernels import Function, Precomputed
from linsep.kernels.spec import from_sklearn
from linsep.proofs import definite as home
from linsep.proofs.definite import definite
from linsep.proofs.kernel import Overlap


def fractions(K, shift=0.0):
    A = [[Fraction(float(k)) for k in row] for row in K]
    for i in range(len(A)):
        A[i][i] += Fraction(shift)
    return A


def positive(A):
    """Exactly: whether A has no negative eigenvalue."""
    A = [row[:] for row in A]
    n = len(A)
    for k in range(n):
        if A[k][k] < 0 or (A[k][k] == 0 and any(A[i][k] for i in range(k, n))):
            return False
        for i in range(k + 1, n):
            if A[i][k]:
                factor = A[i][k] / A[k][k]
                for j in range(k, n):
                    A[i][j] -= factor * A[k][j]
    return True


def hostile(seed):
    """A Gram matrix of few rows that is singular, badly scaled, or bent a little or a lot."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 11)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-6, 7, size=(1, d))
    if rng.random() < 0.3:
        X = np.round(X)
    if rng.random() < 0.3:
        X[rng.integers(n)] = X[0]
    K = X @ X.T
    if rng.random() < 0.3:
        K = np.exp(-K.diagonal()[:, None] - K.diagonal() + 2 * K)
    K = (K + K.T) / 2
    i, j = rng.integers(n, size=2)
    bent = rng.choice([0.0, 1e-16, 1e-13, 1e-11, 1e-9, 1e-6, 0.1, 2.0]) * rng.choice([-1, 1])
    K[i, j] += bent * np.sqrt(abs(K[i, i] * K[j, j]))
    K[j, i] = K[i, j]
    return K, np.where(np.arange(n) % 2, 1.0, -1.0)


@pytest.mark.parametrize("seed", range(120))
def test_a_factor_proves_what_fractions_find(seed):
    K, y = hostile(seed)
    known = definite(Problem(K, y), None)
    assert known.proved
    if known.convex:
        assert positive(fractions(K, known.shift))
        assert known.shift <= 1e-9 * len(K) * np.abs(K).max()
    else:
        assert not positive(fractions(K))


def machine(K, y, C, alpha, b, shift):
    """The exact objective of a machine with the matrix K + shift."""
    A, a = fractions(K, shift), [Fraction(float(v)) for v in alpha]
    signs = [int(s) for s in y]
    f = [sum(A[i][j] * a[j] * signs[j] for j in range(len(a))) for i in range(len(a))]
    square = sum(a[i] * signs[i] * f[i] for i in range(len(a)))
    short = (1 - signs[i] * (f[i] + Fraction(float(b))) for i in range(len(a)))
    return square / 2 + Fraction(float(C)) * sum(max(Fraction(0), s) for s in short)


@pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e4, 1e12])
@pytest.mark.parametrize("seed", range(15))
def test_no_model_is_below_the_bound(seed, C):
    K, y = hostile(200 + seed)
    model = linsep.KernelSVM(C=C, kernel="precomputed").fit(K, y)
    gap, rng = model.certificate_, np.random.default_rng(seed)
    if not gap.convex:
        assert gap.lower_bound == -np.inf and not positive(fractions(K))
        return
    assert gap.proved and model.status_ is not Status.ASSUMED
    own = np.zeros(len(y))
    own[model.support_] = np.abs(model.dual_coef_[0])
    assert machine(K, y, C, own, model.intercept_[0], gap.shift) <= Fraction(gap.objective)
    low = Fraction(gap.lower_bound)
    for b in (0.0, 1.0, -1.0):
        assert low <= machine(K, y, C, 0 * own, b, gap.shift)
    for scale in (0.5, 1.0, 2.0, 1e3):
        other = own * scale * rng.uniform(0.5, 1.5, len(y)) + rng.normal(size=len(y))
        assert low <= machine(K, y, C, other, rng.normal(), gap.shift)


def test_one_bad_entry_beyond_any_sample_is_found():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(700, 6))
    K = X @ X.T
    y = np.where(X[:, 0] + rng.normal(size=700) > 0, 1, -1)
    good = linsep.KernelSVM(kernel="precomputed").fit(K, y)
    assert good.status_ is Status.CERTIFIED and 0 < good.certificate_.shift < 1e-6
    i, j = 471, 33
    K[i, j] = K[j, i] = 1.3 * np.sqrt(K[i, i] * K[j, j])
    with pytest.warns(NotPositiveWarning):
        bad = linsep.KernelSVM(kernel="precomputed").fit(K, y)
    assert bad.status_ is not Status.CERTIFIED and bad.certificate_.lower_bound == -np.inf
    assert "no model has less" not in str(bad.certificate_)
    v = np.zeros(700)
    v[[i, j]] = 1 / np.sqrt(K[i, i]), -1 / np.sqrt(K[j, j])
    assert v @ K @ v < 0
    with pytest.raises(SettingError, match="C=inf needs a positive semidefinite kernel"):
        linsep.KernelSVM(C=np.inf, kernel="precomputed").fit(K, y)


@pytest.mark.filterwarnings("ignore::linsep.errors.GapWarning")
def test_a_bound_is_never_above_the_machine_of_zeros():
    for bent in (5e-11, 3e-12, 1e-15):
        K, y, C = np.array([[1.0, 1.0 + bent], [1.0 + bent, 1.0]]), np.array([-1, 1]), 1e12
        model = linsep.KernelSVM(C=C, kernel="precomputed").fit(K, y)
        gap = model.certificate_
        assert gap.lower_bound <= 2 * C and gap.shift >= bent * (1 - 1e-9)
        assert "on the diagonal" in gap.words
        again = linsep.certify(model, K, y)
        assert again == gap


def test_large_matrices_are_assumed_to_be_positive_and_it_is_said(monkeypatch):
    monkeypatch.setattr(home, "GIVEN_FACTORED", 50)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 3))
    K, y = X @ X.T, np.where(X[:, 0] + 0.5 * rng.normal(size=90) > 0, 1, -1)
    monkeypatch.setattr(home, "_SAMPLE", 20)
    model = linsep.KernelSVM(kernel="precomputed").fit(K, y)
    gap = model.certificate_
    assert model.status_ is Status.ASSUMED and model.status_.ok
    assert not gap.proved and gap.relative_gap < 1e-3
    assert "if the kernel is positive semidefinite no model has less than" in str(gap)
    assert "assumed" in model.summary() and "proved" not in model.summary().split("rule")[1]
    # alpha itself tells where the assumption is wrong
    used = model.support_[:2]
    K[np.ix_(used, used)] = [[1.0, 1e4], [1e4, 1.0]] if y[used[0]] != y[used[1]] else -1e4
    sample = np.sort(np.random.default_rng(0).permutation(90)[:20])
    if not np.isin(used, sample).all():
        told = linsep.certify(model, K, y)
        assert told.lower_bound == -np.inf and not told.convex


def test_the_symmetric_part_is_meant_where_the_last_digits_differ():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 3))
    K, y = X @ X.T + np.eye(30), np.where(X[:, 0] > 0, 1, -1)
    assert definite(Problem(K, y), None).shift == 0.0  # far from singular: nothing is added
    K[3, 4] *= 1 + 1e-12
    model = linsep.KernelSVM(kernel="precomputed").fit(K, y)
    assert model.status_ is Status.CERTIFIED and "symmetric part" in model.certificate_.words
    assert linsep.certify(model, K, y) == model.certificate_
    K[3, 4] += 0.1
    with pytest.raises(DataError, match=r"not symmetric: K\[3, 4\]"):
        linsep.KernelSVM(kernel="precomputed").fit(K, y)


@pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e5])
@pytest.mark.parametrize("size", [1e-16, 1e-12, 1e-8, 3e-7])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold_for_the_symmetric_part_in_fractions(seed, size, C):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 3 + 5 * (seed % 2)))
    K = X @ X.T + 0.0
    K += size * rng.uniform(-1, 1, K.shape) * np.abs(K).max()
    y = np.where(X[:, 0] + 0.4 * rng.normal(size=14) > 0, 1, -1)
    S = [[(Fraction(float(K[i, j])) + Fraction(float(K[j, i]))) / 2 for j in range(14)]
         for i in range(14)]  # fmt: skip
    model = linsep.KernelSVM(C=C, kernel="precomputed").fit(K, y)
    gap = model.certificate_
    if not gap.convex:
        assert not positive(S)
        return
    assert gap.proved
    for i in range(14):
        S[i][i] += Fraction(gap.shift)
    assert positive(S)
    own = np.zeros(14)
    own[model.support_] = np.abs(model.dual_coef_[0])

    def objective(alpha, b):
        a = [Fraction(float(v)) * int(s) for v, s in zip(alpha, y)]
        f = [sum(S[i][j] * a[j] for j in range(14)) for i in range(14)]
        short = (1 - int(y[i]) * (f[i] + Fraction(float(b))) for i in range(14))
        square = sum(a[i] * f[i] for i in range(14))
        return square / 2 + Fraction(float(C)) * sum(max(Fraction(0), s) for s in short)

    b = model.intercept_[0]
    assert Fraction(gap.lower_bound) <= objective(own, b) <= Fraction(gap.objective)
    for scale in (0.0, 0.5, 0.999, 1.001):
        other = own * scale * rng.uniform(0.999, 1.001, 14)
        assert Fraction(gap.lower_bound) <= objective(other, b)


def test_a_matrix_of_a_product_is_certified_and_float32_says_what_is_the_matter():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(150, 5))
    y = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=150) > 0.7
    K = rbf_kernel(X)
    K[2, 7] = np.nextafter(K[2, 7], 2.0)  # as on machines where products are made in other orders
    model = linsep.KernelSVM(kernel="precomputed").fit(K, y)
    assert model.status_ is Status.CERTIFIED and model.certificate_.relative_gap < 1e-8
    short = (X @ X.T).astype(np.float32)
    with pytest.warns(GapWarning, match="Compute them in float64") as caught:
        linsep.KernelSVM(C=100.0, kernel="precomputed").fit(short, y)
    assert "scale the columns" not in str(caught[0].message)


def test_kernels_of_the_library_are_by_construction_and_functions_by_a_factor():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] > 0, 1, -1)
    for kernel in (linsep.kernels.RBF(gamma=0.3), linsep.kernels.Linear()):
        assert definite(Problem(X, y), kernel) == definite(Problem(X, y), linsep.kernels.Linear())
    asked = definite(Problem(X, y), Function(lambda x, z: (x @ z + 1.0) ** 2, of="rows"))
    assert asked.convex and 0 < asked.shift < 1e-6
    tanh = from_sklearn("sigmoid", gamma=0.5, coef0=0.0, degree=3)
    assert not definite(Problem(X, y), tanh).convex
    for matrix in (X @ X.T, scipy.sparse.csr_array(X @ X.T), (X @ X.T).astype(np.float32)):
        known = definite(Problem(matrix, y), None)
        assert known.convex and known.proved and 0 < known.shift < 1e-2


def test_an_overlap_of_a_given_matrix_needs_no_eigenvalues():
    """v'Kv = 0 says nothing of a matrix with eigenvalues of both signs; Kv = 0 does."""
    y = np.array([-1, 1])
    proof = Overlap((0, 1), (Fraction(1), Fraction(1)), Precomputed())
    assert proof.check(np.ones((2, 2)), y)
    with pytest.raises(ProofError, match="different points"):
        proof.check(np.array([[1.0, 0.0], [0.0, -1.0]]), y)
