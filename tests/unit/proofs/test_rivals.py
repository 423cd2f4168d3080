"""Crammer and Singer, and one class against the rest: no bound is false."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from tests.unit.proofs import truth
from tests.unit.proofs.test_hinge import best_plane, quadratic_programme
from tests.unit.proofs.truth import assert_close, assert_true, examples, many_digits, tables

from linsep.core.problem import against_rest
from linsep.core.protocol import Witness
from linsep.losses.hinge import HINGE
from linsep.proofs.hinge import Objective, svm_gap
from linsep.proofs.rivals import rivals_gap

__all__ = ["many_digits"]


def best_machine(problem, C):
    """Variables W, b and the loss of each row; a row for each row and rival."""
    X, n, d, K = truth.rows(problem), problem.n, problem.d, problem.K
    size = K * (d + 1)
    P = np.diag([*np.tile([*np.ones(d), 0.0], K), *np.zeros(n)])
    q = np.append(np.zeros(size), C * problem.weight)
    left, right = [np.append(np.zeros(size), -row) for row in np.eye(n)], [0.0] * n
    for i, own in enumerate(problem.label):
        x = np.append(X[i], 1.0 if problem.fit_intercept else 0.0)
        for k in range(K):
            if k != own:
                line = np.zeros((K, d + 1))
                line[k], line[own] = x, -x
                left.append(np.append(line.ravel(), -np.eye(n)[i]))
                right.append(-1.0)
    x = quadratic_programme(P, q, np.array(left), np.array(right))
    if x is None:
        return np.zeros(size)
    blocks = x[:size].reshape(K, d + 1)
    blocks[:, -1] *= problem.fit_intercept
    return blocks.ravel()


@examples
@given(table=tables(K=3))
def test_no_witness_gives_a_false_bound(table):
    problem, C = table.problem, table.C
    cost = C * problem.weight[:, None]
    duals = [-alpha for alpha in table.alphas((problem.n, problem.K), cost / 2)]
    duals.append(table.random.standard_normal((problem.n, problem.K)) * C)
    models = table.models(2)
    found = [rivals_gap(problem, a, alpha, C) for a in models for alpha in duals]
    values = [truth.rivals_objective(problem, a, C) for a in models]
    best = truth.rivals_objective(problem, best_machine(problem, C), C)
    assert_true(found, [value for value in values for _ in duals] + [best])


@examples
@given(table=tables(K=3, kinds=("plain", "integers", "duplicates", "sparse", "float32")))
def test_the_objective_is_close_where_nothing_is_hostile(table):
    a = table.models()[-1]
    gap = rivals_gap(table.problem, a, np.zeros((table.problem.n, 3)), table.C)
    value = truth.rivals_objective(table.problem, a, table.C)
    assert_close(gap, value, float(value))


@examples
@given(table=tables(K=4))
def test_one_class_against_the_rest_is_the_sum_of_its_machines(table):
    problem, C = table.problem, table.C
    n, K = problem.n, problem.K
    objective = Objective(HINGE, C, "free" if problem.fit_intercept else "none")
    a = table.models()[-1]
    found = []
    for alpha in table.alphas((K, n), C * problem.weight):
        witness = Witness(a=a, rows=np.arange(K * n), multipliers=alpha.ravel())
        found.append(svm_gap(problem, witness, objective, "one-vs-rest"))
    machines = [against_rest(problem, k) for k in range(K)]
    blocks = a.reshape(K, -1)
    value = truth.total(truth.hinge_objective(m, w, C) for m, w in zip(machines, blocks))
    best = [truth.hinge_objective(m, best_plane(m, C, "hinge"), C) for m in machines]
    for gap in found:
        assert gap.objective == np.inf or value <= truth.ball(gap.objective)
        for part, least in zip(gap.parts, best):
            assert truth.ball(part.lower_bound) <= least
