"""No number of threads is none: n_jobs=0 is refused, as joblib does."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import linsep
from linsep.errors import SettingError

X, Y = np.array([[0.0], [1.0], [3.0], [4.0], [8.0], [9.0]]), np.array([0, 0, 1, 1, 2, 2])


def estimators():
    """All that take n_jobs, found by their constructors."""
    for name in linsep.__all__:
        thing = getattr(linsep, name)
        if inspect.isclass(thing) and hasattr(thing, "fit"):
            options = inspect.signature(thing.__init__).parameters
            if "n_jobs" in options:
                needs = {"estimator": linsep.Perceptron()} if "estimator" in options else {}
                yield pytest.param(thing, needs, id=name)


FOUND = list(estimators())


def test_they_are_found():
    assert {"LinearSVM", "LogisticRegression", "OneVsRest"} <= {case.id for case in FOUND}


@pytest.mark.parametrize(("kind", "needs"), FOUND)
@pytest.mark.parametrize("bad", [0, -2, 1.5, True, "two"])
def test_refused(kind, needs, bad):
    with pytest.raises(SettingError, match=r"n_jobs.*must be None, -1 for all cores, or a whole"):
        kind(**needs, n_jobs=bad).fit(X, Y)


@pytest.mark.parametrize(("kind", "needs"), FOUND)
@pytest.mark.parametrize("good", [None, -1, 1, 2])
def test_taken(kind, needs, good):
    assert kind(**needs, n_jobs=good).fit(X, Y).predict(X).shape == (6,)


def test_choosing_refuses_it_too():
    with pytest.raises(SettingError, match="n_jobs must be None, -1"):
        linsep.choose(linsep.Perceptron(), X, Y, parameter="max_iter", values=[5, 6], n_jobs=0)
