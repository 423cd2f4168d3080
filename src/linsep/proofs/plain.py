"""The judge's own eyes: rows, signs, losses, by their definitions and in plain numpy.

Solvers read the rows through ``rows/`` and ``kernels/``, which are written for speed. A proof that
read through the same code would believe what a solver believes, whatever is wrong there. So proofs
read the matrix, the labels and the weights of a problem themselves, here, and share nothing with
solvers but numpy and scipy:

require_same, require_read          whether a problem is that of the caller's arrays
require_given, require_block        the same of a block of a stream
counted                             a pass over a stream in which every row counts once
spread                              places of a table that are looked at where it is large
seal, require_sealed                whether a problem is still what it was before a solver had it
require_kernel                      whether a kernel is the one that was asked for
signs, aims                         y, and what least squares aims at
columns                             weights, one column a plane
product, scores, values, by_values  X W, X W + b, and y f(x) of all rows, or block by block
combination, one_pass, blockwise    X' c; both for a proof; any other sum over blocks of rows
losses, cap, dual_cost              of a hinge, by its two numbers q and top
log_loss, sigma, softmax_losses     of logistic regression
added                               sums of long vectors, piece by piece

Large tables go by pieces, by several threads. Every piece has a place of its own that holds NaN
until it is done, so a piece that is left out, or done twice, proves nothing rather than too much.
Kernels are in ``referee.py``, verdicts in ``witness.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Generic, Self, TypeVar

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from linsep.core.costs import AT_ONCE, IN_CACHE, PROOF_PIECE
from linsep.core.lanes import one_blas_thread, run_all
from linsep.core.parts import Block, Place, Stream, Summed, Task
from linsep.core.problem import Problem
from linsep.errors import ProofError
from linsep.kernels.base import Kernel
from linsep.losses.hinge import QuadraticLoss
from linsep.rows.reader import survey

Array = NDArray[np.float64]

_PIECES = 16
_LONG = 20_000  # numbers of a piece of a long vector


def require_same(
    problem: Problem, X: Any, y: Any, sample_weight: Any = None, class_weight: Any = None,
    *, by_weight: bool = True,
) -> Problem:  # fmt: skip
    """The problem, if it is that of the caller's rows, labels and weights, else ProofError.

    Rows that are still in the caller's own array are his; what was copied is compared in full.
    What numpy cannot compare is left to those who have read it.
    """
    label, n = np.asarray(y).ravel(), len(problem.label)
    require_read(problem.matrix, problem.classes, problem.label, X, y, problem.row_index)
    if sample_weight is not None or class_weight is not None:
        weight = _weights(label, sample_weight, class_weight, by_weight=by_weight)
        index = np.flatnonzero(weight > 0)
        if len(index) != n or not np.allclose(weight[index], problem.weight, rtol=1e-9, atol=0.0):
            raise ProofError(_OTHERS.format("weights", "sample_weight and class_weight"))
        if problem.row_index is not None and not np.array_equal(index, problem.row_index):
            raise ProofError(_OTHERS.format("rows of positive weight", "sample_weight"))
    return problem


def require_read(
    matrix: Any, classes: Any, label: Any, X: Any, y: Any, index: NDArray[np.int64] | None = None
) -> None:
    """The same of rows and of labels, by their places in classes; index are the rows in use."""
    given = np.asarray(y).ravel()
    given, told = given if index is None else given[index], classes[label]
    same: Any = given == told if len(given) == len(told) else np.zeros(1, dtype=bool)
    rising = all(a < b for a, b in pairwise(classes.tolist()))
    if isinstance(same, np.ndarray) and not (rising and same.all()):
        raise ProofError(_OTHERS.format("labels", "y"))
    if not _same_rows(matrix, X, index):
        raise ProofError(_OTHERS.format("rows", "X"))


def require_kernel(kernel: Kernel, asked: Any, parameters: Mapping[str, Any]) -> Kernel:
    """The kernel, if it has the numbers that the caller has given, else ProofError."""
    told = {**(asked.get_params() if isinstance(asked, Kernel) else {}), **parameters}
    own = kernel.get_params()
    for name, value in told.items():
        made = own.get(kernel.renamed.get(name, name), value)
        if isinstance(value, int | float) and made != value:
            raise ProofError(
                f"{name}={value!r} was asked for, and the kernel that was made is {kernel!r}; this "
                "is a bug of linsep, please report it."
            )
    return kernel


def require_given(block: Block) -> None:
    """The rows, labels and weights of a block, as its part has given them."""
    given, n = block.given, block.X.shape[0]
    told = np.asarray(given.y).ravel()
    if len(told) != n or not np.array_equal(told, block.y):
        raise ProofError(_OTHERS.format("labels", "a part"))
    own = np.ones(n) if block.weight is None else block.weight
    weight = np.ones(n) if given.weight is None else np.ravel(given.weight)
    if not np.array_equal(own, weight):
        raise ProofError(_OTHERS.format("weights", "a part"))
    if not _same_rows(block.X, given.X, None):
        raise ProofError(_OTHERS.format("rows", "a part"))


def require_block(
    problem: Problem | None,
    given: Block,
    classes: NDArray[Any],
    factors: Array,
    positive: int | None,
) -> None:
    """The same of a block of a stream as its part has given it; None has no rows that count.

    factors are those of the weights of each class; positive is a class that is set against all
    others.
    """
    told = np.asarray(given.y).ravel()
    weight = np.zeros(len(told))
    for c, factor in zip(classes, factors):
        weight[told == c] = factor
    if given.weight is not None:
        weight = weight * np.asarray(given.weight, dtype=np.float64).ravel()
    index = np.flatnonzero(weight > 0)
    if problem is None or len(index) != len(problem.weight):
        if problem is not None or len(index):
            raise ProofError(_OTHERS.format("rows of positive weight", "a part"))
        return
    if not np.allclose(weight[index], problem.weight, rtol=1e-9, atol=0.0):
        raise ProofError(_OTHERS.format("weights", "a part"))
    wanted = told[index] if positive is None else told[index] == classes[positive]
    own = classes[problem.label] if positive is None else problem.label == 1
    if not np.array_equal(wanted, own):
        raise ProofError(_OTHERS.format("labels", "a part"))
    X, d = given.X, problem.matrix.shape[1]
    if hasattr(X, "tocsr"):  # sparse rows may end before the last column
        X = scipy.sparse.csr_array(X)
        X = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], d))
    if not _same_rows(problem.matrix, X, None if len(index) == len(told) else index):
        raise ProofError(_OTHERS.format("rows", "a part"))


T = TypeVar("T", bound=Summed)
Seen = TypeVar("Seen")


@dataclass(frozen=True)
class _Counted(Generic[T]):
    """A sum, and the runs of rows that it is over: part, first row, row behind the last."""

    found: T | None
    runs: tuple[tuple[int, int, int], ...]

    def plus(self, other: Self) -> Self:
        """Both; runs that follow one another as one."""
        before, after = self.runs, other.runs
        if before[-1][0] == after[0][0] and before[-1][2] == after[0][1]:
            both = (before[-1][0], before[-1][1], after[0][2])
            before, after = before[:-1], (both, *after[1:])
        sums = [one for one in (self.found, other.found) if one is not None]
        found = sums[0].plus(sums[1]) if len(sums) == 2 else next(iter(sums), None)
        return replace(self, found=found, runs=before + after)


def _counted(block: Block, place: Place, *, task: Task[T]) -> _Counted[T]:
    run = place.number, place.first, place.first + len(np.asarray(block.given.y).ravel())
    return _Counted(task(block, place), (run,))


def counted(stream: Stream, task: Task[T], words: str) -> T:
    """A pass as ``stream.total`` makes one, over all rows, each of them once; else ProofError.

    Sums are added together with the numbers of their rows, so what one lacks the other lacks too.
    """
    whole = stream.total(partial(_counted, task=task), words)
    runs = () if whole is None else whole.runs
    rows = [rows for _, rows, _ in stream.marks]
    due = tuple((part, 0, n) for part, n in enumerate(rows) if n)
    told = sum(rows) if stream.told is None else stream.told
    if runs != due or whole is None or whole.found is None or sum(rows) != told:
        read = sum(end - first for _, first, end in runs)
        raise ProofError(
            f"a pass over {stream.name} was to read {told} rows, each once, and has read {read}; "
            "this is a bug of linsep, please report it."
        )
    return whole.found


def spread(n: int, most: int) -> NDArray[np.int64]:
    """So many places of n, or all, each somewhere in a piece of its own; they depend on both alone.

    What is wrong over the length of two pieces is always met, a single wrong place mostly not.

    >>> len(spread(100, 10)), (spread(100, 10) // 10).tolist()
    (10, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    if n <= most:
        return np.arange(n)
    edges = n * np.arange(most + 1) // most
    return np.random.default_rng([n, most]).integers(edges[:-1], edges[1:])


@dataclass(frozen=True)
class Seal:
    """What is kept of a problem while others work on it: copies of what has one entry a row, and
    of the rows themselves sums with factors, column by column and block by block."""

    parts: dict[str, NDArray[Any]]
    sums: NDArray[Any]


_SEALED = ("classes", "label", "weight", "targets", "row_index")
_SEALED_ENTRIES = 1_000_000  # of X that are read: two passes over more would be felt
_FACTORS = np.random.default_rng(20).uniform(1.0, 2.0, 4096)


def seal(problem: Problem) -> Seal:
    """To be held against the problem by ``require_sealed``.

    Solvers are lent the arrays themselves: what one of them writes into these, a proof would read
    as the caller's.
    """
    held = {name: getattr(problem, name) for name in _SEALED}
    return Seal({k: v.copy() for k, v in held.items() if v is not None}, _sums(problem.matrix))


def require_sealed(problem: Problem, before: Seal) -> None:
    """ProofError if an array of the problem has been written to."""
    for name, kept in before.parts.items():
        if not np.array_equal(getattr(problem, name), kept):
            raise ProofError(_CHANGED.format(name))
    if not np.array_equal(_sums(problem.matrix), before.sums, equal_nan=True):
        raise ProofError(_CHANGED.format("X"))


_CHANGED = (
    "{} was written to while the fit ran, so nothing is known of the model. A solver of your own, "
    "a callback or another thread must leave the data alone; without these it is a bug of linsep, "
    "please report it."
)


def _sums(matrix: Any) -> NDArray[Any]:
    """Sums of the entries times factors, of large tables of every k-th row; by one thread, so
    that bits are always the same."""
    if not isinstance(matrix, np.ndarray):
        parts = [_sums(one[:, None]) for one in (matrix.data, matrix.indices, matrix.indptr)]
        return np.concatenate([part.astype(np.float64).ravel() for part in parts])
    some = matrix[:: 1 + matrix.size // _SEALED_ENTRIES]
    step, kind = len(_FACTORS), matrix.dtype if matrix.dtype.kind == "f" else np.float64
    factors = _FACTORS.astype(kind)
    with one_blas_thread(), np.errstate(all="ignore"):
        blocks = (some[lo : lo + step] for lo in range(0, len(some), step))
        return np.array([factors[: len(block)] @ block for block in blocks])


_OTHERS = "the {} that were read are not those of {}; this is a bug of linsep, please report it."


def _weights(
    label: NDArray[Any], sample_weight: Any, class_weight: Any, *, by_weight: bool
) -> Array:
    """Weights of rows times those of their classes; "balanced" gives all classes the same sum."""
    weight = np.ones(len(label))
    if sample_weight is not None:
        weight = weight * np.asarray(sample_weight, dtype=np.float64).ravel()
    if class_weight is None:
        return weight
    counted = weight if by_weight else np.ones(len(label))
    factor = np.ones(len(label))
    classes = np.unique(label)
    for c in classes:
        own = label == c
        if not isinstance(class_weight, str):
            factor[own] = class_weight.get(c.item() if hasattr(c, "item") else c, 1.0)
        elif counted[own].any():
            factor[own] = counted.sum() / (len(classes) * counted[own].sum())
    return weight * factor


def _same_rows(held: Any, X: Any, index: NDArray[np.int64] | None) -> bool:
    """All rows, block by block: a pass costs less than the copy that it looks at."""
    n, d = held.shape
    if X is held or not d or _shared(held, X):
        return True
    at = np.arange(n) if index is None else index
    if not isinstance(held, np.ndarray):
        return _same_entries(held, X, at)
    step = max(1, PROOF_PIECE // d)
    try:
        for lo in range(0, n, step):
            some = at[lo : lo + step]
            given = X.iloc[some] if hasattr(X, "iloc") else _rows_of(X, some)
            wanted, own = np.asarray(given), held[lo : lo + step]
            if wanted.dtype.kind not in "fiub" or wanted.dtype.itemsize > 8:
                wanted = wanted.astype(np.float64)
            if not (own.shape == wanted.shape and (own == wanted).all()):
                wanted = wanted.astype(held.dtype)  # NaN is NaN
                if not np.array_equal(own, wanted, equal_nan=True):
                    return False
    except (TypeError, ValueError):  # columns of a kind that only their reader understands
        return True
    return True


def _rows_of(X: Any, some: NDArray[np.int64]) -> Any:
    if hasattr(X, "toarray"):
        return scipy.sparse.csr_array(X)[some].toarray()
    return np.asarray(X)[some[0] : some[-1] + 1 : 1] if _run(some) else np.asarray(X)[some]


def _run(some: NDArray[np.int64]) -> bool:
    return bool(len(some) and some[-1] - some[0] == len(some) - 1)


def _shared(held: Any, X: Any) -> bool:
    """Whether a sparse matrix is made of the caller's own arrays."""
    parts = ("data", "indices", "indptr")
    return not isinstance(held, np.ndarray) and all(
        isinstance(getattr(X, name, None), np.ndarray)
        and getattr(X, name).shape == getattr(held, name).shape
        and np.shares_memory(getattr(X, name), getattr(held, name))
        for name in parts
    )


def _same_entries(held: Any, X: Any, at: NDArray[np.int64]) -> bool:
    """Whether a sparse matrix has the caller's entries; those of one place are added up, perhaps
    in another order."""
    own = scipy.sparse.csr_array(X)
    own = own if len(at) == own.shape[0] else own[at]
    if own.shape != held.shape:
        return False
    apart = abs(scipy.sparse.csr_array(held, dtype=np.float64) - own.astype(np.float64))
    return not apart.nnz or bool((apart > 1e-6 * abs(own)).nnz == 0)


def signs(problem: Problem) -> Array:
    """-1 and +1 for the labels of two classes; of more the last is the positive one."""
    return np.where(problem.label == problem.K - 1, 1.0, -1.0)


def aims(problem: Problem) -> Array:
    """What least squares aims at: one column for two classes, one a class for more."""
    b = np.ones(problem.n) if problem.targets is None else problem.targets
    if problem.K == 2:
        return (signs(problem) * b)[:, None]
    T = np.full((problem.n, problem.K), -1.0)
    T[np.arange(problem.n), problem.label] = 1.0
    return T if problem.targets is None else T * b[:, None]


def columns(problem: Problem, a: ArrayLike) -> Array:
    """Weights as columns, one a plane; without an offset its row is left out."""
    return np.ascontiguousarray(planes(problem, a)[:, : problem.width].T)


def planes(problem: Problem, a: ArrayLike) -> Array:
    """[w, b] of each plane, one a row; ProofError where a vector is not made of these."""
    found = np.asarray(a, dtype=np.float64)
    if found.size != problem.dim:
        raise ProofError(
            f"{found.size} weights are no planes: for {problem.K} classes and {problem.d} columns "
            f"there are {problem.dim}."
        )
    return found.reshape(-1, problem.d + 1)


def not_ahead(scores: Array, label: NDArray[np.int64]) -> int:
    """Rows whose own score is not above all others; what is no number is above nothing.

    >>> not_ahead(np.array([[1.0, 0.0], [2.0, 2.0], [np.nan, 0.0]]), np.array([0, 0, 0]))
    2
    """
    others, at = scores.copy(), np.arange(len(label))
    others[at, label] = -np.inf
    return int(np.count_nonzero(~(scores[at, label] > others.max(axis=1))))


def longest(problem: Problem) -> float:
    """The length of the longest row."""
    X = problem.matrix.astype(np.float64, copy=False)
    squares = (X * X if isinstance(X, np.ndarray) else X.multiply(X)).sum(axis=1)
    return float(np.sqrt(np.max(squares)))


def weighted_squares(problem: Problem, M: Array) -> Array:
    """Weighted sums of squares of columns with one entry a row; of many columns block by block."""
    s, step = problem.weight[:, None], max(1, AT_ONCE // M.shape[1])
    if M.shape[1] == 1 or len(M) <= step:
        return _squares(M, s)
    blocks = [slice(lo, lo + step) for lo in range(0, len(M), step)]
    jobs = [partial(_squares, M[at], s[at]) for at in blocks]
    return np.asarray(np.sum(run_all(jobs), axis=0))


def _squares(M: Array, s: Array) -> Array:
    return np.asarray((M * M * s).sum(axis=0))


def product(problem: Problem, w: Array) -> Array:
    """X @ w in float64."""
    return _read(problem, w, None)[0]


def combination(problem: Problem, c: Array) -> tuple[Array, int]:
    """X' c in float64, and how often in a row an entry was rounded, at most."""
    return _read(problem, None, c)[1:]


def scores(problem: Problem, a: ArrayLike) -> Array:
    """w.x + b of all rows: shape (n,) for two classes, (n, K) for more."""
    blocks = planes(problem, a)
    if problem.K == 2:
        return np.asarray(product(problem, blocks[0, :-1]) + blocks[0, -1])
    return np.asarray(product(problem, blocks[:, :-1].T) + blocks[:, -1])


def values(problem: Problem, a: ArrayLike) -> Array:
    """y f(x) of all rows; of more than two classes the lead over every rival, row by row."""
    found = scores(problem, a)
    return np.asarray(signs(problem) * found) if problem.K == 2 else _leads(found, problem.label)


def _leads(found: Array, label: NDArray[np.int64]) -> Array:
    at = np.arange(len(label))
    rivals = np.ones(found.shape, dtype=bool)
    rivals[at, label] = False
    leads: Array = (found[at, label][:, None] - found)[rivals]
    return leads


def by_values(
    problem: Problem, a: ArrayLike, look: Callable[[int, int, Array], Seen]
) -> list[Seen]:
    """What ``look(lo, hi, values of the rows lo to hi)`` gives, block after block.

    Of many classes and rows the values together would take more memory than all else, and most of
    the time.
    """
    n = problem.n
    step = max(1, AT_ONCE // problem.K)
    if problem.K == 2 or n <= step:
        return [look(0, n, values(problem, a))]
    W = planes(problem, a)
    coef, offset = np.ascontiguousarray(W[:, :-1].T), W[:, -1]
    matrix = problem.matrix

    def part(lo: int) -> Seen:
        hi = min(lo + step, n)
        found = np.asarray(matrix[lo:hi].astype(np.float64, copy=False) @ coef)
        found += offset
        return look(lo, hi, _leads(found, problem.label[lo:hi]))

    with one_blas_thread():
        return run_all([partial(part, lo) for lo in range(0, n, step)])


@dataclass(frozen=True)
class Totals:
    """Sums of one pass.

    values are y (w.x + b); v is the sum of alpha_i y_i x_i, each entry of which was rounded
    at most ``terms`` times in a row; columns are at least the lengths of the columns of X.
    """

    values: Array
    v: Array
    terms: int
    columns: Array


def one_pass(problem: Problem, a: Array, alpha: Array) -> Totals:
    """y f(x) of all rows, the sum of alpha_i y_i x_i, and what bounds the errors of both."""
    sign = signs(problem)
    found, v, terms = _read(problem, a[:-1], alpha * sign if alpha.any() else None)
    v = v if len(v) else np.zeros(problem.d)
    found += a[-1]
    found *= sign
    return Totals(found, v, terms, survey(problem).column_lengths())


def _read(problem: Problem, w: Array | None, c: Array | None) -> tuple[Array, Array, int]:
    """X w, X' c, and the roundings of an entry of the second; None leaves one out."""
    X, (n, d) = problem.matrix, problem.matrix.shape
    if not isinstance(X, np.ndarray):
        left = np.zeros(0) if w is None else np.asarray(X @ w, dtype=np.float64)
        right = np.zeros(0) if c is None else np.asarray(X.T @ c, dtype=np.float64)
        return left, right, n + 4
    if n * d < PROOF_PIECE and X.dtype == np.float64:
        left = np.zeros(0) if w is None else np.asarray(X @ w)
        return left, np.zeros(0) if c is None else np.asarray(X.T @ c), n + 4
    left = np.full((n, *w.shape[1:]) if w is not None else 0, np.nan)
    plane = None if w is None else np.ascontiguousarray(w)

    def work(lo: int, hi: int, block: Array) -> Array:
        if plane is not None:
            left[lo:hi] = block @ plane
        return np.zeros(0) if c is None else block.T @ c[lo:hi]

    return left, *blockwise(problem, (0,) if c is None else (d, *c.shape[1:]), work)


def blockwise(
    problem: Problem, shape: tuple[int, ...], work: Callable[[int, int, Array], Array]
) -> tuple[Array, int]:
    """The sum of ``work(lo, hi, rows lo to hi in float64)``, and its roundings in a row."""
    X, (n, d) = problem.matrix, problem.matrix.shape
    edges = _edges(n, n * d // PROOF_PIECE)
    step = max(64, IN_CACHE // max(1, d))
    parts = np.full((len(edges), *shape), np.nan)

    def piece(k: int) -> None:
        total = np.zeros(shape)
        for lo in range(edges[k][0], edges[k][1], step):
            hi = min(lo + step, edges[k][1])
            block = X[lo:hi] if isinstance(X, np.ndarray) else X[lo:hi].toarray()
            total += work(lo, hi, block.astype(np.float64, copy=False))
        parts[k] = total

    with one_blas_thread():
        run_all([partial(piece, k) for k in range(len(edges))])
    blocks = -(-n // (step * len(edges))) + 1
    return np.asarray(parts.sum(axis=0)), step + blocks + len(edges) + 4


def _edges(n: int, pieces: int) -> list[tuple[int, int]]:
    pieces = max(1, min(pieces, _PIECES, n))
    return list(pairwise(n * k // pieces for k in range(pieces + 1)))


def added(function: Callable[..., Array], *arrays: Array) -> Array:
    """The sums that a function gives for pieces of the arrays, which depend on their length."""
    edges = _edges(len(arrays[0]), len(arrays[0]) // _LONG)
    if len(edges) == 1:
        return function(*arrays)
    first = function(*(x[: edges[0][1]] for x in arrays))
    parts = np.full((len(edges), *first.shape), np.nan)
    parts[0] = first

    def piece(k: int) -> None:
        parts[k] = function(*(x[slice(*edges[k])] for x in arrays))

    run_all([partial(piece, k) for k in range(1, len(edges))])
    return np.asarray(parts.sum(axis=0))


# -- Losses by their definitions ------------------------------------------------------------------


def losses(loss: QuadraticLoss, u: Array) -> Array:
    """max over t in [0, top] of t u - q t^2: half of the best t times u, until t is at its top."""
    positive = np.maximum(u, 0.0)
    if loss.q == 0.0:
        return np.asarray(loss.top * positive)
    curved = positive * positive * (0.25 / loss.q)
    end = 2.0 * loss.q * loss.top
    return np.asarray(np.where(u < end, curved, loss.top * (u - 0.5 * end)))


def cap(loss: QuadraticLoss, cost: Array) -> Array:
    """The largest dual variable of every row."""
    return np.asarray(cost * loss.top if np.isfinite(loss.top) else np.full_like(cost, np.inf))


def dual_cost(loss: QuadraticLoss, alpha: Array, cost: Array) -> float:
    """sum of cost q (alpha / cost)^2."""
    return 0.0 if loss.q == 0.0 else float((alpha * alpha / (cost / loss.q)).sum())


def log_loss(m: Array) -> Array:
    """log(1 + exp(-m))."""
    return np.asarray(np.log1p(np.exp(-np.abs(m))) + np.maximum(-m, 0.0))


def sigma(m: Array) -> Array:
    """1 / (1 + exp(m)), with full relative accuracy on both sides."""
    e: Any = np.exp(-np.abs(m))
    return np.asarray(np.where(m > 0, e, 1.0) / (1.0 + e))


def softmax_losses(S: Array, label: NDArray[np.int64]) -> tuple[Array, Array]:
    """log of the sum of exp over all classes less the own score, S of shape (K, n), and the
    probabilities that the rivals have together."""
    n = S.shape[1]
    step = max(1, AT_ONCE // len(S))
    if n > step:
        jobs = [
            partial(softmax_losses, S[:, lo : lo + step], label[lo : lo + step])
            for lo in range(0, n, step)
        ]
        losses, rivals = zip(*run_all(jobs))
        return np.concatenate(losses), np.concatenate(rivals)
    at = np.arange(n)
    above = S - S[label, at]
    above[label, at] = -np.inf
    top = np.maximum(above.max(axis=0), 0.0)
    rivals = np.exp(above - top).sum(axis=0)
    own = np.exp(-top)
    small = top == 0.0
    losses = np.where(small, np.log1p(rivals), top + np.log(np.where(small, 1.0, own + rivals)))
    return losses, rivals / (own + rivals)
