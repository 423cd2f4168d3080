"""A validated classification problem: the data that a solver may read and never changes."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linsep.core.digest import row_hashes
from linsep.core.labels import as_labels
from linsep.core.lanes import one_blas_thread, run_all
from linsep.core.layouts import CSR, BinaryRows, KeslerRows, Rows
from linsep.core.validate import as_matrix, as_targets, as_weights, require_finite
from linsep.errors import DataError, LabelError

_CHUNK = 1 << 20  # elements looked at together where a temporary copy is needed
_FLOPS = 5_000_000  # products in a Gram matrix from which two threads are worth their start
_LONG = 256  # columns from which BLAS multiplies a row with itself faster than a plain loop


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
    targets : array of shape (n,), optional
        Positive values that the reflected rows should have; least squares aims at them.

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
        targets: ArrayLike | None = None,
    ) -> None:
        names = None if feature_names is None else [str(name) for name in feature_names]
        matrix = as_matrix(X)
        if check_finite:
            require_finite(matrix, names)
        n = matrix.shape[0]
        classes, label = as_labels(y, n)
        weight = as_weights(sample_weight, n)
        self.targets = as_targets(targets, n)
        keep = weight > 0 if sample_weight is not None else np.ones(1, dtype=bool)
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
            self.targets = None if self.targets is None else self.targets[keep]
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
        if not self.binary:
            return np.where(self.label == self.K - 1, 1.0, -1.0)
        sign: NDArray[np.float64] = self.label.astype(np.float64)  # of 0 and 1
        sign *= 2.0
        sign -= 1.0
        return sign

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
        wide = self.matrix.dtype == np.float64
        if wide and self.n * self.d < _CHUNK:
            return np.asarray(self.matrix @ w)
        out = np.empty((self.n, *w.shape[1:]))
        step = -(-self.n // 2) if wide else max(1, _CHUNK // 4 // self.d)

        def part(at: int) -> None:
            block = self.matrix[at : at + step].astype(np.float64, copy=False)
            np.matmul(block, w, out=out[at : at + step])

        jobs = [partial(part, at) for at in range(0, self.n, step)]
        if self.n * self.d < _CHUNK:
            run_all(jobs, 1)
        else:
            with one_blas_thread():  # or its threads and ours fight for the cores
                run_all(jobs)
        return out

    def check_finite(self) -> None:
        """Raise DataError if X holds NaN or infinity, naming the first place."""
        require_finite(self.matrix, self.feature_names)

    @cached_property
    def gram(self) -> NDArray[np.float64]:
        """x_i . x_j of all samples, for few rows of many columns; two threads if it is large."""
        if self.sparse:
            wide = self.matrix.astype(np.float64)
            return np.asarray((wide @ wide.T).toarray())
        with one_blas_thread():
            return _sum(run_all(self._gram_parts()))

    def _gram_parts(self) -> list[Callable[[], NDArray[np.float64]]]:
        """Summands of the Gram matrix; they depend on the shape alone, not on threads."""
        step = max(1, 4 * _CHUNK // self.n)

        def part(low: int, high: int) -> NDArray[np.float64]:
            blocks = (
                self.matrix[:, at : min(at + step, high)].astype(np.float64, copy=False)
                for at in range(low, high, step)
            )
            return _sum(block @ block.T for block in blocks)

        if self.n * self.n * self.d < _FLOPS:
            return [partial(part, 0, self.d)]
        half = self.d // 2
        return [partial(part, 0, half), partial(part, half, self.d)]

    def prepare_gram(self) -> None:
        """The Gram matrix and the numbers of the rows, at the same time where that is faster."""
        parts = [] if self.sparse else self._gram_parts()
        if len(parts) < 2 or "gram" in self.__dict__:
            assert self.gram is not None
            return
        jobs: list[Callable[[], Any]] = [*parts, lambda: self.row_hashes]
        with one_blas_thread():
            found = run_all(jobs)
        self.__dict__["gram"] = _sum(found[:-1])

    @cached_property
    def total_weight(self) -> float:
        """The sum of the weights of all samples."""
        return float(self.weight.sum())

    @cached_property
    def squared_lengths(self) -> NDArray[np.float64]:
        """|x_i|^2 of every sample, without the constant 1."""
        if "gram" in self.__dict__:
            return self.gram.diagonal().copy()
        if self.sparse:
            squares = self.matrix.copy()
            squares.data = squares.data.astype(np.float64) ** 2
            return np.asarray(squares.sum(axis=1)).ravel()
        out = np.empty(self.n)
        step = max(1, _CHUNK // max(1, self.d))
        for at in range(0, self.n, step):
            block = self.matrix[at : at + step].astype(np.float64, copy=False)
            long = block.flags.c_contiguous and self.d >= _LONG
            squares = np.vecdot(block, block) if long else np.einsum("ij,ij->i", block, block)
            out[at : at + step] = squares
        return out

    @cached_property
    def row_hashes(self) -> NDArray[np.uint64]:
        """A 64-bit number for each sample; equal rows have equal numbers in any layout."""
        return row_hashes(self.matrix, self.d)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of shape, values, labels and weights; the memory layout does not matter."""
        digest = hashlib.sha256()
        digest.update(f"linsep 1 {self.n} {self.d} {self.K} {self.fit_intercept}".encode())
        digest.update(repr([str(c) for c in self.classes]).encode())
        aims = () if self.targets is None else (self.targets,)
        for part in (self.row_hashes, self.label.astype(np.int64), self.weight, *aims):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def feature_name(self, column: int) -> str:
        """Name of a column for messages: the caller's, or x1, x2, ..."""
        return self.feature_names[column] if self.feature_names else f"x{column + 1}"

    def __repr__(self) -> str:
        kind = "sparse" if self.sparse else "dense"
        offset = "with" if self.fit_intercept else "without"
        return f"Problem({self.n} x {self.d} {kind}, {self.K} classes, {offset} intercept)"


