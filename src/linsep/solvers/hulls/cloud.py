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

from math import frexp, inf, ldexp, sqrt
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import routine
from linsep.core.costs import AT_ONCE, CLOUD_COLUMNS, CLOUD_WRITTEN_OUT, PRODUCTS_OF_ROWS
from linsep.core.problem import Problem

Array = NDArray[np.float64]

_GRAM_ROWS = 3000  # with fewer rows than columns, up to here the Gram matrix is the data
_WHITE_COLUMNS = 3000  # wider matrices are not whitened
_ZERO_PIVOT = 1e-12  # relative size of a pivot that counts as zero in whitening
_SPAN = 1e-14  # squared distance from the span of others, relative to the largest, taken for zero
_FAR_MEAN = 1e-4  # squared distance from the mean, relative to that from the origin


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
        out = product(self.matrix, w)
        out += offset
        return out

    def mapped(self, x: Array) -> Array:
        """x @ map, for one centred sample or many."""
        return np.asarray(x @ self.map if self.turned else x * self.map)

    def take(self, samples: NDArray[np.int64]) -> Array:
        """Coordinates of some samples."""
        if self.bare:
            return np.asarray(self.matrix[samples])
        block = dense(self.matrix[samples]) - self.center
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
        inner = dense(scaled @ right.T)
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
    matrix = workable(problem)
    center = mean(matrix) if problem.fit_intercept else np.zeros(problem.d)
    scale = float(power_of_two(extent_of(matrix, center).max()))
    return Samples(matrix, center, scale, constant=bias, plain=True)


def scaled_samples(problem: Problem, *, constant: bool = False) -> Samples:
    """Samples with columns of about equal spread."""
    if by_products(problem):
        return plain_samples(problem, constant=constant)
    matrix, d = workable(problem), problem.d
    center = mean(matrix) if problem.fit_intercept else np.zeros(d)
    scale = power_of_two(spread(matrix, center) * np.sqrt(d))
    return Samples(matrix, center, scale, constant=1.0 if constant else 0.0)


def by_products(problem: Problem) -> bool:
    """Whether rows are so few that the products of all with all stand for them."""
    return problem.n < problem.d and problem.n <= _GRAM_ROWS


def one_unit(problem: Problem) -> bool:
    """Whether all columns are of about the same extent, so that plain samples will do."""
    if by_products(problem):
        return True
    extent = extent_of(problem.matrix, np.zeros(problem.d))
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
    matrix = workable(problem)
    center = mean(matrix) if problem.fit_intercept else np.zeros(d)
    scale = power_of_two(extent_of(matrix, center))
    moments = moments_of(matrix, center, scale) / n
    bias = 1.0 if constant else 0.0
    return Samples(matrix, center, _whitening(moments, scale), constant=bias)


def _whitening(moments: Array, scale: Array) -> Array:
    """d x m map to unit second moments, by Cholesky with pivoting: m is the numerical rank."""
    from scipy.linalg import lapack

    d = len(moments)
    if not moments.any():
        return np.zeros((d, 0))
    factor, pivots, rank, _ = lapack.dpstrf(moments, tol=_ZERO_PIVOT, lower=0)
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
        scale = float(power_of_two(sqrt(squared)))
        square = scale**2
    else:
        values = matrix.data if problem.sparse else matrix
        largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
        scale = float(power_of_two(largest))
        gram = products(matrix * scale)
    entries = problem.n * problem.d
    factor = _factor(gram, square, entries, centred=problem.fit_intercept)
    if factor is None:  # the center is far away: subtract it first
        gram = products((dense(matrix) - mean(matrix)) * scale)
        factor = _factor(gram, 1.0, entries, centred=False)
    assert factor is not None
    return factor, scale


def _factor(gram: Array, square: float, entries: int, *, centred: bool) -> Array | None:
    """F with F F' = square * gram, the mean subtracted if asked for; None if it is far away."""
    n = len(gram)
    if n <= PRODUCTS_OF_ROWS:
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


# -- The reflected rows of a problem over its samples, in the coordinates of a search -------------


