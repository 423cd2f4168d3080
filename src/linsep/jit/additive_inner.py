"""Inner loop of an additive machine: a large working set, worked on in small ones.

A step of a pair costs as much as the set has rows, and the kernel values of a small set stay in
the cache. What a small set changes is brought to the others by rows of the kernel matrix.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import inner, routine
from linsep.jit.smo import add_some_rows, pairs_of_block

__all__ = ["solve_in_sets"]

_SHARE = 0.1  # of the largest violation at which a small set is left
_STEPS = 20  # pairs for each row of a small set


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
        goal = max(_SHARE * width, 0.5 * eps)
        steps += pairs_of_block(square, part[0], part[1], part[2], part[3], goal, _STEPS * m, work)
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
