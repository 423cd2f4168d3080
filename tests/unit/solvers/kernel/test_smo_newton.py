"""Steps of all free variables of a kernel machine at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep import KernelSVM
from linsep.solvers.kernel import smo
from linsep.solvers.kernel.smo import newton_set


def problem(seed, m, rank, C):
    """A Gram matrix of low or full rank with twins, and a feasible point."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, rank))
    X[m // 2 :] = np.where(rng.random((m - m // 2, 1)) < 0.2, X[: m - m // 2], X[m // 2 :])
    K = X @ X.T + (rank >= 20) * np.eye(m)
    y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    a = np.minimum(C, rng.exponential(size=m)) * (rng.random(m) < 0.6)
    plus, minus = a[y > 0].sum(), a[y < 0].sum()
    a = a * np.where(y > 0, min(1, minus / max(plus, 1e-30)), min(1, plus / max(minus, 1e-30)))
    return K, y, np.full(m, C), a, K @ (a * y) - y


def dual(K, y, a):
    return a.sum() - 0.5 * (a * y) @ K @ (a * y)


@pytest.mark.parametrize("m", [30, 250])  # a factor in float64, and one in float32
@pytest.mark.parametrize("free", [True, False])
def test_without_bounds_it_is_the_solution_of_the_equations(m, free):
    K, y, _, a, f = problem(1, m, 300, 1.0)
    a = np.full(m, 1e3)
    a = a * np.where(y > 0, (y < 0).sum() / m, (y > 0).sum() / m)  # balanced, far from bounds
    f = K @ (a * y) - y
    new = newton_set(K, y, np.full(m, 1e9), a, f, with_offset=free)
    inside = new > 0
    left = K @ (new * y) - y
    offset = -left[inside].mean() if free else 0.0
    # all rows whose variable did not end at a bound have y f(x) = 1
    assert np.abs(left[inside] + offset).max() < 1e-6 * np.abs(f).max()
    if free:
        assert abs(new @ y) < 1e-9 * new.sum()


@settings(max_examples=80)
@given(
    st.integers(0, 2**32 - 1), st.integers(4, 60), st.integers(1, 40),
    st.sampled_from([1e-6, 0.01, 1.0, 1e6, np.inf]), st.booleans(),
)  # fmt: skip
def test_a_step_stays_in_the_box_and_never_loses(seed, m, rank, C, free):
    K, y, c, a, f = problem(seed, m, rank, C)
    new = newton_set(K, y, c, a, f, with_offset=free)
    if new is None:
        return
    assert (new >= 0).all() and (new <= c).all()
    size = 1 + abs(dual(K, y, a)) + np.abs(K).max() * a.sum() ** 2 + new.sum()
    assert dual(K, y, new) >= dual(K, y, a) - 1e-9 * size
    if free:
        assert abs(new @ y - a @ y) <= 1e-9 * (1 + new.sum() + a.sum())


def test_most_random_problems_have_a_step():
    found = [
        newton_set(*problem(seed, 40, 60, 1.0), with_offset=True) is not None for seed in range(20)
    ]
    assert sum(found) >= 15


def test_no_factor_no_step():
    K = -np.eye(60)
    y = np.where(np.arange(60) < 30, 1.0, -1.0)
    assert (
        newton_set(K, y, np.ones(60), np.full(60, 0.5), K @ (0.5 * y) - y, with_offset=True) is None
    )


@pytest.mark.parametrize("C", [0.3, 1.0, 30.0, np.inf])
@pytest.mark.parametrize("intercept", [True, False])
def test_machines_are_the_same_in_fewer_rounds(monkeypatch, C, intercept):
    rng = np.random.default_rng(4)
    X = np.abs(rng.normal(size=(1400, 40)))
    y = X @ rng.normal(size=40) > 0
    K = np.minimum(X[:, None, :], X[None]).sum(axis=2)
    K[np.diag_indices(1400)] += 1.0
    make = KernelSVM(C, kernel="precomputed", tol=1e-7, fit_intercept=intercept)
    quick = make.fit(K, y)
    rounds, certificate = quick.n_iter_, quick.certificate_
    monkeypatch.setattr(smo, "_SETTLED", -1.0)
    slow = make.fit(K, y)
    assert certificate.relative_gap <= 1e-7 and slow.certificate_.relative_gap <= 1e-7
    assert certificate.lower_bound <= slow.certificate_.objective
    assert slow.certificate_.lower_bound <= certificate.objective
    if C > 0.3:
        assert rounds < 0.8 * slow.n_iter_
