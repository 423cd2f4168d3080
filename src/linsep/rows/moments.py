"""First and second moments of the rows of one class, in pieces, for dense and sparse rows.

Moments are taken about a centre that the caller gives. About a row of the class, the residuals
of a column that is constant there are exactly zero; about the mean, nothing cancels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import IN_CACHE
from linsep.core.problem import Problem

Array = NDArray[np.float64]


class Moments(NamedTuple):
    """Weighted means of x - c and of its products."""

    weight: float
    first: Array
    second: Array
    """(d, d) products, or (d,) squares where only these were asked for."""
    terms: int
    """How often in a row a sum was rounded: entry (u, v) of second is off by no more than
    ``terms`` 2^-53 size_u size_v, entry u of first by ``terms`` 2^-53 size_u."""
    size: Array
    """At least the roots of the mean squares of x - c."""


def class_rows(problem: Problem, k: int) -> NDArray[np.intp]:
    """Numbers of the rows of class number k."""
    return np.flatnonzero(problem.label == k)


def mean_about(problem: Problem, k: int, centre: Array) -> Array:
    """The weighted mean of x - c over the rows of class k."""
    if problem.sparse:
        return moments_about(problem, k, centre, products=False).first
    first = np.zeros(problem.d)
    for block, weight in _blocks(problem, k, centre, _step(problem)):
        first += weight @ block
    return np.asarray(first / float(problem.weight[class_rows(problem, k)].sum()))


def reach_about(problem: Problem, k: int, centre: Array) -> Array:
    """The largest |x - c| of each column over the rows of class k."""
    reach = np.zeros(problem.d)
    if problem.sparse:  # entries that are not stored are all equal to -centre
        rows = problem.matrix[class_rows(problem, k)]
        full = np.bincount(rows.indices, minlength=problem.d) == rows.shape[0]
        reach = np.where(full, 0.0, np.abs(centre))
        residual = rows.data.astype(np.float64) - centre[rows.indices]
        np.maximum.at(reach, rows.indices, np.abs(residual))
        return reach
    for block, _ in _blocks(problem, k, centre, _step(problem)):
        np.maximum(reach, np.maximum(block.max(axis=0), -block.min(axis=0)), out=reach)
    return reach


def moments_about(problem: Problem, k: int, centre: Array, *, products: bool) -> Moments:
    """Moments of class k about a centre: of squares, or of all products of columns."""
    rows = class_rows(problem, k)
    if problem.sparse and not products:
        return _sparse_squares(problem.matrix[rows], problem.weight[rows], centre)
    d = problem.d
    first = np.zeros(d)
    second = np.zeros((d, d) if products else d)
    plain = bool((problem.weight[rows] == 1.0).all())
    step = max(_step(problem), d if products else 1)  # a product as cheap as its operands
    for block, weight in _blocks(problem, k, centre, step):
        first += weight @ block
        if products:
            if not plain:
                block *= np.sqrt(weight)[:, None]
            second += block.T @ block
        else:
            second += weight @ np.square(block, out=block)
    total = float(problem.weight[rows].sum())
    terms = min(step, len(rows)) + -(-len(rows) // step) + 16
    second /= total
    size = np.sqrt(np.diag(second) if products else second) * (1 + 1e-9)
    return Moments(total, first / total, second, terms, size)


@dataclass(frozen=True)
class MomentSums:
    """Sums over some rows, class by class, of weights, x - c and its products."""

    weight: Array
    first: Array
    second: Array

    def plus(self, other: Self) -> Self:
        """Both."""
        return type(self)(
            self.weight + other.weight, self.first + other.first, self.second + other.second
        )


def moment_sums(problem: Problem, *, centres: Array, products: bool) -> MomentSums:
    """Of all classes about their centres; those without rows have none."""
    K, d = centres.shape
    out = MomentSums(np.zeros(K), np.zeros((K, d)), np.zeros((K, d, d) if products else (K, d)))
    for k in np.unique(problem.label).tolist():
        found = moments_about(problem, k, centres[k], products=products)
        out.weight[k] = found.weight
        out.first[k], out.second[k] = found.weight * found.first, found.weight * found.second
    return out


def _step(problem: Problem) -> int:
    """Rows that are looked at together."""
    return max(1, IN_CACHE // problem.d)


def _blocks(problem: Problem, k: int, centre: Array, step: int) -> Iterator[tuple[Array, Array]]:
    """Pieces of x - c of class k, of so many rows, and their weights."""
    rows = class_rows(problem, k)
    for at in range(0, len(rows), step):
        part = rows[at : at + step]
        block = problem.matrix[part]
        block = np.asarray(block.toarray() if problem.sparse else block, dtype=np.float64)
        block -= centre  # a copy already: rows of one class, or of a chunk made dense
        yield block, problem.weight[part]


def _sparse_squares(matrix: Any, weight: Array, centre: Array) -> Moments:
    """The same from the stored entries alone; the others are all equal to -centre."""
    n, d = matrix.shape
    column, total = matrix.indices, float(weight.sum())
    per_entry = np.repeat(weight, np.diff(matrix.indptr))
    residual = matrix.data.astype(np.float64) - centre[column]
    full = np.bincount(column, minlength=d) == n
    empty = np.where(full, 0.0, total - np.bincount(column, per_entry, minlength=d))
    first = np.bincount(column, per_entry * residual, minlength=d) - empty * centre
    second = np.bincount(column, per_entry * residual**2, minlength=d) + empty * centre**2
    second /= total
    # the weight of the entries that are not stored is a difference, off by a share of the total
    size = np.where(full, np.sqrt(second), np.sqrt(np.maximum(second, 0.0)) + np.abs(centre))
    return Moments(total, first / total, second, n + 16, size * (1 + 1e-9))
