"""One table for all binary problems of a scheme: checked, measured and packed once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from linsep.core import Problem
from linsep.core.parts import against_rest
from linsep.multiclass.machines import is_ours

__all__ = ["duel_of", "part_of", "table_of"]


def table_of(estimator: Any, X: Any, label: NDArray[np.int64], weight: Any) -> Problem | None:
    """The problem of K classes behind those of one class against the rest.

    Whatever the solver would make for each of them alone (lengths of rows and columns, packed
    rows) is made here. None for estimators that look at the rows by themselves: those of other
    libraries, and those with weights of the two sides or targets of their own.
    """
    if not _takes_problems(estimator):
        return None
    table = _problem(estimator, X, label, weight)
    try:
        if not np.isfinite(getattr(estimator, "C", 1.0)):
            return table
        solver = clone(estimator)._solver(part_of(table, 0))[0]
    except (TypeError, ValueError):  # a setting is wrong, as its fit will say
        return None
    if hasattr(solver, "prepare"):
        solver.prepare(table)
    return table


def part_of(table: Problem, k: int) -> Problem:
    """Class k, called 1, against all others, called 0."""
    part = against_rest(table, k)
    part.classes = np.array([0, 1])
    return part


def duel_of(estimator: Any, X: Any, target: NDArray[np.int64], weight: Any) -> Problem | None:
    """The problem of two classes; None as above."""
    return _problem(estimator, X, target, weight) if _takes_problems(estimator) else None


def _problem(estimator: Any, X: Any, label: NDArray[np.int64], weight: Any) -> Problem:
    return Problem(
        X,
        label,
        sample_weight=weight,
        fit_intercept=estimator.fit_intercept,
        check_finite=False,  # the scheme has looked
    )


def _takes_problems(estimator: Any) -> bool:
    named = ("class_weight", "targets")
    return is_ours(estimator) and all(getattr(estimator, name, None) is None for name in named)
