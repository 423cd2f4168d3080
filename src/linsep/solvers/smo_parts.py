"""The binary problems of a kernel machine, and the Gram matrices they are solved on.

Rows are sorted by class, so a pair of classes is two runs of rows. One Gram matrix serves all
pairs if it fits into the memory allowed; otherwise each pair has that of its active rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.kernel_values import KernelValues
from linsep.core.lanes import run_all
from linsep.core.problem import Problem
from linsep.jit.smo import add_rows, square_of

__all__ = ["Desk", "LazyRows", "Pair", "Pairs", "pairs_of"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_SMALL = 100_000  # entries of rows up to which a product by numpy is fast
_HALVES = 500_000  # entries of rows from which two threads share them
_MANY = 0.2  # share of the rows from which all are made: by halves, in better blocks
_BATCH = 256  # rows made together, where as many may be needed: products of fewer are slower
_LARGE = 4_000_000  # entries of a Gram matrix beyond the cache, where machine code reads faster


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
    """

    def __init__(
        self,
        values: KernelValues,
        ids: Index,
        memory: NDArray[Any],
        room: int,
        edges: Index | None = None,
    ) -> None:
        self.values, self.ids, dtype = values, ids, memory.dtype
        self.G: NDArray[Any] = memory[: room * room].reshape(room, room)
        self.edges = edges
        self.ready = np.zeros((room, 1 if edges is None else len(edges) - 1), dtype=bool)
        self.picked = values.picked(ids, dtype)

    def append(self, ids: Index) -> None:
        """More rows, which go on where the old ones end."""
        m, self.ids = len(self.ids), ids
        self.picked = self.values.picked(ids, self.G.dtype)
        old = np.flatnonzero(self.ready[:, 0])
        if len(old):
            self.values.rows_into(self.G, old, self.picked, m, len(ids))

    def need(self, place: Index, some: Index, blocks: tuple[int, ...], urgent: Any) -> None:
        """Have rows ``some`` of those at ``place`` computed, and if few, others worth it.

        urgent() says of every row at ``place`` how much it asks for it: not at all from 0 down.
        """
        ready = np.asarray(self.ready[:, list(blocks)].all(axis=1))[place]
        new = some[~ready[some]]
        if not len(new):
            return
        m = len(self.ids)
        have = np.count_nonzero(ready)
        if self.edges is None and len(new) + have > _MANY * m and have < 0.5 * m:
            self.values.fill(self.G, self.ids)
            self.ready[:m] = True
            return
        if len(new) < _BATCH:
            ready[new] = True
            wish = np.where(ready, 0.0, urgent())
            count = min(_BATCH - len(new), len(wish) - 1)
            most = np.argpartition(-wish, count)[:count]
            new = np.concatenate([new, most[wish[most] > 0]])
        at = np.sort(place[new])
        for k in blocks:
            left = at[~self.ready[at, k]]
            lo, hi = (0, m) if self.edges is None else (self.edges[k], self.edges[k + 1])
            if len(left):
                self.values.rows_into(self.G, left, self.picked, int(lo), int(hi))
                self.ready[left, k] = True


@dataclass(frozen=True)
class Pair:
    """Two classes: the places of their rows in the sorted order, signs and costs."""

    classes: tuple[int, int]
    ids: Index
    y: Array
    weight: Array
    root: Array
    """sqrt(K_ii)."""
    runs: tuple[tuple[int, int, int], ...]
    """(first, end, place): rows first ... end of the pair stand from ``place`` on."""


@dataclass
class Desk:
    """A Gram matrix of some rows of a pair, and where they are in it.

    Of a large one a row is computed when it first enters a working set.
    """

    G: NDArray[Any]
    place: Index
    runs: tuple[tuple[int, int, int], ...]
    lazy: LazyRows | None = None
    blocks: tuple[int, ...] = (0,)
    """Those of its columns."""

    def square(self, some: Index, urgent: Any = None) -> Array:
        """The matrix of a working set; urgent() is how much each row asks to be in one soon."""
        at = self.place[some]
        if self.lazy is not None:
            self.lazy.need(
                self.place, some, self.blocks, urgent or partial(np.zeros, len(self.place))
            )
        if self.G.size < _LARGE:
            return np.asarray(self.G[at[:, None], at[None, :]], dtype=np.float64)
        out = np.empty((len(at), len(at)))
        square_of(self.G, at, out, size=self.G.size, work=out.size)
        return out

    def add(self, f: Array, some: Index, coef: Array) -> None:
        """f += K[:, some] coef, over all rows of the desk."""
        at = self.place[some]
        size = len(at) * len(f)
        if size < _SMALL:
            for lo, hi, place in self.runs:
                f[lo:hi] += coef @ self.G[at, place : place + hi - lo]
            return
        short, jobs = coef.astype(self.G.dtype), []
        for lo, hi, place in self.runs:
            half = lo + (hi - lo + 1) // 2 if size >= _HALVES else hi
            for a, b in ((lo, half), (half, hi)):
                if b > a:
                    args = (f[a:b], self.G, at, short, a + place - lo, b + place - lo)
                    jobs.append(partial(add_rows.choose(*args, size=size, work=size), *args))
        run_all(jobs, 1 if size < _HALVES else None)


@dataclass
class Pairs:
    """All pairs of a problem with their kernel values; kept with the problem."""

    values: KernelValues
    order: Index
    pairs: list[Pair]
    G: NDArray[Any] | None = None
    """The Gram matrix of all rows, once it is made."""
    lazy: LazyRows | None = None
    """The same row by row, where it is large."""
    edges: Index | None = None
    """Where the classes begin, if there are more than two."""
    kept: dict[str, Any] = field(default_factory=dict)
    """The last desk that was made for one pair alone."""


def pairs_of(problem: Problem, kernel: Any) -> Pairs:
    """Sort the rows by class, once."""
    stored = problem.__dict__.get("_kernel_pairs")
    if stored is not None and stored[0] is kernel:
        pairs: Pairs = stored[1]
        return pairs
    order = np.argsort(problem.label, kind="stable").astype(np.int64)
    label = problem.label[order]
    edges = np.searchsorted(label, np.arange(problem.K + 1))
    values, weight = KernelValues(problem, kernel, order), problem.weight[order]
    root = np.sqrt(np.maximum(values.diagonal(), 0.0))
    made = []
    for first, second in combinations(range(problem.K), 2):
        a, b, c, d = edges[first], edges[first + 1], edges[second], edges[second + 1]
        ids = np.concatenate([np.arange(a, b), np.arange(c, d)]).astype(np.int64)
        y = np.where(np.arange(len(ids)) < b - a, -1.0, 1.0)
        n = int(b - a)
        runs = ((0, n, int(a)), (n, len(ids), int(c)))
        made.append(Pair((first, second), ids, y, weight[ids], root[ids], runs))
    out = Pairs(values, order, made, edges=edges if problem.K > 2 else None)
    problem.__dict__["_kernel_pairs"] = (kernel, out)
    return out
