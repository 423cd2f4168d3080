"""linsep.certify(model, X, y): how far a fitted model is from the best one, with proof."""

from __future__ import annotations

import os
import warnings
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC, NuSVC

from linsep.core.cluster import as_stream
from linsep.core.drive import drive
from linsep.core.limits import Limits, enough_memory
from linsep.core.parts import Stream
from linsep.core.problem import Problem, against_rest
from linsep.core.protocol import Witness, has_planes, is_pipeline, last_step
from linsep.core.validate import in_parts
from linsep.core.words import count
from linsep.errors import ModelError, SettingError
from linsep.formats import load
from linsep.formats.liblinear import LiblinearModel, is_liblinear
from linsep.formats.libsvm import LibsvmModel, is_libsvm
from linsep.losses.base import Loss
from linsep.losses.hinge import HINGE
from linsep.losses.logistic import LOGISTIC
from linsep.losses.table import LOSSES
from linsep.models.fit import class_weights, row_weights
from linsep.models.foreign.objectives import (
    Claim,
    claim_of,
    claim_of_liblinear,
    claim_of_libsvm,
    cost_of,
    cost_of_nu,
    has_objective,
    located,
)
from linsep.models.hard_margin import hard_machine
from linsep.models.kernel_base import certify_svc
from linsep.models.least_squares import LeastSquares
from linsep.models.linear import Linear
from linsep.models.logistic_regression import choose_logistic
from linsep.models.parts import certify_plane_in_parts, class_factors
from linsep.models.svm_choice import choose_solver, is_small
from linsep.proofs.gap import Gap
from linsep.proofs.hinge import Objective, hinge_gap
from linsep.proofs.l1 import l1_gap
from linsep.proofs.logistic import logistic_gap
from linsep.proofs.parts import StreamGap
from linsep.proofs.plain import require_same
from linsep.proofs.rivals import rivals_gap
from linsep.proofs.softmax import StreamSoftmax, stream_softmax
from linsep.proofs.squares import ridge_gap
from linsep.rows.parts import looked_at

Array = NDArray[np.float64]


@enough_memory("the certificate")
def certify(
    model: object,
    X: Any,
    y: Any = None,
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
        Of linsep or of scikit-learn: LinearSVC, SVC and NuSVC with any kernel,
        SGDClassifier, LogisticRegression (two classes or softmax, with or without a penalty),
        RidgeClassifier, Perceptron; ``linsep.Linear(coef, intercept)``; a model of LIBLINEAR or
        LIBSVM, as an object of their Python interfaces, or the path of a model file. Of a
        pipeline the last step is certified, on the rows that it sees, and of a search its best
        estimator.
    X, y : array or sparse matrix, and labels
        The rows it was trained on. Or a stream in place of both, for planes of two classes.
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
        Seconds for that search. A softmax model of thousands of classes has no bound but 0 where
        finding one would take longer.

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
    if in_parts(X):
        return _of_stream(model, as_stream(X, y, sample_weight), tol, time_limit)
    model, X = _unwrapped(model, X)
    text = isinstance(model, LiblinearModel | LibsvmModel)
    if not text and (C is not None or class_weight is not None):
        raise SettingError(
            f"C and class_weight are for models of LIBLINEAR and LIBSVM; {type(model).__name__} "
            "knows its own."
        )
    if C is not None and not C > 0:
        raise SettingError(f"C must be a number > 0. Got {C!r} instead.")
    if isinstance(model, Linear) and model.loss_name == "squares" and model.cost is None:
        model = _squares(model, y)
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
    elif isinstance(model, SVC | NuSVC) and model.kernel != "linear" and _is_fitted(model):
        return _kernel_machine_of_sklearn(model, X, y, sample_weight)
    else:
        claim = claim_of(model, len(y))
    report = _certified(model, claim, X, y, sample_weight, tol, time_limit)
    return replace(report, words=f"{report.words}; {claim.note}") if claim.note else report


def _of_stream(model: object, stream: Stream, tol: float, limit: float | None) -> Gap:
    """The same for the rows of a stream: planes of two classes, whose intercept is free."""
    if isinstance(model, str | os.PathLike):
        model = load(model)
    known = getattr(model, "certificate_", None)
    if isinstance(known, StreamSoftmax):
        return _softmax_of_stream(model, known, stream)
    if isinstance(known, StreamGap) and not known.parts:
        loss, C, generator = LOSSES[known.loss], known.C, np.array(known.generator)
        class_weight = getattr(model, "class_weight", None)
    else:
        claim = claim_of(model, 0)
        loss, C, generator = claim.objective.loss, claim.objective.C, None
        if claim.kind == "logistic":
            loss = LOGISTIC
        class_weight = claim.class_weight
        planes = claim.kind in ("svm", "logistic") and claim.objective.intercept != "penalised"
        if not planes or claim.objective.scale != 1.0 or np.isinf(C):
            raise ModelError(
                f"{type(model).__name__} is certified on tables only; on a stream that is done for "
                "a hinge, its square or the logistic loss, a finite C and an intercept that is "
                "not penalised: linsep.Linear(coef, intercept, loss='hinge', C=1.0)."
            )
    if not has_planes(model) or len(model.classes_) != 2:
        raise ModelError("on a stream a model of two classes is certified; this one has more.")
    a = np.append(np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]))
    offset = bool(getattr(model, "fit_intercept", True))
    return certify_plane_in_parts(
        stream, a, loss, C, class_weight, generator, fit_intercept=offset, tol=tol, seconds=limit
    )


