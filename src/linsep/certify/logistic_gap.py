"""How far a logistic model of two classes is from the best one.

Penalised   P(w, b) = |w|^2 / 2 + sum c_i log(1 + exp(-m_i)),  m = y (w.x + b),  c = C s.
            For every 0 <= alpha <= c with sum alpha_i y_i = 0 (where b is free)
            D(alpha) = sum c_i H(alpha_i / c_i) - |sum alpha_i y_i x_i|^2 / 2 <= min P, H the
            entropy. alpha_i = c_i sigma(-m_i) at the best b makes P - D half the squared
            length of the gradient; what is left of sum alpha_i y_i is removed by scaling the
            heavier class down.
Likelihood  C = inf: P = sum s_i log(1 + exp(-m_i)), minus the log likelihood. See
            ``likelihood_gap.py``.

Where rounding makes D useless, because C or the numbers in X are huge, C times the bound of the
likelihood takes its place. All rounding errors are bounded and taken off, with functions of
numpy trusted to 8 ulp.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from linsep.certify.gap import Gap
from linsep.certify.logistic_bounds import large_bounds, sample_sizes
from linsep.certify.logistic_errors import SUM, entropy_below, loss_above
from linsep.certify.passes import one_pass
from linsep.certify.sharp_dual import sharp_sums
from linsep.core.lanes import sum_of_pieces
from linsep.core.problem import Problem
from linsep.losses.logistic import probability

__all__ = ["best_shift", "entropy_below", "facts", "logistic_gap", "loss_above"]

Array = NDArray[np.float64]

_U = 2.0**-53
_POOR, _CHEAP = 1e-6, 20_000_000  # relative gap and work for which another bound is tried
_FAIR = 1e-2  # relative gap of one pass from which another way is tried
_FEW = 20_000  # rows up to which the offset is found to the last digit


def logistic_gap(
    problem: Problem,
    a: Array,
    C: float,
    intercept: str,
    constant: float = 1.0,
    alpha: Array | None = None,
    goal: float = 0.0,
) -> Gap:
    """Bounds for a binary logistic model; intercept as in ``Objective``.

    Any alpha will do, it is made feasible; without one the margins of the model give it. goal is
    a relative gap that is small enough, so that no better bound is looked for.
    """
    if np.isinf(C):
        from linsep.certify.likelihood_gap import likelihood_gap

        return likelihood_gap(problem, a)
    a = np.asarray(a, dtype=np.float64)
    words = f"|w|^2 / 2 + {C:.6g} x sum of logistic losses; {_intercept_words(intercept, constant)}"
    if alpha is None and intercept != "penalised" and sample_sizes(problem):
        bounds = large_bounds(problem, a, C, intercept == "free", goal)
        if bounds.high - bounds.low <= _FAIR * bounds.high:
            return facts(bounds.values, a, bounds.high, bounds.low, words)
    cost = C * problem.weight
    if alpha is None:
        values = problem.values(a)
        if intercept == "free":
            values = values + problem.sign * best_shift(values, problem.sign, cost)
        alpha = cost * probability(values)
    alpha = np.clip(np.nan_to_num(alpha, nan=0.0), 0.0, cost * (1 - 4 * _U))  # C s is rounded
    slack = 0.0
    if intercept == "free":
        alpha, slack = _balanced(problem, alpha)
    totals = one_pass(problem, a, alpha)
    d = problem.d
    extra = (float(a[-1]) / constant) ** 2 if intercept == "penalised" else 0.0
    squared = float(a[:-1] @ a[:-1]) + extra
    losses = loss_above(totals.values, cost, a, totals.columns)
    high = (0.5 * squared * (1 + (d + 8) * _U) + losses) * (1 + 8 * _U)
    error = (totals.terms * _U + slack) * float(np.linalg.norm(alpha)) * 1.001 * totals.columns
    size = np.abs(totals.v) + error
    pull = float(size @ size) * (1 + (d + 8) * _U)
    if intercept == "penalised":
        balance = abs(float(alpha @ problem.sign)) + problem.n * _U * float(alpha.sum())
        pull += (balance * constant) ** 2
    # alpha is off by a share of slack at most: H falls by no more than alpha |logit| slack
    gain = entropy_below(alpha, cost, slack)
    # t alpha is feasible too, and H(t q) >= t H(q): a poor alpha is better made smaller
    t = min(1.0, max(gain, 0.0) / pull) if pull > 0 else 1.0
    low = t * gain - 0.5 * t * t * pull * (1 + 8 * _U)
    low -= 8 * _U * (abs(low) + t * abs(gain))
    blurred = float(error @ (2 * np.abs(totals.v) + error)) > 0.2 * max(high - low, goal * high)
    if high - low > max(goal, _POOR) * high and blurred and intercept != "penalised":
        low = max(low, _sharp(problem, alpha, cost, intercept == "free"))
    if high - low > _POOR * high and problem.n * problem.d * problem.d <= _CHEAP:
        low = max(low, _without_penalty(problem, totals.values, C))
    return facts(totals.values, a, high, max(low, 0.0), words)


def _sharp(problem: Problem, alpha: Array, cost: Array, free: bool) -> float:
    """The same bound from sums that are rounded once: beside columns of 1e8 and a large C errors
    of plain sums are most of the gap. 0 where there are too many rows for that."""
    sums = sharp_sums(problem, alpha, free=free)
    if sums is None or sums.share > 1e-3:
        return 0.0
    # entries of alpha that count less are rounded once more, and their factor is
    gain = entropy_below(np.where(sums.heavy, alpha * (1.0 - sums.share), alpha), cost, 16 * _U)
    t = min(1.0, max(gain, 0.0) / sums.squared) if sums.squared > 0 else 1.0
    low = t * gain - 0.5 * t * t * sums.squared * (1 + 8 * _U)
    return low - 8 * _U * (abs(low) + t * abs(gain))


def _intercept_words(intercept: str, constant: float) -> str:
    return {"free": "the intercept is not penalised", "none": "no intercept"}.get(
        intercept, f"the intercept is penalised as the weight of a constant feature {constant:g}"
    )


def _without_penalty(problem: Problem, values: Array, C: float) -> float:
    """C times the least sum of losses is a bound as well, the penalty being no less than 0.

    It is the better one where the penalty hardly matters, and rounding spoils the other: a huge
    C, or huge numbers in X.
    """
    from linsep.certify.likelihood_gap import lower_bound

    with np.errstate(all="ignore"):
        return C * lower_bound(problem, values) * (1 - 8 * _U)


def best_shift(values: Array, sign: Array, cost: Array) -> float:
    """What to add to b so that sum of cost sigma(-m) y vanishes, by guarded Newton steps."""
    low, high, t = -np.inf, np.inf, 0.0
    goal = 1e-15 if len(values) <= _FEW else 1e-7
    for _ in range(60):
        r, total, bend = sum_of_pieces(partial(_slopes, t), values, sign, cost)
        if abs(r) <= goal * total or not np.isfinite(r):
            break
        low, high = (t, high) if r > 0 else (low, t)
        new = t + r / bend if bend > 0 else np.inf
        if not low < new < high:
            if np.isinf(low) or np.isinf(high):
                new = t + np.copysign(max(1.0, abs(t)), r)
            else:
                new = 0.5 * (low + high)
        if new == t:
            break
        t = new
    return float(t) if np.isfinite(t) else 0.0


def _slopes(t: float, values: Array, sign: Array, cost: Array) -> Array:
    """Sums of cost sigma(-m) y, of cost sigma(-m) and of the curvature at m = values + t y."""
    m = values + t * sign if t else values
    e = np.exp(-np.abs(m))
    q = 1.0 / (1.0 + e)
    p = np.where(m > 0, e, 1.0)
    p *= q
    p *= cost
    e *= q
    e *= q
    return np.array([p @ sign, p.sum(), e @ cost])


def facts(values: Array, a: Array, high: float, low: float, words: str) -> Gap:
    """The bounds with what the margins tell."""
    length = float(np.linalg.norm(a[:-1]))
    errors, inside = sum_of_pieces(_counts, values).tolist()
    return Gap(
        objective=high,
        lower_bound=min(low, high),
        errors=int(errors),
        margin=float(values.min()) / length if length > 0 else -np.inf,
        width=2.0 / length if length > 0 else np.inf,
        inside=int(inside),
        words=words,
    )


def _counts(values: Array) -> Array:
    return np.array([np.count_nonzero(values <= 0), np.count_nonzero(values < 1.0 - 1e-9)], float)


def _balanced(problem: Problem, alpha: Array) -> tuple[Array, float]:
    """The heavier class scaled down until sum alpha_i y_i = 0; the relative error of that."""
    positive = problem.sign > 0
    few = problem.n <= _FEW  # then sums are rounded once
    add = math.fsum if few else np.sum
    plus, minus = float(add(alpha[positive])), float(add(alpha[~positive]))
    if min(plus, minus) == 0.0:
        return np.zeros_like(alpha), 0.0
    factor = min(plus, minus) / max(plus, minus)
    out = np.where(positive == (plus > minus), alpha * factor, alpha)
    return out, (0.0 if few else 2 * SUM) + 6 * _U
