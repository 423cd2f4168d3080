"""scikit-learn's battery of estimator checks for classifiers with kernels; none may fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep

ESTIMATORS = [
    linsep.KernelSVM(),
    linsep.KernelSVM(kernel="poly", degree=2, fit_intercept=True),
    linsep.KernelSVM(kernel=linsep.kernels.RBF(gamma=0.1) + linsep.kernels.Linear()),
    linsep.KernelSVM(kernel="linear"),
    linsep.KernelSVM(kernel="precomputed"),
]


@pytest.mark.filterwarnings("ignore::linsep.errors.GapWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
