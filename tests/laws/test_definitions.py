"""Every kernel has its textbook formula, which proofs hold its fast values against."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from flint import ctx
from tests.laws.test_kernels import KINDS, example

import linsep.kernels as kernels
from linsep.kernels import Kernel, gaussian, histograms, products

RNG = np.random.default_rng(7)
HOSTILE = {
    "usual": np.abs(RNG.normal(size=(12, 4))),
    "zeros": np.where(RNG.random((12, 4)) < 0.6, 0.0, RNG.random((12, 4))),
    "equal": np.repeat(np.abs(RNG.normal(size=(3, 4))), 4, axis=0),
    "scales": np.abs(RNG.normal(size=(12, 4))) * 10.0 ** np.array([-9, -3, 0, 2]),
    "tiny": np.where(RNG.random((12, 4)) < 0.3, 5e-324, np.abs(RNG.normal(size=(12, 4)))),
    "far": 1e3 + RNG.random((12, 4)),
    "wide": np.abs(RNG.normal(size=(12, 40))),
    "one": np.ones((12, 1)),
}
MORE = [
    kernels.PowerMean(-0.5),
    kernels.PowerMean(-1e-7),
    kernels.PowerMean(-40.0),
    kernels.PowerMean(0.0),
    kernels.Polynomial(2, 0.0).normalised(),
    kernels.Intersection() + 2 * kernels.Polynomial(3, gamma="scale"),
    kernels.ChiSquared() * kernels.RBF(sigma=2.0) + 1,
    kernels.Function(lambda x, z: float(x @ z) ** 2, of="rows"),
    kernels.Function(lambda X, Z: (X @ Z.T) ** 2, of="matrices"),
]
KERNELS: list[Kernel] = [*(k for k in map(example, KINDS) if not k.given), *MORE]


@pytest.mark.parametrize("rows", list(HOSTILE))
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_definition_of_a_kernel_is_what_its_blocks_and_balls_are(kernel, rows):
    X = HOSTILE[rows]
    kernel = kernel.resolve(X)
    prepared = kernel.rows(X)
    D = kernel.definition(X[:7], X)
    assert D.dtype == np.float64 and D.shape == (7, 12)
    root = np.sqrt(np.abs(kernel.diagonal(X)))
    room = 16 * kernel.error_bound(prepared) * np.outer(root[:7], root) + 1e-300
    block = kernel.block(prepared.take(np.arange(7)), prepared)
    assert (np.abs(block - D) <= room).all()
    before, ctx.prec = ctx.prec, 200
    try:
        for i, j in [(0, 0), (1, 2), (2, 1), (3, 11), (6, 9)]:
            ball = kernel.ball(X[i].tolist(), X[j].tolist())
            assert abs(float(ball.mid()) - D[i, j]) <= room[i, j]
    finally:
        ctx.prec = before


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_definition_takes_sparse_rows(kernel):
    X = HOSTILE["zeros"]
    kernel = kernel.resolve(X)
    if isinstance(kernel, kernels.Function) and kernel.of == "matrices":
        pytest.skip("what a function of matrices takes is the caller's affair")
    some = scipy.sparse.csr_array(X)
    sparse = kernel.definition(some[np.arange(5)], some)
    np.testing.assert_allclose(sparse, kernel.definition(X[:5], X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", [k for k in KINDS if not example(k).given])
def test_a_kernel_has_a_definition_of_its_own(kind):
    assert kind.definition is not Kernel.definition


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_definition_calls_nothing_that_is_fast(kernel, monkeypatch):
    """Neither blocks, nor tiles, nor what they are made of."""
    X = HOSTILE["usual"]
    kernel = kernel.resolve(X)
    right = kernel.definition(X, X)

    def refused(*args: Any, **options: Any) -> Any:
        raise AssertionError("a definition has asked for fast values")

    for kind in [*KINDS, kernels.Additive, kernels.Function]:
        for name in ("block", "tile", "powers", "_diagonal", "_values"):
            if name in vars(kind):
                monkeypatch.setattr(kind, name, refused)
    for home in (products, gaussian, histograms):
        monkeypatch.setattr(home, "inner_products", refused)
    monkeypatch.setattr(histograms, "power_means", refused)
    np.testing.assert_array_equal(kernel.definition(X, X), right)
