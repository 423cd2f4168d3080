"""What f = K (alpha y) - y tells about a dual point, and the problem of a working set.

The decomposition (smo.py) judges its points and solves its working sets by these: by pairs of
variables, and small ones on which these creep by interior points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import inner, routine
from linsep.core.costs import SET_IN_ONE, SET_IN_PARTS
from linsep.core.limits import tick
from linsep.kernels.blocks import add_some_rows, sum_some_rows
from linsep.numerics.interior import box_minimum

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Optimality:
    """How far a dual point is from the best one; up and low hold f where y alpha may grow or fall,
    and infinity elsewhere."""

    up: Array
    low: Array
    primal: float
    dual: float
    offset: float
    violation: float
    gap: float
    """What these rows add to the duality gap; rows safely at a bound would add nothing."""
    spread: float
    """Squared distance of the two points of the hulls that alpha stands for."""

    def urgency(self) -> Array:
        """How far each row is beyond the middle that separates those who may move."""
        return np.maximum(-self.offset - self.up, self.low + self.offset)


def movable(y: Array, cost: Array, alpha: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where y alpha may grow, and where it may fall."""
    grows, falls, positive = alpha < cost, alpha > 0, y > 0
    return np.where(positive, grows, falls), np.where(positive, falls, grows)


def offset_of(y: Array, cost: Array, alpha: Array, f: Array) -> float:
    """The middle between the least f that may grow and the largest that may fall."""
    up, low = movable(y, cost, alpha)
    return _middle(float(f[up].min(initial=np.inf)), float(f[low].max(initial=-np.inf)))


def _middle(least: float, most: float) -> float:
    if np.isfinite(least) and np.isfinite(most):
        return -(least + most) / 2
    return -least if np.isfinite(least) else -most if np.isfinite(most) else 0.0


def optimality(y: Array, cost: Array, alpha: Array, f: Array, *, with_offset: bool) -> Optimality:
    """Objective, lower bound and violation of a dual point; the offset is the middle of those who
    may move."""
    grows, falls = movable(y, cost, alpha)
    quad = float((alpha * y) @ (f + y))
    total = float(alpha.sum())
    spread = 4 * (quad / total) / total if total > 0 else np.inf
    if with_offset:
        up, low = np.where(grows, f, np.inf), np.where(falls, f, -np.inf)
        least, most = float(up.min(initial=np.inf)), float(low.max(initial=-np.inf))
        violation = max(most - least, 0.0) if np.isfinite(most - least) else 0.0
        offset = _middle(least, most)
    else:
        # without a condition that ties them together each row is judged by its own slope y f
        up, low = np.where(grows, f, 0.0), np.where(falls, f, 0.0)
        up, low = np.minimum(up, 0.0), np.maximum(low, 0.0)
        up, low = np.where(up < 0, up, np.inf), np.where(low > 0, low, -np.inf)
        violation = max(-float(up.min(initial=0.0)), float(low.max(initial=0.0)))
        offset = 0.0
    margin = y * (f + y + offset)
    if np.isinf(cost).any():
        near = float(margin.min())
        primal = 0.5 * (quad / near) / near if near > 0 and quad > 0 else np.inf
        dual = 0.5 * total * (total / quad) if quad > 0 else 0.0
    else:
        primal = 0.5 * quad + float(cost @ np.maximum(0.0, 1.0 - margin))
        dual = max(total - 0.5 * quad, 0.0)
    gap = primal - total + 0.5 * quad + offset * float(alpha @ y)
    return Optimality(up, low, primal, dual, offset, violation, gap, spread)


def best_offset(y: Array, cost: Array, f: Array, reach: tuple[float, float] | None = None) -> float:
    """The offset with the least sum of losses, the middle where there is a whole interval.

    With ``reach`` the best one for which -b is between two numbers: few corners are sorted then.

    The losses of all rows are a convex function of b with corners at -f_i; its slope is the cost
    of the negative rows with corners to the left of b minus that of the positive rows with
    corners to its right.
    """
    corner, before = -f, 0.0
    if reach is not None:
        less, more = f < reach[0], f > reach[1]
        before = float(cost[more & (y < 0)].sum() - cost[less & (y > 0)].sum())
        some = np.flatnonzero(~(less | more))
        if not len(some):
            return -0.5 * (reach[0] + reach[1])
        corner, y, cost = corner[some], y[some], cost[some]
    order = np.argsort(corner, kind="stable")
    cost_of = cost[order]
    slope = before + np.cumsum(cost_of) - float(cost[y > 0].sum())  # just right of each corner
    slack = 1e-12 * float(cost.sum())
    k = int(np.searchsorted(slope, -slack))
    k = min(k, len(order) - 1)
    first = float(corner[order[k]])
    last = k
    while last + 1 < len(order) and slope[last] <= slack:
        last += 1
    return (first + float(corner[order[last]])) / 2


