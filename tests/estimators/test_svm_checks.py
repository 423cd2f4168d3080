"""scikit-learn's battery of estimator checks for LinearSVM; no failure is expected."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep

ESTIMATORS = [
    linsep.LinearSVM(),
    linsep.LinearSVM(loss="squared_hinge"),
    linsep.LinearSVM(solver="newton"),
    linsep.LinearSVM(solver="dual-cd"),
    linsep.LinearSVM(solver="proximal-newton", C=10.0),
]


@pytest.mark.filterwarnings("ignore::linsep.errors.GapWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
