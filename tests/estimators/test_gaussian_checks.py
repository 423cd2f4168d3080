"""scikit-learn's battery of estimator checks for GaussianClassifier; no failure is expected."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep
from linsep.risk import Histogram, PlugInClassifier

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


@parametrize_with_checks([PlugInClassifier(Histogram(smoothing=0.5))])
def test_scikit_learn_check_of_plug_in_rules(estimator, check):
    check(estimator)
