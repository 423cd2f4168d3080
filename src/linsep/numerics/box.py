"""Quadratic problems in a box: Newton's step with bounds held, balance, last digits.

Problem   max -f'd - 1/2 d'Kd,  low <= d <= high, where low <= 0 <= high; balanced: sum d = 0
Update    K d + b = -f. Variables that leave the box on the way are held at the bound they meet,
          and the equations are solved again with the same factor and one more condition for each,
          until all others stay inside. The step goes as far along as pays; it never loses
Papers    Osborne, Presnell, Turlach 2000; Stellato et al. 2020 (OSQP) for the last digits
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.costs import FLOAT32_FACTOR
from linsep.numerics.cholesky import growing

Array = NDArray[np.float64]

_HELD_TIMES = 12  # times that variables may be held at a bound
# Share of the diagonal that is added to it: equal rows have a factor then. The first of them, the
# next ones and the last, for factors of either format.
_RIDGES: dict[type, tuple[float, float, float]] = {
    np.float32: (1e-6, 1e-5, 1e-5),
    np.float64: (1e-12, 1e-10, 1e-4),
}
_WHOLE = 0.9  # of the best length from which a whole step is taken: it ends on the bounds
_DEPENDENT = 1e-12  # missed by more than this share, equations are nearly dependent
_RANK = 1e-13  # share of the largest singular value below which there is none


def newton_change(
    K: NDArray[Any], f: Array, low: Array, high: Array, *, balanced: bool
) -> Array | None:
    """A change d of the variables that gains, or None where there is none to be had.

    Entries of a whole step are exactly those of the bounds they meet.
    """
    way = _held(K, -f, low, high, balanced=balanced)
    if way is None or not np.isfinite(way).all():
        return None
    slope, bend = -float(way @ f), float(way @ (K @ way))
    if not (slope > 0 and np.isfinite(bend)):
        return None
    return way if slope >= _WHOLE * bend else way * (slope / bend)


def _held(
    K: NDArray[Any], right: Array, low: Array, high: Array, *, balanced: bool
) -> Array | None:
    """d with K d + b = right where low < d < high, sum d = 0; the others are at a bound."""
    factor = _factor(K)
    if factor is None:
        return None
    m = len(right)
    held, aim = np.zeros(m, dtype=bool), np.zeros(m)
    wanted = [0.0] if balanced else []
    halves = _half(factor, np.ones((m, len(wanted))))
    for _ in range(_HELD_TIMES):
        d = _meeting(factor, right, halves, np.array(wanted))
        if d is None:
            return None
        if factor.dtype == np.float32:  # once more, for what it left over
            rest = right - K @ d
            rest[held] = 0.0
            more = _meeting(factor, rest, halves, np.zeros(len(wanted)))
            d = d if more is None else d + more
        d[held] = aim[held]
        out = np.flatnonzero(((d < low) | (d > high)) & ~held)
        if not len(out):
            return _rebalanced(d, low, high) if balanced else d
        if np.count_nonzero(held) + len(out) > m // 2:
            return None
        held[out] = True
        aim[out] = np.where(d[out] < low[out], low[out], high[out])
        wanted.extend(aim[out].tolist())
        new = np.zeros((m, len(out)))
        new[out, np.arange(len(out))] = 1.0
        halves = np.hstack([halves, _half(factor, new)])
    return None


def _rebalanced(d: Array, low: Array, high: Array) -> Array | None:
    """What rounding has left of the sum is taken from those that have room for it."""
    room, off = np.minimum(d - low, high - d), float(d.sum())
    total = float(room.sum())
    return d - (off / total) * room if total > abs(off) else None


def _factor(K: NDArray[Any]) -> Any:
    """The lower Cholesky factor, which is faster than the upper one, or None."""
    short = K.dtype == np.float32 or len(K) >= FLOAT32_FACTOR
    for kind in (np.float32, np.float64) if short else (np.float64,):
        potrf = scipy.linalg.lapack.get_lapack_funcs("potrf", dtype=kind)
        for ridge in growing(*_RIDGES[kind]):
            square: NDArray[Any] = K.astype(kind)
            square[np.diag_indices(len(K))] *= 1 + ridge
            factor, failed = potrf(square.T, lower=1, overwrite_a=1, clean=0)
            if not failed:
                return factor
    return None


def _meeting(factor: Any, right: Array, halves: Array, wanted: Array) -> Array | None:
    """K d = right minus forces along the columns of halves that make their products wanted."""
    rest = _half(factor, right)
    if halves.shape[1]:
        try:
            small = scipy.linalg.cho_factor(halves.T @ halves)
            forces = scipy.linalg.cho_solve(small, halves.T @ rest - wanted)
        except (scipy.linalg.LinAlgError, ValueError):
            return None
        rest = rest - halves @ forces
    return _half(factor, rest, trans=1)


def _half(factor: Any, right: Array, trans: int = 0) -> Array:
    """Forward (or backward) substitution."""
    if not right.size:
        return right
    trtrs = scipy.linalg.lapack.get_lapack_funcs("trtrs", dtype=factor.dtype)
    return np.asarray(trtrs(factor, right, lower=1, trans=trans)[0], dtype=np.float64)


# -- Points of the box ----------------------------------------------------------------------------


def balanced(alpha: Array, y: Array, top: Array) -> Array:
    """In the box 0 <= alpha <= top, the heavier sign scaled down until y'alpha = 0."""
    alpha = np.clip(np.nan_to_num(alpha, posinf=0.0), 0.0, top)
    positive = y > 0
    plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
    if min(plus, minus) == 0.0:
        return np.zeros_like(alpha)
    alpha[positive if plus > minus else ~positive] *= min(plus, minus) / max(plus, minus)
    return np.asarray(alpha)


# -- The last digits: equations for those that are free -------------------------------------------


def free_values(
    K: Array, right: Array, sign: Array | None = None, total: float = 0.0
) -> Array | None:
    """x with K x + sign b = right, and sign'x = total where there are signs; None if too large.

    By elimination, or by singular values where rows depend on each other. Rows and columns are
    scaled to entries of 1 before.
    """
    m = len(K)
    if sign is not None:
        K = np.block([[K, sign[:, None]], [sign[None, :], np.zeros((1, 1))]])
        right = np.append(right, total)
    if not (np.isfinite(K).all() and np.isfinite(right).all()):
        return None
    scale = 1.0 / np.sqrt(np.maximum(np.abs(K).max(axis=1), 1e-300))
    square, right = K * scale[:, None] * scale, right * scale
    try:
        found = np.linalg.solve(square, right)
    except np.linalg.LinAlgError:
        found = np.full(len(right), np.nan)
    if not np.abs(square @ found - right).max() <= _DEPENDENT * np.abs(right).max():
        found = np.linalg.lstsq(square, right, rcond=_RANK)[0]
    found = (found * scale)[:m]
    return found if np.isfinite(found).all() else None
