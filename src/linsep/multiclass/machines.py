"""One binary machine inside a scheme for many classes: its fit, its values, its certificate."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from linsep._sklearn import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from linsep.core.costs import CERTIFIED_IN_FIT
from linsep.core.notes import unsaid
from linsep.core.problem import Problem
from linsep.core.protocol import Status, Witness, last_step
from linsep.errors import CapabilityError, LinsepError, ModelError, SettingError
from linsep.models.base import LinearClassifier
from linsep.models.fit import CUT_SHORT, Effort, with_effort
from linsep.models.foreign.certify import certify
from linsep.models.linear_svm import LinearSVM
from linsep.models.model_file import LINEAR
from linsep.proofs.certificate import judge
from linsep.proofs.plain import require_same


def is_ours(estimator: Any) -> bool:
    """Whether it is one of linsep's linear classifiers."""
    return isinstance(estimator, LinearClassifier)


def is_pairwise(estimator: Any) -> bool:
    """Whether columns of X are rows too, as those of a Gram matrix."""
    return bool(get_tags(estimator).input_tags.pairwise)


def refuse_others(estimator: Any) -> None:
    """Only a classifier, and one that is made already, can be wrapped."""
    made = hasattr(estimator, "fit") and not isinstance(estimator, type)
    gives = hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")
    if not made or is_regressor(estimator) or not (is_classifier(estimator) or gives):
        shown = type(estimator).__name__ if made else repr(estimator)
        raise SettingError(
            f"The 'estimator' parameter must be a classifier, such as linsep.LinearSVM(). Got "
            f"{shown} instead."
        )


def refuse_unusable(estimator: Any, *, weighted: bool) -> None:
    """Say now what would fail in the middle of the work."""
    name = type(estimator).__name__
    if not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")):
        raise CapabilityError(
            f"{name} has neither decision_function nor predict_proba, so its answers cannot be "
            "compared; wrap a classifier that has one of them."
        )
    if weighted and not has_fit_parameter(last_step(estimator), "sample_weight"):
        raise CapabilityError(
            f"{name}.fit takes no sample_weight, which sample_weight and class_weight need; leave "
            "them out or wrap another classifier."
        )


def refuse_learner(estimator: Any) -> None:
    """Say now that it cannot learn from Kesler's vectors, which are sparse and have no offset."""
    if isinstance(estimator, Pipeline):
        raise CapabilityError(
            "a pipeline would change Kesler's vectors, which are no rows of X; put its first steps "
            "in front: make_pipeline(StandardScaler(), Kesler(LinearSVM()))."
        )
    if not get_tags(estimator).input_tags.sparse:
        raise CapabilityError(not_through_origin(estimator))


def not_through_origin(estimator: Any) -> str:
    """Why it cannot learn from Kesler's vectors."""
    return (
        f"{type(estimator).__name__} is no linear classifier of sparse rows with a plane through "
        "the origin, so it cannot learn from Kesler's vectors; take Perceptron, Kozinec, "
        "LeastSquares, LinearSVM or a linear one of scikit-learn with the parameter fit_intercept."
    )


def with_kernel(estimator: Any) -> str:
    """Why a learner with a kernel does not go with Kesler's vectors."""
    name = type(estimator).__name__
    alone = f"{name}(kernel=...) alone has one sum for each class, trained together"
    if name == "LeastSquares":
        alone = f"{name}(kernel=...) alone has one sum for each class"
    if name not in ("Kozinec", "LeastSquares", "LogisticRegression"):
        alone = "Kozinec(kernel=...) alone is such a machine"
    return (
        f"Kesler's vectors are for planes, and {name} has the kernel {estimator.kernel!r}; "
        f"{alone}, and OneVsRest({name}(...)) has one for each class against the rest."
    )


def fit_machine(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    weight: Any,
    seconds: float | None = None,
    *,
    hurry: bool = False,
    problem: Problem | None = None,
) -> tuple[Any, Any]:
    """A fitted copy, and its certificate: its own, or for other libraries one made here.

    ``seconds`` is a limit of time for estimators that have one. ``hurry`` is for one of many
    problems: an estimator that would go further than its ``tol`` does not. ``problem`` is that of
    the rows and labels, if it has been made.
    """
    machine = _limited(estimator, seconds)
    if hurry and isinstance(last_step(machine), LinearSVM):
        _fit_one_of_many(machine, X, y, weight, problem)
    else:
        _fitted(machine, X, y, weight, problem)
    _give_back_limit(machine, estimator)
    certificate = getattr(last_step(machine), "certificate_", None)
    if certificate is None and not is_ours(machine):
        certificate = _certified(machine, X, y, weight)
    return machine, certificate


