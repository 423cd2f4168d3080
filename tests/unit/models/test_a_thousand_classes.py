"""What grows with the square or the cube of the classes: no step, no array, no fit of it hangs."""

from __future__ import annotations

import resource
import time

import numpy as np
import pytest

import linsep
from linsep.core import validate
from linsep.core.problem import Problem
from linsep.errors import LabelError
from linsep.kernels import RBF
from linsep.losses.rivals import balanced_shares
from linsep.solvers.hinge.crammer_singer import best_alpha
from linsep.solvers.kernel.smo import SMO


def many(K, d=6):
    """Two rows of each class."""
    rng = np.random.default_rng(0)
    y = np.arange(2 * K) % K
    return rng.normal(size=(K, d))[y] + 0.1 * rng.normal(size=(2 * K, d)), y


def test_the_next_pair_is_found_without_a_look_at_all_of_them(monkeypatch):
    """Of K classes there are K^2 / 2 pairs: a look at each after each round would be K^4."""
    X, y = many(12)
    problem, solver = Problem(X, y), SMO(RBF(gamma=0.5))
    state = solver.init(problem.lent)
    looks, order = [0], []
    done = type(state.status).done

    def counted(status):
        looks[0] += 1
        return done.fget(status)

    monkeypatch.setattr(type(state.status), "done", property(counted))
    while not done.fget(state.status):
        order.append(state.at)
        solver.advance(problem.lent, state, 1)
    assert order == sorted(order)
    assert set(order) == set(range(66))
    assert looks[0] < 20 * len(order)


@pytest.mark.filterwarnings("ignore::linsep.errors.GapWarning")  # of the nine rows
def test_a_machine_of_many_pairs_begins_within_its_time():
    X, y = many(60)
    linsep.KernelSVM(time_limit=1e-3).fit(X[:9], y[:9] % 3)  # what is loaded once
    begin = time.process_time()
    with pytest.warns(linsep.errors.LinsepWarning, match="limit"):
        model = linsep.KernelSVM(time_limit=1e-3).fit(X, y)
    assert time.process_time() - begin < 8.0  # two proofs of 1770 pairs; a fit of them took longer
    assert model.status_.name == "TIME_LIMIT"
    assert not model.certificate_.relative_gap <= 1e-5


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_of_many_are_those_of_a_sorted_list(seed):
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 30))
    B, own, A, cost = rng.normal(size=K).round(1), int(rng.integers(K)), 0.7, float(rng.random())
    new = np.empty(K)
    best_alpha(A, cost, own, B, np.empty(K, np.int64), new)
    top = np.where(np.arange(K) == own, cost, 0.0)
    D = np.sort(B + A * top)[::-1]
    beta = next(
        b for r in range(1, K + 1)
        if r == K or (D[:r].sum() - A * cost) >= r * D[r]
        for b in [(D[:r].sum() - A * cost) / r]
    )  # fmt: skip
    np.testing.assert_allclose(new, np.minimum(top, (beta - B) / A), atol=1e-14)
    assert abs(new.sum()) < 1e-12


@pytest.mark.parametrize("K", [20, 400])
def test_a_flow_between_many_classes_returns(K):
    """An array of K^3 numbers, as a programme of all pairs has, would be 500 MB."""
    rng = np.random.default_rng(1)
    flow = np.zeros((K, K))
    for _ in range(5):
        way = rng.permutation(K)
        flow[way, np.roll(way, 1)] += rng.random() + 0.1 * rng.random(K)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shares = balanced_shares(flow)
    back = shares * flow
    assert shares.min() >= 0 and shares.max() <= 1
    np.testing.assert_allclose(back.sum(axis=0), back.sum(axis=1), atol=1e-12 * flow.sum())
    assert back.sum() > 0.9 * flow.sum()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KB


@pytest.mark.parametrize(
    ("model", "held"),
    [
        (linsep.LinearSVM(), 11), (linsep.LeastSquares(), 8), (linsep.Perceptron(), 6),
        (linsep.GaussianClassifier(), 4),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_what_a_fit_holds_of_each_class_is_counted(model, held, monkeypatch):
    X, y = many(1000)
    monkeypatch.setattr(validate, "total_memory", lambda: held * 8 * 2000 * 1000 - 1)
    with pytest.raises(LabelError, match="y has 1000 classes in 2000 rows"):
        model.fit(X, y)


def test_what_a_kernel_machine_holds_of_each_pair_is_counted(monkeypatch):
    X, y = many(300)
    monkeypatch.setattr(validate, "total_memory", lambda: 10**9)  # pairs alone would fit
    with pytest.raises(LabelError, match="44850 pairs of classes take 3 GB"):
        linsep.KernelSVM().fit(X, y)


def test_no_sample_is_named_where_none_was_looked_at():
    """Of more pairs than rows nothing is made of a sample: what is left is the best offset."""
    X, y = many(60)
    with pytest.warns(linsep.errors.LinsepWarning, match="limit"):
        model = linsep.KernelSVM(time_limit=1e-3).fit(X, y)
    assert model.solver_used_.endswith("the best offset alone")