# -- The problem of a working set -----------------------------------------------------------------


_VIOLATION_LEFT = 0.1  # of the largest violation that a smaller set leaves
_PAIRS_A_ROW = 20  # pairs for each of its rows


def solve_set(
    K: NDArray[Any], y: Array, c: Array, a: Array, f: Array, goal: float, limit: int, *,
    with_offset: bool = True,
) -> int:  # fmt: skip
    """Change a and f until no violation exceeds the goal; gives back the steps taken.

    All arrays are padded to whole lanes with rows of y = 0; with_offset: there is an intercept.
    """
    q, taken = len(y), 0
    if q > SET_IN_ONE and with_offset:
        m = SET_IN_PARTS
        rows, moved = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
        steps = solve_in_sets(
            K, y, c, a, f, goal, limit, rows, np.zeros((m, m), dtype=K.dtype),
            np.zeros(q, dtype=bool), np.zeros((2, q)), np.zeros((4, m)), np.zeros((6, m)), moved,
            np.zeros(m), size=K.size, work=400 * q,
        )  # fmt: skip
        return int(steps)
    solve, work = solve_block if with_offset else solve_coordinates, np.empty((6, q))
    while taken < limit:  # short calls: a tiny problem is done before it is compiled for
        some = min(2 * q, limit - taken)
        steps = int(solve(K, y, c, a, f, float(goal), some, work, size=4 * q * q, work=12 * q * q))
        taken += steps
        if steps < some:
            break
    return taken


# -- Inner loops of kernel machines: pairs of dual variables inside a working set -----------------
#
# f_i = sum_j alpha_j y_j K_ij - y_i. A variable is "up" if y alpha may grow and "low" if it may
# fall. At the optimum no up variable has a smaller f than a low one.
#
# Minima are kept in LANES separate numbers, which machine code compares all at once; the order
# of the comparisons, and so the result, does not depend on it. The arrays are padded to whole
# lanes with entries that are neither up nor low.


LANES = 32
_FLAT_PAIR = 1e-14  # share of K_ii + K_jj below which the curvature of a pair counts as rounding
_NO_CURVATURE = 1e-300


@inner
def _extremes(v: Any, best: Any) -> Any:
    """The least entry of v and the first place that has it."""
    for k in range(LANES):
        best[k] = np.inf
    for at in range(0, len(v), LANES):
        part = v[at : at + LANES]
        for k in range(LANES):
            best[k] = part[k] if part[k] < best[k] else best[k]
    return _place(v, best)


@inner
def _sum_and_least(f: Any, more: Any, v: Any, best: Any) -> None:
    """v = f + more, and the least of each lane."""
    for k in range(LANES):
        best[k] = np.inf
    for at in range(0, len(v), LANES):
        part, own, other = v[at : at + LANES], f[at : at + LANES], more[at : at + LANES]
        for k in range(LANES):
            x = own[k] + other[k]
            part[k] = x
            best[k] = x if x < best[k] else best[k]


@inner
def _least_difference(low: Any, f: Any, best: Any) -> Any:
    """The least of low - f."""
    for k in range(LANES):
        best[k] = np.inf
    for at in range(0, len(f), LANES):
        own, other = f[at : at + LANES], low[at : at + LANES]
        for k in range(LANES):
            x = other[k] - own[k]
            best[k] = x if x < best[k] else best[k]
    least = best[0]
    for k in range(1, LANES):
        least = best[k] if best[k] < least else least
    return least


@inner
def _place(v: Any, best: Any) -> Any:
    """The least of all lanes and the first place that has it."""
    least = best[0]
    for k in range(1, LANES):
        least = best[k] if best[k] < least else least
    place = len(v) - 1
    for k in range(LANES):  # only the lanes that have it are looked through
        if best[k] == least:
            at = k
            while at < place and v[at] != least:
                at += LANES
            place = at if at < place else place
    return least, place


