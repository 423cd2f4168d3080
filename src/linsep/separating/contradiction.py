"""Rows that contradict each other by themselves: a proof of one or two rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from linsep.certify.recheck import kesler_rows
from linsep.core.problem import Problem

__all__ = ["contradiction"]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


def contradiction(problem: Problem) -> tuple[Rows, list[Fraction]] | None:
    """Two equal samples of different classes, or without an intercept a sample that is zero."""
    hashes = problem.row_hashes
    if not problem.fit_intercept:
        for i in np.flatnonzero(hashes == 0).tolist():
            if not _sample(problem, i).any():
                return np.array([i * (1 if problem.binary else problem.K - 1)]), [Fraction(1)]
    ranked = np.sort(hashes)
    if not (ranked[1:] == ranked[:-1]).any():
        return None
    order = np.argsort(hashes, kind="stable")
    same = hashes[order[1:]] == hashes[order[:-1]]
    other = problem.label[order[1:]] != problem.label[order[:-1]]
    for at in np.flatnonzero(same & other).tolist():
        i, j = sorted((int(order[at]), int(order[at + 1])))
        if np.array_equal(_sample(problem, i), _sample(problem, j)):
            pair = np.array([i, j])
            rows = kesler_rows(problem, pair, problem.label[pair[::-1]])
            return rows, [Fraction(1, 2)] * 2
    return None


def _sample(problem: Problem, i: int) -> Array:
    row = problem.matrix[[i]]
    return np.ravel(row if isinstance(row, np.ndarray) else row.toarray())
