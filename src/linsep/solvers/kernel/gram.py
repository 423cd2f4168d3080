"""The binary problems of a kernel machine, and the sources of the kernel values they need.

Rows are sorted by class, so a pair of classes is two runs of rows. A solver asks its source for
two things: the kernel matrix of a few rows (``square``), and f += K[:, some] coef for all rows
(``add``). Which source is right depends on the rows and the memory allowed (``source_of``):

    StoredRows    a Gram matrix that is kept: of all rows, or of the active rows of one pair;
                  of a large one a row is computed when it is first asked for (``LazyRows``)
    PassingRows   none is kept, as values of rows of bits are cheaper to make than to read
    AdditiveRows  none is made: the kernel is a sum over features, and ``add`` goes through the
                  functions of single features (additive_rows.py)
"""

from __future__ import annotations

import mmap
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import (
    GRAM_BY_NUMPY,
    GRAM_COMPILED,
    KEPT_KERNEL,
    KERNEL,
    ROWS_AT_ONCE,
    second_thread,
)
from linsep.core.lanes import run_all
from linsep.core.limits import in_words, time_left
from linsep.core.problem import Problem
from linsep.kernels.additive import Levels, levels_of
from linsep.kernels.base import Kernel
from linsep.kernels.blocks import Duel, KernelValues, Runs, add_rows, duels_of, scratch, signed_sums
from linsep.kernels.histograms import Additive
from linsep.solvers.kernel.additive_rows import AdditiveRows
from linsep.solvers.kernel.working_set import LANES, square_of

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Wish = Callable[[], Array]
"""How much each row asks to be in a working set soon: not at all from 0 down."""


@dataclass
class Pairs:
    """All pairs of a problem with their kernel values; kept with the problem."""

    values: KernelValues | Levels
    order: Index
    pairs: list[Duel]
    G: NDArray[Any] | None = None
    """The Gram matrix of all rows, once it is made."""
    lazy: LazyRows | None = None
    """The same row by row, where it is large."""
    edges: Index | None = None
    """Where the classes begin, if there are more than two."""
    own: LazyRows | None = None
    """Those of the active rows of the pair ``owner``, where the matrix of all is too large."""
    owner: tuple[int, int] | None = None
    memory: NDArray[Any] | None = None
    """Where they are."""
    whole: Array | None = None
    """The matrix of all rows of the pair ``of``, which is small."""
    of: tuple[int, int] | None = None
    last: Any = None
    """The state of a pair, its steps, and what was known of it at the end of a round."""
    used: LazyRows | None = None
    """Those of ``lazy`` and ``own`` that served last."""
    past: Index | None = None
    """What a run that goes on from a file had made of them, as long as it is not made again."""

    @property
    def made(self) -> Index:
        """What was made of the rows that are in use, piece by piece."""
        if self.used is not None:
            return self.used.story.told
        return NOTHING if self.past is None else self.past

    def go_on(self, made: Index) -> None:
        """Have what was made by now, or make it again in the same pieces, if it is not that."""
        if not np.array_equal(made, self.made):
            self.forget()
            self.past = made

    def forget(self) -> None:
        """Have no values any more, but for a matrix that was given."""
        if isinstance(self.values, KernelValues) and self.values.kernel is not None:
            self.G = self.lazy = self.own = self.owner = self.memory = None
            self.whole = self.of = self.last = self.used = self.past = None


def pairs_of(problem: Problem, kernel: Kernel | None, *, by_features: bool = False) -> Pairs:
    """The pairs of a problem, made once; rows are sorted by class, those of a Gram matrix not.

    by_features: of two classes only, with a kernel that is a sum over features.
    """
    return problem.once(_additive if by_features else _pairs, kernel)


def _additive(problem: Problem, kernel: Kernel | None) -> Pairs:
    levels, rows = levels_by_feature(problem, kernel), np.arange(problem.n)
    root, runs = np.sqrt(levels.diagonal()), ((0, problem.n, 0),)
    return Pairs(levels, rows, [Duel((0, 1), rows, problem.sign, problem.weight, root, runs)])


def levels_by_feature(problem: Problem, kernel: Kernel | None) -> Levels:
    """The values of each feature, which a kernel that is a sum over features needs."""
    assert isinstance(kernel, Additive)
    return levels_of(problem, kernel.power)