@inner
def _mark(i: Any, y: Any, a: Any, c: Any, up: Any, low: Any) -> None:
    """0 where a variable may move, infinity where not."""
    grows, falls = a[i] < c[i], a[i] > 0.0
    if y[i] < 0.0:
        grows, falls = falls, grows
    up[i] = 0.0 if grows and y[i] != 0.0 else np.inf
    low[i] = 0.0 if falls and y[i] != 0.0 else np.inf


@inner
def _moved(i: Any, j: Any, t: Any, y: Any, c: Any, a: Any) -> Any:
    """Let y alpha grow by t at i and fall by t at j, as far as the bounds let it; gives back t."""
    room = c[i] - a[i] if y[i] > 0.0 else a[i]
    other_room = a[j] if y[j] > 0.0 else c[j] - a[j]
    t = room if room < t else t
    t = other_room if other_room < t else t
    a[i] = a[i] + y[i] * t
    a[j] = a[j] - y[j] * t
    if t == room:  # exactly on the bound, whatever rounding says
        a[i] = c[i] if y[i] > 0.0 else 0.0
    if t == other_room:
        a[j] = 0.0 if y[j] > 0.0 else c[j]
    return t


@inner
def pairs_of_block(
    K: Any, y: Any, c: Any, a: Any, f: Any, eps: float, limit: int, work: Any
) -> Any:
    """Second-order SMO on a working set; changes a and f, gives back the steps taken.

    K is the kernel matrix of the set, y its signs (0 for padding), c the upper bounds of a.
    Ends when the largest violation is below eps. work has six rows of the length of y.
    """
    q = len(y)
    up, low, value, best = work[0], work[1], work[2], work[3][:LANES]
    diagonal, curve = work[4], work[5]
    for i in range(q):
        _mark(i, y, a, c, up, low)
        diagonal[i] = K[i, i]
    for step in range(limit):
        _sum_and_least(f, up, value, best)
        least, i = _place(value, best)
        if not -_least_difference(low, f, best) - least > eps:
            return step
        row = K[i]
        own = diagonal[i]
        for k in range(q):
            d = f[k] - low[k] - least
            d = d if d > 0.0 else 0.0
            small = _FLAT_PAIR * abs(own + diagonal[k]) + _NO_CURVATURE  # K_ii may be negative
            e = own + diagonal[k] - 2.0 * row[k]
            curve[k] = e if e > small else small
            value[k] = -(d * d)
        np.divide(value, curve, value)  # the operator would look for zeros one by one
        _, j = _extremes(value, best)
        t = _moved(i, j, (f[j] - least) / curve[j], y, c, a)
        other = K[j]
        for k in range(q):
            f[k] = f[k] + t * (row[k] - other[k])
        _mark(i, y, a, c, up, low)
        _mark(j, y, a, c, up, low)
    return limit


@routine
def solve_block(
    K: Array, y: Array, c: Array, a: Array, f: Array, eps: float, limit: int, work: Array
) -> Any:
    """The same, for a working set by itself."""
    return pairs_of_block(K, y, c, a, f, eps, limit, work)


@solve_block.in_numpy
def _solve_block(
    K: Array, y: Array, c: Array, a: Array, f: Array, eps: float, limit: int, work: Array
) -> int:
    up, low, value, diagonal, curve = work[0], work[1], work[2], work[4], work[5]
    grows, falls = a < c, a > 0.0
    up[:] = np.where(np.where(y < 0.0, falls, grows) & (y != 0.0), 0.0, np.inf)
    low[:] = np.where(np.where(y < 0.0, grows, falls) & (y != 0.0), 0.0, np.inf)
    diagonal[:] = K.diagonal()
    for step in range(limit):
        np.add(f, up, out=value)
        i = int(value.argmin())
        least = value[i]
        if not (np.subtract(f, low, out=value).max() - least > eps or np.isnan(least)):
            return step
        np.maximum(np.subtract(value, least, out=value), 0.0, out=value)
        row = K[i]
        small = np.abs(np.add(diagonal, diagonal[i], out=curve)) * _FLAT_PAIR + _NO_CURVATURE
        np.maximum(np.subtract(curve, 2.0 * row, out=curve), small, out=curve)
        np.negative(np.multiply(value, value, out=value), out=value)
        j = int(np.divide(value, curve, out=value).argmin())
        if np.isnan(least) or np.isnan(value[j]):  # overflown: the loop passes over such rows
            return step + int(pairs_of_block(K, y, c, a, f, eps, limit - step, work))
        t = _moved(i, j, (f[j] - least) / curve[j], y, c, a)
        f += np.float64(t) * (row - K[j])
        _mark(i, y, a, c, up, low)
        _mark(j, y, a, c, up, low)
    return limit


