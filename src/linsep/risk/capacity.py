"""How rich a class of linear rules is: its VC dimension, and what a margin does to it.

Planes in R^n                      h = n + 1 with an offset, n without
Planes that keep a margin m from   h <= min(ceil(R^2 / m^2), n) + 1 with an offset,
rows in a ball of radius R         h <= min(floor(R^2 / m^2), n) without, R around the origin

Vapnik (1995), theorem 5.1; Burges (1998), theorem 6, who rounds up. Rounding down would be wrong:
the corners of an equilateral triangle with R = 1 are labelled in all eight ways with the margin
3/4, and R^2 / m^2 = 16/9 would give h <= 2.
"""

from __future__ import annotations

from math import ceil, floor, inf
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.certify.margins import margin_below
from linsep.certify.signs import row_signs
from linsep.core.problem import Problem
from linsep.core.words import count
from linsep.errors import CapabilityError, DataError, ModelError, SettingError
from linsep.risk.ball import enclosing_ball

__all__ = ["VCDimension", "last_step", "match", "plane_of_model", "vc_dimension"]

_ROUNDING = 1e-9  # by which R^2/m^2 of rounded weights may miss an integer


class VCDimension(int):
    """A VC dimension, or a bound of one, as an int with its ingredients.

    Attributes
    ----------
    n_features : int
        Dimension of the space of the plane, after any lifting.
    fit_intercept : bool
    of_class : int
        n + 1 or n: the VC dimension of all planes, known before any data.
    radius, margin : float or None
        Of the smallest ball that holds the rows (around the origin without an offset), and of
        the model; None without data, margin <= 0 where the model does not separate them.
    ratio : float or None
        R^2 / m^2.
    margin_bound : float or None
        min(R^2 / m^2, n) + 1 before rounding (without an offset: no + 1).
    words : str
        All that in a sentence.
    """

    n_features: int
    fit_intercept: bool
    of_class: int
    radius: float | None
    margin: float | None
    ratio: float | None
    margin_bound: float | None
    words: str

    @property
    def h(self) -> int:
        """The number itself."""
        return int(self)

    @classmethod
    def make(cls, n: int, offset: bool, radius: float | None, margin: float | None) -> Self:
        """The number with its ingredients."""
        extra = int(offset)
        h, ratio, bound = n + extra, None, None
        if radius is not None and margin is not None and margin > 0:
            ratio = (radius / margin) ** 2
            bound = min(ratio, n) + extra
            near = round(ratio) if ratio < 1e15 else 0
            if abs(ratio - near) <= _ROUNDING * near:
                whole: float = near
            else:
                whole = inf if ratio > 1e15 else (ceil(ratio) if offset else floor(ratio))
            h = int(min(whole, n)) + extra
        out = cls(h)
        out.n_features, out.fit_intercept, out.of_class = n, offset, n + extra
        out.radius, out.margin, out.ratio, out.margin_bound = radius, margin, ratio, bound
        out.words = out._sentence()
        return out

    def _sentence(self) -> str:
        kind = "with an offset" if self.fit_intercept else "through the origin"
        known = f"planes {kind} in R^{self.n_features} have VC dimension {self.of_class}"
        if self.margin is None:
            return known
        if self.ratio is None:
            return f"{known}; the model does not separate the rows, so it has no margin"
        return (
            f"R = {self.radius:.6g}, margin {self.margin:.6g}, R^2/m^2 = {self.ratio:.6g}: planes "
            f"with that margin on rows in that ball have VC dimension at most {int(self)} "
            f"(all {known})"
        )

    def __str__(self) -> str:
        return str(int(self))