def _fitted(machine: Any, X: Any, y: NDArray[Any], weight: Any, problem: Problem | None) -> Any:
    if problem is not None:
        return machine._fit_given(problem, X, y, weight)
    if weight is None:
        return machine.fit(X, y)
    if isinstance(machine, Pipeline):  # weights are for the classifier at its end
        return machine.fit(X, y, **{f"{machine.steps[-1][0]}__sample_weight": weight})
    return machine.fit(X, y, sample_weight=weight)


def _fit_one_of_many(
    machine: Any, X: Any, y: NDArray[Any], weight: Any, problem: Problem | None
) -> None:
    """A small problem solved to ``tol`` and no further; what is fast first, then what is sure."""
    inside = last_step(machine)
    with unsaid(), with_effort(Effort.FEW_PASSES):  # if it is true it is said below
        _fitted(machine, X, y, weight, problem)
    cut = inside.status_ in CUT_SHORT or inside.outcome_.interrupted  # then there is no time
    if not (inside.status_.ok or cut):
        with with_effort(Effort.TOL):
            _fitted(machine, X, y, weight, problem)


def _limited(estimator: Any, seconds: float | None) -> Any:
    """A copy that takes no longer than this, if it can look at the clock."""
    machine = _fresh(estimator)
    inside = last_step(machine)
    if seconds is not None and "time_limit" in inside.get_params(deep=False):
        own = inside.time_limit
        inside.set_params(time_limit=seconds if own is None else min(own, seconds))
    return machine


_PLAIN = (type(None), bool, int, float, str)


def _fresh(estimator: Any) -> Any:
    """A copy that is not fitted; of plain settings in a blink."""
    plain = is_ours(estimator) and all(type(v) in _PLAIN for v in vars(estimator).values())
    return copy.copy(estimator) if plain else clone(estimator)


def _give_back_limit(machine: Any, estimator: Any) -> None:
    """The machine has the settings of the estimator again."""
    inside, given = last_step(machine), last_step(estimator)
    if hasattr(given, "time_limit") and hasattr(inside, "time_limit"):
        inside.time_limit = given.time_limit


class Untrained(ClassifierMixin, BaseEstimator):
    """Stands for a machine that there was no time to train: a plane of a sample of the rows, or
    one answer for all of them."""

    untrained = True
    certificate_ = None
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    classes_: NDArray[np.int64]
    status_: Status

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores w . x + b; without weights the same for each row, whatever it is."""
        if self.coef_.any():
            return np.asarray(X @ self.coef_[0] + self.intercept_[0], dtype=np.float64)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        return np.full(n, float(self.intercept_[0]))

    def predict(self, X: Any) -> NDArray[Any]:
        """0 or 1."""
        return np.asarray(self.classes_[(self.decision_function(X) >= 0).astype(int)])

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file."""
        return LINEAR.write(self)

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The machine of a model file."""
        found: Self = LINEAR.read(cls, fields)
        return found


def untrained(
    X: Any, status: Status, plane: NDArray[np.float64] | None = None, *, positive: bool
) -> Untrained:
    """A machine with a plane [w, b], or without one of one answer."""
    machine = Untrained()
    machine.n_features_in_ = int(X.shape[1]) if hasattr(X, "shape") and X.ndim == 2 else 0
    machine.coef_ = np.zeros((1, machine.n_features_in_))
    machine.intercept_ = np.array([1.0 if positive else -1.0])
    if plane is not None and plane[:-1].any():
        machine.coef_, machine.intercept_ = plane[None, :-1].copy(), plane[-1:].copy()
    machine.classes_, machine.status_ = np.array([0, 1]), status
    return machine


def certified(machine: Any, X: Any, y: NDArray[Any], weight: Any) -> Any:
    """What can be proved about a fitted machine: its gap, or which rows it has right."""
    try:
        return certify(machine, X, y, sample_weight=weight)
    except ModelError:  # it minimises nothing
        if not is_ours(machine):
            return None
    problem = Problem(X, y, sample_weight=weight, fit_intercept=machine.fit_intercept)
    require_same(problem, X, y, weight)
    return judge(problem, Witness(a=problem.join(machine.coef_, machine.intercept_)))


def _certified(machine: Any, X: Any, y: NDArray[Any], weight: Any) -> Any:
    """How far a machine of another library is from its best, if it claims to minimise something."""
    size = X.nnz if hasattr(X, "nnz") else np.size(X)
    if not hasattr(last_step(machine), "coef_") or size > CERTIFIED_IN_FIT:
        return None
    try:
        return certify(machine, X, y, sample_weight=weight, time_limit=1.0)
    except (LinsepError, AttributeError, TypeError, ValueError):
        return None  # an objective that we do not know


def values(machine: Any, X: Any) -> NDArray[np.float64]:
    """Values above 0 for the second class: scores, or probabilities minus one half."""
    if hasattr(machine, "decision_function"):
        found = np.asarray(machine.decision_function(X), dtype=np.float64)
        return found.ravel()
    return np.asarray(machine.predict_proba(X), dtype=np.float64)[:, 1] - 0.5