def _sum(arrays: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The sum in order, in the memory of the first; what overflows is told by its values."""
    rest = iter(arrays)
    with np.errstate(all="ignore"):
        total = next(rest)
        for array in rest:
            total += array
    return total


# -- Problems made of others: a class against the rest, some rows or columns, other offsets -------


_COMPUTED = ("sign", "rows", "fingerprint", "row_hashes", "squared_lengths")  # once asked for


def against_rest(problem: Problem, k: int) -> Problem:
    """Class k as the positive class against all others."""
    part = copy.copy(problem)
    for name in ("sign", "rows", "fingerprint", "_aims", "_right_side", "_each_against_rest"):
        part.__dict__.pop(name, None)
    part.label = (problem.label == k).astype(np.int64)
    part.classes = np.array(["rest", str(problem.classes[k])])
    part.K = 2
    return part


def rows_of(problem: Problem, index: NDArray[np.int64]) -> Problem:
    """The problem of some rows alone; the classes stay, though one may have no row left."""
    part = _twin(problem)
    part.matrix = problem.matrix[index]
    part.label, part.weight = problem.label[index], problem.weight[index]
    part.n = len(index)
    return part


def columns_of(problem: Problem, index: NDArray[np.int64]) -> Problem:
    """The problem of some columns alone."""
    part = _twin(problem)
    part.matrix, part.d = problem.matrix[:, index], len(index)
    if problem.feature_names is not None:
        part.feature_names = [problem.feature_names[j] for j in index.tolist()]
    return part


def moved(problem: Problem, offsets: NDArray[np.float64]) -> Problem:
    """The same problem with an offset taken off each column, in float64; dense rows only."""
    part = _twin(problem)
    part.matrix = problem.matrix.astype(np.float64) - offsets
    return part


def _twin(problem: Problem) -> Problem:
    """A copy without anything that was computed from rows or labels."""
    twin = copy.copy(problem)
    for name in [name for name in twin.__dict__ if name in _COMPUTED or name.startswith("_")]:
        del twin.__dict__[name]
    return twin


def each_against_rest(problem: Problem) -> list[Problem]:
    """Every class against all others; made once and kept with the problem."""
    kept: list[Problem] | None = problem.__dict__.get("_each_against_rest")
    if kept is None:
        kept = [against_rest(problem, k) for k in range(problem.K)]
        problem.__dict__["_each_against_rest"] = kept
    return kept
