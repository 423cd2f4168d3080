"""Errors of kernel values: kernels that are not positive semidefinite have bounds of their own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from linsep.core.problem import Problem
from linsep.kernels import Sigmoid
from linsep.kernels.blocks import KernelValues
from linsep.proofs.kernel import Definite, criterion, entry_error, kernel_gap, roots


def cancelling(seed, n=40):
    """A Gram matrix with a diagonal of zeros, and dual variables whose sums nearly cancel."""
    rng = np.random.default_rng(seed)
    half = np.triu(rng.normal(size=(n // 2, n // 2)), 1)
    K = np.kron(half + half.T, np.ones((2, 2)))
    y = np.tile([-1.0, 1.0], n // 2)
    alpha = np.repeat(1e6 * rng.random(n // 2), 2) * (1 + 1e-10 * rng.random(n))
    return KernelValues(Problem(K, y), None), K, y, alpha


@pytest.mark.parametrize("seed", range(8))
def test_the_objective_of_an_indefinite_kernel_is_no_less_than_the_exact_one(seed):
    values, K, y, alpha = cancelling(seed)
    exact = [[Fraction(v) for v in row] for row in K.tolist()]
    signed = [Fraction(v) for v in (alpha * y).tolist()]
    s = [sum(a * k for a, k in zip(signed, row)) for row in exact]
    losses = [max(Fraction(0), 1 - Fraction(t) * v) for t, v in zip(y.tolist(), s)]
    true = sum(a * v for a, v in zip(signed, s)) / 2 + sum(losses)
    cost = np.ones(len(y))
    found = kernel_gap(values, np.arange(len(y)), y, cost, alpha, 0.0, known=Definite(convex=False))
    assert Fraction(found.objective) >= true
    wrong = sum(max(Fraction(0), -Fraction(t) * v) for t, v in zip(y.tolist(), s))
    assert Fraction(criterion(values, y, cost, alpha, 0.0)[0].objective) >= wrong


def test_values_of_an_indefinite_kernel_are_within_the_roots():
    values, K, _, alpha = cancelling(0)
    ids = np.arange(len(K))
    assert not roots(values, ids, ids, convex=True).any()
    root = roots(values, ids, np.flatnonzero(alpha), convex=False)
    assert (np.abs(K) <= root[:, None] * root * (1 + 1e-15)).all()


def test_tanh_of_products_that_cancel_is_off_by_no_more_than_stated():
    rng = np.random.default_rng(0)
    A = 1e7 * rng.normal(size=(30, 6))
    X = np.vstack([np.hstack([A, A]), np.hstack([A, -A * (1 + 1e-15)])])  # x.z is about 0
    values = KernelValues(Problem(X, np.tile([0, 1], 30)), Sigmoid(k=1.0, c=0.1))
    exact = [[Fraction(v) for v in row] for row in X.tolist()]
    true = np.array([[float(sum(a * b for a, b in zip(x, z))) for z in exact] for x in exact])
    off = np.abs(values.block(slice(0, 60), slice(0, 60)) - np.tanh(true + 0.1)).max()
    assert 1e-3 < off <= entry_error(values)