@routine
def solve_coordinates(
    K: Array, y: Array, c: Array, a: Array, f: Array, eps: float, limit: int, work: Array
) -> Any:
    """The same without an intercept: one variable at a time, the one that gains most."""
    q = len(y)
    value, best, diagonal = work[0], work[1][:LANES], work[2]
    for i in range(q):
        diagonal[i] = K[i, i] if K[i, i] > _NO_CURVATURE else _NO_CURVATURE
    for step in range(limit):
        worst = 0.0
        for k in range(q):
            g = y[k] * f[k]  # slope of the dual objective
            free = (g < 0.0 and a[k] < c[k]) or (g > 0.0 and a[k] > 0.0)
            g = g if free else 0.0
            value[k] = -(g * g)
            g = -g if g < 0.0 else g
            worst = g if g > worst else worst
        if not worst > eps:
            return step
        np.divide(value, diagonal, value)
        _, i = _extremes(value, best)
        old = a[i]
        new = old - y[i] * f[i] / diagonal[i]
        new = 0.0 if new < 0.0 else new
        a[i] = c[i] if new > c[i] else new
        t = y[i] * (a[i] - old)
        row = K[i]
        for k in range(q):
            f[k] = f[k] + t * row[k]
    return limit


@routine
def square_of(G: Any, rows: NDArray[np.int64], at: NDArray[np.int64], out: Array) -> Any:
    """A symmetric matrix: the columns ``at`` of the rows ``rows`` of G; half of it is read."""
    for i in range(len(rows)):
        row, own = G[rows[i]], out[i]
        for j in range(i + 1):
            own[j] = row[at[j]]
    for start in range(0, len(rows), 16):  # stripes of the transpose that stay in the cache
        for i in range(start, len(rows)):
            own = out[i]
            for j in range(start, min(start + 16, i)):
                out[j, i] = own[j]


@square_of.in_numpy
def _square_of(G: Any, rows: NDArray[np.int64], at: NDArray[np.int64], out: Array) -> None:
    half = np.tril(G[rows][:, at])
    np.add(half, np.tril(half, -1).T, out=out)


# -- A large working set, worked on in small ones -------------------------------------------------
#
# A step of a pair costs as much as the set has rows, and the kernel values of a small set stay in
# the cache. What a small set changes is brought to the others by rows of the kernel matrix.


@inner
def _choose(value, taken, count, place, chosen):
    """The rows with the smallest values, as far as these are finite; they are marked as taken."""
    if count >= len(value):
        limit = np.inf
    else:
        limit = np.partition(value, count)[count]
    found = 0
    for k in range(len(value)):  # those below the limit are no more than count
        if value[k] < limit and not taken[k]:
            chosen[place + found] = k
            taken[k] = True
            found += 1
    for k in range(len(value)):
        if found == count:
            break
        if value[k] == limit and value[k] < np.inf and not taken[k]:
            chosen[place + found] = k
            taken[k] = True
            found += 1
    return found


@inner
def _fill(taken, place, chosen):
    """Any rows, so that the set has its size."""
    for k in range(len(taken)):
        if place == len(chosen):
            break
        if not taken[k]:
            chosen[place] = k
            taken[k] = True
            place += 1


@inner
def _values(f, y, c, a, taken, up, low):
    """f where y alpha may grow, -f where it may fall, infinity elsewhere and where taken.

    Gives back the largest violation of all rows.
    """
    least, most = np.inf, np.inf
    for k in range(len(f)):
        grows, falls = a[k] < c[k], a[k] > 0.0
        if y[k] < 0.0:
            grows, falls = falls, grows
        mine = f[k] if grows and y[k] != 0.0 else np.inf
        least = mine if mine < least else least
        up[k] = np.inf if taken[k] else mine
        mine = -f[k] if falls and y[k] != 0.0 else np.inf
        most = mine if mine < most else most
        low[k] = np.inf if taken[k] else mine
    return -most - least


