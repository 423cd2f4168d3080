"""After a machine is fitted: its attributes, and what is said about a run that ended early."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from linsep.certify.gap import Objective, feasible
from linsep.core import Outcome, Problem, Status, Witness
from linsep.core.words import count, percent
from linsep.errors import DataError, GapWarning, NotSeparatedWarning
from linsep.estimators.unusable import overflow_words

__all__ = ["NotConvergedWarning", "keep_machine", "warn_inseparable", "warn_unfinished"]

Array = NDArray[np.float64]


class NotConvergedWarning(GapWarning, ConvergenceWarning):
    """A fit ended before its gap was as small as asked for; filters of scikit-learn know it."""


def keep_machine(
    model: Any, problem: Problem, witness: Witness, objective: Objective, outcome: Outcome[Any],
    certificate: Any, status: Status,
) -> None:  # fmt: skip
    """Set the attributes of a fitted model."""
    model._n_fitted, model._C_fitted = problem.n, objective.C
    model.classes_ = problem.classes
    model.coef_, model.intercept_ = problem.split(witness.a)
    support, model.dual_coef_ = _dual(problem, witness, objective, model.multi_class)
    index = problem.row_index
    model.support_ = support if index is None else index[support]
    lengths = np.linalg.norm(model.coef_, axis=1)
    with np.errstate(divide="ignore"):
        width = 2.0 / lengths
    model.margin_width_ = float(width[0]) if problem.binary else width
    # of a machine that does not exist nothing is known about the rows that matter
    known = len(support) > 0 and status is not Status.INSEPARABLE
    model.leave_one_out_bound_ = len(support) / problem.n if known else 1.0
    model.n_updates_ = outcome.state.n_updates
    model.status_, model.certificate_, model.outcome_ = status, certificate, outcome


def _dual(
    problem: Problem, witness: Witness, objective: Objective, kind: str
) -> tuple[NDArray[np.int64], Array]:
    """Support vectors, and y alpha of theirs: in the box, and summing to 0 with an intercept."""
    rows, multipliers = witness.rows, witness.multipliers
    if problem.binary:
        signed = _feasible(problem, rows, problem.sign[rows], multipliers, objective)
        kept = np.flatnonzero(signed)
        return rows[kept], signed[kept][None, :]
    part, row = np.divmod(rows, problem.n)
    used = np.zeros(problem.n, dtype=bool)
    used[row] = True
    support = np.flatnonzero(used)
    full = np.zeros((problem.K, len(support)))
    for k in range(problem.K):
        own = part == k
        sign = np.where(problem.label[row[own]] == k, 1.0, -1.0)
        if kind == "one-vs-rest":
            values = _feasible(problem, row[own], sign, multipliers[own], objective)
        else:
            values = sign * multipliers[own]
        full[k, np.searchsorted(support, row[own])] = values
    kept = np.flatnonzero(full.any(axis=0))
    return support[kept], full[:, kept]


def _feasible(
    problem: Problem, rows: Any, sign: Array, multipliers: Array, objective: Objective
) -> Array:
    """y alpha of some rows, the others being 0."""
    part: Any = SimpleNamespace(sign=sign)
    with np.errstate(over="ignore"):
        cost = objective.C * problem.weight[rows]
    return sign * feasible(part, objective, cost, np.array(multipliers, dtype=np.float64))[0]


def warn_inseparable(model: Any, of: Any) -> None:
    """A hard margin does not exist, and why."""
    which = "" if of is None else f"Class {of} against the rest: "
    warnings.warn(
        f"{which}{model.status_.value}. A hard margin does not exist; choose a finite C. "
        f"The proof is in proof_: {model.proof_}",
        NotSeparatedWarning,
        stacklevel=6,
    )


def warn_unfinished(model: Any, problem: Problem) -> None:
    """Say how far the model is from what was asked for."""
    status, gap = model.status_, model.certificate_
    if status is Status.DIVERGED:
        raise DataError(overflow_words(problem))
    if status.ok or model.outcome_.interrupted:
        return
    proved = (
        f"The objective {gap.objective:.6g} is proved to be within {percent(gap.relative_gap, 3)} "
        f"of the best possible one; tol asks for {percent(model.tol, 3)}."
        if np.isfinite(gap.objective)
        else "Nothing is proved about the objective."
    )
    warnings.warn(
        f"{status.value} ({status.name}, {count(model.n_iter_, 'pass')}). "
        f"{proved} Raise max_iter or "
        "time_limit, lower C, or scale the columns.",
        NotConvergedWarning,
        stacklevel=6,
    )
