"""The few rows a nearest-point search holds, with the Cholesky factor of their products.

Wolfe (1976), Finding the nearest point in a polytope. A corral is a set of rows, affinely
independent, with multipliers. Its target are the multipliers of the point of least length in
their affine hull. Rows whose multiplier would become negative on the way there leave.

    hull   groups = 1 or 2: multipliers of each group sum to 1, the point is sum l_i z_i
    cone   groups = 0: multipliers are free to grow, the point is sum l_i z_i - goal
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import inner, routine
from linsep.solvers.hulls.cloud import Cloud

Array = NDArray[np.float64]


@dataclass(kw_only=True)
class Corral:
    """Rows with groups and multipliers; only the first ``size`` places of the arrays count.

    States of searches are corrals: arrays and numbers, to be copied and saved.
    """

    groups: int
    size: int
    factor: Array
    half: Array
    points: Array
    row_numbers: NDArray[np.int64]
    group: NDArray[np.int64]
    all_multipliers: Array

    @staticmethod
    def blank(groups: int, cloud: Cloud, room: int = 48) -> dict[str, Any]:
        """Fields of a corral without rows; coordinates are held where that saves products."""
        m = cloud.m if cloud.held else 0
        return {
            "groups": groups,
            "size": 0,
            "factor": np.zeros((room, room)),
            "half": np.zeros((2, room)),
            "points": np.zeros((room, m)),
            "row_numbers": np.zeros(room, dtype=np.int64),
            "group": np.zeros(room, dtype=np.int64),
            "all_multipliers": np.zeros(room),
        }

    @property
    def rows(self) -> NDArray[np.int64]:
        """Numbers of the rows."""
        return self.row_numbers[: self.size]

    @property
    def multipliers(self) -> Array:
        """Multipliers of the rows."""
        return self.all_multipliers[: self.size]

    def point(self, cloud: Cloud) -> Array:
        """The combination of the rows."""
        if not cloud.held:
            return cloud.combine(self.rows, self.multipliers)
        return np.asarray(self.multipliers @ self.points[: self.size])

    def outside(
        self, cloud: Cloud, side: NDArray[np.int64], values: Array, edge: Array, batch: int
    ) -> tuple[NDArray[np.int64], Array]:
        """Rows whose values are least and below all in the corral, and the least of each side.

        edge bounds them from above for each side; it goes down to the values in the corral.
        """
        least, found = edge.copy(), np.empty(batch * len(edge), dtype=np.int64)
        count = survey(
            values,
            side,
            edge,
            least,
            self.row_numbers,
            self.group,
            self.size,
            batch,
            found,
            size=cloud.entries,
            work=10 * len(values),
            alike=True,
        )
        return found[:count], least

    def join(self, cloud: Cloud, rows: NDArray[np.int64], goal: Array | None = None) -> None:
        """Take in rows, the most promising first, and go to the best point.

        The first rows of an empty corral are one of each group. A cone needs the goal.
        """
        k, b = self.size, len(rows)
        self.reserve(k + b)
        self.row_numbers[k : k + b] = rows
        self.group[k : k + b] = cloud.side[rows]
        toward = np.zeros(b)
        if not cloud.held:
            products = cloud.products(rows, self.row_numbers[: k + b])
            if goal is not None:
                toward = cloud.values(goal)[rows]
        else:
            block = self.points[k : k + b]
            block[:] = cloud.take(rows)
            products = block @ self.points[: k + b].T
            if goal is not None:
                toward = block @ goal
        self.size = exchange(
            self.factor,
            self.half,
            self.points,
            self.row_numbers,
            self.group,
            self.all_multipliers,
            k,
            self.groups,
            products,
            toward,
            int(rows[0]) if b else -1,
            size=cloud.entries,
            work=10 * (k + b) ** 2,
            alike=True,
        )

    def reserve(self, room: int) -> None:
        """Make room for that many rows."""
        if room <= len(self.group):
            return
        room = max(room, 2 * len(self.group))
        for name in ("factor", "half", "points", "row_numbers", "group", "all_multipliers"):
            array = getattr(self, name)
            shape = {"factor": (room, room), "half": (2, room)}.get(name, (room, *array.shape[1:]))
            more = np.zeros(shape, dtype=array.dtype)
            more[tuple(map(slice, array.shape))] = array
            setattr(self, name, more)


# -- Loops: rows that stick out, rows that join, rows that leave ----------------------------------
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
