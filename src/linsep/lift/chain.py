"""The steps before a linear model, as one map from the inputs: in floats, and exactly.

Scalers of scikit-learn are affine, so behind or before a lift they leave polynomials polynomials.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import CapabilityError
from linsep.lift.columns import column_texts
from linsep.lift.polynomial import NotPolynomialError, Polynomial
from linsep.lift.transformer import Lift

__all__ = ["Chain"]

Array = NDArray[np.float64]


class Chain:
    """Fitted transformers, one after the other.

    Parameters
    ----------
    steps : sequence of fitted transformers
        At least one of them tells n_features_in_.
    """

    def __init__(self, steps: Sequence[Any]) -> None:
        self.steps = [step for step in steps if step not in (None, "passthrough")]
        first = next((s for s in self.steps if hasattr(s, "n_features_in_")), None)
        if first is None:
            raise CapabilityError(
                "no step of the model tells how many inputs it has; fit it first."
            )
        self.n_inputs = int(first.n_features_in_)
        names = getattr(first, "feature_names_in_", None)
        self.names = column_texts(
            None if names is None else [str(name) for name in names], self.n_inputs
        )
        self.polynomials = self._polynomials()

    def __call__(self, X: Any) -> Array:
        """The features of the rows; a row whose features are not finite is NaN throughout."""
        values = np.asarray(X, dtype=np.float64)
        with warnings.catch_warnings():
            # Plain arrays are meant here, also where the fit saw a data frame.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            for step in self.steps:
                good = np.isfinite(values).all(axis=1, keepdims=True)
                safe = np.where(good, values, 0.0)
                out = step.evaluate(safe) if isinstance(step, Lift) else step.transform(safe)
                out = np.asarray(out.toarray() if hasattr(out, "toarray") else out, np.float64)
                values = np.where(good, out, np.nan)
        return np.where(np.isfinite(values).all(axis=1, keepdims=True), values, np.nan)

    def names_out(self) -> list[str]:
        """Texts of the features: of the last step that can tell, else phi1, phi2, ..."""
        last = self.steps[-1]
        if isinstance(last, Lift) and len(self.steps) == 1:
            return [str(name) for name in last.get_feature_names_out()]
        width = self(np.zeros((1, self.n_inputs))).shape[1]
        return [f"phi{k + 1}(x)" for k in range(width)]

    def limits(self) -> tuple[Array, Array] | None:
        """The range of the rows that the lift was fitted on, if it is the first step."""
        first = self.steps[0]
        return (first.data_low_, first.data_high_) if isinstance(first, Lift) else None

    def _polynomials(self) -> list[Polynomial] | None:
        values: list[Polynomial] | None = [Polynomial.variable(j) for j in range(self.n_inputs)]
        for step in self.steps:
            if values is None:
                return None
            try:
                values = _through(step, values)
            except NotPolynomialError:
                return None
        return values


def _through(step: Any, values: list[Polynomial]) -> list[Polynomial] | None:
    """Polynomials behind a step, or None where it makes no polynomials of them."""
    if isinstance(step, Lift):
        return step.polynomials(values)
    if hasattr(step, "powers_"):
        return [_monomial(powers, values) for powers in step.powers_.tolist()]
    affine = _affine(step, len(values))
    if affine is None:
        return None
    return [p * a + b for p, (a, b) in zip(values, affine)]


def _monomial(powers: list[int], values: list[Polynomial]) -> Polynomial:
    product = Polynomial.constant(1)
    for power, value in zip(powers, values):
        product = product * value**power
    return product


def _affine(step: Any, width: int) -> list[tuple[Fraction, Fraction]] | None:
    """Factor and summand of each column, exactly, for the scalers of scikit-learn."""
    kind = type(step).__name__
    ones, zeros = [Fraction(1)] * width, [Fraction(0)] * width
    if kind == "MinMaxScaler" and not step.clip:
        return list(zip(_exact(step.scale_), _exact(step.min_)))
    centre = {"StandardScaler": "mean_", "RobustScaler": "center_", "MaxAbsScaler": ""}.get(kind)
    if centre is None or getattr(step, "clip", False):
        return None
    uses = (getattr(step, "with_mean", True), getattr(step, "with_centering", True))
    found = getattr(step, centre, None) if centre and all(uses) else None
    shift = zeros if found is None else _exact(found)
    size = ones if getattr(step, "scale_", None) is None else _exact(step.scale_)
    return [(1 / s, -c / s) for s, c in zip(size, shift)]


def _exact(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.ravel(values)]
