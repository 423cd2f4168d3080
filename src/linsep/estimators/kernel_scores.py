"""Values of fitted machines with kernels for new rows: exactly, or only their signs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.kernel_sums import WORTH, single_sums
from linsep.estimators.kernel_facts import sure_winners
from linsep.kernels.rows import Rows
from linsep.kernels.sums import short_rows, weighted_sums

__all__ = ["kernel_sums", "sure_sums"]

Array = NDArray[np.float64]

_ENTRIES = 1 << 24  # of rows that are looked at together


def kernel_sums(kernel: Any, X: Any, vectors: Any, coef: Array, like: Rows | None = None) -> Array:
    """Kernel values of the rows of X with the support vectors, times coef.

    like are rows that have the origin of distances already.
    """
    out = np.zeros((X.shape[0], coef.shape[1]))
    right = _rows(kernel, vectors, np.float64, like)
    step = max(1, _ENTRIES // max(1, X.shape[1]))
    for at in range(0, X.shape[0], step):
        left = _rows(kernel, X[at : at + step], np.float64, right)
        out[at : at + step] = weighted_sums(kernel, left, right, coef)
    bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
    if len(bad) and np.isfinite(coef).all():
        kernel.gram(X[bad[:1]], vectors)  # says what is wrong, if it is a kernel value
    return out


def sure_sums(kernel: Any, X: Any, vectors: Any, coef: Array, offset: Array) -> Array:
    """The same plus offset, with the right signs, and the rest right to what float32 gives.

    Rows with a value whose sign float32 cannot tell are computed in float64; of three classes and
    more only where no class is known to win against all others.
    """
    if X.shape[0] * vectors.shape[0] < WORTH or type(kernel).__name__ != "RBF":
        return kernel_sums(kernel, X, vectors, coef) + offset
    right = _rows(kernel, vectors, np.float32)
    out = np.empty((X.shape[0], coef.shape[1]))
    step = max(1, _ENTRIES // max(1, X.shape[1]))
    unsure = []
    for at in range(0, X.shape[0], step):
        found = single_sums(
            kernel, _rows(kernel, X[at : at + step], np.float32, right), right, coef
        )
        if found is None:
            return kernel_sums(kernel, X, vectors, coef) + offset
        out[at : at + step] = found[0] + offset
        winner = sure_winners(out[at : at + step], found[1] + 1e-12 * np.abs(offset))
        unsure.append(at + np.flatnonzero(winner < 0))
    again = np.concatenate(unsure)
    if len(again):
        out[again] = kernel_sums(kernel, X[again], vectors, coef, right) + offset
    return out


def _rows(kernel: Any, matrix: Any, dtype: Any, like: Rows | None = None) -> Rows:
    kind = np.dtype(dtype)
    rows: Rows = kernel.rows(short_rows(kernel, matrix, kind), kind, like=like)
    kernel.prepare(rows)
    return rows
