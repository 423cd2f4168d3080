"""Where a growing slope vanishes: Newton's method, kept between two points of opposite signs.

A convex function of one number has its minimum where its slope changes sign. Newton's step
t - slope / bend may leave what is known of that place, where the function is bent unevenly; then
the way between the two ends is cut, and doubled while there is only one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass
class Bracket:
    """What is known of the place where a growing slope vanishes.

    Parameters
    ----------
    low, high : float
        It lies between them.
    cut : float, default=0.5
        Share of the way up to high at which a point is taken while low is 0; later the middle.
    unit : float, default=0.0
        Least length of a step where one end is not known.

    Examples
    --------
    >>> bracket = Bracket(0.0, np.inf)
    >>> t = 1.0
    >>> for _ in range(6):
    ...     t = bracket.after(t, t**3 - 8.0, 3 * t**2)
    >>> round(t, 6)
    2.0
    """

    low: float = 0.0
    high: float = np.inf
    cut: float = 0.5
    unit: float = 0.0

    def after(self, t: float, slope: float, bend: float) -> float:
        """The next point to look at, after the slope and its derivative at t."""
        if slope == 0:
            return t
        if slope > 0:
            self.high = t
        else:
            self.low = t
        new = t - slope / bend if bend > 0 else np.nan
        return new if self.low < new < self.high else self.inside(t, slope)

    def inside(self, t: float, slope: float) -> float:
        """A point between the ends, or twice as far out where one is not known."""
        if np.isinf(self.low) or np.isinf(self.high):
            step = max(self.unit, abs(t))
            return t - step if slope > 0 else t + step
        return (0.5 if self.low != 0.0 else self.cut) * (self.low + self.high)


def minimum(
    slopes: Callable[[float], tuple[float, float]],
    t: float = 1.0,
    *,
    high: float = np.inf,
    near: float = 0.01,
    narrow: float = 0.0,
    cut: float = 0.5,
    steps: int = 60,
) -> float:
    """The minimum over t > 0 of a convex function, from its first and second derivative.

    It is found once a step changes t by less than ``near`` of it, or once the bracket is shorter
    than ``narrow`` times its upper end.

    >>> round(minimum(lambda t: (2.0 * t - 6.0, 2.0)), 6)
    3.0
    """
    bracket = Bracket(0.0, high, cut)
    for _ in range(steps):
        first, second = slopes(t)
        new = bracket.after(t, first, second)
        done = abs(new - t) < near * t or bracket.high - bracket.low < narrow * bracket.high
        t = new
        if done:
            break
    return float(t)
