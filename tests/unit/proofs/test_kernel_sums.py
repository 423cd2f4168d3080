"""Sums of kernel values for a proof: float32 with a bound of its errors, float64 where needed."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse

from linsep import KernelSVM
from linsep.core.costs import FLOAT32_VALUES
from linsep.core.problem import Problem
from linsep.kernels import RBF, Linear
from linsep.kernels.blocks import KernelValues
from linsep.models.kernel_base import sure_sums, sure_winners, votes_and_sums
from linsep.proofs.kernel import kernel_gap, rough_sums, sums_of

N = 2500


def values_of(rate, scale=1.0, sparse=False, d=12):
    rng = np.random.default_rng(1)
    X = scale * rng.normal(size=(N, d))
    if sparse:
        X = scipy.sparse.csr_array(np.where(rng.random(X.shape) < 0.3, 1.0, 0.0))
    y = np.where(rng.random(N) < 0.5, 1.0, -1.0)
    return KernelValues(Problem(X, y), RBF(gamma=rate)), y, rng


@pytest.mark.parametrize("machines", [1, 6])
@pytest.mark.parametrize(
    ("rate", "scale", "sparse"), [(0.05, 1.0, False), (2.0, 1.0, False), (1e-3, 30.0, False),
                                  (0.1, 1.0, True)]
)  # fmt: skip
def test_errors_of_float32_are_within_their_bounds(rate, scale, sparse, machines):
    values, _, rng = values_of(rate, scale, sparse)
    coef = rng.normal(size=(N, machines)) * (rng.random((N, 1)) < 0.8)
    rough = rough_sums(values, coef)
    some = np.arange(N) if machines > 1 else np.flatnonzero(coef[:, 0] == 0)
    used = np.flatnonzero(coef.any(axis=1))
    exact = values.block(some, used) @ coef[used]
    off = np.abs(rough.sums[some] - exact)
    assert (off <= rough.error[some]).all()
    assert off.max() > 0
    assert rough.error[some].max() < 0.05 * np.abs(exact).max()


def test_float32_is_left_alone_where_it_brings_nothing_or_its_errors_are_not_known():
    values, _, rng = values_of(0.1)
    assert rough_sums(values, np.eye(N, 1)) is None  # one support vector
    full = rng.normal(size=(N, 1))
    values.kernel = Linear()
    assert rough_sums(values, full) is None
    far, _, _ = values_of(100.0, 1e3)  # gamma |x|^2 beyond what products of rows resolve
    assert rough_sums(far, full) is None


@pytest.mark.parametrize("scale", [1e-21, 1e-20, 3e18])
def test_float32_is_left_alone_where_squares_or_rates_leave_its_range(scale):
    """Squares of such rows underflow in float32: distances would be 0, and bounds too."""
    values, _, rng = values_of(0.1 / scale**2, scale)
    full = rng.normal(size=(N, 2))
    assert rough_sums(values, full) is None


def test_half_of_a_symmetric_matrix_gives_the_same_sums():
    values, _, rng = values_of(0.1)
    ids, coef = np.sort(rng.permutation(N)[:1300]), rng.normal(size=1300)
    assert np.allclose(
        values.combine_symmetric(ids, coef), values.combine(ids, coef, ids), rtol=0, atol=1e-11
    )


def test_a_proof_with_float32_is_that_without():
    values, y, rng = values_of(0.05)
    alpha = np.where(rng.random(N) < 0.7, rng.random(N), 0.0)
    rough = rough_sums(values, (alpha * y)[:, None])
    ids, cost = np.arange(N), np.ones(N)
    for b in (0.0, 40.0):  # with 40 most rows of one class are safely behind the edge
        known = rough.sums[:, 0], rough.error[:, 0]
        plain = kernel_gap(values, ids, y, cost, alpha, b)
        quick = kernel_gap(values, ids, y, cost, alpha, b, rough=known)
        assert quick.objective == pytest.approx(plain.objective, rel=1e-11)
        assert quick.lower_bound == pytest.approx(plain.lower_bound, rel=1e-11)
        assert (quick.errors, quick.inside) == (plain.errors, plain.inside)
    _, more = sums_of(values, ids, y, alpha * y, 40.0, known)
    assert 0 < np.count_nonzero(more) < N


def test_rows_that_float32_cannot_tell_are_computed_again():
    values, y, rng = values_of(0.05)
    alpha = np.where(rng.random(N) < 0.7, rng.random(N), 0.0)
    wrong = np.full(N, 1e6) * y, np.full(N, 1e7)  # far off, and it says so
    s, more = sums_of(values, np.arange(N), y, alpha * y, 0.0, wrong)
    used = np.flatnonzero(alpha)
    exact = values.block(np.arange(N), used) @ (alpha * y)[used]
    assert np.allclose(s, exact, rtol=0, atol=1e-10)
    assert not more.any()


def test_sums_that_are_wrong_without_saying_so_are_not_used():
    """Sums of other rows."""
    values, y, rng = values_of(0.05)
    alpha, ids = np.where(rng.random(N) < 0.7, rng.random(N), 0.0), np.arange(N)
    used = np.flatnonzero(alpha)
    wrong = values.block(ids, np.roll(used, 1)) @ (alpha * y)[used], np.full(N, 1e-3)
    s, more = sums_of(values, ids, y, alpha * y, 40.0, wrong)
    assert np.allclose(s, values.block(ids, used) @ (alpha * y)[used], rtol=0, atol=1e-10)
    assert not more.any()


@pytest.mark.parametrize("classes", [2, 3])
def test_quick_predictions_are_those_of_the_decision_function(classes):
    rng = np.random.default_rng(2)
    X, new = rng.normal(size=(1500, 5)), rng.normal(size=(3500, 5))
    y = rng.integers(0, classes, 1500)  # nothing to learn: nearly all rows are support vectors
    model = KernelSVM(C=1.0, gamma=0.1, tol=0.1).fit(X, y)
    assert len(new) * len(model.support_) >= FLOAT32_VALUES
    values = model.decision_function(new)
    found = values.argmax(axis=1) if classes > 2 else (values >= 0).astype(int)
    assert (model.predict(new) == found).all()
    coef, offset = model._columns()
    quick = sure_sums(model.kernel_, new, model.support_vectors_, coef, offset)
    exact = model._pair_values(new)
    if classes == 2:
        assert ((quick >= 0) == (exact >= 0)).all()
    assert 0 < np.abs(quick - exact).max() < 1e-3  # float32 was at work


def test_a_winner_is_sure_whatever_the_errors_are():
    rng = np.random.default_rng(3)
    raw, error = rng.normal(size=(300, 6)), rng.random((300, 6))
    error[:50] = np.inf
    winner = sure_winners(raw, error)
    assert (winner[:50] == -1).all()
    sure = np.flatnonzero(winner >= 0)
    assert 5 < len(sure) < 250
    for _ in range(20):
        moved = raw[sure] + error[sure] * rng.choice([-1, 1], size=(len(sure), 6)) * 0.999
        assert (votes_and_sums(moved, 4).argmax(axis=1) == winner[sure]).all()
    unsure = np.setdiff1d(np.arange(50, 300), sure)  # some error takes a vote away from the best
    best = votes_and_sums(raw, 4).argmax(axis=1)
    for i in unsure:
        own = [k for k, pair in enumerate(combinations(range(4), 2)) if best[i] in pair]
        side = np.array([1 if best[i] == pair[1] else -1 for pair in combinations(range(4), 2)])
        assert (side[own] * raw[i, own] <= error[i, own]).any()


def test_sums_are_made_of_the_machines_a_row_takes_part_in():
    values, _, rng = values_of(0.1)
    coef = rng.normal(size=(N, 3))
    coef[:800, 2] = coef[800:1600, 1] = coef[1600:, 0] = 0.0  # pairs of three classes
    groups = [
        (np.arange(800), np.array([0, 1])),
        (np.arange(800, 1600), np.array([0, 2])),
        (np.arange(1600, N), np.array([1, 2])),
    ]
    some, full = rough_sums(values, coef, groups), rough_sums(values, coef)
    for rows, columns in groups:
        other = np.setdiff1d([0, 1, 2], columns)
        assert np.isinf(some.error[rows][:, other]).all()
        place = rows[:, None], columns
        assert np.allclose(some.sums[place], full.sums[place], atol=1e-3)
        assert (np.abs(some.sums - full.sums)[place] <= (some.error + full.error)[place]).all()


def test_huge_terms_that_cancel_hide_no_error_of_the_sums(monkeypatch):
    """Both ways to the sums agree to ten digits, of which none is left in their difference."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(16, 2)), 2, axis=0)  # equal rows of two classes
    y = np.tile([1.0, -1.0], 16)
    values = KernelValues(Problem(X, y), RBF(gamma=0.1))
    alpha, cost = np.where(np.arange(32) < 28, 1e9, 0.0), np.where(np.arange(32) < 28, 1.0, 1e12)
    honest = KernelValues.combine

    def swayed(self, used, coef, rows):
        more = np.where(alpha[rows] == 0, y[rows], 0.0)
        return honest(self, used, coef, rows) + 1e-10 * np.abs(coef).sum() * more

    monkeypatch.setattr(KernelValues, "combine", swayed)
    found = kernel_gap(values, np.arange(32), y, cost, alpha, 0.0)
    assert found.objective >= cost.sum() * (1 - 1e-6)  # f is 0 everywhere: each loss is 1
