"""Small pairs of a kernel machine: one working set of all rows, on a matrix that is kept."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import linsep
from linsep.core.problem import Problem
from linsep.kernels.blocks import Duel
from linsep.solvers.kernel import smo
from linsep.solvers.kernel.gram import pairs_of, source_of, whole_of
from linsep.solvers.kernel.smo import SMO, PairState, Work
from linsep.solvers.kernel.working_set import best_offset, optimality


def table(n: int, classes: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, n)
    return rng.normal(size=(n, 4)) + 0.6 * np.eye(classes, 4)[label], label


@pytest.mark.parametrize(("n", "memory"), [(150, 1000.0), (2100, 1000.0), (150, 0.01)])
def test_the_matrix_of_all_rows_of_a_pair(n, memory):
    X, label = table(n, 4)
    problem = Problem(X, label)
    solver = SMO(linsep.kernels.RBF(gamma=0.3), memory=memory)
    state, pairs = solver.init(problem), pairs_of(problem, solver.kernel)
    for pair, part in zip(pairs.pairs, state.parts):
        part.active = np.arange(len(pair.y))
        source = source_of(pairs, pair, part.active, solver._limit(single=False), single=False)
        K, m = whole_of(pairs, source, pair), len(pair.y)
        rows = X[pairs.order[pair.ids]]
        np.testing.assert_allclose(K[:m, :m], solver.kernel.gram(rows), atol=1e-12)
        assert not K[m:].any() and not K[:, m:].any() and len(K) % 32 == 0
        assert whole_of(pairs, source, pair) is K


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_one_working_set_or_many_give_the_same_machine(monkeypatch, fit_intercept):
    X, label = table(240, 3)
    settings = {"C": 3.0, "tol": 1e-8, "fit_intercept": fit_intercept}
    one = linsep.KernelSVM(**settings).fit(X, label)
    monkeypatch.setattr(smo, "WHOLE_SET", 0)
    many = linsep.KernelSVM(**settings).fit(X, label)
    assert one.certificate_.relative_gap <= 1e-8 >= many.certificate_.relative_gap
    assert one.n_iter_ < many.n_iter_
    np.testing.assert_allclose(one.decision_function(X), many.decision_function(X), atol=1e-3)


def test_large_costs_leave_steps_of_two_variables_for_others():
    X, label = table(200, 2)
    model = linsep.KernelSVM(1e5, gamma=0.02).fit(X, label)
    assert model.status_ is linsep.Status.CERTIFIED


@pytest.mark.parametrize("seed", range(5))
def test_the_best_offset_within_reach(seed):
    rng = np.random.default_rng(seed)
    y, cost = rng.choice([-1.0, 1.0], 60), rng.uniform(0.1, 2.0, 60)
    f = rng.normal(size=60)

    def losses(b):
        return float(cost @ np.maximum(0.0, -y * (f + b)))

    best = best_offset(y, cost, f)
    for low, high in ((-3.0, 3.0), (-best - 0.2, -best + 0.3)):
        assert losses(best_offset(y, cost, f, (low, high))) == pytest.approx(losses(best))
    inside = best_offset(y, cost, f, (1.0, 1.5))  # -b: the least losses there are at one end
    ends = [losses(b) for b in np.append(-f[(f >= 1.0) & (f <= 1.5)], [inside])]
    assert losses(inside) == pytest.approx(min(ends))
    assert best_offset(y, cost, f, (10.0, 12.0)) == -11.0


def test_one_row_that_shifts_the_middle_does_not_keep_a_machine_from_its_end():
    # all rows but one are where they should be: the middle of the two extremes is far from them
    y = np.tile([1.0, -1.0], 50)
    alpha, cost = np.full(100, 0.5), np.ones(100)
    f = np.zeros(100)
    f[0] = 0.02
    part = PairState(
        alpha=alpha,
        f=f,
        seen=alpha,
        best=alpha,
        best_f=f,
        active=np.arange(100),
        working=np.arange(0),
        facts=np.zeros(4),
    )
    pair = Duel((0, 1), np.arange(100), y, cost, np.ones(100), ((0, 100, 0),))
    problem = Problem(np.zeros((100, 100)), (y > 0).astype(int))
    before = optimality(y, cost, alpha, f, with_offset=True)
    assert before.primal - before.dual > 5e-3 * before.primal
    work = Work(pairs_of(problem, None), pair, part, cost, True, 100, False)
    SMO(None, tol=5e-3, fine=5e-3)._judge(work)
    assert part.status is linsep.Status.CERTIFIED
    assert part.facts[2] == 0.0
    exact = 0.5 * float((alpha * y) @ (f + y)) + float(np.maximum(0.0, -y * f).sum())
    assert part.facts[0] == pytest.approx(exact, rel=1e-12)


def test_columns_far_from_zero_with_a_large_cost():
    # without moving the rows to their mean the path of interior points is lost in rounding errors
    X, label = load_breast_cancer(return_X_y=True)
    model = linsep.KernelSVM(1e3, kernel="linear").fit(X, label)
    assert model.status_ is linsep.Status.CERTIFIED
    assert 21734 < model.certificate_.lower_bound <= model.certificate_.objective < 21736
