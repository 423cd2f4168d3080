"""Where a machine starts from that was fitted before."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.core import Problem
from linsep.solvers.crammer_singer import CrammerSinger
from linsep.solvers.newton_machine import NewtonMachine

__all__ = ["warm_state"]


def warm_state(model: Any, problem: Problem, solver: Any) -> Any:
    """A start for the solver from a fitted model, or None if it had other rows."""
    known = model.dual_coef_.shape[0] == (1 if problem.binary else problem.K)
    same = getattr(model, "_n_fitted", None) == problem.n  # a model of a file does not tell
    if not known or not same or model.coef_.shape[1] != problem.d:
        return None
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
    alpha = np.abs(alpha)
    if problem.binary:
        return model.coef_, model.intercept_, alpha[0]
    return list(zip(model.coef_, model.intercept_, alpha))


def _places(problem: Problem, support: Any) -> Any:
    """Rows of the problem, which leaves out weight zero, by their numbers in X."""
    index = problem.row_index
    if index is None:
        return support
    place = np.searchsorted(index, support)
    inside = np.minimum(place, len(index) - 1)
    return place if bool((index[inside] == support).all()) else None
