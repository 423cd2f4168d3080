"""A start for logistic regression on sparse rows: a few sweeps of dual coordinate descent.

Rows of very different lengths, such as counts of words, force Newton's method to short steps at
first: a few long rows go from one side to the other. Dual variables move one by one, each to its
best value, and are not held up by that. Later they get in each other's way; then Newton's method
is the better one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linsep.certify.survey import survey
from linsep.core.order import permutation
from linsep.core.problem import Problem
from linsep.jit.logistic_sweeps import sweep
from linsep.solvers.dual_point import row_sum
from linsep.solvers.packed import packed

__all__ = ["swept", "worth_sweeping"]

Array = NDArray[np.float64]

_LEAST = 300_000  # entries of a matrix that is worth the effort,
_ROW = 32  # and of a row on the average: the least along one variable takes some exponentials
_MOST = 10  # sweeps
_SMALL = 1e-3  # share of the costs that the dual variables start from
_SLOW = 0.01  # gain of a sweep, as a share of the penalty, after which it is the last


def worth_sweeping(problem: Problem) -> bool:
    """Whether the matrix is sparse, large, and its rows are not too short."""
    return problem.sparse and int(problem.matrix.nnz) >= max(_LEAST, _ROW * problem.n)


def swept(problem: Problem, C: float, threads: int | None) -> tuple[Array, float]:
    """Weights [w, b] after some sweeps, and the work in passes."""
    cost, X = C * problem.weight, packed(problem, narrow=True)
    squared = survey(problem, threads).rows + float(problem.fit_intercept)
    alpha = _SMALL * cost
    logit = np.full(problem.n, float(np.log(_SMALL / (1.0 - _SMALL))))
    c = alpha * problem.sign
    a = np.append(row_sum(problem, c, threads), c.sum() if problem.fit_intercept else 0.0)
    size = int(problem.matrix.nnz)
    for k in range(_MOST):
        gain = sweep(
            X, problem.sign, cost, squared, permutation(0, k, problem.n), logit, alpha, a,
            problem.fit_intercept, size=size, work=size,
        )  # fmt: skip
        if not gain > _SLOW * 0.5 * float(a @ a):
            break
    return a, 0.5 + k + 1
