"""scikit-learn's battery of estimator checks for classifiers with kernels."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep

ESTIMATORS = [
    linsep.KernelPerceptron(max_iter=100),
    linsep.KernelPerceptron("poly", keep="average", order="shuffle", max_iter=100),
    linsep.KernelSVM(),
    linsep.KernelSVM(kernel="poly", degree=2),
    linsep.KernelSVM(kernel=linsep.kernels.RBF(gamma=0.1) + linsep.kernels.Linear()),
    linsep.KernelSVM(kernel="precomputed"),
]

_VISITS = "a repeated row is visited twice, a weighted row once with a longer step"


def expected_failures(estimator: object) -> dict[str, str]:
    """Checks that cannot hold, with the reason."""
    if isinstance(estimator, linsep.KernelSVM):
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": _VISITS,
        "check_sample_weight_equivalence_on_sparse_data": _VISITS,
    }


@pytest.mark.filterwarnings("ignore::linsep.errors.GapWarning")
@pytest.mark.filterwarnings("ignore::linsep.errors.NotSeparatedWarning")
@pytest.mark.filterwarnings("ignore::linsep.errors.NotPositiveWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures, xfail_strict=True)
def test_scikit_learn_check(estimator, check):
    check(estimator)
