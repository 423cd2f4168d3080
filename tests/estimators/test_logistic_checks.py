"""scikit-learn's battery of estimator checks for LogisticRegression; no failure is expected."""

from __future__ import annotations

import math

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep

ESTIMATORS = [
    linsep.LogisticRegression(),
    linsep.LogisticRegression(solver="gradient", max_iter=2000),
    linsep.LogisticRegression(C=float("inf")),
]

# On separable data the likelihood has no maximum. The direction given is one of many and depends
# on how often rows are repeated; that the fit says so is tested elsewhere.
_ANY = "no maximum: one of many separating directions"
NO_MAXIMUM = {
    "check_sample_weight_equivalence_on_dense_data": _ANY,
    "check_sample_weight_equivalence_on_sparse_data": _ANY,
}


def expected(estimator):
    return NO_MAXIMUM if math.isinf(estimator.C) else {}


@pytest.mark.filterwarnings("ignore::linsep.errors.GapWarning")
@pytest.mark.filterwarnings("ignore::linsep.errors.NoMaximumWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected)
def test_scikit_learn_check(estimator, check):
    check(estimator)
