"""The hinge and its square: no bound is false, whatever the witness."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from tests.unit.proofs import truth
from tests.unit.proofs.truth import (
    assert_close,
    assert_true,
    examples,
    hinge_objective,
    many_digits,
    tables,
)

from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.losses import LOSSES
from linsep.proofs.hinge import Objective, hinge_gap
from linsep.proofs.l1 import l1_gap

__all__ = ["many_digits"]


def quadratic_programme(P, q, A, b):
    """min x.Px / 2 + q.x with A x <= b, by Clarabel; None where it gives up."""
    options = clarabel.DefaultSettings()
    options.verbose = False
    cones = [clarabel.NonnegativeConeT(len(b))]
    P, A = scipy.sparse.csc_matrix(np.triu(P)), scipy.sparse.csc_matrix(A)
    x = np.asarray(clarabel.DefaultSolver(P, q, A, b, cones, options).solve().x)
    return x if np.isfinite(x).all() else None


def best_plane(problem, C, loss, constant=None):
    """Weights that Clarabel calls the best: variables w, b, and the loss of each row."""
    X, sign, cost = truth.rows(problem), problem.sign, C * problem.weight
    n, d = X.shape
    P = np.diag([*np.ones(d), 0.0 if constant is None else constant**-2.0, *np.zeros(n)])
    q = np.zeros(d + 1 + n)
    if loss == "hinge":
        q[d + 1 :] = cost
    else:
        P[d + 1 :, d + 1 :] = np.diag(2 * cost)
    offset = sign if problem.fit_intercept else np.zeros(n)
    margins = np.column_stack([sign[:, None] * X, offset, np.eye(n)])
    bounds = np.column_stack([np.zeros((n, d + 1)), np.eye(n)])
    x = quadratic_programme(
        P, q, -np.vstack([margins, bounds]), np.append(-np.ones(n), np.zeros(n))
    )
    return np.zeros(d + 1) if x is None else np.append(x[:d], x[d] * problem.fit_intercept)


def witnesses(table):
    problem, every = table.problem, np.arange(table.problem.n)
    duals = table.alphas(problem.n, table.C * problem.weight)
    return [Witness(a=a, rows=every, multipliers=m) for a in table.models() for m in duals]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@examples
@given(table=tables())
def test_no_witness_gives_a_false_bound(loss, table):
    problem, C = table.problem, table.C
    objective = Objective(LOSSES[loss], C, "free" if problem.fit_intercept else "none")
    tried = witnesses(table)
    found = [hinge_gap(problem, witness, objective) for witness in tried]
    values = [hinge_objective(problem, witness.a, C, loss) for witness in tried]
    best = best_plane(problem, C, loss)
    assert_true(found, [*values, hinge_objective(problem, best, C, loss)])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@examples
@given(table=tables(intercept=True))
def test_a_penalised_intercept(loss, table):
    problem, C = table.problem, table.C
    constant = float(table.random.choice([0.5, 1.0, 10.0]))
    objective = Objective(LOSSES[loss], C, "penalised", constant)
    tried = witnesses(table)
    found = [hinge_gap(problem, witness, objective) for witness in tried]
    values = [hinge_objective(problem, witness.a, C, loss, constant) for witness in tried]
    best = best_plane(problem, C, loss, constant)
    assert_true(found, [*values, hinge_objective(problem, best, C, loss, constant)])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@examples
@given(table=tables(kinds=("plain", "integers", "duplicates", "sparse", "float32", "zero rows")))
def test_numbers_are_close_where_nothing_is_hostile(loss, table):
    """The primal value, and the dual one at a point that is feasible as it stands."""
    problem = table.problem
    intercept = "free" if problem.fit_intercept else "none"
    a = table.models()[-1]
    alpha = np.zeros(problem.n)
    alpha[[0, 1]] = 0.01 * table.C * problem.weight[:2].min()  # a row of each class
    gap = hinge_gap(problem, Witness(a=a, rows=np.arange(problem.n), multipliers=alpha),
                    Objective(LOSSES[loss], table.C, intercept))  # fmt: skip
    value = hinge_objective(problem, a, table.C, loss)
    assert_close(gap, value, float(value))
    dual = truth.total(truth.ball(v) for v in alpha)
    X = truth.rows(problem)
    for j in range(problem.d):
        dual -= truth.dot(map(truth.ball, alpha * problem.sign), map(truth.ball, X[:, j])) ** 2 / 2
    if loss == "squared_hinge":
        for v, c in zip(alpha, truth.costs(problem, table.C)):
            dual -= truth.ball(v) ** 2 / (4 * c)
    assert truth.ball(gap.lower_bound) <= max(float(dual) * (1 + 1e-15), 0.0) + 1e-300
    assert gap.lower_bound >= float(dual) - 1e-9 * float(alpha.sum()) or float(dual) <= 0


@examples
@given(table=tables(kinds=("plain", "mixed", "far away", "float32")))
def test_a_hard_margin_is_bounded_by_separators_alone(table):
    """C = inf: the objective of weights that are long enough, and a bound below it."""
    X, r = truth.rows(table.problem), table.random
    w = r.standard_normal(X.shape[1]) / np.abs(X).max(axis=0)
    y = np.where(X @ w > np.median(X @ w), 1, -1)
    if len(set(y.tolist())) < 2:
        return
    problem = Problem(table.problem.matrix, y)
    a = np.append(w, -np.median(X @ w))
    objective = Objective(LOSSES["hinge"], np.inf, "free")
    found = [
        hinge_gap(
            problem, Witness(a=s * a, rows=np.arange(problem.n), multipliers=alpha), objective
        )
        for s in (2.0**-10, 1.0, 2.0**10)  # which rounds nothing
        for alpha in table.alphas(problem.n, 1.0)
    ]
    least = min((int(s) * f for s, f in zip(problem.sign, truth.scores(problem, a)[0])), key=float)
    if not least > 0:
        assert all(gap.objective == np.inf for gap in found)
        return
    assert_true(found, [truth.half_square(problem, a) / least**2] * len(found))


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@examples
@given(table=tables())
def test_the_penalty_of_sizes(loss, table):
    problem, C = table.problem, table.C
    objective = Objective(LOSSES["hinge"], C, "free" if problem.fit_intercept else "none")
    models = table.models()
    found = [l1_gap(problem, a, LOSSES[loss], objective) for a in models]
    values = []
    for a in models:
        sizes = truth.total(truth.ball(abs(v)) for v in a[:-1])
        if loss == "logistic":
            values.append(sizes + truth.logistic_losses(problem, a, C))
        else:
            values.append(sizes + truth.hinge_losses(problem, a, C, loss))
    assert_true(found, values)
