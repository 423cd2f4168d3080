"""Equal rows with opposite labels, whose dual variables can be raised together.

Where x_i = x_j and y_i = -y_j, adding t to alpha_i and to alpha_j leaves sum alpha y x and
sum alpha y as they are, and the dual value of the hinge grows by 2 t, up to the first bound; that
of its square has a maximum in t. Steps in the dual climb there slowly, the more so the larger C
is; here it is one step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.solvers.dual_point import row_scores

__all__ = ["OpposedRows", "opposed_rows"]

Array = NDArray[np.float64]


class OpposedRows:
    """Groups of equal rows that hold both classes.

    Parameters
    ----------
    rows : array of int
        Numbers of the rows.
    group : array of int
        Which group each of them belongs to, from 0 on.
    positive : array of bool
        Their classes.
    """

    def __init__(
        self, rows: NDArray[np.int64], group: NDArray[np.int64], positive: NDArray[np.bool_]
    ) -> None:
        self.rows = rows
        self.count = int(group.max(initial=-1)) + 1
        self.side = 2 * group + positive  # one number for the rows of a group and class

    def raised(self, alpha: Array, cost: Array, loss: str) -> Array:
        """The best dual point among those with the same sums alpha y of every group."""
        if not self.rows.size:
            return alpha
        own, c = alpha[self.rows], cost[self.rows]
        best = self._hinge(own, c) if loss == "hinge" else self._squared(own, c)
        out = alpha.copy()
        out[self.rows] = best
        return out

    def _sums(self, values: Array) -> Array:
        """Sums over the rows of each group and class."""
        sums = np.bincount(self.side, weights=values, minlength=2 * self.count)
        return np.asarray(sums, dtype=np.float64).reshape(-1, 2)

    def _hinge(self, own: Array, cost: Array) -> Array:
        """Both classes of a group raised until one of them is at its cost."""
        room = np.maximum(cost - own, 0.0)
        total = self._sums(room)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.nan_to_num(total.min(axis=1)[:, None] / total, nan=0.0, posinf=0.0)
        return np.asarray(np.minimum(own + room * share.ravel()[self.side], cost))

    def _squared(self, own: Array, cost: Array) -> Array:
        """Where 2 = A / (2 c) + B / (2 c'), A - B being fixed; shared out by cost."""
        total, costs = self._sums(own), self._sums(cost)
        flow = total[:, 1] - total[:, 0]
        inverse = 0.5 / costs
        minus = (2.0 - flow * inverse[:, 1]) / inverse.sum(axis=1)
        minus = np.maximum(minus, np.maximum(0.0, -flow))
        best = np.column_stack([minus, minus + flow])
        return np.asarray((best / costs).ravel()[self.side] * cost)


def opposed_rows(problem: Problem) -> OpposedRows:
    """Those of a problem, looked for once and kept with it."""
    sign, held = problem.__dict__.get("_opposed_rows", (None, None))
    if sign is not problem.sign:  # a copy of the problem may have other labels
        held = _find(problem)
        problem.__dict__["_opposed_rows"] = problem.sign, held
    found: OpposedRows = held
    return found


def _find(problem: Problem) -> OpposedRows:
    """Rows of the same product with a random vector, and then those that are truly equal."""
    vector = np.random.default_rng(0).standard_normal(problem.d)
    if problem.sparse:
        key = row_scores(problem, vector)
    else:  # entry by entry, so that equal rows have equal sums wherever they stand
        key = np.einsum("ij,j->i", problem.matrix, vector)
    order = np.argsort(key, kind="stable")
    first = np.append(True, np.diff(key[order]) != 0.0)
    group = np.cumsum(first) - 1
    positive = problem.sign[order] > 0
    seen = np.bincount(2 * group + positive, minlength=2 * (int(group[-1]) + 1)).reshape(-1, 2)
    both = np.flatnonzero((seen.min(axis=1) > 0)[group])
    rows, heads = order[both], order[np.flatnonzero(first)[group[both]]]
    equal = _equal(problem, rows, heads)
    rows, positive = rows[equal], positive[both][equal]
    _, group = np.unique(group[both][equal], return_inverse=True)
    return OpposedRows(rows, group.astype(np.int64), positive)


def _equal(
    problem: Problem, rows: NDArray[np.int64], others: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether each of the rows is the same as the one beside it."""
    if not rows.size:
        return np.zeros(0, np.bool_)
    M = problem.matrix
    if problem.sparse:
        difference = abs(M[rows] - M[others])
        return np.asarray(np.asarray(difference.sum(axis=1)).ravel() == 0.0)
    return np.asarray((M[rows] == M[others]).all(axis=1))
