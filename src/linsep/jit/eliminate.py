"""Elimination by columns, the largest entry of each first."""

from __future__ import annotations

import numpy as np

from linsep.jit.compile import routine

__all__ = ["eliminate"]


@routine
def eliminate(work, order, pivots, tiny):
    """Bring work into echelon form in place; gives back the number of pivots.

    order follows the exchanges of rows, pivots gets the columns that have one. Entries up to
    tiny count as zero.
    """
    n, D = work.shape
    rank = 0
    for j in range(D):
        if rank == n:
            break
        best = rank + np.argmax(np.abs(work[rank:, j]))
        if abs(work[best, j]) <= tiny:
            continue
        if best != rank:
            for q in range(j, D):
                held = work[rank, q]
                work[rank, q] = work[best, q]
                work[best, q] = held
            first = order[rank]
            order[rank] = order[best]
            order[best] = first
        top = work[rank, j + 1 :]
        for i in range(rank + 1, n):
            if work[i, j] != 0.0:
                below = work[i, j + 1 :]
                below -= work[i, j] / work[rank, j] * top
        pivots[rank] = j
        rank += 1
    return rank
