"""Rows as kernels see them: the matrix, and what is computed from it once.

A kernel is evaluated on two ``Rows``. Squared norms and the centred matrix, which distances
need, are computed when first asked for and go along when some of the rows are taken out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import e, log2, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from linsep.core.costs import CODED_COLUMNS, DENSE_WIDTH
from linsep.core.validate import as_matrix, require_finite
from linsep.errors import DataError, SettingError

Array = NDArray[Any]

_FAR_SHARE = 0.75  # share of the mean in the squared norms from which rows are centred
_DENSE_BYTES = 64 << 20  # a sparse block is never written out densely beyond this


class Rows:
    """Validated rows with squared norms; ``take`` and ``slice`` give some of them.

    Parameters
    ----------
    matrix : array or CSR matrix of float32 or float64
    like : Rows, optional
        Rows of the other side: distances are taken from the same origin.
    index : array of int, optional
        Numbers of these rows in the whole matrix.
    """

    def __init__(self, matrix: Any, *, like: Rows | None = None, index: Any = None) -> None:
        self.matrix = matrix
        self.n, self.d = matrix.shape
        self.sparse = not isinstance(matrix, np.ndarray)
        self.dtype = matrix.dtype
        self.index = index
        self._like = like
        self._origin: tuple[Array | None] | None = None
        self._centred: Array | None = None
        self._squares: Array | None = None
        self._largest: float | None = None
        self._codes: tuple[Codes | None] | None = None
        self._lifted: Lifted | None = None

    @property
    def codes(self) -> Codes | None:
        """The rows as bits, if they have two values; None if not."""
        if self._codes is None:
            like = None if self._like is None else self._like.codes
            bits = self._like is None or like is not None
            self._codes = (codes_of(self.matrix, like) if bits else None,)
        return self._codes[0]

    @property
    def origin(self) -> Array | None:
        """The point that distances are measured from; None: zero is as good as any."""
        if self._like is not None:
            return self._like.origin
        if self._origin is None:
            self._origin = (None if self.sparse else _far_mean(self.matrix, self._plain),)
        return self._origin[0]

    @property
    def centred(self) -> Any:
        """The rows minus the origin; the matrix itself where that is zero."""
        if self._centred is None:
            origin = self.origin
            if origin is None:
                return self.matrix
            if self.sparse:
                self._centred = (self.matrix.toarray() - origin).astype(self.dtype)
            else:
                self._centred = (self.matrix - origin).astype(self.dtype)
        return self._centred

    @property
    def squares(self) -> Array:
        """Squared norms of the centred rows."""
        if self._squares is None:
            centred = self.centred
            if centred is self.matrix:
                self._squares = self._plain
            else:
                self._squares = _dense_squares(centred)
        return self._squares

    @cached_property
    def _plain(self) -> Array:
        """Squared norms of the rows as they are."""
        return _sparse_squares(self.matrix) if self.sparse else _dense_squares(self.matrix)

    @property
    def largest(self) -> float:
        """The largest of them."""
        if self._largest is None:
            self._largest = float(self.squares.max(initial=0.0))
        return self._largest

    def lift(self, rate: float) -> None:
        """Have ``lifted`` for Gaussians of this rate: dense rows of float32."""
        if self._lifted is None or self._lifted.rate != rate:
            self._lifted = lifted_rows(self.centred, rate)

    def lifted(self, rate: float) -> Lifted | None:
        """The rows with their squared lengths as two more columns, if somebody made them."""
        found = self._lifted
        return found if found is not None and found.rate == rate else None

    def take(self, which: ArrayLike) -> Self:
        """Some rows, by number or mask, as ``Rows`` of their own."""
        chosen = np.asarray(which)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        return self._part(chosen)

    def slice(self, lo: int, hi: int) -> Self:
        """Rows lo to hi - 1; of a dense matrix without a copy."""
        return self._part(slice(lo, hi))

    def _part(self, which: Any) -> Self:
        whole = np.arange(self.n) if self.index is None else self.index
        part = type(self)(self.matrix[which], like=self._like or self, index=whole[which])
        if self._centred is not None:
            part._centred = self._centred[which]
        if self._squares is not None:
            part._squares = self._squares[which]
        if self._codes is not None:
            part._codes = (self._codes[0] and self._codes[0].part(which),)
        if self._lifted is not None:
            part._lifted = self._lifted.part(which)
        return part


class PlainRows(Rows):
    """Rows in float64 with squares and distances by numpy alone.

    A kernel without a definition is asked for its block of these, so that nothing is wrong with
    the values that proofs hold against the fast ones but what is wrong with the kernel itself.
    """

    def __init__(self, matrix: Any, *, like: Rows | None = None) -> None:
        dense = isinstance(matrix, np.ndarray)
        super().__init__(matrix.astype(np.float64, copy=not dense), like=like)

    @property
    def origin(self) -> Array | None:
        """The mean of the rows of the other side, or of these."""
        if self._like is not None:
            return self._like.origin
        return None if self.sparse or not self.n else np.asarray(self.matrix.mean(axis=0))

    @property
    def centred(self) -> Any:
        """The rows minus the origin."""
        origin = self.origin
        return self.matrix if origin is None or self.sparse else self.matrix - origin

    @property
    def squares(self) -> Array:
        """Sums of the squares of the centred rows."""
        return np.asarray((self.centred**2).sum(axis=1), dtype=np.float64).ravel()


def as_rows(X: Any, dtype: DTypeLike | None = None, *, like: Rows | None = None) -> Rows:
    """Rows of anything that is a matrix: checked, finite, in float64 or the type asked for."""
    if isinstance(X, Rows):
        return X
    names = [str(c) for c in X.columns] if hasattr(X, "columns") else None
    matrix = as_matrix(X)
    require_finite(matrix, names)
    kind = as_dtype(dtype)
    if matrix.dtype != kind:
        with np.errstate(over="ignore"):
            matrix = matrix.astype(kind)
        if kind == np.float32:
            require_finite(matrix, names)
    if like is not None and like.d != matrix.shape[1]:
        raise DataError(
            f"it has {matrix.shape[1]} columns but X has {like.d}; a kernel compares rows with the "
            "same columns."
        )
    return Rows(matrix, like=like)


def as_dtype(dtype: DTypeLike | None) -> np.dtype[Any]:
    """float64 without a wish; float32 and float64 are the wishes there are."""
    kind = np.dtype(np.float64 if dtype is None else dtype)
    if kind not in (np.float32, np.float64):
        raise SettingError(f"dtype is {dtype!r}; a Gram matrix is float64 or float32.")
    return kind


def inner_products(A: Any, B: Any, out: Array | None = None) -> Array:
    """A B' as a dense array, in ``out`` where both are dense, whatever of the two is sparse."""
    sparse_A, sparse_B = not isinstance(A, np.ndarray), not isinstance(B, np.ndarray)
    if sparse_A and _dense_pays(A):
        A, sparse_A = A.toarray(), False
    if sparse_B and _dense_pays(B):
        B, sparse_B = B.toarray(), False
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse_A and sparse_B:
            return np.asarray((A @ B.T).toarray())
        if sparse_B:
            return np.ascontiguousarray((B @ A.T).T)
        if sparse_A or out is None:
            return np.asarray(A @ B.T)
        return np.asarray(np.matmul(A, B.T, out=out))


