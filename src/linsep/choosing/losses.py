"""What decisions cost: losses of rows, or a score of scikit-learn turned around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.metrics import get_scorer

from linsep.errors import DataError, SettingError
from linsep.risk import empirical_risk

__all__ = ["Measure", "make_measure"]

Array = NDArray[np.float64]
Total = Callable[[Any, Any, Array | None], float]


class Measure:
    """Sums of losses over rows, or the loss of a fold as a whole.

    Parameters
    ----------
    name : str
        For tables and pictures.
    total : function or None
        (y, predictions, weights) -> sum of the losses.
    scorer : function or None
        Of scikit-learn; its negative is the loss of a fold.
    zero_one : bool
        Whether it is the share of errors.
    """

    def __init__(
        self, name: str, total: Total | None, scorer: Any = None, *, zero_one: bool = False
    ) -> None:
        self.name, self.total, self.scorer, self.zero_one = name, total, scorer, zero_one

    def __call__(self, model: Any, X: Any, y: Any, weight: Array | None) -> tuple[float, float]:
        """The sum of the losses of these rows, and the weight of the rows."""
        size = float(len(y) if weight is None else weight.sum())
        if not size > 0:
            return 0.0, 0.0
        if self.total is None:
            options = {} if weight is None else {"sample_weight": weight}
            value = -float(self.scorer(model, X, y, **options))
            if not np.isfinite(value):
                raise DataError(f"the score {self.name[1:]} of a fold is {-value}.")
            return value, 1.0
        return self.total(np.asarray(y), model.predict(X), weight), size


def make_measure(estimator: Any, loss: Any, scoring: Any, y: Any) -> Measure:
    """The loss asked for; without any the share of errors, or squares for regressors."""
    if loss is not None and scoring is not None:
        raise SettingError("give loss or scoring, not both.")
    if scoring is not None:
        try:
            scorer = get_scorer(scoring)
        except (TypeError, ValueError) as error:
            raise SettingError(f"scoring is {scoring!r:.60}; {error}") from error
        words = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
        return Measure(f"-{words}", None, scorer)
    if callable(loss):
        return Measure(getattr(loss, "__name__", "loss").strip("<>"), _sums(loss))
    if loss is None and is_regressor(estimator):
        return Measure("squared error", _sums(lambda y, p: (y - p) ** 2))
    name = "share of errors" if loss is None else "mean loss W"
    return Measure(name, _risks(loss, y), zero_one=loss is None)


def _sums(loss: Callable[[Any, Any], Any]) -> Total:
    """Sums of a function of the labels and the predictions."""

    def total(y: Any, predicted: Any, weight: Array | None) -> float:
        losses = np.asarray(loss(y, predicted), dtype=np.float64)
        if losses.shape != (len(y),):
            raise SettingError(
                f"loss gave shape {losses.shape} for {len(y)} rows; it takes (y, predictions) and "
                "gives one number for each row."
            )
        if not np.isfinite(losses).all():
            raise DataError("loss gave a value that is not finite.")
        return float(losses.sum() if weight is None else losses @ weight)

    return total


def _risks(loss: Any, y: Any) -> Total:
    """Sums of a table of losses, or of errors, over the classes of all rows."""
    classes = np.unique(np.asarray(y)).tolist()

    def total(y: Any, predicted: Any, weight: Array | None) -> float:
        risk = empirical_risk(predicted, y, loss=loss, labels=classes, sample_weight=weight)
        return float(risk) * (len(y) if weight is None else float(weight.sum()))

    return total
