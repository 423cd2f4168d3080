"""A whole lane of rows in one compiled call: the pass of Newton's method for logistic losses.

exp and log1p are written out as polynomials: compiled, they run eight rows at a time, which the
library's own functions do not. Their errors are a few units in the last place.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import inner, routine
from linsep.jit.rows import sample_block

# Places in the array of sums: losses, then dual variables of the two classes.
LOSS, PLUS, MINUS = range(3)
N_SUMS = 3

POWERS = 2.0 ** -np.arange(0.0, 1023.0)
"""2^-k; exp(-708) is the least value given."""
_LOG2E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10


@inner
def bend_block(scores, sign, cost, b, powers, m, e, z, root):
    """Margins m, e = exp(-|m|), z = cost sigma(-m) sign, root of cost sigma(m) sigma(-m)."""
    for i in range(m.shape[0]):
        v = sign[i] * (np.float64(scores[i]) + b)
        m[i] = v
        t = -min(abs(v), 708.0)
        k = np.floor(t * _LOG2E + 0.5)
        f = (t - k * _LN2_HIGH) - k * _LN2_LOW
        p = 1.0 + f * (1.0 + f * (0.5 + f * (1.0 / 6 + f * (1.0 / 24 + f * (1.0 / 120 + f * (
            1.0 / 720 + f * (1.0 / 5040 + f * (1.0 / 40320 + f * (1.0 / 362880 + f * (
                1.0 / 3628800 + f * (1.0 / 39916800 + f * (1.0 / 479001600))))))))))))  # fmt: skip
        x = p * powers[int(-k)]
        e[i] = x
        q = 1.0 / (1.0 + x)
        s = x * q if v > 0.0 else q
        z[i] = cost[i] * s * sign[i]
        root[i] = np.sqrt(cost[i] * x) * q


@inner
def add_losses(m, e, cost, z, log, sums):
    """Sums of the losses and of the dual variables of both classes."""
    for i in range(m.shape[0]):
        s = e[i] / (2.0 + e[i])
        t = s * s
        p = 1.0 / 27 + t * (1.0 / 29 + t * (1.0 / 31 + t * (1.0 / 33)))
        p = 1.0 / 19 + t * (1.0 / 21 + t * (1.0 / 23 + t * (1.0 / 25 + t * p)))
        p = 1.0 / 11 + t * (1.0 / 13 + t * (1.0 / 15 + t * (1.0 / 17 + t * p)))
        p = 1.0 / 3 + t * (1.0 / 5 + t * (1.0 / 7 + t * (1.0 / 9 + t * p)))
        log[i] = cost[i] * (2.0 * s + 2.0 * s * t * p + max(-m[i], 0.0))
    loss = 0.0
    plus = 0.0
    minus = 0.0
    for i in range(m.shape[0]):
        loss += log[i]
        plus += max(np.float64(z[i]), 0.0)
        minus += max(-np.float64(z[i]), 0.0)
    sums[LOSS] += loss
    sums[PLUS] += plus
    sums[MINUS] += minus


@routine
def lane(X, sign, cost, w, b, powers, lo, hi, rows, m, scratch, curved, memory, narrow, v, sums,
         curvature, offset, bent):  # fmt: skip
    """Rows lo..hi in blocks: margins, sums, gradient and, if bent, curvature."""
    d = w.shape[0]
    for start in range(lo, hi, rows):
        stop = min(hi, start + rows)
        n = stop - start
        block = sample_block(X, start, stop, scratch)
        scores = np.dot(block, w)
        e, log = memory[0, :n], memory[1, :n]
        z, root = narrow[0, :n], narrow[1, :n]
        bend_block(scores, sign[start:stop], cost[start:stop], b, powers, m[start:stop], e, z, root)
        add_losses(m[start:stop], e, cost[start:stop], z, log, sums)
        part = np.dot(z, block)
        for j in range(d):
            v[j] += part[j]
        if bent:
            for i in range(n):
                for j in range(d):
                    curved[i, j] = block[i, j] * root[i]
            B = curved[:n]
            product = np.dot(B.T, B)
            for j in range(d):
                for k in range(d):
                    curvature[j, k] += product[j, k]
            if offset:
                line = np.dot(root, B)
                for j in range(d):
                    curvature[j, d] += line[j]
                for i in range(n):
                    curvature[d, d] += np.float64(root[i]) * root[i]
