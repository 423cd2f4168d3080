"""The loss of a linear machine: how far the best rival comes near the own class.

max over r of g_r, with g_r = 1 + f_r - f_own for a rival r and 0 for the own class, is the largest
value of p.g over all shares p (p >= 0, sum p = 1). Its corners are rounded off by keeping the
shares near a centre c,

    L_h(g) = max over p of p.g - h |p - c|^2,   attained at p = the shares nearest c + g / (2 h),

so the slopes are p, and the curvature is (I - 1 1' / |A|) / (2 h) on the shares A above zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rival_terms(scores: Array, label: NDArray[np.int64]) -> Array:
    """g of all rows, from their scores of shape (n, K)."""
    at = np.arange(len(label))
    g = 1.0 + scores - scores[at, label][:, None]
    g[at, label] = 0.0
    return g


def nearest_shares(v: Array) -> Array:
    """Row by row the point nearest v with p >= 0 and sum p = 1.

    p = max(v - t, 0), and t follows from the largest entries of v, sorted.
    """
    ordered = -np.sort(-v, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1.0
    count = np.arange(1, v.shape[1] + 1)
    used = (ordered * count > excess).sum(axis=1)
    t = excess[np.arange(len(v)), used - 1] / used
    shares: Array = np.maximum(v - t[:, None], 0.0)
    return shares


def rounded_loss(g: Array, p: Array, center: Array, h: float) -> Array:
    """L_h of all rows, p being their shares."""
    loss: Array = (p * g).sum(axis=1) - h * ((p - center) ** 2).sum(axis=1)
    return loss


def balanced_shares(flow: Array) -> Array:
    """Factors in [0, 1] for the flow between classes that make it return, as much as can be."""
    K = len(flow)
    scale = float(flow.max(initial=0.0))
    if not (scale > 0 and np.isfinite(flow).all()):
        return np.zeros((K, K))
    pairs = [(m, r) for m in range(K) for r in range(K) if m != r]
    sizes = np.array([flow[m, r] / scale for m, r in pairs])
    balance = np.zeros((K, len(pairs)))
    for column, (m, r) in enumerate(pairs):
        balance[m, column] += sizes[column]
        balance[r, column] -= sizes[column]
    found: Any = scipy.optimize.linprog(
        -sizes, A_eq=balance, b_eq=np.zeros(K), bounds=(0.0, 1.0), method="highs"
    )
    out = np.zeros((K, K))
    if found.x is not None:
        shares = _evened(np.clip(found.x, 0.0, 1.0), sizes, balance)
        for (m, r), share in zip(pairs, shares):
            out[m, r] = float(share)
    return out


def _evened(shares: Array, sizes: Array, balance: Array) -> Array:
    """Take the rest that the tolerance of the linear programme leaves out of the balance.

    Shares may grow beyond 1 by as little; divided by the largest they balance as before.
    """
    shares = shares.copy()
    used = (shares > 1e-4) & (sizes > 1e-6)
    for _ in range(3):
        rest = balance @ shares
        step = np.linalg.lstsq(balance[:, used], -rest, rcond=None)[0]
        shares[used] += step
        shares = np.maximum(shares, 0.0)
    return np.asarray(shares / max(1.0, float(shares.max(initial=0.0))))
