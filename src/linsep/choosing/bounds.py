"""Structural bounds of fitted linear models: empirical risk plus a term for the capacity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from linsep.risk import structural_bound, vc_dimension

__all__ = ["Bounds", "structural_bounds"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Bounds:
    """Bounds and VC dimensions, NaN where there are none, and what to know about them."""

    bound: Array
    dimension: Array
    note: str


def structural_bounds(
    models: Sequence[Any],
    empirical: Sequence[float],
    n: int,
    zero_one: bool,
    eta: float,
    weight: Array | None,
) -> Bounds:
    """The bound of each model that is linear in features fixed before the data were seen."""
    bound, dimension = np.full(len(models), np.nan), np.full(len(models), np.nan)
    reasons = []
    for k, (model, risk) in enumerate(zip(models, empirical)):
        reason, h = _dimension(model)
        if not zero_one:
            reason = "it bounds the share of errors only"
        elif weight is not None and np.ptp(weight) > 0:
            reason = "rows of different weights are not a sample of one distribution"
        if reason:
            reasons.append(reason)
            continue
        dimension[k] = h
        # The choice is made after a look at all of them: all bounds are to hold together.
        bound[k] = structural_bound(risk, h, n, eta / len(models))
    if reasons and not np.isfinite(bound).any():
        return Bounds(bound, dimension, f"no structural bound: {reasons[0]}.")
    note = (
        f"with probability {1 - eta:g} over the choice of {n} rows the true risk of every model is "
        "below its bound; a bound of 1 or more promises nothing."
    )
    return Bounds(bound, dimension, note)


def _dimension(model: Any) -> tuple[str, int]:
    """Why there is no VC dimension (or ""), and the VC dimension."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    last = steps[-1]
    if not hasattr(last, "coef_") or not hasattr(last, "classes_"):
        return f"{type(last).__name__} has no coef_, so its capacity is not that of planes", 0
    if len(last.classes_) != 2:
        return "it is known for two classes only", 0
    for step in steps[:-1]:
        if hasattr(step, "components_") or hasattr(step, "scores_"):
            return f"{type(step).__name__} makes features of the same data", 0
    return "", int(vc_dimension(last))
