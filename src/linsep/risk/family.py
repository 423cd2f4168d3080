"""Structural risk minimisation: of a family of classes the one with the least bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linsep.errors import CapabilityError, DataError, SettingError
from linsep.risk.capacity import VCDimension, vc_dimension
from linsep.risk.intervals import check_level
from linsep.risk.side_by_side import name_models
from linsep.risk.structural import StructuralBound, structural_bound

__all__ = ["StructuralMinimum", "structural_minimum"]


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
    >>> y = np.abs(x[:, 0]) > 0.5
    >>> choice = structural_minimum([1, 2, 3], x, y, estimator=linsep.LinearSVM(C=100.0))
    >>> print(choice)
                  h  on data  capacity    bound
    degree 1      2   0.5000    0.2206   0.7206
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


def _require_fixed_features(model: Any) -> None:
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
