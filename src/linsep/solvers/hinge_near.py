"""Newton steps that read only the rows near the corner of the hinge.

A row far from the corner has the slope 0 or 1, and keeps it while the weights move little: its
loss is 0, or a linear function that needs no reading. So after a pass over all rows the next
steps read the rows near the corner alone, and the others through one combination of them. Only
a pass over all rows counts as proof; it follows when the near rows say that it is time.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.leverage import gather
from linsep.core.lanes import run_all
from linsep.jit import newton_hinge as loops
from linsep.solvers.hinge_pass import Reading, RowSet
from linsep.solvers.hinge_state import NewtonState

__all__ = ["NearRows", "far_slope", "far_sums", "near_rows", "with_far"]

Array = NDArray[np.float64]

_LEAST = 1_500_000  # entries of a table from which leaving rows out pays
_MOST = 0.16  # share of the rows from which it does not
_LONG = 16.0  # times the mean of |x|^2, from which rows are always near
_PIECE = 16_384  # rows looked at together
_SOME = 4096  # rows that tell how far rows move


def near_rows(
    whole: RowSet, state: NewtonState, p: Array, threads: int | None
) -> tuple[NDArray[np.int64], float] | None:
    """The rows near the corner before a step p, and how far rows may move till all are read again.
    None if all had better be read now.

    Near is what a row may move: about what some rows move with p, more for long rows. Very long
    ones are always near.
    """
    if state.h <= 0.0 or whole.size < _LEAST or whole.lanes.sparse:
        return None
    mean = float(state.columns[:-1].sum()) / float(state.columns[-1])  # of |x|^2
    move = max(state.reach * _moved(_some(whole, state), p), state.h)
    long = _LONG * mean
    width, reach = 0.5 / state.h, 0.5 * move / state.h / np.sqrt(mean)

    def piece(lo: int) -> NDArray[np.int64]:
        own = slice(lo, lo + _PIECE)
        t = state.u[own] * width
        if state.center.size:
            t += state.center[own] - 0.5
        lengths = state.lengths[own]
        near = np.abs(t, out=t) < reach * np.sqrt(lengths) + 0.5
        return lo + np.flatnonzero(near | (lengths > long))

    parts = run_all([partial(piece, lo) for lo in range(0, whole.n, _PIECE)], threads)
    return (np.concatenate(parts), move) if 0 < sum(map(len, parts)) <= _MOST * whole.n else None


def _some(whole: RowSet, state: NewtonState) -> tuple[NDArray[Any], Array]:
    """A few rows, evenly spread, that speak for all but the very long, and what to divide by."""
    step = max(16, whole.n // _SOME)
    mean = float(state.columns[:-1].sum()) / float(state.columns[-1])
    lengths = state.lengths[::step] / mean
    plain = np.flatnonzero((lengths > 0.0) & (lengths <= _LONG))
    return np.ascontiguousarray(whole.lanes.matrix[plain * step]), np.sqrt(lengths[plain])


def _moved(some: tuple[NDArray[Any], Array], change: Array) -> float:
    """How far all but a few of these rows move with a change of the weights, each by its length."""
    rows, lengths = some
    if not len(rows):
        return 0.0
    moves = np.abs(rows @ change[:-1] + change[-1]) / lengths
    most = int(0.998 * len(moves))
    return float(np.partition(moves, most)[most])


class NearRows:
    """Some rows of a set, the others through ``state.far``: sums at the point they were left."""

    def __init__(
        self, whole: RowSet, state: NewtonState, threads: int | None, *, wide: bool
    ) -> None:
        near = state.near
        matrix = gather(whole.lanes.matrix, near, threads)
        self.rows = RowSet(matrix, whole.sign[near], whole.cost[near], wide=wide)
        self.near, self.n, self.cost = near, len(near), self.rows.cost
        self.some = _some(whole, state)

    def moved(self, change: Array) -> float:
        """How far rows have moved with a change of the weights."""
        return _moved(self.some, change)

    def read(
        self,
        a: Array,
        h: float,
        center: Array,
        *,
        offset: bool,
        threads: int | None,
        curve: bool = True,
    ) -> Reading:
        """A pass over the near rows alone."""
        center = center[self.near] if center.size else center
        return self.rows.read(a, h, center, offset=offset, threads=threads, curve=curve)


def far_sums(state: NewtonState, near: Reading) -> Array:
    """What all rows have more than the near ones: sums of cost y x, of cost, and of bends."""
    d = len(near.v)
    out = np.empty(2 * d + 3)
    out[:d], out[d : 2 * d] = state.v - near.v, state.v_plus - near.v_plus
    sums = state.sums - near.sums
    out[2 * d :] = sums[loops.PLUS], sums[loops.MINUS], sums[loops.ROUNDED] - sums[loops.LOSS]
    return out


def with_far(far: Array, a: Array, near: Reading) -> Reading:
    """The reading of all rows, if no far row has changed its slope."""
    d = len(near.v)
    plus, minus, bent = far[2 * d :]
    loss = plus + minus - float(far[:d] @ a[:-1]) - float(a[-1]) * (plus - minus)
    sums = near.sums.copy()
    sums[loops.LOSS] += loss
    sums[loops.ROUNDED] += loss + bent
    sums[loops.PLUS] += plus
    sums[loops.MINUS] += minus
    return Reading(near.u, near.v + far[:d], near.v_plus + far[d : 2 * d], sums, near.curvature)


def far_slope(far: Array, p: Array) -> float:
    """Derivative of the sum of the far losses along p."""
    d = len(p) - 1
    return -float(far[:d] @ p[:-1]) - float(p[-1]) * float(far[2 * d] - far[2 * d + 1])
