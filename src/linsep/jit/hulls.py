"""Major cycles of the search for nearest points of hulls, see ``solvers/nearest_hulls.py``."""

from __future__ import annotations

import numpy as np

from linsep.jit.compile import inner, routine
from linsep.jit.corral import look_around, settle

__all__ = ["FOUND", "RUNNING", "STUCK", "TOUCHING", "assess", "cycles"]

RUNNING, FOUND, TOUCHING, STUCK = 0, 1, 2, 3

_TOUCH = 1e-10  # length of w, in units of the largest row, that is taken for zero
_PATIENCE = 5  # cycles without progress before rounding is blamed


@routine
def assess(values, length, side, rows, group, size, batch, tol, bounds, found):
    """``judge`` for a search that multiplies its rows elsewhere."""
    return judge(values, length, side, rows, group, size, batch, tol, bounds, found)


@inner
def judge(values, length, side, rows, group, size, batch, tol, bounds, found):
    """What the values of all rows along w say: code, rows to take in, least value.

    length is that of w. bounds are those of the distance, from below and from above, and the
    number of cycles in which neither moved; they are brought up to date. found gets the rows.
    tol is the gap of the bounds to stop at, negative to stop at the first w that separates.
    """
    if not length > _TOUCH:
        return TOUCHING if length <= _TOUCH else STUCK, 0, 0.0
    sides = len(found) // batch
    edge = np.full(sides, np.inf)
    least = np.empty(sides)
    count = look_around(values, side, edge, least, rows, group, size, batch, found)
    total = 0.0
    gain = -np.inf
    for g in range(sides):
        total += least[g]
        gain = max(gain, edge[g] - least[g])
    low = total / length
    idle = not (length < bounds[1] * (1 - 1e-14) or low > bounds[0])
    bounds[2] = bounds[2] + 1.0 if idle else 0.0
    bounds[0] = max(bounds[0], low)
    bounds[1] = min(bounds[1], length)
    if total > 0 and (tol < 0 or bounds[0] >= (1 - tol) * bounds[1]):
        return FOUND, count, total
    if not 1e-15 * length < gain < np.inf or bounds[2] > _PATIENCE:
        return STUCK, count, total
    return RUNNING, count, total


@routine
def cycles(
    Z, M, side, R, U, rows, group, multipliers, w, batch, tol, bounds, counts, whole, real, used
):
    """Major cycles until there is an answer; gives back its code.

    Column i of Z is row i, M holds the products of all rows. counts are the size of the corral,
    the cycles and the updates so far, the cycles to end at, and the groups. It also ends when
    the corral has no room for another cycle, or when the log is full.
    """
    none = np.empty((0, 0))
    values = np.empty(Z.shape[1])
    while counts[1] < counts[3]:
        size = counts[0]
        many = batch + size // 16
        if size + counts[4] * many > len(group):
            return RUNNING
        counts[1] += 1
        values[:] = 0.0
        length = 0.0
        for q in range(len(Z)):
            values += Z[q] * w[q]
            length += w[q] * w[q]
        length = np.sqrt(length)
        found = np.empty(counts[4] * many, dtype=np.int64)
        code, count, total = judge(
            values, length, side, rows, group, size, many, tol, bounds, found
        )
        if code != RUNNING:
            return code
        products = np.empty((count, size + count))
        for i in range(count):
            rows[size + i] = found[i]
            group[size + i] = side[found[i]]
        for i in range(count):
            for j in range(size + count):
                products[i, j] = M[found[i], rows[j]]
        size = settle(
            R, U, none, rows, group, multipliers, size, counts[4], products, values, found[0]
        )
        w[:] = 0.0
        for i in range(size):
            w += Z[:, rows[i]] * multipliers[i]
        counts[0] = size
        counts[2] += 1
        if len(whole):
            k = used[0]
            whole[k, 0] = counts[2]
            whole[k, 1] = counts[1] * len(values)
            whole[k, 2] = found[0]
            real[k, 0] = total
            real[k, 1] = length
            used[0] = k + 1
            if used[0] == len(whole):
                return RUNNING
    return RUNNING
