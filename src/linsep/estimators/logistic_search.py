"""A better lower bound for a logistic model than its own margins give: by a better model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linsep.certify.gap import Gap
from linsep.certify.logistic_gap import logistic_gap
from linsep.core import Limits, Problem, drive
from linsep.estimators.logistic_choice import choose_logistic

__all__ = ["bounded_logistic", "bounded_softmax"]

Array = NDArray[np.float64]


def bounded_logistic(
    problem: Problem, a: Array, C: float, intercept: str, constant: float, tol: float,
    limit: float | None,
) -> Gap:  # fmt: skip
    """Bounds of a binary model; where they are wider than tol, ours looks for a better one."""
    report = logistic_gap(problem, a, C, intercept, constant)
    if report.relative_gap <= tol:
        return report
    twin = problem
    if intercept == "penalised":
        twin = _with_constant(problem, constant)
    found = _solved(twin, C, tol, None, limit)
    if intercept == "penalised":
        found = np.append(found[:-2], found[-2] * constant)
    better = logistic_gap(problem, found, C, intercept, constant).lower_bound
    return _raised(report, better)


def bounded_softmax(
    problem: Problem, a: Array, C: float, reference: int | None, tol: float, limit: float | None
) -> Gap:
    """The same for a softmax model."""
    from linsep.certify.softmax_gap import softmax_gap

    report = softmax_gap(problem, a, C, reference=reference)
    if report.relative_gap <= tol:
        return report
    found = _solved(problem, C, tol, reference, limit)
    return _raised(report, softmax_gap(problem, found, C, reference=reference).lower_bound)


def _raised(report: Gap, lower: float) -> Gap:
    return replace(report, lower_bound=min(max(report.lower_bound, lower), report.objective))


def _solved(
    problem: Problem, C: float, tol: float, reference: int | None, limit: float | None
) -> Array:
    solver, _ = choose_logistic(
        problem, "newton", C=C, tol=min(0.1 * tol, 1e-4), seed=0, threads=None,
        reference=reference, eta=None, decay="constant",
    )  # fmt: skip
    return drive(problem, solver, limits=Limits(seconds=limit)).witness.a


def _with_constant(problem: Problem, constant: float) -> Problem:
    """The intercept as the weight of a constant column."""
    column = np.full((problem.n, 1), constant, dtype=problem.matrix.dtype)
    if problem.sparse:
        column = scipy.sparse.csr_array(column)
        matrix = scipy.sparse.hstack([problem.matrix, column], format="csr")
    else:
        matrix = np.hstack([problem.matrix, column])
    return Problem(matrix, problem.sign, sample_weight=problem.weight, fit_intercept=False)
