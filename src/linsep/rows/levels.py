"""Samples of rows, long ones more often, each within the next larger one.

Row i is in the sample of a size if u_i < size s_i (1 / (2 mass) + |x_i|^2 / (2 total)), u_i
uniform, mass and total the sums of s and of s |x|^2: rows with rare features, which are long, are
always in, and a row of weight s counts as s rows. Costs s_i / chance make sums unbiased.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import routine
from linsep.core.costs import READ_DENSELY
from linsep.core.lanes import run_all, sum_of_pieces
from linsep.core.order import generator
from linsep.core.problem import Problem
from linsep.rows.packed import NARROW
from linsep.rows.reader import survey

Array = NDArray[np.float64]
T = TypeVar("T")

_ROWS_A_JOB = 20_000  # rows that one job draws from, at least
_ROW = 8  # entries that the work for a row counts as
_DRAWN_AHEAD = 8  # rows are drawn for samples this much larger at once
_SOME, _NARROW_TABLE = 0.08, 200  # a smaller share of entries will do with so few columns


def sample(
    problem: Problem, size: int, seed: int = 0, threads: int | None = None
) -> tuple[NDArray[np.int64], Array]:
    """Rows of a sample of about ``size`` rows, and their costs."""
    draws = problem.once(_draws, seed)
    if not draws or draws[-1].limit < size:
        draws[:] = [_drawn(problem, _DRAWN_AHEAD * size, seed, threads)]
    kept = draws[-1]
    inside = kept.from_size < size
    index, rate = kept.rows[inside], kept.rate[inside]
    return index, problem.weight[index] / np.minimum(1.0, size * rate)


def _draws(problem: Problem, seed: int) -> list[_Drawn]:
    """The largest draw of a seed so far; smaller samples are parts of it."""
    return []


def _samples(problem: Problem, seed: int) -> dict[int, tuple[NDArray[np.int64], Array, Any]]:
    """Samples of a seed by their size, as far as they were asked for."""
    return {}


def forget_samples(problem: Problem) -> None:
    """Give the memory of the draws back: no more samples are needed."""
    problem.forget(_draws)


class Latest(threading.local):
    """What was made last for a key, in each thread: sets of rows are kept while they are in use.

    They are functions of their keys alone, so nothing but time depends on what is kept. Numbers
    of a key are compared by value, all else by identity.

    >>> latest = Latest()
    >>> latest.made((1, 2.0), list) is latest.made((1, 2.0), list)
    True
    >>> latest.made((1, 2.5), list) is latest.made((1, 2.0), list)
    False
    """

    def __init__(self) -> None:
        self.held: tuple[tuple[object, ...], Any] | None = None

    def made(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """The thing of this key, made if it is not the last one."""
        if self.held is None or not all(map(_same, self.held[0], key)):
            self.held = None  # its memory, before more is asked for
            self.held = key, make()
        found: T = self.held[1]
        return found

    def forget(self) -> None:
        """Free its memory."""
        self.held = None


def _same(a: object, b: object) -> bool:
    return a is b or (isinstance(a, int | float) and a == b)


def ladder(n: int, sizes: Iterable[int], share: int) -> list[int]:
    """Those of the sizes, rising, that n rows have at least ``share`` times.

    >>> ladder(100_000, (6_000, 48_000), 4)
    [6000]
    """
    return [size for size in sizes if share * size <= n]


class _Drawn(NamedTuple):
    """Rows that are in a sample of ``limit`` rows, and from which size on they are."""

    limit: int
    rows: NDArray[np.int64]
    rate: Array
    from_size: Array


def _drawn(problem: Problem, limit: int, seed: int, threads: int | None) -> _Drawn:
    """A row is in from the size on that is its uniform number divided by its rate."""
    lengths, s = survey(problem, threads).rows, problem.weight
    mass, total = sum_of_pieces(_mass, s, lengths).tolist()
    known = 0 < total < np.inf
    even, more = (0.5 / mass, 0.5 / total) if known else (1.0 / mass, 0.0)
    key = np.uint64(generator(seed, 0).integers(2**63))

    def piece(lo: int, hi: int) -> tuple[NDArray[np.int64], Array, Array]:
        rows, rate, from_size = np.empty(hi - lo, np.int64), np.empty(hi - lo), np.empty(hi - lo)
        k = draw(
            lengths, s, lo, hi, even, more, key, float(limit), rows, rate, from_size,
            size=_ROW * problem.n, work=_ROW * (hi - lo),
        )  # fmt: skip
        return rows[:k], rate[:k], from_size[:k]

    pieces = max(1, min(8, problem.n // _ROWS_A_JOB))
    edges = [problem.n * k // pieces for k in range(pieces + 1)]
    with np.errstate(all="ignore"):
        parts = run_all([partial(piece, lo, hi) for lo, hi in pairwise(edges)], threads)
    index, rate, from_size = (np.concatenate(part) for part in zip(*parts))
    return _Drawn(limit, index, rate, from_size)


def _mass(s: Array, lengths: Array) -> Array:
    return np.array([s.sum(), s @ lengths])


def sample_matrix(
    problem: Problem, size: int, seed: int = 0, threads: int | None = None
) -> tuple[NDArray[np.int64], Array, Any]:
    """Rows of a sample, their costs, and the matrix of these rows; those of one seed are kept."""
    found = problem.once(_samples, seed)
    if size not in found:
        index, cost = sample(problem, size, seed, threads)
        larger = min((other for other in found if other > size), default=0)
        if larger:
            rows, _, matrix = found[larger]
            part = gather(matrix, np.searchsorted(rows, index), threads)
        else:
            part = gather(problem.matrix, index, threads)
        found[size] = index, cost, part
    return found[size]


def gather(matrix: Any, index: NDArray[np.int64], threads: int | None = None) -> Any:
    """matrix[index], in pieces by several threads where it is dense and large."""
    if not isinstance(matrix, np.ndarray) or len(index) < 4096:
        return matrix[index]
    out = np.empty((len(index), matrix.shape[1]), matrix.dtype)
    edges = [len(index) * k // 8 for k in range(9)]

    def piece(lo: int, hi: int) -> None:
        np.take(matrix, index[lo:hi], axis=0, out=out[lo:hi], mode="clip")

    run_all([partial(piece, lo, hi) for lo, hi in pairwise(edges)], threads)
    return out


# -- Drawing rows with their own chances, from numbers that belong to seed and row alone ----------


@routine
def draw(lengths, weight, lo, hi, even, more, key, limit, rows, rate, from_size):
    """Rows lo..hi whose uniform number is below limit times their rate; how many there are.

    rate = weight (even + more |x|^2). The numbers are those of splitmix64: a tenth of the work
    of a stream, and as good for choosing rows.
    """
    k = 0
    for i in range(lo, hi):
        z = key + np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        u = np.float64(np.int64(z >> np.uint64(11))) * 2.0**-53
        r = weight[i] * (even + more * lengths[i])
        if u < limit * r:
            rows[k] = i
            rate[k] = r
            from_size[k] = u / r
            k += 1
    return k


@draw.in_numpy
def _draw_in_numpy(lengths, weight, lo, hi, even, more, key, limit, rows, rate, from_size):
    z = key + np.arange(lo + 1, hi + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    u = (z >> np.uint64(11)).astype(np.int64).astype(np.float64) * 2.0**-53
    r = weight[lo:hi] * (even + more * lengths[lo:hi])
    at = np.flatnonzero(u < limit * r)
    rows[: len(at)] = lo + at
    rate[: len(at)] = r[at]
    from_size[: len(at)] = u[at] / r[at]
    return len(at)


# -- Whether sums over rows of float32 are good enough for a gap ----------------------------------


def want_double(problem: Problem, cost: float, tol: float, threads: int | None) -> bool:
    """Whether rows of float32 are to be added up in float64.

    A gradient of float32 sums has errors of about a tenth of 2^-24 |C x_j|_1 in column j, and half
    of their squares is a gap that no step can close: columns of 1e5 are enough for that.
    """
    if problem.matrix.dtype != np.float32 or tol < NARROW:
        return tol < NARROW
    total = problem.total_weight
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = survey(problem, threads).column_lengths()
        noise = 0.1 * 2.0**-24 * lengths * (cost * total / np.sqrt(problem.n))
        return not 0.5 * float(noise @ noise) <= 0.03 * tol * cost * total


def sample_sizes(problem: Problem) -> list[int]:
    """Sizes of the samples of rows that are worth having before all rows; none on small tables."""
    if not read_densely(problem):
        return []
    first = max(6144, 24 * problem.d)
    return ladder(problem.n, (first, 16 * first // 3), 3)


def read_densely(problem: Problem) -> bool:
    """Whether rows are best read as dense ones."""
    least = _SOME if problem.d <= _NARROW_TABLE else READ_DENSELY
    return not problem.sparse or problem.matrix.nnz >= least * problem.n * problem.d
