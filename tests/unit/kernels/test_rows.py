"""Rows of Gram matrices that are made when they are asked for, by blocks of columns."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from linsep import KernelSVM
from linsep.core.problem import Problem
from linsep.kernels import RBF
from linsep.kernels.blocks import KernelValues, weighted_sums
from linsep.kernels.rows import groups_of
from linsep.solvers.kernel.gram import LazyRows

N = 600


def rows_of(edges=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    values = KernelValues(Problem(X, np.where(rng.random(N) < 0.5, 1, -1)), RBF(gamma=0.3))
    lazy = LazyRows(values, np.arange(N), np.full(N * N, -1.0), N, edges)
    return lazy, values.block(np.arange(N), np.arange(N))


def test_rows_that_are_asked_for_are_there_and_few_of_the_others():
    lazy, K = rows_of()
    wish = np.zeros(N)
    wish[[7, 9]] = 1.0
    lazy.make_ready(np.arange(N), np.array([5, 3]), (0,), lambda: wish)
    assert np.flatnonzero(lazy.ready[:, 0]).tolist() == [3, 5, 7, 9]
    assert np.allclose(lazy.G[lazy.slot[[3, 5, 7, 9]]], K[[3, 5, 7, 9]], atol=1e-12)
    assert (lazy.G[4:] == -1).all()  # no more memory than these take


def test_once_many_rows_are_asked_for_all_are_made():
    lazy, K = rows_of()
    lazy.make_ready(np.arange(N), np.arange(0, N, 4), (0,), lambda: np.zeros(N))
    assert lazy.ready.all()
    assert np.allclose(lazy.G[lazy.slot], K, atol=1e-12)


def test_blocks_of_columns_are_made_for_the_classes_of_a_pair():
    edges = np.array([0, 200, 400, N])
    lazy, K = rows_of(edges)
    place = np.concatenate([np.arange(200), np.arange(400, N)])  # the first and the last class
    some = np.array([10, 250])  # rows 10 and 450
    lazy.make_ready(place, some, (0, 2), lambda: np.zeros(len(place)))
    assert lazy.ready[[10, 450]].tolist() == [[True, False, True]] * 2
    for row in (10, 450):
        at = lazy.slot[row]
        assert np.allclose(lazy.G[at, :200], K[row, :200], atol=1e-12)
        assert np.allclose(lazy.G[at, 400:], K[row, 400:], atol=1e-12)
        assert (lazy.G[at, 200:400] == -1).all()


@pytest.mark.parametrize("memory", [1000.0, 1.0])
def test_many_rows_of_three_classes_are_certified(memory):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2400, 3))
    y = np.digitize(X[:, 0] + 0.2 * rng.normal(size=2400), [-0.4, 0.4])
    model = KernelSVM(gamma=0.5, memory=memory).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    assert max(part.relative_gap for part in model.certificate_.parts) <= 1e-3
    errors = int((model.decision_function(X).argmax(axis=1) != y).sum())
    assert model.certificate_.errors == errors


def test_equal_rows_are_found_and_their_values_made_once():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, size=(5000, 8)).astype(float)
    first, group = groups_of(X)
    assert (X[first][group] == X).all()
    assert len(first) < 600  # 256 different rows; products may keep a few apart
    assert groups_of(rng.normal(size=(5000, 8))) is None
    assert groups_of(np.where(np.arange(5000)[:, None] == 7, np.nan, X)) is not None
    kernel = RBF(gamma=0.3)
    coef = rng.normal(size=(5000, 2))
    A, B = kernel.rows(X[:3000], np.dtype(np.float64)), kernel.rows(X, np.dtype(np.float64))
    found = weighted_sums(kernel, A, B, coef)
    assert np.allclose(found, kernel.gram(X[:3000], X) @ coef, atol=1e-9)


def test_rows_without_any_value_are_one_group():
    first, group = groups_of(np.zeros((50, 3)))
    assert len(first) == 1
    assert not group.any()


def test_pairs_of_few_rows_among_many_classes():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(2100, 2)), np.arange(2100) % 12
    X[:, 0] += 8.0 * y
    model = KernelSVM(gamma=0.5, C=1.0).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_gram_matrix_is_used_where_it_is(order, dtype):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2300, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=2300) > 1, "b", "a")
    K = np.asarray(RBF(gamma=0.4).gram(X), dtype=dtype, order=order)
    kept = K.copy()
    machine = KernelSVM(2.0, kernel="precomputed", tol=1e-3)  # float32 does not prove 1e-5
    given = clone(machine).fit(K, y)
    rows = KernelSVM(2.0, gamma=0.4).fit(X, y)
    assert (kept == K).all()
    assert given.certificate_.relative_gap <= 1e-3
    assert given.certificate_.objective == pytest.approx(rows.certificate_.objective, rel=2e-3)
    assert (given.predict(K) == rows.predict(X)).mean() > 0.995
    labels = y[given.support_]
    assert (labels == np.sort(labels)).all()  # class by class
    assert given.n_support_.tolist() == [(labels == "a").sum(), (labels == "b").sum()]
    some = rng.random(2300) < 0.5
    weighed = clone(machine).fit(K, y, sample_weight=some.astype(float))
    alone = KernelSVM(2.0, gamma=0.4).fit(X[some], y[some])
    assert some[weighed.support_].all()
    assert weighed.certificate_.objective == pytest.approx(alone.certificate_.objective, rel=2e-3)
