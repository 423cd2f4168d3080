"""Elementwise work of the Newton method for the hinge losses."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import inner, routine

# Places in the array of sums.
LOSS, ROUNDED, LEFTOVER, PLUS, MINUS, SQUARE_PLUS, SQUARE_MINUS = range(7)
N_SUMS = 7


@inner
def bend_block(scores, sign, cost, center, b, h, u, zy, zp, band, sums):
    """Violations of a block of rows, derivatives of the loss, and the rows of its curved part.

    h > 0: hinge rounded off, z = clip(center + u / (2 h), 0, 1), an empty center meaning 1/2;
    h = 0: squared hinge. zy receives cost * z * sign, zp the same for the positive class alone
    and zero elsewhere. Gives back how many row numbers were written to band.
    """
    loss = 0.0
    rounded = 0.0
    leftover = 0.0
    plus = 0.0
    minus = 0.0
    square_plus = 0.0
    square_minus = 0.0
    k = 0
    scale = 0.5 / h if h > 0.0 else 0.0
    centred = center.shape[0] > 0
    middle = 0.5
    for i in range(u.shape[0]):
        y = sign[i]
        c = cost[i]
        v = 1.0 - y * (np.float64(scores[i]) + b)
        u[i] = v
        p = max(v, 0.0)
        if h > 0.0:
            if centred:
                middle = center[i]
            z = min(max(v * scale + middle, 0.0), 1.0)
            loss += c * p
            rounded += c * (z * v - h * (z - middle) * (z - middle))
            leftover += c * (p - z * v)
            curved = 0.0 < z < 1.0
        else:
            z = 2.0 * p
            loss += c * p * p
            curved = v > 0.0
        band[k] = i
        k += 1 if curved else 0
        cz = c * z
        zy[i] = cz * y
        if y > 0.0:
            zp[i] = cz
            plus += cz
            square_plus += cz * z
        else:
            zp[i] = 0.0
            minus += cz
            square_minus += cz * z
    sums[LOSS] += loss
    sums[ROUNDED] += rounded if h > 0.0 else loss
    sums[LEFTOVER] += leftover
    sums[PLUS] += plus
    sums[MINUS] += minus
    sums[SQUARE_PLUS] += square_plus
    sums[SQUARE_MINUS] += square_minus
    return k


@routine
def bend(scores, sign, cost, center, b, h, u, zy, zp, band, sums):
    """See bend_block."""
    return bend_block(scores, sign, cost, center, b, h, u, zy, zp, band, sums)
