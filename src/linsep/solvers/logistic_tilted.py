"""A sample of rows as a model of all of them: its objective with a linear term added.

The term makes the gradient at one point that of all rows. Where the sample is good the minimum
of the model is far closer to that of all rows than a Newton step, since weights of columns that
only one class has, whose losses are bent sharply, are followed and not extrapolated.
Shamir, Srebro and Zhang 2014, Communication-efficient distributed optimization (DANE).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from linsep.certify.logistic_rows import LogisticReading, LogisticRows
from linsep.core.problem import Problem
from linsep.solvers.logistic_line import minimum_along
from linsep.solvers.logistic_state import newton_solved

__all__ = ["SLOW", "Tilted"]

Array = NDArray[np.float64]

SLOW = 0.2  # of the decrement left by a Newton step that tells of a poor curvature
_STEPS = 12  # of Newton's method, at most
_FAR = 1e-3  # of the first decrement, at which the minimum is near enough in any case


class Tilted:
    """The objective of a sample, tilted.

    ``read(a, bent, own)`` passes over it; curvature is that of a point nearby, or zero. own says
    that it must be that of this sample, and becomes true where steps by another lead nowhere.
    """

    def __init__(
        self,
        problem: Problem,
        rows: LogisticRows,
        read: Callable[[Array, bool, bool], LogisticReading],
        curvature: Array,
        own: bool,
        cost: float,
        ridge: float,
    ) -> None:
        self.problem, self.rows, self.read = problem, rows, read
        self.cost, self.ridge = cost, ridge
        self.tilt = np.zeros(problem.d + 1)
        self.decrement = 0.0  # at the first point
        self.curvature, self.own = curvature, own

    def minimum(self, a: Array, gradient: Array, goal: float) -> Array:
        """Step from a, where all rows have this gradient, to about the minimum of the model.

        Newton's method until the decrement is at most ``goal``; the last step is not evaluated.
        """
        start, now = a, self._read(a, not self.curvature.any())
        self.tilt = gradient - self._slope(a, now)
        before = np.inf
        for k in range(_STEPS):
            g = self._slope(a, now)
            p = -newton_solved(self.problem, self.curvature, self.cost, self.ridge, g)
            decrement = -0.5 * float(g @ p)
            self.decrement = self.decrement if k else decrement
            self.own |= decrement > SLOW * before
            before = decrement
            if not decrement > max(goal, _FAR * self.decrement):
                a = a + p if decrement >= 0 else a
                break
            a, now, moved = self._moved(a, p, now)
            if not moved:
                break
        return a - start

    def _moved(
        self, a: Array, p: Array, now: LogisticReading
    ) -> tuple[Array, LogisticReading, bool]:
        """Unit step, or the exact minimum along p; False where rounding leaves nothing to gain."""
        old, new = self._value(a, now), self._read(a + p)
        if not self._value(a + p, new) <= old:
            change, cost = new.m - now.m, self.cost * self.rows.cost
            tilt, self.own = float(self.tilt @ p), True
            p = minimum_along(a, p, now.m, change, cost, self.ridge, 0.5, tilt) * p
            new = self._read(a + p)
            if not self._value(a + p, new) <= old:
                return a, now, False
        return a + p, new, True

    def _read(self, a: Array, bent: bool = True) -> LogisticReading:
        reading = self.read(a, bent, self.own)
        if reading.curvature is not None:
            self.curvature = reading.curvature
        return reading

    def _slope(self, a: Array, now: LogisticReading) -> Array:
        out: Array = self.tilt - self.cost * now.v
        out[:-1] += self.ridge * a[:-1]
        return out

    def _value(self, a: Array, now: LogisticReading) -> float:
        half = 0.5 * self.ridge * float(a[:-1] @ a[:-1])
        return half + self.cost * now.loss + float(self.tilt @ a)
