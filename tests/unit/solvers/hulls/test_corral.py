"""The corral of a nearest-point search: which rows it is offered, and what it makes of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import nnls

from linsep.core import drive
from linsep.core.compile import Routine
from linsep.core.problem import Problem
from linsep.solvers.hulls.cloud import cone_of, coordinates
from linsep.solvers.hulls.exact import ExactHulls
from linsep.solvers.hulls.nearest import NearestCone, exchange, survey

NONE = np.zeros(0, dtype=np.int64)


def offered(values, side, sides=2, batch=3, rows=NONE):
    """What survey finds: rows, edges and least values."""
    edge, least = np.full(sides, np.inf), np.zeros(sides)
    found = np.zeros(sides * batch, dtype=np.int64)
    count = survey.python(values, side, edge, least, rows, side[rows], len(rows), batch, found)
    return found[:count].tolist(), edge, least


def test_the_rows_of_least_value_come_first():
    rng = np.random.default_rng(0)
    for _ in range(50):
        values = rng.integers(-9, 10, 30).astype(float)
        side = rng.permutation(np.repeat([0, 1, -1], 10))
        rows = np.array([int(np.flatnonzero(side == g)[0]) for g in (0, 1)])
        found, edge, least = offered(values, side, rows=rows)
        expected = []
        for g in (0, 1):
            mine = np.flatnonzero(side == g)
            assert edge[g] == values[rows[g]]
            assert least[g] == values[mine].min()
            order = mine[np.argsort(values[mine], kind="stable")]
            expected.append([r for r in order.tolist() if values[r] < edge[g]][:3])
        gains = edge - least
        first = int(gains[1] > gains[0])
        assert found == expected[first] + expected[1 - first]


def test_values_that_overflowed_spoil_the_least():
    values, side = np.array([1.0, np.nan, 3.0, 4.0]), np.array([0, 0, 1, 1])
    _, _, least = offered(values, side)
    assert np.isnan(least[0])
    assert least[1] == 3.0


def settled(Z, group, groups, goal, batches):
    """A corral after rows came in batches: factor, half, rows, groups, multipliers, size."""
    n = len(Z)
    R, U, held = np.zeros((n, n)), np.zeros((2, n)), np.zeros_like(Z)
    rows, kind, shares = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n)
    k = 0
    for batch in batches:
        new = np.setdiff1d(batch, rows[:k])
        end = k + len(new)
        held[k:end], rows[k:end], kind[k:end] = Z[new], new, group[new]
        products = np.ascontiguousarray(held[k:end] @ held[:end].T)
        toward = held[k:end] @ goal
        worst = int(new[0]) if len(new) else -1
        k = exchange.python(R, U, held, rows, kind, shares, k, groups, products, toward, worst)
    return R[:k, :k], U[:, :k], held[:k], rows[:k], kind[:k], shares[:k]


@pytest.mark.parametrize("groups", [0, 1, 2])
def test_the_factor_stays_that_of_the_rows_held(groups):
    rng = np.random.default_rng(groups)
    for _ in range(20):
        Z = rng.standard_normal((24, 12)) + 0.3
        group = (np.arange(24) % 2) * (groups == 2)
        goal = rng.standard_normal(12)
        first = np.array([0, 1])
        batches = [first, *(rng.choice(24, 5, replace=False) for _ in range(6))]
        R, U, held, rows, kind, shares = settled(Z, group, groups, goal, batches)
        assert 0 < len(rows) < 24
        np.testing.assert_array_equal(held, Z[rows])
        np.testing.assert_array_equal(kind, group[rows])
        same = (kind[:, None] == kind) * float(groups > 0)
        np.testing.assert_allclose(np.triu(R).T @ np.triu(R), held @ held.T + same, atol=1e-9)
        right = [kind == 0, kind == 1] if groups else [held @ goal] * 2
        np.testing.assert_allclose(np.triu(R).T @ U.T, np.array(right, float).T, atol=1e-9)
        assert (shares > 0).all()
        rest = held @ (shares @ held - (goal if groups == 0 else 0))
        for g in range(max(groups, 1)):  # no row of a group is nearer than another
            mine = rest[kind == g]
            np.testing.assert_allclose(mine, 0.0 if groups == 0 else mine[0], atol=1e-9)
            if groups:
                assert shares[kind == g].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("warm", [False, True])
def test_the_cone_reaches_what_least_squares_reach(warm):
    rng = np.random.default_rng(5)
    for _ in range(10):
        problem = Problem(rng.standard_normal((40, 20)), np.arange(40) % 2, fit_intercept=False)
        cloud = cone_of(problem)
        active, base = np.arange(15), np.array([20, 21])
        solver = NearestCone(active, base, np.array([8, 9]), batch=3)
        start = rng.choice(active, 4, replace=False) if warm else None
        state = drive(problem, solver, solver.init(problem, start=start)).state
        best, distance = nnls(cloud.take(active).T, state.goal)
        assert distance > 0.1
        assert np.sqrt(state.rest @ state.rest) == pytest.approx(distance)
        assert sorted(state.rows.tolist()) == np.flatnonzero(best > 1e-12).tolist()


def test_the_exact_search_ends_at_the_nearest_points_from_any_start():
    X = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 1.0], [3.0, 1.0], [1.0, 4.0], [2.0, 5.0]])
    problem = Problem(X, [0, 0, 0, 0, 1, 1])
    rng = np.random.default_rng(1)
    for _ in range(20):
        rows = rng.choice(6, int(rng.integers(1, 5)), replace=False)
        state = drive(
            problem,
            ExactHulls(tol=0.0),
            ExactHulls(tol=0.0).init(problem, start=(rows, rng.random(len(rows)))),
        ).state
        assert state.normal == [0, 3]
        for side in (0, 1):
            mine = [m for r, m in zip(state.rows, state.multipliers) if problem.label[r] == side]
            assert sum(mine, Fraction(0)) == 1
            assert min(mine) > 0


def few_points(name):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 70)) * 8 + 1
    if name == "duplicates":
        X[10:20] = X[:10]
    if name == "zeros":
        X[:] = 0
    if name == "far":
        X += 1e5
    return X


@pytest.mark.parametrize("name", ["plain", "duplicates", "zeros", "far"])
@pytest.mark.parametrize("centred", [True, False])
def test_coordinates_have_the_products_of_the_points(name, centred, monkeypatch):
    X = few_points(name)
    n, gram, scale = len(X), X @ X.T, 2.0**-12
    ends = []
    for paid in (False, True):  # Python, then machine code
        monkeypatch.setattr(Routine, "_pays", lambda *_, paid=paid: paid)
        monkeypatch.setattr(coordinates, "_ready", {})
        Z = np.zeros((n, n))
        count = coordinates(gram, scale, centred, np.empty((n, n)), Z, size=1, work=1, alike=True)
        ends.append((count, Z.tobytes()))
    assert ends[0] == ends[1]
    if centred and name in ("zeros", "far"):  # nothing is left of the points beside the mean
        assert count == -1
        return
    ranks = {"plain": n - centred, "duplicates": 20 - centred, "zeros": 0, "far": n}
    assert count == ranks[name]
    C = (X - X.mean(axis=0) if centred else X) * np.sqrt(scale)
    np.testing.assert_allclose(
        Z[:count].T @ Z[:count], C @ C.T, rtol=0, atol=1e-12 * max(1.0, (C @ C.T).max())
    )
