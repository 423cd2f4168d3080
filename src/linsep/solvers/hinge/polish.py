"""The last digits of a small machine: solve the optimality conditions for the rows in play.

Given a point near the optimum, every row is taken to be outside the street (alpha = 0), inside
(alpha = C s) or on its edge (y f = 1); for a loss without a corner where it is curved. What is
left are linear equations. Several guesses of what counts as "on the edge" are tried, and the best
point is kept; none is worse than the one given. Osborne, Presnell, Turlach 2000 and Stellato et
al. 2020 (OSQP) do likewise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.core.limits import time_left
from linsep.core.problem import Problem, against_rest
from linsep.core.protocol import Witness
from linsep.losses.hinge import QuadraticLoss
from linsep.numerics.box import free_values
from linsep.solvers.hinge.dual_cd import DualCD
from linsep.solvers.hinge.dual_point import best_offset, dual_value

Array = NDArray[np.float64]

_EDGES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
_MOST_EQUATIONS = 600
_EQUAL = 1.0 + 2.0**-50  # objectives that differ by no more than this are the same


def polish(problem: Problem, witness: Witness, C: float, loss: QuadraticLoss) -> Witness:
    """A witness at least as good; the offset is the middle of the best ones."""
    alpha = np.zeros(problem.n)
    alpha[witness.rows] = witness.multipliers
    X = problem.matrix
    Z = np.asarray(X.toarray() if problem.sparse else X, dtype=np.float64) * problem.sign[:, None]
    cost = C * problem.weight
    best_a, best_primal = _with_offset(problem, C, loss, witness.a)
    best_dual = dual_value(problem, loss, C, alpha, np.zeros(problem.d + 1), fresh=True)[1]
    for edge in _EDGES if time_left() > 0 else ():
        values = Z @ best_a[:-1] + problem.sign * best_a[-1]
        if loss.kinked:
            found = _on_the_edge(problem, Z, loss.cap(cost), values, edge)
        else:
            found = _curved(problem, Z, cost, values, loss) if edge == _EDGES[0] else None
        if found is None or not np.isfinite(found).all():
            continue
        a = np.append(found @ Z, best_a[-1])
        a, primal = _with_offset(problem, C, loss, a)
        if primal <= best_primal * _EQUAL:  # up to rounding: the equations have more digits
            best_a, best_primal = a, min(primal, best_primal)
        feasible = np.clip(found, 0.0, loss.cap(cost))
        dual = dual_value(problem, loss, C, feasible, a, fresh=True)[1]
        if dual >= best_dual:
            alpha, best_dual = feasible, dual
        if best_primal - best_dual <= 1e-13 * best_primal:
            break
    if best_primal - best_dual > 1e-5 * best_primal:
        alpha = _swept(problem, C, loss, alpha, best_dual)
    alpha[alpha < 1e-12 * alpha.max(initial=0.0)] = 0.0
    rows = np.flatnonzero(alpha)
    return Witness(a=best_a, rows=rows, multipliers=alpha[rows], claim="dual")


def _swept(problem: Problem, C: float, loss: QuadraticLoss, alpha: Array, known: float) -> Array:
    """Sweeps of coordinate descent: they see what rounding hides from the equations."""
    solver = DualCD(C, loss, tol=1e-12)
    state = solver.init(problem, start=alpha)
    for _ in range(40):
        if time_left() <= 0:
            break
        solver.advance(problem, state, 8)
        dual = dual_value(problem, loss, C, state.alpha, state.a, fresh=True)[1]
        if dual > known:
            alpha, known = state.alpha.copy(), dual
    return alpha


def polish_parts(problem: Problem, witness: Witness, C: float, loss: QuadraticLoss) -> Witness:
    """The same for each class against the rest; row i of class k has number k n + i."""
    n, blocks = problem.n, witness.a.reshape(problem.K, -1)
    part_of, row = np.divmod(witness.rows, n)
    done = []
    for k in range(problem.K):
        own = part_of == k
        part = Witness(a=blocks[k], rows=row[own], multipliers=witness.multipliers[own])
        done.append(polish(against_rest(problem, k), part, C, loss))
    return Witness(
        a=np.concatenate([part.a for part in done]),
        rows=np.concatenate([part.rows + k * n for k, part in enumerate(done)]),
        multipliers=np.concatenate([part.multipliers for part in done]),
        claim="dual",
    )


def _with_offset(problem: Problem, C: float, loss: QuadraticLoss, a: Array) -> tuple[Array, float]:
    """The best offset for the weights, and the objective."""
    w = a[:-1]
    b, total = best_offset(problem, loss, problem.product(w), float(a[-1]))
    return np.append(w, b), 0.5 * float(w @ w) + C * total


def _on_the_edge(
    problem: Problem, Z: Array, top: Array, values: Array, edge: float
) -> Array | None:
    """alpha with y f = 1 on the edge: [Z Z', y; y', 0] [alpha; b] = [1 - Z w; -balance]."""
    on = np.abs(values - 1.0) <= edge
    inside = values < 1.0 - edge
    alpha = np.where(inside, top, 0.0)
    k = int(on.sum())
    if k > _MOST_EQUATIONS:
        return None
    if k == 0:
        return alpha
    E, sign = Z[on], problem.sign[on] if problem.fit_intercept else None
    right, total = 1.0 - E @ (alpha @ Z), -float(alpha @ problem.sign)
    found = free_values(E @ E.T, right, sign, total)
    if found is None:
        return None
    alpha[on] = found
    return alpha


def _curved(
    problem: Problem, Z: Array, cost: Array, values: Array, loss: QuadraticLoss
) -> Array | None:
    """alpha = c u / (2 q) on the rows where the loss is curved, from the equations of the dual."""
    slope = loss.slope(1.0 - values)
    inside, beyond = (slope > 0.0) & (slope < loss.top), slope >= loss.top
    k = int(inside.sum())
    if k == 0 or k > _MOST_EQUATIONS:
        return None
    alpha = np.zeros(problem.n)
    alpha[beyond] = loss.cap(cost)[beyond]
    E, sign = Z[inside], problem.sign[inside] if problem.fit_intercept else None
    right, total = 1.0 - E @ (alpha @ Z), 0.0 - float(alpha @ problem.sign)
    found = free_values(E @ E.T + np.diag(2.0 * loss.q / cost[inside]), right, sign, total)
    if found is None:
        return None
    alpha[inside] = found
    return alpha
