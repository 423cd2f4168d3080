"""A C that multiplies rounding: separable rows are proved, others end with what is known."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

import linsep
from linsep.errors import GapWarning
from linsep.kernels import PowerMean


def pair_of_digits():
    X, y = load_digits(return_X_y=True)
    keep = (y == 3) | (y == 8)
    return X[keep], y[keep]


@pytest.mark.parametrize("C", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("kernel", ["intersection", "chi2", -0.5])
def test_separable_rows_are_certified_at_any_c(kernel, C):
    X, y = pair_of_digits()
    model = linsep.AdditiveSVM(kernel, C=C).fit(X, y)
    assert model.status_.name == "CERTIFIED"
    p = {"intersection": -np.inf, "chi2": -1.0}.get(kernel, kernel)
    K = PowerMean(p).gram(X)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    # the machine is what its dual variables say, and the hard margin's: |w|^2 / 2 is the objective
    np.testing.assert_allclose(
        K @ beta + model.intercept_, model.decision_function(X), atol=1e-8, rtol=1e-8
    )
    assert abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()
    assert 0.5 * beta @ K @ beta == pytest.approx(model.certificate_.objective, rel=2e-3)
    assert (np.where(y == 8, 1, -1) * model.decision_function(X)).min() > 1 - 1e-9


def test_a_case_that_stalled():
    X, y = load_breast_cancer(return_X_y=True)
    model = linsep.AdditiveSVM("intersection", C=1e9, tol=1e-3).fit(X, y)
    assert model.status_.name == "CERTIFIED"


def test_noise_ends_with_what_rounding_allows():
    rng = np.random.default_rng(0)
    X, y = rng.gamma(1.0, 1.0, (60, 3)), rng.integers(0, 2, 60)
    with pytest.warns(GapWarning, match=r"multiplies the rounding errors .* A smaller C"):
        model = linsep.AdditiveSVM("chi2", C=1e12, tol=1e-7, time_limit=3.0).fit(X, y)
    gap = model.certificate_
    assert 0 <= gap.lower_bound <= gap.objective
    assert not model.status_.ok
