"""The domain of histogram kernels: no entry below zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.errors import DataError

__all__ = ["require_nonnegative"]


def require_nonnegative(kernel: object, matrix: Any, X: Any) -> None:
    """Raise DataError at the first negative entry, with its place."""
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if not values.size or values.min() >= 0:
        return
    if isinstance(matrix, np.ndarray):
        row, column = (int(k) for k in np.argwhere(matrix < 0)[0])
        value, count = matrix[row, column], int((matrix < 0).sum())
    else:
        places = np.flatnonzero(values < 0)
        row = int(np.searchsorted(matrix.indptr, places[0], side="right") - 1)
        column, value, count = int(matrix.indices[places[0]]), values[places[0]], places.size
    name = f" ('{X.columns[column]}')" if hasattr(X, "columns") else ""
    others = "" if count == 1 else f", {count} negative values in all"
    raise DataError(
        f"{kernel!r} compares histograms, whose entries are >= 0, but X is {value:g} at row {row}, "
        f"column {column}{name}{others}; give counts or frequencies, or use RBF."
    )
