"""A better dual point for a logistic model: dual variables moved on some of the rows.

With alpha_i = c_i sigma(-m_i), m the margins of a model (w, b), the gap P - D is half the squared
length of r = w - sum alpha_i y_i x_i, and sum alpha_i y_i need not vanish. Where the curvature is
large that is far more than P - min P. The best alpha, with those outside a sample of rows left
as they are, is c sigma(-(m - z.q)) on the sample, z = y [x, 1], q_w what is left of r and q_b
such that sum alpha_i y_i = 0. Guarded Newton steps on the sample find q: no pass over all rows
is needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.certify.leverage import sample_matrix
from linsep.certify.logistic_rows import LogisticRows
from linsep.core.cholesky import solved
from linsep.core.problem import Problem
from linsep.losses.logistic import curvature, entropy, loss, probability

__all__ = ["correction"]

Array = NDArray[np.float64]

_TURNS = 8  # Newton steps, at most
_HALVINGS = 4  # of one step, at most


def correction(
    problem: Problem, m: Array, C: float, g: Array, b: float, size: int, goal: float
) -> tuple[LogisticRows, Array, Array]:
    """The sample, its old and its new dual variables.

    g is r, and minus sum alpha_i y_i. Stops once the gap is estimated to be at most ``goal``,
    or hardly shrinks.
    """
    index, _, part = sample_matrix(problem, size)
    cost = C * problem.weight[index]
    rows = LogisticRows(part, problem.sign[index], cost, wide=True, index=index)
    work = _Correction(problem, rows, m[index], g, b)
    for _ in range(_TURNS):
        if work.gap <= goal or not work.turn():
            break
    return rows, work.old, work.alpha


class _Correction:
    """q and what follows from it: dual variables, what is left of g, the gap."""

    def __init__(self, problem: Problem, rows: LogisticRows, m: Array, g: Array, b: float) -> None:
        self.problem, self.rows, self.m, self.g, self.b = problem, rows, m, g, b
        self.old = self.alpha = rows.cost * probability(m)
        self.slope = self.bend = rows.cost * curvature(m)
        self.own = float(rows.cost @ loss(m))
        self.q, self.t = np.zeros_like(g), np.zeros_like(m)
        self.left = g
        self.gap = self._gap(self.alpha, g)

    def turn(self) -> bool:
        """A Newton step, halved until the gap shrinks; whether it did so by enough."""
        width, offset = self.problem.width, self.problem.fit_intercept
        H = self.rows.gram(self.bend, offset, None)[:width, :width]
        H.flat[: self.problem.d * (width + 1) : width + 1] += 1.0
        aim = self.left - self.q
        aim[-1] = self.left[-1]
        step = np.append(solved(H, aim[:width]), np.zeros(len(aim) - width))
        change, before = self.rows.margins(step), self.gap
        for k in range(_HALVINGS):
            t = self.t + 0.5**k * change
            alpha, bend = self._moved(t)
            left = self.g - self.rows.combine(alpha - self.old, offset, None)
            gap = self._gap(alpha, left)
            if gap < before:
                self.q, self.t = self.q + 0.5**k * step, t
                self.alpha, self.bend, self.left, self.gap = alpha, bend, left, gap
                if gap < 0.5 * before:
                    break
            elif self.gap < before:
                break
        return self.gap < 0.7 * before

    def _gap(self, alpha: Array, left: Array) -> float:
        cost = self.rows.cost
        excess = self.own - float(cost @ entropy(alpha / cost)) + float(alpha @ self.m)
        lost = abs(float(left[-1])) * (1 + abs(self.b))
        return excess + 0.5 * float(left[:-1] @ left[:-1]) + lost

    def _moved(self, t: Array) -> tuple[Array, Array]:
        """Dual variables moved by t, and their derivatives.

        Upwards along the tangent as long as there is room, else along the curve, which stays
        inside the box whatever t is.
        """
        m, cost = self.m, self.rows.cost
        along = (t >= 0) & (self.slope * t <= 0.5 * (cost - self.old))
        e = np.exp(-np.abs(m - t))
        share = 1.0 / (1.0 + e)
        curve = cost * share * np.where(m > t, e, 1.0)
        moved = np.where(along, self.old + self.slope * t, curve)
        return moved, np.where(along, self.slope, cost * e * share * share)
