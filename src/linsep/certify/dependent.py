"""Columns of a table that are exact combinations of others, checked in integers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.certify.exact import independent_columns, null_space, reflected
from linsep.certify.span import orthogonal
from linsep.core.problem import Problem

__all__ = ["dependent_columns"]

_EXACT = 20_000_000  # entries beyond which dependences are not checked


def dependent_columns(problem: Problem) -> NDArray[np.int64] | None:
    """Columns of [X, 1] that are exact combinations of the others; None if that is unknown.

    Column d stands for the intercept. What is left when they are dropped spans the same space.
    """
    if "_dependent" not in problem.__dict__:
        problem.__dict__["_dependent"] = _dependent(problem)
    found: NDArray[np.int64] | None = problem.__dict__["_dependent"]
    return found


def _dependent(problem: Problem) -> NDArray[np.int64] | None:
    if problem.n * problem.width > _EXACT:
        return None
    for rows in _candidates(problem):
        basis = null_space(reflected(problem, _spanning_rows(problem, rows)))
        if orthogonal(problem, np.arange(problem.n), basis):
            break
    else:
        return None
    none = [problem.d] if not problem.fit_intercept else []
    if not len(basis):
        return np.array(none, dtype=np.int64)
    # prefer to keep the intercept, then the first columns
    order = [*range(problem.d)[::-1], *range(problem.d, problem.width)]
    pivots = independent_columns(np.ascontiguousarray(np.array(basis)[:, order]))
    if len(pivots) != len(basis):
        return None
    return np.array(sorted([order[j] for j in pivots] + none), dtype=np.int64)


def _candidates(problem: Problem) -> Iterator[NDArray[np.int64]]:
    """Rows among which to look for some that span all: first a few, then all."""
    n, few = problem.n, 20 * problem.width
    if 4 * few < n:
        longest = abs(problem.matrix).argmax(axis=0)  # so that no column is left without entry
        spread = np.linspace(0, n - 1, few).astype(np.int64)
        yield np.union1d(np.ravel(longest), spread)
    yield np.arange(n)


def _spanning_rows(problem: Problem, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows that look as if they span all rows, by QR with pivoting on scaled columns."""
    block = reflected(problem, rows)
    size = np.abs(block).max(axis=0)
    block /= np.where(size > 0, size, 1.0)
    count = min(len(rows), problem.width)
    _, order = scipy.linalg.qr(block.T, mode="r", pivoting=True)
    return np.sort(rows[order[:count]])
