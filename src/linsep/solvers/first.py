"""A first model that costs next to nothing: least squares on a sample of the rows.

Problem   minimise sum over the sample of s_i (t_ik - w_k . x_i - b_k)^2 with t_ik = 1 for the own
          class k of row i and -1 else, one plane for two classes, one for each of more
Update    conjugate gradients for all planes at once, on columns of unit length
Stop      after a few steps, or where next to nothing is left of the gradient; what they have not
          reached yet is what a penalty would hold back
Paper     Hestenes and Stiefel, "Methods of conjugate gradients", 1952

It is what a fit falls back on whose time is up before its own solver has come to anything; where
some is left, the sample is larger. All sums are products of numpy and scipy: nothing is compiled,
and no pass reads all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import FIRST_ENTRY
from linsep.core.problem import Problem, rows_of
from linsep.core.protocol import State

Array = NDArray[np.float64]
Cost = Callable[[Problem, Array], float]

_SAMPLE_ENTRIES = 1_000_000  # of the sample: some milliseconds a step
_FEWEST_ROWS = 200  # rows of it, at least, if they have no more entries than
MOST_ENTRIES = 4_000_000
_SHARE = 0.5  # of the time there is, for as many rows more
_PLANE_ENTRIES, _EACH_CLASS = 10_000_000, 3  # times planes, and rows of each class all the same
_MOST_STEPS, _CLOSE = 12, 1e-3  # and what is left of the gradient, after which none is needed
_FLAT = 1e-12  # columns shorter than this, of the longest, are left alone
_NEXT_TO_ZERO = 1e-13  # scores of this size cost nothing
_LONGER, _SHORTER = (2.0, 4.0, 8.0), tuple(0.5**k for k in range(1, 24))  # scales that are tried


@dataclass(kw_only=True)
class FirstState(State):
    """Where a run stands that has not begun."""

    @property
    def passes(self) -> float:
        """None over the data, but those that somebody has counted."""
        return float(self.steps)


def row_entries(problem: Problem) -> int:
    """Entries of a row, on average."""
    return max(1, problem.matrix.nnz // problem.n if problem.sparse else problem.d)


def sample_of(problem: Problem, rows: int, seed: int = 0) -> NDArray[np.int64]:
    """Numbers of so many rows, in order, and of one of each class."""
    if problem.n <= rows:
        return np.arange(problem.n)
    last = np.zeros(problem.K, dtype=np.int64)
    last[problem.label] = np.arange(problem.n)
    chosen = np.random.default_rng(seed).choice(problem.n, rows, replace=False)
    return np.union1d(chosen, last)


def first_model(problem: Problem, cost: Cost | None = None, seconds: float = 0.0) -> Array:
    """Weights that are of some use.

    Parameters
    ----------
    problem : Problem
    cost : callable, optional
        ``cost(sample, a)`` is what shall be small; the weights are made longer or shorter until
        it is, and next to zero if that is better: their direction still tells classes apart. The
        sample is another one then, of rows that did not shape the weights, and they weigh as much
        as all rows.
    seconds : float
        That are there for more rows than the fewest.
    """
    sample = _sample(problem, seconds)
    coef, offset = _squares(sample)
    a = problem.join(coef, offset if problem.fit_intercept else 0.0)
    if not np.isfinite(a).all():
        return np.zeros(problem.dim)
    if cost is None:
        return a
    sample = _sample(problem, seconds, seed=1)
    scale, least = 1.0, cost(sample, a)
    for way in (_LONGER, _SHORTER):
        for other in way:
            found = cost(sample, other * a)
            if not found < least:
                break
            scale, least = other, found
        if scale != 1.0:
            break
    if least < cost(sample, 0.0 * a):
        return scale * a
    longest = float(np.abs(sample.scores(a)).max(initial=0.0))
    return _NEXT_TO_ZERO / longest * a if 0.0 < longest < np.inf else 0.0 * a


def _sample(problem: Problem, seconds: float, seed: int = 0) -> Problem:
    width = row_entries(problem)
    planes = 1 if problem.binary else min(problem.K, 8) // 2
    fewest = min(_FEWEST_ROWS, MOST_ENTRIES // width + 1)
    most = max(fewest, _SAMPLE_ENTRIES // width // planes)
    if not problem.binary:  # a plane for each class, and each has its rows
        most = min(most, max(_EACH_CLASS * problem.K, _PLANE_ENTRIES // (width * problem.K)))
    price = FIRST_ENTRY * width * (1 if problem.binary else problem.K)
    most = max(most, min(int(_SHARE * seconds / price), MOST_ENTRIES // width))
    if problem.n <= most:
        return problem
    part = rows_of(problem, sample_of(problem, most, seed))
    return part.changed(weight=part.weight * (problem.weight.sum() / part.weight.sum()))


def _squares(sample: Problem) -> tuple[Array, Array]:
    """Planes of least squares: coefficients, one row a plane, and offsets."""
    matrix, weight = sample.matrix, sample.weight / sample.weight.sum()
    middle = np.zeros(sample.d)
    if not sample.sparse:
        matrix = matrix.astype(np.float64)
        if sample.fit_intercept:
            middle = weight @ matrix
            matrix -= middle
    squares = matrix.multiply(matrix) if sample.sparse else matrix**2
    length = np.sqrt(np.asarray(squares.T @ weight, dtype=np.float64).ravel())
    used = length > _FLAT * length.max(initial=0.0)
    scale = np.divide(1.0, length, out=np.zeros(sample.d), where=used)[:, None]
    own = sample.label[:, None] == np.arange(sample.K)
    targets = np.where(own[:, 1:] if sample.binary else own, 1.0, -1.0)

    def back(values: Array) -> Array:
        values = weight[:, None] * values
        ones = values.sum(axis=0) if sample.fit_intercept else np.zeros(values.shape[1])
        return np.vstack([scale * (matrix.T @ values), ones])

    residual = back(targets)
    planes, direction = np.zeros_like(residual), residual.copy()
    before = first = (residual**2).sum(axis=0)
    for _ in range(_MOST_STEPS):
        moved = back(matrix @ (scale * direction[:-1]) + direction[-1])
        along = (direction * moved).sum(axis=0)
        step = np.divide(before, along, out=np.zeros_like(before), where=along > 0)
        planes += step * direction
        residual -= step * moved
        after = (residual**2).sum(axis=0)
        if (after <= _CLOSE**2 * first).all():
            break
        direction = residual + np.divide(after, before, out=after * 0, where=before > 0) * direction
        before = after
    coef = (scale * planes[:-1]).T
    return coef, planes[-1] - coef @ middle
