"""The loss of a linear machine: how far the best rival comes near the own class.

max over r of g_r, with g_r = 1 + f_r - f_own for a rival r and 0 for the own class, is the largest
value of p.g over all shares p (p >= 0, sum p = 1). Its corners are rounded off by keeping the
shares near a centre c,

    L_h(g) = max over p of p.g - h |p - c|^2,   attained at p = the shares nearest c + g / (2 h),

so the slopes are p, and the curvature is (I - 1 1' / |A|) / (2 h) on the shares A above zero.
"""

from __future__ import annotations

import numpy as np
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
