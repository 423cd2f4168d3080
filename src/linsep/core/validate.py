"""Checking what a caller gives: matrix, weights, targets. Errors name the value and its place."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linsep.core.words import count
from linsep.errors import DataError

_CHUNK = 1 << 20  # elements looked at together
_LEAST = 1e-140  # targets below it, or above its inverse, have squares beyond floats


def as_matrix(X: Any) -> Any:
    """X as a float array or CSR matrix, untouched where it is one already."""
    if hasattr(X, "tocsr"):
        matrix = X.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        data = _as_floats(matrix.data)
        if data is not matrix.data:
            matrix = matrix.__class__((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    else:
        if np.ma.isMaskedArray(X) and np.ma.getmaskarray(X).any():
            row = int(np.argwhere(np.ma.getmaskarray(X))[0][0])
            raise DataError(f"X is masked at row {row}; fill the gaps or drop these rows first.")
        matrix = np.asarray(X)
        if matrix.ndim != 2:
            way = "reshape it with X.reshape(-1, 1)" if matrix.ndim == 1 else "give two axes"
            raise DataError(f"X has {matrix.ndim} axes where rows and columns are needed; {way}.")
        matrix = _as_floats(matrix)
    if matrix.shape[0] == 0:
        raise DataError("X has no rows (0 samples); give at least one row of each class.")
    if matrix.shape[1] == 0:
        raise DataError(f"X has no columns: 0 feature(s) (shape={matrix.shape}).")
    return matrix


def _as_floats(values: Any) -> Any:
    """Give float32 and float64 back untouched, anything else as an exact float copy."""
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype.kind == "c":
        raise DataError("Complex data not supported: X has complex numbers; give real ones.")
    if values.dtype.kind in "biu":
        if values.dtype.itemsize <= 2:
            return values.astype(np.float32)
        floats = values.astype(np.float64)
        large = (values > 2**53) | (values < -(2**53)) if values.dtype.itemsize == 8 else None
        if large is not None and large.any():
            raise DataError(
                f"X holds the integer {int(values[large].ravel()[0])}, too large to be exact in "
                "float64 (2**53); convert X to floats yourself if rounding is meant."
            )
        return floats
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        floats = values.astype(np.float64)
        if not np.array_equal(floats, values, equal_nan=True):
            raise DataError(
                f"X has {values.dtype} values that float64 cannot hold; convert X to float64 "
                "yourself if rounding is meant."
            )
        return floats
    if values.dtype == np.float16:
        return values.astype(np.float32)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"X holds values that are not numbers ({error}); encode text columns first."
        ) from error


def require_finite(matrix: Any, names: list[str] | None) -> None:
    """Raise DataError at the first NaN or infinity, with its place."""
    flat = matrix.data if not isinstance(matrix, np.ndarray) else matrix
    if _all_finite(flat):
        return
    if isinstance(matrix, np.ndarray):
        bad = ~np.isfinite(matrix)
        row, column = (int(i) for i in np.argwhere(bad)[0])
        first = matrix[row, column]
        count = int(bad.sum())
    else:
        places = np.flatnonzero(~np.isfinite(matrix.data))
        count = places.size
        row = int(np.searchsorted(matrix.indptr, places[0], side="right") - 1)
        column, first = int(matrix.indices[places[0]]), matrix.data[places[0]]
    what = "NaN" if np.isnan(first) else "infinity (inf)"
    name = f" ('{names[column]}')" if names else ""
    others = "" if count == 1 else f", {count} values that are not finite in all"
    raise DataError(
        f"X contains {what} at row {row}, column {column}{name}{others}; "
        "impute or drop these rows first."
    )


def _all_finite(values: NDArray[Any]) -> bool:
    """One pass, two threads on large arrays: a sum is finite only if (almost) all parts are."""
    if values.ndim == 2 and not values.flags.c_contiguous:
        values = values.T
    if not values.flags.c_contiguous:
        return bool(np.isfinite(values).all())
    flat = values.reshape(-1)
    pieces = [flat[at : at + _CHUNK] for at in range(0, flat.size, _CHUNK)]

    def finite(piece: NDArray[Any]) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(np.add.reduce(piece)) or np.isfinite(piece).all())

    if len(pieces) < 4:
        return all(map(finite, pieces))
    with ThreadPoolExecutor(2) as pool:
        return all(pool.map(finite, pieces))


def as_weights(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Finite weights >= 0; ones without any."""
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise DataError(
            f"sample_weight has shape {weight.shape}; X has {count(n, 'row')}: give ({n},)."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(f"sample_weight[{at}] is {weight[at]}; weights are finite and >= 0.")
    return weight


def as_targets(targets: ArrayLike | None, n: int) -> NDArray[np.float64] | None:
    """Finite targets > 0, one a row; None stays None and means ones."""
    if targets is None:
        return None
    try:
        b = np.asarray(targets, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"targets are not numbers ({error}); give one number > 0 a row.") from None
    if b.shape != (n,):
        raise DataError(
            f"targets has shape {b.shape}; X has {count(n, 'row')}: give ({n},), or None."
        )
    bad = ~(np.isfinite(b) & (b > 0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"targets[{at}] is {b[at]}; targets are finite and > 0, since a row is on its own "
            "side when its value is positive."
        )
    if not _LEAST <= b.min() <= b.max() <= 1 / _LEAST:
        raise DataError(
            f"targets reach from {b.min():.3g} to {b.max():.3g}, and their squares leave the range "
            f"of floats; keep them between {_LEAST:g} and {1 / _LEAST:g}: only their ratios matter."
        )
    return b
