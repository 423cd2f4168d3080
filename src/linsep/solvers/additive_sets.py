"""The working set of an additive machine, and its kernel values.

It holds the rows that violate the optimality conditions most and what was in it before; it
grows with the free variables up to a limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.jit.smo import LANES
from linsep.kernels.additive_levels import Levels
from linsep.solvers.additive_blocks import kernel_block, taken_from
from linsep.solvers.additive_choice import smallest
from linsep.solvers.additive_state import AdditiveState
from linsep.solvers.smo_facts import movable

__all__ = ["next_set"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_USEFUL = 0.7  # share of a working set below which the rest is left out


def next_set(
    solver: Any, problem: Problem, levels: Levels, state: AdditiveState, f: Array, top: Array
) -> float:
    """Put the next working set into the state; gives back the largest violation."""
    n, short = problem.n, solver.short(levels)
    up, low = movable(problem.sign, top, state.alpha)
    least, most = float(f[up].min()), float(f[low].max())
    if n <= solver.size:
        if len(state.rows) != n:
            _take(levels, state, state.rows[:0], np.arange(n), short)
        return most - least
    if most <= least:
        return 0.0
    violates = (up & (f < most)) | (low & (f > least))
    kept = _kept(solver, state, (up & low) | violates)
    outside = np.ones(n, dtype=bool)
    outside[state.rows[kept]] = False
    target = min(max(solver.size, 2 * len(kept)), solver.most)
    half = max((target - len(kept)) // 2, solver.size // 4)
    seed = solver.seed if state.steps == 1 else None
    new = smallest(f, up & outside & (f < most), half, seed)
    outside[new] = False
    more = smallest(-f, low & outside & (f > least), half, seed)
    _take(levels, state, kept, np.concatenate([new, more]), short)
    return most - least


def _kept(solver: Any, state: AdditiveState, useful: Any) -> Index:
    """Places of the last working set that stay: all, until many of them are of no use."""
    places = np.arange(len(state.rows))
    room = solver.most - solver.size // 2
    own = useful[state.rows]
    if own.sum() < _USEFUL * len(places) or len(places) > room:
        places = places[own]
    return places[max(0, len(places) - room) :]  # the newest ones


def _take(levels: Levels, state: AdditiveState, kept: Index, new: Index, short: bool) -> None:
    """The working set: some of the last one, by their places in it, and new rows.

    The block is padded to whole lanes with rows that take no part.
    """
    if not len(new) and len(kept) == len(state.rows):
        return
    rows = np.concatenate([state.rows[kept], new])
    q, k = len(rows), len(kept)
    padded = -(-q // LANES) * LANES
    block = np.zeros((padded, padded), dtype=np.float32 if short else np.float64)
    if k == len(state.rows):
        block[:k, :k] = state.block[:k, :k]
    elif k:
        block[:k, :k] = taken_from(state.block, kept, kept)
    if q > k:
        fresh = kernel_block(levels, new, new if not k else rows, short)
        block[k:q, :q] = fresh
        block[:k, k:q] = fresh[:, :k].T
    state.rows, state.block = rows, block
