"""The logistic loss and the likelihood of two classes and of more: no bound is false."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from tests.unit.proofs import truth
from tests.unit.proofs.truth import (
    assert_close,
    assert_true,
    examples,
    logistic_objective,
    many_digits,
    softmax_objective,
    tables,
)

from linsep.core.problem import Problem
from linsep.proofs import logistic as logistic_proof
from linsep.proofs.logistic import likelihood_bounds, logistic_gap
from linsep.proofs.softmax import softmax_gap

__all__ = ["many_digits"]

GENTLE = ("plain", "integers", "duplicates", "sparse", "float32", "zero rows")


def best_model(problem, C):
    """Weights by scipy's BFGS, K blocks, or one for two classes; columns brought to one size."""
    X, K = truth.rows(problem), 1 if problem.binary else problem.K
    size = np.abs(X).max(axis=0)
    unit = np.append(np.where(size > 0, size, 1.0), 1.0)
    Z = np.column_stack([X, np.ones(problem.n) * problem.fit_intercept]) / unit
    pull = 1.0 / C * (np.append(np.ones(problem.d), 0.0) / unit**2)
    own = np.arange(problem.n), problem.label

    def value(a):
        A = a.reshape(K, -1)
        S = Z @ A.T
        if problem.binary:
            losses = np.logaddexp(0.0, -problem.sign * S[:, 0])
        else:
            losses = np.logaddexp.reduce(S, axis=1) - S[own]
        return float(problem.weight @ losses + 0.5 * (pull * A * A).sum())

    def slope(a):
        A = a.reshape(K, -1)
        S = Z @ A.T
        if problem.binary:
            share = -problem.sign[:, None] / (1.0 + np.exp(problem.sign[:, None] * S))
        else:
            share = np.exp(S - np.logaddexp.reduce(S, axis=1)[:, None])
            share[own] -= 1.0
        return ((share * problem.weight[:, None]).T @ Z + pull * A).ravel()

    with np.errstate(all="ignore"):
        found = scipy.optimize.minimize(value, np.zeros(K * len(unit)), jac=slope, method="BFGS")
    blocks = np.nan_to_num(found.x.reshape(K, -1) / unit)
    blocks[:, -1] *= problem.fit_intercept
    return blocks.ravel()


@examples
@given(table=tables())
def test_two_classes(table):
    problem, C = table.problem, table.C
    intercept = "free" if problem.fit_intercept else "none"
    models = [*table.models(), best_model(problem, C)]
    duals = [None, *table.alphas(problem.n, C * problem.weight)]
    found = [logistic_gap(problem, a, C, intercept, alpha=v) for a in models for v in duals]
    assert_true(found, [logistic_objective(problem, a, C) for a in models for _ in duals])


@examples
@given(table=tables(intercept=True))
def test_a_penalised_intercept(table):
    problem, C = table.problem, table.C
    constant = float(table.random.choice([0.5, 1.0, 10.0]))
    models = [*table.models(), best_model(problem, C)]
    found = [logistic_gap(problem, a, C, "penalised", constant) for a in models]
    assert_true(found, [logistic_objective(problem, a, C, constant) for a in models])


@examples
@given(table=tables(kinds=GENTLE))
def test_the_gap_of_a_good_model_is_small(table):
    problem, C = table.problem, min(table.C, 10.0)
    a = best_model(problem, C)
    gap = logistic_gap(problem, a, C, "free" if problem.fit_intercept else "none")
    value = logistic_objective(problem, a, C)
    assert_close(gap, value, float(value))
    assert gap.relative_gap <= 1e-4


@examples
@given(table=tables())
def test_the_likelihood_of_two_classes(table):
    """Without a penalty; where a bound of all rows is found, a maximum exists."""
    problem = table.problem
    models = [*table.models(), best_model(problem, 1e8), best_model(problem, 1.0)]
    both = [likelihood_bounds(problem, a) for a in models]
    values = [logistic_objective(problem, a, np.inf) for a in models]
    assert_true([gap for gap, _ in both], values)
    if any(exists for _, exists in both):
        for a in models:  # no row would be strictly on its own side with none on the other
            f = truth.scores(problem, a)[0]
            sides = [int(s) * v for s, v in zip(problem.sign, f)]
            assert not (all(v >= 0 for v in sides) and any(v > 0 for v in sides))


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kind", ["plain", "mixed", "float32", "far away"])
@pytest.mark.parametrize("free", [True, False])
def test_the_bounds_of_a_large_table(monkeypatch, kind, C, free):
    """The way of large tables, on one that is small enough for a plain loop."""
    r = np.random.default_rng(5)
    X = r.standard_normal((300, 3))
    X = X * [1e-6, 1.0, 1e6] if kind == "mixed" else X + 1e4 if kind == "far away" else X
    y = (X / np.abs(X).max(axis=0)) @ [1.0, -1.0, 0.5] + 0.3 * r.standard_normal(300) > 0
    X = X.astype(np.float32) if kind == "float32" else X
    problem = Problem(X, y, fit_intercept=free)
    monkeypatch.setattr(
        logistic_proof, "sample_matrix",
        lambda p, size: (np.arange(p.n), 1.0, p.matrix),
    )  # fmt: skip
    monkeypatch.setattr(logistic_proof, "sample_sizes", lambda p: [p.n])
    models = [best_model(problem, C), np.zeros(4), 0.9 * best_model(problem, C)]
    found = [logistic_proof.large_bounds(problem, a, C, 1e-6, free=free) for a in models]
    values = [logistic_objective(problem, a, C) for a in models]
    for bounds, value in zip(found, values):
        assert value <= truth.ball(bounds.high)
        assert all(truth.ball(max(bounds.low, 0.0)) <= other for other in values)
    if kind == "plain":
        assert found[0].high - found[0].low <= 1e-6 * found[0].high


# -- more classes ---------------------------------------------------------------------------------


@examples
@given(table=tables(K=3))
def test_more_classes(table):
    problem, C = table.problem, table.C
    models = [*table.models(2), best_model(problem, C)]
    duals = [None, *(-v for v in table.alphas((problem.n, 3), C * problem.weight[:, None] / 2))]
    found = [softmax_gap(problem, a, C, alpha=v) for a in models for v in duals]
    assert_true(found, [softmax_objective(problem, a, C) for a in models for _ in duals])


@examples
@given(table=tables(K=3))
def test_a_class_whose_weights_are_zero(table):
    """Differences to the reference class; the penalty counts those of the others alone."""
    problem, C = table.problem, table.C
    models = [a.reshape(3, -1) for a in table.models(2)]
    models = [(a - a[1]).ravel() for a in models]
    found = [softmax_gap(problem, a, C, reference=1) for a in models]
    assert_true(found, [softmax_objective(problem, a, C) for a in models])


@examples
@given(table=tables(K=3))
def test_the_likelihood_of_more_classes(table):
    problem = table.problem
    models = [*table.models(2), best_model(problem, 1e8), best_model(problem, 1.0)]
    found = [softmax_gap(problem, a, np.inf) for a in models]
    assert_true(found, [softmax_objective(problem, a, np.inf) for a in models])


@examples
@given(table=tables(K=3, kinds=GENTLE))
def test_the_gap_of_a_good_model_of_more_classes_is_small(table):
    problem, C = table.problem, min(table.C, 10.0)
    a = best_model(problem, C)
    gap = softmax_gap(problem, a, C)
    value = softmax_objective(problem, a, C)
    assert_close(gap, value, float(value))
    assert gap.relative_gap <= 1e-4