def _pairs(problem: Problem, kernel: Kernel | None) -> Pairs:
    duels = duels_of(problem, kernel)
    out = Pairs(duels.values, duels.order, duels.pairs, edges=duels.edges)
    if duels.as_given:
        out.G = duels.values.given()
    return out


# -- Rows of a Gram matrix that are computed when they are asked for ------------------------------


_ALL_ROWS = 0.2  # share of the rows from which all are made: by halves, in better blocks
_LIKELY = 0.6  # share of rows made or wanted from which all are made, after a few batches


NOTHING: Index = np.zeros(0, dtype=np.int64)
_IDS, _ROWS, _ALL = range(3)


class Story:
    """What was made of a Gram matrix, in its order.

    Values made together in a block differ in their last bits from the same made in other blocks.
    So the pieces belong to the state of a run: one that goes on from a file makes the same.
    """

    def __init__(self) -> None:
        self._memory, self._size = np.empty(64, dtype=np.int64), 0

    @property
    def told(self) -> Index:
        """Pieces one after the other: kind, numbers of blocks and of rows, blocks, rows."""
        return self._memory[: self._size]

    def add(self, kind: int, blocks: tuple[int, ...] = (), rows: Index = NOTHING) -> None:
        """One piece more; what was told before stays as it is, for states hold it."""
        piece = np.concatenate([[kind, len(blocks), len(rows)], blocks, rows]).astype(np.int64)
        end = self._size + len(piece)
        if end > len(self._memory):
            self._memory = np.concatenate([self.told, np.empty(2 * end, dtype=np.int64)])
        self._memory[self._size : end] = piece
        self._size = end


def pieces_of(story: Index) -> Iterator[tuple[int, tuple[int, ...], Index]]:
    """Kind, blocks and rows of each piece."""
    at = 0
    while at < len(story):
        kind, blocks, rows = story[at : at + 3].tolist()
        at += 3 + blocks
        yield kind, tuple(story[at - blocks : at].tolist()), story[at : at + rows]
        at += rows


class LazyRows:
    """Rows of a Gram matrix that are computed when they are asked for.

    Parameters
    ----------
    values : KernelValues
    ids : array of row numbers
    memory : array
        Where they are kept, in the format they have.
    room : int
        Rows that there may be, if more are appended.
    edges : array, optional
        Columns edges[k] ... edges[k + 1] are block k, which may be asked for without the others;
        without it all columns are one block.

    Attributes
    ----------
    G : array
        Row i is in ``G[slot[i]]`` as far as ``ready[i]`` says so, block by block. Rows follow one
        another as they were made, so that no more memory is touched than they take.
    """

    def __init__(
        self,
        values: KernelValues,
        ids: Index,
        memory: NDArray[Any],
        room: int,
        edges: Index | None = None,
    ) -> None:
        self.values, self.ids, self.edges = values, ids, edges
        self.G: NDArray[Any] = memory[: room * room].reshape(room, room)
        self.ready = np.zeros((room, 1 if edges is None else len(edges) - 1), dtype=bool)
        self.slot = np.full(room, -1)
        self.made = 0
        self.picked = values.picked(ids, memory.dtype)
        self.story = Story()
        self.story.add(_IDS, rows=ids)

    def retell(self, story: Index) -> None:
        """Make what another run has made, in the same pieces."""
        for kind, blocks, rows in pieces_of(story):
            if rows.max(initial=-1) >= (self.values.n if kind == _IDS else len(self.ids)):
                raise IndexError(f"row {rows.max()} of a Gram matrix that has none of the number")
            if kind == _IDS:
                self.append(np.concatenate([self.ids, rows]))
            elif kind == _ALL:
                self.make_all()
            else:
                self.make(rows, blocks)

    def append(self, ids: Index) -> None:
        """More rows, which go on where the old ones end."""
        m, self.ids = len(self.ids), ids
        self.story.add(_IDS, rows=ids[m:])
        self.picked = self.values.picked(ids, self.G.dtype)
        old = np.flatnonzero(self.ready[:, 0])
        if len(old):
            self.values.rows_into(self.G, old, self.picked, m, len(ids), self.slot[old])

    def make_ready(self, place: Index, some: Index, blocks: tuple[int, ...], wish: Wish) -> None:
        """Have rows ``some`` of those at ``place`` computed, and if few, others that ask for it."""
        ready = np.asarray(self.ready[:, list(blocks)].all(axis=1))[place]
        new = some[~ready[some]]
        if not len(new):
            return
        ready[new] = True
        asked = np.where(ready, 0.0, wish())
        if self._all_at_once(int(ready.sum()), int((asked > 0).sum()), len(new)):
            self.make_all()
            return
        count = min(ROWS_AT_ONCE - len(new), len(asked) - 1)
        if count > 0:
            most = np.argpartition(-asked, count)[:count]
            new = np.concatenate([new, most[asked[most] > 0]])
        self.make(np.sort(place[new]), blocks)

    def _all_at_once(self, asked: int, wanted: int, new: int) -> bool:
        """Whether so many rows are needed that one half of a symmetric matrix is less work."""
        m = len(self.ids)
        if self.edges is not None or asked - new >= 0.5 * m or m * m * KERNEL > time_left():
            return False
        return asked > _ALL_ROWS * m or (asked > 3 * ROWS_AT_ONCE and asked + wanted > _LIKELY * m)

    def make_all(self) -> None:
        """Compute all rows, those that are there, too."""
        self.story.add(_ALL)
        self.values.fill(self.G, self.ids)
        self.made = len(self.ids)
        self.slot[: self.made], self.ready[: self.made] = np.arange(self.made), True

    def make(self, at: Index, blocks: tuple[int, ...]) -> None:
        """Compute the rows ``at``, as far as they are not there."""
        self.story.add(_ROWS, blocks, at)
        new = at[self.slot[at] < 0]
        self.slot[new] = np.arange(self.made, self.made + len(new))
        self.made += len(new)
        for k in blocks:
            left = at[~self.ready[at, k]]
            lo, hi = (0, len(self.ids)) if self.edges is None else self.edges[k : k + 2]
            if len(left):
                place = self.slot[left]
                self.values.rows_into(self.G, left, self.picked, int(lo), int(hi), place)
                self.ready[left, k] = True


