"""linsep.certify(model, X, y): how far a fitted model is from the best one, with proof."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from linsep.certify.gap import Gap, Objective, measure
from linsep.certify.smooth import ridge_gap
from linsep.core import Limits, Problem, Witness, drive
from linsep.core.parts import against_rest
from linsep.errors import ModelError
from linsep.estimators.kernel_recheck import certify_svc
from linsep.estimators.logistic_search import bounded_logistic, bounded_softmax
from linsep.estimators.model_objective import Claim, claim_of
from linsep.estimators.svm_choice import choose_solver
from linsep.losses.hinge import derivative

__all__ = ["certify_model"]

Array = NDArray[np.float64]


def certify_model(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    tol: float = 1e-3,
    time_limit: float | None = 10.0,
) -> Gap:
    """Bound how far a fitted model is from the best one of its objective.

    Parameters
    ----------
    model : fitted model
        Of linsep or of scikit-learn: LinearSVC, SVC with any kernel, SGDClassifier,
        LogisticRegression (two classes or softmax, with or without a penalty),
        RidgeClassifier, Perceptron; or ``linsep.Linear(coef, intercept)``. Of a pipeline the
        last step is certified, on the rows that it sees.
    X, y : array or sparse matrix, and labels
        The rows it was trained on.
    sample_weight : array, optional
        The weights it was trained with.
    tol : float, default=1e-3
        When the margins of the model itself do not prove it to be this close to the best one, a
        dual solver looks for a better bound.
    time_limit : float or None, default=10.0
        Seconds for that search.

    Returns
    -------
    Gap
        objective, lower_bound, gap, relative_gap, errors, margin; ``words`` names the
        objective. lower_bound is a true lower bound, whatever the model is.

    Examples
    --------
    >>> import linsep
    >>> from sklearn.svm import LinearSVC
    >>> table = linsep.data.load("students")
    >>> other = LinearSVC(loss="hinge", random_state=0).fit(table.X, table.y)
    >>> report = linsep.certify(other, table.X, table.y)
    >>> report.relative_gap < 0.01, report.words.split("; ")[1]
    (True, 'the intercept is penalised as the weight of a constant feature 1')
    """
    steps = getattr(model, "steps", None)
    if isinstance(steps, list):  # a pipeline: its last step, on the rows that it sees
        X, model = (model[:-1].transform(X) if len(steps) > 1 else X), steps[-1][1]
    if hasattr(model, "certificate_for"):  # a likelihood has bounds of its own
        return model.certificate_for(X, y, sample_weight)  # type: ignore[no-any-return]
    y = np.asarray(y)
    if type(model).__name__ == "SVC" and model.kernel != "linear" and hasattr(model, "support_"):
        return certify_svc(model, X, y, sample_weight)
    claim = claim_of(model, len(y))
    weight = _weights(claim, y, sample_weight)
    problem = Problem(X, y, sample_weight=weight, fit_intercept=claim.objective.intercept != "none")
    coef, intercept = _weights_of(model, problem)
    if problem.binary:
        a = np.append(coef[0], intercept[0])
        return _one(problem, claim, a, _alpha(claim, problem, 0), tol, time_limit)
    if claim.kind == "softmax":
        a = np.column_stack([coef, intercept]).ravel()
        return bounded_softmax(problem, a, claim.objective.C, claim.reference, tol, time_limit)
    if claim.pairs:
        return _pairs(problem, claim, coef, intercept, tol, time_limit)
    share = None if time_limit is None else time_limit / problem.K
    by_class = None
    if claim.class_weight is not None and claim.positive_only:
        by_class = _class_weights(claim, problem.classes, y, sample_weight)
    parts = [
        _one(_part(problem, claim, k, by_class), claim, np.append(coef[k], intercept[k]),
             _alpha(claim, problem, k), tol, share)
        for k in range(problem.K)
    ]  # fmt: skip
    scores = problem.product(coef.T) + intercept
    at = np.arange(problem.n)
    own = scores[at, problem.label].copy()
    scores[at, problem.label] = -np.inf
    errors = int((own <= scores.max(axis=1)).sum())
    return _together(parts, errors, f"{problem.K} machines, one class against the rest, each ")


def _one(
    problem: Problem, claim: Claim, a: Array, alpha: Array | None, tol: float, limit: float | None
) -> Gap:
    """The bounds of one plane."""
    objective = claim.objective
    if claim.kind == "logistic":
        report = bounded_logistic(
            problem, a, objective.C, objective.intercept, objective.constant, tol, limit
        )
        return _scaled(report, objective)
    if claim.kind == "ridge":
        return ridge_gap(problem, a, objective.C, objective.intercept == "free")
    if claim.kind == "perceptron":
        return _criterion(problem, a)
    if alpha is None:
        u = (
            1.0 - problem.values(a)
            if objective.intercept != "none"
            else (1.0 - problem.sign * problem.product(a[:-1]))
        )
        alpha = objective.C * problem.weight * derivative(objective.loss, u, 1e-3)
    report = _measured(problem, a, alpha, objective)
    if report.relative_gap <= tol:
        return report
    better = _searched(problem, objective, a, tol, limit)
    found = _measured(problem, a, better, objective)
    return found if found.lower_bound > report.lower_bound else report


def _measured(problem: Problem, a: Array, alpha: Array, objective: Objective) -> Gap:
    rows = np.flatnonzero(alpha)
    return measure(problem, Witness(a=a, rows=rows, multipliers=alpha[rows]), objective)


def _searched(
    problem: Problem, objective: Objective, a: Array, tol: float, limit: float | None
) -> Array:
    """Dual variables of a good model, found by our own solver within the time limit."""
    matrix = problem.matrix
    offset = objective.intercept == "free"
    if objective.intercept == "penalised":
        column = np.full((problem.n, 1), objective.constant, dtype=matrix.dtype)
        if problem.sparse:
            matrix = scipy.sparse.hstack([matrix, scipy.sparse.csr_array(column)], format="csr")
        else:
            matrix = np.hstack([matrix, column])
    twin = Problem(matrix, problem.sign, sample_weight=problem.weight, fit_intercept=offset)
    solver, _ = choose_solver(
        twin, "auto", C=objective.C, loss=objective.loss, tol=min(0.1 * tol, 1e-4), seed=0,
        threads=None, multi_class="one-vs-rest",
    )  # fmt: skip
    outcome = drive(twin, solver, limits=Limits(seconds=limit))
    alpha = np.zeros(problem.n)
    alpha[outcome.witness.rows] = outcome.witness.multipliers
    return alpha


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


def _pairs(
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
        parts.append(_one(pair, claim, a, None, tol, share))
    votes = np.zeros((problem.n, problem.K))
    scores = problem.product(coef.T) + intercept
    for place, (first, second) in enumerate(combinations(range(problem.K), 2)):
        votes[:, first] += scores[:, place] > 0
        votes[:, second] += scores[:, place] <= 0
    errors = int((votes.argmax(axis=1) != problem.label).sum())
    return _together(parts, errors, f"{len(parts)} machines, one for each pair of classes, each ")


def _together(parts: list[Gap], errors: int, words: str) -> Gap:
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


def _weights(claim: Claim, y: NDArray[Any], sample_weight: Any) -> Any:
    """Weights of the rows; one-vs-rest machines of LIBLINEAR and SGD get theirs in ``_part``."""
    classes = np.unique(y)
    if claim.class_weight is None or (claim.positive_only and len(classes) > 2):
        return sample_weight
    by_class = _class_weights(claim, classes, y, sample_weight)
    weight = by_class[np.searchsorted(classes, y)]
    return weight if sample_weight is None else weight * np.asarray(sample_weight)


def _class_weights(claim: Claim, classes: Any, y: Any, sample_weight: Any) -> Array:
    counted = sample_weight if claim.balanced_by_weight else None
    return np.asarray(
        compute_class_weight(claim.class_weight, classes=classes, y=y, sample_weight=counted)
    )


def _part(problem: Problem, claim: Claim, k: int, by_class: Array | None) -> Problem:
    """Class k against the rest; only the rows of class k carry its weight."""
    part = against_rest(problem, k)
    if by_class is not None:
        part.weight = np.where(problem.label == k, problem.weight * by_class[k], problem.weight)
    return part


def _weights_of(model: Any, problem: Problem) -> tuple[Array, Array]:
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ModelError("the model has weights that are NaN or infinite; fit it again.")
    if coef.shape[1] != problem.d:
        raise ModelError(
            f"the model has weights for {coef.shape[1]} features but X has {problem.d} columns."
        )
    known = getattr(model, "classes_", None)
    if known is not None and not np.array_equal(np.asarray(known), problem.classes):
        raise ModelError(
            f"the model knows the classes {list(known)} but y has {list(problem.classes)}."
        )
    K = problem.K
    if len(coef) not in ((1,) if problem.binary else (K, K * (K - 1) // 2)):
        raise ModelError(f"the model has {len(coef)} planes but y has {K} classes.")
    return coef, np.broadcast_to(intercept, (len(coef),)).copy()


def _alpha(claim: Claim, problem: Problem, k: int) -> Array | None:
    """The model's own dual variables, if they belong to these rows."""
    if claim.alpha is None or claim.support is None or problem.row_index is not None:
        return None
    if claim.support.size and claim.support.max() >= problem.n:
        return None
    alpha = np.zeros(problem.n)
    alpha[claim.support] = claim.alpha[k]
    return alpha
