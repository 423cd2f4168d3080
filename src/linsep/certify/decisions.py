"""Both sides of a proof about strategies on finite tables, from the numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["class_risks", "lagrangian_bound", "least_risk"]


def class_risks(p: NDArray[Any], W: NDArray[Any], q: NDArray[Any]) -> list[Any]:
    """sum_x p(x|k) sum_d q(x, d) W(d, k) for every class k.

    >>> import numpy as np
    >>> class_risks(np.eye(2), 1 - np.eye(2), np.array([[1.0, 0.0], [0.5, 0.5]]))
    [0.0, 0.5]
    """
    if np.any(q < 0) or any(abs(float(total) - 1) > 1e-9 for total in q.sum(axis=1)):
        return [np.inf] * p.shape[1]
    expected = q @ W  # x, k
    risks: list[Any] = (p * expected).sum(axis=0).tolist()
    return risks


def least_risk(p: NDArray[Any], W: NDArray[Any], prior: Sequence[Any]) -> Any:
    """The Bayes risk of a prior, which bounds the largest risk of every strategy from below.

    >>> import numpy as np
    >>> least_risk(np.array([[0.5, 0.0], [0.5, 1.0]]), 1 - np.eye(2), [0.5, 0.5])
    0.25
    """
    weights = np.asarray(prior, dtype=p.dtype)
    if np.any(weights < 0) or abs(float(weights.sum()) - 1) > 1e-9:
        return -np.inf
    low = ((p * weights) @ W.T).min(axis=1).sum()
    return low if p.dtype == object else float(low)


def lagrangian_bound(p: NDArray[Any], price: Any, eps: Any) -> Any:
    """No test with a false alarm rate of at most eps misses less than this (p[:, 0] normal).

    For any price >= 0 and any test:  miss >= miss + price (alarm - eps)
                                           >= sum_x min(p(x|1), price p(x|0)) - price eps.

    >>> import numpy as np
    >>> lagrangian_bound(np.array([[0.75, 0.25], [0.25, 0.75]]), 1.0, 0.25)
    0.25
    """
    if price < 0:
        return -np.inf
    low = np.minimum(p[:, 1], price * p[:, 0]).sum() - price * eps
    return low if p.dtype == object else float(low)
