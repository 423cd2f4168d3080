"""A Newton step of a kernel machine: all free variables, and those that should be, at once.

Once few variables still enter or leave, steps of two variables at a time creep towards what
linear equations say at once: y_i f(x_i) = 1 for the free rows, sum alpha_i y_i = 0, with bounds
held (numerics/box.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.numerics.box import free_values, newton_change
from linsep.solvers.kernel.pairs import Facts, take_facts

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_LEAST, _MOST = 48, 1500  # free variables for which equations pay
_FREE = 0.8  # share of the support vectors that are free: those at C come and go for long
_CLOSE = 0.5  # violation, in units of the street, from which few variables come and go
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
    low, high = np.where(y > 0, 0.0, -c) - beta, np.where(y > 0, c, 0.0) - beta
    change = newton_change(K, f, low, high, free)
    if change is None:
        return None
    new = np.clip(a + y * change, 0.0, c)
    new[change == low] = np.where(y > 0, 0.0, c)[change == low]  # exactly on the bounds
    new[change == high] = np.where(y > 0, c, 0.0)[change == high]
    return np.asarray(new)


# -- The last digits of a small kernel machine: equations instead of steps ------------------------
#
# Once it is known which variables are free, 0 < alpha < C, they follow from y_i f(x_i) = 1 for
# the free rows and sum alpha_i y_i = 0: linear equations. Their solution is taken if it stays in
# the box and violates the conditions of optimality less than before.


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
        signs, signed = y[rows], fixed * y
        found = free_values(
            K[np.ix_(rows, rows)],
            signs - K[rows] @ signed,
            np.ones(len(rows)) if free else None,
            -float(signed.sum()),
        )
        if found is None:
            break
        new = fixed
        new[rows] = found * signs
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
