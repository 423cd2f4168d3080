"""What a logistic fit warns of, and data that it refuses, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.certify.survey import survey
from linsep.core import Problem, Status
from linsep.core.words import count, percent
from linsep.errors import DataError, GapWarning, LinsepWarning, NoMaximumWarning

__all__ = ["refuse_weights", "warning_of"]

_LARGEST = 1e100  # costs from which sums of losses may overflow


def refuse_weights(problem: Problem, C: float) -> None:
    """Raise DataError if C times a weight is too large to compute with."""
    largest = float(problem.weight.max())
    cost = largest * (C if np.isfinite(C) else 1.0)
    if cost <= _LARGEST:
        return
    at = problem.sample_of_index(int(problem.weight.argmax()))
    way = "make C that much larger" if np.isfinite(C) else "without a penalty only ratios matter"
    raise DataError(
        f"sample_weight[{at}] is {largest:g}, with class weights, which is too large to compute "
        f"with; divide all weights by it ({way})."
    )


def warning_of(model: Any, problem: Problem) -> tuple[str, type[LinsepWarning]] | None:
    """What to warn of after a fit, if anything."""
    status, gap = model.status_, model.certificate_
    if status is Status.NO_MAXIMUM:
        near = "their likelihood is close to the supremum"
        if min(gap.relative_gap, gap.objective) > max(10 * model.tol, 1e-6):
            near = (
                "how close their likelihood is to the supremum is not known: minus its logarithm "
                f"is {gap.objective:.6g}, and proved to be no less than {gap.lower_bound:.6g}"
            )
        return (
            f"the likelihood has no maximum, because {model.separation_}. The weights given "
            f"are finite and {near}; the proof is in proof_. For finite estimates set C, for "
            "instance C=1."
        ), NoMaximumWarning
    if status in (Status.DIVERGED, Status.PATIENCE):
        return (
            f"{status.value}: the rate eta={model.eta} is too large for these data. Leave eta "
            f"out (1 / L = {_safe_rate(problem, model._cost):.4g} is always small enough), or "
            "scale the columns."
        ), GapWarning
    if gap.relative_gap <= model.tol or model.outcome_.interrupted:
        return None
    hint = "Raise max_iter or time_limit, or scale the columns."
    if status is Status.CONVERGED:
        hint = _why_no_proof(model, problem)
    return (
        f"{status.value} ({status.name}, {count(model.n_iter_, 'pass')}). The objective "
        f"{gap.objective:.6g} is proved to be within {percent(gap.relative_gap, 3)} of the "
        f"best possible one; tol asks for {percent(model.tol, 3)}. {hint}"
    ), GapWarning


def _why_no_proof(model: Any, problem: Problem) -> str:
    """Why a fit that has converged without a penalty is not proved to be the best."""
    if model.__dict__.pop("_undecided", False):
        return (
            "Whether a maximum exists was not decided in time: some margins are large. "
            "linsep.separability(X, y) decides; a finite C has a maximum always."
        )
    idle = np.flatnonzero(np.bincount(problem.label, minlength=problem.K) == 0)
    if len(idle):
        return (
            f"Class {problem.classes.tolist()[idle[0]]!r} has no row of positive weight, so the "
            "likelihood has no maximum: leave its rows out, or set a finite C."
        )
    tiny = _tiny_column(problem)
    if tiny is not None:
        return (
            f"The entries of column {problem.feature_name(tiny)!r} are so small that their squares "
            "are rounded to 0: scale the columns, for instance with "
            "sklearn.preprocessing.MaxAbsScaler."
        )
    why = (
        f"{problem.d} columns are too many for a proof"
        if problem.d > 3000
        else "The columns depend on each other up to rounding"
    )
    return f"{why}, so that more cannot be proved: drop some, or set a finite C."


def _tiny_column(problem: Problem) -> int | None:
    """A column with entries other than 0 whose squares underflow."""
    for j in np.flatnonzero(survey(problem).columns < 1e-290).tolist():
        column = problem.matrix[:, [j]]
        if (column.toarray() if problem.sparse else column).any():
            return int(j)
    return None


def _safe_rate(problem: Problem, C: float) -> float:
    from linsep.solvers.gradient_ascent import curvature_bound

    cost, ridge = (1.0, 0.0) if np.isinf(C) else (C, 1.0)
    return 1.0 / curvature_bound(problem, cost, ridge)