# -- Sources of kernel values ----------------------------------------------------------------------


_HALVES = second_thread(KEPT_KERNEL)  # entries of rows from which two threads share them


class Source(Protocol):
    """Where the kernel values of some rows of a pair come from."""

    rough: ClassVar[bool]
    """Whether ``add`` knows more digits than the squares: f then never comes from these."""

    def square(self, some: Index, wish: Wish | None = None) -> Array:
        """The matrix of a working set; wish() is how much each row asks to be in one soon.

        It is valid until the thread makes the next one, or a tile of values.
        """

    def whole(self, out: Array) -> None:
        """The matrix of all rows."""

    def add(self, f: Array, some: Index, coef: Array) -> int:
        """f += K[:, some] coef, over all rows; ``some`` have been in the last square.

        Gives back how many rows that has read.
        """


def passing(values: KernelValues, dtype: Any) -> bool:
    """Whether kernel values are cheaper to make than to read: those of rows of bits."""
    known = values.kernel is not None and values.kernel.tabled
    return bool(known and values.prepared(dtype).codes is not None)


@dataclass
class StoredRows:
    """A Gram matrix, and where the rows of a pair are in it."""

    rough: ClassVar[bool] = False
    G: NDArray[Any]
    place: Index
    runs: Runs
    lazy: LazyRows | None = None
    blocks: tuple[int, ...] = (0,)
    """Those of its columns."""

    def square(self, some: Index, wish: Wish | None = None) -> Array:
        """The matrix of a working set, in memory of the thread where it is large."""
        at = rows = self.place[some]
        if self.lazy is not None:
            none = partial(np.zeros, len(self.place))
            self.lazy.make_ready(self.place, some, self.blocks, wish or none)
            rows = self.lazy.slot[at]
        if self.G.size < GRAM_COMPILED:
            return np.asarray(self.G[rows[:, None], at[None, :]], dtype=np.float64)
        out = scratch(len(at), len(at), np.float64)
        square_of(self.G, rows, at, out, size=self.G.size, work=out.size)
        return out

    def whole(self, out: Array) -> None:
        """The matrix of all rows, by runs of it, not by single entries."""
        m = len(self.place)
        if self.lazy is not None:
            self.lazy.make_ready(self.place, np.arange(m), self.blocks, partial(np.zeros, m))
        for lo, hi, place in self.runs:
            rows: Any = slice(place, place + hi - lo)
            if self.lazy is not None:
                rows = self.lazy.slot[rows]
            for left, right, at in self.runs:
                out[lo:hi, left:right] = self.G[rows, at : at + right - left]

    def add(self, f: Array, some: Index, coef: Array) -> int:
        """f += K[:, some] coef, over all rows."""
        at = self.place[some]
        at = at if self.lazy is None else self.lazy.slot[at]
        size = len(at) * len(f)
        if size < GRAM_BY_NUMPY:
            for lo, hi, place in self.runs:
                f[lo:hi] += coef @ self.G[at, place : place + hi - lo]
            return len(at)
        short, jobs = coef.astype(self.G.dtype), []
        for lo, hi, place in self.runs:
            half = lo + (hi - lo + 1) // 2 if size >= _HALVES else hi
            for a, b in ((lo, half), (half, hi)):
                if b > a:
                    args = (f[a:b], self.G, at, short, a + place - lo, b + place - lo)
                    jobs.append(partial(add_rows.choose(*args, size=size, work=size), *args))
        run_all(jobs, 1 if size < _HALVES else None)
        return len(at)


