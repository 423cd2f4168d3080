"""Pullbacks of fitted pipelines and of linear models behind a lift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from linsep.errors import CapabilityError, ModelError
from linsep.lift.chain import Chain
from linsep.lift.pullback import Pullback

__all__ = ["pullback", "pullback_of_steps"]

Array = NDArray[np.float64]


def pullback(model: Any) -> Pullback:
    """The boundary of a pipeline that ends in a linear classifier, as a function of its inputs.

    Parameters
    ----------
    model : fitted Pipeline
        Lifts, scalers (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler) and
        PolynomialFeatures in any order keep the function exact where it is a polynomial;
        other transformers are computed.

    Returns
    -------
    Pullback

    Examples
    --------
    >>> import linsep
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = [[-2.0], [-1.0], [0.0], [0.5], [2.0]], [1, 1, 0, 0, 1]
    >>> model = make_pipeline(linsep.Lift("x, x**2"), linsep.Kozinec()).fit(X, y)
    >>> f = linsep.lift.pullback(model)
    >>> [(round(a, 3), round(b, 3), label) for a, b, label in f.intervals()]
    [(-inf, -0.618, 1), (-0.618, 1.618, 0), (1.618, inf, 1)]
    """
    if not isinstance(model, Pipeline):
        raise CapabilityError(
            f"{type(model).__name__} is no pipeline; use lift.pullback(model) with the lift that "
            "made its features."
        )
    steps = [step for _, step in model.steps]
    return pullback_of_steps(steps[:-1], steps[-1])


def pullback_of_steps(steps: Sequence[Any], model: Any) -> Pullback:
    """The same from the fitted steps and the model, or a pair (coef, intercept)."""
    chain = Chain(steps)
    coef, intercept, classes = _plane(model)
    width = chain(np.zeros((1, chain.n_inputs))).shape[1]
    if coef.shape[1] != width:
        raise ModelError(f"the model has {coef.shape[1]} weights, and the lift {width} outputs.")
    return Pullback(chain, coef, intercept, classes)


def _plane(model: Any) -> tuple[Array, Array, NDArray[Any]]:
    if isinstance(model, tuple) and len(model) == 2:
        coef, intercept, classes = model[0], model[1], None
    elif hasattr(model, "coef_"):
        coef, intercept = model.coef_, model.intercept_
        classes = getattr(model, "classes_", None)
    else:
        raise CapabilityError(
            f"{type(model).__name__} has no coef_; fit it first, and give a linear model."
        )
    dense = coef.toarray() if hasattr(coef, "toarray") else coef
    coef = np.atleast_2d(np.asarray(dense, dtype=np.float64))
    offset = np.broadcast_to(np.asarray(intercept, dtype=np.float64).ravel(), len(coef)).copy()
    if not (np.isfinite(coef).all() and np.isfinite(offset).all()):
        raise ModelError("the weights are not finite.")
    if classes is None:
        classes = np.array([-1, 1]) if len(coef) == 1 else np.arange(len(coef))
    classes = np.asarray(classes)
    one_vs_one = type(model).__name__ in ("SVC", "NuSVC") and len(classes) > 2
    if one_vs_one or len(coef) != (1 if len(classes) == 2 else len(classes)):
        raise CapabilityError(
            f"{type(model).__name__} has {len(coef)} planes for {len(classes)} classes; one score "
            "for each class is needed (one vs rest, softmax or a linear machine)."
        )
    return coef, offset, classes
