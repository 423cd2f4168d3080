"""Arithmetic on dense and sparse matrices, for searches in coordinates of their own."""

from __future__ import annotations

from math import frexp, inf, ldexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem

__all__ = [
    "blocks",
    "combined",
    "dense",
    "extent",
    "mean",
    "moments",
    "power_of_two",
    "product",
    "products",
    "spread",
    "workable",
]

Array = NDArray[np.float64]

_DENSE_ENTRIES = 4_000_000  # a sparse matrix with no more cells than this is written out
_CHUNK = 1 << 20


def workable(problem: Problem) -> Any:
    """The matrix, dense where that is cheap, with values in float64 where it is small."""
    matrix = problem.matrix
    n, d = matrix.shape
    if n * d <= _DENSE_ENTRIES:
        return np.ascontiguousarray(dense(matrix), dtype=np.float64)
    return matrix


def dense(block: Any) -> NDArray[Any]:
    return block if isinstance(block, np.ndarray) else np.asarray(block.toarray())


def product(matrix: Any, w: Array) -> Array:
    if not isinstance(matrix, np.ndarray) or matrix.dtype == np.float64:
        return np.asarray(matrix @ w, dtype=np.float64)
    out = np.empty((matrix.shape[0], *w.shape[1:]))
    for at, block in blocks(matrix):
        out[at : at + len(block)] = block @ w
    return out


def products(rows: Any) -> Array:
    """Products of all rows with all rows, in float64; the layout and type do not matter."""
    if not isinstance(rows, np.ndarray):
        rows = rows.astype(np.float64)
        return np.asarray(dense(rows @ rows.T))
    n, d = rows.shape
    out = np.zeros((n, n))
    step = max(1, 4 * _CHUNK // max(1, n))
    for at in range(0, d, step):
        block = np.ascontiguousarray(rows[:, at : at + step], dtype=np.float64)
        out += block @ block.T
    return out


def combined(matrix: Any, share: Array) -> Array:
    """share @ matrix in float64; the layout and type of the matrix do not matter."""
    if not isinstance(matrix, np.ndarray):
        return np.asarray(matrix.T @ share.T).T
    if matrix.size < _CHUNK:
        return np.asarray(share @ matrix.astype(np.float64, copy=False))
    used = np.flatnonzero(share.any(axis=0))  # few of the rows
    return np.asarray(share[:, used] @ np.ascontiguousarray(matrix[used], dtype=np.float64))


def blocks(matrix: Any) -> Any:
    """Dense float64 blocks of rows with their first row."""
    n, d = matrix.shape
    step = max(1, _CHUNK // max(1, d))
    for at in range(0, n, step):
        yield at, dense(matrix[at : at + step]).astype(np.float64, copy=False)


def mean(matrix: Any) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.asarray(matrix.mean(axis=0, dtype=np.float64)).ravel()
    return np.where(np.isfinite(mean), mean, 0.0)


def extent(matrix: Any, center: Array) -> Array:
    """Largest distance from the center in each column."""
    if isinstance(matrix, np.ndarray):
        top, bottom = matrix.max(axis=0), matrix.min(axis=0)
    else:
        top, bottom = dense(matrix.max(axis=0)).ravel(), dense(matrix.min(axis=0)).ravel()
    with np.errstate(over="ignore"):
        extent = np.maximum(np.abs(top - center), np.abs(bottom - center)).astype(np.float64)
    return np.asarray(np.minimum(extent, np.finfo(np.float64).max))


def spread(matrix: Any, center: Array) -> Array:
    """Root mean square distance from the center in each column, or less for huge values."""
    n = matrix.shape[0]
    scale = power_of_two(extent(matrix, center))
    if isinstance(matrix, np.ndarray):
        total = np.zeros(len(center))
        for _, block in blocks(matrix):
            part = block - center
            part *= scale
            total += np.einsum("ij,ij->j", part, part)
        return np.asarray(np.sqrt(total / n) / scale)
    squares = matrix.multiply(scale).power(2).sum(axis=0)
    total = np.ravel(np.asarray(squares)) / n - (center * scale) ** 2
    return np.asarray(np.sqrt(np.maximum(total, 0.0)) / scale)


def power_of_two(extent: Any) -> Any:
    """The power of two that brings a size near 1; 1 for size 0."""
    if isinstance(extent, float):
        return ldexp(1.0, min(max(-frexp(extent)[1], -1022), 1023)) if 0 < extent < inf else 1.0
    _, exponent = np.frexp(extent)
    return np.ldexp(1.0, np.where(extent > 0, np.clip(-exponent, -1022, 1023), 0))


def moments(matrix: Any, center: Array, scale: Array) -> Array:
    d = len(center)
    if isinstance(matrix, np.ndarray):
        out = np.zeros((d, d))
        for _, block in blocks(matrix):
            part = block - center
            part *= scale
            out += part.T @ part
        return out
    n = matrix.shape[0]
    scaled = matrix.multiply(scale).tocsr().astype(np.float64)
    middle = center * scale
    return np.asarray(dense(scaled.T @ scaled) - n * np.outer(middle, middle))
