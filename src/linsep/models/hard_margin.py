"""The hard margin (C = inf): the plane of maximum margin, or the proof that there is none.

It is the plane halfway between the points of the two hulls that are nearest each other (without
an intercept: the point of the hull of the reflected rows nearest the origin). With p - q the
difference of these points, w = 2 (p - q) / |p - q|^2 and alpha_i is the share of row i in its
point times 2 / |p - q|^2.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.drive import Outcome, drive
from linsep.core.limits import Limits, spare_time
from linsep.core.problem import Problem, against_rest, each_against_rest
from linsep.core.protocol import Status, Witness
from linsep.losses.hinge import HINGE
from linsep.models.fit import left_out
from linsep.numerics.integers import solve_seconds, to_integers
from linsep.numerics.rounding import AT_ONE
from linsep.proofs import plain
from linsep.proofs.gap import Gap
from linsep.proofs.hinge import Objective, hinge_gap, svm_gap
from linsep.proofs.margins import margin_above, margin_below
from linsep.proofs.separable import Proof
from linsep.rows.exact import reflected
from linsep.separating.planes import rational_planes
from linsep.separating.verdict import separability
from linsep.solvers.hinge.dual_point import row_sum
from linsep.solvers.hinge.newton import NewtonHinge
from linsep.solvers.hinge.polish import polish
from linsep.solvers.hulls.exact import ExactHulls
from linsep.solvers.hulls.nearest import NearestHulls

Array = NDArray[np.float64]

_FRACTIONS = 20_000  # entries of the rows that span two nearest points: fractions take no time
_NEAR = 1e-6  # relative gap of a machine whose last digits are worth having
_ROUNDING = 1e-9  # relative gaps below it are lost and won by rounding alone
_SECONDS = 0.5  # of one system in fractions
_CYCLES = 4  # such systems, or many small ones
_TOO_LONG = 1e-6  # beyond 1 the nearest row is not, in whatever way it is looked at


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
    outcome = drive(problem, hull_search(tol), state, limits=limits, observers=observers)
    objective = Objective(HINGE, np.inf, "free" if problem.fit_intercept else "none")
    witness = scaled_witness(problem, outcome.witness.rows, outcome.witness.multipliers)
    gap = hinge_gap(problem, witness, objective)
    near = gap.relative_gap <= max(tol, _NEAR)  # the same last digits, whatever tol is
    if near:
        witness = _finished(problem, witness, objective)
    if gap.relative_gap <= tol:
        return Hard(witness, gap, outcome)
    if outcome.status in (Status.TIME_LIMIT, Status.STEP_LIMIT, Status.STOPPED):
        return Hard(witness, gap, outcome)
    labels = problem.classes[problem.label]
    proof = separability(
        problem.matrix, labels, fit_intercept=problem.fit_intercept, time_limit=limits.seconds
    )
    if proof.separable and len(proof.hull_rows):
        proved = _proved_witness(problem, proof)
        known, other = (hinge_gap(problem, one, objective) for one in (witness, proved))
        if near and not other.relative_gap < 0.5 * known.relative_gap:  # rounding is all there is
            proved, other = witness, known
        if other.relative_gap > max(tol, _ROUNDING):
            exact = _in_fractions(problem, proof, tol, limits)
            gap = other if exact is None else hinge_gap(problem, exact, objective)
            if exact is not None and gap.relative_gap < other.relative_gap:
                return Hard(exact, gap, outcome)
        return Hard(proved, other, outcome)
    if proof.separable is False:  # a usable plane all the same: the soft margin of C = 1
        soft = drive(problem, NewtonHinge(C=1.0, tol=tol), limits=limits).witness
        witness = Witness(a=soft.a)
        gap = hinge_gap(problem, witness, objective)
    return Hard(witness, gap, outcome, proof)


def hard_machines(
    problem: Problem,
    tol: float,
    limits: Limits,
    observers: Any = (),
    begun: int | None = None,
    state: Any = None,
) -> Hard:
    """One hard machine for each class against the rest, first that of the class which was begun.

    Each may take its share of the time that is left; once there is none, the others are zero. The
    proof, if there is one, is that of the first class that no plane cuts off.
    """
    begin = time.perf_counter()
    each: dict[int, Hard] = {}
    last: Hard | None = None
    for k in sorted(range(problem.K), key=lambda k: k != begun):
        rest = limits.seconds
        if rest is not None:
            rest = max(rest - (time.perf_counter() - begin), 0.0)
        if last is not None and (rest == 0.0 or last.outcome.interrupted):
            ended = left_out(last.outcome)  # whatever the last one came to
            each[k] = replace(last, witness=_nothing(problem), outcome=ended, proof=None)
            continue
        share = None if rest is None else rest / (problem.K - len(each))
        within, at = replace(limits, seconds=share), state if k == begun else None
        each[k] = last = hard_machine(against_rest(problem, k), tol, within, observers, at)
    found = [each[k] for k in range(problem.K)]
    witness = Witness(
        a=np.concatenate([one.witness.a for one in found]),
        rows=np.concatenate([k * problem.n + one.witness.rows for k, one in enumerate(found)]),
        multipliers=np.concatenate([one.witness.multipliers for one in found]),
        claim="dual",
    )
    objective = Objective(HINGE, np.inf, "free" if problem.fit_intercept else "none")
    gap = svm_gap(problem, witness, objective, "one-vs-rest")
    longest = max(found, key=lambda one: one.outcome.steps)  # no clock: a fit repeats its numbers
    shown = next((one for one in found if not one.outcome.status.ok), longest)
    without = [k for k, one in enumerate(found) if one.proof and one.proof.separable is False]
    first = without[0] if without else None
    return Hard(witness, gap, shown.outcome, None if first is None else found[first].proof, first)


def _nothing(problem: Problem) -> Witness:
    """Of a class that nobody has looked at."""
    none = np.zeros(0)
    return Witness(np.zeros(problem.d + 1), none.astype(np.int64), none, claim="dual")


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


def at_one(problem: Problem, witness: Witness) -> Witness:
    """Hard margins as long as their objective says: the nearest row of each has y f(x) = 1.

    A plane with a row on its wrong side has no such length and stays as it is.
    """
    parts = [problem] if problem.binary else each_against_rest(problem)
    a = witness.a.reshape(len(parts), -1).copy()
    for part, plane in zip(parts, a):
        length = float(np.linalg.norm(plane[:-1]))
        least = length * margin_below(part, plane[:-1], plane[-1]) if 0 < length < np.inf else 0.0
        if least > 0 and abs(least - 1.0) > AT_ONE and np.isfinite(plane / least).all():
            plane /= least
        nearest = float(plain.values(part, plane).min())
        if nearest > 1 + _TOO_LONG and _rounded(part, plane) < 0.1 * _TOO_LONG:
            plane /= nearest
    return replace(witness, a=a.ravel())


def _rounded(problem: Problem, plane: Array) -> float:
    """How far rounding may move w.x + b of a row."""
    X = problem.matrix if isinstance(problem.matrix, np.ndarray) else problem.matrix.data
    largest = max(float(X.max(initial=0.0)), -float(X.min(initial=0.0)))
    size = largest * float(np.abs(plane[:-1]).sum()) + abs(float(plane[-1]))
    return 2.0**-52 * problem.d * size


def _proved_witness(problem: Problem, proof: Proof) -> Witness:
    """The machine of a verdict: its plane with least y f(x) = 1, and the points of its hulls."""
    assert proof.coef is not None
    a = np.append(np.ravel(proof.coef), np.ravel(proof.intercept)).astype(np.float64)
    later = problem.classes[problem.label] == proof.classes[1]
    a *= problem.sign[later][0]  # of class k against the rest either may come first
    return _at_margins(problem, a, proof.hull_rows, np.array(proof.hull_weights), proof.margin)


def _at_margins(
    problem: Problem, a: Array, rows: Any, shares: NDArray[Any], margin: tuple[float, float]
) -> Witness:
    """The machine of a plane and of convex weights of rows, which bound the margin so."""
    low, high = margin
    a = a / low / float(np.linalg.norm(a[:-1]))
    if len(rows) * problem.d <= _FRACTIONS:  # hulls may be nearer than their shares are rounded
        shares = np.array([Fraction(share) for share in shares.tolist()], dtype=object)
    sides = [problem.sign[rows] > 0, problem.sign[rows] < 0]
    if not problem.fit_intercept:
        sides = [np.ones(len(rows), dtype=bool)]
    for side in sides:  # shares of Fractions stay Fractions
        total = sum(shares[side].tolist())
        shares[side] *= type(total)(1.0 / len(sides) / high / high) / total
    return Witness(a=a, rows=rows, multipliers=shares, claim="dual")


def _in_fractions(problem: Problem, proof: Proof, tol: float, limits: Limits) -> Witness | None:
    """The nearest points in rational numbers, from those of a verdict; None where that takes long.

    Where rows of very different lengths span the points, products in floats lose more digits of
    their small difference than tol leaves.
    """
    rows = proof.hull_rows
    work = solve_seconds(to_integers(reflected(problem, rows)).table)
    if work > min(_SECONDS, spare_time()):
        return None
    solver: Any = ExactHulls(tol=0.25 * tol)
    start = solver.init(problem.lent, start=(rows, np.array(proof.hull_weights, dtype=float)))
    state = drive(problem, solver, start, limits=limits.at_most(_CYCLES * _SECONDS)).state
    if not state.status.ok or not any(state.point):
        return None
    plane = next(rational_planes(problem, state.normal, lambda *_: None))
    a = problem.join(*(np.asarray(part, dtype=np.float64) for part in plane))
    kept, shares = np.array(state.rows), np.array(state.multipliers, dtype=object)
    margin = margin_below(problem, a[:-1], a[-1]), margin_above(problem, kept, shares)
    return _at_margins(problem, a, kept, shares, margin) if min(margin) > 0 else None


def _finished(problem: Problem, witness: Witness, objective: Objective) -> Witness:
    """The last digits of a small machine: with C above all alpha, soft and hard agree."""
    if problem.n > 2000 or problem.n * problem.d > 100_000:
        return witness
    top = 100.0 * float(witness.multipliers.max()) / float(problem.weight.min())
    done = polish(problem, witness, top, HINGE)
    better = hinge_gap(problem, done, objective).gap <= hinge_gap(problem, witness, objective).gap
    return done if better else witness
