"""The domain of histogram kernels: no entry below zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.errors import DataError

__all__ = ["negative_entry", "require_nonnegative", "unusable"]


def negative_entry(matrix: Any, names: Any = None) -> str | None:
    """The first negative entry of a dense or CSR matrix and its place in words; None without."""
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if not values.size or values.min() >= 0:
        return None
    if isinstance(matrix, np.ndarray):
        row, column = (int(k) for k in np.argwhere(matrix < 0)[0])
        value, count = matrix[row, column], int((matrix < 0).sum())
    else:
        places = np.flatnonzero(values < 0)
        row = int(np.searchsorted(matrix.indptr, places[0], side="right") - 1)
        column, value, count = int(matrix.indices[places[0]]), values[places[0]], places.size
    name = "" if names is None else f" ('{names[column]}')"
    others = "" if count == 1 else f", {count} negative values in all"
    return f"X is {value:g} at row {row}, column {column}{name}{others}"


def require_nonnegative(kernel: object, matrix: Any, X: Any) -> None:
    """Raise DataError at the first negative entry, with its place."""
    found = negative_entry(matrix, getattr(X, "columns", None))
    if found is not None:
        raise DataError(
            f"{kernel!r} compares histograms, whose entries are >= 0, but {found}; give counts "
            "or frequencies, or use RBF."
        )


def unusable(kernel: object, value: Any, i: int, j: int) -> str:
    """What to say of a kernel value that is not finite."""
    if np.isnan(value) and type(kernel).__name__ == "Function":
        return f"{kernel!r} of rows {i} and {j} is nan; a kernel gives a finite number."
    return (
        f"{kernel!r} of rows {i} and {j} is too large for {np.asarray(value).dtype}; scale X, "
        "for example with sklearn.preprocessing.MaxAbsScaler."
    )
