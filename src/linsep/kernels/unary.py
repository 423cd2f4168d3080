"""The explicit feature map of the intersection kernel: indicators of levels.

min(x, z) is the length of the common part of [0, x] and [0, z], so the indicator functions of
these intervals have it as their inner product. On whole numbers that is the unary code; on other
numbers the line is cut at the values that occur.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import CapabilityError

__all__ = ["unary"]

_MOST = 50_000_000  # numbers in the result


def unary(X: Any, like: Any) -> NDArray[np.float64]:
    """phi(x) for rows X, by the levels that occur in ``like``."""
    X = X if isinstance(X, np.ndarray) else X.toarray()
    like = like if isinstance(like, np.ndarray) else like.toarray()
    if X.shape[1] != like.shape[1]:
        raise CapabilityError(f"X has {X.shape[1]} columns, but the map is of {like.shape[1]}.")
    parts, width = [], 0
    for k in range(X.shape[1]):
        levels = _levels(like[:, k], X[:, k], k)
        width += levels.size
        if width * X.shape[0] > _MOST:
            raise CapabilityError(
                f"the unary code of {X.shape[0]} rows needs more than {width} coordinates; use "
                "the kernel itself, or AdditiveSVM, which needs no such map."
            )
        gaps = np.sqrt(np.diff(levels, prepend=0.0))
        parts.append((X[:, k, None] >= levels) * gaps)
    return np.hstack(parts) if parts else np.empty((X.shape[0], 0))


def _levels(values: NDArray[Any], asked: NDArray[Any], column: int) -> NDArray[np.float64]:
    """1, 2, ... up to the largest whole number, or the sorted values where some are broken."""
    top = float(values.max())
    if top <= _MOST and _whole(values) and _whole(asked):
        return np.arange(1.0, top + 1.0)
    levels = np.unique(values[values > 0]).astype(np.float64)
    new = (asked < top) & ~np.isin(asked, levels) & (asked > 0)
    if new.any():
        row = int(np.flatnonzero(new)[0])
        raise CapabilityError(
            f"X has {asked[row]:g} at row {row}, column {column}, between the values that the map "
            "was made from; make it from all rows together, features(X, like=all_rows)."
        )
    return levels


def _whole(values: NDArray[Any]) -> bool:
    return bool((values == np.floor(values)).all())
