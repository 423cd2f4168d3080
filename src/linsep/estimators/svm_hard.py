"""The hard margin: the plane of maximum margin, or the proof that there is none.

The machine with C = inf is the plane halfway between the points of the two hulls that are
nearest each other (without an intercept: the point of the hull of the reflected rows nearest
the origin). With p - q the difference of these points, w = 2 (p - q) / |p - q|^2 and alpha_i is
the share of row i in its point times 2 / |p - q|^2.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.gap import Gap, Objective, measure
from linsep.certify.gaps import measure_any
from linsep.core import Limits, Outcome, Problem, Status, Witness, drive
from linsep.core.parts import against_rest
from linsep.solvers.dual_point import row_sum
from linsep.solvers.nearest_hulls import NearestHulls
from linsep.solvers.newton_hinge import NewtonHinge
from linsep.solvers.polish import polish

__all__ = ["hard_machine", "hard_machines", "hull_search"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Hard:
    """What the search for a hard margin came to."""

    witness: Witness
    gap: Gap
    outcome: Outcome[Any]
    proof: Any = None
    """That there is none, or None."""
    of: int | None = None
    """With more than two classes: the class that the proof is about."""


def hull_search(tol: float) -> NearestHulls:
    """The search for the nearest points that a machine of relative gap tol needs."""
    return NearestHulls(tol=0.25 * min(tol, 1e-3))


def hard_machine(
    problem: Problem, tol: float, limits: Limits, observers: Any = (), state: Any = None
) -> Hard:
    """Weights with y f(x) >= 1, the gap, the run, and the proof if there are none such."""
    from linsep.verdict import separability

    outcome = drive(problem, hull_search(tol), state, limits=limits, observers=observers)
    objective = Objective("hinge", np.inf, "free" if problem.fit_intercept else "none")
    witness = scaled_witness(problem, outcome.witness.rows, outcome.witness.multipliers)
    gap = measure(problem, witness, objective)
    if gap.relative_gap <= tol:
        return Hard(_finished(problem, witness, objective), gap, outcome)
    if outcome.status in (Status.TIME_LIMIT, Status.STEP_LIMIT, Status.STOPPED):
        return Hard(witness, gap, outcome)
    labels = problem.classes[problem.label]
    proof = separability(
        problem.matrix, labels, fit_intercept=problem.fit_intercept, time_limit=limits.seconds
    )
    if proof.separable and len(proof.hull_rows):
        witness = scaled_witness(problem, proof.hull_rows, proof.hull_weights)
        gap = measure(problem, witness, objective)
        return Hard(_finished(problem, witness, objective), gap, outcome)
    if proof.separable is False:  # a usable plane all the same: the soft margin of C = 1
        soft = drive(problem, NewtonHinge(C=1.0, tol=tol), limits=limits).witness
        witness = Witness(a=soft.a)
        gap = measure(problem, witness, objective)
    return Hard(witness, gap, outcome, proof)


def hard_machines(problem: Problem, tol: float, limits: Limits, observers: Any = ()) -> Hard:
    """One hard machine for each class against the rest.

    The proof, if there is one, is that of the first class that no plane cuts off.
    """
    begin = time.perf_counter()
    found: list[Hard] = []
    for k in range(problem.K):
        rest = limits.seconds
        if rest is not None:
            rest = max(rest - (time.perf_counter() - begin), 0.0)
        part = against_rest(problem, k)
        found.append(hard_machine(part, tol, replace(limits, seconds=rest), observers))
    witness = Witness(
        a=np.concatenate([one.witness.a for one in found]),
        rows=np.concatenate([k * problem.n + one.witness.rows for k, one in enumerate(found)]),
        multipliers=np.concatenate([one.witness.multipliers for one in found]),
        claim="dual",
    )
    objective = Objective("hinge", np.inf, "free" if problem.fit_intercept else "none")
    gap = measure_any(problem, witness, objective, "one-vs-rest")
    slowest = max(found, key=lambda one: one.outcome.seconds)
    shown = next((one for one in found if not one.outcome.status.ok), slowest)
    without = [k for k, one in enumerate(found) if one.proof and one.proof.separable is False]
    first = without[0] if without else None
    return Hard(witness, gap, shown.outcome, None if first is None else found[first].proof, first)


def scaled_witness(problem: Problem, rows: Any, shares: Any) -> Witness:
    """The machine of convex weights of the rows: alpha, and w and b with least y f(x) = 1."""
    alpha = np.zeros(problem.n)
    alpha[np.asarray(rows, dtype=np.int64)] = np.maximum(np.asarray(shares, dtype=np.float64), 0.0)
    positive = problem.sign > 0
    sides = (positive, ~positive) if problem.fit_intercept else (np.ones(problem.n, dtype=bool),)
    for side in sides:
        total = float(alpha[side].sum())
        alpha[side] /= total if total > 0 else 1.0
    w = row_sum(problem, alpha * problem.sign)
    squared = float(w @ w)
    if not squared > 0:
        return Witness(a=np.zeros(problem.d + 1))
    scale = len(sides) / squared
    w, alpha = w * scale, alpha * scale
    scores = problem.product(w)
    b = 0.0
    if problem.fit_intercept:
        b = -0.5 * float(scores[positive].min() + scores[~positive].max())
    least = float((problem.sign * (scores + b)).min())
    factor = 1.0 / least if least > 0.5 else 1.0
    kept = np.flatnonzero(alpha)
    return Witness(a=np.append(w, b) * factor, rows=kept, multipliers=alpha[kept], claim="dual")


def _finished(problem: Problem, witness: Witness, objective: Objective) -> Witness:
    """The last digits of a small machine: with C above all alpha, soft and hard agree."""
    if problem.n > 2000 or problem.n * problem.d > 100_000:
        return witness
    top = 100.0 * float(witness.multipliers.max()) / float(problem.weight.min())
    done = polish(problem, witness, top, "hinge")
    better = measure(problem, done, objective).gap <= measure(problem, witness, objective).gap
    return done if better else witness
