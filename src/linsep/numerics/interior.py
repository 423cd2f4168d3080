"""Interior points of a box: one predictor-corrector step, whatever solves its equations.

Problem   min 1/2 a'Qa - sum a,  0 <= a <= top, where top may be infinite
Given     a strictly inside, multipliers low > 0 of a >= 0 and high > 0 of a <= top
Update    Newton's method for gradient - low + high = 0 with the products a low and (top - a) high
          at mu instead of 0. All but a is eliminated, which leaves
          (Q + diag(low / a + high / (top - a))) da = ...; whoever calls solves that. Twice with one
          factor: first for mu = 0, then with the mu and the second order terms that this shows to
          be possible
Stop      up to who calls; ``box_minimum``: all that is left is small against the objective
Paper     Mehrotra 1992
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A right side q gives da with (Q + diag) da + ... = q, and what else moves with it.
Solve = Callable[[Array], tuple[Array, Any]]
Factor = Callable[[Array], Solve | None]

SHORTER = 0.995  # of the way to the nearest bound
_MOST_STEPS = 80
_ROUNDING = 1e-13  # share of the objective that is taken for rounding


class Point(NamedTuple):
    """A point strictly inside its box, and the multipliers of its bounds."""

    a: Array
    low: Array
    high: Array
    """0 where there is no upper bound."""
    top: Array

    def mean(self) -> float:
        """The mean of the products that are to vanish."""
        bounded = np.isfinite(self.top)
        rest = np.where(bounded, self.top - self.a, 0.0)
        return float(self.a @ self.low + rest @ self.high) / (
            len(self.a) + int(np.count_nonzero(bounded))
        )


class Step(NamedTuple):
    """The next point, the length of the way to it, and what moves with it."""

    point: Point
    length: float
    more: Any
    """What the equations gave beside da; it belongs to a step of length 1."""
    mean: float
    """Of the products before the step."""


def predict_and_correct(point: Point, gradient: Array, factor: Factor) -> Step | None:
    """One step; None where the equations have no solution or nothing is left to do.

    gradient is that of the problem at the point, with whatever terms the equations care for.
    ``factor`` takes the diagonal that is added to Q and gives what solves the equations.

    With p = da / a and s = da / (top - a) the step for mu = 0 has dlow = -low (1 + p) and
    dhigh = -high (1 - s), so what is asked of it needs hardly more than these two.
    """
    a, low, high, top = point
    bounded = np.isfinite(top)
    whole = bool(bounded.all())  # as mostly; then nothing has to be left out
    count = len(a) + (len(a) if whole else int(np.count_nonzero(bounded)))
    room = top - a
    rest = room if whole else np.where(bounded, room, 0.0)
    mean = float(a @ low + rest @ high) / count
    by_low, by_high = 1.0 / a, 1.0 / room
    solve = factor(low * by_low + high * by_high) if mean > 0.0 else None
    if solve is None:
        return None
    da, _ = solve(-gradient)
    p, s = da * by_low, da * by_high
    more, less = float(p.max()), float(s.min())
    t = min(1.0, reach(max(-float(p.min()), 1.0 + more, float(s.max()), 1.0 - less)))
    at_low, at_high = low * da, high * da
    bent = float(at_low @ p + at_high @ s)
    ahead = (1.0 - t) * mean + t * t * (float((high - low) @ da) - bent) / count
    aim = centring(mean, ahead)
    first = by_low * (aim + at_low * (1.0 + p))
    second = by_high * (aim - at_high * (1.0 - s))
    da, moved = solve(first - second - gradient)
    p, s = da * by_low, da * by_high
    dlow, dhigh = first - low * (1.0 + p), second - high * (1.0 - s)
    shares = dhigh / high if whole else dhigh[bounded] / high[bounded]
    most = max(-float(p.min()), float(s.max()), -float((dlow / low).min()))
    t = min(1.0, SHORTER * reach(max(most, -float(shares.min(initial=0.0)))))
    return Step(Point(a + t * da, low + t * dlow, high + t * dhigh, top), t, moved, mean)


def reach(most: float) -> float:
    """How far it is to the nearest bound, in steps that take so much of what is left, at most."""
    return 1.0 / most if most > SHORTER else 1.0 / SHORTER


def centring(mean: float, ahead: float) -> float:
    """The mean of products to aim at, by Mehrotra; ahead is that after a step without an aim."""
    return mean * min(1.0, max(ahead / mean, 0.0)) ** 3


@np.errstate(all="ignore")  # at the end rounding puts points onto their bounds
def box_minimum(Q: Array, top: Array, sign: Array | None = None) -> Array:
    """The minimum of 1/2 a'Qa - sum a for 0 <= a <= top, with sign'a = 0 if there are signs.

    Q is positive semidefinite with a diagonal of about 1. Each step costs a Cholesky factor, and
    their number hardly depends on scales and bounds. The best point on the way is given back; as
    rounding has it, it is balanced and in the box to a few digits less than it is good.
    """
    n = len(Q)
    point = Point(np.minimum(0.5 * top, 1.0), np.ones(n), np.isfinite(top).astype(float), top)
    b, best, least = 0.0, point.a.copy(), np.inf
    for _ in range(_MOST_STEPS):
        a = point.a
        slope = Q @ a - 1.0
        gradient = slope if sign is None else slope + sign * b
        off = 0.0 if sign is None else float(sign @ a)
        residual = float(np.abs(gradient - point.low + point.high).sum())
        count = n + int(np.count_nonzero(np.isfinite(top)))
        merit = point.mean() * count + residual * float(a.mean()) + abs(off)
        if merit < least:
            best, least = a.copy(), merit
        size = abs(float(0.5 * a @ slope) - 0.5 * float(a.sum())) + 1e-30
        if not np.isfinite(merit) or merit <= _ROUNDING * size:
            break
        step = predict_and_correct(point, gradient, partial(_factor, Q, sign, off))
        if step is None:
            break
        point, b = step.point, b + step.length * step.more
    return best


def _factor(Q: Array, sign: Array | None, off: float, more: Array) -> Solve | None:
    """What solves (Q + diag) da + sign db = q, sign'da = -off; None if Q is not positive."""
    H = Q.copy()
    H[np.diag_indices_from(H)] += more
    try:
        factor = scipy.linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    except (scipy.linalg.LinAlgError, ValueError):
        return None

    def inverse(q: Array) -> Array:
        return np.asarray(scipy.linalg.cho_solve(factor, q, check_finite=False))

    if sign is None:
        return lambda q: (inverse(q), 0.0)
    of_sign = inverse(sign)
    bend = float(sign @ of_sign)
    if not bend > 0:
        return None

    def solve(q: Array) -> tuple[Array, float]:
        of_q = inverse(q)
        db = (float(sign @ of_q) + off) / bend
        return of_q - db * of_sign, db

    return solve
