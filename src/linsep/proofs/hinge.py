"""The duality gap of a support vector machine, recomputed from (w, b, alpha) alone.

P(w, b) = |w|^2 / 2 + sum_i c_i L(1 - y_i f(x_i)) is the value of a model, and for every dual
point alpha >= 0 that is feasible

    D(alpha) = sum alpha_i - |v|^2 / 2 - sum c_i L*(alpha_i / c_i),   v = sum alpha_i y_i x_i

is a lower bound of the best value there is. Nothing is taken on trust: alpha is put into its
box and, for an unpenalised intercept, the heavier class is scaled down until sum alpha_i y_i
vanishes. All rounding errors are bounded and taken off, so the bound holds for real numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import PROOF_THREADS
from linsep.core.lanes import run_all
from linsep.core.problem import Problem, against_rest
from linsep.core.protocol import Witness
from linsep.losses.hinge import HINGE, QuadraticLoss
from linsep.numerics.rounding import SUM, U
from linsep.proofs.gap import Gap, balanced, intercept_words
from linsep.proofs.margins import margin_above, margin_below
from linsep.proofs.plain import (
    Totals,
    by_values,
    cap,
    dual_cost,
    losses,
    one_pass,
    planes,
    signs,
)
from linsep.proofs.rivals import gap_of_witness
from linsep.proofs.sharp import sharp_sums
from linsep.proofs.witness import hold_hulls, hold_plane
from linsep.rows.reader import survey

Array = NDArray[np.float64]

_BLURRED = 0.1  # share of a gap owed to rounding from which sums are taken more exactly,
_CLEAR = 1e-8  # if this share of the objective is owed
_TIGHT = 1e-9  # relative gap of a hard margin below which floats have told enough


@dataclass(frozen=True)
class Objective:
    """|w|^2 / 2 + sum_i C s_i L(1 - y_i f(x_i)), times scale.

    intercept says how b enters: "free" (not penalised), "none", or "penalised", where the
    model has a constant feature of value ``constant`` whose weight b / constant counts in |w|.
    """

    loss: QuadraticLoss = HINGE
    C: float = 1.0
    intercept: str = "free"
    constant: float = 1.0
    scale: float = 1.0

    def words(self, *, weighted: bool = False) -> str:
        """The objective as a sentence; weighted: the rows have weights."""
        power = f"weighted {self.loss.words}" if weighted else self.loss.words
        b = intercept_words(self.intercept, self.constant)
        if np.isinf(self.C):
            return f"|w|^2 / 2 with y f(x) >= 1 for all rows; {b}"
        terms = f"|w|^2 / 2 + {self.C:.6g} x sum of {power} losses"
        if self.scale != 1.0:
            terms = f"{self.scale:.6g} x ({terms})"
        return f"{terms}; {b}"


def hinge_gap(problem: Problem, witness: Witness, objective: Objective) -> Gap:
    """Bounds for the weights ``witness.a`` from the dual point ``witness.multipliers``.

    Any multipliers will do: they are made feasible first. Poor ones give a poor bound.
    """
    a = planes(problem, witness.a)[0]
    alpha = np.zeros(problem.n)
    alpha[witness.rows] = witness.multipliers
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows proves nothing
        cost = objective.C * problem.weight
        alpha, slack = feasible(signs(problem) > 0, objective, cost, alpha)
        totals = one_pass(problem, a, alpha)
        high = (_hard_primal if np.isinf(objective.C) else _primal)(objective, cost, a, totals)
        low, blur = _dual(objective, cost, alpha, slack, totals, problem)
        if blur > _BLURRED * (high - low) > _CLEAR * high:
            low = max(low, _sharp(objective, cost, alpha, problem))
        if np.isinf(objective.C) and not low >= (1 - _TIGHT) * high:
            high, low = _by_margins(problem, objective, witness, high, low)
    high = high if high == high else np.inf
    low = low if np.isfinite(low) else 0.0
    words = objective.words(weighted=bool((problem.weight != 1.0).any()))
    high, low = objective.scale * high, objective.scale * low
    return Gap.of(totals.values, float(np.linalg.norm(a[:-1])), high, low, words, float(a[-1]))


def feasible(
    positive: NDArray[np.bool_], objective: Objective, cost: Array, alpha: Array
) -> tuple[Array, float]:
    """alpha in its box and balanced, and the relative error of its entries.

    positive says which rows are of the positive class.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(alpha.sum())
    if not finite:
        np.nan_to_num(alpha, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
    np.clip(alpha, 0.0, cap(objective.loss, cost), out=alpha)
    if objective.intercept != "free":
        return alpha, 0.0
    return balanced(alpha, positive)


def _primal(objective: Objective, cost: Array, a: Array, totals: Totals) -> float:
    """Upper bound of P(w, b)."""
    d = len(a) - 1
    squared = float(a[:-1] @ a[:-1])
    if objective.intercept == "penalised":
        squared += (float(a[-1]) / objective.constant) ** 2
    half = 0.5 * squared * (1 + (d + 8) * U)
    return float((half + losses_above(objective.loss, cost, a, totals)) * (1 + 8 * U))


def losses_above(loss: QuadraticLoss, cost: Array, a: Array, totals: Totals) -> float:
    """Upper bound of the sum of c_i L(u_i), u_i = 1 - y_i f(x_i).

    u_i is off by at most e_i = (d + 4) u (sum_j |x_ij w_j| + |b| + 2); the sum of c_i e_i is
    bounded column by column: sum_i c_i |x_ij| <= |c| |column j|. L changes by at most top e, and
    where it is curved by at most L'(u) e + e^2 / (4 q).
    """
    step = (len(a) + 3) * U
    reach, offset = float(np.abs(a[:-1]) @ totals.columns), 2.0 + abs(float(a[-1]))
    worst = step * (reach + offset)
    u = 1.0 - totals.values
    total = float((cost * losses(loss, u)).sum())
    most = float(cost.max())
    if most * worst * len(u) > 1e-9 * total:  # rows that are certainly 0 owe nothing
        live = u > -worst
        u, cost = u[live], cost[live]
    steep = cap(loss, cost) if loss.kinked else cost * loss.slope(u)
    off = step * (float(np.linalg.norm(steep)) * reach + float(steep.sum()) * offset)
    if not loss.kinked:
        off += worst * worst * float(cost.sum()) / (4.0 * loss.q)
    return total * (1 + SUM + 8 * U) + off * 1.001


def _hard_primal(objective: Objective, cost: Array, a: Array, totals: Totals) -> float:
    """|w|^2 / 2 once w is long enough for y f(x) >= 1 everywhere; inf if a row is wrong."""
    length = float(np.linalg.norm(a[:-1]))
    reach = float(np.abs(a[:-1]) @ totals.columns)
    off = (len(a) + 3) * U * (reach + abs(float(a[-1])) + 2.0)
    least = float(totals.values.min()) - off
    if not least > 0:
        return np.inf
    return 0.5 * (length / least) ** 2 * (1 + (len(a) + 16) * U)


def _by_margins(
    problem: Problem, objective: Objective, witness: Witness, high: float, low: float
) -> tuple[float, float]:
    """Bounds of a hard margin as a verdict of separability has them, exact where need be.

    A machine with y f(x) >= 1 everywhere has the margin 1 / |w|, so |w|^2 / 2 = 1 / (2 margin^2).
    Multipliers may be Fractions: points of two hulls that almost touch need them.
    """
    if objective.intercept == "penalised":
        return high, low
    if np.isfinite(witness.a).all() and witness.a[:-1].any():
        below = margin_below(problem, witness.a[:-1], witness.a[-1])
        if below > 0:
            hold_plane(problem, witness.a[:-1], witness.a[-1], margin=below)
            high = min(high, 0.5 / below / below * (1 + 8 * U))
    size = np.asarray(witness.multipliers, dtype=np.float64)
    used = np.flatnonzero((size > 0) & np.isfinite(size))
    rows, shares = witness.rows[used], witness.multipliers[used]
    both = len(np.unique(problem.label[rows])) == 2
    if len(rows) and (both or objective.intercept == "none"):
        above = margin_above(problem, rows, shares)
        if above > 0:
            hold_hulls(problem, rows, shares, above)
            low = max(low, 0.5 / above / above * (1 - 8 * U))
    return high, low


def _dual(
    objective: Objective,
    cost: Array,
    alpha: Array,
    slack: float,
    totals: Totals,
    problem: Problem,
) -> tuple[float, float]:
    """Lower bound of D(alpha), at least the value 0 of alpha = 0, and what it owes to rounding."""
    linear = float(alpha.sum()) * (1 - slack - SUM)
    v = totals.v
    error = (totals.terms * U + slack) * float(np.linalg.norm(alpha)) * 1.001 * totals.columns
    size = np.abs(v) + error
    squared = float(size @ size) * (1 + (len(v) + 8) * U)
    if objective.intercept == "penalised":
        balance = float(alpha @ signs(problem))
        balance = abs(balance) + problem.n * U * float(alpha.sum())
        squared += (balance * objective.constant) ** 2
    bound = linear - 0.5 * squared * (1 + 8 * U) - _curved(objective, cost, alpha, slack)
    blur = float(error @ (np.abs(v) + size)) / 2
    # the last factor pays for C s_i rounded in the box
    return max(bound - 8 * U * abs(bound), 0.0), blur


def _curved(objective: Objective, cost: Array, alpha: Array, slack: float) -> float:
    """At least the conjugates of the losses, alpha being in its box."""
    if np.isinf(objective.C):
        return 0.0
    return dual_cost(objective.loss, alpha, cost) * (1 + 2 * slack + SUM + 8 * U)


def _sharp(objective: Objective, cost: Array, alpha: Array, problem: Problem) -> float:
    """The same bound from sums that are rounded once; 0 where that is not possible."""
    if objective.intercept == "penalised":
        return 0.0
    bound = sharp_dual(problem, alpha, free=objective.intercept == "free")
    if bound is None:
        return 0.0
    bound -= _curved(objective, cost, alpha, 0.0)
    return bound - 8 * U * abs(bound)


def sharp_dual(problem: Problem, alpha: Array, *, free: bool) -> float | None:
    """A lower bound of sum alpha_i - |sum alpha_i y_i x_i|^2 / 2; None where it is not tried.

    free asks for a balanced alpha, see ``sharp_sums``.
    """
    found = sharp_sums(problem, alpha, free=free)
    if found is None:
        return None
    return found.total * (1 - 8 * U) - 0.5 * found.squared - 8 * U * float(alpha.sum())


def svm_gap(problem: Problem, witness: Witness, objective: Objective, kind: str) -> Gap:
    """The gap of a binary machine, or of K of them, one class against the rest."""
    if problem.binary:
        return hinge_gap(problem, witness, objective)
    if kind == "crammer-singer":
        return gap_of_witness(problem, witness, objective.C)
    blocks = witness.a.reshape(problem.K, -1)
    part_of, row = np.divmod(witness.rows, problem.n)
    order = np.argsort(part_of, kind="stable")  # once: K looks at all would be K times as long
    edges = np.searchsorted(part_of[order], np.arange(problem.K + 1))
    survey(problem)  # made once, for all parts

    known: dict[int, Gap] = {}  # by what each has put there itself

    def part(k: int) -> None:
        own = order[edges[k] : edges[k + 1]]
        found = Witness(a=blocks[k], rows=row[own], multipliers=witness.multipliers[own])
        known[k] = hinge_gap(against_rest(problem, k), found, objective)

    size = problem.matrix.nnz if problem.sparse else problem.n * problem.d
    run_all([partial(part, k) for k in range(problem.K)], 1 if size < PROOF_THREADS else None)
    parts = [known[k] for k in range(problem.K)]

    def wrong(lo: int, hi: int, leads: Array) -> int:
        return int((~(leads.reshape(hi - lo, -1) > 0).all(axis=1)).sum())

    errors = sum(by_values(problem, witness.a, wrong))
    return Gap.together(parts, errors, "one class against the rest")
