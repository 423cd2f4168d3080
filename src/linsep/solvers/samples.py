"""Samples in coordinates that suit a search.

Whether hulls meet does not depend on the coordinates, so a search may choose them. Here a
sample x becomes (x - center) @ map, perhaps with a constant 1 behind it. The matrix itself is
not rewritten: a product with all samples is one product with X as it is stored, and only the
few rows that a search holds are ever mapped.

    plain    distances of the caller's x-space, which margins are measured in
    scaled   columns of equal spread; few steps lead to a verdict on columns of many units
    white    rows whose second moments are the unit matrix, for columns that almost depend on
             each other
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.jit.hulls import coordinates
from linsep.solvers import matrices

__all__ = [
    "BUILDERS",
    "FEW_ROWS",
    "Samples",
    "by_products",
    "one_unit",
    "plain_samples",
    "scaled_samples",
    "white_samples",
]

Array = NDArray[np.float64]

FEW_ROWS = 500  # up to which compiled code goes through products of rows by itself
_GRAM_ROWS = 3000  # with fewer rows than columns, up to here the Gram matrix is the data
_WHITE_COLUMNS = 3000  # wider matrices are not whitened
_RANK = 1e-12  # relative size of a pivot that counts as zero in whitening


class Samples:
    """Samples as (x - center) @ map, with or without a constant coordinate behind.

    map is a number or a vector to multiply with, or a matrix.

    gram is given when the matrix is a factor of a Gram matrix: the matrix and the scale that
    it was made from, which weights are then combined from.
    """

    def __init__(
        self,
        matrix: Any,
        center: Array,
        map_: Array | float,
        *,
        constant: float = 0.0,
        gram: tuple[Any, float] | None = None,
        plain: bool = False,
    ) -> None:
        self.matrix = matrix
        self.center = center
        self.map = map_
        self.constant = constant
        self.gram = gram
        self.plain = plain
        self.turned = np.ndim(map_) == 2
        self.inner = int(np.shape(map_)[1] if self.turned else matrix.shape[1])
        self.m = self.inner + (constant != 0)
        # rows of a Gram factor are the coordinates themselves
        self.bare = gram is not None and not constant

    def back(self, u: Array) -> tuple[Array, Array | float]:
        """Weights and offset in the space of the matrix of a vector u, or of columns u."""
        inner = u[: self.inner]
        if self.turned:
            w = self.map @ inner
        else:
            w = (self.map * inner.T).T  # inner may hold several columns
        offset = -(self.center @ w)
        return w, offset + self.constant * u[-1] if self.constant else offset

    def dot(self, u: Array) -> Array:
        """Products of all samples with a vector, or with the columns of a matrix."""
        if self.bare:
            return np.asarray(self.matrix @ u)
        w, offset = self.back(u)
        out = matrices.product(self.matrix, w)
        out += offset
        return out

    def mapped(self, x: Array) -> Array:
        """x @ map, for one centred sample or many."""
        return np.asarray(x @ self.map if self.turned else x * self.map)

    def take(self, samples: NDArray[np.int64]) -> Array:
        """Coordinates of some samples."""
        if self.bare:
            return np.asarray(self.matrix[samples])
        block = matrices.dense(self.matrix[samples]) - self.center
        block = self.mapped(block)
        if not self.constant:
            return block
        return np.column_stack([block, np.full(len(samples), self.constant)])

    def combine(self, share: Array) -> Array:
        """Combination of all samples by their shares, for a sparse matrix."""
        x = np.asarray(self.matrix.T @ share).ravel() - share.sum() * self.center
        out = self.mapped(x)
        return np.append(out, self.constant * share.sum()) if self.constant else out

    def products(self, samples: NDArray[np.int64], others: NDArray[np.int64]) -> Array:
        """Products of samples with other samples, for a sparse matrix and no matrix as map."""
        left, right = self.matrix[samples], self.matrix[others]
        scaled = left.multiply(np.square(self.map)).tocsr()
        middle = self.center * np.square(self.map)
        inner = matrices.dense(scaled @ right.T)
        inner = inner - np.asarray(left @ middle)[:, None] - np.asarray(right @ middle)
        return np.asarray(inner + middle @ self.center + self.constant**2)


def plain_samples(problem: Problem, *, constant: bool = False) -> Samples:
    """Samples in x-space, centred, times a power of two.

    With few rows and many columns the rows become a triangular factor of their Gram matrix:
    all distances are the same and a product costs n^2 instead of n d.
    """
    bias = 1.0 if constant else 0.0
    if by_products(problem):
        factor, scale = _gram_factor(problem)
        zero = np.zeros(factor.shape[1])
        return Samples(factor, zero, 1.0, constant=bias, gram=(problem.matrix, scale), plain=True)
    matrix = matrices.workable(problem)
    center = matrices.mean(matrix) if problem.fit_intercept else np.zeros(problem.d)
    scale = float(matrices.power_of_two(matrices.extent(matrix, center).max()))
    return Samples(matrix, center, scale, constant=bias, plain=True)


def scaled_samples(problem: Problem, *, constant: bool = False) -> Samples:
    """Samples with columns of about equal spread."""
    if by_products(problem):
        return plain_samples(problem, constant=constant)
    matrix, d = matrices.workable(problem), problem.d
    center = matrices.mean(matrix) if problem.fit_intercept else np.zeros(d)
    scale = matrices.power_of_two(matrices.spread(matrix, center) * np.sqrt(d))
    return Samples(matrix, center, scale, constant=1.0 if constant else 0.0)


def by_products(problem: Problem) -> bool:
    """Whether rows are so few that the products of all with all stand for them."""
    return problem.n < problem.d and problem.n <= _GRAM_ROWS


def one_unit(problem: Problem) -> bool:
    """Whether all columns are of about the same extent, so that plain samples will do."""
    if by_products(problem):
        return True
    extent = matrices.extent(problem.matrix, np.zeros(problem.d))
    extent = extent[extent > 0]
    return not len(extent) or bool(extent.max() <= 32 * extent.min())


def white_samples(problem: Problem, *, constant: bool = False) -> Samples:
    """Samples with unit second moments; directions without spread are left out.

    Matrices with fewer rows than columns are left plain: their rows are few and almost
    independent. Very wide ones are too large for a matrix of second moments.
    """
    n, d = problem.matrix.shape
    if n < d or d > _WHITE_COLUMNS:
        return plain_samples(problem, constant=constant)
    matrix = matrices.workable(problem)
    center = matrices.mean(matrix) if problem.fit_intercept else np.zeros(d)
    scale = matrices.power_of_two(matrices.extent(matrix, center))
    moments = matrices.moments(matrix, center, scale) / n
    bias = 1.0 if constant else 0.0
    return Samples(matrix, center, _whitening(moments, scale), constant=bias)


def _whitening(moments: Array, scale: Array) -> Array:
    """d x m map to unit second moments, by Cholesky with pivoting: m is the numerical rank."""
    from scipy.linalg import lapack

    d = len(moments)
    if not moments.any():
        return np.zeros((d, 0))
    factor, pivots, rank, _ = lapack.dpstrf(moments, tol=_RANK, lower=0)
    inverse, _ = lapack.dtrtri(factor[:rank, :rank], lower=0)
    kept = pivots[:rank] - 1
    out = np.zeros((d, rank))
    out[kept] = scale[kept, None] * np.triu(inverse)
    return np.asarray(out / np.sqrt(max(rank, 1)))


def _gram_factor(problem: Problem) -> tuple[Array, float]:
    """F with F F' = s^2 (X - c)(X - c)' and the scale s; the center c is the mean or zero."""
    matrix, gram = problem.matrix, problem.gram
    squared, square = float(problem.squared_lengths.max()), 1.0
    if 1e-200 < squared < 1e200:
        scale = float(matrices.power_of_two(sqrt(squared)))
        square = scale**2
    else:
        values = matrix.data if problem.sparse else matrix
        largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
        scale = float(matrices.power_of_two(largest))
        gram = matrices.products(matrix * scale)
    entries = problem.n * problem.d
    factor = _factor(gram, square, entries, centred=problem.fit_intercept)
    if factor is None:  # the center is far away: subtract it first
        gram = matrices.products((matrices.dense(matrix) - matrices.mean(matrix)) * scale)
        factor = _factor(gram, 1.0, entries, centred=False)
    assert factor is not None
    return factor, scale


def _factor(gram: Array, square: float, entries: int, *, centred: bool) -> Array | None:
    """F with F F' = square * gram, the mean subtracted if asked for; None if it is far away."""
    n = len(gram)
    if n <= FEW_ROWS:
        Z = np.empty((n, n))
        done = coordinates(
            gram, square, centred, np.empty((n, n)), Z, size=entries, work=n**3 // 8, alike=True
        )
        return None if done < 0 else Z[:done].T
    from scipy.linalg import lapack

    gram = gram * square
    if centred:
        whole = gram.trace()
        middle = gram.sum(axis=0) / n
        middle -= middle.sum() / (2 * n)
        gram -= middle
        gram -= middle[:, None]
        if not gram.trace() > 1e-4 * whole:
            return None
    top = float(gram.diagonal().max())
    if not 0 < top < np.inf:
        return np.zeros((n, 0))
    factor, pivots, rank, _ = lapack.dpstrf(gram, tol=1e-14 * top, lower=1)
    out = np.empty((n, rank))
    out[pivots - 1] = np.tril(factor[:, :rank])
    return out


BUILDERS = {"plain": plain_samples, "scaled": scaled_samples, "white": white_samples}