def dense_pair(A: Any, B: Any) -> tuple[Array, Array]:
    """Both matrices densely, without the columns in which sparse rows are all zero."""
    if isinstance(A, np.ndarray) and isinstance(B, np.ndarray):
        return A, B
    used = [np.unique(M.indices) for M in (A, B) if not isinstance(M, np.ndarray)]
    if len(used) == 2:
        columns = np.union1d(*used)
    else:
        columns = np.arange(A.shape[1])
    return _columns(A, columns), _columns(B, columns)


def _columns(M: Any, columns: Array) -> Array:
    if isinstance(M, np.ndarray):
        return M if columns.size == M.shape[1] else M[:, columns]
    return np.asarray(M.toarray() if columns.size == M.shape[1] else M[:, columns].toarray())


def _dense_pays(M: Any) -> bool:
    n, d = M.shape
    return bool(d * n <= DENSE_WIDTH * M.nnz + 64 * n and n * d * 8 <= _DENSE_BYTES)


def _sparse_squares(M: Any) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(M.multiply(M).sum(axis=1)).ravel().astype(M.dtype)


def _dense_squares(M: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(np.einsum("ij,ij->i", M, M))


def _far_mean(X: Array, squares: Array) -> Array | None:
    """The mean of the rows where it is far from zero against their spread, else None."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = X.mean(axis=0, dtype=np.float64)
        share = X.shape[0] * float(mean @ mean)
        total = float(squares.sum(dtype=np.float64))
        if not np.isfinite(total):  # beyond float32
            total = float(np.einsum("ij,ij->", X, X, dtype=np.float64))
    return mean if np.isfinite(total) and share > _FAR_SHARE * total > 0 else None


# -- Rows of two values as bits: one for each column ----------------------------------------------
#
# Tables of categories, one-hot columns, words that occur or do not: all entries are lo or hi, so
# |x - z|^2 = (hi - lo)^2 times the number of columns in which x and z differ.


_FIRST = 64  # rows that are looked at before all of them


@dataclass(frozen=True)
class Codes:
    """``words`` has a row for each row, ``columns`` a column: the same 64 bits at a time."""

    words: NDArray[np.uint64]
    columns: NDArray[np.uint64]
    low: float
    high: float

    def part(self, which: Any) -> Self:
        """Some of the rows."""
        words = np.ascontiguousarray(self.words[which])
        return type(self)(words, np.ascontiguousarray(words.T), self.low, self.high)


def codes_of(matrix: Any, like: Codes | None = None) -> Codes | None:
    """The bits of a dense matrix; None where it has more than two values, or others than like."""
    if not isinstance(matrix, np.ndarray) or not matrix.size or matrix.shape[1] > CODED_COLUMNS:
        return None
    if like is None:
        low, high = float(matrix[:_FIRST].min()), float(matrix[:_FIRST].max())
    else:
        low, high = like.low, like.high
    for part in (matrix[:_FIRST], matrix[_FIRST:]):
        mask = part == high
        if not low < high or not (mask | (part == low)).all():
            return None
    packed = np.packbits(matrix == high, axis=1)
    words = np.zeros((len(matrix), -(-packed.shape[1] // 8) * 8), np.uint8)
    words[:, : packed.shape[1]] = packed
    bits = words.view(np.uint64)
    return Codes(bits, np.ascontiguousarray(bits.T), low, high)


# -- Rows with two more columns, so that one product gives the exponents of Gaussians -------------
#
# With s^2 = 2 gamma log2 e, x' = (s x, -|s x|^2 / 2, 1) and z' = (s z, 1, -|s z|^2 / 2) the
# product x'.z' = -|s x - s z|^2 / 2 is the exponent of exp(-gamma |x - z|^2) as a power of two.


@dataclass(frozen=True)
class Lifted:
    """Rows for the left side of a product and the same rows for the right one."""

    rate: float
    left: Array
    right: Array

    def part(self, which: Any) -> Self:
        """Some of the rows."""
        return type(self)(self.rate, self.left[which], self.right[which])


def lifted_rows(X: Array, rate: float) -> Lifted:
    """Of dense float32 rows; squares are those of the scaled rows as they are rounded, in float64.

    So the exponents are those of distances of rows that are off by three roundings each.
    """
    n, d = X.shape
    left = np.empty((n, d + 2), X.dtype)
    np.multiply(X, X.dtype.type(sqrt(2 * rate * log2(e))), out=left[:, :d])
    left[:, d + 1] = 1.0
    right = left.copy()
    scaled = left[:, :d]
    left[:, d] = right[:, d + 1] = -0.5 * np.einsum("ij,ij->i", scaled, scaled, dtype=np.float64)
    right[:, d] = 1.0
    return Lifted(rate, left, right)


# -- Equal rows of a matrix: tables of categories have many, and one kernel value serves them all


_EQUAL_SHARE = 0.05  # of the rows that equal another one, from which they are grouped

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
    if np.count_nonzero(sorted_key[1:] == sorted_key[:-1]) < _EQUAL_SHARE * n:
        return None
    order = np.argsort(key, kind="stable")
    near = np.flatnonzero(key[order[1:]] == key[order[:-1]])
    if len(near) < _EQUAL_SHARE * n:
        return None
    begins = np.ones(n, dtype=bool)
    begins[near + 1] = (matrix[order[near]] != matrix[order[near + 1]]).any(axis=1)
    if n - np.count_nonzero(begins) < _EQUAL_SHARE * n:
        return None
    group = np.empty(n, dtype=np.int64)
    group[order] = np.cumsum(begins) - 1
    return order[begins], group


def sum_of_groups(coef: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    """The coefficients (rows x machines) of each group added up."""
    first, group = groups
    columns = [np.bincount(group, column, len(first)) for column in coef.T]
    return np.stack(columns, axis=1)
