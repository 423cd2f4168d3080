"""What the error on the training data promises about new data, for a class of VC dimension h.

With probability at least 1 - eta over the n independent training rows, for all rules of the
class together:
    vapnik     R <= R_emp + sqrt((h (ln(2 n / h) + 1) - ln(eta / 4)) / n)
    relative   R <= R_emp + e / 2 (1 + sqrt(1 + 4 R_emp / e)),  e = 4 (the same fraction)
    counted    R <= R_emp + 1 / n + sqrt((n + 1) ln(2 S / eta)) / n,  S = sum_{k<=h} binom(2 n, k)

Vapnik, The Nature of Statistical Learning Theory (1995), chapter 3; the first is (3) of Burges,
Data Mining and Knowledge Discovery 2 (1998), the second (7.46) of Hastie, Tibshirani, Friedman.
The third is proved in docs/risk.md. h must be known before the data are seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite, log, sqrt
from numbers import Real
from typing import Any, Self

import numpy as np

from linsep.core.words import count
from linsep.errors import CapabilityError, DataError, SettingError
from linsep.risk.capacity import VCDimension, in_steps, vc_dimension
from linsep.risk.intervals import check_level

_TERMS = 10_000  # of a sum that are added one by one
FORMS = ("vapnik", "relative", "counted")


class StructuralBound(float):
    """A bound of the risk, as a float with its parts.

    Attributes
    ----------
    bound : float
        The number itself: empirical risk plus capacity. It may exceed 1.
    capacity : float
        What is added to the empirical risk.
    vacuous : bool
        True if the bound is at least 1, so that it says nothing.
    confidence : float
        1 - eta: the probability, over training samples, that the bound holds.
    rows_needed : int
        With the same h and empirical risk, so many rows make the bound less than 1.
    words : str
        All that in a sentence.
    """

    risk_emp: float
    capacity: float
    vacuous: bool
    confidence: float
    h: float
    n: int
    rows_needed: int
    words: str

    @property
    def bound(self) -> float:
        """The number itself."""
        return float(self)

    @classmethod
    def make(cls, risk_emp: float, h: float, n: int, eta: float, form: str) -> Self:
        """The number with its parts."""
        capacity = _capacity(risk_emp, h, n, eta, form)
        out = cls(risk_emp + capacity)
        out.risk_emp, out.capacity, out.h, out.n = risk_emp, capacity, h, n
        out.vacuous, out.confidence = risk_emp + capacity >= 1, 1 - eta
        out.rows_needed = _rows_needed(risk_emp, h, eta, form)
        out.words = out._sentence()
        return out

    def _sentence(self) -> str:
        parts = f"{self.risk_emp:.4g} on {count(self.n, 'row')} + "
        parts += f"{self.capacity:.4g} for h = {self.h:g}"
        if self.vacuous:
            more = (
                f"; {self.rows_needed} rows would make it less than 1" if self.rows_needed else ""
            )
            return f"vacuous: the bound {float(self):.4g} ({parts}) is not below 1{more}"
        return (
            f"with probability {self.confidence:.6g} at least, the risk is at most "
            f"{float(self):.4g} ({parts})"
        )

    def __str__(self) -> str:
        return self.words


def structural_bound(
    risk_emp: float, h: float, n: int, eta: float = 0.05, *, form: str = "vapnik"
) -> StructuralBound:
    """Bound the risk by the error on n training rows and the VC dimension h.

    Parameters
    ----------
    risk_emp : float
        Share of training rows that are wrong, between 0 and 1.
    h : int
        VC dimension of the class, known before the data: see vc_dimension. A bound from the
        margin of the same data does not count as known before.
    n : int
        Number of independent training rows.
    eta : float, default=0.05
        Probability that the sample is so unlucky that the bound is wrong.
    form : {"vapnik", "relative", "counted"}, default="vapnik"
        "vapnik": the usual form. "relative": better where risk_emp is near zero.
        "counted": proved on the page about risk with all constants; often the smallest.

    Examples
    --------
    >>> from linsep.risk import structural_bound
    >>> bound = structural_bound(0.1, 3, 1000)
    >>> round(bound, 4), round(bound.capacity, 4), bound.vacuous
    (0.264, 0.164, False)
    >>> print(structural_bound(0.0, 11, 20))
    vacuous: the bound 1.216 (0 on 20 rows + 1.216 for h = 11) is not below 1; 37 rows would make
    it less than 1
    """
    numbers: list[tuple[Any, str]] = [(risk_emp, "risk_emp"), (h, "h"), (n, "n")]
    for given, name in numbers:
        if isinstance(given, bool) or not isinstance(given, Real):
            raise SettingError(f"{name} must be a number. Got {given!r} instead.")
    value = float(risk_emp)
    if not 0 <= value <= 1:
        raise SettingError(f"risk_emp must lie between 0 and 1. Got {risk_emp!r} instead.")
    if not (h == inf or (h >= 0 and h == int(h))):
        raise SettingError(f"h must be an integer >= 0 (or infinity). Got {h!r} instead.")
    if not isfinite(n) or n < 1 or n != int(n):
        raise SettingError(f"n must be an integer >= 1, the number of rows. Got {n!r} instead.")
    if form not in FORMS:
        raise SettingError(f"form must be one of {', '.join(FORMS)}. Got {form!r} instead.")
    size = float(h) if h == inf else int(h)
    return StructuralBound.make(value, size, int(n), check_level(eta, "eta"), form)


def _capacity(risk_emp: float, h: float, n: int, eta: float, form: str) -> float:
    if form == "counted":
        return 1 / n + sqrt((n + 1) * (_log_growth(h, 2 * n) + log(2 / eta))) / n
    # beyond h = 2 n all labellings are possible, and the term stays what it is there
    dim = min(h, 2 * n)
    part = ((dim * (log(2 * n / dim) + 1) if dim else 0.0) - log(eta / 4)) / n
    if form == "vapnik":
        return sqrt(part)
    e = 4 * part
    return e / 2 * (1 + sqrt(1 + 4 * risk_emp / e))


def _log_growth(h: float, n: int) -> float:
    """ln sum_{k <= h} binom(n, k), rounded up a little."""
    if h >= n:
        return n * log(2)
    if h > _TERMS:  # the usual bound of the sum
        return min(n * log(2), h * (log(n / h) + 1))
    from scipy.special import gammaln, logsumexp

    k = np.arange(int(h) + 1)
    terms = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return min(n * log(2), float(logsumexp(terms)) * (1 + 1e-9) + 1e-9)


def _rows_needed(risk_emp: float, h: float, eta: float, form: str) -> int:
    """The least n with a bound below 1; 0 when there is none."""
    if risk_emp >= 1 or h == inf:
        return 0
    low, high = 0, 1
    while risk_emp + _capacity(risk_emp, h, high, eta, form) >= 1:
        low, high = high, 2 * high
        if high > 10**15:
            return 0
    while high - low > 1:
        middle = (low + high) // 2
        if risk_emp + _capacity(risk_emp, h, middle, eta, form) >= 1:
            low = middle
        else:
            high = middle
    return high


# -- Structural risk minimisation: of a family of classes the one with the least bound ------------


@dataclass(frozen=True, eq=False)
class StructuralMinimum:
    """Members of a family with their bounds, and the one with the least.

    Attributes
    ----------
    best : name of the member with the least bound
    best_estimator : the fitted member
    names, bounds, estimators : in the order given
    dimensions : the VC dimensions
    eta : float
        Probability that some of the bounds is wrong; each has its part eta / members.
    """

    names: tuple[Any, ...]
    bounds: tuple[StructuralBound, ...]
    dimensions: tuple[VCDimension, ...]
    estimators: tuple[Any, ...]
    eta: float

    @property
    def place(self) -> int:
        """Which member has the least bound; of equals the first."""
        return int(np.argmin([float(b) for b in self.bounds]))

    @property
    def best(self) -> Any:
        """Its name."""
        return self.names[self.place]

    @property
    def best_estimator(self) -> Any:
        """The member itself, fitted."""
        return self.estimators[self.place]

    @property
    def bound(self) -> StructuralBound:
        """Its bound."""
        return self.bounds[self.place]

    def rows(self) -> list[dict[str, Any]]:
        """The table: name, h, empirical risk, capacity, bound, vacuous."""
        return [
            {
                "name": name,
                "h": int(b.h),
                "risk_emp": b.risk_emp,
                "capacity": b.capacity,
                "bound": float(b),
                "vacuous": b.vacuous,
            }
            for name, b in zip(self.names, self.bounds)
        ]

    def frame(self) -> Any:
        """The table as a data frame."""
        import pandas

        return pandas.DataFrame(self.rows())

    def __str__(self) -> str:
        width = max(len(str(name)) for name in self.names)
        lines = [f"{'':{width}}      h  on data  capacity    bound"]
        for name, b in zip(self.names, self.bounds):
            mark = "  vacuous" if b.vacuous else ""
            lines.append(
                f"{name!s:{width}} {b.h:6g} {b.risk_emp:8.4f} {b.capacity:9.4f} {b:8.4f}{mark}"
            )
        end = (
            f"least bound: {self.best}, all bounds hold together with probability {1 - self.eta:g}"
        )
        if self.bound.vacuous:
            end = (
                f"least bound: {self.best}, but it is vacuous and so proves nothing; compare the "
                "members by cross-validation, or give more rows"
            )
        return "\n".join([*lines, end])


def structural_minimum(
    models: Any,
    X: Any,
    y: Any,
    *,
    eta: float = 0.05,
    form: str = "vapnik",
    estimator: Any = None,
) -> StructuralMinimum:
    """Fit every member of a family and choose by empirical risk plus capacity.

    Parameters
    ----------
    models : list of classifiers, list of (name, classifier), dict, or list of int
        Linear classifiers or pipelines that end in one; copies are fitted. Integers are
        degrees of a polynomial lifting before ``estimator``.
    X, y : data
        Two classes.
    eta : float, default=0.05
        Probability that some bound of the family is wrong. Each of the M members gets eta / M,
        since the choice is made after looking at all of them.
    form : str
        As for structural_bound.
    estimator : classifier, optional
        The linear classifier for degrees.

    Notes
    -----
    The capacity is that of the class, not of the margin: h from the margin of these very rows
    is not known before the data, and the bound would not be true for it.

    Examples
    --------
    >>> import numpy as np, linsep
    >>> from linsep.risk import structural_minimum
    >>> x = np.linspace(-1, 1, 400)[:, None]
    >>> y = np.abs(x[:, 0]) > 0.4
    >>> choice = structural_minimum([1, 2, 3], x, y, estimator=linsep.LinearSVM(C=100.0))
    >>> print(choice)
                  h  on data  capacity    bound
    degree 1      2   0.4000    0.2206   0.6206
    degree 2      3   0.0000    0.2512   0.2512
    degree 3      4   0.0000    0.2769   0.2769
    least bound: degree 2, all bounds hold together with probability 0.95
    """
    check_level(eta, "eta")
    members = _members(models, estimator)
    share = eta / len(members)
    y = np.asarray(y)
    bounds, dimensions, fitted = [], [], []
    for _, member in members:
        from sklearn.base import clone

        model = clone(member).fit(X, y)
        _require_fixed_features(model)
        wrong = float(np.mean(np.asarray(model.predict(X)) != y))
        h = vc_dimension(model)
        bounds.append(structural_bound(wrong, h, len(y), share, form=form))
        dimensions.append(h)
        fitted.append(model)
    names = tuple(name for name, _ in members)
    return StructuralMinimum(names, tuple(bounds), tuple(dimensions), tuple(fitted), eta)


# what transformers keep that make features of the data: selection, projection, binning, ...
_LEARNED = (
    "components_",
    "scores_",
    "ranking_",
    "estimator_",
    "estimators_",
    "bin_edges_",
    "quantiles_",
    "lambdas_",
    "bsplines_",
    "encodings_",
)


def _require_fixed_features(model: object) -> None:
    """The class must be known before the data: scaling is, chosen features are not."""
    for name, step in getattr(model, "steps", [])[:-1] if hasattr(model, "named_steps") else []:
        if any(hasattr(step, attribute) for attribute in _LEARNED):
            raise CapabilityError(
                f"the step {name!r} ({type(step).__name__}) makes features of the same data, so "
                "the class was not known before them and the bound would not be true. Fit that "
                "step to other rows, or compare the models by cross-validation."
            )


def _members(models: Any, estimator: Any) -> list[tuple[str, Any]]:
    if isinstance(models, Mapping):
        models = list(models.items())
    models = list(models)
    if not models:
        raise DataError("the family is empty; give at least one model.")
    degrees = [m for m in models if hasattr(m, "__index__")]
    if not degrees:
        return name_models(models)
    if len(degrees) != len(models) or estimator is None:
        raise SettingError(
            "degrees need the classifier that follows them: "
            "structural_minimum([1, 2, 3], X, y, estimator=linsep.LinearSVM())."
        )
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    return [
        (f"degree {d}", make_pipeline(PolynomialFeatures(int(d), include_bias=False), estimator))
        for d in degrees
    ]


# -- Margins and capacities of several models on the same data ------------------------------------


@dataclass(frozen=True, eq=False)
class MarginTable:
    """R, m and the bound of h for several models on the same data."""

    names: tuple[str, ...]
    dimensions: tuple[VCDimension, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary a model."""
        return [
            {"name": name, "R": v.radius, "m": v.margin, "R2/m2": v.ratio, "h": int(v)}
            for name, v in zip(self.names, self.dimensions)
        ]

    def frame(self) -> Any:
        """The table as a data frame."""
        import pandas

        return pandas.DataFrame(self.rows())

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        lines = [f"{'':{width}}        R        m     R^2/m^2  h at most"]
        for name, v in zip(self.names, self.dimensions):
            ratio = "not separated" if v.ratio is None else f"{v.ratio:.6g}"
            lines.append(f"{name:{width}} {v.radius:8.4g} {v.margin:8.4g} {ratio:>11} {int(v):10}")
        return "\n".join(lines)