@dataclass
class PassingRows:
    """The same without a matrix: values are made each time and forgotten."""

    rough: ClassVar[bool] = False
    values: KernelValues
    ids: Index
    runs: Runs
    dtype: Any

    def square(self, some: Index, wish: Wish | None = None) -> Array:
        """The matrix of a working set."""
        del wish
        return self.values.block(self.ids[some], self.ids[some], self.dtype).astype(np.float64)

    def whole(self, out: Array) -> None:
        """The matrix of all rows."""
        m = len(self.ids)
        out[:m, :m] = self.square(np.arange(m))

    def add(self, f: Array, some: Index, coef: Array) -> int:
        """f += K[:, some] coef, over all rows."""
        rows = self.values.picked(self.ids[some], self.dtype)
        for lo, hi, _ in self.runs:
            columns = self.values.picked(self.ids[lo:hi], self.dtype)
            plus, minus = signed_sums(self.values.kernel, columns, rows, coef, merge=False)
            f[lo:hi] += plus - minus
        return len(some)


# -- Which source serves a pair -------------------------------------------------------------------


_WITHOUT_MEMORY = 16  # times more rows may all take part where their values need no memory
_LAZY = 2000  # rows beyond which a Gram matrix is made row by row, as they are needed


def all_take_part(pairs: Pairs, limit: int, *, single: bool) -> bool:
    """Whether all rows are active from the beginning; limit is where all their values fit."""
    n = pairs.values.n
    if isinstance(pairs.values, Levels):
        return True
    if n <= limit or (pairs.G is not None and pairs.values.kernel is None):
        return True
    dtype = np.float32 if single else np.float64
    return n <= _WITHOUT_MEMORY * limit and passing(pairs.values, dtype)


def source_of(pairs: Pairs, pair: Duel, active: Index, limit: int, *, single: bool) -> Source:
    """What to work on: the Gram matrix of all rows, that of the active ones of a pair, or none."""
    dtype = np.float32 if single else np.float64
    values = pairs.values
    n, m = values.n, len(active)
    if isinstance(values, Levels):
        return AdditiveRows(values, single)
    if pairs.G is not None and values.kernel is None:  # as it was given
        return StoredRows(pairs.G, pair.ids, pair.runs)
    alone = not all_take_part(pairs, limit, single=single)
    if passing(values, dtype) and n > _LAZY:
        if alone:
            return PassingRows(values, pair.ids[active], ((0, m, 0),), dtype)
        return PassingRows(values, pair.ids, pair.runs, dtype)
    if alone:
        own = pairs.used = _rows_of(pairs, values, pair, pair.ids[active], limit, dtype)
        return StoredRows(own.G, np.arange(m), ((0, m, 0),), own)
    if n <= _LAZY:
        if pairs.G is None or pairs.G.dtype != dtype:
            pairs.G = np.empty((n, n), dtype)
            values.fill(pairs.G, np.arange(n))
        return StoredRows(pairs.G, pair.ids, pair.runs)
    if pairs.lazy is None or pairs.lazy.G.dtype != dtype:
        pairs.lazy = pairs.used = None  # before there is memory for the next one
        pairs.lazy = LazyRows(values, np.arange(n), large_array(n * n, dtype), n, pairs.edges)
        pairs.lazy.retell(_past(pairs)[1])
    pairs.used = pairs.lazy
    blocks = (0,) if pairs.edges is None else pair.classes
    return StoredRows(pairs.lazy.G, pair.ids, pair.runs, pairs.lazy, blocks)


