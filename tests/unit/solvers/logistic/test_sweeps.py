"""Sweeps over the dual variables of logistic regression, the start on long sparse rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import linsep
from linsep.core import drive
from linsep.core.limits import Limits
from linsep.core.problem import Problem
from linsep.solvers.logistic.conjugate import LogisticCG, best_logit, sweep, swept, worth_sweeping


def counts(n=9000, d=4000, per_row=45, seed=0):
    """Counts of words: few words are frequent, few rows are long."""
    rng = np.random.default_rng(seed)
    words = np.minimum((d * rng.random((n, per_row)) ** 2).astype(int), d - 1)
    times = 1 + rng.poisson(rng.exponential(0.5, size=(n, 1)) ** 2, size=(n, per_row))
    rows = np.repeat(np.arange(n), per_row)
    X = scipy.sparse.csr_matrix((times.ravel().astype(float), (rows, words.ravel())), shape=(n, d))
    X.sum_duplicates()
    scores = X @ rng.normal(scale=0.2, size=d) + rng.logistic(size=n)
    return X, np.where(scores > np.median(scores), 1, -1)


@pytest.mark.parametrize("g", [-40.0, -1.0, 0.0, 3.0, 700.0])
@pytest.mark.parametrize("q", [0.0, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("start", [-30.0, -7.0, 0.0, 6.0])
def test_the_least_along_one_variable(g, q, start):
    c = 2.0
    alpha = c / (1.0 + np.exp(-start))
    t = best_logit(start, g, q, c, alpha)

    def slope(t):
        return t + g + q * (c / (1.0 + np.exp(-min(max(t, -700.0), 700.0))) - alpha)

    assert slope(t - 0.05 * (1 + abs(t))) <= 0 <= slope(t + 0.05 * (1 + abs(t)))


@pytest.mark.parametrize("offset", [True, False])
def test_a_sweep_keeps_weights_and_dual_variables_together(offset):
    X, y = counts(60, 40, 12)
    problem = Problem(X, y, fit_intercept=offset)
    squared = np.asarray(X.multiply(X).sum(axis=1)).ravel() + offset
    ends = []
    for run in (sweep.python, lambda *args: sweep(*args, size=10**6, work=1)):
        alpha, logit = np.full(60, 1e-3), np.full(60, np.log(1e-3 / (1 - 1e-3)))
        a = np.append(X.T @ (alpha * problem.sign), offset * alpha @ problem.sign)
        cost, order = np.ones(60), np.arange(60)
        dual = [_dual(alpha, a)]
        for _ in range(4):
            gain = run(
                problem.rows.X, problem.sign, cost, squared, order, logit, alpha, a, offset
            )  # fmt: skip
            dual.append(_dual(alpha, a))
            assert 0 < gain <= 1.1 * (dual[-1] - dual[-2])
        np.testing.assert_allclose(a[:-1], X.T @ (alpha * problem.sign), atol=1e-12)
        np.testing.assert_allclose(a[-1], offset * alpha @ problem.sign, atol=1e-12)
        ends.append(a)
    assert np.array_equal(*ends)


def _dual(alpha, a):
    return -float((alpha * np.log(alpha) + (1 - alpha) * np.log1p(-alpha)).sum()) - 0.5 * a @ a


def test_sweeps_come_first_and_the_answer_is_proved():
    X, y = counts()
    problem = Problem(X, y)
    assert worth_sweeping(problem)
    solver = LogisticCG(C=1.0, tol=1e-4, threads=1)
    state = solver.init(problem)
    assert state.sweeps
    begin = state.primal
    drive(problem, solver, state, limits=Limits(steps=1))
    assert not state.sweeps and state.primal < 0.7 * begin
    out = drive(problem, solver, state)
    model = linsep.LogisticRegression(tol=1e-6).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-6
    assert out.state.primal <= model.certificate_.objective * (1 + 1e-4)


def test_weights_of_sweeps_that_are_worse_than_none_are_left_alone():
    X, y = counts()
    y = np.where(np.random.default_rng(1).random(len(y)) < 0.5, y, -y)  # nothing to learn
    problem = Problem(X, y)
    solver = LogisticCG(C=1e4, tol=1e-3, threads=1)
    state = solver.init(problem)
    begin = state.primal
    a, _ = swept(problem, 1e4, 1)
    m = problem.values(a)
    worse = 0.5 * a[:-1] @ a[:-1] + 1e4 * np.logaddexp(0, -m).sum() > begin
    drive(problem, solver, state, limits=Limits(steps=1))
    assert worse and state.primal == begin and not state.a[:-1].any()


def test_no_sweeps_on_short_rows_small_tables_and_without_a_penalty():
    short = scipy.sparse.random(60_000, 50, 0.1, format="csr", random_state=0)
    assert not worth_sweeping(Problem(short, np.arange(60_000) % 2))
    assert not worth_sweeping(Problem(np.eye(4), [0, 1, 0, 1]))
    X, y = counts()
    assert not LogisticCG(C=np.inf).init(Problem(X, y)).sweeps
    assert not LogisticCG().init(Problem(X, y), start=(np.zeros(X.shape[1]), 0.0)).sweeps
