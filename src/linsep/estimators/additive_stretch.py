"""A machine made a little longer, where a huge C multiplies what is lost to rounding.

With margins of 1 - 1e-13 and C = 1e9 the losses of a thousand rows are as large as the rest of
the objective. The machine s f with s = 1 + 1e-12 has none, and |w|^2 grows by 2e-12 of itself.
alpha becomes s alpha, which must stay in its box: it does where no variable is at its bound.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linsep.certify.additive_gap import scores_and_errors, squared_lengths
from linsep.core import Problem
from linsep.core.parts import each_against_rest
from linsep.estimators.additive_fit import Fitted
from linsep.kernels.additive_function import AdditiveFunction
from linsep.losses.hinge import best_stretch

__all__ = ["rounding_of", "stretched"]

Array = NDArray[np.float64]

_LONGEST = 2.0
_ROUNDED = 1.0 - 1e-14  # the scores of the longer machine are rounded anew


def stretched(problem: Problem, fitted: Fitted, C: float) -> Fitted:
    """Every machine times the best factor from 1 to what its box allows, errors counted."""
    function, offsets, cost = fitted.function, fitted.offsets, C * problem.weight
    scores, off = scores_and_errors(problem, function, offsets)
    squared = squared_lengths(function)
    factors = np.ones(len(offsets))
    for k, part in enumerate([problem] if problem.binary else each_against_rest(problem)):
        safe = (part.sign * scores[:, k] - off[:, k]) * _ROUNDED
        alpha = np.abs(fitted.dual[k])
        used = alpha > 0
        room = float((cost[used] / alpha[used]).min(initial=_LONGEST))
        factors[k] = best_stretch(float(squared[k]), cost, safe, max(1.0, room))
    longer = AdditiveFunction(
        function.power, function.start, function.values, function.coef * factors
    )
    dual = np.clip(fitted.dual * factors[:, None], -cost, cost)
    return replace(fitted, function=longer, offsets=offsets * factors, dual=dual)


def rounding_of(problem: Problem, fitted: Fitted, C: float) -> float:
    """What the errors of the scores, multiplied by C, may add to the objective."""
    scores, off = scores_and_errors(problem, fitted.function, fitted.offsets)
    cost, total = C * problem.weight, 0.0
    for k, part in enumerate([problem] if problem.binary else each_against_rest(problem)):
        near = part.sign * scores[:, k] < 1.0 + off[:, k]
        total += float((cost * off[:, k])[near].sum())
    return total
