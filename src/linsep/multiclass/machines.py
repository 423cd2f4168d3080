"""One binary machine inside a scheme for many classes: its fit, its values, its certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from linsep.certify.certificate import judge
from linsep.core import Problem, Witness
from linsep.core.lanes import run_all
from linsep.errors import CapabilityError, LinsepError, ModelError, SettingError
from linsep.estimators.base import LinearClassifier
from linsep.estimators.certify_model import certify_model

__all__ = [
    "certified",
    "entries",
    "fit_machine",
    "is_ours",
    "last_step",
    "refuse_others",
    "refuse_unusable",
    "run_machines",
    "values",
]

_THREADS = 400_000  # entries of a binary problem from which a thread for each pays
_CERTIFIED = 200_000  # entries up to which machines of other libraries are certified in fit


def last_step(machine: Any) -> Any:
    """The classifier itself, at the end of a pipeline."""
    return machine[-1] if isinstance(machine, Pipeline) else machine


def is_ours(estimator: Any) -> bool:
    """Whether it is one of linsep's linear classifiers."""
    return isinstance(estimator, LinearClassifier)


def refuse_others(estimator: Any) -> None:
    """Only a classifier, and one that is made already, can be wrapped."""
    made = hasattr(estimator, "fit") and not isinstance(estimator, type)
    if not made or not is_classifier(estimator):
        shown = type(estimator).__name__ if made else repr(estimator)
        raise SettingError(
            f"The 'estimator' parameter must be a classifier, such as linsep.LinearSVM(). Got "
            f"{shown} instead."
        )


def refuse_unusable(estimator: Any, weighted: bool) -> None:
    """Say now what would fail in the middle of the work."""
    name = type(estimator).__name__
    if not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")):
        raise CapabilityError(
            f"{name} has neither decision_function nor predict_proba, so its answers cannot be "
            "compared; wrap a classifier that has one of them."
        )
    if weighted and not has_fit_parameter(estimator, "sample_weight"):
        raise CapabilityError(
            f"{name}.fit takes no sample_weight, which sample_weight and class_weight need; leave "
            "them out or wrap another classifier."
        )


def fit_machine(estimator: Any, X: Any, y: NDArray[Any], weight: Any) -> tuple[Any, Any]:
    """A fitted copy, and its certificate: its own, or for other libraries one made here."""
    machine = clone(estimator)
    machine.fit(X, y) if weight is None else machine.fit(X, y, sample_weight=weight)
    certificate = getattr(last_step(machine), "certificate_", None)
    if certificate is None and not is_ours(machine):
        certificate = _certified(machine, X, y, weight)
    return machine, certificate


def entries(X: Any) -> int:
    """Matrix entries that are stored."""
    return int(X.nnz if hasattr(X, "nnz") else np.size(X))


def certified(machine: Any, X: Any, y: NDArray[Any], weight: Any) -> Any:
    """What can be proved about a fitted machine: its gap, or which rows it has right."""
    try:
        return certify_model(machine, X, y, sample_weight=weight)
    except ModelError:  # it minimises nothing
        if not is_ours(machine):
            return None
    problem = Problem(X, y, sample_weight=weight, fit_intercept=machine.fit_intercept)
    return judge(problem, Witness(a=problem.join(machine.coef_, machine.intercept_)))


def _certified(machine: Any, X: Any, y: NDArray[Any], weight: Any) -> Any:
    """How far a machine of another library is from its best, if it claims to minimise something."""
    size = entries(X)
    if not hasattr(machine, "coef_") or size > _CERTIFIED:
        return None
    try:
        return certify_model(machine, X, y, sample_weight=weight, time_limit=1.0)
    except (LinsepError, AttributeError, TypeError, ValueError):
        return None  # an objective that we do not know


def run_machines(
    estimator: Any, jobs: Sequence[Callable[[], Any]], n_jobs: int | None, size: float
) -> list[Any]:
    """All jobs, in threads where the estimator allows it; results in order.

    Fits that show progress or call back go one after the other, and so do, unless threads are
    asked for, those of few matrix entries (size): they would wait for each other.
    """
    if is_ours(estimator):
        watched = bool(estimator.verbose) or estimator.callbacks is not None
        alone = watched or (n_jobs is None and size < _THREADS)
        return run_all(jobs, 1 if alone else None if n_jobs in (None, -1) else n_jobs)
    if n_jobs in (None, 1):
        return [job() for job in jobs]
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(_call)(job) for job in jobs))


def _call(job: Callable[[], Any]) -> Any:
    return job()


def values(machine: Any, X: Any) -> NDArray[np.float64]:
    """Values above 0 for the second class: scores, or probabilities minus one half."""
    if hasattr(machine, "decision_function"):
        found = np.asarray(machine.decision_function(X), dtype=np.float64)
        return found.ravel()
    return np.asarray(machine.predict_proba(X), dtype=np.float64)[:, 1] - 0.5
