"""Which rows softmax regression works on: all, a sample, a wide table made square.

Columns of small tables are centred: a free intercept makes up for it.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.certify.survey import survey
from linsep.core.lanes import Lanes
from linsep.core.order import generator
from linsep.core.parts import moved
from linsep.core.problem import Problem
from linsep.solvers.softmax_pass import SoftmaxRows

__all__ = ["all_rows", "fold", "influence", "is_folded", "means", "n_columns", "some_rows"]

Array = NDArray[np.float64]

_FOLDED = 1500  # weights up to which a wide table is turned until it is square
_MANY = 100_000  # entries from which samples are taken
_CENTRED = 1 << 20  # entries up to which columns are centred


def is_folded(problem: Problem) -> bool:
    """Whether there are few rows and many columns: weights are then combinations of the rows."""
    n, d, K = problem.n, problem.d, problem.K
    return n < d and K * (n + 1) <= _FOLDED < K * (d + 1) and n * d <= 1 << 25


def n_columns(problem: Problem) -> int:
    """Columns of the rows that the solver sees."""
    return problem.n if is_folded(problem) else problem.d


def fold(problem: Problem) -> tuple[Array, Array]:
    """Z of shape (n, n) and Q of shape (d, n) with orthonormal columns, X = Z Q'.

    Weights W = V Q' have the length of V and the scores Z V'; no others are of use, since what
    is orthogonal to all rows only costs. Made once and kept with the problem.
    """
    kept: tuple[Array, Array] | None = problem.__dict__.get("_folded")
    if kept is None:
        X = problem.matrix.toarray() if problem.sparse else problem.matrix
        Q, R = scipy.linalg.qr(
            X.T.astype(np.float64), mode="economic", overwrite_a=True, check_finite=False
        )
        kept = np.ascontiguousarray(R.T), np.asarray(Q)
        problem.__dict__["_folded"] = kept
    return kept


def means(problem: Problem) -> Array:
    """What is taken off the columns; a year or a pressure loses all digits beside its mean."""
    if problem.sparse or not problem.fit_intercept or is_folded(problem):
        return np.zeros(problem.d)
    if problem.n * problem.d > _CENTRED:
        return np.zeros(problem.d)
    return np.asarray(problem.matrix.mean(axis=0, dtype=np.float64))


def influence(problem: Problem) -> Array:
    """How much of its columns each row makes up, on average 1: sum_j x_ij^2 / sum_i x_ij^2 n / d.

    A row that alone holds a rare feature has a large one, whatever the units of the columns.
    Made once and kept with the problem.
    """
    kept: Array | None = problem.__dict__.get("_influence")
    if kept is None:
        columns = survey(problem).columns
        usable = (columns > 0) & np.isfinite(columns)
        share = np.where(usable, 1.0 / np.where(usable, columns, 1.0), 0.0)
        lanes = Lanes(problem.matrix, wide=True)
        kept = np.empty(problem.n)
        if problem.sparse:
            squares = problem.matrix.copy()
            squares.data = np.square(squares.data, dtype=np.float64)
            kept[:] = squares @ share
        else:
            out = kept

            def lane_sums(lane: int) -> None:
                for lo, hi, block in lanes.blocks(lane):
                    out[lo:hi] = (block * block) @ share

            lanes.each(lane_sums)
        kept *= problem.n / max(1, problem.d)
        problem.__dict__["_influence"] = kept
    return kept


def all_rows(problem: Problem, C: float, *, wide: bool, threads: int | None) -> SoftmaxRows:
    """All rows; costs C s."""
    if is_folded(problem):
        return SoftmaxRows(
            fold(problem)[0], problem.label, C * problem.weight, problem.K, wide=True,
            threads=threads, influence=np.ones(problem.n),
        )  # fmt: skip
    offsets = means(problem)
    matrix = moved(problem, offsets).matrix if offsets.any() else problem.matrix
    return SoftmaxRows(
        matrix, problem.label, C * problem.weight, problem.K, wide=wide, threads=threads,
        influence=influence(problem) if problem.n * problem.d >= _MANY else np.ones(problem.n),
    )  # fmt: skip


def some_rows(
    problem: Problem, C: float, size: int, seed: int, *, wide: bool, threads: int | None
) -> SoftmaxRows:
    """About ``size`` rows, those of rare features and rare classes more often than others."""
    s, own = problem.weight, influence(problem)
    chance = size * s * (0.5 + 0.5 * own) / s.sum()
    counts = np.bincount(problem.label, minlength=problem.K)
    chance = np.minimum(np.maximum(chance, 20.0 / np.maximum(counts, 1)[problem.label]), 1.0)
    index = np.flatnonzero(generator(seed, 0).random(problem.n) < chance)
    offsets, matrix = means(problem), problem.matrix[index]
    if offsets.any():
        matrix = matrix - offsets
    return SoftmaxRows(
        matrix, problem.label[index], C * s[index] / chance[index], problem.K,
        wide=wide, threads=threads, influence=own[index],
    )  # fmt: skip
