"""Rows of a Gram matrix that are computed when they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.kernel_values import KernelValues

__all__ = ["LazyRows"]

Index = NDArray[np.int64]

_MANY = 0.2  # share of the rows from which all are made: by halves, in better blocks
_LIKELY = 0.6  # share of rows made or wanted from which all are made, after a few batches
_BATCH = 256  # rows made together, where as many may be needed: products of fewer are slower


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

    def append(self, ids: Index) -> None:
        """More rows, which go on where the old ones end."""
        m, self.ids = len(self.ids), ids
        self.picked = self.values.picked(ids, self.G.dtype)
        old = np.flatnonzero(self.ready[:, 0])
        if len(old):
            self.values.rows_into(self.G, old, self.picked, m, len(ids), self.slot[old])

    def need(self, place: Index, some: Index, blocks: tuple[int, ...], urgent: Any) -> None:
        """Have rows ``some`` of those at ``place`` computed, and if few, others worth it.

        urgent() says of every row at ``place`` how much it asks for it: not at all from 0 down.
        """
        ready = np.asarray(self.ready[:, list(blocks)].all(axis=1))[place]
        new = some[~ready[some]]
        if not len(new):
            return
        ready[new] = True
        wish = np.where(ready, 0.0, urgent())
        if self._all_at_once(int(ready.sum()), int((wish > 0).sum()), len(new)):
            self.values.fill(self.G, self.ids)
            self.made = len(self.ids)
            self.slot[: self.made], self.ready[: self.made] = np.arange(self.made), True
            return
        count = min(_BATCH - len(new), len(wish) - 1)
        if count > 0:
            most = np.argpartition(-wish, count)[:count]
            new = np.concatenate([new, most[wish[most] > 0]])
        self.make(np.sort(place[new]), blocks)

    def _all_at_once(self, asked: int, wanted: int, new: int) -> bool:
        """Whether so many rows are needed that one half of a symmetric matrix is less work."""
        m = len(self.ids)
        if self.edges is not None or asked - new >= 0.5 * m:
            return False
        return asked > _MANY * m or (asked > 3 * _BATCH and asked + wanted > _LIKELY * m)

    def make(self, at: Index, blocks: tuple[int, ...]) -> None:
        """Compute the rows ``at``, as far as they are not there."""
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
