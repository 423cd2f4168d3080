"""A validated classification problem: the data that a solver may read and never changes."""

from __future__ import annotations

import copy
import hashlib
import weakref
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linsep.core.costs import AT_ONCE, BLAS_COLUMNS, PRODUCT, second_thread
from linsep.core.digest import row_hashes
from linsep.core.lanes import one_blas_thread, run_all
from linsep.core.layouts import CSR, BinaryRows, KeslerRows, Rows
from linsep.core.validate import as_labels, as_matrix, as_targets, as_weights, require_finite
from linsep.errors import DataError, LabelError

P = ParamSpec("P")
T = TypeVar("T")


class Once:
    """Data that never change, and a memory of what was made of them.

    ``once`` is the only way into the memory. A maker is a function of the data alone, so it does
    not matter who asks first; what it makes is never written to.
    """

    _memory: dict[Hashable, tuple[frozenset[str] | None, Any]]

    def once(
        self: Self,
        maker: Callable[Concatenate[Self, P], T],
        /,
        *args: P.args,
        **how: P.kwargs,
    ) -> T:
        """``maker(self, *args, **how)``, made at the first call and kept.

        args belong to what is made and must be hashable; how (threads, memory) does not change
        it. A maker names the data that it reads by ``reads``; else it counts as reading all.
        """
        key = (maker, *args)
        found = self._recall(key)
        if found is None:
            found = (getattr(maker, "_reads", None), maker(self, *args, **how))
            self._memory[key] = found
        value: T = found[1]
        return value

    def knows(self, maker: Callable[..., Any], /, *args: Hashable) -> bool:
        """Whether it has been made already, here."""
        return (maker, *args) in self._memory

    def keep(self, maker: Callable[Concatenate[Self, ...], T], value: T, /) -> None:
        """A value that falls off another one, as ``maker(self)`` would make it."""
        self._memory[(maker,)] = (getattr(maker, "_reads", None), value)

    def forget(self, maker: Callable[..., Any], /) -> None:
        """Give the memory back that a maker takes, whatever its arguments were."""
        for key in [key for key in self._memory if isinstance(key, tuple) and key[0] is maker]:
            del self._memory[key]

    def _recall(self, key: Hashable) -> tuple[frozenset[str] | None, Any] | None:
        return self._memory.get(key)


F = TypeVar("F", bound=Callable[..., Any])


def reads(*parts: str) -> Callable[[F], F]:
    """Mark a maker with the data it reads: copies in which these are the same keep its value."""

    def mark(maker: F) -> F:
        maker._reads = frozenset(parts)  # type: ignore[attr-defined]
        return maker

    return mark


_TWO_THREADS = second_thread(PRODUCT)  # products from which two of them are worth it
_PARTS = (
    "matrix", "classes", "label", "weight", "targets", "fit_intercept", "feature_names",
    "row_index",
)  # fmt: skip


