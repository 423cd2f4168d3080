"""What a dual point of an additive machine is worth: scores, objective, bound and status."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.kernels.additive_levels import levels_of
from linsep.solvers.additive_choice import edges
from linsep.solvers.additive_state import AdditiveState
from linsep.solvers.smo_facts import best_offset

__all__ = ["creeps", "measure", "refresh"]

Array = NDArray[np.float64]

_IDLE = 12
_RESCUE = 2000  # rows up to which an interior point method helps out
_EXACT = 1e-10
_SMALL = 512


def refresh(solver: Any, problem: Problem, state: AdditiveState) -> None:
    """Scores from the dual variables alone."""
    state.score[:] = 0.0
    state.age = 0
    rows = np.flatnonzero(state.alpha)
    if rows.size:
        levels = levels_of(problem, solver.power)
        levels.add_product(rows, (state.alpha * problem.sign)[rows], state.score)
        state.work += 1 + len(rows) / problem.n


def measure(solver: Any, problem: Problem, state: AdditiveState) -> None:
    """Objective, bound and status."""
    y, cost = problem.sign, solver.C * problem.weight
    state.offset = best_offset(y, cost, state.score - y)
    squared = max(float((state.alpha * y) @ state.score), 0.0)
    margin = y * (state.score + state.offset)
    state.primal = 0.5 * squared + float(cost @ np.maximum(0.0, 1.0 - margin))
    state.dual = float(state.alpha.sum()) - 0.5 * squared
    if state.primal - state.dual > solver.tol * state.primal:
        _stretch(solver, cost, state, squared, float(margin.min()))
    if not np.isfinite(state.primal):
        state.status = Status.DIVERGED
        return
    better = state.dual > state.best + 1e-13 * abs(state.best)
    state.idle = 0 if better else state.idle + 1
    state.best = max(state.best, state.dual)
    if state.primal - state.dual <= solver.tol * state.primal:
        if problem.n > min(solver.size, _SMALL) or _exact(solver, problem, state):
            state.status = Status.CERTIFIED
        else:
            state.status = Status.CERTIFIED if state.idle > 2 else Status.RUNNING
    else:
        stuck = state.idle > _IDLE and not creeps(problem, state)
        if stuck and state.block.dtype == np.float32:  # once more, in double precision
            state.wide, state.idle = 1, 0
            state.rows, state.block = state.rows[:0], np.zeros((0, 0))
            stuck = False
        state.status = Status.STALLED if stuck else Status.RUNNING


def _stretch(solver: Any, cost: Array, state: AdditiveState, squared: float, least: float) -> None:
    """s f has no losses for s = 1 / least margin: with a huge C that is the better machine."""
    s = 1.0 / least if least > 0 else np.inf
    primal = 0.5 * squared * s * s
    if not (primal < state.primal and (s * state.alpha <= cost).all()):
        return
    dual = s * float(state.alpha.sum()) - primal
    if primal - dual <= solver.tol * primal:
        for array in (state.alpha, state.score):
            array *= s
        state.offset, state.dual = s * state.offset, dual
    state.primal = primal  # of s f, which is worth scaling to once it is proved


def _exact(solver: Any, problem: Problem, state: AdditiveState) -> bool:
    """Small problems are solved until no row violates its condition."""
    least, most = edges(problem.sign, solver.C * problem.weight, state.alpha, state.score)
    return most - least <= _EXACT


def creeps(problem: Problem, state: AdditiveState) -> bool:
    """Whether it takes so long that a method of n^3 operations is worth its price."""
    slow = state.n_updates > problem.n**2 // 3 + 1000 or state.idle > _IDLE
    return slow and not state.rescued and problem.n <= _RESCUE
