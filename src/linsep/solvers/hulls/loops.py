"""Major cycles of the search for nearest points of hulls, see ``solvers/hulls/nearest.py``."""

from __future__ import annotations

import numpy as np

from linsep.core.compile import inner, routine

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


# -- Wolfe's corral: rows with multipliers, and the Cholesky factor of their products -------------
#
# R is upper triangular with R'R = M, the products of the rows (plus 1 for two rows of the same
# group). Rows join at the end of R and leave by Givens rotations, both in O(k^2).
#
# The best multipliers solve M l = E c. E has a column for each group with ones at its rows, and
# c makes the multipliers of each group sum to 1; for a cone E is one column, the products of the
# rows with the goal, and c = 1. U holds R'^-1 E, one row for each column of E. It is kept up with
# R, so that E'M^-1 E = U U' is at hand and one backward substitution gives the multipliers.


_DEPENDENT = 1e-12  # part of a row that is left beside the others, below which it adds nothing
_ZERO = 1e-13  # multiplier, relative to the largest, that counts as zero


@routine
def survey(values, side, edge, least, rows, group, size, batch, found):
    """``look_around`` for a search that multiplies its rows elsewhere."""
    return look_around(values, side, edge, least, rows, group, size, batch, found)


@routine
def exchange(R, U, Z, rows, group, multipliers, k, groups, products, toward, worst):
    """``settle`` for a search that multiplies its rows elsewhere."""
    return settle(R, U, Z, rows, group, multipliers, k, groups, products, toward, worst)


@inner
def look_around(values, side, edge, least, rows, group, size, batch, found):
    """Find the rows that stick out farthest, a batch of each side; gives back how many.

    side is the group of each row; rows of side -1 take no part. edge[g] goes down to
    the least value of a row of the corral; only rows below it are found, the least first and
    the side that gains most ahead. least[g] becomes the least value of all.
    """
    for i in range(size):
        if values[rows[i]] < edge[group[i]]:
            edge[group[i]] = values[rows[i]]
    sides = len(edge)
    best = np.empty((sides, batch))
    place = np.empty((sides, batch), dtype=np.int64)
    count = np.zeros(sides, dtype=np.int64)
    limit = np.append(edge, -np.inf)  # the last is that of side -1
    least[:] = edge
    for v in np.flatnonzero(~(values >= limit[side])):
        g = side[v]
        value = values[v]
        if g < 0 or value >= limit[g]:
            continue
        if value != value:
            least[g] = value  # numbers overflowed: the bounds must not be believed
            continue
        i = min(count[g], batch - 1)
        while i > 0 and best[g, i - 1] > value:
            best[g, i] = best[g, i - 1]
            place[g, i] = place[g, i - 1]
            i -= 1
        best[g, i] = value
        place[g, i] = v
        count[g] = min(count[g] + 1, batch)
        if count[g] == batch:
            limit[g] = best[g, batch - 1]
    total = 0
    for g in range(sides):
        if count[g] > 0 and least[g] == least[g]:
            least[g] = best[g, 0]
    first = 1 if sides == 2 and edge[1] - least[1] > edge[0] - least[0] else 0
    for turn in range(sides):
        g = (first + turn) % sides
        for i in range(count[g]):
            found[total] = place[g, i]
            total += 1
    return total


@inner
def settle(R, U, Z, rows, group, multipliers, k, groups, products, toward, worst):
    """Let rows join a corral of k rows, then go to the best point; gives back the new k.

    Places k, k + 1, ... of Z, rows and group hold the rows that want to join, products their
    products with the rows inside and with each other, toward those with the goal of a cone.
    Rows that depend on others are not taken. Rows whose multipliers turn negative leave. worst
    is the last to be sent away of those that came together: alone it is sure to help.
    """
    column = np.arange(k + len(products))  # where the row of each place was at the start
    k = _join(R, U, column, group, multipliers, k, groups, products, toward)
    target = np.empty(k)
    gone = np.empty(k, dtype=np.bool_)
    while k > 0:
        size = _aim(R, U, k, groups, target)
        if not size < np.inf:
            break
        bound = _ZERO * size
        if _clip(multipliers, target, k, bound, gone):
            break
        leaving = 0
        for i in range(k):
            leaving += gone[i]
        for i in range(k - 1, -1, -1):
            if gone[i] and (leaving == 1 or rows[column[i]] != worst):
                _leave(R, U, column, multipliers, k, i)
                k -= 1
        _divide(multipliers, column, group, k, groups)
    for i in range(k):
        j = column[i]
        if j > i:
            rows[i] = rows[j]
            group[i] = group[j]
            for q in range(Z.shape[1]):
                Z[i, q] = Z[j, q]
    return k


