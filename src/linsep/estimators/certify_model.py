"""linsep.certify(model, X, y): how far a fitted model is from the best one, with proof."""

from __future__ import annotations

import os
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from linsep.certify.gap import Gap
from linsep.core import Problem
from linsep.core.parts import against_rest
from linsep.core.words import count
from linsep.errors import ModelError, SettingError
from linsep.estimators.certify_machine import certify_machine
from linsep.estimators.certify_parts import certify_pairs, certify_plane, together
from linsep.estimators.class_weight import row_weights
from linsep.estimators.kernel_recheck import certify_svc
from linsep.estimators.logistic_search import bounded_softmax
from linsep.estimators.model_objective import Claim, claim_of
from linsep.estimators.text_objective import (
    claim_of_liblinear,
    claim_of_libsvm,
    cost_of,
    located,
)
from linsep.formats import load
from linsep.formats.liblinear import LiblinearModel, is_liblinear
from linsep.formats.libsvm import LibsvmModel, is_libsvm

__all__ = ["certify_model"]

Array = NDArray[np.float64]


def certify_model(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    C: float | None = None,
    class_weight: Any = None,
    tol: float = 1e-3,
    time_limit: float | None = 10.0,
) -> Gap:
    """Bound how far a fitted model is from the best one of its objective.

    Parameters
    ----------
    model : fitted model
        Of linsep or of scikit-learn: LinearSVC, SVC with any kernel, NuSVC with a linear one,
        SGDClassifier, LogisticRegression (two classes or softmax, with or without a penalty),
        RidgeClassifier, Perceptron; ``linsep.Linear(coef, intercept)``; a model of LIBLINEAR or
        LIBSVM, as an object of their Python interfaces, or the path of a model file. Of a
        pipeline the last step is certified, on the rows that it sees, and of a search its best
        estimator.
    X, y : array or sparse matrix, and labels
        The rows it was trained on.
    sample_weight : array, optional
        The weights it was trained with.
    C : float, optional
        Cost that a model of LIBLINEAR or LIBSVM was trained with; files do not hold it.
    class_weight : dict, optional
        Weights of the classes that such a model was trained with (-w).
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
    model, X = _unwrapped(model, X)
    text = isinstance(model, LiblinearModel | LibsvmModel)
    if not text and (C is not None or class_weight is not None):
        raise SettingError(
            f"C and class_weight are for models of LIBLINEAR and LIBSVM; {type(model).__name__} "
            "knows its own."
        )
    if C is not None and not C > 0:
        raise SettingError(f"C must be a number > 0. Got {C!r} instead.")
    if hasattr(model, "certificate_for"):  # a likelihood has bounds of its own
        return model.certificate_for(X, y, sample_weight)  # type: ignore[no-any-return]
    y = np.asarray(y)
    if isinstance(model, LibsvmModel):
        X = _as_matrix(X)
        model = model.widened(X.shape[1])
        if model.kernel != "linear":
            return _kernel_machine(model, X, y, sample_weight, C, class_weight)
        claim = claim_of_libsvm(model, X, y, C, class_weight)
    elif isinstance(model, LiblinearModel):
        claim = claim_of_liblinear(model, C, class_weight)
    elif type(model).__name__ == "SVC" and model.kernel != "linear" and hasattr(model, "support_"):
        return certify_svc(model, X, y, sample_weight)
    else:
        claim = claim_of(model, len(y))
    report = _certified(model, claim, X, y, sample_weight, tol, time_limit)
    return replace(report, words=f"{report.words}; {claim.note}") if claim.note else report


def _unwrapped(model: Any, X: Any) -> tuple[Any, Any]:
    """The classifier itself, and the rows as it sees them."""
    if isinstance(model, str | os.PathLike):
        return load(model), X
    if is_liblinear(model):
        return LiblinearModel.from_object(model), X
    if is_libsvm(model):
        return LibsvmModel.from_object(model), X
    if hasattr(model, "best_estimator_"):  # a search
        return _unwrapped(model.best_estimator_, X)
    steps = getattr(model, "steps", None)
    if isinstance(steps, list):  # a pipeline: its last step, on the rows that it sees
        return _unwrapped(steps[-1][1], model[:-1].transform(X) if len(steps) > 1 else X)
    many = {"calibrated_classifiers_": "[k].estimator", "estimators_": "[k]"}
    for name, part in many.items():
        ours = type(model).__module__.startswith("linsep.")
        if hasattr(model, name) and not ours and not hasattr(model, "coef_"):
            raise ModelError(
                f"{type(model).__name__} has no objective of its own but holds classifiers "
                f"that were trained on different rows or labels; certify model.{name}{part} on "
                "the rows and labels it was trained on."
            )
    return model, X


def _as_matrix(X: Any) -> Any:
    return X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)


def _kernel_machine(
    model: LibsvmModel, X: Any, y: Any, sample_weight: Any, C: float | None, class_weight: Any
) -> Gap:
    """A model of LIBSVM in the clothes of scikit-learn's SVC."""
    twin: Any = copy(model)
    twin.C, note = cost_of(model, C, class_weight)
    twin.class_weight = class_weight or model.class_weight
    twin.support_, twin._gamma = located(model, X, y), model.gamma
    twin.support_vectors_ = X[twin.support_]
    report: Gap = certify_svc(twin, X, y, sample_weight)
    return replace(report, words=f"{report.words}; {note}") if note else report


