"""Inner loops of Kozinec's rule and of its form with pairwise steps."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import inner, routine
from linsep.jit.rows import add, dot

# Places in the array of counters.
VISITS, UPDATES, STOP = range(3)
N_COUNTERS = 3

# Values of counters[STOP].
GO, REACHED, COLLAPSED, OVERFLOW, STUCK, LOG_FULL = range(6)

_TINY = 1e-24  # |a|^2 relative to max |z|^2 below which the hulls are taken to meet


@inner
def product(a, b):
    """a . b."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * b[j]
    return s


@inner
def add_points(points, a):
    """a = sum of the points of all groups."""
    for j in range(a.shape[0]):
        s = 0.0
        for g in range(points.shape[0]):
            s += points[g, j]
        a[j] = s


@inner
def note(log, counters, v, value, step):
    """Write an event; stop the loop when the log is full."""
    if log.whole.shape[0] > 0:
        k = log.used[0]
        log.whole[k, 0] = counters[UPDATES]
        log.whole[k, 1] = counters[VISITS]
        log.whole[k, 2] = v
        log.real[k, 0] = value
        log.real[k, 1] = step
        log.used[0] = k + 1
        if k + 1 == log.whole.shape[0] and counters[STOP] == GO:
            counters[STOP] = LOG_FULL


@inner
def pull(rows, v, g, kappa, points, lam, scale, group):
    """Move the point of group g towards row v, and its convex weights with it."""
    p = points[g]
    for j in range(p.shape[0]):
        p[j] *= 1.0 - kappa
    add(rows, v, kappa, p)
    scale[g] *= 1.0 - kappa
    if scale[g] < 1e-150:
        for i in range(lam.shape[0]):
            if group[i] == g:
                lam[i] *= scale[g]
        scale[g] = 1.0
    lam[v] += kappa / scale[g]


@inner
def shift(v, u, step, gap, point, lam):
    """Take weight from row u and give it to row v; gap = z_u - z_v."""
    for j in range(gap.shape[0]):
        point[j] -= step * gap[j]
    lam[v] += step
    lam[u] = lam[u] - step if step < lam[u] else 0.0


@routine
def sweep(rows, group, eps, pairwise, radius2, points, a, lam, scale, best, bounds, counters,
          steps, log):  # fmt: skip
    """Up to ``steps`` scans, each followed by one step towards the worst row.

    With pairwise the weight is taken from the best row in use; otherwise from all of them, as
    in Kozinec's rule. eps < 0 asks for the plain rule, which ends as soon as a separates.
    bounds = (best lower, best upper, lower, upper, fewest errors, lower of those), where the
    bounds are one-sided margins. ``best`` holds the plane of fewest errors and, among those, of
    the best lower bound, with its offset as last coordinate where there are two hulls.
    """
    n = group.shape[0]
    n_groups = points.shape[0]
    low = np.empty(n_groups)
    high = np.empty(n_groups)
    to = np.empty(n_groups, np.int64)
    off = np.empty(n_groups, np.int64)
    gap = np.empty(a.shape[0])
    middle = np.zeros(n_groups)
    taken = 0
    counters[STOP] = GO
    while taken < steps and counters[STOP] == GO:
        if n_groups == 2:
            middle[1] = 0.5 * (product(points[1], a) - product(points[0], a))
            middle[0] = -middle[1]
        errors = 0
        low[:] = np.inf
        high[:] = -np.inf
        to[:] = -1
        off[:] = -1
        for v in range(n):
            g = group[v]
            value = dot(rows, v, a)
            if value <= middle[g]:
                errors += 1
            if value < low[g]:
                low[g] = value
                to[g] = v
            if lam[v] > 0.0 and value > high[g]:
                high[g] = value
                off[g] = v
        counters[VISITS] += n
        taken += 1
        size2 = product(a, a)
        total = 0.0
        pick = 0
        for g in range(n_groups):
            total += low[g]
            if not pairwise:
                high[g] = product(points[g], a)
            if high[g] - low[g] > high[pick] - low[pick]:
                pick = g
        if total - total != 0.0 or size2 - size2 != 0.0:
            counters[STOP] = OVERFLOW
            break
        if size2 <= _TINY * radius2:
            counters[STOP] = COLLAPSED
            break
        size = np.sqrt(size2)
        bounds[2] = total / (n_groups * size)
        bounds[3] = size / n_groups
        bounds[1] = min(bounds[1], bounds[3])
        bounds[0] = max(bounds[0], bounds[2])
        if total > 0.0:
            errors = 0
        if errors < bounds[4] or (errors == bounds[4] and bounds[2] > bounds[5]):
            bounds[4] = errors
            bounds[5] = bounds[2]
            best[:] = a
            if n_groups == 2:
                best[-1] = -0.5 * (low[1] - low[0]) if total > 0.0 else -middle[1]
        if (eps < 0.0 and total > 0.0) or (eps >= 0.0 and bounds[3] - bounds[2] <= eps):
            counters[STOP] = REACHED
            break
        v = to[pick]
        gap[:] = 0.0
        if pairwise:
            add(rows, off[pick], 1.0, gap)
        else:
            gap[:] = points[pick]
        add(rows, v, -1.0, gap)
        length2 = product(gap, gap)
        step = (high[pick] - low[pick]) / length2 if length2 > 0.0 else 0.0
        if not step > 0.0:
            counters[STOP] = STUCK
            break
        if pairwise:
            step = min(step, lam[off[pick]])
            shift(v, off[pick], step, gap, points[pick], lam)
        else:
            step = min(step, 1.0)
            pull(rows, v, pick, step, points, lam, scale, group)
        add_points(points, a)
        counters[UPDATES] += 1
        note(log, counters, v, low[pick], step)
        if product(a, a) >= size2:
            counters[STOP] = STUCK
    return taken
