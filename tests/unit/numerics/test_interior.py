"""Interior points of a box against Clarabel, and their step against Newton's equations."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from linsep.numerics.interior import Point, box_minimum, predict_and_correct


def quadratic(seed: int, n: int, rank: int):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, rank)) / np.sqrt(rank)
    sign = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    sign[:2] = 1.0, -1.0
    return A @ A.T + 1e-9 * np.eye(n), sign


def clarabel_minimum(Q, top, sign):
    """1/2 a'Qa - sum a by another solver."""
    import clarabel

    n = len(Q)
    bounded = np.flatnonzero(np.isfinite(top))
    rows = [] if sign is None else [sign[None, :]]
    rows += [-np.eye(n), np.eye(n)[bounded]]
    right = np.concatenate([np.zeros(len(rows[0]) if sign is not None else 0), np.zeros(n),
                            top[bounded]])  # fmt: skip
    cones = [] if sign is None else [clarabel.ZeroConeT(1)]
    cones.append(clarabel.NonnegativeConeT(n + len(bounded)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        scipy.sparse.csc_matrix(np.triu(Q)), -np.ones(n),
        scipy.sparse.csc_matrix(np.vstack(rows)), right, cones, settings,
    )  # fmt: skip
    return solver.solve().obj_val


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("C", [1e-3, 0.7, 50.0, np.inf])
def test_the_minimum_is_that_of_clarabel(seed, balanced, C):
    n = 40
    Q, sign = quadratic(seed, n, 60)
    rng = np.random.default_rng(seed + 100)
    top = C * rng.uniform(0.5, 2.0, n)
    if np.isfinite(C):
        top[rng.random(n) < 0.2] = np.inf  # some without an upper bound
    use = sign if balanced else None
    a = box_minimum(Q, top, use)
    assert (a >= 0).all() and (a <= top).all()
    if balanced:
        assert abs(sign @ a) <= 1e-9 * a.sum()
    found, want = 0.5 * a @ Q @ a - a.sum(), clarabel_minimum(Q, top, use)
    assert found == pytest.approx(want, rel=1e-8)


def test_a_path_through_nearly_dependent_rows_with_a_large_bound():
    Q, sign = quadratic(3, 60, 8)
    top = np.full(60, 1e4)
    a = box_minimum(Q, top, sign)
    assert 0.5 * a @ Q @ a - a.sum() == pytest.approx(clarabel_minimum(Q, top, sign), rel=1e-6)


def test_a_matrix_that_is_not_positive_ends_with_a_point_of_the_box():
    top = np.ones(30)
    a = box_minimum(-1e6 * np.eye(30), top)
    assert ((a > 0) & (a < top)).all()


@pytest.mark.parametrize("top", [2.0, np.inf])
def test_a_step_solves_the_linear_equations_of_its_corrected_right_side(top):
    """Against a plain solve of the whole system in (a, low, high)."""
    n = 12
    Q, _ = quadratic(1, n, 20)
    rng = np.random.default_rng(0)
    tops = np.full(n, top)
    bounded = np.isfinite(tops)
    point = Point(
        rng.uniform(0.2, 1.8, n), rng.uniform(0.1, 1.0, n),
        rng.uniform(0.1, 1.0, n) * bounded, tops,
    )  # fmt: skip
    gradient = Q @ point.a - 1.0
    sides = []

    def factor(diagonal):
        def solve(q):
            sides.append(q)
            return np.linalg.solve(Q + np.diag(diagonal), q), None

        return solve

    step = predict_and_correct(point, gradient, factor)
    after, t = step.point, step.length
    assert 0 < t <= 1
    for x in (after.a, after.low, *([after.high, tops - after.a] if np.isfinite(top) else [])):
        assert (x > 0).all()
    # the residual of the dual equation falls by the length of the step, as for Newton's method
    before = gradient - point.low + point.high
    left = Q @ after.a - 1.0 - after.low + after.high
    np.testing.assert_allclose(left, (1 - t) * before, atol=1e-12)
    assert len(sides) == 2 and after.mean() < point.mean()
