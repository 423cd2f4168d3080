"""Major cycles of the search for nearest points of hulls, see ``solvers/nearest_hulls.py``."""

from __future__ import annotations

import numpy as np

from linsep.jit.compile import inner, routine
from linsep.jit.corral import look_around, settle

__all__ = ["FOUND", "RUNNING", "STUCK", "TOUCHING", "assess", "coordinates", "cycles"]

RUNNING, FOUND, TOUCHING, STUCK = 0, 1, 2, 3

_TOUCH = 1e-10  # length of w, in units of the largest row, that is taken for zero
_RANK = 1e-14  # squared distance from the span of others, relative to the largest, taken for zero
_FAR = 1e-4  # squared distance from the mean, relative to that from the origin
_PATIENCE = 5  # cycles without progress before rounding is blamed


@routine
def coordinates(gram, scale, centred, G, Z):
    """Points with the products scale * gram; gives back of how many coordinates, -1 for none.

    Coordinate q of all points becomes Z[q], by Cholesky with pivoting. centred asks for the
    mean as origin; if that is too far away for the products to tell the points apart, there
    are no coordinates. G has the shape of gram and is written over.
    """
    n = len(gram)
    whole = 0.0
    for i in range(n):
        np.multiply(gram[i], scale, G[i])
        whole += G[i, i]
    if centred:
        middle = np.zeros(n)
        for i in range(n):
            middle += G[i]
        total = 0.0
        for i in range(n):
            middle[i] /= n
            total += middle[i]
        middle -= total / (2 * n)
        trace = 0.0
        for i in range(n):
            G[i] -= middle
            G[i] -= middle[i]
            trace += G[i, i]
        if not trace > _FAR * whole:
            return -1
    rest = np.diag(G).copy()
    least = _RANK * rest.max()
    part = np.empty(n)
    q = 0
    while q < n:
        p = rest.argmax()
        if not least < rest[p] < np.inf:
            break
        row = Z[q]
        row[:] = G[p]
        for k in range(q):
            np.multiply(Z[k], Z[k, p], part)
            row -= part
        size = np.sqrt(rest[p])
        for i in range(n):
            row[i] = row[i] / size if rest[i] > -np.inf else 0.0
        row[p] = size
        np.multiply(row, row, part)
        rest -= part
        rest[p] = -np.inf  # it has all its coordinates
        q += 1
    return q


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
    the cycles and the updates so far, the cycles to end at, the groups, and how many rows wait
    behind those of the corral to be taken in before the first cycle. It also ends when the
    corral has no room for another cycle, or when the log is full.
    """
    values, part = np.empty(Z.shape[1]), np.empty(Z.shape[1])
    if counts[5] > 0:
        take_in(Z, M, R, U, rows, group, multipliers, w, counts, counts[5])
    while counts[1] < counts[3]:
        size = counts[0]
        many = batch + size // 16
        if size + counts[4] * many > len(group):
            return RUNNING
        counts[1] += 1
        values[:] = 0.0
        length = 0.0
        for q in range(len(Z)):
            np.multiply(Z[q], w[q], part)
            values += part
            length += w[q] * w[q]
        length = np.sqrt(length)
        found = np.empty(counts[4] * many, dtype=np.int64)
        code, count, total = judge(
            values, length, side, rows, group, size, many, tol, bounds, found
        )
        if code != RUNNING:
            return code
        for i in range(count):
            rows[size + i] = found[i]
            group[size + i] = side[found[i]]
        take_in(Z, M, R, U, rows, group, multipliers, w, counts, count)
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


@inner
def take_in(Z, M, R, U, rows, group, multipliers, w, counts, count):
    """Let the rows behind the corral join it, and go to the best point."""
    size = counts[0]
    products = np.empty((count, size + count))
    for i in range(count):
        for j in range(size + count):
            products[i, j] = M[rows[size + i], rows[j]]
    none = np.empty((0, 0))
    piece = np.empty(len(w))
    size = settle(
        R, U, none, rows, group, multipliers, size, counts[4], products, piece, rows[size]
    )
    w[:] = 0.0
    for i in range(size):
        np.multiply(Z[:, rows[i]], multipliers[i], piece)
        w += piece
    counts[0] = size
