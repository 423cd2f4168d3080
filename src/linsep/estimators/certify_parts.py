"""Bounds of one plane of another library's model, and of many planes together."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linsep.certify.gap import Gap, Objective, measure
from linsep.certify.l1_gap import l1_gap
from linsep.certify.smooth import ridge_gap
from linsep.core import Limits, Problem, Witness, drive
from linsep.estimators.logistic_search import bounded_logistic
from linsep.estimators.model_objective import Claim
from linsep.estimators.svm_choice import choose_solver, is_small
from linsep.estimators.svm_hard import hard_machine
from linsep.losses.hinge import derivative

__all__ = ["certify_pairs", "certify_plane", "together", "with_constant"]

Array = NDArray[np.float64]

_CLOSE = 1e-8  # gap of the search on small tables, where a few steps more cost nothing


def certify_plane(
    problem: Problem, claim: Claim, a: Array, alpha: Array | None, tol: float, limit: float | None
) -> Gap:
    """The bounds of one plane."""
    objective = claim.objective
    if claim.kind == "logistic":
        report = bounded_logistic(
            problem, a, objective.C, objective.intercept, objective.constant, tol, limit
        )
        return _scaled(report, objective)
    if claim.kind.startswith("l1 "):
        return l1_gap(problem, a, claim.kind.removeprefix("l1 "), objective)
    if claim.kind == "ridge":
        return ridge_gap(problem, a, objective.C, objective.intercept == "free")
    if claim.kind == "perceptron":
        return _criterion(problem, a)
    if alpha is None:
        alpha = _slopes(problem, a, objective)
    report = _measured(problem, a, alpha, objective)
    if report.relative_gap <= tol:
        return report
    better = _searched(problem, objective, tol, limit)
    found = _measured(problem, a, better, objective)
    return found if found.lower_bound > report.lower_bound else report


def _slopes(problem: Problem, a: Array, objective: Objective) -> Array:
    """Dual variables that the margins of the model suggest."""
    if np.isinf(objective.C):
        return np.zeros(problem.n)
    u = 1.0 - problem.sign * (problem.product(a[:-1]) + a[-1])
    return np.asarray(objective.C * problem.weight * derivative(objective.loss, u, 1e-3))


def _measured(problem: Problem, a: Array, alpha: Array, objective: Objective) -> Gap:
    rows = np.flatnonzero(alpha)
    return measure(problem, Witness(a=a, rows=rows, multipliers=alpha[rows]), objective)


def _searched(problem: Problem, objective: Objective, tol: float, limit: float | None) -> Array:
    """Dual variables of a good model, found by our own solver within the time limit."""
    matrix, offset = problem.matrix, objective.intercept == "free"
    if objective.intercept == "penalised":
        matrix = with_constant(problem, objective.constant)
    twin = Problem(matrix, problem.sign, sample_weight=problem.weight, fit_intercept=offset)
    alpha = np.zeros(problem.n)
    if np.isinf(objective.C):
        witness = hard_machine(twin, min(0.1 * tol, 1e-4), Limits(seconds=limit)).witness
    else:
        close = _CLOSE if is_small(twin) else min(0.1 * tol, 1e-4)
        solver, _ = choose_solver(
            twin, "auto", C=objective.C, loss=objective.loss, tol=close, seed=0,
            threads=None, multi_class="one-vs-rest",
        )  # fmt: skip
        witness = drive(twin, solver, limits=Limits(seconds=limit)).witness
    alpha[witness.rows] = witness.multipliers
    return alpha


def with_constant(problem: Problem, constant: float) -> Any:
    """The rows with one more feature, the same for all: a penalised intercept is its weight."""
    matrix = problem.matrix
    column = np.full((problem.n, 1), constant, dtype=matrix.dtype)
    if problem.sparse:
        return scipy.sparse.hstack([matrix, scipy.sparse.csr_array(column)], format="csr")
    return np.hstack([matrix, column])


def _criterion(problem: Problem, a: Array) -> Gap:
    """The perceptron criterion: its least value is 0, at the weights 0 if nowhere else."""
    values = problem.sign * (problem.product(a[:-1]) + a[-1])
    length = float(np.linalg.norm(a[:-1]))
    return Gap(
        objective=float((problem.weight * np.maximum(-values, 0.0)).sum()),
        lower_bound=0.0,
        errors=int((values <= 0).sum()),
        margin=float(values.min()) / length if length > 0 else -np.inf,
        width=2.0 / length if length > 0 else np.inf,
        inside=int((values < 1.0 - 1e-9).sum()),
        words="perceptron criterion: sum of -y f(x) over the rows on the wrong side",
    )


def certify_pairs(
    problem: Problem, claim: Claim, coef: Array, intercept: Array, tol: float, limit: float | None
) -> Gap:
    """One machine for each pair of classes, in scikit-learn's order."""
    parts = []
    share = None if limit is None else limit / max(1, len(coef))
    for place, (first, second) in enumerate(combinations(range(problem.K), 2)):
        rows = np.flatnonzero((problem.label == first) | (problem.label == second))
        pair = Problem(
            problem.matrix[rows],
            np.where(problem.label[rows] == first, 1.0, -1.0),
            sample_weight=problem.weight[rows],
        )
        a = np.append(coef[place], intercept[place])
        parts.append(certify_plane(pair, claim, a, None, tol, share))
    votes = np.zeros((problem.n, problem.K))
    scores = problem.product(coef.T) + intercept
    for place, (first, second) in enumerate(combinations(range(problem.K), 2)):
        votes[:, first] += scores[:, place] > 0
        votes[:, second] += scores[:, place] <= 0
    errors = int((votes.argmax(axis=1) != problem.label).sum())
    return together(parts, errors, f"{len(parts)} machines, one for each pair of classes, each ")


def together(parts: list[Gap], errors: int, words: str) -> Gap:
    """The bounds of several machines as one."""
    return Gap(
        objective=sum(part.objective for part in parts),
        lower_bound=sum(part.lower_bound for part in parts),
        errors=errors,
        margin=min(part.margin for part in parts),
        width=min(part.width for part in parts),
        inside=sum(part.inside for part in parts),
        words=words + parts[0].words,
        parts=tuple(parts),
    )


def _scaled(report: Gap, objective: Objective) -> Gap:
    if objective.scale == 1.0:
        return report
    return replace(
        report,
        objective=objective.scale * report.objective,
        lower_bound=objective.scale * report.lower_bound,
        words=f"{objective.scale:.6g} x ({report.words})",
    )
