"""Bounds of logistic models on large tables, and the samples they are computed with."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression as Peer

import linsep
from linsep.core import lanes
from linsep.core.problem import Problem
from linsep.numerics.cholesky import solved
from linsep.proofs.logistic import large_bounds, logistic_gap
from linsep.rows.levels import sample, sample_matrix, sample_sizes
from linsep.rows.reader import _compiled


def table(n=30_000, seed=0):
    """Columns of three kinds; the last is rare and has rows of one class only."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 3)), rng.normal(size=n) * 30 + 5, np.zeros(n)])
    y = np.where(X[:, 0] - X[:, 1] + rng.logistic(size=n) > 0.5, 1, -1)
    X[np.flatnonzero(y < 0)[:40], 4] = 25.0
    return X, y


def objective(X, y, a, C, s):
    m = y * (X.astype(float) @ a[:-1] + a[-1])
    return 0.5 * a[:-1] @ a[:-1] + C * float(s @ np.logaddexp(0.0, -m))


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3])
@pytest.mark.parametrize("form", [np.float64, np.float32, scipy.sparse.csr_matrix, "weights"])
def test_bounds_hold_on_both_sides(C, form):
    X, y = table()
    s = np.ones(len(y))
    if form == "weights":
        s = np.random.default_rng(1).random(len(y)) * 3 + 0.01
    elif form is scipy.sparse.csr_matrix:
        X = form(X)
    else:
        X = X.astype(form)
    dense = X.toarray() if scipy.sparse.issparse(X) else X.astype(float)
    problem = Problem(X, y, sample_weight=s)
    assert sample_sizes(problem)
    peer = Peer(C=C, solver="newton-cholesky", tol=1e-12).fit(dense, y, s)
    best = np.append(peer.coef_[0], peer.intercept_)
    least = objective(dense, y, best, C, s)
    rng = np.random.default_rng(2)
    for noise in (0.0, 1e-4, 1e-2, 0.3):
        a = best + noise * rng.normal(size=6) / np.append(np.abs(dense).max(axis=0), 1.0)
        gap = logistic_gap(problem, a, C, "free")
        assert gap.objective == pytest.approx(objective(dense, y, a, C, s), rel=1e-11)
        assert gap.lower_bound <= least * (1 + 1e-12)
        if noise <= 1e-3:  # half the squared gradient would be far more
            assert gap.objective - gap.lower_bound <= 30 * (gap.objective - least) + 1e-4 * least


def test_without_an_intercept_the_gap_is_closed_as_well():
    X, y = table()
    for tol in (1e-3, 1e-4, 1e-8):
        model = linsep.LogisticRegression(fit_intercept=False, tol=tol).fit(X, y)
        assert model.intercept_ == 0.0 and model.certificate_.relative_gap <= tol
        bounds = large_bounds(
            Problem(X, y, fit_intercept=False), np.append(model.coef_, 0.0), 1.0, tol, free=False
        )
        assert 0 <= bounds.high - bounds.low <= tol * bounds.high


def test_steep_rows_claim_no_entropy():
    """Margins far on the wrong side: the lower bound stays one."""
    X, y = table()
    a = np.array([-40.0, 40.0, 0, 0, 0, 0])
    gap = logistic_gap(Problem(X, y), a, 1.0, "free")
    best = Peer(solver="newton-cholesky", tol=1e-10).fit(X, y)
    least = objective(X, y, np.append(best.coef_[0], best.intercept_), 1.0, np.ones(len(y)))
    assert gap.lower_bound <= least <= gap.objective


def test_certificates_of_other_models_are_tight():
    """A model of scikit-learn at its default tolerance, on columns of different sizes."""
    X, y = table()
    peer = Peer(solver="lbfgs", max_iter=1000).fit(X, y)
    assert linsep.certify(peer, X, y).relative_gap < 1e-3


def test_samples_are_nested_unbiased_and_hold_long_rows():
    X, y = table()
    problem = Problem(X, y)
    small, cost = sample(problem, 500)
    large, _ = sample(problem, 4000)
    assert np.isin(small, large).all() and 250 < len(small) < 750
    assert cost.sum() == pytest.approx(len(y), rel=0.2)
    assert not np.array_equal(small, sample(problem, 500, seed=1)[0])
    index, _, part = sample_matrix(problem, 4000)
    assert np.array_equal(part, X[index])
    long = np.flatnonzero(np.square(X).sum(axis=1) > 2.01 * np.square(X).sum() / 4000)
    assert len(long) and np.isin(long, sample(problem, 4000)[0]).all()


