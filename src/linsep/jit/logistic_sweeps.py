"""Dual coordinate descent for logistic losses: a sweep over the rows."""

# mypy: ignore-errors

from __future__ import annotations

from linsep.jit.compile import inner, routine
from linsep.jit.logistic import exponential
from linsep.jit.rows import sample_add, sample_dot, sample_fetch, sample_locate

_AHEAD = 4  # visits for which memory is asked ahead
_STEPS = 12  # of Newton's method on one variable, at most
_NEAR = 1e-2  # change of a logit after which it is left alone


@inner
def best_logit(t, g, q, c, alpha):
    """The root of t + g + q (c sigma(t) - alpha): where the dual is least along one variable.

    Newton's method from t; the function grows, so every value tells on which side the root is.
    """
    low = -g - q * (c - alpha)
    high = -g + q * alpha
    if not low < t < high:
        t = 0.5 * (low + high)
    for _ in range(_STEPS):
        e = exponential(t)
        r = 1.0 / (1.0 + e)
        f = t + g + q * (c * (r if t > 0.0 else e * r) - alpha)
        if f > 0.0:
            high = t
        else:
            low = t
        new = t - f / (1.0 + q * c * (e * r * r))
        if not low <= new <= high:
            new = 0.5 * (low + high)
        done = abs(new - t) < _NEAR
        t = new
        if done:
            break
    return t


@routine
def sweep(X, sign, cost, squared, order, logit, alpha, a, offset):
    """One visit of every row; a = [w, b] follows alpha = cost sigma(logit), w = sum alpha y x.

    squared are |x|^2, and 1 more with an offset, which is penalised here like a weight. Gives
    back half of sum |x|^2 times the squared change of alpha, no more than what the dual gained.
    """
    d = a.shape[0] - 1
    n = order.shape[0]
    gain = 0.0
    for k in range(n):
        sample_locate(X, order[min(k + 2 * _AHEAD, n - 1)])
        sample_fetch(X, order[min(k + _AHEAD, n - 1)])
        i = order[k]
        g = sign[i] * (sample_dot(X, i, a, 0, d) + a[d])
        t = best_logit(logit[i], g, squared[i], cost[i], alpha[i])
        e = exponential(t)
        new = cost[i] * (1.0 if t > 0.0 else e) / (1.0 + e)
        change = new - alpha[i]
        logit[i] = t
        alpha[i] = new
        sample_add(X, i, change * sign[i], a, 0, d)
        if offset:
            a[d] += change * sign[i]
        gain += squared[i] * (change * change)
    return 0.5 * gain
