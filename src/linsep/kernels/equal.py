"""Equal rows of a matrix: tables of categories have many, and one kernel value serves them all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Groups", "groups_of", "sum_of_groups"]

_SHARE = 0.05  # of the rows that must be equal to another one for it to pay

Groups = tuple[NDArray[np.int64], NDArray[np.int64]]


def groups_of(matrix: Any) -> Groups | None:
    """A row of each group of equal rows, and the group of each row; None where few are equal.

    Rows with the same product with a random direction are compared; should some equal rows have
    products that differ by a rounding, they stay apart, and nothing else happens.
    """
    n, d = matrix.shape
    if not isinstance(matrix, np.ndarray) or n < 2 or d == 0:
        return None
    direction = np.random.default_rng(0).normal(size=d).astype(matrix.dtype)
    key = matrix @ direction
    sorted_key = np.sort(key)  # without places it is many times faster, and mostly enough
    if np.count_nonzero(sorted_key[1:] == sorted_key[:-1]) < _SHARE * n:
        return None
    order = np.argsort(key, kind="stable")
    near = np.flatnonzero(key[order[1:]] == key[order[:-1]])
    if len(near) < _SHARE * n:
        return None
    begins = np.ones(n, dtype=bool)
    begins[near + 1] = (matrix[order[near]] != matrix[order[near + 1]]).any(axis=1)
    if n - np.count_nonzero(begins) < _SHARE * n:
        return None
    group = np.empty(n, dtype=np.int64)
    group[order] = np.cumsum(begins) - 1
    return order[begins], group


def sum_of_groups(coef: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    """The coefficients (rows x machines) of each group added up."""
    first, group = groups
    columns = [np.bincount(group, column, len(first)) for column in coef.T]
    return np.stack(columns, axis=1)
