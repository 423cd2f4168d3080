"""What solvers and proofs have in common is what plain loops give.

Every kernel has its textbook formula, which proofs hold its fast values against; rows as exact
numbers, their signs, ranks and sums are those of loops over Fractions.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from flint import ctx
from tests.laws.test_kernels import KINDS, example

import linsep.kernels as kernels
from linsep.core.problem import Problem
from linsep.kernels import Kernel, gaussian, histograms, products
from linsep.numerics import integers
from linsep.rows.exact import dependency, positive_combination, reflected, spans, vanishes
from linsep.rows.signs import exact_values, float_bounds, row_signs

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
    np.testing.assert_allclose(kernel.own_values(X[:7]), np.diagonal(D), rtol=1e-12, atol=1e-300)
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
    np.testing.assert_allclose(kernel.own_values(some), kernel.own_values(X), rtol=1e-12)
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


# -- exact numbers of rows, which verdicts are found and judged with ------------------------------
#
# By plain loops over Fractions, which share no code with rows/exact, rows/signs or
# numerics/integers.

BLOCKS = {
    "whole": RNG.integers(-4, 5, size=(7, 4)).astype(float),
    "floats": RNG.normal(size=(7, 4)),
    "scales": RNG.normal(size=(7, 4)) * 10.0 ** np.array([-200, -20, 0, 150]),
    "tiny": np.where(RNG.random((7, 4)) < 0.4, 5e-324, RNG.integers(-3, 4, size=(7, 4))),
    "huge": RNG.integers(-9, 10, size=(7, 4)) * 2.0**60 + RNG.integers(0, 2, size=(7, 4)),
    "low rank": RNG.integers(-3, 4, size=(7, 2)).astype(float)
    @ RNG.integers(-3, 4, size=(2, 4)).astype(float),
    "zeros": np.zeros((3, 4)),
    "columns of zeros": np.array([[0.0, 1.0, 0, 0.1], [0.0, 0.3, 0, 7.0], [0.0, -3.0, 0, 2.5]]),
}


def fractions(block: Any) -> list[list[Fraction]]:
    return [[Fraction(v) for v in row] for row in np.asarray(block).tolist()]


def times(block: list[list[Fraction]], vector: Any) -> list[Fraction]:
    return [sum((x * Fraction(v) for x, v in zip(row, vector)), Fraction(0)) for row in block]


def rank_of(block: list[list[Fraction]]) -> int:
    """Gauss, by the textbook."""
    rows, rank = [list(row) for row in block], 0
    for j in range(len(rows[0]) if rows else 0):
        at = next((i for i in range(rank, len(rows)) if rows[i][j] != 0), None)
        if at is None:
            continue
        rows[rank], rows[at] = rows[at], rows[rank]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][j] / rows[rank][j]
            rows[i] = [x - factor * p for x, p in zip(rows[i], rows[rank])]
        rank += 1
    return rank


@pytest.mark.parametrize("name", list(BLOCKS))
def test_floats_as_integers_are_the_same_numbers(name):
    block = BLOCKS[name]
    table, shift = integers.to_integers(block)
    back = [[int(t) * Fraction(2) ** int(s) for t, s in zip(row, shift)] for row in table.tolist()]
    assert back == fractions(block)
    for row in block:
        numbers, scale = integers.scaled_integers(row)
        assert scale > 0
        assert [n * scale for n in numbers] == fractions([row])[0]
        assert math.gcd(*numbers) in (0, 1)


@pytest.mark.parametrize("size", [3, 2**40, 2**90])
@pytest.mark.parametrize("name", list(BLOCKS))
def test_products_of_rows_with_integers_and_fractions_are_exact(name, size):
    block, rng = BLOCKS[name], random.Random(size)
    vectors = [[rng.randint(-size, size) for _ in range(4)] for _ in range(2)]
    found, low = integers.integer_products(block, vectors)
    for k, vector in enumerate(vectors):
        told = [int(v) * Fraction(2) ** low for v in found[:, k]]
        assert told == times(fractions(block), vector)
    weights = [Fraction(rng.randint(-size, size), rng.randint(1, size)) for _ in range(4)]
    assert exact_values(block, weights) == times(fractions(block), weights)


@pytest.mark.parametrize("name", list(BLOCKS))
def test_ranks_and_null_spaces_are_those_of_gauss(name):
    block = BLOCKS[name]
    rank = rank_of(fractions(block))
    assert integers.least_rank(block) == rank
    basis = integers.null_space(block)
    assert len(basis) == 4 - rank
    vectors = [[Fraction(int(v)) for v in vector] for vector in basis.tolist()]
    assert rank_of(vectors) == len(vectors)
    assert not any(any(times(fractions(block), vector)) for vector in vectors)
    columns = integers.independent_columns(integers.to_integers(block).table)
    assert len(columns) == rank == rank_of(fractions(block[:, columns]))


@pytest.mark.parametrize("name", list(BLOCKS))
def test_rows_that_cancel_cancel_in_fractions(name):
    block = BLOCKS[name][:3]
    closed = np.vstack([block, -block.sum(axis=0)])
    exact = fractions(closed)
    true = not any(sum(column) for column in zip(*exact))  # unless the sum was rounded
    assert vanishes(closed, [Fraction(1, 3)] * 4) is true
    off = [Fraction(1, 3)] * 3 + [Fraction(1, 3) + Fraction(1, 10**30)]
    assert vanishes(closed, off) is (true and not any(exact[-1]))
    found = dependency(closed)
    if found is not None:
        assert min(found) > 0 and sum(found) == 1
        assert not any(times([list(c) for c in zip(*exact)], found))
        assert rank_of(exact) == 3
    elif true:
        assert rank_of(exact) < 3
    rest = positive_combination(closed[:1], [1], closed[1:])
    if rest is not None:
        assert min(rest) > 0
        assert not any(times([list(c) for c in zip(*exact)], [1, *rest]))


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("K", [2, 3, 4])
@pytest.mark.parametrize("name", ["whole", "floats", "scales", "tiny", "low rank"])
def test_signs_and_spans_of_reflected_rows_are_those_of_their_definition(name, K, free):
    X, y = BLOCKS[name], np.arange(7) % K
    rng = np.random.default_rng(K)
    for given in (X, scipy.sparse.csr_array(X)):
        problem = Problem(given, y, fit_intercept=free)
        plain = []  # a row for each rival: x, 1 in the block of its class, -x, -1 in the rival's
        for x, own in zip(fractions(X), y.tolist()):
            z = [*x, *([Fraction(1)] if free else [])]
            for rival in (r for r in range(K) if r != own):
                blocks = [[Fraction(0)] * len(z) for _ in range(K)]
                blocks[own], blocks[rival] = z, [-v for v in z]
                plain.append([v for block in blocks[: K - 1] for v in block])
        if K == 2:  # the second class is the positive one
            plain = [[-v for v in row] for row in plain]
        rows = np.arange(problem.n_rows)
        assert fractions(reflected(problem, rows)) == plain
        W = rng.integers(-2, 3, size=(1 if K == 2 else K, 4)).astype(float)
        b = rng.integers(-1, 2, size=len(W)).astype(float) * free
        flat = [*W[0].tolist(), *([b[0]] if free else [])]
        if K > 2:
            last = [*W[-1].tolist(), *([b[-1]] if free else [])]
            every = [[*w.tolist(), *([c] if free else [])] for w, c in zip(W, b)]
            flat = [p - q for w in every[:-1] for p, q in zip(w, last)]
        signs = [(v > 0) - (v < 0) for v in times(plain, flat)]
        assert row_signs(problem, W if K > 2 else W[0], b if K > 2 else b[0]).tolist() == signs
        values, room = float_bounds(problem, W if K > 2 else W[0], b if K > 2 else b[0])
        for told, most, true in zip(values.tolist(), room.tolist(), times(plain, flat)):
            assert abs(Fraction(told) - true) <= Fraction(most)
        few = rows[: rng.integers(1, 4)]
        span = rank_of([plain[i] for i in few])
        assert spans(problem, few, rows) is (span == rank_of(plain))