def vc_dimension(
    model: Any, X: Any = None, y: Any = None, *, fit_intercept: bool | None = None
) -> VCDimension:
    """VC dimension of the class of a linear model, or its bound by the margin on data.

    Parameters
    ----------
    model : fitted linear classifier, pipeline that ends in one, or int
        Of any library, with coef_ and intercept_. After a lifting the dimension of the lifted
        space counts. An int is the number of features.
    X, y : data, optional
        With them the bound of those planes that keep the margin of the model from rows in the
        smallest ball that holds X. It is never above the number without data. Since it
        depends on the data, structural_bound is not true for it.
    fit_intercept : bool, optional
        Whether the plane may have an offset; default: what the model says.

    Returns
    -------
    VCDimension
        An int with R, m and a sentence.

    Examples
    --------
    >>> import linsep
    >>> from linsep.risk import vc_dimension
    >>> vc_dimension(2) + 0, vc_dimension(2, fit_intercept=False) + 0
    (3, 2)
    >>> X, y = [[0, 0, 0], [2, 0, 0], [0, 1, 0], [2, 1, 1]], [0, 1, 0, 1]
    >>> model = linsep.LinearSVM(C=float("inf")).fit(X, y)
    >>> print(vc_dimension(model, X, y).words)
    R = 1.22474, margin 1, R^2/m^2 = 1.5: planes with that margin on rows in that ball have VC
    dimension at most 3 (all planes with an offset in R^3 have VC dimension 4)
    """
    if hasattr(model, "__index__"):
        if isinstance(model, bool) or model < 1:
            raise SettingError(f"the number of features must be at least 1. Got {model!r}.")
        return VCDimension.make(int(model), fit_intercept is not False, None, None)
    lift, last = last_step(model)
    coef, intercept, offset = plane_of_model(last, fit_intercept)
    if X is None and y is None:
        return VCDimension.make(len(coef), offset, None, None)
    if X is None or y is None:
        raise DataError("give both X and y for the bound by the margin, or neither.")
    if lift is not None:
        X = lift.transform(X)
    problem = Problem(X, y, fit_intercept=offset)
    match(last, problem, coef)
    with np.errstate(all="ignore"):
        margin = 0.0
        if (row_signs(problem, coef, intercept) > 0).all():
            margin = margin_below(problem, coef, intercept)
        if offset:
            radius = enclosing_ball(problem.matrix).radius
        else:
            radius = float(np.sqrt(problem.squared_lengths.max()))
    return VCDimension.make(problem.d, offset, radius, margin)


def last_step(model: Any) -> tuple[Any, Any]:
    """What comes before the classifier (None for nothing), and the classifier."""
    model = getattr(model, "best_estimator_", model)
    if not hasattr(model, "named_steps"):
        return None, model
    before = model[:-1]
    return (before if len(before.steps) else None), model.steps[-1][1]


def plane_of_model(model: Any, fit_intercept: bool | None) -> tuple[NDArray[Any], float, bool]:
    """Weights, offset, and whether the class has offsets."""
    name = type(model).__name__
    coef = getattr(model, "coef_", None)
    if coef is None:
        if hasattr(model, "fit") and not any(k.endswith("_") for k in vars(model)):
            raise ModelError(f"{name} is not fitted; call fit first.")
        raise CapabilityError(
            f"{name} has no coef_, so it is not a linear rule of its inputs; its VC dimension is "
            "not known here (with an RBF kernel it has no limit). Give h to structural_bound "
            "yourself, or fit a linear model after a lifting."
        )
    rows = np.atleast_2d(coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef))
    if len(rows) != 1:
        raise CapabilityError(
            f"{name} has {len(rows)} weight vectors; the VC dimension belongs to rules of two "
            "classes. Take one class against the rest."
        )
    intercept = float(np.ravel(getattr(model, "intercept_", 0.0))[0])
    if not (np.isfinite(rows).all() and np.isfinite(intercept)):
        raise ModelError(f"{name} has weights that are not finite: {rows[0]}, {intercept}.")
    if fit_intercept is None:
        fit_intercept = bool(getattr(model, "fit_intercept", True)) or intercept != 0
    if not fit_intercept and intercept != 0:
        raise SettingError(f"fit_intercept is False, but {name} has the intercept {intercept:g}.")
    return np.asarray(rows[0], dtype=np.float64), intercept, fit_intercept


def match(model: Any, problem: Problem, coef: NDArray[Any]) -> None:
    """ModelError unless the model belongs to data of this width and these classes."""
    if problem.d != len(coef):
        raise ModelError(
            f"the model has {len(coef)} weights, X has "
            f"{count(problem.d, 'column')}; give the data it was "
            "fitted to."
        )
    if problem.K != 2:
        raise DataError(f"y has {problem.K} classes; the VC dimension belongs to two.")
    known = getattr(model, "classes_", None)
    if known is not None and list(np.asarray(known).tolist()) != problem.classes.tolist():
        raise ModelError(
            f"the model knows the classes {list(known)}, y has {problem.classes.tolist()}."
        )