def _softmax_of_stream(model: object, known: StreamSoftmax, stream: Stream) -> Gap:
    """Bounds for softmax regression, with the generator of its certificate."""
    assert has_planes(model)
    factors = partial(class_factors, getattr(model, "class_weight", None))
    problem = looked_at(stream, fit_intercept=known.fit_intercept, class_weight=factors)
    if problem.classes.tolist() != model.classes_.tolist() or problem.d != model.coef_.shape[1]:
        raise ModelError(f"{stream.name} has other classes or columns than the model.")
    a = np.column_stack([model.coef_, model.intercept_]).ravel()
    return stream_softmax(problem, a, np.array(known.generator), known.C)


def _squares(plane: Linear, y: Any) -> LeastSquares:
    """A plane in the clothes of least squares."""
    twin = LeastSquares(
        targets=getattr(plane.loss, "targets", None), fit_intercept=plane.fit_intercept
    )
    twin.coef_, twin.intercept_ = plane.coef_, plane.intercept_
    twin.classes_, twin.n_features_in_ = np.unique(np.asarray(y)), plane.n_features_in_
    return twin


def _unwrapped(model: object, X: Any) -> tuple[Any, Any]:
    """The classifier itself, and the rows as it sees them."""
    if isinstance(model, str | os.PathLike):
        return load(model), X
    if is_liblinear(model):
        return LiblinearModel.from_object(model), X
    if is_libsvm(model):
        return LibsvmModel.from_object(model), X
    if hasattr(model, "best_estimator_"):  # a search
        return _unwrapped(model.best_estimator_, X)
    if is_pipeline(model):  # its last step, on the rows that it sees
        return _unwrapped(last_step(model), model[:-1].transform(X) if len(model.steps) > 1 else X)
    many = {"calibrated_classifiers_": "[k].estimator", "estimators_": "[k]"}
    for name, part in many.items():
        ours = type(model).__module__.startswith("linsep.")
        if not ours and not hasattr(model, "coef_") and _first_known(getattr(model, name, None)):
            raise ModelError(
                f"{type(model).__name__} has no objective of its own but holds classifiers "
                f"that were trained on different rows or labels; certify model.{name}{part} on "
                "the rows and labels it was trained on."
            )
    return model, X


def _first_known(parts: Any) -> bool:
    """Whether the parts of an ensemble can be certified: planes can, trees cannot."""
    first: Any = next(iter(np.ravel(np.asarray(parts, dtype=object))), None)
    return has_objective(getattr(first, "estimator", first))


def _is_fitted(model: object) -> bool:
    return hasattr(model, "support_")


def _as_matrix(X: Any) -> Any:
    return X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)


def _kernel_machine_of_sklearn(model: SVC | NuSVC, X: Any, y: Any, sample_weight: Any) -> Gap:
    """SVC, or NuSVC, which is one with the C that its nu comes to."""
    if isinstance(model, SVC):
        return certify_svc(model, X, y, sample_weight)
    twin: Any = copy(model)
    twin.C, note = cost_of_nu(model)
    report: Gap = certify_svc(twin, X, y, sample_weight)
    return replace(report, words=f"{report.words}; {note}")


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
    model: object,
    claim: Claim,
    X: Any,
    y: Any,
    sample_weight: Any,
    tol: float,
    limit: float | None,
) -> Gap:
    weight = _weights(claim, y, sample_weight)
    problem = Problem(X, y, sample_weight=weight, fit_intercept=claim.objective.intercept != "none")
    by_class = None if _alone(claim, y) else claim.class_weight
    require_same(problem, X, y, sample_weight, by_class, by_weight=claim.balanced_by_weight)
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
        return certify_plane_pairs(problem, claim, coef, intercept, tol, limit)
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
    return Gap.together(parts, errors, "one class against the rest")


def _weights(claim: Claim, y: NDArray[Any], sample_weight: Any) -> Any:
    """Weights of the rows; one-vs-rest machines of LIBLINEAR and SGD get theirs in ``_part``."""
    if claim.class_weight is None or _alone(claim, y):
        return sample_weight
    return row_weights(claim.class_weight, y, sample_weight, by_weight=claim.balanced_by_weight)


