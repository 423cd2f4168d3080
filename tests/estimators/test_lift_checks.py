"""scikit-learn's checks of transformers, all of them, for lifts."""

from __future__ import annotations

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep


def squares(X):
    return np.hstack([X, X**2])


@parametrize_with_checks([linsep.Lift(), linsep.Lift("x1, 2"), linsep.Lift([squares, "poly(1)"])])
def test_scikit_learn_check(estimator, check):
    check(estimator)
