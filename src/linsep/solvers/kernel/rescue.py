"""Help for small kernel machines on which steps of two variables creep.

Badly scaled rows and large C slow coordinate methods down by orders of magnitude; the number of
interior points (numerics/interior.py) hardly depends on them. Each costs n^3, so they are for
small problems only.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from linsep.numerics.interior import box_minimum
from linsep.solvers.kernel.working_set import optimality

Array = NDArray[np.float64]

_SNAPS = (1e-11, 1e-8, 1e-5)  # share of C within which a variable is put onto its bound


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


def best_interior(
    K: Array, y: Array, cost: Array, free: bool, start: tuple[Array, Array], tol: float
) -> tuple[Array, Array]:
    """The (alpha, f) of least gap: that of the start, or of an answer of the interior points."""
    alpha, f = start
    least = _gap(y, cost, alpha, f, free)[0]
    for new in interior_point(K, y, cost, free):
        of_new = K @ (new * y) - y
        gap, primal = _gap(y, cost, new, of_new, free)
        if np.isfinite(of_new).all() and gap < least:
            alpha, f, least = new, of_new, gap
        if gap <= tol * primal:
            break
    return alpha, f


def _gap(y: Array, cost: Array, alpha: Array, f: Array, free: bool) -> tuple[float, float]:
    at = optimality(y, cost, alpha, f, free)
    return at.primal - at.dual, at.primal


def _centred(K: Array) -> Array:
    """The Gram matrix of the rows minus their mean."""
    mean = K.mean(axis=0)
    return np.asarray((K - mean) - (mean - mean.mean())[:, None])


def _path(K: Array, y: Array, cost: Array, free: bool) -> Array:
    """The best variables, by interior points."""
    scale = float(np.abs(np.diagonal(K)).mean()) or 1.0
    Q = (y[:, None] * (K / scale)) * y  # for scale times alpha: the diagonal is about 1
    return box_minimum(Q, cost * scale, y if free else None) / scale


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
