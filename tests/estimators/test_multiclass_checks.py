"""scikit-learn's battery of estimator checks for the schemes of many classes."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep

_VISITS = (
    "a perceptron visits a repeated row twice and a weighted row once with a longer step; both "
    "end in a separator, but along different paths"
)
_FOLDS = "repeated rows fall into other folds than weighted ones"

ESTIMATORS = [
    linsep.OneVsRest(),
    linsep.OneVsOne(),
    linsep.Kesler(linsep.Perceptron(max_iter=100)),
    linsep.OneVsRest(LogisticRegression()),
    linsep.OneVsOne(calibrate="sigmoid"),
]


def expected_failures(estimator: object) -> dict[str, str]:
    """Checks that cannot hold, with the reason."""
    names = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    if isinstance(getattr(estimator, "estimator", None), linsep.Perceptron):
        return dict.fromkeys(names, _VISITS)
    if estimator.calibrate is not None:
        return dict.fromkeys(names, _FOLDS)
    return {}


@pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures, xfail_strict=False)
def test_scikit_learn_check(estimator, check):
    check(estimator)
