"""The problem of a working set: pairs of variables, in smaller sets where it is large.

A step of a pair costs as much as the set has rows. A set of a thousand rows is therefore
worked on in sets of a few hundred, whose changes are brought to the others by rows of the
kernel matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.jit import smo
from linsep.solvers.additive_blocks import taken_from
from linsep.solvers.additive_choice import smallest
from linsep.solvers.smo_facts import movable

__all__ = ["solve_set"]

Array = NDArray[np.float64]

_INNER = 256
_STEPS = 20  # pairs for each row of an inner set
_GOAL = 0.3  # share of the largest violation at which an inner set is left


def solve_set(K: Any, y: Array, top: Array, a: Array, f: Array, eps: float, limit: int) -> int:
    """Change a and f until no violation exceeds eps; gives back the steps taken.

    The arrays are padded to whole lanes with rows of y = 0.
    """
    if len(y) <= 2 * _INNER:
        return _pairs(K, y, top, a, f, eps, limit)
    taken = 0
    last = np.zeros(0, dtype=np.int64)
    square = np.zeros((0, 0), dtype=K.dtype)
    while taken < limit:
        up, low = movable(y, top, a)
        width = float(f[low].max() - f[up].min())
        if not width > eps:
            break
        last = _inner(f, up, low, last)
        square, part = _square(K, last, square), a[last]
        goal = max(_GOAL * width, 0.5 * eps)
        steps = _pairs(square, y[last], top[last], part, f[last], goal, _STEPS * _INNER)
        change = (part - a[last]) * y[last]
        moved = np.flatnonzero(change)
        if not moved.size:
            break
        rows = last[moved]
        a[rows] = part[moved]
        smo.add_rows(f, K, rows, change[moved], 0, len(y), size=K.size, work=rows.size * len(y))
        taken += steps
    return taken


def _inner(f: Array, up: Any, low: Any, last: NDArray[np.int64]) -> NDArray[np.int64]:
    """The newer half of the last set, and the rows that violate most."""
    kept = last[len(last) // 2 :]
    outside = np.ones(len(f), dtype=bool)
    outside[kept] = False
    half = (_INNER - len(kept)) // 2
    first = smallest(f, up & outside, half, None)
    outside[first] = False
    second = smallest(-f, low & outside, _INNER - len(kept) - len(first), None)
    some = np.concatenate([kept, first, second])
    if len(some) < _INNER:  # whole lanes
        outside[second] = False
        some = np.concatenate([some, np.flatnonzero(outside)[: _INNER - len(some)]])
    return some


def _square(K: Any, rows: NDArray[np.int64], old: Any) -> Any:
    """Kernel values of an inner set, whose first half is the second half of the old one."""
    half = len(old) // 2
    fresh = taken_from(K, rows[half:], rows)
    if not half:
        return fresh
    out = np.empty((len(rows), len(rows)), dtype=K.dtype)
    out[:half, :half] = old[half:, half:]
    out[half:] = fresh
    out[:half, half:] = fresh[:, :half].T
    return out


def _pairs(K: Any, y: Array, top: Array, a: Array, f: Array, eps: float, limit: int) -> int:
    return int(
        smo.solve_block(
            K, y, top, a, f, eps, limit, np.zeros((6, len(K))), size=K.size, work=400 * len(K)
        )
    )
