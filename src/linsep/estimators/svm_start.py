"""Before a machine is fitted: rows that cannot be worked with, and where to start from."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.certify.survey import survey
from linsep.core import Problem
from linsep.errors import DataError
from linsep.solvers.crammer_singer import CrammerSinger
from linsep.solvers.newton_machine import NewtonMachine

__all__ = ["overflow_words", "refuse_tiny", "refuse_unusable", "warm_state"]

_TINY = 1e-70  # largest entry below which the square of a hard margin's weights may overflow


def refuse_unusable(problem: Problem) -> None:
    """NaN, infinity, and numbers too large for sums of squares, by name and place."""
    if survey(problem).usable:
        return
    problem.check_finite()
    data = problem.matrix.data if problem.sparse else problem.matrix
    if float(max(data.max(), -data.min())) > 1e100:
        raise DataError(overflow_words(problem))


def refuse_tiny(problem: Problem) -> None:
    """Numbers so small that the weights of a hard margin are not among the floating ones."""
    data = problem.matrix.data if problem.sparse else problem.matrix
    largest = float(np.abs(data).max(initial=0.0))
    if 0.0 < largest < _TINY:
        raise DataError(
            f"the largest entry of X is {largest:.3g}, so the weights of a hard margin (C=inf) "
            "overflow. Scale the columns, for instance with sklearn.preprocessing.MaxAbsScaler."
        )


def overflow_words(problem: Problem) -> str:
    """What to say when sums of squares overflow."""
    from linsep.estimators.base import _largest

    return (
        f"the numbers overflowed: {_largest(problem)}. Scale the columns, for instance "
        "with sklearn.preprocessing.MaxAbsScaler."
    )


def warm_state(model: Any, problem: Problem, solver: Any) -> Any:
    """A start for the solver from a fitted model, or None if it had other rows."""
    known = model.dual_coef_.shape[0] == (1 if problem.binary else problem.K)
    same = getattr(model, "_n_fitted", None) == problem.n  # a model of a file does not tell
    if not known or not same or model.coef_.shape[1] != problem.d:
        return None
    if solver.unit == "Newton step" and problem.binary:
        return (model.coef_, model.intercept_)
    support = _places(problem, model.support_)
    if support is None:
        return None
    ratio = float(model.C) / model._C_fitted  # variables at their bound move with it
    if not np.isfinite(ratio):
        return None
    alpha = np.zeros((len(model.dual_coef_), problem.n))
    alpha[:, support] = ratio * model.dual_coef_
    if isinstance(solver, CrammerSinger):
        return alpha.T
    if isinstance(solver, NewtonMachine):
        return model.coef_, model.intercept_, alpha.T
    if problem.binary:
        return np.abs(alpha[0])
    if solver.solver.unit == "Newton step":
        return list(zip(model.coef_, model.intercept_))
    return list(np.abs(alpha))


def _places(problem: Problem, support: Any) -> Any:
    """Rows of the problem, which leaves out weight zero, by their numbers in X."""
    index = problem.row_index
    if index is None:
        return support
    place = np.searchsorted(index, support)
    inside = np.minimum(place, len(index) - 1)
    return place if bool((index[inside] == support).all()) else None
