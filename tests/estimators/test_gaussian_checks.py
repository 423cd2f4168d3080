"""scikit-learn's battery of estimator checks for GaussianClassifier; no failure is expected."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep

ESTIMATORS = [
    linsep.GaussianClassifier(),
    linsep.GaussianClassifier("shared"),
    linsep.GaussianClassifier("diagonal"),
    linsep.GaussianClassifier("shared-diagonal", regularization=0.01),
]


@pytest.mark.filterwarnings("ignore::linsep.errors.DegenerateWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
