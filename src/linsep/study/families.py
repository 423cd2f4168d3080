"""The families of a study: which settings are tried, from the middle out, and where none fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from linsep._sklearn import BaseEstimator
from linsep.core.costs import GRAM_COLUMNS
from linsep.core.limits import in_words
from linsep.core.words import count
from linsep.lift.transformer import Lift
from linsep.models.additive_svm import AdditiveSVM
from linsep.models.gaussian import GaussianClassifier
from linsep.models.kernel_svm import KernelSVM
from linsep.models.kozinec import Kozinec
from linsep.models.least_squares import LeastSquares
from linsep.models.linear_svm import LinearSVM
from linsep.models.logistic_regression import LogisticRegression
from linsep.models.perceptron import Perceptron

_COSTS = (1.0, 0.1, 10.0, 0.01, 100.0, 0.001, 1000.0)
_FEWER = (1.0, 0.1, 10.0, 0.01)
_STIFFER = (0.1, 1.0, 0.01, 0.001)
_PASSES = 50  # of the perceptron
_LIFTED = 6000  # features up to which a lift is tried
_SYSTEM = 2.0e11  # operations up to which a system of equations is solved


@dataclass(frozen=True)
class Facts:
    """What the families ask about the data."""

    n: int
    """Rows to train on in a fold."""
    d: int
    """Columns of the matrix that the table becomes."""
    n_classes: int
    sparse: bool
    counts: bool
    """Whether all columns are amounts that are not negative: counts, frequencies, histograms."""
    variance: float
    """Mean variance of the columns."""
    separable: bool | None
    memory: float
    """Bytes that a family may need."""
    random_state: int


@dataclass(frozen=True)
class Family:
    """A kind of model.

    Families stand from the simplest rule to the richest, so the order tells which is simpler.
    """

    name: str
    kind: str
    """baseline, plane, curved, or referee: one that takes no part in the choice."""
    what: str
    settings: Callable[[Facts], Sequence[Any]]
    """Estimators from the one tried first to the one tried last."""
    refuses: Callable[[Facts], str | None] = lambda facts: None
    """Why it is not tried on these data."""
    share: float = 1.0
    """Of the time, beside the others."""
    growth: float = 1.0
    """Seconds grow with this power of the rows."""
    start: float = 0.0
    """Seconds without which it is not begun: machine code may have to be made first."""
    amounts: bool = False
    """Whether it wants the numbers as they stand, not in standard deviations."""


def _costs(make: Callable[[float], Any], costs: Sequence[float] = _COSTS) -> list[Any]:
    return [make(cost) for cost in costs]


def _baseline(facts: Facts) -> list[Any]:
    from sklearn.dummy import DummyClassifier

    return [DummyClassifier(strategy="most_frequent")]


def _gaussian_plane(facts: Facts) -> list[Any]:
    own = [GaussianClassifier("shared", regularization=r) for r in (0.001, 0.1, 1.0)]
    alone = [GaussianClassifier("shared-diagonal", regularization=0.001)]
    return alone if facts.d > GRAM_COLUMNS else own + alone


def _gaussian_curved(facts: Facts) -> list[Any]:
    own = [GaussianClassifier("full", regularization=r) for r in (0.1, 0.001)]
    alone = [GaussianClassifier("diagonal", regularization=0.001)]
    large = facts.d > GRAM_COLUMNS or facts.d * facts.n_classes > 2 * GRAM_COLUMNS
    return alone if large else own + alone


def _gaussian_refuses(facts: Facts) -> str | None:
    size = 8.0 * facts.n * facts.d
    if facts.sparse and size > facts.memory:
        return f"its densities need the sparse matrix written out, {in_words(int(size))}"
    return None


def _squares_refuse(facts: Facts) -> str | None:
    small, large = sorted((facts.n, facts.d))
    operations = float(small) ** 2 * large
    if operations > _SYSTEM:
        return (
            f"its equations of {facts.n} x {facts.d} numbers take about {operations:.0e} operations"
        )
    return None


def _kozinec_refuses(facts: Facts) -> str | None:
    if facts.separable:
        return None
    why = "no plane separates the classes" if facts.separable is False else "nobody knows whether"
    known = "" if facts.separable is False else " a plane separates the classes"
    return f"it looks for the widest gap between classes that a plane separates; {why}{known}"


def _lifted(facts: Facts) -> int:
    return facts.d * (facts.d + 3) // 2


def _lift_refuses(facts: Facts) -> str | None:
    made = _lifted(facts)
    size = 8.0 * facts.n * made
    if facts.sparse or made > _LIFTED or 2 * size > facts.memory:
        return (
            f"all products of {count(facts.d, 'column')} are {made} features, "
            f"{in_words(int(size))} for {facts.n} rows"
        )
    return None


def _counts_refuse(facts: Facts) -> str | None:
    return None if facts.counts else "it compares amounts, and these columns are not all such"


def _scales(facts: Facts) -> list[float]:
    """Scales of the radial kernel, of one digit: 1 / (d variance), and a few times that."""
    middle = 1.0 / (facts.d * facts.variance) if facts.d * facts.variance > 0 else 1.0
    return [float(f"{middle * factor:.0e}") for factor in (1.0, 0.2, 5.0)]


def _radial(facts: Facts) -> list[Any]:
    scales = _scales(facts)
    grid = [(c, 0) for c in (1.0, 10.0)]
    grid += [(10.0, 1), (1.0, 2), (100.0, 0), (100.0, 1), (0.1, 0), (10.0, 2)]
    return [KernelSVM(C=c, gamma=scales[k]) for c, k in grid]


def _referee(facts: Facts) -> list[Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return [HistGradientBoostingClassifier(random_state=facts.random_state)]


def _referee_refuses(facts: Facts) -> str | None:
    if facts.sparse:
        return f"trees want {count(facts.d, 'sparse column')} written out"
    return None


FAMILIES: tuple[Family, ...] = (
    Family("baseline", "baseline", "the commonest class is always answered", _baseline, share=0.1),
    Family(
        "Gaussian, one covariance", "plane",
        "Bayes rule of classes with normal densities of one shape", _gaussian_plane,
        _gaussian_refuses, share=0.6,
    ),
    Family(
        "least squares", "plane", "the plane nearest to labels of 1 and -1",
        lambda facts: [LeastSquares()], _squares_refuse, share=0.5,
    ),
    Family(
        "logistic regression", "plane", "probabilities by a plane",
        lambda facts: _costs(lambda c: LogisticRegression(C=c)), share=3.0,
    ),
    Family(
        "linear SVM", "plane", "the plane of the widest soft margin",
        lambda facts: _costs(lambda c: LinearSVM(C=c)), share=2.0,
    ),
    Family(
        "perceptron with pocket", "plane", "the best plane that the perceptron came across",
        lambda facts: [
            Perceptron(keep="pocket", max_iter=_PASSES, random_state=facts.random_state)
        ],
        share=0.7,
    ),
    Family(
        "Kozinec", "plane", "the plane of the widest margin, no row on its wrong side",
        lambda facts: [Kozinec(eps=0.001)], _kozinec_refuses, share=0.7,
    ),
    Family(
        "histogram kernels", "curved", "a curve for each column, their sum decides",
        lambda facts: [
            make_pipeline(MaxAbsScaler(), AdditiveSVM(kernel, C=cost))
            for cost in _FEWER for kernel in ("intersection", "chi2")
        ],
        _counts_refuse, share=1.0, amounts=True, start=6.0,
    ),
    Family(
        "quadratic lift", "curved", "a plane among the columns, their squares and products",
        lambda facts: _costs(
            lambda c: make_pipeline(Lift("poly(2)"), LogisticRegression(C=c)), _STIFFER
        ),
        _lift_refuses, share=1.5,
    ),
    Family(
        "Gaussian, own covariances", "curved", "Bayes rule of classes with normal densities",
        _gaussian_curved, _gaussian_refuses, share=0.5,
    ),
    Family(
        "RBF kernel SVM", "curved", "likeness to known rows decides", _radial, share=2.0,
        growth=2.0,
    ),
    Family(
        "gradient boosting", "referee", "trees that mend each other's errors; it has no proof",
        _referee, _referee_refuses, share=1.5,
    ),
)  # fmt: skip
"""From the simplest rule to the richest."""

FIRST = (
    "baseline", "logistic regression", "least squares", "Gaussian, one covariance", "linear SVM",
    "gradient boosting",
)  # fmt: skip
"""Tried first, in this order; whatever the time, they are what a reader asks for."""


SURE = ("baseline", "logistic regression")
"""Tried on small tables even if there is no time; the baseline costs nothing on any."""


def in_turn() -> list[Family]:
    """The families as they are tried; those that are long in starting come last."""
    return sorted(
        FAMILIES,
        key=lambda f: (f.start, FIRST.index(f.name) if f.name in FIRST else len(FIRST)),
    )


def code(estimator: Any) -> str:
    """The expression that makes an estimator, its defaults left out.

    >>> from linsep.models.logistic_regression import LogisticRegression
    >>> code(LogisticRegression(C=0.1))
    'linsep.LogisticRegression(C=0.1)'
    """
    if isinstance(estimator, Pipeline):
        return f"make_pipeline({', '.join(code(step) for _, step in estimator.steps)})"
    own = type(estimator).__module__.startswith("linsep.")
    given = ", ".join(f"{name}={value!r}" for name, value in parameters(estimator).items())
    return f"{'linsep.' if own else ''}{type(estimator).__name__}({given})"


def parameters(estimator: Any) -> dict[str, Any]:
    """Settings that are not the defaults, and the cost; those of a pipeline together."""
    if isinstance(estimator, Pipeline):
        return {k: v for _, step in estimator.steps for k, v in parameters(step).items()}
    usual = type(estimator)().get_params(deep=False)
    return {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if (value != usual[name] or name == "C") and not isinstance(value, BaseEstimator)
    }


def imports(estimators: Sequence[Any]) -> list[str]:
    """The lines that the expressions need beside ``import linsep``."""
    found = set()
    for one in _parts(estimators):
        if isinstance(one, Pipeline):
            found.add("from sklearn.pipeline import make_pipeline")
        elif type(one).__module__.startswith("sklearn."):
            home = ".".join(type(one).__module__.split(".")[:2])
            home = "sklearn.feature_extraction.text" if "text" in type(one).__module__ else home
            found.add(f"from {home} import {type(one).__name__}")
    return sorted(found)


def _parts(estimators: Sequence[Any]) -> Iterator[Any]:
    for one in estimators:
        yield one
        if isinstance(one, Pipeline):
            yield from _parts([step for _, step in one.steps])


def are_amounts(X: Any) -> bool:
    """Whether a matrix holds counts or frequencies: nothing negative, whole or mostly zero."""
    values: NDArray[np.float64] = X.data if hasattr(X, "toarray") else np.ravel(X)
    size = math.prod(X.shape)
    if X.shape[1] < 5 or not values.size or values.min() < 0:
        return False
    zeros = 1.0 - np.count_nonzero(values) / size
    return bool(zeros >= 0.5 or (zeros >= 0.1 and (values == np.rint(values)).all()))