def _past(pairs: Pairs) -> tuple[Index, Index]:
    """What a run has to make again: the rows at the beginning, and all that came after."""
    past, pairs.past = pairs.past, None
    if past is None or not len(past):
        return NOTHING, NOTHING
    _, _, ids = next(pieces_of(past))
    if ids.max(initial=-1) >= pairs.values.n:
        raise IndexError(f"row {ids.max()} of {pairs.values.n}")
    return ids, past[3 + len(ids) :]


def _rows_of(
    pairs: Pairs, values: KernelValues, pair: Duel, ids: Index, limit: int, dtype: Any
) -> LazyRows:
    """The rows kept from the last round, with those appended that are new, or fresh ones."""
    first, after = _past(pairs)
    if len(first):
        _fresh(pairs, values, pair, first, limit, dtype).retell(after)
    m = len(ids)
    own = pairs.own if pairs.owner == pair.classes else None
    if own is not None and own.G.dtype == dtype and m <= len(own.G):
        have = len(own.ids)
        if have <= m and np.array_equal(ids[:have], own.ids):
            if m > have:
                own.append(ids)
            return own
    own = None  # before there is memory for the next ones
    return _fresh(pairs, values, pair, ids, limit, dtype)


def _fresh(
    pairs: Pairs, values: KernelValues, pair: Duel, ids: Index, limit: int, dtype: Any
) -> LazyRows:
    """None of the rows ``ids`` by now."""
    m, most = len(ids), min(limit, len(pair.y))
    memory = pairs.memory  # touching fresh memory costs more than filling it
    if memory is None or memory.dtype != dtype or len(memory) < m * m:
        memory = pairs.own = pairs.used = pairs.memory = None
        memory = pairs.memory = large_array(max(most * most, m * m), dtype)
    room = max(m, min(most, int(1.25 * m) + 512))
    pairs.own, pairs.owner = LazyRows(values, ids, memory, room), pair.classes
    return pairs.own


def whole_of(pairs: Pairs, source: Source, pair: Duel) -> Array:
    """The matrix of all rows of a pair, with zeros up to whole lanes; kept for its next rounds."""
    if pairs.whole is None or pairs.of != pair.classes:
        m = len(pair.y)
        size = -(-m // LANES) * LANES
        memory = np.empty(0) if pairs.whole is None else np.asarray(pairs.whole.base)
        if len(memory) < size * size:  # touching fresh memory costs more than filling it
            memory = np.empty(size * size)
        K = memory[: size * size].reshape(size, size)
        source.whole(K)
        K[m:], K[:m, m:] = 0.0, 0.0
        pairs.whole, pairs.of = K, pair.classes
    return pairs.whole


# -- Memory for large matrices that the next fit finds again --------------------------------------
#
# Fresh memory is slow: the system clears it page by page, which takes longer than filling it.
# What a fit has used is marked as free, so that the system takes it as soon as anybody needs it,
# and the next fit takes it as it is if nobody did.


_WORTH_KEEPING = 32 << 20  # bytes below which memory is soon cleared
_KEPT_BYTES = 2 << 30  # bytes that may wait for the next fit

_lock = threading.Lock()
_waiting: list[mmap.mmap] = []


def large_array(size: int, dtype: Any) -> NDArray[Any]:
    """A vector with anything in it; its memory may have served before."""
    need = size * np.dtype(dtype).itemsize
    if need < _WORTH_KEEPING or not hasattr(mmap, "MADV_FREE"):
        return np.empty(size, dtype)
    with _lock:
        pages = _waiting.pop() if _waiting else None
    if pages is None or len(pages) < need:
        try:
            pages = mmap.mmap(-1, need, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError:
            raise MemoryError(f"{in_words(need)} were wanted for a matrix") from None
        if hasattr(mmap, "MADV_HUGEPAGE"):
            pages.madvise(mmap.MADV_HUGEPAGE)
    found = np.frombuffer(pages, np.uint8, need)
    # views keep the bytes alive, so nobody reads them any more when this is called
    weakref.finalize(found, _give_back, pages).atexit = False
    out: NDArray[Any] = found.view(dtype)
    return out


def _give_back(pages: mmap.mmap) -> None:
    """Let the system have the pages, and keep where they are."""
    if len(pages) <= _KEPT_BYTES:
        pages.madvise(mmap.MADV_FREE)
        with _lock:
            _waiting[:] = sorted([*_waiting, pages], key=len)[-1:]
