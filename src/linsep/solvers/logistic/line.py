"""What the solvers of smooth losses share: the best point on a line, and the witness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.losses.base import Loss
from linsep.losses.logistic import LOGISTIC
from linsep.numerics.line import minimum

Array = NDArray[np.float64]


def minimum_along(
    a: Array,
    p: Array,
    m: Array,
    dm: Array,
    cost: Array,
    ridge: float,
    *,
    t: float = 1.0,
    tilt: float = 0.0,
    loss: Loss = LOGISTIC,
) -> float:
    """Minimum over t > 0 of the objective at a + t p, whose margins are m + t dm.

    Guarded Newton steps from t; no pass over the rows is needed. tilt is the slope of a linear
    term along p.
    """
    wp, pp = ridge * float(a[:-1] @ p[:-1]) + tilt, ridge * float(p[:-1] @ p[:-1])

    def slopes(t: float) -> tuple[float, float]:
        u = loss.corner - (m + t * dm)
        first = wp + t * pp - float((cost * loss.slope(u)) @ dm)
        return first, pp + float((cost * loss.curvature(u)) @ (dm * dm))

    return minimum(slopes, t, cut=0.1)


def dual_witness(problem: Problem, a: Array, m: Array, C: float, loss: Loss = LOGISTIC) -> Witness:
    """Weights, and with a penalty the dual variables of their margins at the best offset."""
    if np.isinf(C):
        return Witness(a=a.copy())
    cost = C * problem.weight
    if problem.fit_intercept:
        m = m + problem.sign * loss.best_offset(problem.sign * m, problem.sign, cost)
    alpha = cost * loss.slope(loss.corner - m)
    return Witness(a=a.copy(), rows=np.arange(problem.n), multipliers=alpha, claim="dual")


# -- Where a way leads, whatever tol is ------------------------------------------------------------


_STAGES = (1e-2, 1e-3, 1e-6, 1e-9, 1e-12)
_AHEAD = 0.3  # of the gap, that the next stage is at most


def share_of(gap: float, primal: float) -> float:
    """gap / primal, and 0 where there is none."""
    return gap / primal if gap > 0 else 0.0


def stage(gap: float) -> float:
    """The relative gap that the next steps aim at.

    It says how exactly a step is computed, and which method goes on. tol says where a run ends and
    nothing else: that of a smaller one is the same run, which goes on from there.

    >>> stage(0.5), stage(1.1e-3), stage(1e-30)
    (0.01, 1e-06, 1e-12)
    """
    return next((one for one in _STAGES if one <= _AHEAD * gap), _STAGES[-1])


# -- Steps by pairs (numerics/lbfgs.py), as long as Newton's method would not end sooner -----------


WATCHED = 8  # passes over which their rate is measured


def watched(trail: Array, gap: float) -> Array:
    """The least gaps of the last passes, after one more."""
    return np.append(trail, min(gap, float(trail.min(initial=np.inf))))[-WATCHED:]


def pairs_pay(trail: Array, rest: float) -> bool:
    """Whether they are expected to end the stage before another way that takes ``rest`` passes."""
    if len(trail) < WATCHED:
        return True
    first, late, last = trail[[0, -4, -1]].tolist()
    rate = max(np.log(first / last) / (WATCHED - 1), np.log(late / last) / 3)
    return bool(rate * rest > np.log(last / stage(last)))


# -- The two factors of an objective, C finite or not ----------------------------------------------


class Penalty:
    """ridge |w|^2 / 2 + cost times the losses, for a solver with C; C = inf has no penalty."""

    C: float

    @property
    def ridge(self) -> float:
        """1, or 0 where there is no penalty."""
        return 0.0 if np.isinf(self.C) else 1.0

    @property
    def cost(self) -> float:
        """Factor of the losses."""
        return 1.0 if np.isinf(self.C) else self.C
