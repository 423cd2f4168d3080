"""The working set of an additive machine, and its kernel values.

It holds the free variables it had and the rows that violate the optimality conditions most:
those whose f is on the wrong side of the middle of the free ones. The first set is a random one,
the same for all classes, so that its kernel values are computed once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.jit.smo import LANES
from linsep.kernels.additive_levels import Levels
from linsep.solvers.additive_blocks import assembled, kernel_block
from linsep.solvers.additive_state import AdditiveState
from linsep.solvers.smo_facts import movable

__all__ = ["first_set", "next_set"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_BAND = 0.02  # share of the largest violation that is none
_LEAST = 64  # rows of either class in the first set


def next_set(
    solver: Any, problem: Problem, levels: Levels, state: AdditiveState, f: Array, top: Array
) -> float:
    """Put the next working set into the state; gives back the largest violation."""
    n, short = problem.n, solver.short(levels) and not state.wide
    up, low = movable(problem.sign, top, state.alpha)
    least, most = float(f[up].min()), float(f[low].max())
    if n <= solver.size:
        if len(state.rows) != n:
            _take(levels, state, state.rows[:0], np.arange(n), short)
        return most - least
    if most <= least:
        return 0.0
    if state.steps == 1 and not state.alpha.any():
        _begin(solver, problem, levels, state, short)
        return most - least
    free = up & low
    middle = float(np.median(f[free])) if free.any() else 0.5 * (least + most)
    urgent = np.maximum(np.where(up, middle - f, 0.0), np.where(low, f - middle, 0.0))
    urgent[urgent <= _BAND * (most - least)] = 0.0
    for side, value in ((up, least), (low, most)):  # a pair that violates most is always there
        urgent[np.flatnonzero(side & (f == value))[0]] = most - least
    kept = _kept(solver, state, free | (urgent > 0), urgent)
    urgent[state.rows[kept]] = 0.0
    room = min(max(solver.size, len(kept)), solver.most - len(kept))
    _take(levels, state, kept, _largest(urgent, room), short)
    return most - least


def first_set(solver: Any, levels: Levels) -> Index:
    """Some rows to begin with, chosen by the seed."""
    cheap = np.isneginf(levels.power)
    count = min(max(solver.size, levels.n // 4), (4 if cheap else 2) * solver.size, levels.n)
    if count > LANES:
        count -= count % LANES
    return np.sort(np.random.default_rng(solver.seed).choice(levels.n, count, replace=False))


def _begin(
    solver: Any, problem: Problem, levels: Levels, state: AdditiveState, short: bool
) -> None:
    """The first set, and some more of a class that it has few rows of."""
    rows, block = levels.__dict__.get("_first", (None, None))
    if rows is None or block.dtype != (np.float32 if short else np.float64):
        rows = first_set(solver, levels)
        state.rows = state.rows[:0]
        _take(levels, state, state.rows, rows, short)
    else:
        state.rows, state.block = rows, block  # shared: blocks are read only
    for sign in (-1.0, 1.0):
        missing = _LEAST - int((problem.sign[rows] == sign).sum())
        if missing > 0:
            others = np.setdiff1d(np.flatnonzero(problem.sign == sign), rows)
            _take(levels, state, np.arange(len(state.rows)), others[:missing], short)


def _kept(solver: Any, state: AdditiveState, useful: Any, urgent: Array) -> Index:
    """Places of the last working set that stay: those of use, the most urgent if too many."""
    places = np.flatnonzero(useful[state.rows])
    room = solver.most - solver.size // 2
    if len(places) > room:
        order = np.argsort(-urgent[state.rows[places]], kind="stable")
        places = np.sort(places[order[:room]])
    return places


def _largest(urgent: Array, count: int) -> Index:
    """The rows that are most urgent, of those that are at all."""
    rows = np.flatnonzero(urgent)
    if len(rows) > count:
        rows = np.sort(rows[np.argpartition(-urgent[rows], count)[:count]])
    return rows


def _take(levels: Levels, state: AdditiveState, kept: Index, new: Index, short: bool) -> None:
    """The working set: some of the last one, by their places in it, and new rows.

    The block is padded to whole lanes with rows that take no part.
    """
    if not len(new) and len(kept) == len(state.rows):
        return
    rows = np.concatenate([state.rows[kept], new])
    if len(new):
        fresh = kernel_block(levels, new, rows if len(kept) else new, short)
    else:
        fresh = np.empty((0, len(rows)), dtype=state.block.dtype)
    state.block = assembled(state.block, kept, fresh)
    state.rows = rows
