"""Who watches a fit: observers of linsep, and a bridge to scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import sklearn.callback
from sklearn.callback import FitCallback

from linsep.core.drive import Moment, Observer
from linsep.core.progress import progress_observer

_Method = TypeVar("_Method", bound=Callable[..., Any])


def with_callbacks(method: _Method) -> _Method:
    """scikit-learn's decorator of fits that call back; type checkers see the method itself."""
    return cast(_Method, sklearn.callback.with_callbacks(method))


def observers_of(estimator: Any) -> list[Observer]:
    """Progress as ``verbose`` asks for, and the observers among ``callbacks``.

    The callbacks of scikit-learn among them are set on the estimator, where the bridge finds
    them.
    """
    many = estimator.callbacks
    many = [] if many is None else many if isinstance(many, list | tuple) else [many]
    foreign = [one for one in many if not isinstance(one, Observer)]
    for one in foreign:
        if not isinstance(one, FitCallback):
            raise TypeError(
                f"callbacks holds {one!r}; give linsep observers or scikit-learn callbacks "
                "(setup, teardown, on_fit_task_begin, on_fit_task_end)."
            )
    if foreign:
        estimator.set_callbacks(*foreign)
    own = [one for one in many if isinstance(one, Observer)]
    return [*progress_observer(estimator.verbose), *own]


class CallbackBridge(Observer):
    """Tells scikit-learn callbacks about the run, one task for each chunk of steps.

    It stops the run when one of them asks.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        attributes: Callable[[Moment[Any]], dict[str, Any]] | None = None,
        names: Sequence[str] = ("coef_", "intercept_", "classes_", "n_features_in_"),
    ) -> None:
        self.estimator, self.X, self.y = estimator, X, y
        self.attributes, self.names = attributes or _attributes, names
        self.context: Any = None
        if getattr(estimator, "_skl_callbacks", None):
            self.context = estimator._init_callback_context(max_subtasks=None)
            self.context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def moment(self, now: Moment[Any]) -> bool | None:
        """One subtask for each chunk."""
        if self.context is None:
            return None
        task = self.context.subcontext(task_name=now.solver.unit)
        weights = self.attributes(now)
        task.call_on_fit_task_begin(
            estimator=self.estimator, X=self.X, y=self.y, reconstruction_attributes=weights
        )
        return bool(
            task.call_on_fit_task_end(
                estimator=self.estimator, X=self.X, y=self.y, reconstruction_attributes=weights
            )
        )

    def close(self) -> None:
        """The end of the whole fit."""
        if self.context is not None:
            self.context.call_on_fit_task_end(
                estimator=self.estimator,
                X=self.X,
                y=self.y,
                reconstruction_attributes={
                    name: getattr(self.estimator, name) for name in self.names
                },
            )


def _attributes(now: Moment[Any]) -> dict[str, Any]:
    """What a copy of the estimator needs to predict with the present weights."""
    problem = now.problem
    coef, intercept = problem.split(now.solver.witness(problem, now.state).a)
    return {
        "coef_": coef,
        "intercept_": intercept,
        "classes_": problem.classes,
        "n_features_in_": problem.d,
    }