@inner
def _square(K, rows, half, square):
    """Kernel values of a small set whose first rows are the last ones of the set before."""
    m = len(rows)
    for i in range(half):
        for j in range(half):
            square[i, j] = square[m - half + i, m - half + j]
    for i in range(half, m):
        line, own = K[rows[i]], square[i]
        for j in range(m):
            own[j] = line[rows[j]]
    for i in range(half):
        own = square[i]
        for j in range(half, m):
            own[j] = square[j, i]


@routine
def solve_in_sets(K, y, c, a, f, eps, limit, rows, square, taken, values, part, work, moved, coef):
    """Change a and f until no violation exceeds eps; gives back the steps taken.

    rows, moved and coef have the length m of a small set, square is m x m in the format of K,
    part has four and work six rows of length m, values two of the length of y, taken one.
    """
    m = len(rows)
    half = 0
    steps = 0
    while steps < limit:
        for k in range(len(y)):
            taken[k] = False
        for k in range(half):  # the newer half stays
            rows[k] = rows[m - half + k]
            taken[rows[k]] = True
        width = _values(f, y, c, a, taken, values[0], values[1])
        if not width > eps:
            break
        found = half + _choose(values[0], taken, (m - half) // 2, half, rows)
        for k in range(half, found):
            values[1, rows[k]] = np.inf
        found += _choose(values[1], taken, m - found, found, rows)
        _fill(taken, found, rows)
        _square(K, rows, half, square)
        for k in range(m):
            r = rows[k]
            part[0, k], part[1, k], part[2, k], part[3, k] = y[r], c[r], a[r], f[r]
        goal = max(_VIOLATION_LEFT * width, 0.5 * eps)
        steps += pairs_of_block(
            square, part[0], part[1], part[2], part[3], goal, _PAIRS_A_ROW * m, work
        )
        count = 0
        for k in range(m):
            r = rows[k]
            change = (part[2, k] - a[r]) * y[r]
            if change != 0.0:
                moved[count], coef[count] = r, change
                count += 1
                a[r] = part[2, k]
        if count == 0:
            break
        add_some_rows(f, K, moved[:count], coef[:count], 0, len(y))
        half = m // 2
    return steps


@solve_in_sets.in_numpy
def _solve_in_sets(
    K: Any, y: Array, c: Array, a: Array, f: Array, eps: float, limit: int, rows: Any, square: Any,
    taken: Any, values: Array, part: Array, work: Array, moved: Any, coef: Any,
) -> int:  # fmt: skip
    m, half, steps = len(rows), 0, 0
    while steps < limit:
        tick()
        rows[:half] = rows[m - half :].copy()
        taken[:] = False
        taken[rows[:half]] = True
        grows, falls = np.where(y < 0.0, (a > 0.0, a < c), (a < c, a > 0.0)) & (y != 0.0)
        up, low = np.where(grows, f, np.inf), np.where(falls, -f, np.inf)
        width = -np.fmin.reduce(low) - np.fmin.reduce(up)
        if not width > eps:
            break
        up[taken] = low[taken] = np.inf
        found = half
        for value, count in ((up, (m - half) // 2), (low, -1)):
            value[rows[half:found]] = np.inf
            found = _chosen(value, taken, found, m - found if count < 0 else count, rows)
        others = np.flatnonzero(~taken)[: m - found]
        rows[found : found + len(others)] = others
        square[:half, :half] = square[m - half :, m - half :].copy()
        square[half:] = K[np.ix_(rows[half:], rows)]
        square[:half, half:] = square[half:, :half].T
        part[:] = y[rows], c[rows], a[rows], f[rows]
        goal = max(_VIOLATION_LEFT * width, 0.5 * eps)
        steps += _solve_block(square, *part, goal, _PAIRS_A_ROW * m, work)
        change = (part[2] - a[rows]) * y[rows]
        some = np.flatnonzero(change)
        if not len(some):
            break
        a[rows[some]] = part[2, some]
        sum_some_rows(f, K, rows[some], change[some], 0, len(y))
        half = m // 2
    return steps


def _chosen(value: Array, taken: Any, place: int, count: int, rows: Any) -> int:
    """``_choose`` in operations on arrays; gives back how many rows there are now."""
    limit = np.inf if count >= len(value) else np.partition(value, count)[count]
    below = np.flatnonzero((value < limit) & ~taken)
    equal = np.flatnonzero((value == limit) & (value < np.inf) & ~taken)[: count - len(below)]
    for some in (below, equal):
        rows[place : place + len(some)] = some
        taken[some] = True
        place += len(some)
    return place


# -- Interior points, for small machines on which steps of two variables creep --------------------
#
# Badly scaled rows and large C slow coordinate methods down by orders of magnitude; the number of
# interior points (numerics/interior.py) hardly depends on them. Each costs n^3.


_SNAPS = (1e-11, 1e-8, 1e-5)  # share of C within which a variable is put onto its bound


def interior_point(K: Array, y: Array, cost: Array, *, with_offset: bool) -> Iterator[Array]:
    """Dual variables close to the best ones, in their box and balanced up to rounding.

    If the first do not do, others follow: with more of the variables next to a bound put onto it;
    with the rows moved so that their mean is zero, which changes nothing where sum alpha_i y_i = 0,
    but columns far from zero are lost in rounding errors otherwise; and from smaller boxes, as far
    from the bounds of a huge C the path is lost too, and variables that stay away from a smaller
    bound are those of the larger one.
    """
    with np.errstate(all="ignore"):
        for square in (K, _centred(K)) if with_offset else (K,):
            alpha = _path(square, y, cost, with_offset=with_offset)
            for near in _SNAPS:
                yield _snapped(alpha, y, cost, near, with_offset=with_offset)
        scale = float(np.abs(np.diagonal(K)).mean()) or 1.0
        for cap in (1e7 / scale, 1e11 / scale):
            if cap < float(cost.max(initial=0.0)):
                least = np.minimum(cost, cap)
                yield _snapped(
                    _path(K, y, least, with_offset=with_offset),
                    y,
                    least,
                    _SNAPS[0],
                    with_offset=with_offset,
                )


def best_interior(
    K: Array, y: Array, cost: Array, start: tuple[Array, Array], tol: float, *, with_offset: bool
) -> tuple[Array, Array]:
    """The (alpha, f) of least gap: that of the start, or of an answer of the interior points."""
    alpha, f = start
    least = _gap(y, cost, alpha, f, with_offset=with_offset)[0]
    for new in interior_point(K, y, cost, with_offset=with_offset):
        of_new = K @ (new * y) - y
        gap, primal = _gap(y, cost, new, of_new, with_offset=with_offset)
        if np.isfinite(of_new).all() and gap < least:
            alpha, f, least = new, of_new, gap
        if gap <= tol * primal:
            break
    return alpha, f


def _gap(
    y: Array, cost: Array, alpha: Array, f: Array, *, with_offset: bool
) -> tuple[float, float]:
    at = optimality(y, cost, alpha, f, with_offset=with_offset)
    return at.primal - at.dual, at.primal


def _centred(K: Array) -> Array:
    """The Gram matrix of the rows minus their mean."""
    mean = K.mean(axis=0)
    return np.asarray((K - mean) - (mean - mean.mean())[:, None])


def _path(K: Array, y: Array, cost: Array, *, with_offset: bool) -> Array:
    """The best variables, by interior points."""
    scale = float(np.abs(np.diagonal(K)).mean()) or 1.0
    Q = (y[:, None] * (K / scale)) * y  # for scale times alpha: the diagonal is about 1
    return box_minimum(Q, cost * scale, y if with_offset else None) / scale


def _snapped(a: Array, y: Array, cost: Array, near: float, *, with_offset: bool) -> Array:
    """Onto the bounds where it is next to them; what that unbalances goes to the others."""
    top = np.where(np.isfinite(cost), cost, a.max(initial=0.0))
    a = np.where(a <= near * top, 0.0, np.where(a >= (1 - near) * cost, cost, a))
    if not with_offset:
        return a
    inside = (a > 0) & (a < cost)
    room = np.where(inside, np.minimum(a, np.where(np.isfinite(cost), cost - a, a)), 0.0)
    off = float(a @ y)
    if room.sum() > abs(off):
        a = a - off * y * room / room.sum()
    return np.clip(a, 0.0, cost)
