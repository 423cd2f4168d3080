"""The duality gap of the machine of Crammer and Singer, recomputed from (W, b, alpha).

P(W, b) = |W|^2 / 2 + sum c_i max(0, 1 + max over rivals of (f_r(x_i) - f_y(x_i))) and, for dual
variables beta_ir >= 0 of row i against rival r with sum over r at most c_i,

    D(beta) = sum beta_ir - |V|^2 / 2,   V_m = sum alpha_im x_i,

alpha_im = -beta_im for a rival m and the sum of the beta_ir for the own class. Free intercepts
ask for sum over i of alpha_im = 0 for every class: the flow between classes, F_mr = sum of
beta_ir over the rows of class m, must return to where it came from. The largest share of the
flow that does so is a small linear programme. What rounding leaves of it, R_m, costs no more
than sum |R_m| times a bound on how far the best intercepts can lie from each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.losses.rivals import balanced_shares
from linsep.numerics.rounding import U
from linsep.proofs.gap import Gap
from linsep.proofs.plain import by_values, combination

Array = NDArray[np.float64]


def gap_of_witness(problem: Problem, witness: Witness, C: float) -> Gap:
    """Bounds for a witness: minus the dual variables of rivals, plus that of the own class."""
    if not witness.multipliers.any():
        return rivals_gap(problem, witness.a, None, C)
    part, row = np.divmod(witness.rows, problem.n)
    alpha = np.zeros((problem.n, problem.K))
    alpha[row, part] = np.where(problem.label[row] == part, 1.0, -1.0) * witness.multipliers
    return rivals_gap(problem, witness.a, alpha, C)


def rivals_gap(problem: Problem, a: Array, alpha: Array | None, C: float) -> Gap:
    """Bounds for weights a of K classes from dual variables alpha of shape (n, K), if any."""
    cost, low = C * problem.weight, 0.0

    def lead(lo: int, hi: int, leads: Array) -> Array:
        return np.asarray(leads.reshape(hi - lo, -1).min(axis=1))

    values = np.concatenate(by_values(problem, a, lead))
    coef, intercept = problem.split(a)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows proves nothing
        length = float(np.linalg.norm(coef))
        # scores are off by (d + 4) u (|x| |w| + |b|), the difference of two by twice that: rows
        # that are further beyond the street have no loss for sure
        reach = np.sqrt(problem.squared_lengths) * length + 2.0 + float(np.abs(intercept).max())
        off = 4 * (problem.d + 4) * U * (1 + 1e-9) * reach
        losses = float((cost * np.maximum(1.0 - values + off, 0.0)).sum())
        high = (0.5 * length * length + losses) * (1 + (problem.d * problem.K + 80) * U)
        high = high if high == high else np.inf
        if alpha is not None:
            low = _below(problem, _feasible(problem, alpha, cost), cost, high)
    offset = float(np.linalg.norm(intercept))
    return Gap.of(values, length, high, max(low, 0.0), _words(problem, C, cost), offset)


def _words(problem: Problem, C: float, cost: Array) -> str:
    weighted = "weighted " if (cost != C).any() else ""
    offsets = "the intercepts are not penalised" if problem.fit_intercept else "no intercept"
    return (
        f"|W|^2 / 2 + {C:.6g} x sum of {weighted}losses max(0, 1 - (own score - best rival)); "
        f"{offsets}"
    )


def _feasible(problem: Problem, alpha: Array, cost: Array) -> Array:
    """beta of every row and rival, not negative, in the box of the row, flowing back."""
    K = problem.K
    beta = np.maximum(-np.nan_to_num(alpha), 0.0)
    beta[np.arange(problem.n), problem.label] = 0.0
    if problem.fit_intercept:  # nothing can flow back from a class without rows
        beta[:, np.bincount(problem.label, minlength=K) == 0] = 0.0
    total = beta.sum(axis=1)
    over = total > cost
    beta[over] *= (cost[over] / total[over] * (1 - 4 * K * U))[:, None]
    if problem.fit_intercept:
        flow = np.stack([beta[problem.label == m].sum(axis=0) for m in range(K)])
        shares = np.clip(np.nan_to_num(balanced_shares(flow)), 0.0, 1.0)  # whatever they are
        beta *= shares[problem.label]
    return beta


def _below(problem: Problem, beta: Array, cost: Array, high: float) -> float:
    """D(beta) rounded down, less what is left of the balance; 0 where numbers overflow."""
    alpha = -beta
    alpha[np.arange(problem.n), problem.label] = beta.sum(axis=1)
    low = float(beta.sum()) * (1 - (64 + 2 * problem.K) * U)
    low -= 0.5 * _squared(problem, alpha)
    if problem.fit_intercept:
        low -= _remainder(problem, alpha, cost, high)
    return low if np.isfinite(low) else 0.0


def _squared(problem: Problem, alpha: Array) -> float:
    """|V|^2 rounded up."""
    frobenius = float(np.sqrt(problem.squared_lengths.sum())) * (1 + 1e-9)
    V, terms = combination(problem, alpha)
    error = (terms + problem.K + 4) * U * float(np.linalg.norm(alpha)) * frobenius
    size = float(np.linalg.norm(V)) * (1 + (V.size + 8) * U) + error
    return size * size


def _remainder(problem: Problem, alpha: Array, cost: Array, high: float) -> float:
    """What an imperfect balance can cost: sum |R_m| times the reach of the intercepts."""
    rest = np.abs(alpha.sum(axis=0)) + 2 * problem.n * U * np.abs(alpha).sum(axis=0)
    most = min(float(cost.sum()), high)  # of the weights 0, and of ours: the best has no more
    longest = float(np.sqrt(problem.squared_lengths.max()))
    reach = most / float(cost.min()) + 1.0 + 2.0 * np.sqrt(2.0 * most) * longest
    return float(rest.sum() * reach) * (1 + 1e-9)
