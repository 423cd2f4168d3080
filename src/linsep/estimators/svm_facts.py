"""What a support vector machine says about its rows, in the words of the lecture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["KKT", "SVMFacts"]

Array = NDArray[np.float64]

_ROUNDING = 1e-9  # a slack below this is rounding


@dataclass(frozen=True)
class KKT:
    """The conditions of Karush, Kuhn and Tucker, row by row.

    At the optimum of the hinge: alpha = 0 where y f > 1, alpha = C s where y f < 1, and
    anything between where y f = 1.
    """

    alpha: Array
    top: Array
    """Upper bound C s of alpha; inf for the squared hinge."""
    value: Array
    """y f(x)."""
    slack: Array
    """xi = max(0, 1 - y f(x))."""
    violation: Array
    """How far the row is from its condition, in units of y f."""
    position: NDArray[Any]
    """"ideal", "inside" or "wrong"."""

    @property
    def largest(self) -> float:
        """The largest violation."""
        return float(self.violation.max())

    def __str__(self) -> str:
        lines = [f"{'row':>6} {'alpha':>12} {'C s':>12} {'y f(x)':>12} {'xi':>12}  position"]
        for i in range(min(len(self.alpha), 50)):
            lines.append(
                f"{i:>6} {self.alpha[i]:>12.6g} {self.top[i]:>12.6g} {self.value[i]:>12.6g} "
                f"{self.slack[i]:>12.6g}  {self.position[i]}"
            )
        if len(self.alpha) > 50:
            lines.append(f"... {len(self.alpha) - 50} more rows")
        return "\n".join(lines)


class SVMFacts:
    """Methods of a fitted machine of two classes that look at its rows again."""

    def slacks(self, X: Any, y: Any) -> Array:
        """xi = max(0, 1 - y f(x)): 0 ideal, below 1 inside the street, above 1 wrong."""
        return np.maximum(0.0, 1.0 - self._values(X, y))

    def positions(self, X: Any, y: Any) -> NDArray[Any]:
        """ "ideal" (xi = 0), "inside" (0 < xi < 1) or "wrong" (xi >= 1), for each row."""
        return _positions(self.slacks(X, y))

    def kkt(self, X: Any, y: Any, sample_weight: Any = None) -> KKT:
        """The optimality conditions of the rows that were trained on."""
        me: Any = self
        values = self._values(X, y)
        alpha = np.zeros(len(values))
        alpha[me.support_] = np.abs(me.dual_coef_[0])
        weight = me._weights(np.asarray(y), sample_weight)
        top = np.full(len(values), float(me.C)) * (1.0 if weight is None else weight)
        slack = np.maximum(0.0, 1.0 - values)
        if me.loss == "squared_hinge":
            with np.errstate(invalid="ignore", divide="ignore"):
                violation = np.abs(slack - np.where(top > 0, alpha / (2.0 * top), 0.0))
            top = np.full(len(values), np.inf)
        else:
            above, below = np.maximum(values - 1.0, 0.0), slack
            violation = np.maximum(np.where(alpha > 0, above, 0), np.where(alpha < top, below, 0))
        return KKT(alpha, top, values, slack, violation, _positions(slack))

    def xi_alpha(self, X: Any, y: Any) -> float:
        """Joachims' estimate of the error: share of rows with 2 alpha R^2 + xi >= 1.

        For the hinge it is, on average, no less than the true error of leave-one-out.
        """
        me: Any = self
        matrix = abs(X).multiply(abs(X)).sum(axis=1) if hasattr(X, "tocsr") else None
        lengths = (
            np.asarray(matrix).ravel()
            if matrix is not None
            else np.einsum("ij,ij->i", np.asarray(X, float), np.asarray(X, float))
        )
        slack = self.slacks(X, y)
        alpha = np.zeros(len(slack))
        alpha[me.support_] = np.abs(me.dual_coef_[0])
        return float(((2.0 * alpha * lengths.max() + slack >= 1.0) & (alpha > 0)).mean())

    def _values(self, X: Any, y: Any) -> Array:
        me: Any = self
        if len(me.classes_) != 2:
            raise ValueError(
                "these facts are about machines of two classes; "
                f"this one has {len(me.classes_)}: take one class against the rest."
            )
        scores = me.decision_function(X)
        return np.asarray(np.where(np.asarray(y) == me.classes_[1], scores, -scores))


def _positions(slack: Array) -> NDArray[Any]:
    return np.where(slack >= 1.0, "wrong", np.where(slack > _ROUNDING, "inside", "ideal"))
