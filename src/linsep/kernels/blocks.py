"""Values of a kernel between rows, by blocks: kept, picked, or summed times coefficients."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import inner, routine
from linsep.core.costs import (
    CODED_ROWS,
    DENSE_WIDTH,
    KERNEL,
    MIRROR_COMPILED,
    MIRRORED_ROWS,
    TILE,
    WORTH_GROUPING,
    second_thread,
)
from linsep.core.lanes import one_blas_thread, run_all
from linsep.core.problem import Once, Problem
from linsep.core.protocol import Witness
from linsep.errors import DataError
from linsep.kernels.gaussian import add_gaussians, add_tile, mirror
from linsep.kernels.rows import Rows, groups_of, sum_of_groups

if TYPE_CHECKING:
    from linsep.kernels.base import Kernel

Array = NDArray[np.float64]

SHORT = 16  # terms of a sum that are added in float32, where there is one sum
STEP, STRIP = 256, 1024  # rows and columns of a block: 1 MB in float32, which stays in the cache
_BLOCK = STEP * STRIP  # values of a product that is not kept
_BELOW = np.tri(MIRRORED_ROWS, k=-1, dtype=bool)
_SERIAL = second_thread(KERNEL)

Some = Any  # an array of row numbers, or a slice


class KernelValues(Once):
    """K(x_i, x_j) for the rows of a problem, in an order of their own.

    Parameters
    ----------
    problem : Problem
    kernel : kernel object or None
        None: the matrix of the problem is the Gram matrix itself.
    order : array of row numbers, optional
        Row i here is row ``order[i]`` of the problem.
    """

    def __init__(
        self, problem: Problem, kernel: Any, order: NDArray[np.int64] | None = None
    ) -> None:
        self.problem, self.kernel = problem, kernel
        self.n = problem.n
        matrix = problem.matrix
        same = order is None or bool(np.array_equal(order, np.arange(problem.n)))
        self.order = np.arange(problem.n) if order is None else order
        self.columns = self.order if problem.row_index is None else problem.row_index[self.order]
        self.matrix = matrix if same else matrix[self.order]
        self._memory = {}
        if kernel is None and matrix.shape[1] <= int(self.columns.max()):
            raise DataError(
                "a precomputed Gram matrix has as many columns as rows; this one is "
                f"{matrix.shape[0]} x {matrix.shape[1]}."
            )

    def prepared(self, dtype: Any) -> Any:
        """The rows with what the kernel needs of them, computed once for each format."""
        return self.once(_prepared, np.dtype(dtype))

    def block(self, rows: Some, columns: Some, dtype: Any = np.float64) -> NDArray[Any]:
        """The values between some rows and some others."""
        if self.kernel is None:
            if isinstance(self.matrix, np.ndarray):
                rows = np.arange(self.n)[rows]
                picked: Any = self.matrix[rows[:, None], self.columns[columns]]
            else:
                picked = self.matrix[rows][:, self.columns[columns]].toarray()
            return np.asarray(picked, dtype=dtype)
        whole = self.prepared(dtype)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            values = self.kernel.block(_some(whole, rows), _some(whole, columns))
            total = self._total(values)
        if not np.isfinite(total) and not np.isfinite(values).all():
            i, j = (int(k) for k in np.argwhere(~np.isfinite(values))[0])
            at = [int(self.columns[part][k]) for part, k in ((rows, i), (columns, j))]
            raise DataError(self.kernel.unusable(values[i, j], *at))
        return np.asarray(values, dtype=dtype)

    def _tile(self, rows: Any, columns: Any, dtype: Any) -> NDArray[Any]:
        """The values between rows that were ``picked``, until the next ones are made."""
        if self.kernel is None:
            return self.block(rows, columns, dtype)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            values = tile_of(self.kernel, rows, columns)
            total = self._total(values)
        if not np.isfinite(total):
            self.block(rows.index, columns.index, dtype)  # names the place, if there is one
        return values

    def _total(self, values: NDArray[Any]) -> float:
        """Finite unless some entry is not: one pass without a copy, none for some kernels."""
        return 0.0 if self.kernel.finite else float(values.sum())

    def diagonal(self, rows: Some = slice(None)) -> NDArray[np.float64]:
        """K(x_i, x_i)."""
        if self.kernel is None:
            at = np.arange(self.n)[rows]
            picked = self.matrix[at, self.columns[at]]
            return np.asarray(picked, dtype=np.float64).ravel()
        return np.asarray(self.kernel.diagonal(self.prepared(np.float64)), dtype=np.float64)[rows]

    def fill(self, G: NDArray[Any], ids: NDArray[np.int64], have: int = 0) -> None:
        """The Gram matrix of the rows ``ids`` into G, of which the first ``have`` are there."""
        m = len(ids)
        edges = [*range(0, have, TILE), *range(have, m, TILE), m]
        tiles = list(pairwise(edges))
        picked = {a: self.picked(ids[a[0] : a[1]], G.dtype) for a in tiles}

        def tile(a: tuple[int, int], b: tuple[int, int]) -> None:
            values = self._tile(picked[a], picked[b], G.dtype)
            if a == b:  # symmetric to the last bit
                G[a[0] : a[1], b[0] : b[1]] = values
                _mirror_half(G[a[0] : a[1], b[0] : b[1]])
            elif values.size < MIRROR_COMPILED:
                G[a[0] : a[1], b[0] : b[1]] = values
                G[b[0] : b[1], a[0] : a[1]] = values.T
            else:
                mirror(values, G, a[0], b[0], size=G.size, work=2 * values.size)

        jobs = [
            partial(tile, a, b) for at, a in enumerate(tiles) for b in tiles[at:] if b[0] >= have
        ]
        with one_blas_thread():
            run_all(jobs, 1 if m * m < 2 * _SERIAL else None)  # one tile is most of it

    def rows_into(
        self,
        G: NDArray[Any],
        at: NDArray[np.int64],
        picked: Any,
        lo: int,
        hi: int,
        to: NDArray[np.int64],
    ) -> None:
        """Rows ``at`` and columns lo ... hi of the Gram matrix of ``picked`` into rows ``to``."""
        left = picked.take(at) if self.kernel is not None else picked[at]
        wide = _BLOCK // max(1, min(len(at), STEP))  # few rows: wider blocks, as large as others
        wide = max(STRIP, min(wide, -(-(hi - lo) // 4)))

        def tile(first: int) -> None:
            end = min(first + wide, hi)
            for r in range(0, len(at), STEP):
                some = slice(r, min(r + STEP, len(at)))
                if self.kernel is None:
                    rows, columns = left[some], picked[first:end]
                else:
                    rows, columns = left.slice(some.start, some.stop), picked.slice(first, end)
                G[to[some], first:end] = self._tile(rows, columns, G.dtype)

        jobs = [partial(tile, first) for first in range(lo, hi, wide)]
        with one_blas_thread():
            run_all(jobs, 1 if len(at) * (hi - lo) < _SERIAL else None)

    def combine(
        self,
        rows: NDArray[np.int64],
        coef: NDArray[np.float64],
        ids: NDArray[np.int64],
        dtype: Any = np.float64,
    ) -> NDArray[np.float64]:
        """sum_r coef_r K(x_r, x_i) for every i in ids; never more than a few blocks at once."""
        return self.combine_many(rows, coef[:, None], ids, dtype)[:, 0]

    def combine_many(
        self,
        rows: NDArray[np.int64],
        coef: NDArray[np.float64],
        ids: NDArray[np.int64],
        dtype: Any = np.float64,
    ) -> NDArray[np.float64]:
        """The same for each column of coef."""
        if not len(rows) or not len(ids):
            return np.zeros((len(ids), coef.shape[1]))
        if self.kernel is None:
            return self._given(rows, coef, ids)
        out = weighted_sums(self.kernel, self.picked(ids, dtype), self.picked(rows, dtype), coef)
        if not np.isfinite(out).all() and np.isfinite(coef).all():
            self.block(_run(ids), _run(rows), dtype)  # names the place, if it is the kernel
        return out

    def given(self) -> NDArray[Any] | None:
        """The Gram matrix that was given, if it can be read as it is: dense, all its columns."""
        matrix = self.matrix
        if self.kernel is not None or not isinstance(matrix, np.ndarray):
            return None
        whole = matrix.shape[0] == matrix.shape[1] and np.array_equal(
            self.columns, np.arange(self.n)
        )
        return matrix if whole and matrix.flags.c_contiguous else None

    def _given(
        self, rows: NDArray[np.int64], coef: NDArray[np.float64], ids: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The same from a Gram matrix that was given."""
        K = self.given()
        if K is not None and K.dtype == np.float64 and 16 * len(ids) * len(rows) > self.n**2:
            full = np.zeros((self.n, coef.shape[1]))
            full[rows] = coef
            step = -(-self.n // 4)
            jobs = [partial(np.matmul, K[at : at + step], full) for at in range(0, self.n, step)]
            with one_blas_thread():
                return np.concatenate(run_all(jobs, 1 if K.size < _SERIAL else None))[ids]
        pieces = [self.block(ids[at : at + STEP], rows) @ coef for at in range(0, len(ids), STEP)]
        return np.concatenate(pieces)

    def combine_symmetric(
        self, ids: NDArray[np.int64], coef: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """sum_r coef_r K(x_r, x_i) over the rows ids, for these rows: each value is made once."""
        if self.kernel is None or not self.kernel.symmetric:
            return self.combine(ids, coef, ids)
        whole = self.picked(ids, np.float64)
        groups = groups_of(whole.matrix) if len(ids) ** 2 >= WORTH_GROUPING else None
        if groups is not None:
            merged = sum_of_groups(coef[:, None], groups)[:, 0]
            return self._symmetric(ids[groups[0]], merged)[groups[1]]
        return self._symmetric(ids, coef)

    def _symmetric(self, ids: NDArray[np.int64], coef: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = self.picked(ids, np.float64)
        cuts = list(pairwise([*range(0, len(ids), TILE), len(ids)]))

        def stripe(k: int) -> NDArray[np.float64]:
            (a, b), total = cuts[k], np.zeros(len(ids))
            left = whole.slice(a, b)
            for lo, hi in cuts[k:]:
                values = tile_of(self.kernel, left, whole.slice(lo, hi))
                total[a:b] += values @ coef[lo:hi]
                if lo > a:
                    total[lo:hi] += coef[a:b] @ values
            return total

        jobs = [partial(stripe, k) for k in range(len(cuts))]
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore", under="ignore"):
            parts = run_all(jobs, 1 if len(ids) ** 2 < _SERIAL else None)
        out = np.zeros(len(ids))
        for part in parts:
            out += part
        if not np.isfinite(out).all() and np.isfinite(coef).all():
            self.block(_run(ids), _run(ids))  # names the place, if it is the kernel
        return out

    def picked(self, rows: NDArray[np.int64], dtype: Any) -> Any:
        """Some rows, taken out once for many strips."""
        return rows if self.kernel is None else _some(self.prepared(dtype), _run(rows))


def _prepared(values: KernelValues, kind: Any) -> Any:
    rows = values.kernel.rows(short_rows(values.kernel, values.matrix, kind), kind)
    values.kernel.prepare(rows)
    return rows


def _some(whole: Any, rows: Some) -> Any:
    return whole.slice(rows.start, rows.stop) if isinstance(rows, slice) else whole.take(rows)


def _mirror_half(square: NDArray[Any]) -> None:
    """What is above the diagonal is copied below it, by stripes."""
    for lo in range(0, len(square), MIRRORED_ROWS):
        hi = lo + MIRRORED_ROWS
        own = square[lo:hi, lo:hi]
        np.copyto(own, own.T, where=_BELOW[: len(own), : len(own)])
        square[hi:, lo:hi] = square[lo:hi, hi:].T


def _run(ids: NDArray[np.int64]) -> Some:
    """A slice where the numbers follow one another: no rows are copied then."""
    if len(ids) and int(ids[-1]) - int(ids[0]) == len(ids) - 1 and (np.diff(ids) == 1).all():
        return slice(int(ids[0]), int(ids[-1]) + 1)
    return ids


# -- the machines of pairs of classes -------------------------------------------------------------

Runs = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Duel:
    """Two classes: the places of their rows in the order of the duels, signs and costs."""

    classes: tuple[int, int]
    ids: NDArray[np.int64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    root: NDArray[np.float64]
    """sqrt(K_ii)."""
    runs: Runs
    """(first, end, place): rows first ... end of the pair stand from ``place`` on."""


@dataclass(frozen=True)
class Duels:
    """All pairs of classes of a problem, over one order of its rows."""

    values: KernelValues
    order: NDArray[np.int64]
    pairs: list[Duel]
    edges: NDArray[np.int64] | None
    """Where the classes begin, if there are more than two."""
    as_given: bool
    """Whether the rows stand as in the Gram matrix that the caller gave."""

    def shares(self, witness: Witness) -> list[NDArray[np.float64]]:
        """The dual variables of each pair: row i of the problem has number k n + i in pair k."""
        n = len(self.order)
        full = np.zeros(len(self.pairs) * n)
        full[witness.rows] = witness.multipliers
        return [full[k * n + self.order[pair.ids]] for k, pair in enumerate(self.pairs)]


def duels_of(problem: Problem, kernel: Any) -> Duels:
    """The pairs of a problem, made once; rows are sorted by class, those of a Gram matrix not."""
    return problem.once(_duels, kernel)


def _duels(problem: Problem, kernel: Any) -> Duels:
    given = kernel is None and problem.binary  # a Gram matrix is used where it is
    order = np.arange(problem.n) if given else np.argsort(problem.label, kind="stable")
    order = order.astype(np.int64)
    label = problem.label[order]
    values, weight = KernelValues(problem, kernel, order), problem.weight[order]
    root = np.sqrt(np.maximum(values.diagonal(), 0.0))
    if given:
        y = np.where(label > 0, 1.0, -1.0)
        runs: Runs = ((0, problem.n, 0),)
        return Duels(
            values, order, [Duel((0, 1), order, y, weight, root, runs)], None, as_given=True
        )
    edges = np.searchsorted(label, np.arange(problem.K + 1))
    pairs = [_duel(i, j, edges, weight, root) for i, j in combinations(range(problem.K), 2)]
    return Duels(values, order, pairs, edges if problem.K > 2 else None, as_given=False)


def _duel(
    first: int,
    second: int,
    edges: NDArray[np.int64],
    weight: NDArray[np.float64],
    root: NDArray[np.float64],
) -> Duel:
    """Two classes of rows that are sorted by class."""
    a, b, c, d = (int(edges[k]) for k in (first, first + 1, second, second + 1))
    ids = np.concatenate([np.arange(a, b), np.arange(c, d)]).astype(np.int64)
    y = np.where(np.arange(len(ids)) < b - a, -1.0, 1.0)
    runs = ((0, b - a, a), (b - a, len(ids), c))
    return Duel((first, second), ids, y, weight[ids], root[ids], runs)


def pair_columns(dual: NDArray[np.float64], n_support: NDArray[Any]) -> NDArray[np.float64]:
    """Coefficients of the support vectors, one column for each pair of classes."""
    K = len(n_support)
    edges = np.concatenate([[0], np.cumsum(n_support)])
    out = np.zeros((dual.shape[1], K * (K - 1) // 2))
    for column, (i, j) in enumerate(combinations(range(K), 2)):
        first, second = slice(edges[i], edges[i + 1]), slice(edges[j], edges[j + 1])
        out[first, column] = dual[j - 1, first]
        out[second, column] = dual[i, second]
    return out


# -- times coefficients, summed over rows, without keeping the values -------------------------

_NARROW_BLOCK = 512  # columns of a block whose values are added up in place
_UNIT = 64  # columns that products of rows like best: whole lines of the cache
_FEW_ROWS = 256  # rows below which the other side is cut into lanes,
_LONGEST_BLOCK = 4096  # of no more rows than this
_BYTES = 256 << 20  # a sparse matrix is never written out beyond this


def weighted_sums(
    kernel: Kernel, A: Rows, B: Rows, coef: NDArray[np.float64]
) -> NDArray[np.float64]:
    """sum_j K(a_i, b_j) coef_jm for every row of A and column of coef.

    In the format of the rows; where there are many values float32 adds strips of STRIP terms. Of
    equal rows the values are made once.
    """
    if coef.shape[1] == 1:
        plus, minus = signed_sums(kernel, A, B, coef[:, 0])
        return np.asarray(plus - minus)[:, None]
    A, B, coef, back = _merged(kernel, A, B, coef)
    return np.asarray(_sums(kernel, A, B, coef)[back])


def signed_sums(
    kernel: Kernel, A: Rows, B: Rows, coef: NDArray[np.float64], *, merge: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums over the coef > 0, and minus those over the coef < 0.

    float32 adds up SHORT terms at a time, the rest is float64. merge=False: nobody looks for equal
    rows.
    """
    back: Any = slice(None)
    if merge:
        A, B, many, back = _merged(kernel, A, B, coef[:, None])
        coef = many[:, 0]
    if A.n * B.n < _SERIAL:
        both = _sums(kernel, A, B, np.stack([np.maximum(coef, 0), np.maximum(-coef, 0)], axis=1))
        return both[back, 0], both[back, 1]
    turned = coef[0] < 0  # the first ones come first; often each sign is one run already
    first = coef < 0 if turned else coef >= 0
    cut, size = int(np.count_nonzero(first)), np.abs(coef)
    left = B
    if not first[:cut].all():
        order = np.argsort(~first, kind="stable")
        left, size = B.take(order), size[order]
    if kernel.tabled and A.codes is not None and left.codes is not None:
        one, two = _by_tables(kernel, A, left, size, cut)
    else:
        one, two = _by_tiles(kernel, A, left, size.astype(A.dtype), cut)
    return (two[back], one[back]) if turned else (one[back], two[back])


def _by_tables(kernel: Any, A: Rows, B: Rows, size: NDArray[np.float64], cut: int) -> Any:
    """Sums over the rows of B before cut and over the others, of rows of bits."""
    one, two, strip = np.zeros(A.n), np.zeros(A.n), _even(A.n, CODED_ROWS)

    def part(at: int) -> None:
        some = slice(at, min(at + strip, A.n))
        rows = A.slice(some.start, some.stop)
        one[some] = kernel.by_table(rows, B.slice(0, cut), size[:cut])
        two[some] = kernel.by_table(rows, B.slice(cut, B.n), size[cut:])

    _all(kernel, [partial(part, at) for at in range(0, A.n, strip)], A.n * B.n)
    return one, two


def _by_tiles(kernel: Kernel, A: Rows, B: Rows, size: NDArray[Any], cut: int) -> Any:
    """The same from tiles of values; few rows of A meet long runs of B, which threads share."""
    few = A.n < _FEW_ROWS
    strip = A.n if few else -(-_even(A.n, _NARROW_BLOCK) // _UNIT) * _UNIT
    step = min(_LONGEST_BLOCK, STEP * _NARROW_BLOCK // strip // _UNIT * _UNIT) if few else STEP
    pieces = [(r, B.slice(r, min(r + step, B.n)), size[r : r + step]) for r in range(0, B.n, step)]
    lanes = min(4, len(pieces)) if few else 1
    sums = np.zeros((lanes, 2, A.n))

    def part(lane: int, at: int) -> None:
        end = min(at + strip, A.n)
        right, some = A.slice(at, end), np.empty(end - at, A.dtype)
        own = sums[lane, :, at:end]
        for r, rows, sizes in pieces[lane::lanes]:
            add = add_gaussians
            values = kernel.powers(rows, right, scratch(rows.n, right.n, A.dtype))
            if values is None:
                values, add = tile_of(kernel, rows, right), add_tile
            args = values, sizes, some, own[0], own[1], max(0, cut - r)
            add(*args, size=A.n * B.n, work=values.size)

    jobs = [partial(part, lane, at) for at in range(0, A.n, strip) for lane in range(lanes)]
    _all(kernel, jobs, A.n * B.n)
    return sums.sum(axis=0)


def _even(n: int, most: int) -> int:
    """Rows of a strip, so that all strips are about as long and threads end together."""
    strips = -(-n // most)
    strips = max(4, strips + strips % 2)
    return max(1, min(most, -(-n // strips)))


def tile_of(kernel: Kernel, A: Rows, B: Rows) -> NDArray[Any]:
    """Kernel values, in memory of the thread that is used again for the next tile."""
    values = kernel.tile(A, B, scratch(A.n, B.n, A.dtype))
    return values if values.flags.c_contiguous else np.ascontiguousarray(values)


def _merged(kernel: Kernel, A: Rows, B: Rows, coef: NDArray[np.float64]) -> Any:
    """Both sides without equal rows, and which row of the result each row of A has."""
    back: Any = slice(None)
    if A.n * B.n >= WORTH_GROUPING and kernel.symmetric:
        with one_blas_thread():
            of_A, of_B = run_all([partial(groups_of, A.matrix), partial(groups_of, B.matrix)])
        if of_B is not None:
            B, coef = B.take(of_B[0]), sum_of_groups(coef, of_B)
        if of_A is not None:
            A, back = A.take(of_A[0]), of_A[1]
    return A, B, coef, back


def _sums(kernel: Kernel, A: Rows, B: Rows, coef: NDArray[np.float64]) -> NDArray[np.float64]:
    out = np.zeros((A.n, coef.shape[1]))
    short = coef.astype(A.dtype) if A.n * B.n >= _SERIAL else coef

    def part(at: int) -> None:
        left = A.slice(at, min(at + STEP, A.n))
        total = np.zeros((left.n, coef.shape[1]))
        for r in range(0, B.n, STRIP):
            total += tile_of(kernel, left, B.slice(r, min(r + STRIP, B.n))) @ short[r : r + STRIP]
        out[at : at + STEP] = total

    _all(kernel, [partial(part, at) for at in range(0, A.n, STEP)], A.n * B.n)
    return out


def _all(kernel: Kernel, jobs: list[Any], size: int) -> None:
    """Run all parts; a user's function may not bear two threads."""
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore", under="ignore"):
        run_all(jobs, 1 if size < _SERIAL or not kernel.symmetric else None)


def short_rows(kernel: Any, matrix: Any, kind: np.dtype[Any]) -> Any:
    """The matrix; dense where it is short and the kernel takes products of rows."""
    if isinstance(matrix, np.ndarray) or not kernel.products:
        return matrix
    n, d = matrix.shape
    if n * d <= DENSE_WIDTH * matrix.nnz and n * d * kind.itemsize <= _BYTES:
        return matrix.astype(kind).toarray()
    return matrix


# -- Memory for tiles that are not kept: one piece for each thread, used again and again ----------
#
# Fresh memory costs more than the arithmetic that fills it.


_KEPT_BYTES = 1 << 23  # bytes that a thread may keep

_kept = threading.local()


def scratch(rows: int, columns: int, dtype: Any) -> NDArray[Any]:
    """An array with anything in it, valid until the thread asks for the next one."""
    size = rows * columns * np.dtype(dtype).itemsize
    if size > _KEPT_BYTES:
        return np.empty((rows, columns), dtype)
    memory = getattr(_kept, "memory", None)
    if memory is None or memory.nbytes < size:
        memory = _kept.memory = np.empty(size, np.uint8)
    found: NDArray[Any] = memory[:size].view(dtype).reshape(rows, columns)
    return found


@inner
def add_some_rows(f: Any, G: Any, rows: Any, coef: Any, lo: int, hi: int) -> None:
    """f += sum of coef times rows of G, of which the columns lo ... hi are taken.

    Pieces of 2048 columns stay in the cache while the rows run over them, eight at a time: their
    sum is taken in the format of G and coef, and only it is added in float64.
    """
    m = len(rows)
    for at in range(lo, hi, 2048):
        end = min(hi, at + 2048)
        part = f[at - lo : end - lo]
        r = 0
        while r + 8 <= m:
            k0, k1 = G[rows[r], at:end], G[rows[r + 1], at:end]
            k2, k3 = G[rows[r + 2], at:end], G[rows[r + 3], at:end]
            k4, k5 = G[rows[r + 4], at:end], G[rows[r + 5], at:end]
            k6, k7 = G[rows[r + 6], at:end], G[rows[r + 7], at:end]
            c0, c1, c2, c3 = coef[r], coef[r + 1], coef[r + 2], coef[r + 3]
            c4, c5, c6, c7 = coef[r + 4], coef[r + 5], coef[r + 6], coef[r + 7]
            for t in range(end - at):
                first = (c0 * k0[t] + c1 * k1[t]) + (c2 * k2[t] + c3 * k3[t])
                part[t] += first + ((c4 * k4[t] + c5 * k5[t]) + (c6 * k6[t] + c7 * k7[t]))
            r += 8
        while r < m:
            k0, c0 = G[rows[r], at:end], coef[r]
            for t in range(end - at):
                part[t] += c0 * k0[t]
            r += 1


@routine
def add_rows(f: Array, G: Any, rows: NDArray[np.int64], coef: Any, lo: int, hi: int) -> Any:
    """The same by itself."""
    add_some_rows(f, G, rows, coef, lo, hi)


@add_rows.in_numpy
def sum_some_rows(f: Array, G: Any, rows: NDArray[np.int64], coef: Any, lo: int, hi: int) -> None:
    """``add_some_rows`` in operations on arrays."""
    whole = len(rows) - len(rows) % 8
    for r in range(0, whole, 8):
        k, c = G[rows[r : r + 8], lo:hi], coef[r : r + 8, None]
        two = c[::2] * k[::2] + c[1::2] * k[1::2]
        four = two[::2] + two[1::2]
        f += four[0] + four[1]
    for r in range(whole, len(rows)):
        f += coef[r] * G[rows[r], lo:hi]
