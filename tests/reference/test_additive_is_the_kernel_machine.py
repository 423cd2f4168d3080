"""AdditiveSVM against KernelSVM, SVC and sums in many digits, for all kinds of power means."""

from __future__ import annotations

import warnings
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

import linsep
from linsep.errors import GapWarning
from linsep.kernels import PowerMean

POWERS = [0.0, -1.0, -np.inf, -0.5, -3.0, -50.0, -1e-4]


def mean(x, z, p):
    """The power mean in 60 digits."""
    x, z = Decimal(float(x)), Decimal(float(z))
    if x == 0 or z == 0:
        return Decimal(0)
    if np.isneginf(p):
        return min(x, z)
    if p == 0:
        return (x * z).sqrt()
    p = Decimal(p)
    return ((x**p + z**p) / 2) ** (1 / p)


def bounds_of(model, X, sign, C):
    """Objective of the functions h_k and value of the dual variables, in 60 digits."""
    with localcontext(prec=60):
        function, p = model.function_, model.function_.power
        feature = np.repeat(np.arange(function.d), np.diff(function.start))
        slots = [
            (int(k), v, Decimal(float(c)))
            for k, v, c in zip(feature, function.values, function.coef[:, 0])
        ]

        def h(k, x):
            return sum((c * mean(x, v, p) for j, v, c in slots if j == k), Decimal(0))

        squared = sum((c * h(k, v) for k, v, c in slots), Decimal(0))
        b = Decimal(float(model.intercept_[0]))
        scores = [sum((h(k, x) for k, x in enumerate(row)), b) for row in X]
        losses = [max(Decimal(0), 1 - int(s) * f) for s, f in zip(sign, scores)]
        primal = squared / 2 + Decimal(C) * sum(losses)
        # y alpha, balanced exactly: the heavier class is scaled down, which stays in the box
        beta = [Fraction(0)] * len(sign)
        for i, value in zip(model.support_.tolist(), model.dual_coef_[0].tolist()):
            size = min(abs(Fraction(value)), Fraction(C))
            beta[i] = size if value > 0 else -size
        plus, minus = sum(v for v in beta if v > 0), -sum(v for v in beta if v < 0)
        if min(plus, minus) == 0:
            return primal, Decimal(0)
        least = min(plus, minus)
        beta = [v * least / (plus if v > 0 else minus) for v in beta]
        exact = [Decimal(v.numerator) / v.denominator for v in beta]
        used = [i for i, v in enumerate(exact) if v]
        quad = sum(
            exact[i] * exact[j] * sum(mean(a, c, p) for a, c in zip(X[i], X[j]))
            for i in used
            for j in used
        )
        return primal, sum(abs(v) for v in exact) - quad / 2


hostile = st.sampled_from([0.0, 1.0, 2.0, 3.0, 1e-300, 5e-324, 1e-9, 0.1, 1e9, 1e30, 7.5])


@settings(max_examples=40, deadline=None)
@given(data=st.data(), p=st.sampled_from(POWERS), C=st.sampled_from([1e-3, 1.0, 50.0]))
def test_the_proof_holds_in_many_digits(data, p, C):
    """Whatever the status: the objective is no larger, the bound is reached, and they enclose."""
    n, d = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 2))
    X = np.array(data.draw(st.lists(st.lists(hostile, min_size=d, max_size=d), min_size=n,
                                    max_size=n)))  # fmt: skip
    y = np.arange(n) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        model = linsep.AdditiveSVM(p, C=C, max_iter=40).fit(X, y)
    gap = model.certificate_
    primal, dual = bounds_of(model, X, np.where(y == 1, 1, -1), C)
    assert float(primal) <= gap.objective
    assert gap.lower_bound <= max(float(dual), 0.0) * (1 + 1e-15)
    assert gap.lower_bound <= float(primal)


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("C", [0.05, 3.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_machine_is_that_of_the_kernel(p, C, seed):
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.0, 1.0, (45, 4))
    X[rng.random(X.shape) < 0.2] = 0.0
    X[40:] = X[:5]  # equal rows, some with the other label
    y = (X[:, 0] + 0.5 * rng.standard_normal(45) > X[:, 1]).astype(int)
    y[40:43] = 1 - y[:3]
    tol = 1e-6
    model = linsep.AdditiveSVM(p, C=C, tol=tol).fit(X, y)
    kernel = linsep.KernelSVM(C, kernel=PowerMean(p), tol=tol).fit(X, y)
    K = PowerMean(p).gram(X)
    peer = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y)
    sign = np.where(y == 1, 1, -1)
    score = peer.decision_function(K)
    beta = np.zeros(45)
    beta[peer.support_] = peer.dual_coef_[0]
    best = 0.5 * beta @ K @ beta + C * np.maximum(0, 1 - sign * score).sum()
    for gap in (model.certificate_, kernel.certificate_):
        assert gap.lower_bound <= best * (1 + 1e-9)
        assert gap.objective <= best * (1 + 1.1 * tol)
    # two machines within a gap of the best are close: |w - w*|^2 / 2 <= gap
    far = np.sqrt(2 * 3 * tol * best) * np.sqrt(K.diagonal().max())
    off = model.decision_function(X) - score
    assert np.ptp(off) <= 2 * far
