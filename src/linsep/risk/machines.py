"""Planes and linear machines that decide all classes of a problem, and the rows they get wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.signs import row_signs
from linsep.core.problem import Problem

__all__ = ["Plane", "Rows", "constant_rule", "for_all_classes", "no_rule", "wrong_rows"]

Rows = NDArray[np.int64]
Plane = tuple[NDArray[Any], Any]
"""coef and intercept: (d,) and a number for two classes, (K, d) and (K,) for more."""


def wrong_rows(problem: Problem, plane: Plane) -> Rows:
    """Samples that are not strictly on their own side, without doubt."""
    with np.errstate(all="ignore"):
        signs = row_signs(problem, *plane)
    bad = signs.reshape(problem.n, -1) <= 0
    return np.flatnonzero(bad.any(axis=1))


def no_rule(problem: Problem) -> Plane:
    """With an offset the most frequent class for all rows, else the plane that decides nothing."""
    if problem.fit_intercept:
        total = np.bincount(problem.label, weights=problem.weight, minlength=problem.K)
        return constant_rule(problem, int(total.argmax()))
    if problem.binary:
        return np.zeros(problem.d), 0.0
    return np.zeros((problem.K, problem.d)), np.zeros(problem.K)


def constant_rule(problem: Problem, k: int) -> Plane:
    """The same class for every row."""
    if problem.binary:
        return np.zeros(problem.d), 1.0 if k == 1 else -1.0
    intercept = np.zeros(problem.K)
    intercept[k] = 1.0
    return np.zeros((problem.K, problem.d)), intercept


def for_all_classes(problem: Problem, plane: Plane, present: Rows) -> Plane:
    """A plane for some of the classes as one for all: the others never win on these rows."""
    if problem.binary:
        return plane
    coef, intercept = np.asarray(plane[0]), np.asarray(plane[1])
    if coef.ndim == 1:
        coef, intercept = np.array([-coef, coef]), np.array([-intercept, intercept])
    exact = coef.dtype == object or intercept.dtype == object
    wide = np.zeros((problem.K, problem.d), dtype=object if exact else np.float64)
    offset = np.zeros(problem.K, dtype=wide.dtype)
    wide[present], offset[present] = coef, intercept
    for k in set(range(problem.K)) - set(present.tolist()):
        if problem.fit_intercept:  # one below the first class on every row
            wide[k], offset[k] = coef[0], intercept[0] - 1
        else:  # between the first two: below the larger of them, as the own score is
            wide[k] = (coef[0] + coef[1]) / 2
    return wide, offset