class Cloud:
    """Reflected rows over samples: signed samples, or Kesler rows for K > 2 classes.

    In one group the rows are points whose hull is compared with the origin. In two groups they
    are the classes, whose hulls are compared with each other.
    """

    def __init__(self, problem: Problem, samples: Samples, *, groups: int) -> None:
        self.samples = samples
        self.K = problem.K
        self.entries = problem.n * problem.d
        self.label = problem.label
        self.n_rows = problem.n_rows
        self.blocks = 1 if problem.binary else problem.K
        self.m = samples.m * self.blocks
        self.groups = groups  # 0: the rows span a cone
        self.sign = problem.sign if problem.binary else np.ones(0)
        # rows of a sparse matrix that is not written out stay sparse
        self.wide = not isinstance(samples.matrix, np.ndarray) and self.m > CLOUD_COLUMNS
        self.table: tuple[Array, Array] | None = None
        if samples.bare and self.blocks == 1 and groups and problem.n <= PRODUCTS_OF_ROWS:
            self.table = _table(samples.matrix, self.sign)
        # whether a corral holds the coordinates of its rows
        self.held = not self.wide and self.table is None
        self.side = 1 - problem.label if groups == 2 else np.zeros(self.n_rows, dtype=np.int64)

    def values(self, w: Array) -> Array:
        """Products of all rows with w."""
        if self.blocks == 1:
            values = self.samples.dot(w)
            values *= self.sign
            return values
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

    def combine(self, rows: NDArray[np.int64], shares: Array) -> Array:
        """The combination of rows."""
        if not self.wide:
            return np.asarray(shares @ self.take(rows))
        mixed = self._share(rows, shares)
        return np.concatenate([self.samples.combine(share) for share in mixed])

    def products(self, rows: NDArray[np.int64], others: NDArray[np.int64]) -> Array:
        """Products of rows with other rows, whose coordinates no corral holds."""
        if self.table is not None:
            return self.table[1][np.ix_(rows, others)]
        if self.blocks == 1:
            inner = self.samples.products(rows, others)
            return np.asarray(self.sign[rows, None] * inner * self.sign[others])
        (i, p), (j, q) = (np.divmod(r, self.K - 1) for r in (rows, others))
        a, b = self.label[i], self.label[j]
        p, q = p + (p >= a), q + (q >= b)  # the rivals
        signs = (
            (a[:, None] == b).astype(np.float64)
            - (a[:, None] == q)
            - (p[:, None] == b)
            + (p[:, None] == q)
        )
        return np.asarray(self.samples.products(i, j) * signs)

    def _share(self, rows: NDArray[np.int64], coefficients: Array) -> Array:
        """What each sample contributes to each block of a combination of rows."""
        if self.blocks == 1:
            signed = self.sign[rows] * coefficients
            return np.asarray(np.bincount(rows, signed, len(self.label))[None], np.float64)
        share = np.zeros((self.blocks, len(self.label)))
        sample, place = np.divmod(rows, self.K - 1)
        own = self.label[sample]
        np.add.at(share, (own, sample), coefficients)
        np.add.at(share, (place + (place >= own), sample), -coefficients)
        return share

    def weights(self, w: Array, rows: NDArray[np.int64], coefficients: Array) -> Array:
        """Blocks of d weights and a bias of w, which is that combination of rows."""
        if self.samples.gram is None:
            blocks = [np.append(*self.samples.back(u)) for u in w.reshape(self.blocks, -1)]
            return np.concatenate(blocks)
        matrix, scale = self.samples.gram
        share = self._share(rows, coefficients)
        coef = combined(matrix, share)
        coef *= scale
        out = np.zeros((self.blocks, coef.shape[1] + 1))
        if self.samples.constant:  # else the shares sum to zero, or nothing was centred
            center = mean(matrix)
            coef -= scale * share.sum(axis=1)[:, None] * center
            out[:, -1] = w.reshape(self.blocks, -1)[:, -1] * self.samples.constant
            out[:, -1] -= scale * (coef @ center)
        np.multiply(coef, scale, out=out[:, :-1])
        return out.ravel()


def _table(points: Array, sign: Array) -> tuple[Array, Array]:
    """Reflected rows as columns, and the products of all with all."""
    table = points.T * sign
    return table, np.asarray(table.T @ table)


_known: WeakKeyDictionary[Problem, dict[str, Cloud]] = WeakKeyDictionary()


