"""Inner loop of dual coordinate descent for the hinge losses."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import inner, routine
from linsep.jit.fetch import fetch
from linsep.jit.rows import sample_add, sample_dot, sample_fetch, sample_locate

# Places in the array of numbers.
LARGEST, SMALLEST, RUNNING, TOTAL, BALANCE, CURVED, CAPPED = range(7)
N_NUMBERS = 7

FREE = 8  # sweeps after which a run with no variable at its cap is looked at now and then
LONG = 64  # sweeps of a long run after which both sides are looked at now and then
SHARE = 0.2  # of the last sweep in the mean
AHEAD = 4  # visits for which memory is asked ahead
_TINY = 1e-14  # projected gradients below this are taken for zero


@inner
def shuffle(order, active, seed):
    """Fisher and Yates with xorshift numbers: the order is a function of the seed alone."""
    x = (seed * 2654435761 + 88172645) & 0xFFFFFFFF
    x = x if x != 0 else 2463534242
    for k in range(active - 1, 0, -1):
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
        j = (x * (k + 1)) >> 32
        t = order[k]
        order[k] = order[j]
        order[j] = t


@inner
def squared_length(w):
    """|w|^2 in four running sums."""
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    whole = w.shape[0] - w.shape[0] % 4
    for j in range(0, whole, 4):
        s0 += w[j] * w[j]
        s1 += w[j + 1] * w[j + 1]
        s2 += w[j + 2] * w[j + 2]
        s3 += w[j + 3] * w[j + 3]
    s = (s0 + s2) + (s1 + s3)
    for j in range(whole, w.shape[0]):
        s += w[j] * w[j]
    return s


@inner
def is_due(done, capped):
    """Whether both sides are to be looked at, whatever the gap met on the way.

    That one is of no use when no variable is at its cap: costs are then so high that the little
    that rows lack weighs much, until the weights are made a little longer.
    """
    return done & (done - 1) == 0 and (done >= LONG or (done >= FREE and capped == 0.0))


@inner
def sweep(X, sign, cost, inverse, squared, rho, a, alpha, order, active, numbers):
    """One visit of every active row in the given order; gives back how many stay active.

    a = [w, b] follows alpha: w = sum alpha y x, and b moves with rho y. A row whose alpha
    sits at a bound and whose gradient pushes it there by more than the bounds kept in numbers
    is put aside. numbers[RUNNING] collects the parts of the duality gap as they are met;
    TOTAL, BALANCE and CURVED follow sum alpha, sum alpha y and sum alpha^2 / (4 c); CAPPED counts
    rows that were met at their upper bound.
    """
    d = a.shape[0] - 1
    above = numbers[LARGEST]
    below = numbers[SMALLEST]
    largest = -np.inf
    smallest = np.inf
    gap = 0.0
    total = numbers[TOTAL]
    balance = numbers[BALANCE]
    curved = numbers[CURVED]
    kept = 0
    capped = 0
    for k in range(active):
        if k + 2 * AHEAD < active:
            j = order[k + 2 * AHEAD]
            sample_locate(X, j)
            fetch(alpha, j)
            fetch(inverse, j)
            fetch(sign, j)
            fetch(cost, j)
        if k + AHEAD < active:
            sample_fetch(X, order[k + AHEAD])
        i = order[k]
        y = sign[i]
        c = cost[i]
        old = alpha[i]
        g = y * (sample_dot(X, i, a, 0, d) + a[d]) - 1.0
        if squared:
            top = np.inf
            p = max(-g, 0.0) - old / (2.0 * c)
            gap += c * p * p + (old * g if g > 0.0 else 0.0)
            g += old / (2.0 * c)
        else:
            top = c
            capped += 1 if old == c else 0
            gap += c * max(-g, 0.0) + old * g
        pg = g
        if old == 0.0:
            if g > above:
                continue
            pg = min(g, 0.0)
        elif old == top:
            if g < below:
                continue
            pg = max(g, 0.0)
        order[kept] = i
        kept += 1
        largest = max(largest, pg)
        smallest = min(smallest, pg)
        if abs(pg) > _TINY:
            new = min(max(old - g * inverse[i], 0.0), top)
            if new != old:
                t = (new - old) * y
                alpha[i] = new
                total += new - old
                balance += t
                if squared:
                    curved += (new - old) * (new + old) / (4.0 * c)
                sample_add(X, i, t, a, 0, d)
                a[d] += rho * t
    numbers[LARGEST] = largest if largest > 0.0 else np.inf
    numbers[SMALLEST] = smallest if smallest < 0.0 else -np.inf
    numbers[RUNNING] = gap
    numbers[TOTAL] = total
    numbers[BALANCE] = balance
    numbers[CURVED] = curved
    numbers[CAPPED] = capped
    return kept


@routine
def sweeps(X, sign, cost, inverse, squared, rho, a, alpha, order, active, seed, step, count, goal,
           numbers, history, mean):  # fmt: skip
    """Up to ``count`` sweeps; gives back how many, the rows still active, and the visits.

    After a sweep the multiplier b moves by rho times the balance, and mean follows a: weights
    of single sweeps are noisy, a mean of a few is better. It ends early when the gap
    met on the way is at most goal times the dual value, when no row is active, when a long run
    is due for a look, and on overflow.
    """
    d = a.shape[0] - 1
    visits = 0
    for k in range(count):
        own = (seed + step + k) & 0x7FFFFFFF
        shuffle(order, active, own)
        visits += active
        active = sweep(X, sign, cost, inverse, squared, rho, a, alpha, order, active, numbers)
        a[d] += rho * numbers[BALANCE]
        dual = numbers[TOTAL] - numbers[CURVED] - 0.5 * squared_length(a[:d])
        running = numbers[RUNNING] + abs(a[d] * numbers[BALANCE] if rho > 0.0 else 0.0)
        for j in range(history.shape[0] - 1):
            history[j] = history[j + 1]
        history[-1] = running / max(abs(dual), 1e-300)
        done = step + k + 1
        share = max(SHARE, 1.0 / done)
        for j in range(d + 1):
            mean[j] += share * (a[j] - mean[j])
        due = is_due(done, numbers[CAPPED])
        if running <= goal * abs(dual) or active == 0 or due or not np.isfinite(dual):
            return k + 1, active, visits
    return count, active, visits
