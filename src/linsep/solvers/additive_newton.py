"""Newton steps on the free variables of a working set.

Pairs of variables converge slowly where many variables are free. The variables strictly inside
their box have a linear system instead: K d + mu = -f, sum d = 0. Those that its solution puts
outside of the box are held at the bound they pass, by one more condition each on the same
factor of K, until all others stay inside. Where too many pass, the solution is projected onto
the box. A step goes as far as the dual objective grows; it never falls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from linsep.solvers.additive_blocks import taken_from
from linsep.solvers.additive_choice import project

__all__ = ["newton_rounds"]

Array = NDArray[np.float64]

_RIDGES = {8: 1e-14, 4: 1e-6}  # share of the diagonal that rounding may take from the matrix
_HELD = 0.25  # share of the free variables that may be held
_TRIES = 8


def newton_rounds(K: Any, y: Array, top: Array, a: Array, f: Array, eps: float, rounds: int) -> int:
    """Steps on the free variables, in place, until no violation among them exceeds eps.

    Variables that reach a bound stay there. Gives back the number of steps taken.
    """
    for taken in range(rounds):
        free = np.flatnonzero((a > 0) & (a < top))
        if len(free) < 2 or float(np.ptp(f[free])) <= eps:
            return taken
        beta, bound = a[free] * y[free], top[free] * y[free]
        change = _change(
            taken_from(K, free, free), f[free], beta,
            np.minimum(0.0, bound), np.maximum(0.0, bound),
        )  # fmt: skip
        slope = 0.0 if change is None else float(change @ f[free])
        if change is None or not slope < 0:
            return taken
        image = change.astype(K.dtype) @ K[free]
        curvature = float(change @ image[free])
        t = 1.0 if curvature <= 0 else min(1.0, -slope / curvature)
        a[free] = np.clip((beta + t * change) * y[free], 0.0, top[free])
        f += t * image[: len(f)]
    return rounds


def _change(K: Any, f: Array, beta: Array, low: Array, high: Array) -> Array | None:
    """Where to go from beta, or None where rounding spoils the system."""
    solve = _factored(K)
    if solve is None:
        return None
    found = solve(np.column_stack([f.mean() - f, np.ones(len(f))]))
    if not np.isfinite(found).all():
        return None
    change = _on_a_face(solve, found, beta, low, high)
    if change is None:
        step = found[:, 0] - found[:, 1] * (found[:, 0].sum() / found[:, 1].sum())
        change = project(beta + step, low, high, float(beta.sum())) - beta
    return change if np.isfinite(change).all() else None


def _on_a_face(
    solve: Callable[[Array], Array], found: Array, beta: Array, low: Array, high: Array
) -> Array | None:
    """The minimum with some variables held at bounds and the others inside; None if not found.

    With Z = K^-1 [1, e_h ...] it is d = z - Z m, where m makes the sum zero and d_h what it must
    be for the variables h that are held.
    """
    z, Z = found[:, 0], found[:, 1:]
    held = np.zeros(0, dtype=np.int64)
    goal = np.zeros(0)
    for _ in range(_TRIES):
        system = np.vstack([Z.sum(axis=0), Z[held]])
        right = np.append(z.sum(), z[held] - goal)
        try:
            change = z - Z @ np.linalg.solve(system, right)
        except np.linalg.LinAlgError:
            return None
        change[held] = goal
        point = beta + change
        out = np.flatnonzero((point < low) | (point > high))
        out = out[~np.isin(out, held)]
        if not len(out):
            return np.asarray(change)
        if not len(held) + len(out) <= _HELD * len(beta):
            return None
        unit = np.zeros((len(beta), len(out)))
        unit[out, np.arange(len(out))] = 1.0
        Z = np.hstack([Z, solve(unit)])
        goal = np.append(goal, np.where(point[out] < low[out], low[out], high[out]) - beta[out])
        held = np.append(held, out)
    return None


def _factored(K: Any) -> Callable[[Array], Array] | None:
    """What multiplies by the inverse of K, nearly; None where rounding spoils it."""
    scale = float(K.diagonal().max())
    if not scale > 0:
        return None
    own = np.arange(len(K))
    short = K.dtype == np.float32
    factorise, solve = (lapack.spotrf, lapack.spotrs) if short else (lapack.dpotrf, lapack.dpotrs)
    ridge = _RIDGES[K.dtype.itemsize]
    while ridge < 1e-2:
        system = K.copy().T  # by columns, as LAPACK wants it
        system[own, own] += ridge * scale
        factor, info = factorise(system, lower=1, overwrite_a=1)
        if info == 0:
            break
        ridge *= 100.0
    else:
        return None

    def inverse(right: Array) -> Array:
        return np.asarray(solve(factor, right.astype(K.dtype), lower=1)[0], dtype=np.float64)

    return inverse
