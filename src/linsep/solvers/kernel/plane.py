"""A machine with the linear kernel, found as a plane: weights first, dual variables from them.

Problem   that of smo.py for a kernel x . x', with fewer columns than rows
Update    Newton's method or interior points for (w, b), far beyond any tolerance; then the rows on
          the edge of the street give the dual variables by linear equations (hinge/polish.py)
Why       products of badly scaled rows are known to 16 digits of the largest column. On raw tables
          that is not enough to see a gap at all, and steps of two variables take for ever; planes
          need neither products nor scaling
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import NEWTON_COLUMNS, PLANE_INTERIOR, PLANE_WRITTEN_OUT
from linsep.core.limits import tick
from linsep.core.problem import Problem
from linsep.losses.hinge import HINGE
from linsep.numerics.rounding import SPLITTABLE, split_product, sum_of_pairs
from linsep.solvers.hinge.interior import InteriorHinge
from linsep.solvers.hinge.newton import NewtonHinge
from linsep.solvers.hinge.polish import polish

Array = NDArray[np.float64]

_PLANE_GAP = 1e-10  # gap of the plane; that of its dual variables is what counts
_MOST_STEPS = 500  # more are never needed


def may_be_plane(matrix: Any) -> bool:
    """Whether rows of such a shape are better looked at as rows than by their products."""
    n, d = matrix.shape
    return bool(d < n and d <= NEWTON_COLUMNS and n * d <= PLANE_WRITTEN_OUT)


def dense(matrix: Any) -> Array:
    """The rows, written out."""
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)


def plane_variables(X: Array, y: Array, cost: Array, *, with_offset: bool) -> Iterator[Array]:
    """The dual variables of the best plane, by one method and then by another; y are signs, cost
    the bounds of the variables."""
    C = float(cost.max())
    problem = Problem(X, y, sample_weight=cost / C, fit_intercept=with_offset)
    ways: list[Any] = [NewtonHinge(C, HINGE, _PLANE_GAP)]
    if X.size <= PLANE_INTERIOR:  # rounding stops interior points sooner
        ways.insert(0, InteriorHinge(C, HINGE, _PLANE_GAP))
    for solver in ways:
        state = solver.init(problem)
        while not solver.status(state).done and state.steps < _MOST_STEPS:
            tick()
            solver.advance(problem, state, 1)
        found = polish(problem, solver.witness(problem, state), C, HINGE)
        alpha = np.zeros(len(y))
        alpha[found.rows] = found.multipliers
        yield np.clip(alpha, 0.0, cost)


def plane_scores(X: Array, signed: Array) -> Array:
    """X w for w = sum of signed rows, whose entries are rounded once: large terms may cancel."""
    some = np.flatnonzero(signed)
    if not some.size or not max(float(np.abs(X).max()), float(np.abs(signed).max())) < SPLITTABLE:
        return np.asarray(X @ (signed @ X))
    rows, c = X[some], signed[some]
    w = [sum_of_pairs(*split_product(c, column)) for column in rows.T]
    return np.asarray(X @ np.array(w))
