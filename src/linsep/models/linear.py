"""A linear rule given by its numbers, with the objective it claims to minimise."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linsep.errors import ModelError, SettingError
from linsep.losses.table import LOSSES


class Linear:
    """Weights from anywhere, to be certified.

    Parameters
    ----------
    coef : array of shape (d,) or (1 or K, d)
    intercept : float or array, default=0.0
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
    C : float, default=1.0
        Cost of the losses in |w|^2 / 2 + C sum L(y f(x)); inf is the hard margin.
    penalised : float or None, default=None
        None: the intercept is free. A number: the intercept is the weight of a constant
        feature of that value and counts in |w|, as in LIBLINEAR.
    fit_intercept : bool, default=True
        False: the objective has no intercept, which must be 0 then.
    classes : sequence or None, default=None
        Labels in sorted order, the last of two is the positive class; None takes those of y.

    Examples
    --------
    >>> import linsep
    >>> table = linsep.data.load("mse-1")
    >>> report = linsep.certify(linsep.Linear([2, -1], -2, C=10.0), table.X, table.y)
    >>> round(report.objective, 6), round(report.lower_bound, 6), report.errors
    (2.5, 2.5, 0)
    """

    def __init__(
        self,
        coef: ArrayLike,
        intercept: ArrayLike = 0.0,
        *,
        loss: str = "hinge",
        C: float = 1.0,
        penalised: float | None = None,
        fit_intercept: bool = True,
        classes: Any = None,
    ) -> None:
        self.coef_: NDArray[np.float64] = np.array(coef, dtype=np.float64, ndmin=2)
        self.intercept_: NDArray[np.float64] = np.array(intercept, dtype=np.float64, ndmin=1)
        if self.coef_.ndim != 2 or self.intercept_.shape != (len(self.coef_),):
            raise ModelError(
                f"coef has shape {self.coef_.shape} and intercept {self.intercept_.shape}; "
                "give one intercept for each row of coef."
            )
        if loss not in LOSSES:
            raise SettingError(f"loss must be one of {', '.join(LOSSES)}. Got {loss!r} instead.")
        if not _positive(C):
            raise SettingError(f"C must be a number > 0. Got {C!r} instead.")
        if penalised is not None and not (_positive(penalised) and np.isfinite(penalised)):
            raise SettingError(
                f"penalised must be None or a finite number > 0, the value of the constant "
                f"feature. Got {penalised!r} instead."
            )
        if not fit_intercept and (penalised is not None or self.intercept_.any()):
            raise SettingError("fit_intercept=False leaves no room for an intercept; it must be 0.")
        self.loss, self.C, self.penalised = loss, float(C), penalised
        self.fit_intercept = bool(fit_intercept)
        self.classes_ = None if classes is None else np.array(classes)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores w . x + b."""
        scores = np.asarray(X @ self.coef_.T + self.intercept_)
        return scores[:, 0] if len(self.coef_) == 1 else scores

    def to_model(self) -> dict[str, Any]:
        """Fields of the model file; see ``linsep.save``."""
        names = ("loss", "C", "penalised", "fit_intercept")
        return {
            "coef": self.coef_,
            "intercept": self.intercept_,
            "classes": None if self.classes_ is None else self.classes_.tolist(),
            **{name: getattr(self, name) for name in names},
        }

    @classmethod
    def from_model(cls, fields: dict[str, Any]) -> Self:
        """The rule of a model file; see ``linsep.load``."""
        names = ("loss", "C", "penalised", "fit_intercept", "classes")
        return cls(fields["coef"], fields["intercept"], **{name: fields[name] for name in names})

    def __repr__(self) -> str:
        return (
            f"Linear({len(self.coef_)} x {self.coef_.shape[1]}, loss={self.loss!r}, C={self.C:g})"
        )


def _positive(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and bool(value > 0)
