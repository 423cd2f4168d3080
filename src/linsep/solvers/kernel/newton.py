"""A Newton step of a kernel machine: all free variables, and those that should be, at once.

Once few variables still enter or leave, steps of two variables at a time creep towards what
linear equations say at once: y_i f(x_i) = 1 for the free rows, sum alpha_i y_i = 0. Variables
that leave their box on the way are held at the bound they meet, and the equations are solved
again with the same factor. The step is the way to that point, as far along as pays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.solvers.kernel.pairs import Facts, take_facts

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_LEAST, _MOST = 48, 1500  # free variables for which equations pay
_FREE = 0.8  # share of the support vectors that are free: those at C come and go for long
_CLOSE = 0.5  # violation, in units of the street, from which few variables come and go
_TURNS = 12  # times that variables may be held at a bound
_RIDGE = {np.float32: 1e-6, np.float64: 1e-12}  # of the diagonal: equal rows have a factor then
_LARGE = 200  # rows from which the factor is float32
_SHARE = 0.05  # of the violation from which a row at a bound takes part


def worth_newton(facts: Facts, a: Array, c: Array, most: int) -> bool:
    """Whether a step is worth its factor; most: how many rows have been in working sets."""
    if not facts.violation <= _CLOSE:
        return False
    used = int(np.count_nonzero(a > 0))
    free = used - int(np.count_nonzero(a >= c))
    return _LEAST <= free <= min(_MOST, most) and free >= _FREE * used


def newton_rows(facts: Facts, a: Array, c: Array, f: Array, q: int, free: bool) -> Index:
    """The free rows, and up to q of those that ask most to leave their bound."""
    inside = (a > 0) & (a < c)
    # one row alone can shift the offset of the facts
    middle = -float(np.median(f[inside])) if free else 0.0
    wish = np.where(inside, 0.0, np.maximum(-middle - facts.up, facts.low + middle))
    some = np.flatnonzero(wish > _SHARE * facts.violation)
    if len(some) > q:
        some = some[np.argpartition(-wish[some], q)[:q]]
    inside[some] = True
    return np.flatnonzero(inside)


def newton_set(K: Array, y: Array, c: Array, a: Array, f: Array, free: bool) -> Array | None:
    """New variables of these rows with a larger dual objective, or None."""
    beta = y * a
    low, high = np.where(y > 0, 0.0, -c), np.where(y > 0, c, 0.0)
    way = _way(K, -f, low - beta, high - beta, free)
    if way is None:
        return None
    slope, bend = -float(way @ f), float(way @ (K @ way))
    if not np.isfinite(way).all() or not (slope > 0 and np.isfinite(bend)):
        return None
    t = 1.0 if slope >= 0.9 * bend else slope / bend
    new = np.clip(a + t * (y * way), 0.0, c)
    if t == 1.0:  # exactly on the bounds
        new[way == low - beta] = np.where(y > 0, 0.0, c)[way == low - beta]
        new[way == high - beta] = np.where(y > 0, c, 0.0)[way == high - beta]
    return np.asarray(new)


def _way(K: Array, right: Array, low: Array, high: Array, free: bool) -> Array | None:
    """d with K d + b = right where low < d < high, sum d = 0, or None; see the module."""
    factor = _factor(K, np.float32) if len(K) >= _LARGE else None
    if factor is None:
        factor = _factor(K, np.float64)
    if factor is None:
        return None
    m = len(right)
    held, aim = np.zeros(m, dtype=bool), np.zeros(m)
    wanted = [0.0] if free else []
    halves = _half(factor, np.ones((m, len(wanted))))
    for _ in range(_TURNS):
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
            return _balanced(d, low, high) if free else d
        if np.count_nonzero(held) + len(out) > m // 2:
            return None
        held[out] = True
        aim[out] = np.where(d[out] < low[out], low[out], high[out])
        wanted.extend(aim[out].tolist())
        new = np.zeros((m, len(out)))
        new[out, np.arange(len(out))] = 1.0
        halves = np.hstack([halves, _half(factor, new)])
    return None


def _balanced(d: Array, low: Array, high: Array) -> Array | None:
    """What rounding has left of the sum is taken from those that have room for it."""
    room, off = np.minimum(d - low, high - d), float(d.sum())
    total = float(room.sum())
    return d - (off / total) * room if total > abs(off) else None


def _factor(K: Array, kind: Any) -> Any:
    """The lower Cholesky factor, which is faster than the upper one, or None."""
    square = K.astype(kind)
    square[np.diag_indices(len(K))] *= 1 + _RIDGE[kind]
    potrf = scipy.linalg.lapack.get_lapack_funcs("potrf", dtype=kind)
    factor, failed = potrf(square.T, lower=1, overwrite_a=1, clean=0)
    return None if failed else factor


def _meeting(factor: Any, right: Array, halves: Array, wanted: Array) -> Array | None:
    """K d = right minus forces along the columns of halves that make their products wanted."""
    rest = _half(factor, right)
    if halves.shape[1]:
        forces = _solved(halves.T @ halves, halves.T @ rest - wanted)
        if forces is None:
            return None
        rest = rest - halves @ forces
    return _half(factor, rest, trans=1)


def _half(factor: Any, right: Array, trans: int = 0) -> Array:
    """Forward (or backward) substitution."""
    if not right.size:
        return right
    trtrs = scipy.linalg.lapack.get_lapack_funcs("trtrs", dtype=factor.dtype)
    return np.asarray(trtrs(factor, right, lower=1, trans=trans)[0], dtype=np.float64)


def _solved(S: Array, right: Array) -> Any:
    try:
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(S), right)
    except (scipy.linalg.LinAlgError, ValueError):
        return None


# -- The last digits of a small kernel machine: equations instead of steps ------------------------
#
# Once it is known which variables are free, 0 < alpha < C, they follow from y_i f(x_i) = 1 for
# the free rows and sum alpha_i y_i = 0: linear equations. Their solution is taken if it stays in
# the box and violates the conditions of optimality less than before.


_EXACT = 1e-12  # missed by more than this share, equations are nearly dependent
_NEAR = 1e-9  # share of C within which a variable counts as being at its bound


def polish(K: NDArray[Any], y: Array, cost: Array, alpha: Array, f: Array, free: bool) -> Any:
    """Better (alpha, f), or None; K is the Gram matrix of all rows."""
    best = None
    least = take_facts(y, cost, alpha, f, free).violation
    top = np.where(np.isfinite(cost), cost, alpha.max(initial=0.0))
    for _ in range(3):
        inside = (alpha > _NEAR * top) & (alpha < cost - _NEAR * top)
        rows = np.flatnonzero(inside)
        if not len(rows):
            break
        fixed = np.where(alpha >= cost - _NEAR * top, cost, 0.0)
        fixed[rows] = 0.0
        new = _free_solved(K, y, fixed, rows, free)
        if new is None:
            break
        new = np.clip(new, 0.0, cost)
        f = K @ (new * y) - y
        facts = take_facts(y, cost, new, f, free)
        balance = abs(float(new @ y)) if free else 0.0
        if facts.violation < least and balance <= 1e-12 * float(new.sum()):
            best, least = (new, f), facts.violation
        if np.array_equal(new, alpha):
            break
        alpha = new
    return best


def _free_solved(
    K: Array, y: Array, fixed: Array, rows: NDArray[np.int64], free: bool
) -> Array | None:
    """The free variables from their equations."""
    m = len(rows)
    signs = y[rows]
    square = np.zeros((m + free, m + free))
    square[:m, :m] = K[np.ix_(rows, rows)]
    right = np.empty(m + free)
    right[:m] = signs - K[rows] @ (fixed * y)
    scale = float(np.abs(np.diagonal(square)[:m]).max(initial=0.0)) or 1.0
    if free:
        square[:m, m] = square[m, :m] = scale
        right[m] = -scale * float(fixed @ y)
    if not (np.isfinite(square).all() and np.isfinite(right).all()):
        return None
    solution = _solution(square, right)
    out = fixed.copy()
    out[rows] = solution[:m] * signs
    return out if np.isfinite(out).all() else None


def _solution(square: Array, right: Array) -> Array:
    """By elimination, or where rows depend on each other by singular values."""
    try:
        found = np.linalg.solve(square, right)
    except np.linalg.LinAlgError:
        found = np.full(len(right), np.nan)
    if np.abs(square @ found - right).max() <= _EXACT * np.abs(right).max():
        return np.asarray(found)
    return np.asarray(np.linalg.lstsq(square, right, rcond=None)[0])
