"""Bounds of a machine by Crammer and Singer, of linsep or of LIBLINEAR.

A penalised intercept is the weight of a constant feature, so the machine is measured on rows
with that feature and without an intercept.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linsep.certify.gap import Gap, Objective
from linsep.certify.multi_gap import measure_machine
from linsep.core import Limits, Problem, drive
from linsep.errors import ModelError
from linsep.estimators.certify_parts import with_constant
from linsep.estimators.svm_choice import choose_solver

__all__ = ["certify_machine"]

Array = NDArray[np.float64]


def certify_machine(
    problem: Problem, coef: Array, intercept: Array, objective: Objective, alpha: Array | None,
    tol: float, limit: float | None,
) -> Gap:  # fmt: skip
    """Bounds of K weight vectors; alpha of shape (n, K) if the model has dual variables."""
    if np.isinf(objective.C):
        raise ModelError("a machine by Crammer and Singer has no hard margin; C must be finite.")
    twin, blocks = problem, np.column_stack([coef, intercept])
    if objective.intercept == "penalised":
        twin = Problem(
            with_constant(problem, objective.constant), problem.classes[problem.label],
            sample_weight=problem.weight, fit_intercept=False,
        )  # fmt: skip
        blocks = np.column_stack([coef, intercept / objective.constant, np.zeros(problem.K)])
    a = blocks.ravel()
    known = np.zeros((twin.n, twin.K)) if alpha is None else alpha
    report = measure_machine(twin, a, known, objective.C)
    if report.relative_gap > tol:
        searched = _searched(twin, objective.C, min(0.1 * tol, 1e-4), limit)
        other = measure_machine(twin, a, searched, objective.C)
        report = other if other.lower_bound > report.lower_bound else report
    if objective.intercept != "penalised":
        return report
    length = float(np.linalg.norm(coef))
    values = report.margin * float(np.linalg.norm(blocks))  # the least margin itself
    return replace(
        report,
        margin=values / length if length > 0 else -np.inf,
        width=2.0 / length if length > 0 else np.inf,
        words=report.words.split("; ")[0] + "; the intercepts are penalised as the weights of a "
        f"constant feature {objective.constant:g}",
    )


def _searched(problem: Problem, C: float, tol: float, limit: float | None) -> Array:
    """Dual variables of a good machine, found by our own solver within the time limit."""
    solver, _ = choose_solver(
        problem, "auto", C=C, loss="hinge", tol=tol, seed=0, threads=None,
        multi_class="crammer-singer",
    )  # fmt: skip
    witness = drive(problem, solver, limits=Limits(seconds=limit)).witness
    part, row = np.divmod(witness.rows, problem.n)
    alpha = np.zeros((problem.n, problem.K))
    alpha[row, part] = np.where(problem.label[row] == part, 1.0, -1.0) * witness.multipliers
    return alpha
