"""A validated classification problem: the data that a solver may read and never changes."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linsep.core.lanes import run_all
from linsep.core.rows import CSR, BinaryRows, KeslerRows, Rows
from linsep.errors import DataError, LabelError

__all__ = ["Problem"]

_CHUNK = 1 << 20  # elements looked at together where a temporary copy is needed
_SQUARE_LIMIT = 1e150  # |x| above this may overflow when squared and summed


class Problem:
    """Rows, labels and weights, checked once and never copied without need.

    Parameters
    ----------
    X : array or scipy sparse matrix of shape (n, d)
        float32 and float64 stay as they are; integers and booleans become the smallest
        float type that holds them exactly.
    y : array of shape (n,)
        Any labels, two classes or more. Inside they are numbered in sorted order; with two
        classes the last one is the positive class.
    sample_weight : array of shape (n,), optional
        Non-negative. A row of weight zero takes no part.
    fit_intercept : bool, default=True
        Whether the rows carry a constant 1 as their last coordinate.
    feature_names : sequence of str, optional
        Used in messages.
    check_finite : bool, default=True
        Look for NaN and infinity now. Whoever leaves it out calls ``check_finite`` before an
        answer is given, once a product with all rows is not finite.

    Examples
    --------
    >>> from linsep.core import Problem
    >>> problem = Problem([[0.0], [2.0]], ["no", "yes"])
    >>> problem.values([1.0, -1.0])
    array([1., 1.])
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        fit_intercept: bool = True,
        feature_names: Any = None,
        check_finite: bool = True,
    ) -> None:
        names = None if feature_names is None else [str(name) for name in feature_names]
        matrix = _as_matrix(X)
        if check_finite:
            _check_finite(matrix, names)
        n = matrix.shape[0]
        classes, label = _as_labels(y, n)
        weight = _as_weights(sample_weight, n)
        keep = weight > 0
        if not keep.all():
            present = np.unique(label[keep])
            if present.size == 0:
                raise DataError("all sample weights are zero; give some rows a positive weight.")
            if present.size < 2:
                raise LabelError(
                    "all rows of positive sample weight belong to one class; give rows of "
                    "at least two classes a positive weight."
                )
            self.row_index: NDArray[np.int64] | None = np.flatnonzero(keep)
            matrix, label, weight = matrix[self.row_index], label[keep], weight[keep]
        else:
            self.row_index = None
        self.matrix = matrix
        self.classes = classes
        self.label = label
        self.weight = weight
        self.fit_intercept = bool(fit_intercept)
        self.feature_names = names
        self.n, self.d = int(matrix.shape[0]), int(matrix.shape[1])
        self.K = len(classes)

    # -- shape ----------------------------------------------------------------------------

    @property
    def binary(self) -> bool:
        """True for two classes: one reflected row a sample and one weight vector."""
        return self.K == 2

    @property
    def sparse(self) -> bool:
        """True when the matrix is held by rows in compressed form."""
        return not isinstance(self.matrix, np.ndarray)

    @property
    def width(self) -> int:
        """Number of coordinates of an augmented row: d, plus one with an intercept."""
        return self.d + 1 if self.fit_intercept else self.d

    @property
    def dim(self) -> int:
        """Number of weights: always d + 1 a weight vector; the last stays 0 without intercept."""
        return (self.d + 1) * (1 if self.binary else self.K)

    @property
    def n_rows(self) -> int:
        """Number of reflected rows: n for two classes, n (K - 1) by Kesler for more."""
        return self.n if self.binary else self.n * (self.K - 1)

    # -- views ----------------------------------------------------------------------------

    @cached_property
    def sign(self) -> NDArray[np.float64]:
        """Labels of a binary problem as -1.0 and +1.0."""
        return np.where(self.label == self.K - 1, 1.0, -1.0)

    @property
    def row_weights(self) -> NDArray[np.float64]:
        """Weights of the reflected rows."""
        return self.weight if self.binary else np.repeat(self.weight, self.K - 1)

    @cached_property
    def rows(self) -> Rows:
        """The reflected rows as a tuple for compiled code."""
        matrix = self.matrix
        X = (
            CSR(matrix.data, matrix.indices, matrix.indptr)
            if self.sparse
            else np.ascontiguousarray(matrix)
        )
        bias = 1.0 if self.fit_intercept else 0.0
        if self.binary:
            return BinaryRows(X, self.sign, self.weight, bias, self.d)
        return KeslerRows(X, self.label, self.weight, bias, self.d, self.K)

    def sample_of(self, row: int) -> int:
        """Index in the caller's X of the sample that reflected row ``row`` comes from."""
        return self.sample_of_index(row if self.binary else row // (self.K - 1))

    def sample_of_index(self, sample: int) -> int:
        """Index in the caller's X of a sample of the problem, which leaves out weight zero."""
        return int(sample if self.row_index is None else self.row_index[sample])

    def rival_of(self, row: int) -> int | None:
        """Class number that a Kesler row competes against; None for two classes."""
        if self.binary:
            return None
        sample, place = divmod(row, self.K - 1)
        own = int(self.label[sample])
        return place if place < own else place + 1

    def split(self, a: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Take weights apart into coef of shape (1 or K, d) and intercept of shape (1 or K,)."""
        blocks = np.asarray(a, dtype=np.float64).reshape(-1, self.d + 1)
        return blocks[:, :-1].copy(), blocks[:, -1].copy()

    def join(self, coef: ArrayLike, intercept: ArrayLike = 0.0) -> NDArray[np.float64]:
        """Put coef and intercept together into one vector of weights."""
        blocks = np.zeros((self.dim // (self.d + 1), self.d + 1))
        blocks[:, :-1] = np.asarray(coef, dtype=np.float64).reshape(-1, self.d)
        blocks[:, -1] = np.ravel(np.asarray(intercept, dtype=np.float64))
        if not self.fit_intercept and blocks[:, -1].any():
            raise DataError(
                f"the start has intercept {blocks[:, -1].tolist()} but fit_intercept is False; "
                "give 0 as intercept."
            )
        return blocks.ravel()

    # -- arithmetic -----------------------------------------------------------------------

    def scores(self, a: ArrayLike) -> NDArray[np.float64]:
        """Scores of all samples: shape (n,) for two classes, (n, K) for more."""
        coef, intercept = self.split(np.asarray(a, dtype=np.float64))
        if self.binary:
            coef, intercept = coef[0], intercept[0]
        scores = self.product(coef.T)
        scores += intercept
        return scores

    def values(self, a: ArrayLike) -> NDArray[np.float64]:
        """Values z_v . a of all reflected rows; row v is right when its value is positive."""
        scores = self.scores(a)
        if self.binary:
            return self.sign * scores
        own = scores[np.arange(self.n), self.label]
        others = np.ones(scores.shape, dtype=bool)
        others[np.arange(self.n), self.label] = False
        values: NDArray[np.float64] = (own[:, None] - scores)[others]
        return values

    def product(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """X @ w in float64, in two halves by two threads; float32 is widened piece by piece."""
        if self.sparse:
            return np.asarray(self.matrix @ w, dtype=np.float64)
        out = np.empty((self.n, *w.shape[1:]))
        wide = self.matrix.dtype == np.float64
        step = -(-self.n // 2) if wide else max(1, _CHUNK // 4 // self.d)

        def part(at: int) -> None:
            block = self.matrix[at : at + step].astype(np.float64, copy=False)
            np.matmul(block, w, out=out[at : at + step])

        starts = range(0, self.n, step)
        run_all([partial(part, at) for at in starts], 1 if self.n * self.d < _CHUNK else None)
        return out

    def check_finite(self) -> None:
        """Raise DataError if X holds NaN or infinity, naming the first place."""
        _check_finite(self.matrix, self.feature_names)

    @cached_property
    def squared_lengths(self) -> NDArray[np.float64]:
        """|x_i|^2 of every sample, without the constant 1."""
        if self.sparse:
            squares = self.matrix.copy()
            squares.data = squares.data.astype(np.float64) ** 2
            return np.asarray(squares.sum(axis=1)).ravel()
        out = np.empty(self.n)
        step = max(1, _CHUNK // max(1, self.d))
        for at in range(0, self.n, step):
            block = self.matrix[at : at + step].astype(np.float64, copy=False)
            out[at : at + step] = np.einsum("ij,ij->i", block, block)
        return out

    @cached_property
    def row_hashes(self) -> NDArray[np.uint64]:
        """A 64-bit number for each sample; equal rows have equal numbers in any layout."""
        return _row_hashes(self.matrix, self.d)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of shape, values, labels and weights; the memory layout does not matter."""
        digest = hashlib.sha256()
        digest.update(f"linsep 1 {self.n} {self.d} {self.K} {self.fit_intercept}".encode())
        digest.update(repr([str(c) for c in self.classes]).encode())
        for part in (self.row_hashes, self.label.astype(np.int64), self.weight):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def feature_name(self, column: int) -> str:
        """Name of a column for messages: the caller's, or x1, x2, ..."""
        return self.feature_names[column] if self.feature_names else f"x{column + 1}"

    def __repr__(self) -> str:
        kind = "sparse" if self.sparse else "dense"
        offset = "with" if self.fit_intercept else "without"
        return f"Problem({self.n} x {self.d} {kind}, {self.K} classes, {offset} intercept)"


# -- validation ---------------------------------------------------------------------------


def _as_matrix(X: Any) -> Any:
    if hasattr(X, "tocsr"):
        matrix = X.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        data = _as_floats(matrix.data)
        if data is not matrix.data:
            matrix = matrix.__class__((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    else:
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
    if values.dtype == np.float16:
        return values.astype(np.float32)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"X holds values that are not numbers ({error}); encode text columns first."
        ) from error


def _check_finite(matrix: Any, names: list[str] | None) -> None:
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


def _as_labels(y: ArrayLike, n: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise LabelError(f"y has shape {labels.shape}; one label for each row is needed: ({n},).")
    if labels.shape[0] != n:
        raise LabelError(f"y has {labels.shape[0]} labels but X has {n} rows; give one a row.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        at = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise LabelError(f"y contains NaN or infinity at row {at} ({labels[at]}); drop that row.")
    if labels.dtype == object and any(v is None or v != v for v in labels):
        at = next(i for i, v in enumerate(labels) if v is None or v != v)
        raise LabelError(f"y has no label at row {at}; drop that row or give it a label.")
    try:
        classes, label = _unique(labels)
    except TypeError as error:
        raise LabelError(f"y mixes labels that cannot be sorted ({error}); use one type.") from None
    if classes.size < 2:
        shown = classes[0].item() if hasattr(classes[0], "item") else classes[0]
        raise LabelError(f"y has one class ({shown!r}); a separating hyperplane needs two.")
    return classes, label.astype(np.int64)


def _unique(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sorted classes and the number of each row's class; without sorting for small integers."""
    if labels.dtype.kind in "iu" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        if high - low < 1000:
            shifted = (labels - low).astype(np.int64)
            present = np.flatnonzero(np.bincount(shifted, minlength=1))
            place = np.zeros(high - low + 1, dtype=np.int64)
            place[present] = np.arange(present.size)
            return (present + low).astype(labels.dtype), place[shifted]
    return np.unique(labels, return_inverse=True)


def _as_weights(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise DataError(f"sample_weight has shape {weight.shape}; X has {n} rows: give ({n},).")
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(f"sample_weight[{at}] is {weight[at]}; weights are finite and >= 0.")
    return weight


# -- hashing ------------------------------------------------------------------------------


def _row_hashes(matrix: Any, d: int) -> NDArray[np.uint64]:
    """Sum of mixed non-zero entries modulo 2^64, one sum a row.

    An entry is mixed with a key of its column; zero always gives zero, so a sparse and a
    dense matrix of the same values agree, and so do float32 and float64.
    """
    # splitmix64 of the column number: well spread odd keys without a table
    keys = np.arange(1, d + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) | np.uint64(1)

    def mixed(values: NDArray[Any], key: NDArray[np.uint64]) -> NDArray[np.uint64]:
        bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
        bits ^= bits >> np.uint64(32)
        bits *= np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(29)
        bits *= key
        return bits

    n = matrix.shape[0]
    out = np.zeros(n, dtype=np.uint64)
    if isinstance(matrix, np.ndarray):
        step = max(1, (1 << 15) // d)  # a block of mixed values stays in the cache
        for at in range(0, n, step):
            block = np.ascontiguousarray(matrix[at : at + step])
            out[at : at + step] = mixed(block, keys).sum(axis=1, dtype=np.uint64)
        return out
    total = np.zeros(matrix.data.size + 1, dtype=np.uint64)
    np.cumsum(mixed(matrix.data, keys[matrix.indices]), out=total[1:])
    out[:] = total[matrix.indptr[1:]] - total[matrix.indptr[:-1]]
    return out