@inner
def _join(R, U, column, group, multipliers, k, groups, products, toward):
    """Append rows to the factor; column keeps the number of each that is taken."""
    old = k
    one = 1.0 if groups > 0 else 0.0
    t = np.empty(len(column))
    for j in range(len(products)):
        for i in range(k):
            t[i] = products[j, column[i]]
            if group[column[i]] == group[old + j]:
                t[i] += one
        rest = products[j, old + j] + one
        least = _DEPENDENT * rest
        for i in range(k):
            t[i] /= R[i, i]
            rest -= t[i] * t[i]
            for q in range(i + 1, k):
                t[q] -= t[i] * R[i, q]
        if not rest > least:
            continue
        for i in range(k):
            R[i, k] = t[i]
        R[k, k] = np.sqrt(rest)
        for g in range(len(U)):
            right = toward[j] if groups == 0 else 1.0 if group[old + j] == g else 0.0
            for i in range(k):
                right -= t[i] * U[g, i]
            U[g, k] = right / R[k, k]
        column[k] = old + j
        multipliers[k] = 0.0
        k += 1
    return k


@inner
def _aim(R, U, k, groups, target):
    """The best multipliers, were they free to be negative; gives back the largest in size."""
    c0 = 1.0
    c1 = 0.0
    if groups > 0:
        a = 0.0
        b = 0.0
        c = 0.0
        for i in range(k):
            a += U[0, i] * U[0, i]
            b += U[0, i] * U[1, i]
            c += U[1, i] * U[1, i]
        if groups == 1:
            c = 1.0
        det = a * c - b * b
        if not det > 0.0:
            return np.inf
        c0 = (c - b) / det
        c1 = (a - b) / det
    size = 0.0
    whole = 0.0
    for i in range(k - 1, -1, -1):
        rest = c0 * U[0, i] + c1 * U[1, i]
        for q in range(i + 1, k):
            rest -= R[i, q] * target[q]
        target[i] = rest / R[i, i]
        size = max(size, abs(target[i]))
        whole += target[i]
    return size if abs(whole) < np.inf else np.inf


@inner
def _clip(multipliers, target, k, bound, gone):
    """Go as far toward the target as no multiplier turns negative; True if all the way.

    gone marks the rows that have to leave.
    """
    step = 1.0
    clean = True
    for i in range(k):
        if not target[i] > bound:
            clean = False
            if multipliers[i] - target[i] > 0.0:
                step = min(step, multipliers[i] / (multipliers[i] - target[i]))
    least = -1
    some = False
    for i in range(k):
        gone[i] = False
        multipliers[i] = max(multipliers[i] + step * (target[i] - multipliers[i]), 0.0)
        if not target[i] > bound:
            if multipliers[i] <= bound:
                gone[i] = True
                some = True
            if least < 0 or multipliers[i] < multipliers[least]:
                least = i
    if clean:
        multipliers[:k] = target[:k]
    elif not some:
        gone[least] = True
    return clean


@inner
def _leave(R, U, column, multipliers, k, j):
    """Take the row in place j out of the factor of k rows."""
    for i in range(j + 1):
        for q in range(j, k - 1):
            R[i, q] = R[i, q + 1]
    for i in range(j + 1, k):
        # row i of R now starts one place left of its diagonal: rotate it into row i - 1
        above = R[i - 1, i - 1]
        below = R[i, i]
        size = np.sqrt(above * above + below * below)
        c = above / size
        s = below / size
        R[i - 1, i - 1] = size
        for q in range(i, k - 1):
            upper = R[i - 1, q]
            lower = R[i, q + 1]
            R[i - 1, q] = c * upper + s * lower
            R[i, q] = c * lower - s * upper
        for g in range(len(U)):
            upper = U[g, i - 1]
            lower = U[g, i]
            U[g, i - 1] = c * upper + s * lower
            U[g, i] = c * lower - s * upper
        column[i - 1] = column[i]
        multipliers[i - 1] = multipliers[i]


@inner
def _divide(multipliers, column, group, k, groups):
    """Bring the sum of the multipliers of each group back to 1."""
    for g in range(groups):
        total = 0.0
        for i in range(k):
            if group[column[i]] == g:
                total += multipliers[i]
        if total > 0.0:
            for i in range(k):
                if group[column[i]] == g:
                    multipliers[i] /= total
