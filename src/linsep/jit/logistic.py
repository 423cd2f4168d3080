"""A whole lane of rows in one compiled call: the pass of Newton's method for logistic losses.

exp and log1p are written out as polynomials, and loops touch few arrays each: compiled, they
then run on several rows at a time. Errors are a few units in the last place.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import inner, routine
from linsep.jit.rows import sample_block

# Places in the array of sums: losses, dual variables, dual variables with their signs, dual
# variables times margins, squared dual variables.
LOSS, TOTAL, BALANCE, PRODUCT, SQUARES = range(5)
N_SUMS = 5

_LOG2E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10


@inner
def exponential(m):
    """exp(-|m|); at least exp(-708)."""
    t = max(-abs(m), -708.0)
    k = np.floor(t * _LOG2E + 0.5)
    f = (t - k * _LN2_HIGH) - k * _LN2_LOW
    g = f * f
    h = g * g
    p = (1.0 + f) + g * (0.5 + f * (1.0 / 6))
    q = (1.0 / 24 + f * (1.0 / 120)) + g * (1.0 / 720 + f * (1.0 / 5040))
    r = (1.0 / 40320 + f * (1.0 / 362880)) + g * (1.0 / 3628800 + f * (1.0 / 39916800))
    p = p + h * (q + h * (r + h * (1.0 / 479001600)))
    return p * np.int64((np.int64(k) + np.int64(1023)) << np.int64(52)).view(np.float64)


@inner
def exponentials(m, e):
    """e = exp(-|m|)."""
    for i in range(m.shape[0]):
        e[i] = exponential(m[i])


@inner
def losses(m, e, cost, out):
    """out = cost (log1p(e) + max(-m, 0)), the logarithm as 2 artanh(e / (2 + e)).

    The quotients have a loop of their own: together the two would not run on several rows.
    """
    for i in range(m.shape[0]):
        out[i] = e[i] / (2.0 + e[i])
    for i in range(m.shape[0]):
        s = out[i]
        t = s * s
        u = t * t
        v = u * u
        p = (1.0 + t * (1.0 / 3)) + u * (1.0 / 5 + t * (1.0 / 7))
        q = (1.0 / 9 + t * (1.0 / 11)) + u * (1.0 / 13 + t * (1.0 / 15))
        r = (1.0 / 17 + t * (1.0 / 19)) + u * (1.0 / 21 + t * (1.0 / 23))
        w = (1.0 / 25 + t * (1.0 / 27)) + u * (1.0 / 29 + t * (1.0 / 31))
        log = 2.0 * s * ((p + v * q) + (v * v) * (r + v * w))
        out[i] = cost[i] * (log + max(-m[i], 0.0))


@inner
def duals(m, e, cost, z):
    """z = cost sigma(-m)."""
    for i in range(m.shape[0]):
        x = e[i]
        z[i] = cost[i] * (x if m[i] > 0.0 else 1.0) / (1.0 + x)


@inner
def roots(e, cost, root):
    """Square roots of cost sigma(m) sigma(-m)."""
    for i in range(e.shape[0]):
        x = e[i]
        root[i] = np.sqrt(cost[i] * x) / (1.0 + x)


@inner
def add_block(scores, sign, cost, b, m, e, z, log, signed, sums):
    """Margins of a block, dual variables with their signs, and the sums."""
    for i in range(m.shape[0]):
        m[i] = sign[i] * (np.float64(scores[i]) + b)
    exponentials(m, e)
    duals(m, e, cost, z)
    losses(m, e, cost, log)
    for i in range(m.shape[0]):
        signed[i] = z[i] * sign[i]
    loss = 0.0
    total = 0.0
    balance = 0.0
    product = 0.0
    squares = 0.0
    for i in range(m.shape[0]):
        loss += log[i]
        total += z[i]
        balance += z[i] * sign[i]
        product += z[i] * m[i]
        squares += z[i] * z[i]
    sums[LOSS] += loss
    sums[TOTAL] += total
    sums[BALANCE] += balance
    sums[PRODUCT] += product
    sums[SQUARES] += squares


@inner
def read_block(block, sign, cost, w, b, m, root, memory, narrow, v, sums, bent):
    """Margins, sums, gradient and, if bent, roots of the curvature of the rows of a block."""
    n = block.shape[0]
    e, z, log = memory[0, :n], memory[1, :n], memory[2, :n]
    signed = narrow[:n]
    add_block(np.dot(block, w), sign, cost, b, m, e, z, log, signed, sums)
    part = np.dot(signed, block)
    for j in range(w.shape[0]):
        v[j] += part[j]
    if bent:
        roots(e, cost, root)


@routine
def lane(X, sign, cost, w, b, lo, hi, rows, m, root, scratch, memory, narrow, v, sums, bent):
    """Rows lo..hi in blocks."""
    for start in range(lo, hi, rows):
        stop = min(hi, start + rows)
        block = sample_block(X, start, stop, scratch)
        read_block(
            block, sign[start:stop], cost[start:stop], w, b, m[start:stop],
            root[start:stop] if bent else root, memory, narrow, v, sums, bent,
        )  # fmt: skip


@routine
def wide_lane(X, sign, cost, w, b, lo, hi, rows, m, root, scratch, memory, narrow, v, sums, bent):
    """The same for a dense matrix of float32 that is read as float64."""
    d = w.shape[0]
    for start in range(lo, hi, rows):
        stop = min(hi, start + rows)
        for i in range(start, stop):
            for j in range(d):
                scratch[i - start, j] = X[i, j]
        read_block(
            scratch[: stop - start], sign[start:stop], cost[start:stop], w, b, m[start:stop],
            root[start:stop] if bent else root, memory, narrow, v, sums, bent,
        )  # fmt: skip


@routine
def curve(X, root, lo, hi, scratch, curved, offset):
    """curved = root [x, 1] for the rows lo..hi."""
    block = sample_block(X, lo, hi, scratch)
    d = curved.shape[1] - 1
    for i in range(hi - lo):
        r = root[lo + i]
        for j in range(d):
            curved[i, j] = block[i, j] * r
        curved[i, d] = r if offset else 0.0
