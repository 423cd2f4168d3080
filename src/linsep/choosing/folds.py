"""Cross-validation of one model: what it costs on rows that it has not seen.

CV = (1/L) sum_i W(q^(-fold(i))(x_i), k_i)
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from linsep.choosing.losses import Measure
from linsep.core.words import count
from linsep.errors import CapabilityError, LinsepError

__all__ = ["Fold", "fit_weighted", "measure_fold", "rows_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fold:
    """Sums of losses and of weights: of the rows trained on, and of those left out."""

    train: tuple[float, float]
    test: tuple[float, float]
    seconds: float
    warnings: tuple[str, ...]
    interrupted: bool

    @property
    def risk(self) -> float:
        """Mean loss of the rows left out; NaN if they weigh nothing."""
        return self.test[0] / self.test[1] if self.test[1] > 0 else float("nan")


def measure_fold(
    estimator: Any,
    data: tuple[Any, Any, Array | None],
    split: tuple[NDArray[np.intp], NDArray[np.intp]],
    measure: Measure,
    words: str,
) -> Fold:
    """Fit on one part, measure on both."""
    model, begin = clone(estimator), time.perf_counter()
    train, test = split
    X_train, y_train, w_train = rows_of(*data, train)
    X_test, y_test, w_test = rows_of(*data, test)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit_weighted(model, X_train, y_train, w_train)
            on_train = measure(model, X_train, y_train, w_train)
            on_test = measure(model, X_test, y_test, w_test)
        except LinsepError as error:
            rows = count(len(train), "row")
            error.add_note(f"in {words}: {rows} trained on, {len(test)} left out")
            raise
    return Fold(
        on_train,
        on_test,
        time.perf_counter() - begin,
        tuple(warning.category.__name__ for warning in caught),
        was_interrupted(model),
    )


def was_interrupted(model: Any) -> bool:
    """Whether a fit of linsep was stopped by Ctrl-C, which it survives with what it has."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return bool(getattr(getattr(last, "outcome_", None), "interrupted", False))


def rows_of(X: Any, y: Any, weight: Array | None, index: NDArray[np.intp]) -> tuple[Any, Any, Any]:
    """Some rows, their labels and weights."""
    chosen = None if weight is None else weight[index]
    return _safe_indexing(X, index), _safe_indexing(y, index), chosen


def fit_weighted(model: Any, X: Any, y: Any, weight: Array | None) -> Any:
    """Fit, with weights handed to the last step of a pipeline."""
    if weight is None:
        return model.fit(X, y)
    last = model.steps[-1] if isinstance(model, Pipeline) else ("", model)
    if not has_fit_parameter(last[1], "sample_weight"):
        raise CapabilityError(f"{type(last[1]).__name__} takes no sample_weight.")
    name = f"{last[0]}__sample_weight" if last[0] else "sample_weight"
    return model.fit(X, y, **{name: weight})
