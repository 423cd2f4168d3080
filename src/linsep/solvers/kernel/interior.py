"""An interior point method for small kernel machines on which steps of two variables creep.

Problem   min 1/2 a'Qa - sum a,  0 <= a <= c,  y'a = 0,  Q_ij = y_i y_j K_ij
Update    Newton's step for the conditions of optimality with a z = mu and (c - a) u = mu, and
          Mehrotra's correction; one Cholesky factor each
Stop      mu n small against the objective
Paper     Mehrotra 1992

Badly scaled rows and large C slow coordinate methods down by orders of magnitude; the number of
these steps hardly depends on them. Each costs n^3, so it is for small problems only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[np.float64]

_STEPS = 80
_SNAPS = (1e-11, 1e-8, 1e-5)  # share of C within which a variable is put onto its bound
_SHORT = 0.995  # share of the way to the boundary


def interior_point(K: Array, y: Array, cost: Array, free: bool) -> Iterator[Array]:
    """Dual variables close to the best ones, in their box and balanced up to rounding.

    If the first do not do, others follow: with more of the variables next to a bound put onto it;
    with the rows moved so that their mean is zero, which changes nothing where sum alpha_i y_i = 0,
    but columns far from zero are lost in rounding errors otherwise; and from smaller boxes, as far
    from the bounds of a huge C the path is lost too, and variables that stay away from a smaller
    bound are those of the larger one.
    """
    with np.errstate(all="ignore"):
        for square in (K, _centred(K)) if free else (K,):
            alpha = _path(square, y, cost, free)
            for near in _SNAPS:
                yield _snapped(alpha, y, cost, free, near)
        scale = float(np.abs(np.diagonal(K)).mean()) or 1.0
        for cap in (1e7 / scale, 1e11 / scale):
            if cap < float(cost.max(initial=0.0)):
                least = np.minimum(cost, cap)
                yield _snapped(_path(K, y, least, free), y, least, free, _SNAPS[0])


def _centred(K: Array) -> Array:
    """The Gram matrix of the rows minus their mean."""
    mean = K.mean(axis=0)
    return np.asarray((K - mean) - (mean - mean.mean())[:, None])


def _path(K: Array, y: Array, cost: Array, free: bool) -> Array:
    scale = float(np.abs(np.diagonal(K)).mean()) or 1.0
    Q = (y[:, None] * (K / scale)) * y  # for scale times alpha: the diagonal is about 1
    c = cost * scale
    boxed = np.isfinite(c)
    a = np.minimum(0.5 * c, 1.0)
    z, u, b = np.ones(len(y)), boxed.astype(float), 0.0
    best, least = a.copy(), np.inf
    for _ in range(_STEPS):
        s = np.where(boxed, c - a, 1.0)
        gradient = Q @ a - 1.0
        residual = -(gradient + y * b - z + u)
        short = -float(y @ a) if free else 0.0
        count = len(y) + int(boxed.sum())
        mu = float(a @ z + s @ u) / count
        merit = mu * count + float(np.abs(residual).sum()) * float(a.mean()) + abs(short)
        if merit < least:
            best, least = a.copy(), merit
        size = abs(float(0.5 * a @ gradient) - 0.5 * float(a.sum())) + 1e-30
        if not np.isfinite(merit) or merit <= 1e-13 * size:
            break
        solve = _factor(Q, z / a + u / s, y, free)
        if solve is None:
            break
        # straight ahead first, to see how far one could go; then with what was learnt
        da, _ = solve(residual - z + u, short)
        dz, du = -z - z * da / a, np.where(boxed, -u + u * da / s, 0.0)
        t = _reach(a, da, z, dz, s, u, du, boxed)
        ahead = float((a + t * da) @ (z + t * dz) + (s - t * da * boxed) @ (u + t * du)) / count
        aim = mu * min(1.0, max(ahead / mu, 0.0)) ** 3
        low, high = (aim - da * dz) / a, np.where(boxed, (aim + da * du) / s, 0.0)
        da, db = solve(residual + low - z - high + u, short)
        dz = low - z - z * da / a
        du = np.where(boxed, high - u + u * da / s, 0.0)
        t = min(1.0, _SHORT * _reach(a, da, z, dz, s, u, du, boxed, most=1.0 / _SHORT))
        a, z, u, b = a + t * da, z + t * dz, u + t * du, b + t * db
    return best / scale


def _factor(Q: Array, more: Array, y: Array, free: bool) -> Any:
    """A function that solves (Q + diag) da + y db = r, y'da = s; None if Q is not positive."""
    H = Q.copy()
    H[np.diag_indices_from(H)] += more
    try:
        factor = scipy.linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    except (scipy.linalg.LinAlgError, ValueError):
        return None
    if not free:
        return lambda r, s: (scipy.linalg.cho_solve(factor, r, check_finite=False), 0.0)
    of_y = scipy.linalg.cho_solve(factor, y, check_finite=False)
    bend = float(y @ of_y)
    if not bend > 0:
        return None

    def solve(r: Array, s: float) -> tuple[Array, float]:
        of_r = scipy.linalg.cho_solve(factor, r, check_finite=False)
        db = (float(y @ of_r) - s) / bend
        return of_r - db * of_y, db

    return solve


def _reach(
    a: Array, da: Array, z: Array, dz: Array, s: Array, u: Array, du: Array,
    boxed: NDArray[np.bool_], most: float = 1.0,
) -> float:  # fmt: skip
    """How far the step can go before something turns negative."""
    t = most
    for v, dv in ((a, da), (z, dz), (s[boxed], -da[boxed]), (u[boxed], du[boxed])):
        down = dv < 0
        if down.any():
            t = min(t, float((-v[down] / dv[down]).min()))
    return t


def _snapped(a: Array, y: Array, cost: Array, free: bool, near: float) -> Array:
    """Onto the bounds where it is next to them; what that unbalances goes to the others."""
    top = np.where(np.isfinite(cost), cost, a.max(initial=0.0))
    a = np.where(a <= near * top, 0.0, np.where(a >= (1 - near) * cost, cost, a))
    if not free:
        return a
    inside = (a > 0) & (a < cost)
    room = np.where(inside, np.minimum(a, np.where(np.isfinite(cost), cost - a, a)), 0.0)
    off = float(a @ y)
    if room.sum() > abs(off):
        a = a - off * y * room / room.sum()
    return np.clip(a, 0.0, cost)
