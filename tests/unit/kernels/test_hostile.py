"""Hostile numbers: a finite answer that is right in shape and sign, or a clear error."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from linsep.core.compile import Routine
from linsep.errors import DataError
from linsep.kernels import (
    RBF,
    ChiSquared,
    Hellinger,
    Intersection,
    Linear,
    Polynomial,
    PowerMean,
    Sigmoid,
    histograms,
)

KERNELS = [
    Linear(), Polynomial(2), Polynomial(3, 0.0), RBF(gamma=0.5), RBF(sigma=1e150),
    RBF(sigma=1e-150), RBF(), Sigmoid(), Intersection(), ChiSquared(), Hellinger(),
    PowerMean(-0.3), PowerMean(-40.0), RBF(gamma=1.0) + 2 * Intersection(),
    Linear() * RBF(gamma=3.0),
]  # fmt: skip

ENTRIES = st.sampled_from(
    [0.0, 1.0, 2.0, 0.1, 3.5, 1e-300, 5e-324, 1e-8, 1e8, 1e8 + 1, 1e154, 1e300, 1.7e308]
)
MATRICES = st.tuples(st.integers(1, 6), st.integers(1, 4)).flatmap(
    lambda shape: arrays(float, shape, elements=ENTRIES)
)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@given(X=MATRICES, sparse=st.booleans(), signs=st.booleans())
@settings(max_examples=40, deadline=None)
def test_finite_and_positive_or_refused(kernel, X, sparse, signs):
    if signs and not kernel.nonnegative:
        X = X * np.where(np.indices(X.shape).sum(axis=0) % 2, -1, 1)
    rows = sp.csr_matrix(X) if sparse else X
    try:
        G = kernel.gram(rows)
    except DataError as error:
        refused = "too large for float64; scale X" in str(error) and np.abs(X).max() > 1e50
        assert refused, error  # noqa: PT017  both ends are right, for other data
        return
    assert np.isfinite(G).all() and np.array_equal(G, G.T)
    np.testing.assert_allclose(np.diag(G), kernel.diagonal(rows), rtol=1e-12)
    scale = float(np.abs(G).max())
    if kernel.positive and scale > 0:
        # Every Mercer kernel keeps Cauchy and Schwarz's inequality, and v'Kv >= 0.
        root = np.sqrt(np.abs(np.diag(G)))
        assert (np.abs(G) <= root[:, None] * root * (1 + 1e-9) + 1e-150 * scale).all()
        assert np.linalg.eigvalsh(G / scale)[0] > -1e-9
    same = (X[:, None] == X[None]).all(axis=2)
    for i, j in np.argwhere(same):  # equal rows have equal similarities
        np.testing.assert_allclose(G[i], G[j], rtol=1e-9, atol=1e-12 * scale)


@given(X=MATRICES)
@settings(max_examples=40, deadline=None)
def test_means_lie_between_the_numbers(X):
    top = np.minimum(X[:, None], X[None]).max(axis=2)
    low, rest = Intersection(), [PowerMean(-40.0), PowerMean(-3.0), ChiSquared(), PowerMean(-0.2)]
    try:
        grams = [k.gram(X) for k in (low, *rest, Hellinger())]
    except DataError:
        return
    assert (grams[0] >= top * (1 - 1e-12)).all()
    for smaller, larger in pairwise(grams):  # means grow with the exponent
        assert (smaller <= larger * (1 + 1e-9) + 1e-300).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_integers_booleans_and_single_rows(kernel):
    X = np.array([[0, 1, 1], [1, 1, 0]])
    want = kernel.gram(X.astype(float))
    for form in (X, X.astype(bool), X.astype(np.uint8), X.tolist(), X.astype(np.float32)):
        np.testing.assert_allclose(kernel.gram(form), want, rtol=1e-12)
    assert kernel.gram(X[:1]).shape == (1, 1)
    assert kernel.resolve(X).gram(X[:1], X).shape == (1, 2)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_python_and_machine_code_agree_in_every_bit(kind, monkeypatch):
    rng = np.random.default_rng(1)
    X = (rng.random((9, 7)) * 10.0 ** rng.integers(-40, 30, (9, 7))).astype(kind)
    X[rng.random(X.shape) < 0.3] = 0
    for kernel, routine in (
        (Intersection(), histograms.intersections),
        (ChiSquared(), histograms.harmonic_means),
    ):
        grams = []
        for paid in (True, False):
            monkeypatch.setattr(Routine, "_pays", lambda *_, paid=paid: paid)
            monkeypatch.setattr(routine, "_ready", {})
            grams.append(kernel.gram(X, dtype=kind))
        assert np.array_equal(*grams)
