"""The duality gap of a linear model with the penalty |w|_1.

P(w, b) = |w|_1 + sum_i c_i L(y_i f(x_i)). For every alpha >= 0 with |sum_i alpha_i y_i x_ij| <= 1
for each feature j

    D(alpha) = sum_i alpha_i - alpha_i^2 / (4 c_i)         for the squared hinge,
    D(alpha) = sum_i c_i H(alpha_i / c_i), H the entropy    for the logistic loss,

is a lower bound of the best value. The slopes of the losses at the model are such an alpha once
they are scaled down, so the bound is as good as the model; no other model is looked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.losses.base import Loss
from linsep.losses.hinge import HINGE, QuadraticLoss
from linsep.numerics.rounding import U
from linsep.proofs.gap import Gap
from linsep.proofs.hinge import Objective, feasible, losses_above
from linsep.proofs.logistic import entropy_below, loss_above
from linsep.proofs.plain import one_pass, signs, values

Array = NDArray[np.float64]


def l1_gap(problem: Problem, a: Array, loss: Loss, objective: Objective) -> Gap:
    """Bounds for the weights a; the loss is logistic, or quadratic without a corner."""
    cost = objective.C * problem.weight
    found = values(problem, a)
    curved = loss if isinstance(loss, QuadraticLoss) else None
    if curved is None:
        alpha = cost / (1.0 + np.exp(np.clip(found, -700.0, 700.0)))
    else:
        alpha = cost * loss.slope(1.0 - found)
    box = Objective(curved or HINGE, objective.C, objective.intercept)
    alpha, slack = feasible(signs(problem) > 0, box, cost, alpha)
    totals = one_pass(problem, a, alpha)
    error = (totals.terms * U + slack) * float(np.linalg.norm(alpha)) * 1.001
    size = np.abs(totals.v) + error * totals.columns
    top = float(size.max(initial=0.0))
    penalty = float(np.abs(a[:-1]).sum())
    if objective.intercept == "penalised":
        balance = abs(float(alpha @ signs(problem))) + problem.n * U * float(alpha.sum())
        top = max(top, balance * abs(objective.constant))
        penalty += abs(float(a[-1]) / objective.constant)
    share = 1.0 if top <= 1.0 else (1.0 - 16 * U) / top
    alpha = alpha * share
    if curved is None:
        high = loss_above(totals.values, cost, a, totals.columns)
        low = entropy_below(alpha, cost, slack + 2 * U)
    else:
        high = losses_above(curved, cost, a, totals)
        low = float((alpha - curved.q * (alpha * alpha) / cost).sum())
        # where low > 0 the squares sum up to less than alpha does: errors of both are paid for
        low -= (4 * slack + 320 * U) * float(alpha.sum())
    high = (high + penalty * (1 + (problem.d + 8) * U)) * (1 + 8 * U)
    intercept = objective.words().split("; ")[-1]
    words = f"|w|_1 + {objective.C:.6g} x sum of {loss.words} losses; {intercept}"
    low = max(low - 8 * U * abs(low), 0.0)
    return Gap.of(totals.values, float(np.linalg.norm(a[:-1])), high, low, words, float(a[-1]))