def test_solving_with_columns_of_all_sizes_and_dependent_ones():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(50, 4)) * [1e-150, 1.0, 1e8, 1e100]
    H, p = B.T @ B, rng.normal(size=4)
    scale = np.sqrt(H.diagonal())
    assert solved(H, H @ (p / scale)) * scale == pytest.approx(p, rel=1e-9)
    twice = np.ones((2, 2))
    assert twice @ solved(twice, np.array([2.0, 2.0])) == pytest.approx([2.0, 2.0])
    idle = solved(np.diag([0.0, 4.0]), np.array([1.0, 8.0]))
    assert idle.tolist() == pytest.approx([0.0, 2.0])


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("d", [3, 8, 21])
def test_the_compiled_survey_measures_as_numpy_does(kind, d):
    rng = np.random.default_rng(d)
    X = (rng.normal(size=(700, d)) * 10.0 ** rng.integers(-3, 4, size=d)).astype(kind)
    problem = Problem(X, np.arange(700) % 2)
    found, wide = _compiled(problem, 2), X.astype(float)
    assert found.rows == pytest.approx(np.square(wide).sum(axis=1), rel=1e-13)
    assert found.columns == pytest.approx(np.square(wide).sum(axis=0), rel=1e-13)
    assert found.usable
    X[600, d - 1] = np.nan
    assert not _compiled(Problem(X, np.arange(700) % 2, check_finite=False), 1).usable


def test_a_sample_within_a_larger_one_is_the_same_as_from_all_rows():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60_000, 3)), np.arange(60_000) % 2
    one, other = Problem(X, y), Problem(X, y)
    sample_matrix(one, 9000)
    for mine, fresh in zip(sample_matrix(one, 5000), sample_matrix(other, 5000)):
        assert np.array_equal(mine, fresh)
    index, cost, part = sample_matrix(one, 5000)
    assert np.array_equal(part, X[index]) and len(index) == pytest.approx(5000, rel=0.1)
    assert cost.sum() == pytest.approx(60_000, rel=0.1)


def test_a_tilted_sample_comes_closer_than_a_newton_step():
    """A column of one class alone: its losses are bent too sharply for one Newton step."""
    from linsep.rows.logistic import all_rows
    from linsep.solvers.logistic.newton import Tilted, level_rows, newton_solved, read_level

    X, y = table(100_000)
    problem = Problem(X, y)
    assert len(sample_sizes(problem)) == 2
    everything, sample_rows = (
        all_rows(problem, double=False),
        level_rows(problem, 1, seed=0, threads=None, double=False),
    )

    def read(a, bent, own):
        return read_level(problem, 1, a, curved=bent, own=own, seed=0, threads=None, double=False)

    def value(a):
        now = everything.read(a, offset=True, curved=False, threads=None)
        g = np.append(a[:-1], 0.0) - now.v
        return 0.5 * a[:-1] @ a[:-1] + now.loss, g

    start = np.zeros(6)
    before, g = value(start)
    model = Tilted(problem, sample_rows, read, np.zeros((6, 6)), 1.0, 1.0, own=False)
    tilted, _ = value(start + model.minimum(start, g, 1e-6 * before))
    H = everything.read(start, offset=True, curved=True, threads=None).curvature
    newton, _ = value(start - newton_solved(problem, H, 1.0, 1.0, g))
    best = linsep.LogisticRegression(tol=1e-9).fit(X, y).certificate_.lower_bound
    assert tilted - best < 0.02 * (newton - best)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_a_refused_certificate_leaves_its_pass_to_the_solver(C, monkeypatch):
    """Whatever the certificate says at first, the answer is proved in the end."""
    from linsep.proofs import logistic as logistic_bounds

    X, y = table(100_000)
    plain, calls = logistic_bounds._below, []

    def refuse_once(*args):
        calls.append(1)
        return 0.0 if len(calls) <= 2 else plain(*args)

    monkeypatch.setattr(logistic_bounds, "_below", refuse_once)
    model = linsep.LogisticRegression(C=C).fit(X, y)
    assert model.status_.name == "CERTIFIED"
    assert model.certificate_.relative_gap <= 1e-3


def test_samples_do_not_depend_on_threads_and_grow():
    X, y = table(40_000)
    few, _ = sample(Problem(X, y), 2000, 7, threads=1)
    other, _ = sample(Problem(X, y), 2000, 7, threads=2)
    more, _ = sample(Problem(X, y), 8000, 7)
    np.testing.assert_array_equal(few, other)
    assert set(few) <= set(more)
    assert 1500 < len(few) < 2500


def test_one_job_is_one_thread_in_the_certificate_too(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120_000, 5))
    y = X[:, 0] + rng.logistic(size=len(X)) > 0
    fits = [linsep.LogisticRegression(n_jobs=None).fit(X, y)]

    def two_threads(*args):
        raise AssertionError("a second thread")

    monkeypatch.setattr(lanes, "_share_out", two_threads)
    fits.append(linsep.LogisticRegression(n_jobs=1).fit(X, y))
    with pytest.raises(AssertionError, match="a second thread"), lanes.at_most(2):
        lanes.run_all([int, int])
    assert np.array_equal(fits[0].coef_, fits[1].coef_)
    assert fits[0].certificate_ == fits[1].certificate_
