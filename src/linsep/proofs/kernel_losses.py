"""How far sums over kernel values are from the best ones, for logistic losses and squares.

The model is f_k(x) = sum_j c_kj K(x_j, x) + b_k, with |w_k|^2 = sum c_ki c_kj K_ij; two classes
have one sum, more have one for each. K is the kernel, or K + s I where no more is proved.

Logistic   P = sum |w_k|^2 / 2 + sum c_i loss_i, c_i = C s_i, the loss of two classes or of softmax
           (``proofs.logistic``, ``proofs.softmax``). For the dual variables that the scores give,
           D = sum c_i entropies - |V|^2 / 2, V_k = sum_i A_ik phi(x_i), is no more than the best P.
Squares    P = sum |w_k|^2 / C + sum s_i (f_k(x_i) - T_ik)^2. For every U with sum_i U_ik = 0 (where
           b is free) D = 2 <U, T> - sum U^2 / s - C |V|^2, V_k = sum_i U_ik phi(x_i); the best
           multiple of U gives <U, T>^2 over the rest.

Kernel values are computed again from the rows; all rounding is bounded by |K_ij|^2 <= K_ii K_jj.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.kernels.base import Kernel
from linsep.losses.logistic import best_shift
from linsep.numerics.rounding import SUM, U, rounded_once
from linsep.proofs import plain
from linsep.proofs.feature_space import FeatureSpace, Sums
from linsep.proofs.gap import balanced
from linsep.proofs.kernel import KernelGap
from linsep.proofs.logistic import best_multiple, entropy_below
from linsep.proofs.softmax import best_value, entropy_of, feasible_shares, with_rest

Array = NDArray[np.float64]

_FUNCTION = 32 * U  # of exp and log, generously


def logistic_sums(
    problem: Problem, kernel: Kernel, sums: Sums, C: float, words: str,
    reference: int | None = None, *, bounded: bool = True,
) -> KernelGap:  # fmt: skip
    """Bounds of kernel logistic regression, of two classes or by softmax of more.

    reference is the number of the class whose sum is zero and not among the unknowns. bounded:
    look for a lower bound, which takes the kernel values of all pairs of rows; else it is 0.
    """
    space, cost = FeatureSpace(problem, kernel), C * problem.weight
    with np.errstate(all="ignore"):  # what overflows proves nothing
        if problem.binary:
            return _two_classes(space, sums, cost, words, bounded=bounded)
        return _softmax(space, sums, cost, words, reference, bounded=bounded)


def _two_classes(
    space: FeatureSpace, sums: Sums, cost: Array, words: str, *, bounded: bool
) -> KernelGap:
    problem, y = space.problem, plain.signs(space.problem)
    scores, off, squared = space.scores(sums)
    m, off = y * scores[:, 0], off[:, 0]
    total = float((cost * plain.log_loss(m - off)).sum())
    losses = total * (1 + SUM + _FUNCTION) + problem.n * 5e-324
    high = (0.5 * squared + losses) * (1 + 8 * U)
    low = _least(space)
    if space.known.convex and bounded:
        at = m + y * best_shift(m, y, cost) if problem.fit_intercept else m
        alpha = np.clip(np.nan_to_num(cost * plain.sigma(at)), 0.0, cost * (1 - 4 * U))
        slack = 0.0
        if problem.fit_intercept:
            alpha, slack = balanced(alpha, y > 0, rounded_once)
        pull = space.reach((alpha * y)[:, None], slack)
        low = max(best_multiple(entropy_below(alpha, cost, slack), pull), 0.0)
    return _told(space, m, squared, high, low, words)


def _softmax(
    space: FeatureSpace,
    sums: Sums,
    cost: Array,
    words: str,
    reference: int | None,
    *,
    bounded: bool,
) -> KernelGap:
    problem, at = space.problem, np.arange(space.problem.n)
    scores, off, squared = space.scores(sums)
    S, worst = np.ascontiguousarray(scores.T), off.max(axis=1)
    each, wrong = plain.softmax_losses(S, problem.label)
    slope = cost * np.minimum(wrong * np.exp(np.minimum(2 * worst, 700.0)), 1.0)
    losses = float((cost * each).sum()) * (1 + SUM + problem.K * U + _FUNCTION)
    losses += 2.0 * float(slope @ worst) * (1 + SUM)
    high = (0.5 * squared + losses) * (1 + 8 * U)
    low = _least(space)
    if space.known.convex and bounded:
        q = feasible_shares(problem, S, cost, reference, None)
        Q = q.sum(axis=0)
        gain, doubt = entropy_of(problem, q, Q, cost)
        full = q * -cost
        full[problem.label, at] = cost * Q
        rest = np.abs(full.sum(axis=1)) + (SUM + problem.K * U) * np.abs(full).sum(axis=1)
        moving = full.copy()
        if reference is not None:
            moving[reference] = 0.0
        pull = space.reach(moving.T, (problem.K + 4) * U)
        if problem.fit_intercept:
            lengths, far = space.roots() * (1 + 8 * U), float(worst.max(initial=0.0))
            low = with_rest(
                problem, lengths, S, sums.intercept, far, cost, high, gain - doubt, pull,
                float(rest.sum()),
            )  # fmt: skip
        else:
            low = best_value(gain - doubt, pull)
        low = low if low > 0 else 0.0
    own = S[problem.label, at].copy()
    S[problem.label, at] = -np.inf
    return _told(space, own - S.max(axis=0), squared, high, low, words)


def squares_sums(
    problem: Problem, kernel: Kernel, sums: Sums, C: float, words: str, *, bounded: bool = True
) -> KernelGap:
    """Bounds of kernel least squares, one column of targets for two classes, else one a class."""
    space, s, T = FeatureSpace(problem, kernel), problem.weight[:, None], plain.aims(problem)
    with np.errstate(all="ignore"):
        scores, off, squared = space.scores(sums)
        errors = T - scores
        high = float((s * (np.abs(errors) + off) ** 2).sum()) * (1 + SUM + 16 * U)
        high = (high + squared / C) * (1 + 8 * U)
        low = _least(space)
        if space.known.convex and bounded:
            if problem.fit_intercept:  # those of the best offset
                errors = errors - (s * errors).sum(axis=0) / s.sum()
            dual, slack = s * errors, 0.0
            if problem.fit_intercept:
                found = [balanced(np.abs(u), u > 0, rounded_once) for u in dual.T]
                dual = np.sign(dual) * np.array([size for size, _ in found]).T
                slack = max(error for _, error in found)
            products = dual * T
            gain = float(products.sum()) - (SUM + slack + 8 * U) * float(np.abs(products).sum())
            rest = float((dual * dual / s).sum()) * (1 + SUM + 3 * slack + 8 * U)
            rest += C * space.reach(dual, slack) * (1 + 8 * U)
            low = gain / rest * gain * (1 - 8 * U) if gain > 0 and 0 < rest < np.inf else 0.0
    if problem.binary:
        values = plain.signs(problem) * scores[:, 0]
    else:
        at, others = np.arange(problem.n), scores.copy()
        others[at, problem.label] = -np.inf
        values = scores[at, problem.label] - others.max(axis=1)
    return _told(space, values, squared, high, low, words)


def _least(space: FeatureSpace) -> float:
    """What no objective is below: all of it is positive where there is a feature space."""
    return 0.0 if space.known.convex else -np.inf


def _told(
    space: FeatureSpace, values: Array, squared: float, high: float, low: float, words: str
) -> KernelGap:
    gap = KernelGap.of(values, float(np.sqrt(squared)), high, low, words)
    known = space.known
    return replace(gap, convex=known.convex, proved=known.proved, shift=known.shift)
