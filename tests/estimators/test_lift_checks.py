"""scikit-learn's checks of transformers, all of them, for lifts."""

from __future__ import annotations

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

import linsep


class Squares:
    """A function whose name holds no address, so that two workers collect the same tests."""

    def __call__(self, X):
        return np.hstack([X, X**2])

    def __repr__(self):
        return "squares"


squares = Squares()


@parametrize_with_checks([linsep.Lift(), linsep.Lift("x1, 2"), linsep.Lift([squares, "poly(1)"])])
def test_scikit_learn_check(estimator, check):
    check(estimator)
