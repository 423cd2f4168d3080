"""Objectives by plain loops in balls of 300 bits, and tables that are hard on rounding.

Nothing here is taken from the proofs that are tested: formulas are written out once more, a
number of linsep is used as the fraction that it is, and a ball holds the true value.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import flint
import numpy as np
import pytest
import scipy.sparse
from hypothesis import settings
from hypothesis import strategies as st

from linsep.core.problem import Problem

KINDS = (
    "plain", "integers", "duplicates", "zero rows", "constant", "mixed", "far away", "wide",
    "float32", "sparse", "tiny", "huge",
)  # fmt: skip


examples = settings(max_examples=int(os.environ.get("LINSEP_FUZZ", "30")))
"""Few, as all tests here together are to take seconds."""


@pytest.fixture(autouse=True)
def many_digits():
    before, flint.ctx.prec = flint.ctx.prec, 300
    yield
    flint.ctx.prec = before


# -- tables ---------------------------------------------------------------------------------------


@dataclass
class Table:
    """A problem, a penalty, and numbers to make witnesses of."""

    kind: str
    problem: Problem
    C: float
    random: np.random.Generator

    def models(self, count=3):
        """Weights of any size, in units of the columns: zero, small ones and large ones."""
        problem, K = self.problem, 1 if self.problem.binary else self.problem.K
        unit = np.append(np.abs(rows(problem)).max(axis=0, initial=0.0), 1.0)
        unit = np.where(unit > 0, unit, 1.0)
        found = [np.zeros((K, problem.d + 1))]
        for size in 10.0 ** self.random.uniform(-6, 2, count):
            found.append(size * self.random.standard_normal((K, problem.d + 1)) / unit)
        for blocks in found:
            blocks[:, -1] *= problem.fit_intercept
        return [blocks.ravel() for blocks in found]

    def alphas(self, shape, top):
        """Dual variables that nobody has made feasible, some of them no numbers."""
        r = self.random
        good = r.uniform(0, 1, shape) * np.broadcast_to(top, shape) * r.integers(0, 2, shape)
        wild = r.standard_normal(shape) * 10.0 ** r.uniform(-3, 6)
        broken = good.copy()
        broken.flat[r.integers(0, good.size, 3)] = [np.nan, np.inf, -np.inf]
        return [np.zeros(shape), good, good * 1e-3, wild, broken]


@st.composite
def tables(draw, K=2, kinds=KINDS, intercept=None, positive=False):
    """Small tables of K classes; all numbers come from one seed."""
    kind = draw(st.sampled_from(kinds))
    n, d = draw(st.integers(K + 1, 14)), draw(st.integers(1, 4))
    r = np.random.default_rng(draw(st.integers(0, 2**32)))
    if kind == "wide":
        n, d = K + 1, 6
    X = r.integers(-2, 3, (n, d)).astype(float) if kind == "integers" else r.standard_normal((n, d))
    if positive:
        X = np.abs(X)
    if kind == "duplicates":
        X[::2] = X[0]
    elif kind == "zero rows":
        X[::3] = 0.0
    elif kind == "constant":
        X[:, 0] = 7.0
    elif kind == "mixed":
        X *= 10.0 ** r.uniform(-8, 8, d)
    elif kind == "far away":
        X += 1e6
    elif kind in ("tiny", "huge"):
        X *= {"tiny": 1e-150, "huge": 1e100}[kind]
    elif kind == "float32":
        X = X.astype(np.float32)
    elif kind == "sparse":
        X = scipy.sparse.csr_array(np.where(r.random((n, d)) < 0.5, X, 0.0))
    y = r.integers(0, K, n)
    y[:K] = np.arange(K)
    weight = None if draw(st.booleans()) else r.uniform(0.1, 2.0, n)
    free = draw(st.booleans()) if intercept is None else intercept
    C = float(10.0 ** r.uniform(-4, 4))
    return Table(kind, Problem(X, y, sample_weight=weight, fit_intercept=free), C, r)


def rows(problem):
    X = problem.matrix
    return np.asarray(X.toarray() if problem.sparse else X, dtype=np.float64)


# -- sums in balls --------------------------------------------------------------------------------


def ball(v):
    return flint.arb(float(v))


def total(terms):
    out = flint.arb(0)
    for term in terms:
        out += term
    return out


def dot(u, v):
    return total(a * b for a, b in zip(u, v))


def scores(problem, a):
    """f_k(x_i) of every row, one list for each plane."""
    planes = np.asarray(a, dtype=np.float64).reshape(-1, problem.d + 1).tolist()
    X = [[ball(v) for v in row] for row in rows(problem).tolist()]
    planes = [[ball(v) for v in plane] for plane in planes]
    return [[dot(plane, x) + plane[-1] for x in X] for plane in planes]


def half_square(problem, a):
    planes = np.asarray(a, dtype=np.float64).reshape(-1, problem.d + 1)[:, :-1]
    return total(ball(v) ** 2 for v in planes.ravel()) / 2


def costs(problem, C):
    return [ball(C) * ball(s) for s in problem.weight]


def above_zero(u):
    return u if u > 0 else flint.arb(0) if u < 0 else u.max(flint.arb(0))


def log_one_plus_exp(t):
    return (1 + t.exp()).log() if t < 0 else t + (1 + (-t).exp()).log()


# -- objectives -----------------------------------------------------------------------------------


def hinge_objective(problem, a, C, loss="hinge", penalised=None):
    """|w|^2 / 2 + C sum of losses; penalised is the constant feature of a penalised offset."""
    value = half_square(problem, a) + hinge_losses(problem, a, C, loss)
    return value if penalised is None else value + (ball(a[-1]) / ball(penalised)) ** 2 / 2


def hinge_losses(problem, a, C, loss):
    value = flint.arb(0)
    for c, sign, f in zip(costs(problem, C), problem.sign, scores(problem, a)[0]):
        u = above_zero(1 - int(sign) * f)
        value += c * (u if loss == "hinge" else u * u)
    return value


def rivals_objective(problem, a, C):
    value, F = half_square(problem, a), scores(problem, a)
    for i, (c, k) in enumerate(zip(costs(problem, C), problem.label)):
        worst = flint.arb(0)
        for m in range(problem.K):
            if m != k:
                worst = worst.max(1 + F[m][i] - F[k][i])
        value += c * worst
    return value


def logistic_objective(problem, a, C, penalised=None):
    """C = inf: the losses alone."""
    if np.isinf(C):
        return logistic_losses(problem, a, 1.0)
    value = half_square(problem, a) + logistic_losses(problem, a, C)
    return value if penalised is None else value + (ball(a[-1]) / ball(penalised)) ** 2 / 2


def logistic_losses(problem, a, C):
    rows = zip(costs(problem, C), problem.sign, scores(problem, a)[0])
    return total(c * log_one_plus_exp(-int(sign) * f) for c, sign, f in rows)


def softmax_objective(problem, a, C):
    value = flint.arb(0) if np.isinf(C) else half_square(problem, a)
    cost, F = costs(problem, 1.0 if np.isinf(C) else C), scores(problem, a)
    for i, (c, k) in enumerate(zip(cost, problem.label)):
        top = max((F[m][i] for m in range(problem.K)), key=float)
        value += c * (total((F[m][i] - top).exp() for m in range(problem.K)).log() + top - F[k][i])
    return value


# -- what is asked of a proof ---------------------------------------------------------------------


def assert_true(found, objectives):
    """No objective is below the true one, and no bound is above any objective at all.

    found are gaps, objectives the true values of their models and of any others.
    """
    for gap, value in zip(found, objectives):
        assert gap.lower_bound <= gap.objective
        assert gap.objective == np.inf or value <= ball(gap.objective), (gap, value)
    best = max(gap.lower_bound for gap in found)
    for value in objectives:
        assert best == -np.inf or ball(best) <= value, (best, value)


def assert_close(gap, value, size):
    """The objective is no more above the true one than rounding of ``size`` explains."""
    assert ball(gap.objective) - value <= ball(1e-9 * size), (gap, value)
