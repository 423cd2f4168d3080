"""scikit-learn's battery of estimator checks for LogisticRegression; no failure is expected."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep

ESTIMATORS = [
    linsep.LogisticRegression(),
    linsep.LogisticRegression(solver="gradient", max_iter=2000),
    linsep.LogisticRegression(C=float("inf")),
]


@pytest.mark.filterwarnings("ignore::linsep.errors.GapWarning")
@pytest.mark.filterwarnings("ignore::linsep.errors.NoMaximumWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
