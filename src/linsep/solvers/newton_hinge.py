"""Newton's method on a hinge whose corner is rounded off, less and less.

Problem   minimise P(w, b) = |w|^2 / 2 + C sum_i s_i L(1 - y_i (w.x_i + b)), b unpenalised,
          L the hinge or its square
Given     rows x_i, signs y_i, weights s_i; a hinge rounded off over |u| < h has curvature
          1 / (2 h) there, so only the rows in that band enter the Newton system
Update    (I + C / (2 h) (B'B + kappa diag(g))) p = -gradient, B the rows in the band, g the
          squared lengths of the columns; unit step, or the exact minimum along p if that
          would go up. kappa follows the ratio of true to predicted decrease (Levenberg,
          Marquardt). First on small samples that hold all long rows, then on all rows.
Stop      (P - D) / P <= tol with D the dual value of alpha_i = C s_i L'(u_i), made feasible
          for the free intercept by scaling the heavier class down
Paper     Chapelle 2007, Training a support vector machine in the primal; Keerthi and DeCoste
          2005 for the squared hinge

Single steps are in solvers/hinge_steps.py; which rows are read is up to solvers/hinge_rows.py, the
widths h to solvers/hinge_widths.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.certify.survey import survey
from linsep.core.lanes import one_blas_thread
from linsep.core.log import NO_LOG, Log
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.core.status import Status
from linsep.jit import products
from linsep.losses.hinge import derivative, value
from linsep.solvers.dual_point import dual_value, matrix_of
from linsep.solvers.hinge_rows import sizes, workable
from linsep.solvers.hinge_state import NewtonState, relative_gap
from linsep.solvers.hinge_steps import HingeSteps
from linsep.solvers.packed import may_round

__all__ = ["NewtonHinge", "NewtonState"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NewtonHinge(HingeSteps):
    """Primal Newton method for tall data, dense or nearly so.

    Parameters
    ----------
    C : float, default=1.0
    loss : {"hinge", "squared_hinge"}
    tol : float, default=1e-3
        Relative duality gap.
    seed : int, default=0
        Of the samples.
    threads : int or None, default=None
        None means all cores. The result does not depend on it.

    Examples
    --------
    >>> from linsep.core import Problem, drive
    >>> from linsep.solvers.newton_hinge import NewtonHinge
    >>> out = drive(Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]), NewtonHinge(tol=1e-6))
    >>> out.status.name, round(float(out.witness.a[0]), 3)
    ('CERTIFIED', 1.0)
    """

    unit: ClassVar[str] = "Newton step"

    def prepare(self, problem: Problem) -> None:
        """Make what all parts of a problem of many classes share."""
        survey(problem, self.threads)
        workable(problem, may_round(problem, self.C, self.tol))

    def init(self, problem: Problem, *, start: Any = None) -> NewtonState:
        """Zero weights, or (coef, intercept) to start from on all rows, with dual variables or
        without: (coef, intercept, alpha)."""
        found = survey(problem, self.threads)
        lengths, columns = found.rows, _weighted_columns(problem, found.columns)
        width = problem.d + 1
        state = NewtonState(
            a=np.zeros(width),
            gradient=np.zeros(width),
            curvature=np.zeros((width, width)),
            best=np.zeros(width),
            best_primal=self.C * float(problem.weight.sum()),
            dual_a=np.zeros(width),
            n_rows=problem.n,
            columns=columns,
            lengths=lengths,
            rows_read=float(problem.n),
        )
        if start is not None:
            state.a = problem.join(*start[:2])
            state.level = len(sizes(problem)) - 1  # no samples: go to all rows at once
            if len(start) > 2:
                self._judge(problem, state, np.asarray(start[2], dtype=np.float64))
        return state

    def _judge(self, problem: Problem, state: NewtonState, alpha: Array) -> None:
        """Both sides of a start: one that is the answer already takes no step."""
        cost = self.C * problem.weight
        alpha = np.clip(alpha, 0.0, cost if self.loss == "hinge" else np.inf)
        u, w = 1.0 - problem.values(state.a), state.a[:-1]
        primal = 0.5 * float(w @ w) + float(cost @ value(self.loss, u))
        dual = dual_value(problem, self.loss, self.C, alpha, state.a, fresh=True)[1]
        state.rows_read += 2.0 * problem.n
        if relative_gap(primal, dual) <= self.tol and primal <= state.best_primal:
            state.best, state.best_primal, state.best_dual = state.a.copy(), primal, dual
            state.dual_z, state.u = alpha / cost, u
            state.primal, state.dual, state.level = primal, dual, len(sizes(problem))
            state.status = Status.CERTIFIED

    def advance(self, problem: Problem, state: NewtonState, steps: int, log: Log = NO_LOG) -> int:
        """Newton steps; each ends with an evaluated point."""
        taken = 0
        with one_blas_thread():
            while taken < steps and not state.status.done:
                self._step(problem, state)
                state.steps += 1
                taken += 1
        return taken

    def status(self, state: NewtonState) -> Status:
        """CERTIFIED when the gap is closed; STALLED when rounding forbids it."""
        return state.status

    def witness(self, problem: Problem, state: NewtonState) -> Witness:
        """The best weights, and the dual variables of the best dual point."""
        full = state.level == len(sizes(problem))
        evaluated = np.isfinite(state.best_primal) and full
        a = state.best if evaluated or state.level < 0 else state.a
        if state.dual_z.size:
            z = state.dual_z
        elif state.best_dual > 0:
            same = np.array_equal(state.dual_a, state.a) and not state.near.size
            u = state.u if same else 1.0 - problem.values(state.dual_a)
            z = derivative(self.loss, u, state.dual_h)
        else:
            z = derivative(self.loss, 1.0 - problem.values(a), max(state.h, 1e-3))
        alpha = self.C * problem.weight * z
        rows = np.flatnonzero(alpha)
        return Witness(a=a.copy(), rows=rows, multipliers=alpha[rows], claim="dual")


def _weighted_columns(problem: Problem, columns: Array) -> Array:
    """Squared lengths of the columns with every row weighted, and the sum of the weights."""
    s = problem.weight
    if s.min() == s.max():
        return np.append(float(s[0]) * columns, s.sum())
    out = np.zeros(problem.d)
    size = problem.n * problem.d
    products.weighted_squares(matrix_of(problem), s, out, size=size, work=size)
    return np.append(out, s.sum())
