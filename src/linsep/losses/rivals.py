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
import scipy.sparse.linalg
from numpy.typing import NDArray

Array = NDArray[np.float64]

_FEW_CLASSES = 100  # up to which a matrix of classes x pairs of classes is nothing
_SECONDS = 20.0  # of the linear programme of more


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
    out = np.zeros((K, K))
    if not (scale > 0 and np.isfinite(flow).all()):
        return out
    few = K <= _FEW_CLASSES
    m, r = np.nonzero(~np.eye(K, dtype=bool) if few else flow > 0)
    if not few:  # what flows within a class returns anyhow
        m, r = m[m != r], r[m != r]
    sizes, column = flow[m, r] / scale, np.arange(len(m))
    balance: Any = scipy.sparse.csr_array(
        (np.concatenate([sizes, -sizes]), (np.concatenate([m, r]), np.tile(column, 2))),
        shape=(K, len(m)),
    )
    if few:
        balance = balance.toarray()
    found: Any = scipy.optimize.linprog(
        -sizes, A_eq=balance, b_eq=np.zeros(K), bounds=(0.0, 1.0), method="highs",
        options={} if few else {"time_limit": _SECONDS},
    )  # fmt: skip
    if found.x is not None and (few or found.status == 0):
        out[m, r] = _evened(np.clip(found.x, 0.0, 1.0), sizes, balance)
    return out


def _evened(shares: Array, sizes: Array, balance: Any) -> Array:
    """Take the rest that the tolerance of the linear programme leaves out of the balance.

    Shares may grow beyond 1 by as little; divided by the largest they balance as before.
    """
    shares = shares.copy()
    used = (shares > 1e-4) & (sizes > 1e-6)
    for _ in range(3):
        rest = balance @ shares
        if isinstance(balance, np.ndarray):
            step = np.linalg.lstsq(balance[:, used], -rest, rcond=None)[0]
        else:
            step = scipy.sparse.linalg.lsqr(balance[:, used], -rest, atol=1e-15, btol=1e-15)[0]
        shares[used] += step
        shares = np.maximum(shares, 0.0)
    return np.asarray(shares / max(1.0, float(shares.max(initial=0.0))))
