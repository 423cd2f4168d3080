"""What a support vector machine says about its rows, in the words of the lecture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import DataError, LabelError, SettingError

__all__ = ["KKT", "SVMFacts"]

Array = NDArray[np.float64]

_ROUNDING = 1e-9  # a slack below this is rounding
_FEW = 2000  # rows of which all products are looked at


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
            slack = self.slack[i] if self.slack[i] > _ROUNDING else 0.0
            lines.append(
                f"{i:>6} {self.alpha[i]:>12.6g} {self.top[i]:>12.6g} {self.value[i]:>12.6g} "
                f"{slack:>12.6g}  {self.position[i]}"
            )
        if len(self.alpha) > 50:
            lines.append(f"... {len(self.alpha) - 50} more rows")
        return "\n".join(lines)


class SVMFacts:
    """Methods of a fitted machine that look at its rows again."""

    def slacks(self, X: Any, y: Any) -> Array:
        """xi = max(0, 1 - y f(x)): 0 ideal, below 1 inside the street, from 1 on wrong.

        With K classes one column for each class against the rest; by Crammer and Singer one
        number a row, xi = max(0, 1 - (own score - best rival)).
        """
        return np.maximum(0.0, 1.0 - self._values(X, y))

    def positions(self, X: Any, y: Any) -> NDArray[Any]:
        """ "ideal" (xi = 0), "inside" (0 < xi < 1) or "wrong" (xi >= 1), as ``slacks``."""
        return _positions(self.slacks(X, y))

    def kkt(self, X: Any, y: Any, sample_weight: Any = None, *, of: Any = None) -> KKT:
        """The optimality conditions of the rows that were trained on.

        Parameters
        ----------
        X, y, sample_weight
            Those of the fit.
        of : label, optional
            With more than two classes: the class against the rest that is meant.
        """
        me: Any = self
        values, alpha = self._machine(X, y, of)
        weight = me._weights(np.asarray(y), sample_weight)
        top = np.full(len(values), float(me.C))
        if weight is not None and np.isfinite(me.C):
            top = top * weight
        slack = np.maximum(0.0, 1.0 - values)
        if me.loss == "squared_hinge" and np.isfinite(me.C):
            with np.errstate(invalid="ignore", divide="ignore"):
                violation = np.abs(slack - np.where(top > 0, alpha / (2.0 * top), 0.0))
            top = np.full(len(values), np.inf)
        else:
            above, below = np.maximum(values - 1.0, 0.0), slack
            violation = np.maximum(np.where(alpha > 0, above, 0), np.where(alpha < top, below, 0))
        return KKT(alpha, top, values, slack, violation, _positions(slack))

    def xi_alpha(self, X: Any, y: Any, *, of: Any = None) -> float:
        """Joachims' estimate of the error: share of rows with 2 alpha R^2 + xi >= 1.

        R^2 is the range of the products x . x'. With the hinge and at the optimum, no more rows
        than these are wrong when each is left out of the training in turn.
        """
        me: Any = self
        values, alpha = self._machine(X, y, of)
        slack = np.maximum(0.0, 1.0 - values)
        reach = _range(X, centred=bool(me.fit_intercept))
        return float(((2.0 * alpha * reach + slack >= 1.0) & (alpha > 0)).mean())

    def _machine(self, X: Any, y: Any, of: Any) -> tuple[Array, Array]:
        """y f(x) and alpha of one plane, on the rows of the fit."""
        me: Any = self
        values = self._values(X, y)
        k = 0
        if len(me.classes_) > 2:
            if me.multi_class == "crammer-singer":
                raise SettingError(
                    "a machine by Crammer and Singer has no planes of its own; certificate_ holds "
                    "what is proved, slacks(X, y) the losses of the rows."
                )
            places = np.flatnonzero(np.asarray(me.classes_) == of)
            if of is None or len(places) != 1:
                known = ", ".join(map(repr, np.asarray(me.classes_).tolist()))
                raise SettingError(f"say which class against the rest: of= one of {known}.")
            k = int(places[0])
            values = values[:, k]
        if len(me.support_) and int(me.support_.max()) >= len(values):
            raise DataError(
                f"the model has support vector {int(me.support_.max())} but X has {len(values)} "
                "rows; give the rows it was trained on."
            )
        alpha = np.zeros(len(values))
        alpha[me.support_] = np.abs(me.dual_coef_[k])
        return values, alpha

    def _values(self, X: Any, y: Any) -> Array:
        """y f(x): of one plane, of K of them, or own score minus best rival."""
        me: Any = self
        scores, labels = me.decision_function(X), np.asarray(y)
        if labels.shape != (len(scores),):
            raise LabelError(
                f"y has shape {labels.shape}, X has {len(scores)} rows; give one each."
            )
        strange = labels[~np.isin(labels, me.classes_)].tolist()
        if strange:
            raise LabelError(
                f"y has the label {strange[0]!r}; the model knows "
                f"{', '.join(map(repr, np.asarray(me.classes_).tolist()))}."
            )
        if scores.ndim == 1:
            return np.asarray(np.where(labels == me.classes_[1], scores, -scores))
        own = labels[:, None] == np.asarray(me.classes_)[None, :]
        if me.multi_class != "crammer-singer":
            return np.asarray(np.where(own, scores, -scores))
        return np.asarray(scores[own] - np.where(own, -np.inf, scores).max(axis=1))


def _range(X: Any, centred: bool) -> float:
    """At least the range of x . x' over the rows; a free intercept allows any origin."""
    sparse = hasattr(X, "tocsr")
    rows: Any = X.tocsr() if sparse else np.asarray(X, dtype=np.float64)
    squares = rows.multiply(rows).sum(axis=1) if sparse else np.einsum("ij,ij->i", rows, rows)
    lengths = np.asarray(squares, dtype=np.float64).ravel()
    least = float(rows.min())
    found = [float(lengths.max()) * (1.0 if least >= 0 else 2.0)]
    if centred and not sparse:
        moved = rows - rows.mean(axis=0)
        if len(moved) <= _FEW:
            gram = moved @ moved.T
            found.append(float(gram.max() - gram.min()))
        found.append(2.0 * float(np.einsum("ij,ij->i", moved, moved).max()))
    elif len(lengths) <= _FEW:
        products = (rows @ rows.T).toarray() if sparse else rows @ rows.T
        found.append(float(products.max() - products.min()))
    return min(found)


def _positions(slack: Array) -> NDArray[Any]:
    return np.where(slack >= 1.0, "wrong", np.where(slack > _ROUNDING, "inside", "ideal"))
