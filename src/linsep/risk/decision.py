"""From posteriors to decisions, for any loss.

    q(x) = argmin over d of sum_k p(k | x) W(d, k)

W has a row for each decision and a column for each class. The first K decisions are the classes;
further rows are ways not to decide (reject options) with labels of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import SettingError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Decisions:
    """A loss matrix with the names of its rows; W None stands for the 0/1 loss."""

    W: Array | None
    labels: NDArray[Any]
    K: int

    @property
    def plain(self) -> bool:
        """Whether the largest posterior decides: W is 0/1 up to a factor and column constants."""
        if self.W is None:
            return True
        if len(self.W) != self.K:
            return False
        cost = np.diag(self.W)[None, :] - self.W  # 0 on the diagonal, -c beside it
        beside = cost[~np.eye(self.K, dtype=bool)]
        return bool((beside < 0).all() and (beside == beside[0]).all())

    def risk(self, posterior: Array) -> Array:
        """Expected loss of every decision, shape (n, number of decisions)."""
        if self.W is None:
            return np.asarray(1.0 - posterior)
        return np.asarray(posterior @ self.W.T)

    def choose(self, posterior: Array) -> NDArray[np.intp]:
        """Number of the decision of least risk; of two equal classes the last, of more the
        first, and a class before a reject option."""
        if self.W is None:
            if self.K == 2:
                return (posterior[:, 1] >= posterior[:, 0]).astype(np.intp)
            return np.asarray(posterior.argmax(axis=1))
        risk = self.risk(posterior)
        if self.K > 2:
            return np.asarray(risk.argmin(axis=1))
        order = np.array([1, 0, *range(2, len(self.labels))])
        return np.asarray(order[risk[:, order].argmin(axis=1)])

    def shift(self) -> float | None:
        """Two decisions: what to add to the log odds so that its sign decides.

        None where no number does: a reject option, or a loss that rewards a mistake.
        """
        if self.W is None:
            return 0.0
        if self.W.shape != (2, 2):
            return None
        miss, alarm = self.W[0, 1] - self.W[1, 1], self.W[1, 0] - self.W[0, 0]
        return float(np.log(miss) - np.log(alarm)) if miss > 0 and alarm > 0 else None


def decisions(loss: Any, classes: NDArray[Any], reject_label: Any = None) -> Decisions:
    """Check a loss matrix and name its decisions."""
    K = len(classes)
    if loss is None:
        return Decisions(None, classes, K)
    try:
        W = np.array(loss, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SettingError(f"loss is not a matrix of numbers ({error}).") from error
    if W.ndim != 2 or W.shape[1] != K or W.shape[0] < K:
        raise SettingError(
            f"loss has shape {W.shape}; W[d, k] is the loss of decision d when class k is true, so "
            f"{K} classes need {K} columns and {K} rows, one for each class, and one more row for "
            "each reject option."
        )
    if not np.isfinite(W).all():
        d, k = np.argwhere(~np.isfinite(W))[0]
        raise SettingError(f"loss[{d}, {k}] is {W[d, k]}; losses are finite numbers.")
    return Decisions(W, _named(classes, len(W) - K, reject_label), K)


def _named(classes: NDArray[Any], extra: int, reject_label: Any) -> NDArray[Any]:
    """Labels of all decisions: the classes and those of the reject options."""
    if not extra:
        return classes
    known = classes.tolist()
    if reject_label is None:
        names = _default_reject(classes, extra)
    else:
        names = list(reject_label) if isinstance(reject_label, list | tuple) else [reject_label]
    if len(names) != extra:
        raise SettingError(
            f"loss has {extra} rows beyond the classes and reject_label names {len(names)}: "
            "give one label for each."
        )
    for name in names:
        if name in known:
            raise SettingError(f"reject_label {name!r} is one of the classes; choose another.")
    kinds = {"i": (int,), "u": (int,), "f": (int, float), "U": (str,)}.get(classes.dtype.kind, ())
    if all(type(name) in kinds for name in names):
        return np.array([*known, *names])
    labels = np.empty(len(known) + extra, dtype=object)
    labels[:] = [*known, *names]
    return labels


def _default_reject(classes: NDArray[Any], extra: int) -> list[Any]:
    """'reject' among texts, -1 among numbers, 0 where -1 is a class."""
    known = classes.tolist()
    if extra == 1:
        numbers = classes.dtype.kind in "iuf"
        for name in (-1, 0) if numbers else ("reject",):
            if name not in known:
                return [name]
    raise SettingError(
        f"loss has {extra} rows beyond the {len(known)} classes; say with reject_label what "
        "predict should give for them."
    )
