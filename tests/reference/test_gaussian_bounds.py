"""Bounds of Gaussian likelihoods against exact second moments and balls of 400 bits."""

from __future__ import annotations

import warnings
from fractions import Fraction

import flint
import numpy as np
import pytest

import linsep
from linsep.errors import DegenerateWarning


def rational(v):
    f = Fraction(float(v))
    return flint.fmpq(f.numerator, f.denominator)


def moments(rows, weights, centre):
    """Exact weighted second moments about a centre."""
    total, d = sum(weights, flint.fmpq(0)), len(centre)
    apart = [[x - c for x, c in zip(row, centre)] for row in rows]
    return [
        sum((w * r[u] * r[v] for w, r in zip(weights, apart)), flint.fmpq(0)) / total
        for u in range(d)
        for v in range(d)
    ]


def exact(model, X, y, s):
    """The objective at the parameters of a full covariance, and the least one."""
    d, parts = X.shape[1], [flint.arb(0), flint.arb(0)]
    log_2pi = (2 * flint.arb.pi()).log()
    ridge = [rational(v) for v in model.ridge_]
    for k, c in enumerate(model.classes_):
        rows = [[rational(v) for v in row] for row in X[y == c]]
        w = [rational(v) for v in s[y == c]]
        total = sum(w, flint.fmpq(0))
        mean = [sum((a * r[j] for a, r in zip(w, rows)), flint.fmpq(0)) / total for j in range(d)]
        here = moments(rows, w, [rational(v) for v in model.means_[k]])
        best = moments(rows, w, mean)
        for j in range(d):
            here[j * d + j] += ridge[j]
            best[j * d + j] += ridge[j]
        C = flint.fmpq_mat(d, d, [rational(v) for v in model.covariance_[k].ravel()])
        share = C.solve(flint.fmpq_mat(d, d, here))
        trace = sum((share[j, j] for j in range(d)), flint.fmpq(0))
        least = flint.fmpq_mat(d, d, best).det()
        half = flint.arb(total) / 2
        parts[0] += half * (flint.arb(C.det()).log() + flint.arb(trace) + d * log_2pi)
        parts[1] += half * (flint.arb(least).log() + d + d * log_2pi)
    return parts


@pytest.mark.parametrize("seed", range(24))
def test_bounds_hold_in_real_arithmetic(seed):
    rng = np.random.default_rng(seed)
    n, d = 40, 1 + seed % 3
    X = rng.standard_normal((n, d))
    X = [
        X,
        X * 10.0 ** rng.integers(-8, 9, d),
        X + 10.0 ** rng.integers(0, 10, d),
        X[:, :1] + 1e-5 * X,  # columns that nearly depend on each other
    ][seed % 4]
    y, s = rng.integers(0, 2, n), 10.0 ** rng.uniform(-3, 3, n)
    with flint.ctx.workprec(400), warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        model = linsep.GaussianClassifier("full").fit(X, y, sample_weight=s)
        objective, least = exact(model, X, y, s)
        assert flint.arb(model.certificate_.objective) >= objective
        assert flint.arb(model.certificate_.lower_bound) <= least
    assert model.certificate_.relative_gap < (0.1 if seed % 4 == 3 else 1e-9)