class Problem(Once):
    """Rows, labels and weights, checked once and never copied without need.

    It never changes. What is computed from it is kept by ``once``, and a copy with other data
    (``changed``) keeps only what does not depend on them. ``lent`` is the same problem for
    solvers, with a memory of its own: nothing that they make or break is read by a proof.

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
    half_space : bool, default=False
        Without intercept, take rows of one class too if their label is 1 or -1: whether a
        half-space at the origin holds them all.

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
        half_space: bool = False,
    ) -> None:
        names = None if feature_names is None else [str(name) for name in feature_names]
        matrix = as_matrix(X)
        if check_finite:
            require_finite(matrix, names)
        n = matrix.shape[0]
        classes, label = as_labels(y, n, half_space=half_space and not fit_intercept)
        weight = as_weights(sample_weight, n)
        aims = as_targets(targets, n)
        row_index: NDArray[np.int64] | None = None
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
            row_index = np.flatnonzero(keep)
            matrix, label, weight = matrix[row_index], label[keep], weight[keep]
            aims = None if aims is None else aims[keep]
        self._fill(
            matrix=matrix, classes=classes, label=label, weight=weight, targets=aims,
            fit_intercept=bool(fit_intercept), feature_names=names, row_index=row_index,
        )  # fmt: skip

    matrix: Any
    """X of shape (n, d), dense or CSR."""
    classes: NDArray[Any]
    label: NDArray[np.int64]
    """For each row the number of its class."""
    weight: NDArray[np.float64]
    targets: NDArray[np.float64] | None
    fit_intercept: bool
    feature_names: list[str] | None
    row_index: NDArray[np.int64] | None
    """Rows of the caller's X that take part; None if all do."""
    n: int
    d: int
    K: int
    _lender: weakref.ref[Problem] | None
    """Whose memory may be read too, by copies; weak, so that both are freed at once."""
    _lent: Problem | None
    _solving: bool
    """Whether it is one of those that solvers work with."""

    def _fill(self, **parts: Any) -> None:
        """Set the data, and begin with an empty memory."""
        n, d = parts["matrix"].shape
        shape = {"n": int(n), "d": int(d), "K": len(parts["classes"])}
        self.__dict__.update(parts, **shape, _memory={}, _lender=None, _lent=None, _solving=False)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"a Problem never changes: {name!r} cannot be set. changed() gives a copy."
        )

    @classmethod
    def part(
        cls,
        matrix: Any,
        label: NDArray[np.int64],
        weight: NDArray[np.float64],
        classes: NDArray[Any],
        *,
        fit_intercept: bool,
        feature_names: list[str] | None = None,
        row_index: NDArray[np.int64] | None = None,
    ) -> Problem:
        """Some rows of a table that is not here whole; they may be all of one class."""
        twin = object.__new__(cls)
        twin._fill(
            matrix=matrix, classes=classes, label=label, weight=weight, targets=None,
            fit_intercept=fit_intercept, feature_names=feature_names, row_index=row_index,
        )  # fmt: skip
        return twin

    # -- copies -------------------------------------------------------------------------------

    def changed(self, **parts: Any) -> Problem:
        """A copy with other data; it keeps what was made of those that stay."""
        twin = object.__new__(Problem)
        twin._fill(**{name: parts.get(name, self.__dict__[name]) for name in _PARTS})
        twin._memory.update(
            (key, found)
            for key, found in self._memory.items()
            if found[0] is not None and found[0].isdisjoint(parts)
        )
        twin.__dict__["_solving"] = self._solving
        if self._lent is not None:  # solvers share what does not depend on the change, too
            twin.__dict__["_lent"] = lent = self._lent.changed(**parts)
            lent.__dict__["_lender"] = None if self._lent._lender is None else weakref.ref(twin)
        return twin

    def afresh(self) -> Problem:
        """The same data with an empty memory."""
        twin = object.__new__(Problem)
        twin._fill(**{name: self.__dict__[name] for name in _PARTS})
        return twin

    @property
    def lent(self) -> Problem:
        """The same problem for solvers: it may read copies of what is known here, and what it
        makes is not seen here. There is one, so that solvers share what they have made."""
        if self._solving:
            return self
        return self.lend() if self._lent is None else self._lent

    def lend(self, matrix: Any = None) -> Problem:
        """``lent`` anew; matrix is the same table in a form that solvers are faster with."""
        twin = self.afresh()
        twin.__dict__.update(_lender=weakref.ref(self), _solving=True)
        if matrix is not None:  # what is known of the table is not what is known of its form
            twin.__dict__.update(_lender=None, matrix=matrix)
        self.__dict__["_lent"] = twin
        return twin

    def _recall(self, key: Hashable) -> tuple[frozenset[str] | None, Any] | None:
        found = self._memory.get(key)
        lender = None if self._lender is None else self._lender()
        if found is None and lender is not None:
            theirs = lender._memory.get(key)
            if theirs is not None and theirs[0] is not None:
                found = self._memory[key] = (theirs[0], copy.deepcopy(theirs[1]))
        return found

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

    @property
    def sign(self) -> NDArray[np.float64]:
        """Labels of a binary problem as -1.0 and +1.0."""
        return self.once(_sign)

    @property
    def row_weights(self) -> NDArray[np.float64]:
        """Weights of the reflected rows."""
        return self.weight if self.binary else np.repeat(self.weight, self.K - 1)

    @property
    def rows(self) -> Rows:
        """The reflected rows as a tuple for compiled code."""
        return self.once(_rows)

    def sample_of(self, row: int) -> int:
        """Index in the caller's X of the sample that reflected row ``row`` comes from."""
        return self.sample_of_index(row if self.binary else row // (self.K - 1))

    def sample_of_index(self, sample: int) -> int:
        """Index in the caller's X of a sample of the problem, which leaves out weight zero."""
        return int(sample if self.row_index is None else self.row_index[sample])

    def index_of(self, samples: ArrayLike) -> NDArray[np.int64] | None:
        """The other way round; None if one of them is not among the samples of the problem."""
        asked = np.asarray(samples, dtype=np.int64)
        if self.row_index is None:
            return asked if not asked.size or 0 <= asked.min() <= asked.max() < self.n else None
        place = np.minimum(np.searchsorted(self.row_index, asked), self.n - 1)
        return place if np.array_equal(self.row_index[place], asked) else None

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
        return product(self.matrix, w)

    def total(self, work: Callable[[Problem], T]) -> T:
        """A pass over all rows: a table is one block of them (rows/parts.py has many)."""
        return work(self)

    def check_finite(self) -> None:
        """Raise DataError if X holds NaN or infinity, naming the first place."""
        require_finite(self.matrix, self.feature_names)

    @property
    def gram(self) -> NDArray[np.float64]:
        """x_i . x_j of all samples, for few rows of many columns; two threads if it is large."""
        return self.once(_gram)

    def prepare_gram(self) -> None:
        """The Gram matrix and the numbers of the rows, at the same time where that is faster."""
        parts = [] if self.sparse else _gram_parts(self)
        if len(parts) < 2 or self.knows(_gram):
            assert self.gram is not None
            return
        jobs: list[Callable[[], Any]] = [*parts, lambda: self.row_hashes]
        with one_blas_thread():
            found = run_all(jobs)
        self.keep(_gram, _sum(found[:-1]))

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all samples."""
        return self.once(_total_weight)

    @property
    def squared_lengths(self) -> NDArray[np.float64]:
        """|x_i|^2 of every sample, without the constant 1."""
        return self.once(_squared_lengths)

    @property
    def row_hashes(self) -> NDArray[np.uint64]:
        """A 64-bit number for each sample; equal rows have equal numbers in any layout."""
        return self.once(_row_hashes)

    @property
    def fingerprint(self) -> str:
        """A digest of shape, values, labels and weights; the memory layout does not matter."""
        return self.once(_fingerprint)

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


def product(matrix: Any, w: NDArray[np.float64]) -> NDArray[np.float64]:
    """X @ w in float64, in two halves by two threads; float32 is widened piece by piece."""
    if not isinstance(matrix, np.ndarray):
        return np.asarray(matrix @ w, dtype=np.float64)
    n, d = matrix.shape
    double = matrix.dtype == np.float64
    if double and n * d < AT_ONCE:
        return np.asarray(matrix @ w)
    out = np.empty((n, *w.shape[1:]))
    step = -(-n // 2) if double else max(1, AT_ONCE // 4 // d)

    def part(at: int) -> None:
        block = matrix[at : at + step].astype(np.float64, copy=False)
        np.matmul(block, w, out=out[at : at + step])

    jobs = [partial(part, at) for at in range(0, n, step)]
    if n * d < AT_ONCE:
        run_all(jobs, 1)
    else:
        with one_blas_thread():  # or its threads and ours fight for the cores
            run_all(jobs)
    return out


# -- what is made once ----------------------------------------------------------------------------


@reads("label", "classes")
def _sign(problem: Problem) -> NDArray[np.float64]:
    if not problem.binary:
        return np.where(problem.label == problem.K - 1, 1.0, -1.0)
    sign: NDArray[np.float64] = problem.label.astype(np.float64)  # of 0 and 1
    sign *= 2.0
    sign -= 1.0
    return sign


def _rows(problem: Problem) -> Rows:
    matrix = problem.matrix
    X = (
        CSR(matrix.data, matrix.indices, matrix.indptr)
        if problem.sparse
        else np.ascontiguousarray(matrix)
    )
    bias = 1.0 if problem.fit_intercept else 0.0
    if problem.binary:
        return BinaryRows(X, problem.sign, problem.weight, bias, problem.d)
    return KeslerRows(X, problem.label, problem.weight, bias, problem.d, problem.K)


@reads("matrix")
def _gram(problem: Problem) -> NDArray[np.float64]:
    if problem.sparse:
        double = problem.matrix.astype(np.float64)
        return np.asarray((double @ double.T).toarray())
    with one_blas_thread():
        return _sum(run_all(_gram_parts(problem)))


def _gram_parts(problem: Problem) -> list[Callable[[], NDArray[np.float64]]]:
    """Summands of the Gram matrix; they depend on the shape alone, not on threads."""
    step = max(1, 4 * AT_ONCE // problem.n)

    def part(low: int, high: int) -> NDArray[np.float64]:
        blocks = (
            problem.matrix[:, at : min(at + step, high)].astype(np.float64, copy=False)
            for at in range(low, high, step)
        )
        return _sum(block @ block.T for block in blocks)

    if problem.n * problem.n * problem.d < _TWO_THREADS:
        return [partial(part, 0, problem.d)]
    half = problem.d // 2
    return [partial(part, 0, half), partial(part, half, problem.d)]


@reads("weight")
def _total_weight(problem: Problem) -> float:
    return float(problem.weight.sum())


@reads("matrix")
def _squared_lengths(problem: Problem) -> NDArray[np.float64]:
    if problem.knows(_gram):
        return problem.gram.diagonal().copy()
    if problem.sparse:
        squares = problem.matrix.copy()
        squares.data = squares.data.astype(np.float64) ** 2
        return np.asarray(squares.sum(axis=1)).ravel()
    out = np.empty(problem.n)
    step = max(1, AT_ONCE // max(1, problem.d))
    for at in range(0, problem.n, step):
        block = problem.matrix[at : at + step].astype(np.float64, copy=False)
        long = block.flags.c_contiguous and problem.d >= BLAS_COLUMNS
        squares = np.vecdot(block, block) if long else np.einsum("ij,ij->i", block, block)
        out[at : at + step] = squares
    return out


@reads("matrix")
def _row_hashes(problem: Problem) -> NDArray[np.uint64]:
    return row_hashes(problem.matrix, problem.d)


def _fingerprint(problem: Problem) -> str:
    digest = hashlib.sha256()
    offset = problem.fit_intercept
    digest.update(f"linsep 1 {problem.n} {problem.d} {problem.K} {offset}".encode())
    digest.update(repr([str(c) for c in problem.classes]).encode())
    aims = () if problem.targets is None else (problem.targets,)
    for part in (problem.row_hashes, problem.label.astype(np.int64), problem.weight, *aims):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


# -- problems made of others ----------------------------------------------------------------------


def against_rest(problem: Problem, k: int) -> Problem:
    """Class k as the positive class against all others."""
    return problem.changed(
        label=(problem.label == k).astype(np.int64),
        classes=np.array(["rest", str(problem.classes[k])]),
    )


def two_of(problem: Problem, first: int, second: int) -> Problem:
    """Rows of two classes alone, as a problem of two: the second is the positive one."""
    return problem.changed(
        label=(problem.label == second).astype(np.int64),
        classes=problem.classes[[first, second]],
    )


def rows_of(problem: Problem, index: NDArray[np.int64]) -> Problem:
    """The problem of some rows alone, numbered anew; the classes stay, though one may be empty."""
    return problem.changed(
        matrix=problem.matrix[index],
        label=problem.label[index],
        weight=problem.weight[index],
        targets=None if problem.targets is None else problem.targets[index],
        row_index=None,
    )


def columns_of(problem: Problem, index: NDArray[np.int64]) -> Problem:
    """The problem of some columns alone."""
    names = problem.feature_names
    return problem.changed(
        matrix=problem.matrix[:, index],
        feature_names=None if names is None else [names[j] for j in index.tolist()],
    )


def moved(problem: Problem, offsets: NDArray[np.float64]) -> Problem:
    """The same problem with an offset taken off each column, in float64; dense rows only."""
    return problem.changed(matrix=problem.matrix.astype(np.float64) - offsets)


def each_against_rest(problem: Problem) -> list[Problem]:
    """Every class against all others; made once and kept with the problem."""
    return problem.once(_each_against_rest)


def _each_against_rest(problem: Problem) -> list[Problem]:
    return [against_rest(problem, k) for k in range(problem.K)]
