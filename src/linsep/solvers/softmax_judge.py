"""Whether Newton's method for softmax regression goes on after a step."""

from __future__ import annotations

import numpy as np

from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.solvers.softmax_levels import is_small
from linsep.solvers.softmax_state import SoftmaxState

__all__ = ["BEYOND", "judge"]

BEYOND = 1e-10  # relative gap that small problems are solved to, whatever the tolerance
_RUNAWAY = 20  # steps without a penalty after which shrinking steps are expected


def judge(
    problem: Problem,
    state: SoftmaxState,
    before: tuple[float, float],
    *,
    tol: float,
    ridge: float,
    patient: bool,
) -> None:
    """Whether to go on after a step; before are objective and gap that it started from."""
    primal, gap = before
    lower = state.primal < primal * (1 - 1e-13)
    nearer = state.gap < 0.5 * gap
    state.slow = 0 if state.gap < 0.3 * gap else state.slow + 1
    state.idle = 0 if lower or nearer else state.idle + 1
    if state.level < 1 or state.share < 1.0:
        return
    small = is_small(problem)
    if state.idle >= (2 if small else 5):
        state.status = Status.CERTIFIED if state.gap <= tol else Status.STALLED
    elif not ridge and state.gap <= (min(tol, BEYOND**2) if small else tol):
        state.status = Status.CERTIFIED
    elif not (ridge or patient):
        _watch(problem, state)


def _watch(problem: Problem, state: SoftmaxState) -> None:
    """Without a penalty: the signs that there may be no maximum.

    Along a direction in which losses vanish for ever, each step of Newton's method leaves
    the share 1 / e of what was to gain.
    """
    if _separated(state, problem):
        state.status = Status.SEPARATED
    elif is_small(problem) and state.rung >= _RUNAWAY and state.slow >= 8:
        state.status = Status.STALLED


def _separated(state: SoftmaxState, problem: Problem) -> bool:
    """Whether every row is on its own side: then the likelihood has no maximum."""
    own = state.S[problem.label, np.arange(problem.n)]
    return bool(((own <= state.S).sum(axis=0) == 1).all())
