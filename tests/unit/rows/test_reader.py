"""One pass over rows against plain loops: losses, slopes, combinations, curvature."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from linsep.core.costs import COMPILED
from linsep.losses.hinge import HINGE, SQUARED_HINGE
from linsep.losses.logistic import LOGISTIC
from linsep.rows import hinge
from linsep.rows.hinge import RowSet
from linsep.rows.logistic import LogisticRows


def table(n, d, sparse, dtype=np.float64):
    rng = np.random.default_rng(n + d)
    X = (rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)).astype(dtype)
    sign = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    cost = rng.uniform(0.5, 2.0, n)
    a = 0.3 * rng.standard_normal(d + 1)
    return X, (scipy.sparse.csr_matrix(X) if sparse else X), sign, cost, a


def plain(X, sign, cost, a, slope, curvature):
    """Row by row, in Python: sum of cost z y x, of cost z y, and of curvatures."""
    d = X.shape[1]
    v, balance, H = np.zeros(d), 0.0, np.zeros((d + 1, d + 1))
    for x, y, c in zip(X.astype(np.float64), sign, cost):
        m = y * (float(x @ a[:-1]) + a[-1])
        one = np.append(x, 1.0)
        v += c * slope(m) * y * x
        balance += c * slope(m) * y
        H += c * curvature(m) * np.outer(one, one)
    return v, balance, H


SHAPES = [(50, 3), (9000, 13)]  # numpy by blocks, and one compiled call a lane


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("loss", "h"), [(HINGE, 0.4), (SQUARED_HINGE, 0.0)])
def test_quadratic_losses(shape, sparse, loss, h):
    X, given, sign, cost, a = table(*shape, sparse)
    rows = RowSet(given, sign, cost, loss)
    assert (rows.X is None) == (X.size < COMPILED)
    found = rows.read(a, h, np.zeros(0), offset=True, threads=2)
    u = 1.0 - sign * (X @ a[:-1] + a[-1])
    np.testing.assert_allclose(found.u, u, atol=1e-12)
    v, balance, H = plain(
        X, sign, cost, a,
        lambda m: float(loss.rounded_slope(np.array([1.0 - m]), h)[0]),
        lambda m: float(abs(1.0 - m) < h if h else m < 1.0),
    )  # fmt: skip
    np.testing.assert_allclose(found.v, v, rtol=1e-9, atol=1e-9)
    assert found.sums[hinge.PLUS] - found.sums[hinge.MINUS] == pytest.approx(balance)
    assert found.sums[hinge.LOSS] == pytest.approx(float(cost @ loss.value(u)))
    np.testing.assert_allclose(np.triu(found.curvature), np.triu(H), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("wide", [None, False, True])
def test_logistic_losses(shape, sparse, wide):
    dtype = np.float64 if wide is None else np.float32
    X, given, sign, cost, a = table(*shape, sparse, dtype)
    rows = LogisticRows(given, sign, cost, double=bool(wide))
    found = rows.read(a, offset=True, curved=True, threads=2)
    close = 1e-9 if wide is not False else 2e-4
    m = sign * (X.astype(np.float64) @ a[:-1] + a[-1])
    np.testing.assert_allclose(found.m, m, atol=close)
    v, balance, H = plain(
        X, sign, cost, a, lambda m: 1 / (1 + np.exp(m)), lambda m: 1 / (2 + 2 * np.cosh(m))
    )
    np.testing.assert_allclose(found.v, np.append(v, balance), rtol=close, atol=100 * close)
    assert found.loss == pytest.approx(float(cost @ LOGISTIC.value(-m)), rel=close)
    np.testing.assert_allclose(found.curvature, H, rtol=close, atol=100 * close)
