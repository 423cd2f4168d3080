"""Whether sums over rows of float32 are good enough for a gap."""

from __future__ import annotations

import numpy as np

from linsep.certify.survey import survey
from linsep.core.problem import Problem
from linsep.solvers.packed import NARROW

__all__ = ["want_double"]


def want_double(problem: Problem, cost: float, tol: float, threads: int | None) -> bool:
    """Whether rows of float32 are to be added up in float64.

    A gradient of float32 sums has errors of about a tenth of 2^-24 |C x_j|_1 in column j, and half
    of their squares is a gap that no step can close: columns of 1e5 are enough for that.
    """
    if problem.matrix.dtype != np.float32 or tol < NARROW:
        return tol < NARROW
    total = problem.total_weight
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = survey(problem, threads).column_lengths()
        noise = 0.1 * 2.0**-24 * lengths * (cost * total / np.sqrt(problem.n))
        return not 0.5 * float(noise @ noise) <= 0.03 * tol * cost * total
