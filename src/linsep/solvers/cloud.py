"""The reflected rows in coordinates that suit a search.

Whether hulls meet does not depend on the coordinates, so a search may choose them. Here a
sample x becomes (x - center) @ map, perhaps with a constant 1 behind it. The matrix itself is
not rewritten: a product with all samples is one product with X as it is stored, and only the
few rows that a search holds are ever mapped.

    white    rows whose second moments are the unit matrix; few steps lead to a verdict
    plain    distances of the caller's x-space, which margins are measured in
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem

__all__ = ["Cloud", "Samples", "plain_samples", "white_samples"]

Array = NDArray[np.float64]

_DENSE_ENTRIES = 4_000_000  # a sparse matrix with no more cells than this is written out
_GRAM_ROWS = 3000  # with fewer rows than columns, up to here the Gram matrix is the data
_WHITE_COLUMNS = 3000  # wider matrices are not whitened
_CHUNK = 1 << 20
_RANK = 1e-12  # relative size of a pivot that counts as zero in whitening


class Samples:
    """Samples as (x - center) @ map, with or without a constant coordinate behind.

    gram is given when the matrix is a factor of a Gram matrix: the matrix, center and scale
    that it was made from, which weights are then combined from.
    """

    def __init__(
        self,
        matrix: Any,
        center: Array,
        map_: Array | float,
        *,
        constant: float = 0.0,
        gram: tuple[Any, Array, float] | None = None,
        white: bool = False,
    ) -> None:
        self.matrix = matrix
        self.center = center
        self.map = map_
        self.constant = constant
        self.gram = gram
        self.white = white
        self.inner = matrix.shape[1] if isinstance(map_, float) else map_.shape[1]
        self.m = self.inner + (constant != 0)

    def __deepcopy__(self, memo: dict[int, Any]) -> Samples:
        return self  # never changed, so copies of a state may share it

    def back(self, u: Array) -> tuple[Array, Array | float]:
        """Weights and offset in the space of the matrix of a vector u, or of columns u."""
        inner = u[: self.inner]
        w = self.map * inner if isinstance(self.map, float) else self.map @ inner
        offset = -(self.center @ w)
        return w, offset + self.constant * u[-1] if self.constant else offset

    def dot(self, u: Array) -> Array:
        """Products of all samples with a vector, or with the columns of a matrix."""
        w, offset = self.back(u)
        return _product(self.matrix, w) + offset

    def take(self, samples: NDArray[np.int64]) -> Array:
        """Coordinates of some samples."""
        block = _dense(self.matrix[samples]) - self.center
        block = block * self.map if isinstance(self.map, float) else block @ self.map
        if not self.constant:
            return block
        return np.column_stack([block, np.full(len(samples), self.constant)])


class Cloud:
    """Reflected rows over samples: signed samples, or Kesler rows for K > 2 classes.

    In one group the rows are points whose hull is compared with the origin. In two groups they
    are the classes, whose hulls are compared with each other.
    """

    def __init__(self, problem: Problem, samples: Samples, *, groups: int) -> None:
        self.samples = samples
        self.K = problem.K
        self.label = problem.label
        self.n_rows = problem.n_rows
        self.blocks = 1 if problem.binary else problem.K
        self.m = samples.m * self.blocks
        self.groups = groups  # 0: the rows span a cone
        self.sign = problem.sign if problem.binary else np.ones(0)
        self.members = (
            [np.flatnonzero(problem.label == 1), np.flatnonzero(problem.label == 0)]
            if groups == 2
            else [np.arange(self.n_rows)]
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Cloud:
        return self

    def group_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Group number of rows."""
        return 1 - self.label[rows] if self.groups == 2 else np.zeros(len(rows), np.int64)

    def values(self, w: Array) -> Array:
        """Products of all rows with w."""
        if self.blocks == 1:
            return self.sign * self.samples.dot(w)
        scores = self.samples.dot(w.reshape(self.K, -1).T)
        n = len(scores)
        own = scores[np.arange(n), self.label]
        others = np.ones(scores.shape, dtype=bool)
        others[np.arange(n), self.label] = False
        return (own[:, None] - scores)[others]

    def take(self, rows: NDArray[np.int64]) -> Array:
        """Coordinates of some rows."""
        if self.blocks == 1:
            return self.sign[rows, None] * self.samples.take(rows)
        sample, place = np.divmod(rows, self.K - 1)
        own = self.label[sample]
        rival = place + (place >= own)
        block = self.samples.take(sample)
        out = np.zeros((len(rows), self.K, self.samples.m))
        at = np.arange(len(rows))
        out[at, own] = block
        out[at, rival] = -block
        return out.reshape(len(rows), self.m)

    def weights(self, w: Array, rows: NDArray[np.int64], coefficients: Array) -> Array:
        """Blocks of d weights and a bias of w, which is that combination of rows."""
        if self.samples.gram is None:
            blocks = [np.append(*self.samples.back(u)) for u in w.reshape(self.blocks, -1)]
            return np.concatenate(blocks)
        matrix, center, scale = self.samples.gram
        share = np.zeros((self.blocks, matrix.shape[0]))
        if self.blocks == 1:
            np.add.at(share[0], rows, self.sign[rows] * coefficients)
        else:
            sample, place = np.divmod(rows, self.K - 1)
            own = self.label[sample]
            np.add.at(share, (own, sample), coefficients)
            np.add.at(share, (place + (place >= own), sample), -coefficients)
        coef = scale * (np.asarray(matrix.T @ share.T).T - share.sum(axis=1)[:, None] * center)
        bias = w.reshape(self.blocks, -1)[:, -1] * self.samples.constant - scale * (coef @ center)
        return np.column_stack([scale * coef, bias]).ravel()


