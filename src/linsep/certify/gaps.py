"""Duality gaps of machines of more than two classes: one for each binary problem."""

from __future__ import annotations

from functools import partial

import numpy as np

from linsep.certify.gap import Gap, Objective, measure
from linsep.certify.multi_gap import measure_machine
from linsep.certify.survey import survey
from linsep.core.lanes import run_all
from linsep.core.parts import against_rest
from linsep.core.problem import Problem
from linsep.core.protocol import Witness

__all__ = ["measure_any"]

_SMALL = 300_000  # entries below which threads cost more than they bring


def measure_any(problem: Problem, witness: Witness, objective: Objective, kind: str) -> Gap:
    """The gap of a binary machine, or of K of them, one class against the rest."""
    if problem.binary:
        return measure(problem, witness, objective)
    if kind == "crammer-singer":
        return _machine(problem, witness, objective)
    blocks = witness.a.reshape(problem.K, -1)
    part_of, row = np.divmod(witness.rows, problem.n)
    survey(problem)  # made once, for all parts

    def part(k: int) -> Gap:
        own = part_of == k
        found = Witness(a=blocks[k], rows=row[own], multipliers=witness.multipliers[own])
        return measure(against_rest(problem, k), found, objective)

    size = problem.matrix.nnz if problem.sparse else problem.n * problem.d
    parts = run_all([partial(part, k) for k in range(problem.K)], 1 if size < _SMALL else None)
    scores = problem.scores(witness.a)
    own_scores = scores[np.arange(problem.n), problem.label]
    scores[np.arange(problem.n), problem.label] = -np.inf
    best_rival = scores.max(axis=1)
    return Gap(
        objective=sum(part.objective for part in parts),
        lower_bound=sum(part.lower_bound for part in parts),
        errors=int((own_scores <= best_rival).sum()),
        margin=min(part.margin for part in parts),
        width=min(part.width for part in parts),
        inside=sum(part.inside for part in parts),
        words=f"{problem.K} machines, one class against the rest, each " + parts[0].words,
        parts=tuple(parts),
    )


def _machine(problem: Problem, witness: Witness, objective: Objective) -> Gap:
    """Crammer and Singer: minus the dual variables of rivals, plus that of the own class."""
    part, row = np.divmod(witness.rows, problem.n)
    alpha = np.zeros((problem.n, problem.K))
    alpha[row, part] = np.where(problem.label[row] == part, 1.0, -1.0) * witness.multipliers
    return measure_machine(problem, witness.a, alpha, objective.C)