def cloud_of(problem: Problem, metric: str) -> Cloud:
    """The rows of a problem as hulls, in plain, scaled or white coordinates.

    It is made of the problem alone, so no state needs to hold it: it is made once and kept as
    long as the problem is.
    """
    kept = _known.setdefault(problem, {})
    if metric not in kept:
        two = problem.binary and problem.fit_intercept
        samples = BUILDERS[metric](problem, constant=problem.fit_intercept and not two)
        kept[metric] = Cloud(problem, samples, groups=2 if two else 1)
    return kept[metric]


def cone_of(problem: Problem) -> Cloud:
    """The rows of a problem as directions, in white coordinates; kept in the same way."""
    kept = _known.setdefault(problem, {})
    if "cone" not in kept:
        samples = white_samples(problem, constant=problem.fit_intercept)
        kept["cone"] = Cloud(problem, samples, groups=0)
    return kept["cone"]


# -- Arithmetic on dense and sparse matrices, for searches in coordinates of their own ------------


def workable(problem: Problem) -> Any:
    """The matrix, dense where that is cheap, with values in float64 where it is small."""
    matrix = problem.matrix
    n, d = matrix.shape
    if n * d <= CLOUD_WRITTEN_OUT:
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
    step = max(1, 4 * AT_ONCE // max(1, n))
    for at in range(0, d, step):
        block = np.ascontiguousarray(rows[:, at : at + step], dtype=np.float64)
        out += block @ block.T
    return out


def combined(matrix: Any, share: Array) -> Array:
    """share @ matrix in float64; the layout and type of the matrix do not matter."""
    if not isinstance(matrix, np.ndarray):
        return np.asarray(matrix.T @ share.T).T
    if matrix.size < AT_ONCE:
        return np.asarray(share @ matrix.astype(np.float64, copy=False))
    used = np.flatnonzero(share.any(axis=0))  # few of the rows
    return np.asarray(share[:, used] @ np.ascontiguousarray(matrix[used], dtype=np.float64))


def blocks(matrix: Any) -> Any:
    """Dense float64 blocks of rows with their first row."""
    n, d = matrix.shape
    step = max(1, AT_ONCE // max(1, d))
    for at in range(0, n, step):
        yield at, dense(matrix[at : at + step]).astype(np.float64, copy=False)


def mean(matrix: Any) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.asarray(matrix.mean(axis=0, dtype=np.float64)).ravel()
    return np.where(np.isfinite(mean), mean, 0.0)


def extent_of(matrix: Any, center: Array) -> Array:
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
    scale = power_of_two(extent_of(matrix, center))
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


def moments_of(matrix: Any, center: Array, scale: Array) -> Array:
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


# -- Coordinates of rows that are known by their products -----------------------------------------


@routine
def coordinates(gram, scale, centred, G, Z):
    """Points with the products scale * gram; gives back of how many coordinates, -1 for none.

    Coordinate q of all points becomes Z[q], by Cholesky with pivoting. centred asks for the
    mean as origin; if that is too far away for the products to tell the points apart, there
    are no coordinates. G has the shape of gram and is written over.
    """
    n = len(gram)
    whole = 0.0
    for i in range(n):
        np.multiply(gram[i], scale, G[i])
        whole += G[i, i]
    if centred:
        middle = np.zeros(n)
        for i in range(n):
            middle += G[i]
        total = 0.0
        for i in range(n):
            middle[i] /= n
            total += middle[i]
        middle -= total / (2 * n)
        trace = 0.0
        for i in range(n):
            G[i] -= middle
            G[i] -= middle[i]
            trace += G[i, i]
        if not trace > _FAR_MEAN * whole:
            return -1
    rest = np.diag(G).copy()
    least = _SPAN * rest.max()
    part = np.empty(n)
    q = 0
    while q < n:
        p = rest.argmax()
        if not least < rest[p] < np.inf:
            break
        row = Z[q]
        row[:] = G[p]
        for k in range(q):
            np.multiply(Z[k], Z[k, p], part)
            row -= part
        size = np.sqrt(rest[p])
        for i in range(n):
            row[i] = row[i] / size if rest[i] > -np.inf else 0.0
        row[p] = size
        np.multiply(row, row, part)
        rest -= part
        rest[p] = -np.inf  # it has all its coordinates
        q += 1
    return q
