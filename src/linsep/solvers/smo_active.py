"""Which rows take part: the active ones of a pair, and the working set among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.order import generator
from linsep.jit.smo import LANES
from linsep.solvers.arena import large_array
from linsep.solvers.smo_desk import Desk, PassingDesk, passing
from linsep.solvers.smo_facts import Facts
from linsep.solvers.smo_parts import Pair, Pairs
from linsep.solvers.smo_rows import LazyRows
from linsep.solvers.smo_state import PairState

__all__ = [
    "all_take_part",
    "choose",
    "desk_of",
    "far_rows",
    "first_active",
    "next_active",
    "whole_of",
]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_BITS = 16  # times more rows may all take part where their values need no memory
_NEAR, _NEW = 0.3, 0.15  # margins behind the street of rows that stay, and that become active
_FAR = 1.5  # margin from which a row is far behind the street, once little moves
_FIRST = 4000  # active rows that there may always be
_ROOM = 5.0  # and for each one in use
_LAZY = 2000  # rows beyond which a Gram matrix is made row by row, as they are needed


def first_active(pairs: Pairs, k: int, limit: int, seed: int, single: bool) -> Index:
    """All rows, or a sample with both classes in it."""
    pair = pairs.pairs[k]
    n = len(pair.y)
    if n <= limit or all_take_part(pairs, limit, single):
        return np.arange(n)
    size = int(min(max(0.1 * n, 1000), limit))
    share = size / n
    rng = generator(seed, k)
    some = []
    for rows in (np.flatnonzero(pair.y < 0), np.flatnonzero(pair.y > 0)):
        count = min(len(rows), max(1, round(share * len(rows))))
        some.append(rows[rng.permutation(len(rows))[:count]])
    return np.sort(np.concatenate(some)).astype(np.int64)


def all_take_part(pairs: Pairs, limit: int, single: bool) -> bool:
    """Whether all rows are active from the beginning; limit is where all their values fit."""
    n = pairs.values.n
    if n <= limit or (pairs.G is not None and pairs.values.kernel is None):
        return True
    return n <= _BITS * limit and passing(pairs.values, np.float32 if single else np.float64)


def desk_of(pairs: Pairs, pair: Pair, part: PairState, limit: int, single: bool) -> Any:
    """The Gram matrix to work on: that of all rows, or that of the active ones of a pair."""
    dtype = np.float32 if single else np.float64
    n, m = pairs.values.n, len(part.active)
    if pairs.G is not None and pairs.values.kernel is None:  # as it was given
        return Desk(pairs.G, pair.ids, pair.runs)
    alone = not all_take_part(pairs, limit, single)
    if passing(pairs.values, dtype) and n > _LAZY:
        if alone:
            return PassingDesk(pairs.values, pair.ids[part.active], ((0, m, 0),), dtype)
        return PassingDesk(pairs.values, pair.ids, pair.runs, dtype)
    if alone:
        lazy = _rows_of(pairs, pair, pair.ids[part.active], limit, dtype)
        return Desk(lazy.G, np.arange(m), ((0, m, 0),), lazy)
    if n <= _LAZY:
        if pairs.G is None or pairs.G.dtype != dtype:
            pairs.G = np.empty((n, n), dtype)
            pairs.values.fill(pairs.G, np.arange(n))
        return Desk(pairs.G, pair.ids, pair.runs)
    if pairs.lazy is None or pairs.lazy.G.dtype != dtype:
        pairs.lazy = LazyRows(pairs.values, np.arange(n), large_array(n * n, dtype), n, pairs.edges)
    blocks = (0,) if pairs.edges is None else pair.classes
    return Desk(pairs.lazy.G, pair.ids, pair.runs, pairs.lazy, blocks)


def _rows_of(pairs: Pairs, pair: Pair, ids: Index, limit: int, dtype: Any) -> LazyRows:
    """The rows kept from the last round, with those appended that are new, or fresh ones."""
    m, kept, most = len(ids), pairs.kept, min(limit, len(pair.y))
    lazy: LazyRows | None = kept.get("rows") if kept.get("of") == pair.classes else None
    if lazy is not None and lazy.G.dtype == dtype and m <= len(lazy.G):
        have = len(lazy.ids)
        if have <= m and np.array_equal(ids[:have], lazy.ids):
            if m > have:
                lazy.append(ids)
            return lazy
    memory = kept.get("memory")  # touching fresh memory costs more than filling it
    if memory is None or memory.dtype != dtype or len(memory) < m * m:
        lazy = memory = None
        kept.clear()
        memory = kept["memory"] = large_array(max(most * most, m * m), dtype)
    room = max(m, min(most, int(1.25 * m) + 512))
    lazy = kept["rows"] = LazyRows(pairs.values, ids, memory, room)
    kept["of"] = pair.classes
    return lazy


def whole_of(pairs: Pairs, desk: Any, pair: Pair) -> Array:
    """The matrix of all rows of a pair, with zeros up to whole lanes; kept for its next rounds."""
    of, K, memory = pairs.kept.get("whole", (None, None, np.empty(0)))
    if of != pair.classes:
        m = len(pair.y)
        size = -(-m // LANES) * LANES
        if len(memory) < size * size:  # touching fresh memory costs more than filling it
            memory = np.empty(size * size)
        K = memory[: size * size].reshape(size, size)
        desk.whole(K)
        K[m:], K[:m, m:] = 0.0, 0.0
        pairs.kept["whole"] = pair.classes, K, memory
    return np.asarray(K)


def choose(facts: Facts, last: Index, q: int) -> Index:
    """A working set: the newer half of the last one, and the worst of the others."""
    up, low = facts.up.copy(), facts.low.copy()
    old = last[len(last) // 2 :] if len(last) == q and q >= 64 else last[:0]
    up[old], low[old] = np.inf, -np.inf
    share = (q - len(old)) // 2
    first = _least(up, share)
    low[first] = -np.inf
    second = _least(-low, q - len(old) - len(first))
    # in their order, so that a row of the Gram matrix is read from one end to the other
    out = np.concatenate([old, np.sort(np.concatenate([first, second]))])
    if len(out) < q:
        used = np.zeros(len(up), dtype=bool)
        used[out] = True
        more = _least(np.where(used, np.inf, facts.up), q - len(out))
        out = np.concatenate([out, more])
    return out.astype(np.int64)


def _least(values: Array, count: int) -> Index:
    """Places of the least entries that are finite."""
    if count <= 0:
        return np.zeros(0, dtype=np.int64)
    count = min(count, len(values))
    places = np.argpartition(values, count - 1)[:count] if count < len(values) else np.arange(count)
    return places[values[places] < np.inf].astype(np.int64)


def next_active(
    safe: Array, used: int, active: Index, generation: int, limit: int
) -> tuple[Index, bool]:
    """Rows not safely at a bound: afresh after the first sample, later those that are new.

    ``used`` rows have a dual variable that is not zero: a matrix of many more costs more than
    another look at all rows.
    """
    inside = np.zeros(len(safe), dtype=bool)
    inside[active] = True
    some = np.flatnonzero(safe < (0.3 if generation == 1 else _NEAR))
    limit = min(limit, max(_FIRST, len(safe) // 8 if generation == 1 else int(_ROOM * used)))
    if generation > 1:
        new = np.flatnonzero(~inside & (safe < _NEW))
        # more rows cost more in every round: stay with them only while most of them matter
        if len(active) + len(new) <= min(limit, 1.5 * len(some) + 500):
            return np.concatenate([active, new]), len(new) > 0
    if len(some) > limit:
        some = np.sort(some[np.argsort(safe[some], kind="stable")[:limit]])
    return some, True


def far_rows(margin: Array, violation: float, alpha: Array, active: Index) -> Index:
    """Rows that will hardly ever matter, if they are so many that leaving them out pays."""
    far = (margin > _FAR + 0.5 * violation) & (alpha <= 0)
    far[active] = False
    rows = np.flatnonzero(far)
    return rows if 2 * len(rows) > len(margin) else rows[:0]
