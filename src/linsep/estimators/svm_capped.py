"""Costs so large that losses drown in rounding: cap them, and prove the answer for the real ones.

A row that satisfies y f(x) >= 1 at the optimum has a dual variable of its own size, which does
not depend on its cost as long as that is larger. So the machine of capped costs is the machine
asked for, once its street is made narrower by a hair so that no such row is inside it. Where
rows stay inside, alpha grows in proportion to the cost, and so it is scaled.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from linsep.certify.gap import Objective
from linsep.certify.gaps import measure_any
from linsep.certify.survey import survey
from linsep.core import Limits, Outcome, Problem, Solver, Witness, drive
from linsep.solvers.polish import polish, polish_parts

__all__ = ["capped_machine", "gap_wanted"]

_HUGE = 1e13  # cost times squared length beyond which steps are lost to rounding
_LARGE = 1e8  # and beyond which the last digits of a small machine are
_DIGITS = 1e-9  # gap of such a machine, or the usual way is no worse
_CAPS = (1e6, 1e10)
_LARGEST = 5_000_000  # entries of X up to which it is worth a try
_NARROWER = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)

Choice = Callable[[Problem, float], tuple[Solver[Any], str]]


def gap_wanted(problem: Problem, objective: Objective, tol: float, small: bool) -> float:
    """Gap from which on capped costs are the better way; 0: never."""
    size = float(survey(problem).rows.max())
    most = objective.C * float(problem.weight.max()) * size
    if problem.n * problem.d > _LARGEST or not size > 0 or most <= _LARGE:
        return 0.0
    return tol if not most <= _HUGE else min(tol, _DIGITS) if small else 0.0


def capped_machine(
    problem: Problem, objective: Objective, tol: float, limits: Limits, choose: Choice
) -> tuple[Witness, Outcome[Any], str] | None:  # fmt: skip
    """The machine with its run and the reason of the choice; None if it cannot be proved so."""
    size, begin = float(survey(problem).rows.max()), time.perf_counter()
    for cap in _CAPS:
        top = cap / size
        twin = copy.copy(problem)
        twin.__dict__.pop("rows", None)
        twin.__dict__.pop("_each_against_rest", None)
        with np.errstate(over="ignore"):
            twin.weight = np.minimum(objective.C * problem.weight, top) / top
        twin.weight = np.maximum(twin.weight, 1e-300)
        solver, words = choose(twin, top)
        outcome = drive(twin, solver, limits=limits.left_since(begin))
        finish = polish if problem.binary else polish_parts
        found = outcome.witness
        if problem.n <= 2000:
            found = finish(twin, found, top, objective.loss)
        witness = _best(problem, found, objective, objective.C / top)
        gap = measure_any(problem, witness, objective, "one-vs-rest").relative_gap
        if gap <= tol:
            return witness, outcome, f"{words}; no cost above {top:.3g} makes a difference"
        if outcome.interrupted:
            return None
    return None


def _best(problem: Problem, found: Witness, objective: Objective, ratio: float) -> Witness:
    """The street a hair narrower, and alpha in proportion: what proves most."""
    best, least = found, np.inf
    for share in (1.0, ratio):
        with np.errstate(over="ignore"):
            multipliers = found.multipliers * share
        for more in _NARROWER:
            tried = Witness(found.a * (1.0 + more), found.rows, multipliers, claim="dual")
            gap = measure_any(problem, tried, objective, "one-vs-rest").relative_gap
            if gap < least:
                best, least = tried, gap
    return best
