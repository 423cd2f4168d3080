"""What training minimises, as objects: value, gradient and loss of every row at given weights.

    Count           number of rows with y f(x) <= 0
    Perceptron      sum of max(-y f(x), 0)                  J_p
    Squares         sum of (y f(x) - b)^2                   J_s
    Hinge           sum of max(1 - y f(x), 0)
    SquaredHinge    sum of max(1 - y f(x), 0)^2
    Logistic        sum of log(1 + exp(-y f(x)))

f(x) = w . x + b. The last three take C, which makes them the objective of a machine,
|w|^2 / 2 + C sum L. They are the losses of ``linsep.losses``, summed over rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linsep.core.validate import as_matrix, as_weights, require_finite
from linsep.core.words import count
from linsep.errors import CapabilityError, DataError, LabelError, SettingError
from linsep.losses.base import Loss
from linsep.losses.hinge import HINGE, SQUARED_HINGE
from linsep.losses.logistic import LOGISTIC

Array = NDArray[np.float64]

__all__ = ["Count", "Criterion", "Hinge", "Logistic", "Perceptron", "SquaredHinge", "Squares"]


class Criterion(ABC):
    """A function of the weights of a plane, made of one loss for each row.

    Weights are given as ``(coef, intercept)``, as a ``linsep.Linear`` or another fitted model of
    two classes, or as one array with the intercept last. Labels are any two, the last in sorted
    order is positive. A fitted machine with a kernel has losses and a value; its weights are those
    of a feature space, so it has no gradient.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    C: float | None = None

    @abstractmethod
    def of_values(self, values: Array) -> Array:
        """The losses of rows whose y f(x) are these."""

    @abstractmethod
    def slopes(self, values: Array) -> Array:
        """Their derivatives by y f(x); at a corner the one of the rows that count as wrong."""

    def losses(self, a: Any, X: Any, y: Any) -> Array:
        """The loss of every row."""
        sign = signs(y)
        if _in_a_feature_space(a):
            return self.of_values(sign * np.asarray(a.decision_function(X), dtype=np.float64))
        rows = self._rows(X)
        return self.of_values(sign * _scores(rows, *self._weights(a, rows.shape[1]), len(sign)))

    def value(self, a: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The sum of the losses; with C |w|^2 / 2 + C times it."""
        lost = self.losses(a, X, y)
        total = float(
            lost.sum() if sample_weight is None else as_weights(sample_weight, len(lost)) @ lost
        )
        if self.C is None:
            return total
        if _in_a_feature_space(a):
            penalty = 0.5 * float(a.squared_length())
        else:
            w, _ = self._weights(a, np.shape(X)[1])
            penalty = 0.5 * float(w @ w)
        if np.isinf(self.C):  # a hard margin
            return penalty if total == 0.0 else np.inf
        return penalty + self.C * total

    def gradient(self, a: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Array:
        """The gradient by (coef, intercept) as one array, the intercept last.

        Where the criterion has a corner it is a subgradient.
        """
        if _in_a_feature_space(a):
            raise CapabilityError(
                f"{type(a).__name__} has weights in the feature space of its kernel, so there is "
                "no gradient by (coef, intercept); losses and value are there."
            )
        rows, sign = self._rows(X), signs(y)
        w, b = self._weights(a, rows.shape[1])
        slope = sign * self.slopes(sign * _scores(rows, w, b, len(sign)))
        slope = slope if sample_weight is None else slope * as_weights(sample_weight, len(slope))
        out = np.append(np.asarray(rows.T @ slope), slope.sum())
        if self.C is None:
            return out
        return np.asarray(np.append(w, 0.0) + self.C * out)

    def _rows(self, X: Any) -> Any:
        rows = as_matrix(X)
        require_finite(rows, None)
        return rows

    def _weights(self, a: Any, d: int) -> tuple[Array, float]:
        return weights_of(a, d)

    def __repr__(self) -> str:
        told = {key: value for key, value in vars(self).items() if value is not None}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in told.items())})"


class Count(Criterion):
    """Number of rows on the wrong side.

    Its gradient is zero almost everywhere and undefined at the jumps, so that nothing can be
    descended: ``linsep.descend`` refuses it.

    Parameters
    ----------
    strict : bool, default=False
        True: only y f(x) < 0 is an error (lecture 003). False: a row on the plane is one too.

    Examples
    --------
    >>> from linsep.criteria import Count
    >>> X, y = [[0.0], [1.0], [2.0]], [-1, 1, 1]
    >>> Count().value(([1.0], -1.0), X, y), Count(strict=True).value(([1.0], -1.0), X, y)
    (1.0, 0.0)
    """

    name, words = "count", "number of errors"

    def __init__(self, strict: bool = False) -> None:  # noqa: FBT001, FBT002
        self.strict = bool(strict)

    def of_values(self, values: Array) -> Array:
        return np.asarray(values < 0 if self.strict else values <= 0).astype(np.float64)

    def slopes(self, values: Array) -> Array:
        return np.zeros_like(values)


class Perceptron(Criterion):
    """The perceptron criterion, sum of max(-y f(x), 0).

    It is |w| times the sum of the distances of the rows on the wrong side. It is 0 at w = 0 for
    every table, so that a value of 0 alone proves nothing.

    Parameters
    ----------
    anchor : array of shape (d,), optional
        u: f(x) = w . (x - u) + b, b being 0 in lecture 002; weights may be w alone then.
    margin : float, default=0.0
        max(margin - y f(x), 0): rows that come closer count as well.

    Examples
    --------
    >>> from linsep.criteria import Perceptron
    >>> X, y = [[1.0, 2.0], [2.0, 1.0]], [1, -1]
    >>> anchored = Perceptron(anchor=[3.0, 0.0])
    >>> Perceptron().value(([1.0, 0.0], 0.0), X, y), anchored.value([1, 0], X, y)
    (2.0, 2.0)
    """

    name, words = "perceptron", "perceptron criterion"

    def __init__(self, anchor: ArrayLike | None = None, margin: float = 0.0) -> None:
        self.anchor = None if anchor is None else _finite("anchor", anchor)
        self.margin = float(_finite("margin", margin))

    def of_values(self, values: Array) -> Array:
        return np.maximum(self.margin - values, 0.0)

    def slopes(self, values: Array) -> Array:
        return -(values <= self.margin).astype(np.float64)

    def _rows(self, X: Any) -> Any:
        rows = super()._rows(X)
        if self.anchor is None:
            return rows
        if self.anchor.shape != (rows.shape[1],):
            raise DataError(f"anchor has shape {self.anchor.shape}, X has {rows.shape[1]} columns.")
        return (rows.toarray() if hasattr(rows, "toarray") else rows) - self.anchor

    def _weights(self, a: Any, d: int) -> tuple[Array, float]:
        alone = self.anchor is not None and not hasattr(a, "coef_") and np.shape(_first(a)) == ()
        return weights_of((a, 0.0) if alone and len(a) == d else a, d)


class Squares(Criterion):
    """The squared errors, sum of (y f(x) - b)^2; its gradient is 2 Z' (Z a - b).

    Parameters
    ----------
    targets : array of shape (n,), optional
        b, the values that the reflected rows should have; ones without it.

    Examples
    --------
    >>> from linsep.criteria import Squares
    >>> Squares([2.0, 1.0]).losses(([1.0], 0.0), [[-1.0], [4.0]], [-1, 1]).tolist()
    [1.0, 9.0]
    """

    name, words = "squares", "sum of squared errors"

    def __init__(self, targets: ArrayLike | None = None) -> None:
        self.targets = None if targets is None else _finite("targets", targets)

    def of_values(self, values: Array) -> Array:
        return (values - self._aims(values)) ** 2

    def slopes(self, values: Array) -> Array:
        return 2.0 * (values - self._aims(values))

    def _aims(self, values: Array) -> Array:
        if self.targets is None:
            return np.ones(1)
        if self.targets.shape != (len(values),):
            raise DataError(
                f"targets has shape {self.targets.shape} for {count(len(values), 'row')}."
            )
        return self.targets.reshape(-1, *([1] * (values.ndim - 1)))


class _OfLoss(Criterion):
    """A loss of ``linsep.losses``, which is a function of u = corner - y f(x)."""

    loss: ClassVar[Loss]

    def __init__(self, C: float | None = None) -> None:
        if C is not None and not _positive(C):
            raise SettingError(f"C must be None or a number > 0. Got {C!r} instead.")
        self.C = None if C is None else float(C)

    def of_values(self, values: Array) -> Array:
        return self.loss.value(self.loss.corner - values)

    def slopes(self, values: Array) -> Array:
        return -self.loss.slope(self.loss.corner - values)


class Hinge(_OfLoss):
    """The hinge, sum of max(1 - y f(x), 0): the slacks of a support vector machine.

    Parameters
    ----------
    C : float, optional
        |w|^2 / 2 + C times the sum; inf is the hard margin.
    """

    name, words, loss = "hinge", "sum of hinge losses", HINGE


class SquaredHinge(_OfLoss):
    """The squared hinge, sum of max(1 - y f(x), 0)^2.

    Parameters
    ----------
    C : float, optional
        |w|^2 / 2 + C times the sum.
    """

    name, words, loss = "squared_hinge", "sum of squared hinge losses", SQUARED_HINGE


class Logistic(_OfLoss):
    """The logistic loss, sum of log(1 + exp(-y f(x))): minus the log likelihood.

    Parameters
    ----------
    C : float, optional
        |w|^2 / 2 + C times the sum.

    Examples
    --------
    >>> from linsep.criteria import Logistic
    >>> Logistic().gradient(([0.0], 0.0), [[1.0], [3.0]], [0, 1]).tolist()
    [-1.0, 0.0]
    """

    name, words, loss = "logistic", "sum of logistic losses", LOGISTIC


def _positive(given: Any) -> bool:
    return isinstance(given, int | float | np.number) and bool(given > 0)


def _finite(name: str, given: Any) -> Array:
    """Finite numbers."""
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    if not np.isfinite(found).all():
        raise SettingError(f"{name} is {given!r:.60}; give finite numbers.")
    return found


def _in_a_feature_space(a: Any) -> bool:
    """Whether these are no weights, but a fitted machine with a kernel."""
    return not hasattr(a, "coef_") and hasattr(a, "decision_function")


def weights_of(a: Any, d: int) -> tuple[Array, float]:
    """w and b of weights that are given in any of the ways above."""
    if hasattr(a, "coef_"):
        a = (a.coef_, a.intercept_)
    try:
        if isinstance(a, tuple | list) and len(a) == 2 and np.ndim(_first(a)):
            coef, offset = np.asarray(a[0], np.float64), np.ravel(np.asarray(a[1], np.float64))
            flat = np.append(coef, offset) if coef.size == d else coef
        else:
            flat = np.ravel(np.asarray(a, dtype=np.float64))
    except (TypeError, ValueError):
        flat = np.zeros(0)  # no numbers
    if flat.shape != (d + 1,):
        raise DataError(
            f"the weights of {count(d, 'feature')} are (coef, intercept), or {d + 1} numbers with "
            f"the intercept last; got {a!r:.80}."
        )
    return flat[:-1], float(flat[-1])


def signs(y: Any) -> Array:
    """-1 and +1 for any two labels; one label alone must be one of these two.

    >>> signs(["b", "a", "b"]).tolist(), signs([1, 1]).tolist()
    ([1.0, -1.0, 1.0], [1.0, 1.0])
    """
    labels = np.ravel(np.asarray(y))
    found = np.unique(labels)
    if labels.dtype.kind in "if" and np.isin(found, (-1, 1)).all():
        return labels.astype(np.float64)
    if len(found) != 2:
        raise LabelError(f"y has {count(len(found), 'class')}; criteria of planes are about two.")
    return np.where(labels == found[1], 1.0, -1.0)


def _first(a: Any) -> Any:
    return a[0] if len(a) else a


def _scores(rows: Any, w: Array, b: float, n: int) -> Array:
    if rows.shape[0] != n:
        raise DataError(f"X has {count(rows.shape[0], 'row')} and y {count(n, 'label')}.")
    return np.asarray(rows @ w, dtype=np.float64) + b
