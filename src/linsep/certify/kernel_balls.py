"""Bounds of a small kernel machine in interval arithmetic, where float64 says too little.

With huge C the terms of f(x) = sum alpha_i y_i K(x_i, x) + b are large and cancel, and what
float64 can promise of them is worth nothing. The same sums in balls of 160 bits (Arb, through
python-flint) are right to the last digits of the machine as it stands.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.kernel_values import KernelValues
from linsep.errors import CapabilityError

__all__ = ["ball_bounds"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_BITS = 160
_MOST = 1_000_000  # products of entries worth a second or so


def ball_bounds(
    values: KernelValues, ids: Index, y: Array, cost: Array, alpha: Array, b: float,
    high: float, low: float, free: bool,
) -> tuple[float, float]:  # fmt: skip
    """The objective from above and the dual value from below, no worse than ``high`` and ``low``.

    They stay as they are where the machine is too large, or its kernel has no balls.
    """
    used = np.flatnonzero(alpha)
    d = 1 if values.kernel is None else values.matrix.shape[1]
    if not len(used) or len(ids) * len(used) * (d + 8) > _MOST or not np.isfinite(b):
        return high, low
    from flint import ctx

    before, ctx.prec = ctx.prec, _BITS
    try:
        K = _entries(values, ids, used)
        return (
            min(high, _primal(K, used, y, cost, alpha, b)),
            max(low, _dual(K, used, y, cost, alpha, free)),
        )
    except CapabilityError:
        return high, low
    finally:
        ctx.prec = before


def _entries(values: KernelValues, ids: Index, used: Index) -> list[list[Any]]:
    """K of every row with every row in use, as balls."""
    from flint import arb

    if values.kernel is None:
        G = values.block(ids, ids[used])
        return [[arb(float(k)) for k in row] for row in G]
    matrix = values.matrix[ids]
    matrix = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    X = [[float(x) for x in row] for row in matrix]
    ball = values.kernel.ball
    return [[ball(x, X[j]) for j in used] for x in X]


def _combined(K: list[list[Any]], signed: list[Any]) -> list[Any]:
    from flint import arb

    return [sum((k * c for k, c in zip(row, signed)), arb(0)) for row in K]


def _primal(
    K: list[list[Any]], used: Index, y: Array, cost: Array, alpha: Array, b: float
) -> float:
    from flint import arb

    signed = [arb(float(alpha[j])) * int(y[j]) for j in used]
    s = _combined(K, signed)
    total = sum((c * s[j] for c, j in zip(signed, used)), arb(0)) / 2
    for i, value in enumerate(s):
        short = 1 - (value + b) * int(y[i])
        if not short < 0:
            total += arb(float(cost[i])) * short.max(arb(0))
    return float(np.nextafter(float(total.upper()), np.inf)) if total.is_finite() else np.inf


def _dual(
    K: list[list[Any]], used: Index, y: Array, cost: Array, alpha: Array, free: bool
) -> float:
    """D of alpha put into its box, the heavier class scaled down until sum alpha y vanishes."""
    from flint import arb

    inside = [arb(float(min(max(alpha[j], 0.0), cost[j]))) for j in used]
    plus = sum((a for a, j in zip(inside, used) if y[j] > 0), arb(0))
    minus = sum((a for a, j in zip(inside, used) if y[j] < 0), arb(0))
    if free:
        if not (plus > 0 and minus > 0):
            return 0.0
        shrink = {1: (minus / plus).min(arb(1)), -1: (plus / minus).min(arb(1))}
        inside = [a * shrink[int(y[j])] for a, j in zip(inside, used)]
    signed = [a * int(y[j]) for a, j in zip(inside, used)]
    s = _combined([K[j] for j in used], signed)
    quad = sum((c * v for c, v in zip(signed, s)), arb(0))
    bound = sum(inside, arb(0)) - quad / 2
    return float(np.nextafter(float(bound.lower()), -np.inf)) if bound.is_finite() else 0.0
