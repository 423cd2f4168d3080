"""No penalty: more columns than rows, columns and rows that depend on each other."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import linsep
from linsep.core.problem import Problem
from linsep.errors import GapWarning, NoMaximumWarning
from linsep.rows import exact as dependent
from linsep.rows.exact import dependent_columns

INF = float("inf")


@pytest.mark.parametrize("shape", [(20, 60), (30, 3500)])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_twins_of_both_classes_cost_log_two_each(shape, form):
    Z = np.random.default_rng(0).standard_normal(shape)
    X, y = form(np.vstack([Z, Z])), np.arange(2 * len(Z)) < len(Z)
    model = linsep.LogisticRegression(C=INF).fit(X, y)
    assert model.status_.name == "CERTIFIED"
    assert model.certificate_.objective == pytest.approx(2 * len(Z) * np.log(2), rel=1e-3)
    assert model.certificate_.lower_bound <= 2 * len(Z) * np.log(2)
    assert model.certificate_.relative_gap <= 1e-3


def test_some_twins_among_independent_rows():
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((40, 120))
    y = rng.integers(0, 2, 40)
    model = linsep.LogisticRegression(C=INF)
    with pytest.warns(NoMaximumWarning, match="quasi-separable"):
        model.fit(np.vstack([Z, Z[:3]]), np.append(y, 1 - y[:3]))
    assert model.certificate_.lower_bound <= 6 * np.log(2) <= model.certificate_.objective
    assert model.certificate_.relative_gap <= 1e-3


def test_rows_of_a_small_rank_are_proved_like_a_narrow_table():
    rng = np.random.default_rng(2)
    narrow, y = rng.integers(-3, 4, (60, 4)).astype(float), rng.integers(0, 2, 60)
    wide = narrow @ rng.integers(-3, 4, (4, 400))
    model = linsep.LogisticRegression(C=INF).fit(wide, y)
    other = linsep.LogisticRegression(C=INF).fit(narrow, y)
    assert model.status_.name == "CERTIFIED"
    assert model.certificate_.lower_bound <= other.certificate_.objective
    assert model.certificate_.objective == pytest.approx(other.certificate_.objective, rel=1e-3)


def test_weights_that_rounding_eats_are_not_given():
    """Float columns of rank 4 up to rounding: huge weights had a likelihood worse than none."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 1000))
    y = rng.integers(0, 2, 200)
    model = linsep.LogisticRegression(C=INF)
    with pytest.warns((GapWarning, NoMaximumWarning)):
        model.fit(X, y)
    assert model.certificate_.objective <= 200 * np.log(2) * 1.001


def rank(rows):
    """By elimination in fractions."""
    table, count = [[Fraction(v) for v in row] for row in rows], 0
    for j in range(len(table[0]) if table else 0):
        at = next((i for i in range(count, len(table)) if table[i][j]), None)
        if at is None:
            continue
        table[count], table[at] = table[at], table[count]
        for i in range(count + 1, len(table)):
            f = table[i][j] / table[count][j]
            table[i] = [a - f * b for a, b in zip(table[i], table[count])]
        count += 1
    return count


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 6),
    d=st.integers(1, 12),
    r=st.integers(1, 4),
    offset=st.booleans(),
    scale=st.sampled_from([1.0, 1e-3, 0.1]),
)
def test_what_is_kept_spans_all_columns(seed, n, d, r, offset, scale):
    rng = np.random.default_rng(seed)
    X = scale * (rng.integers(-2, 3, (n, r)) @ rng.integers(-2, 3, (r, d)))
    problem = Problem(X, np.arange(n) % 2, fit_intercept=offset)
    dropped = dependent_columns(problem)
    if dropped is None:
        return
    every = np.column_stack([X, np.ones(n)])[:, : problem.width]
    kept = np.setdiff1d(np.arange(problem.width), dropped)
    assert not offset or d in kept
    assert rank(every[:, kept].tolist()) == rank(every.tolist())


def test_a_time_limit_is_kept_on_a_wide_table():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((100, 1000))
    X, y = np.vstack([Z, Z[:5]]), rng.integers(0, 2, 105)
    y[-5:] = 1 - y[:5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = linsep.LogisticRegression(C=INF, time_limit=1.0).fit(X, y)
    assert model.certificate_.lower_bound <= 10 * np.log(2) <= model.certificate_.objective
    assert model.outcome_.seconds < 30


@pytest.mark.parametrize("K", [2, 3])
def test_rows_in_doubt_with_large_margins_are_told_from_those_that_run_away(K):
    """One column is 1 in rows of the last class only; the others have margins of hundreds."""
    rng = np.random.default_rng(5)
    x = np.append(rng.uniform(-60, 60, 200), [-0.5, 0.5, 0.5, -0.5])
    y = np.append((x[:200] > 0).astype(int), [1, 0, 1, 0])
    flag = np.zeros(204)
    if K == 3:
        y[x > 20] = 2
        y[np.abs(x - 20) < 1.5] = rng.integers(1, 3, int((np.abs(x - 20) < 1.5).sum()))
    flag[np.flatnonzero(y == K - 1)[:6]] = 1.0
    model = linsep.LogisticRegression(C=INF)
    with pytest.warns(NoMaximumWarning, match="quasi-separable"):
        model.fit(np.column_stack([x, flag]), y)
    assert model.certificate_.relative_gap <= 1e-3


def test_dummies_of_a_long_table_are_known_to_depend(monkeypatch):
    """More entries than are read one by one, but all of them are small integers."""
    rng = np.random.default_rng(6)
    group = rng.integers(0, 4, 300)
    X = np.eye(4)[group]
    problem = Problem(X, np.arange(300) % 2)
    monkeypatch.setattr(dependent, "_CHECKED_ENTRIES", 100)
    assert dependent_columns(problem).tolist() == [3]
    assert dependent_columns(Problem(X * 0.1, np.arange(300) % 2)) is None
