"""Inner loop of dual coordinate descent for the hinge losses."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import inner, routine
from linsep.jit.fetch import fetch
from linsep.jit.rows import sample_add, sample_dot, sample_fetch, sample_locate

# Places in the array of numbers.
LARGEST, SMALLEST, RUNNING = range(3)
N_NUMBERS = 3

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


@routine
def sweep(X, sign, cost, inverse, squared, rho, a, alpha, order, active, seed, numbers):
    """One visit of every active row in random order; gives back how many stay active.

    a = [w, b] follows alpha: w = sum alpha y x, and b moves with rho y. A row whose alpha
    sits at a bound and whose gradient pushes it there by more than the bounds kept in numbers
    is put aside. numbers[RUNNING] collects the parts of the duality gap as they are met.
    """
    d = a.shape[0] - 1
    shuffle(order, active, seed)
    above = numbers[LARGEST]
    below = numbers[SMALLEST]
    largest = -np.inf
    smallest = np.inf
    gap = 0.0
    k = 0
    while k < active:
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
            gap += c * max(-g, 0.0) + old * g
        pg = g
        if old == 0.0:
            if g > above:
                active -= 1
                order[k] = order[active]
                order[active] = i
                continue
            pg = min(g, 0.0)
        elif old == top:
            if g < below:
                active -= 1
                order[k] = order[active]
                order[active] = i
                continue
            pg = max(g, 0.0)
        largest = max(largest, pg)
        smallest = min(smallest, pg)
        if abs(pg) > _TINY:
            new = min(max(old - g * inverse[i], 0.0), top)
            if new != old:
                t = (new - old) * y
                alpha[i] = new
                sample_add(X, i, t, a, 0, d)
                a[d] += rho * t
        k += 1
    numbers[LARGEST] = largest if largest > 0.0 else np.inf
    numbers[SMALLEST] = smallest if smallest < 0.0 else -np.inf
    numbers[RUNNING] = gap
    return active
