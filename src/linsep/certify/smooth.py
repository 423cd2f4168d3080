"""How far a logistic or a ridge model is from the best one.

Logistic   P = |w|^2 / 2 + sum c_i log(1 + exp(-m_i)),  m = y (w.x + b). With p_i = alpha_i / c_i
           D = sum c_i H(p_i) - |sum alpha_i y_i x_i|^2 / 2, H the entropy, is a lower bound for
           all 0 <= alpha <= c, balanced where the intercept is free.
Ridge      P = |t - X w - b|^2 + lam |w|^2 is a parabola: for the best b its least value is no
           smaller than P - |gradient|^2 / (4 lam).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.certify.gap import Gap
from linsep.certify.passes import one_pass
from linsep.core.problem import Problem

__all__ = ["logistic_gap", "ridge_gap"]

Array = NDArray[np.float64]

_LOOSE = 1e-12  # generous allowance for exp and log, relative


def logistic_gap(
    problem: Problem, a: Array, C: float, intercept: str, constant: float = 1.0
) -> Gap:
    """Bounds for a binary logistic model; intercept as in ``Objective``."""
    cost = C * problem.weight
    values = problem.values(a)
    alpha = cost * np.exp(-np.logaddexp(0.0, values))
    b = float(a[-1])
    if intercept == "free":
        alpha = _balanced(problem, alpha)
    totals = one_pass(problem, a, alpha)
    share = np.clip(alpha / cost, 0.0, 1.0)
    entropy = -(_xlogx(share) + _xlogx(1.0 - share))
    extra = (b / constant) ** 2 if intercept == "penalised" else 0.0
    pull = constant * float(alpha @ problem.sign) if intercept == "penalised" else 0.0
    losses = float((cost * np.logaddexp(0.0, -totals.values)).sum())
    error = (totals.terms + 1000) * 2.0**-53 * float(np.linalg.norm(alpha)) * totals.columns
    size = float(np.linalg.norm(np.abs(totals.v) + error))
    high = 0.5 * (float(a[:-1] @ a[:-1]) + extra) + losses
    gain = float((cost * entropy).sum())
    low = gain - 0.5 * (size * size + pull * pull)
    slack = _LOOSE * (losses + gain + float(cost.sum()))
    free = {"free": "the intercept is not penalised", "none": "no intercept"}.get(
        intercept, f"the intercept is penalised as the weight of a constant feature {constant:g}"
    )
    words = f"|w|^2 / 2 + {C:.6g} x sum of logistic losses; {free}"
    return _facts(totals.values, a, high + slack, max(low - slack, 0.0), words)


def ridge_gap(problem: Problem, a: Array, lam: float, offset: bool) -> Gap:
    """Bounds for a binary ridge model with targets -1 and +1."""
    s = problem.weight
    values = problem.values(a)
    residual = problem.sign * (1.0 - values)  # t - f
    shift = float(s @ residual) / float(s.sum()) if offset else 0.0
    centred = residual - shift
    totals = one_pass(problem, a, np.abs(centred) * s * 0.0)
    gradient = 2.0 * (lam * a[:-1] - _weighted_sum(problem, s * centred))
    best_b = float((s * centred * centred).sum()) + lam * float(a[:-1] @ a[:-1])
    high = float((s * residual * residual).sum()) + lam * float(a[:-1] @ a[:-1])
    size = float(np.linalg.norm(gradient))
    size += 1e-13 * float(np.linalg.norm(s * centred)) * float(np.linalg.norm(totals.columns))
    low = best_b - size * size / (4.0 * lam) if lam > 0 else 0.0
    free = "the intercept is not penalised" if offset else "no intercept"
    words = f"sum of squared distances to the targets -1, +1 + {lam:.6g} |w|^2; {free}"
    slack = 1e-12 * high
    return _facts(values, a, high + slack, max(low - slack, 0.0), words)


def _facts(values: Array, a: Array, high: float, low: float, words: str) -> Gap:
    length = float(np.linalg.norm(a[:-1]))
    return Gap(
        objective=high,
        lower_bound=min(low, high),
        errors=int((values <= 0).sum()),
        margin=float(values.min()) / length if length > 0 else -np.inf,
        width=2.0 / length if length > 0 else np.inf,
        inside=int((values < 1.0 - 1e-9).sum()),
        words=words,
    )


def _balanced(problem: Problem, alpha: Array) -> Array:
    """The heavier class scaled down until sum alpha_i y_i = 0."""
    positive = problem.sign > 0
    plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
    if min(plus, minus) == 0.0:
        return np.zeros_like(alpha)
    factor = min(plus, minus) / max(plus, minus)
    return np.where(positive == (plus > minus), alpha * factor, alpha)


def _weighted_sum(problem: Problem, c: Array) -> Array:
    """sum of c_i x_i."""
    zero = np.zeros(problem.d + 1)
    return one_pass(problem, zero, c * problem.sign).v


def _xlogx(p: Array) -> Array:
    return np.where(p > 0, p * np.log(np.maximum(p, 1e-320)), 0.0)
