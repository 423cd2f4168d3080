"""scikit-learn's battery of estimator checks for AdditiveSVM.

One check gives negative numbers to every classifier with ``class_weight``, whatever its tags say;
these kernels are not defined there. The same check runs below on the same rows, shifted.
"""

from __future__ import annotations

import pytest
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep

ESTIMATORS = [
    linsep.AdditiveSVM(),
    linsep.AdditiveSVM(kernel="chi2"),
    linsep.AdditiveSVM(kernel="hellinger"),
    linsep.AdditiveSVM(kernel=-3.0),
]


def expected_failures(estimator):
    return {"check_class_weight_classifiers": "gives negative numbers in spite of positive_only"}


@pytest.mark.filterwarnings("ignore::linsep.errors.GapWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: str(e.kernel))
def test_a_heavy_class_takes_all_rows(estimator):
    X, y = make_blobs(centers=2, random_state=0, cluster_std=20)
    X -= X.min()
    model = linsep.AdditiveSVM(kernel=estimator.kernel, class_weight={0: 1000, 1: 0.0001})
    assert (model.fit(X, y).predict(X) == 0).mean() > 0.87