# -- builders -----------------------------------------------------------------------------------


def plain_samples(problem: Problem, *, constant: bool = False) -> Samples:
    """Samples in x-space, centred, times a power of two.

    With few rows and many columns the rows become a triangular factor of their Gram matrix:
    all distances are the same and a product costs n^2 instead of n d.
    """
    matrix = _workable(problem)
    n, d = matrix.shape
    center = _mean(matrix) if problem.fit_intercept else np.zeros(d)
    scale = float(_power_of_two(_extent(matrix, center).max()))
    bias = 1.0 if constant else 0.0
    if n < d and n <= _GRAM_ROWS:
        factor = _gram_factor(matrix, center, scale)
        zero = np.zeros(factor.shape[1])
        return Samples(factor, zero, 1.0, constant=bias, gram=(matrix, center, scale))
    return Samples(matrix, center, scale, constant=bias)


def white_samples(problem: Problem, *, constant: bool = False) -> Samples:
    """Samples with unit second moments; directions without spread are left out.

    Matrices with fewer rows than columns are left plain: their rows are few and almost
    independent. Very wide ones are too large for a matrix of second moments.
    """
    n, d = problem.matrix.shape
    if n < d or d > _WHITE_COLUMNS:
        return plain_samples(problem, constant=constant)
    matrix = _workable(problem)
    center = _mean(matrix) if problem.fit_intercept else np.zeros(d)
    scale = _power_of_two(_extent(matrix, center))
    moments = _moments(matrix, center, scale) / n
    bias = 1.0 if constant else 0.0
    return Samples(matrix, center, _whitening(moments, scale), constant=bias, white=True)


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


def _gram_factor(matrix: Any, center: Array, scale: float) -> Array:
    """F with F F' = s^2 (X - center)(X - center)'."""
    from scipy.linalg import lapack

    n = matrix.shape[0]
    if isinstance(matrix, np.ndarray):
        rows = (matrix.astype(np.float64, copy=False) - center) * scale
        gram = rows @ rows.T
    else:
        scaled, middle = matrix * scale, center * scale
        cross = np.asarray(scaled @ middle).ravel()
        gram = _dense(scaled @ scaled.T) - cross - cross[:, None] + middle @ middle
    factor, pivots, rank, _ = lapack.dpstrf(gram, tol=1e-14 * gram.diagonal().max(), lower=1)
    out = np.empty((n, rank))
    out[pivots - 1] = np.tril(factor)[:, :rank]
    return out


# -- arithmetic on dense and sparse matrices ----------------------------------------------------


def _workable(problem: Problem) -> Any:
    """The matrix, dense where that is cheap, with values in float64 where it is small."""
    matrix = problem.matrix
    n, d = matrix.shape
    if n * d <= _DENSE_ENTRIES:
        return np.ascontiguousarray(_dense(matrix), dtype=np.float64)
    return matrix


def _dense(block: Any) -> NDArray[Any]:
    return block if isinstance(block, np.ndarray) else np.asarray(block.toarray())


def _product(matrix: Any, w: Array) -> Array:
    if not isinstance(matrix, np.ndarray) or matrix.dtype == np.float64:
        return np.asarray(matrix @ w, dtype=np.float64)
    out = np.empty((matrix.shape[0], *w.shape[1:]))
    for at, block in _blocks(matrix):
        out[at : at + len(block)] = block @ w
    return out


def _blocks(matrix: Any) -> Any:
    """Dense float64 blocks of rows with their first row."""
    n, d = matrix.shape
    step = max(1, _CHUNK // max(1, d))
    for at in range(0, n, step):
        yield at, _dense(matrix[at : at + step]).astype(np.float64, copy=False)


def _mean(matrix: Any) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.asarray(matrix.mean(axis=0, dtype=np.float64)).ravel()
    return np.where(np.isfinite(mean), mean, 0.0)


def _extent(matrix: Any, center: Array) -> Array:
    """Largest distance from the center in each column."""
    if isinstance(matrix, np.ndarray):
        top, bottom = matrix.max(axis=0), matrix.min(axis=0)
    else:
        top, bottom = _dense(matrix.max(axis=0)).ravel(), _dense(matrix.min(axis=0)).ravel()
    with np.errstate(over="ignore"):
        extent = np.maximum(np.abs(top - center), np.abs(bottom - center)).astype(np.float64)
    return np.asarray(np.minimum(extent, np.finfo(np.float64).max))


def _power_of_two(extent: Any) -> Any:
    """The power of two that brings a size near 1; 1 for size 0."""
    _, exponent = np.frexp(extent)
    return np.ldexp(1.0, np.where(extent > 0, np.clip(-exponent, -1022, 1023), 0))


def _moments(matrix: Any, center: Array, scale: Array) -> Array:
    d = len(center)
    if isinstance(matrix, np.ndarray):
        out = np.zeros((d, d))
        for _, block in _blocks(matrix):
            part = (block - center) * scale
            out += part.T @ part
        return out
    n = matrix.shape[0]
    scaled = matrix.multiply(scale).tocsr().astype(np.float64)
    middle = center * scale
    return np.asarray(_dense(scaled.T @ scaled) - n * np.outer(middle, middle))