def _certified(
    model: Any, claim: Claim, X: Any, y: Any, sample_weight: Any, tol: float, limit: float | None
) -> Gap:
    weight = _weights(claim, y, sample_weight)
    problem = Problem(X, y, sample_weight=weight, fit_intercept=claim.objective.intercept != "none")
    coef, intercept = _weights_of(model, claim, problem)
    if problem.binary:
        a = np.append(coef[0], intercept[0])
        return certify_plane(problem, claim, a, _alpha(claim, problem, 0), tol, limit)
    if claim.kind == "softmax":
        a = np.column_stack([coef, intercept]).ravel()
        return bounded_softmax(problem, a, claim.objective.C, claim.reference, tol, limit)
    if claim.kind == "machine":
        alphas = [_alpha(claim, problem, k) for k in range(problem.K)]
        known = None if alphas[0] is None else np.column_stack([a for a in alphas if a is not None])
        return certify_machine(problem, coef, intercept, claim.objective, known, tol, limit)
    if claim.pairs:
        return certify_pairs(problem, claim, coef, intercept, tol, limit)
    return _against_the_rest(problem, claim, coef, intercept, y, sample_weight, tol, limit)


def _against_the_rest(
    problem: Problem, claim: Claim, coef: Array, intercept: Array, y: Any, sample_weight: Any,
    tol: float, limit: float | None,
) -> Gap:  # fmt: skip
    """One plane for each class."""
    share = None if limit is None else limit / problem.K
    by_class = None
    if claim.class_weight is not None and claim.positive_only:
        by_class = _class_weights(claim, problem.classes, y, sample_weight)
    parts = [
        certify_plane(_part(problem, k, by_class), claim, np.append(coef[k], intercept[k]),
                      _alpha(claim, problem, k), tol, share)
        for k in range(problem.K)
    ]  # fmt: skip
    scores = problem.product(coef.T) + intercept
    at = np.arange(problem.n)
    own = scores[at, problem.label].copy()
    scores[at, problem.label] = -np.inf
    errors = int((own <= scores.max(axis=1)).sum())
    return together(parts, errors, f"{problem.K} machines, one class against the rest, each ")


def _weights(claim: Claim, y: NDArray[Any], sample_weight: Any) -> Any:
    """Weights of the rows; one-vs-rest machines of LIBLINEAR and SGD get theirs in ``_part``."""
    classes = np.unique(y)
    alone = claim.positive_only and len(classes) > 2 and claim.kind != "machine"
    if claim.class_weight is None or alone:
        return sample_weight
    return row_weights(claim.class_weight, y, sample_weight, by_weight=claim.balanced_by_weight)


def _class_weights(claim: Claim, classes: Any, y: Any, sample_weight: Any) -> Array:
    counted = sample_weight if claim.balanced_by_weight else None
    return np.asarray(
        compute_class_weight(claim.class_weight, classes=classes, y=y, sample_weight=counted)
    )


def _part(problem: Problem, k: int, by_class: Array | None) -> Problem:
    """Class k against the rest; only the rows of class k carry its weight."""
    part = against_rest(problem, k)
    if by_class is not None:
        part.weight = np.where(problem.label == k, problem.weight * by_class[k], problem.weight)
    return part


def _weights_of(model: Any, claim: Claim, problem: Problem) -> tuple[Array, Array]:
    coef, intercept = claim.weights or (model.coef_, model.intercept_)
    coef = coef.toarray() if hasattr(coef, "toarray") else coef
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    intercept = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ModelError("the model has weights that are NaN or infinite; fit it again.")
    if coef.shape[1] != problem.d:
        raise ModelError(
            f"the model has weights for {count(coef.shape[1], 'feature')} but X has "
            f"{count(problem.d, 'column')}."
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