def _alone(claim: Claim, y: NDArray[Any]) -> bool:
    """Whether only rows of the positive class of each machine carry its weight."""
    return claim.positive_only and claim.kind != "machine" and len(np.unique(y)) > 2


def _class_weights(claim: Claim, classes: Any, y: Any, sample_weight: Any) -> Array:
    counted = sample_weight if claim.balanced_by_weight else None
    return class_weights(claim.class_weight, classes, y, counted)


def _part(problem: Problem, k: int, by_class: Array | None) -> Problem:
    """Class k against the rest; only the rows of class k carry its weight."""
    part = against_rest(problem, k)
    if by_class is None:
        return part
    own = problem.label == k
    return part.changed(weight=np.where(own, problem.weight * by_class[k], problem.weight))


def _weights_of(model: object, claim: Claim, problem: Problem) -> tuple[Array, Array]:
    if claim.weights is not None:
        coef, intercept = claim.weights
    elif has_planes(model):
        coef, intercept = model.coef_, model.intercept_
    else:
        raise ModelError(f"{type(model).__name__} has no coef_ and intercept_; fit it first.")
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
    known = None if getattr(model, "any_labels_", False) else getattr(model, "classes_", None)
    if known is not None and not np.array_equal(np.asarray(known), problem.classes):
        raise ModelError(
            f"the model knows the classes {np.asarray(known).tolist()} but "
            f"y has {problem.classes.tolist()}."
        )
    K = problem.K
    if len(coef) not in ((1,) if problem.binary else (K, K * (K - 1) // 2)):
        raise ModelError(f"the model has {len(coef)} planes but y has {K} classes.")
    return coef, np.broadcast_to(intercept, (len(coef),)).copy()


def _alpha(claim: Claim, problem: Problem, k: int) -> Array | None:
    """The model's own dual variables, if they belong to these rows."""
    if claim.alpha is None or claim.support is None:
        return None
    support = problem.index_of(claim.support)
    if support is None:
        return None
    alpha = np.zeros(problem.n)
    alpha[support] = claim.alpha[k]
    return alpha


# -- Bounds of one plane of another library's model, and of many planes together ------------------


_SMALL_TABLE_GAP = 1e-8  # gap of the search on small tables, where a few steps more cost nothing


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
        return bounded_l1(problem, a, LOSSES[claim.kind.removeprefix("l1 ")], objective, tol, limit)
    if claim.kind == "ridge":
        return ridge_gap(problem, a, objective.C, offset=objective.intercept == "free")
    if claim.kind == "perceptron":
        return _criterion(problem, a)
    if alpha is None:
        alpha = _slopes(problem, a, objective)
    report = _measured(problem, a, alpha, objective)
    if report.relative_gap <= tol:
        return report
    better = _searched(problem, objective, tol, limit)
    found = hinge_gap(problem, replace(better, a=a), objective)
    return found if found.lower_bound > report.lower_bound else report


def _slopes(problem: Problem, a: Array, objective: Objective) -> Array:
    """Dual variables that the margins of the model suggest."""
    if np.isinf(objective.C):
        return np.zeros(problem.n)
    u = 1.0 - problem.sign * (problem.product(a[:-1]) + a[-1])
    return np.asarray(objective.C * problem.weight * objective.loss.rounded_slope(u, 1e-3))


def _measured(problem: Problem, a: Array, alpha: Array, objective: Objective) -> Gap:
    rows = np.flatnonzero(alpha)
    return hinge_gap(problem, Witness(a=a, rows=rows, multipliers=alpha[rows]), objective)


def _searched(problem: Problem, objective: Objective, tol: float, limit: float | None) -> Witness:
    """A good model with its dual variables, found by our own solver within the time limit."""
    matrix, offset = problem.matrix, objective.intercept == "free"
    if objective.intercept == "penalised":
        matrix = with_constant(problem, objective.constant)
    twin = Problem(matrix, problem.sign, sample_weight=problem.weight, fit_intercept=offset)
    if np.isinf(objective.C):
        return hard_machine(twin, min(0.1 * tol, 1e-4), Limits(seconds=limit)).witness
    close = _SMALL_TABLE_GAP if is_small(twin) else min(0.1 * tol, 1e-4)
    solver, _ = choose_solver(
        twin, "auto", C=objective.C, loss=objective.loss, tol=close, seed=0,
        threads=None, multi_class="one-vs-rest",
    )  # fmt: skip
    return drive(twin, solver, limits=Limits(seconds=limit)).witness


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
    high = float((problem.weight * np.maximum(-values, 0.0)).sum())
    words = "perceptron criterion: sum of -y f(x) over the rows on the wrong side"
    return Gap.of(values, float(np.linalg.norm(a[:-1])), high, 0.0, words, float(a[-1]))


def certify_plane_pairs(
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
    return Gap.together(parts, errors, "one for each pair of classes")


def _scaled(report: Gap, objective: Objective) -> Gap:
    if objective.scale == 1.0:
        return report
    return replace(
        report,
        objective=objective.scale * report.objective,
        lower_bound=objective.scale * report.lower_bound,
        words=f"{objective.scale:.6g} x ({report.words})",
    )


# -- Bounds of a machine by Crammer and Singer, of linsep or of LIBLINEAR -------------------------
#
# A penalised intercept is the weight of a constant feature, so the machine is measured on rows
# with that feature and without an intercept.


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
    report = rivals_gap(twin, a, known, objective.C)
    if report.relative_gap > tol:
        searched = _machine_searched(twin, objective.C, min(0.1 * tol, 1e-4), limit)
        other = rivals_gap(twin, a, searched, objective.C)
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


def _machine_searched(problem: Problem, C: float, tol: float, limit: float | None) -> Array:
    """Dual variables of a good machine, found by our own solver within the time limit."""
    solver, _ = choose_solver(
        problem, "auto", C=C, loss=HINGE, tol=tol, seed=0, threads=None,
        multi_class="crammer-singer",
    )  # fmt: skip
    witness = drive(problem, solver, limits=Limits(seconds=limit)).witness
    part, row = np.divmod(witness.rows, problem.n)
    alpha = np.zeros((problem.n, problem.K))
    alpha[row, part] = np.where(problem.label[row] == part, 1.0, -1.0) * witness.multipliers
    return alpha


# -- A better lower bound for a model with the penalty |w|_1 --------------------------------------
#
# The dual point of a model that is not solved to many digits breaks its constraints, and what is
# left of it when it is scaled down bounds little. LIBLINEAR's own method, run further, gives a
# better one, whatever the model is.

_ROUNDS = 100_000  # of LIBLINEAR's method at most
_READ_A_SECOND = 2e7  # numbers that it reads in a second
_NAMED_PENALTY = LogisticRegression().penalty == "l2"  # scikit-learn before 1.8
_ONE_NORM: dict[str, Any] = {"penalty": "l1"} if _NAMED_PENALTY else {"l1_ratio": 1.0}


def bounded_l1(
    problem: Problem, a: Array, loss: Loss, objective: Objective, tol: float, limit: float | None
) -> Gap:
    """Bounds of a plane with the penalty |w|_1; where they are wide a better dual point."""
    report = l1_gap(problem, a, loss, objective)
    size = problem.matrix.nnz if problem.sparse else problem.n * problem.d
    rounds = _ROUNDS if limit is None else min(_ROUNDS, int(limit * _READ_A_SECOND / max(size, 1)))
    if report.relative_gap <= tol or rounds < 1 or max(size, *problem.matrix.shape) >= 2**31:
        return report
    free, constant = objective.intercept != "none", objective.constant
    if objective.intercept == "free":  # next to no penalty: LIBLINEAR has no other
        constant = 1e3
    of_liblinear = {
        "C": objective.C, "tol": 1e-3 * min(tol, 1e-3), "max_iter": rounds, "random_state": 0,
        "fit_intercept": free, "intercept_scaling": constant,
    }  # fmt: skip
    if loss is LOGISTIC:
        solver: Any = LogisticRegression(solver="liblinear", **_ONE_NORM, **of_liblinear)
    else:
        solver = LinearSVC(penalty="l1", dual=False, **of_liblinear)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what it has found is measured
        solver.fit(_short_indices(problem.matrix), problem.sign, sample_weight=problem.weight)
    found = np.append(solver.coef_[0], solver.intercept_ if free else 0.0)
    return _raised(report, l1_gap(problem, found, loss, objective).lower_bound)


def _short_indices(matrix: Any) -> Any:
    """The rows as LIBLINEAR takes them, which knows no index of 64 bits."""
    if not scipy.sparse.issparse(matrix):
        return matrix
    parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
    return scipy.sparse.csr_array(parts, shape=matrix.shape)


# -- A better lower bound for a logistic model than its own margins give: by a better model -------


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
    """The same for a softmax model; without a bound where the time cannot hold one."""
    from linsep.proofs.softmax import bound_seconds, softmax_gap

    seconds = 0.0 if limit is None else bound_seconds(problem)
    bounded = limit is None or seconds <= limit
    report = softmax_gap(problem, a, C, reference=reference, bounded=bounded)
    if report.relative_gap <= tol or not bounded:
        return report
    if limit is not None:
        limit -= seconds  # once more for the model that is found
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
