"""Least squares with a penalty, by its normal equations.

Problem   minimise sum_i s_i |x_i W + b - t_i|^2 + |W|^2 / C; b is not penalised
Update    A <- A - H^-1 g, H = X~'SX~ + I / C with 0 for the offset, g half the gradient, first from
          A = 0, then as refinement
Stop      corrections have reached the level of rounding
Paper     Hoerl and Kennard 1970, Ridge regression, Technometrics 12

One step is one correction. In the feature space of a kernel (``solvers.kernel.lifted``) it is the
least squares support vector machine (Suykens and Vandewalle 1999), also called kernel ridge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.numerics.cholesky import Factor, growing, inverse_roots
from linsep.rows.normal import aims, columns_of, flat, gram, totals
from linsep.solvers.squares.normal import Corrections, ExactState, in_vain

_DONE = 1e-14  # a correction so small, relative to the weights, that the next one is rounding


@dataclass(frozen=True)
class RidgeSquares(Corrections):
    """Least squares with |W|^2 / C.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the squares against the penalty.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.squares.ridge import RidgeSquares
    >>> problem = Problem([[-1.0], [0.0], [1.0]], [-1, 1, 1])
    >>> drive(problem, RidgeSquares(C=0.5)).witness.a.round(6).tolist()
    [0.5, 0.333333]
    """

    C: float = 1.0

    def _correct(self, problem: Problem, state: ExactState) -> None:
        A = columns_of(problem, state.a)
        gradient = totals(problem, A, aims(problem)).gradient
        gradient[: problem.d] += A[: problem.d] / self.C
        state.n_passes += 1
        factor = problem.once(_factor, self.C)
        if factor is None:
            state.status = Status.DIVERGED
            return
        step = np.column_stack([factor.solve(column) for column in gradient.T])
        size, large = float(np.abs(step).max(initial=0.0)), float(np.abs(A).max(initial=0.0))
        if not np.isfinite(size):
            state.status = Status.DIVERGED
            return
        state.status = Status.RUNNING
        if in_vain(state, size):
            state.status = Status.CERTIFIED
            return
        state.a = flat(problem, A - step)
        state.n_updates += 1
        state.size = size
        if size <= _DONE * large:
            state.status = Status.CERTIFIED


def _factor(problem: Problem, C: float) -> Factor | None:
    H = np.array(gram(problem).matrix)
    H[np.arange(problem.d), np.arange(problem.d)] += 1.0 / C
    few = 1e-16 * len(H)
    return Factor.of(H, inverse_roots(H.diagonal()), growing(few, few))
