"""Gaussian likelihoods: objective and least objective in balls, for any parameters."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.proofs import truth
from tests.unit.proofs.truth import examples, many_digits, tables

from linsep.proofs.gaussian import judge_gaussian

__all__ = ["many_digits"]

HARD = ("plain", "integers", "duplicates", "constant", "mixed", "far away", "float32", "sparse")


def rational(v):
    f = Fraction(float(v))
    return flint.fmpq(f.numerator, f.denominator)


def matrix(rows):
    return flint.fmpq_mat(len(rows), len(rows), [v for row in rows for v in row])


def scatter(rows, weights, centre, ridge):
    """Second moments about a centre, times the weight of the rows."""
    apart = [[x - c for x, c in zip(row, centre)] for row in rows]
    S, whole = [], sum(weights, flint.fmpq(0))
    for u in range(len(centre)):
        S.append([sum((w * r[u] * r[v] for w, r in zip(weights, apart)), flint.fmpq(0))
                  for v in range(len(centre))])  # fmt: skip
        S[u][u] += whole * ridge[u]
    return S


def half_terms(C, S, whole):
    """whole / 2 (ln |C| + d ln 2 pi) + tr C^-1 S / 2."""
    d = len(S)
    inside = matrix(C).solve(matrix(S))
    trace = sum((inside[j, j] for j in range(d)), flint.fmpq(0))
    log_det = flint.arb(matrix(C).det()).log() + d * (2 * flint.arb.pi()).log()
    return (flint.arb(whole) * log_det + flint.arb(trace)) / 2


def exact(problem, means, covariances, ridge, shared, diagonal):
    """The objective at the parameters, and the least one of their structure; None for -inf."""
    X, d = truth.rows(problem), problem.d
    here, best, wholes = [], [], []
    for k in range(problem.K):
        own = problem.label == k
        rows = [[rational(v) for v in row] for row in X[own]]
        weights = [rational(v) for v in problem.weight[own]]
        whole = sum(weights, flint.fmpq(0))
        centre = [dot / whole for dot in (
            sum((w * r[j] for w, r in zip(weights, rows)), flint.fmpq(0)) for j in range(d)
        )]  # fmt: skip
        here.append(scatter(rows, weights, [rational(v) for v in means[k]], ridge))
        best.append(scatter(rows, weights, centre, ridge))
        wholes.append(whole)
    if shared:
        here, best = [added(here)], [added(best)]
        wholes = [sum(wholes, flint.fmpq(0))]
    values = [flint.arb(0), flint.arb(0)]
    for C, S, B, whole in zip(covariances, here, best, wholes):
        C = [[rational(v) for v in row] for row in C]
        if diagonal:
            S, B = cut(S), cut(B)
        values[0] += half_terms(C, S, whole)
        least = [[v / whole for v in row] for row in B]
        if matrix(least).det() <= 0:
            values[1] = None
        if values[1] is not None:
            values[1] += half_terms(least, B, whole)
    return values


def added(parts):
    size = range(len(parts[0]))
    return [[sum((part[u][v] for part in parts), flint.fmpq(0)) for v in size] for u in size]


def cut(S):
    return [[v if i == j else flint.fmpq(0) for j, v in enumerate(row)] for i, row in enumerate(S)]


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("shared", [True, False])
@examples
@given(table=tables(kinds=HARD), ridged=st.booleans())
def test_no_parameters_give_a_false_bound(shared, diagonal, table, ridged):
    problem, r = table.problem, table.random
    X, d = truth.rows(problem), problem.d
    size = np.abs(X).max(axis=0) + 1e-3
    ridge = np.full(d, 1e-3) * size**2 * ridged
    count = 1 if shared else problem.K
    for spread in (0.0, 1e-3, 1.0):
        means = np.array([X[problem.label == k].mean(axis=0) for k in range(problem.K)])
        means = means + spread * size * r.standard_normal(means.shape)
        factors = r.standard_normal((count, d, d)) * size[:, None]
        C = factors @ factors.transpose(0, 2, 1) + np.diag(size**2)
        C = np.array([np.diag(np.diag(part)) for part in C]) if diagonal else C
        given_C = np.array([np.diag(part) for part in C]) if diagonal else C
        found = judge_gaussian(
            problem, means, given_C[0] if shared else given_C, shared=shared, ridge=ridge,
            used=np.ones(d, dtype=bool),
        )  # fmt: skip
        values = exact(problem, means, C, [rational(v) for v in ridge], shared, diagonal)
        assert values[0] <= truth.ball(found.objective)
        assert found.objective - float(values[0]) <= 1e-6 * (1 + abs(float(values[0])))
        if values[1] is None:
            assert found.lower_bound == -np.inf
        else:
            assert found.lower_bound == -np.inf or truth.ball(found.lower_bound) <= values[1]