def compare_margins(models: Any, X: Any, y: Any) -> MarginTable:
    """R, m and the bound of the VC dimension for each of several models.

    Parameters
    ----------
    models : list of classifiers, list of (name, classifier) or dict
        Those that are not fitted are fitted to X and y, as copies.
    X, y : data of two classes

    Examples
    --------
    >>> import linsep
    >>> from linsep.risk import compare_margins
    >>> X, y = linsep.data.load("students")
    >>> print(compare_margins([linsep.Perceptron(), linsep.LinearSVM(C=float("inf"))], X, y))
                      R        m     R^2/m^2  h at most
    Perceptron ...
    LinearSVM ...
    """
    if isinstance(models, Mapping):
        models = list(models.items())
    named = name_models(list(models))
    if not named:
        raise DataError("there are no models to compare; give at least one.")
    dimensions = []
    for _, model in named:
        if hasattr(model, "fit") and not _fitted(model):
            from sklearn.base import clone

            model = clone(model).fit(X, y)
        dimensions.append(vc_dimension(model, X, y))
    return MarginTable(tuple(name for name, _ in named), tuple(dimensions))


def _fitted(model: object) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def name_models(models: list[Any]) -> list[tuple[str, Any]]:
    """(name, model) pairs; a model without a name is called by its class, numbered if needed."""
    out: list[tuple[str, Any]] = []
    for item in models:
        if isinstance(item, tuple | list) and len(item) == 2:
            out.append((str(item[0]), item[1]))
        else:
            out.append((type(in_steps(item)[1]).__name__, item))
    seen: dict[str, int] = {}
    names = [name for name, _ in out]
    for i, (name, model) in enumerate(out):
        if names.count(name) > 1:
            seen[name] = seen.get(name, 0) + 1
            out[i] = (f"{name} {seen[name]}", model)
    return out
