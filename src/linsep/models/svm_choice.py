"""Which solver for which data, and why."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.drive import Outcome, drive
from linsep.core.limits import Limits
from linsep.core.problem import Problem, against_rest, each_against_rest
from linsep.core.protocol import Solver, Status, Witness
from linsep.core.words import percent
from linsep.errors import SettingError
from linsep.losses.hinge import HINGE, QuadraticLoss
from linsep.proofs.gap import Gap
from linsep.proofs.hinge import Objective, hinge_gap, svm_gap
from linsep.proofs.margins import margin_below
from linsep.proofs.separable import Proof
from linsep.solvers.hinge.crammer_singer import CrammerSinger
from linsep.solvers.hinge.dual_cd import DualCD
from linsep.solvers.hinge.dual_point import row_sum
from linsep.solvers.hinge.interior import InteriorHinge
from linsep.solvers.hinge.newton import UNPACKED, NewtonHinge
from linsep.solvers.hinge.newton_machine import NewtonMachine
from linsep.solvers.hinge.polish import polish
from linsep.solvers.hinge.proximal import ProximalNewton
from linsep.solvers.hinge.wide import WideHinge
from linsep.solvers.hulls.nearest import NearestHulls
from linsep.solvers.one_vs_rest import OneVsRest

SOLVERS = ("newton", "dual-cd", "proximal-newton", "interior-point")

_FEW_COLUMNS = 1500  # a Newton system of this width is factored in a blink
_MOST_COLUMNS = 12_000  # and of this width it still fits into memory, a gigabyte
_FEW_ROWS = 1000  # or columns, with which interior points are found in a second,
_ENTRIES = 20_000_000  # and of so many entries, as they need a copy
_MANY_SCORES = 5_000_000  # rows times classes from which scores of all are not kept
_DENSE = 0.15  # share of entries from which a sparse matrix is best read in dense blocks
_UNPACKED_DENSE = 0.25  # and from which one small enough is written out
_WRITTEN_OUT = 200  # columns from which a dense table of zeros is worked on like a sparse one


def is_small(problem: Problem) -> bool:
    """Small enough to be solved to the last digits at no cost worth speaking of."""
    return problem.n <= 2000 and problem.n * problem.d <= 100_000


def choose_solver(
    problem: Problem,
    name: str,
    *,
    C: float,
    loss: QuadraticLoss,
    tol: float,
    seed: int,
    threads: int | None,
    multi_class: str,
    reason: str = "as asked",
) -> tuple[Solver[Any], str]:
    """The solver and the reason in words."""
    if name == "auto":
        name, reason = _by_shape(problem)
    if multi_class == "crammer-singer" and not problem.binary:
        return _machine(problem, name, reason, C, tol, seed)
    columns = min(problem.n, problem.d) if name == "interior-point" else problem.d
    if name in ("newton", "interior-point") and columns > _MOST_COLUMNS:
        raise SettingError(
            f"solver={name!r} factors a matrix with a row and a column for each of the "
            f"{columns} {'columns' if columns == problem.d else 'rows'} of X, "
            f"{8e-9 * columns**2:.0f} GB. Leave solver at 'auto', or "
            "use 'proximal-newton' or 'dual-cd'."
        )
    common: dict[str, Any] = {"C": C, "loss": loss, "tol": tol, "seed": seed}
    solver: Any
    if name == "interior-point":
        solver, words = InteriorHinge(C, loss, tol), "interior point method"
    elif name == "newton":
        inner = threads if problem.binary else 1
        solver, words = NewtonHinge(**common, threads=inner), "Newton on a rounded hinge"
    elif name == "dual-cd":
        solver, words = DualCD(**common), "dual coordinate descent"
    elif name == "wide":  # of the choices here, none to ask for
        solver = WideHinge(**common, threads=threads if problem.binary else 1)
        words = "dual coordinate descent, then interior points if that is slow"
    else:
        solver = ProximalNewton(**common, threads=threads if problem.binary else 1)
        words = "dual coordinate descent, then proximal Newton steps if that is slow"
    if problem.binary:
        return solver, f"{words} ({reason})"
    return OneVsRest(solver, threads), f"{words} ({reason}), one class against the rest"


def _machine(
    problem: Problem, name: str, reason: str, C: float, tol: float, seed: int
) -> tuple[Solver[Any], str]:
    """One loss for all classes."""
    weights = problem.K * (problem.d + 1)
    few = weights <= _FEW_COLUMNS and problem.n * problem.K <= _MANY_SCORES
    if name == "interior-point" and reason == "as asked":
        raise SettingError(
            "solver='interior-point' does not exist for multi_class='crammer-singer'; leave "
            "solver at 'auto', or use 'newton'."
        )
    if name in ("newton", "interior-point") and (few or reason == "as asked"):
        return NewtonMachine(C, tol), f"Newton for one loss of all classes ({reason})"
    return CrammerSinger(C, tol, seed), "dual coordinate descent for one loss of all classes"


def _by_shape(problem: Problem) -> tuple[str, str]:
    n, d = problem.n, problem.d
    size = problem.matrix.nnz if problem.sparse else n * d
    share = size / (n * d)
    few = d <= _FEW_COLUMNS
    if is_small(problem):
        return "interior-point", f"a small table, {n} x {d}"
    if few and n >= 2 * d and not problem.sparse and _mostly_zero(problem):
        return "proximal-newton", f"tall, {n} x {d}, and mostly zeros"
    if few and n >= 2 * d and share >= (_DENSE if n * d > UNPACKED else _UNPACKED_DENSE):
        kind = "tall" if not problem.sparse else f"tall and {100 * share:.0f} % full"
        return "newton", f"{kind}, {n} x {d}"
    if problem.sparse:
        return "proximal-newton", f"sparse, {n} x {d} with {percent(share)} of the entries"
    inside = min(n, d) <= _FEW_ROWS and size <= _ENTRIES
    return "wide" if inside else "proximal-newton", f"wide, {n} x {d}"


def _mostly_zero(problem: Problem) -> bool:
    """Whether a dense table of many columns is a sparse one written out, by some of its rows."""
    if problem.d < _WRITTEN_OUT:
        return False
    some = problem.matrix[:: max(1, problem.n // 256)]
    return bool(np.count_nonzero(some) < 0.1 * some.size)


# -- The hard margin: the plane of maximum margin, or the proof that there is none ----------------
#
# The machine with C = inf is the plane halfway between the points of the two hulls that are
# nearest each other (without an intercept: the point of the hull of the reflected rows nearest
# the origin). With p - q the difference of these points, w = 2 (p - q) / |p - q|^2 and alpha_i is
# the share of row i in its point times 2 / |p - q|^2.


Array = NDArray[np.float64]

_EXACT = 20_000  # entries of the rows that span two nearest points: fractions take no time
_AT_ONE = 1e-9  # as near the nearest row of a hard margin may be to 1


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
    from linsep.separating.verdict import separability

    outcome = drive(problem, hull_search(tol), state, limits=limits, observers=observers)
    objective = Objective(HINGE, np.inf, "free" if problem.fit_intercept else "none")
    witness = scaled_witness(problem, outcome.witness.rows, outcome.witness.multipliers)
    gap = hinge_gap(problem, witness, objective)
    if gap.relative_gap <= tol:
        return Hard(_finished(problem, witness, objective), gap, outcome)
    if outcome.status in (Status.TIME_LIMIT, Status.STEP_LIMIT, Status.STOPPED):
        return Hard(witness, gap, outcome)
    labels = problem.classes[problem.label]
    proof = separability(
        problem.matrix, labels, fit_intercept=problem.fit_intercept, time_limit=limits.seconds
    )
    if proof.separable and len(proof.hull_rows):
        witness = _proved_witness(problem, proof)
        return Hard(witness, hinge_gap(problem, witness, objective), outcome)
    if proof.separable is False:  # a usable plane all the same: the soft margin of C = 1
        soft = drive(problem, NewtonHinge(C=1.0, tol=tol), limits=limits).witness
        witness = Witness(a=soft.a)
        gap = hinge_gap(problem, witness, objective)
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
    objective = Objective(HINGE, np.inf, "free" if problem.fit_intercept else "none")
    gap = svm_gap(problem, witness, objective, "one-vs-rest")
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


def at_one(problem: Problem, witness: Witness) -> Witness:
    """Hard margins as long as their objective says: the nearest row of each has y f(x) = 1.

    A plane with a row on its wrong side has no such length and stays as it is.
    """
    parts = [problem] if problem.binary else each_against_rest(problem)
    a = witness.a.reshape(len(parts), -1).copy()
    for part, plane in zip(parts, a):
        length = float(np.linalg.norm(plane[:-1]))
        least = length * margin_below(part, plane[:-1], plane[-1]) if 0 < length < np.inf else 0.0
        if least > 0 and abs(least - 1.0) > _AT_ONE and np.isfinite(plane / least).all():
            plane /= least
    return replace(witness, a=a.ravel())


def _proved_witness(problem: Problem, proof: Proof) -> Witness:
    """The machine of a verdict: its plane with least y f(x) = 1, and the points of its hulls."""
    assert proof.coef is not None
    low, high = proof.margin
    a = np.append(np.ravel(proof.coef), np.ravel(proof.intercept)).astype(np.float64)
    a = a / low / float(np.linalg.norm(a[:-1]))
    later = problem.classes[problem.label] == proof.classes[1]
    a *= problem.sign[later][0]  # of class k against the rest either may come first
    rows, shares = proof.hull_rows, np.array(proof.hull_weights)
    if len(rows) * problem.d <= _EXACT:  # hulls may be nearer than their shares are rounded
        shares = np.array([Fraction(share) for share in shares.tolist()], dtype=object)
    sides = [problem.sign[rows] > 0, problem.sign[rows] < 0]
    if not problem.fit_intercept:
        sides = [np.ones(len(rows), dtype=bool)]
    for side in sides:  # shares of Fractions stay Fractions
        total = sum(shares[side].tolist())
        shares[side] *= type(total)(1.0 / len(sides) / high / high) / total
    return Witness(a=a, rows=rows, multipliers=shares, claim="dual")


def _finished(problem: Problem, witness: Witness, objective: Objective) -> Witness:
    """The last digits of a small machine: with C above all alpha, soft and hard agree."""
    if problem.n > 2000 or problem.n * problem.d > 100_000:
        return witness
    top = 100.0 * float(witness.multipliers.max()) / float(problem.weight.min())
    done = polish(problem, witness, top, HINGE)
    better = hinge_gap(problem, done, objective).gap <= hinge_gap(problem, witness, objective).gap
    return done if better else witness
