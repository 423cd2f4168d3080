"""scikit-learn's battery of estimator checks for the least-squares family."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep

_VISITS = (
    "a row that comes twice is visited twice, a weighted one once with a longer step; the paths "
    "differ and both end before the minimum"
)

EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": _VISITS,
    "check_sample_weight_equivalence_on_sparse_data": _VISITS,
}

ESTIMATORS = [
    linsep.LeastSquares(),
    linsep.LeastSquares(solver="gradient", max_iter=200),
    linsep.LeastSquares(solver="widrow-hoff", max_iter=50),
    linsep.HoKashyap(max_iter=200),
]


def expected_failures(estimator: object) -> dict[str, str]:
    """Checks that cannot hold, with the reason."""
    return EXPECTED if getattr(estimator, "solver", "") == "widrow-hoff" else {}


@pytest.mark.filterwarnings("ignore::linsep.errors.NotSeparatedWarning")
@pytest.mark.filterwarnings("ignore::linsep.errors.GapWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures, xfail_strict=True)
def test_scikit_learn_check(estimator, check):
    check(estimator)
