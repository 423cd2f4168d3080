"""Bounds for a logistic model of two classes on a large table, in one pass over the rows.

The pass gives margins m, losses and v = sum alpha_i y_i x_i for alpha_i = c_i sigma(-m_i). Since
c H(sigma(-m)) = c log(1 + exp(-m)) + c sigma(-m) m, the entropies come with them: no logarithm
more. Then alpha is moved on a sample of rows (``dual_correction.py``), and v with it, so that D
is close to the best and sum alpha_i y_i = 0; what rounding leaves of that sum is taken off the
sample's rows of the heavier class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linsep.certify.dual_correction import correction
from linsep.certify.logistic_errors import entropy_below, margin_errors
from linsep.certify.logistic_rows import LogisticReading, all_rows, read_all
from linsep.certify.survey import survey
from linsep.core.lanes import one_blas_thread
from linsep.core.problem import Problem
from linsep.losses.logistic import loss

__all__ = ["Bounds", "large_bounds", "read_densely", "sample_sizes"]

Array = NDArray[np.float64]

_U = 2.0**-53
_DENSE, _SOME = 0.15, 0.08  # shares of entries from which a sparse matrix is best read in dense
_FEW = 200  # blocks; the lower one if it has no more columns than this
_FAR = 0.02  # relative gap from which alpha as it is will not do
_AIM = 0.9  # of the goal, as far as it can be estimated
_STEEP = 30.0  # beyond this margin on the wrong side the entropy counts as 0


@dataclass(frozen=True)
class Bounds:
    """Upper bound of the objective, lower bound of the best one, margins."""

    high: float
    low: float
    values: Array


def read_densely(problem: Problem) -> bool:
    """Whether rows are best read as dense ones."""
    least = _SOME if problem.d <= _FEW else _DENSE
    return not problem.sparse or problem.matrix.nnz >= least * problem.n * problem.d


def sample_sizes(problem: Problem) -> list[int]:
    """Sizes of the samples of rows that are worth having before all rows; none on small tables."""
    if not read_densely(problem):
        return []
    first = max(6144, 24 * problem.d)
    return [size for size in (first, 16 * first // 3) if 3 * size <= problem.n]


def large_bounds(problem: Problem, a: Array, C: float, free: bool, goal: float) -> Bounds:
    """Bounds for weights a; free says that b is, else there is none.

    goal is a relative gap that is small enough: then no larger sample is tried.
    """
    with one_blas_thread(), np.errstate(all="ignore"):
        read = _scaled(read_all(problem, all_rows(problem, wide=True), a, None), C)
        high = _above(problem, a, read, C)
        g = np.append(a[:-1] - read.v[:-1], -read.v[-1])
        low, tries = -np.inf, sample_sizes(problem)
        if not free and 0.5 * float(g[:-1] @ g[:-1]) <= _FAR * high:
            tries = [0, *tries]  # alpha as it is
        for size in tries:
            new = _below(problem, a, read, C, g, size, _AIM * goal * high)
            better = new > low + 0.3 * (high - max(low, 0.0))
            low = max(low, new)
            if high - low <= goal * high or not (better or size < 1):
                break
    return Bounds(high, low, read.m)


def _scaled(read: LogisticReading, C: float) -> LogisticReading:
    """The same pass with losses C times as large: one rounding more in each sum."""
    return replace(
        read,
        v=C * read.v,
        loss=C * read.loss,
        dual_sum=C * read.dual_sum,
        dual_product=C * read.dual_product,
        dual_length=C * read.dual_length,
        terms=read.terms + 1,
    )


def _above(problem: Problem, a: Array, read: LogisticReading, C: float) -> float:
    """Upper bound of the objective."""
    columns = survey(problem).column_lengths()
    off = margin_errors(a, columns, read.dual_sum, read.dual_length, problem.weight, C)
    losses = read.loss * (1 + (read.terms + 32) * _U) + off + problem.n * max(1.0, C) * 5e-324
    squared = float(a[:-1] @ a[:-1]) * (1 + (problem.d + 8) * _U)
    return (0.5 * squared + losses) * (1 + 8 * _U)


def _below(
    problem: Problem, a: Array, read: LogisticReading, C: float, g: Array, size: int, goal: float
) -> float:
    """Lower bound with alpha moved on a sample of the size; 0 leaves alpha as it is."""
    v, length, slack = read.v[:-1], read.dual_length, 0.0
    gain, wrong = _entropies(read, problem.weight, C)
    error = float(read.terms)
    if size:
        rows, old, new = correction(problem, read.m, C, g, float(a[-1]), size, goal)
        sign, c, m = rows.sign, rows.cost, read.m[rows.index]
        if problem.fit_intercept:
            new, slack = _balanced(read, sign, old, new)
            if not slack < 1e-6:
                return -np.inf
        new = np.minimum(new, c * (1 - 4 * _U))
        v = v + rows.combine(new - old, False, None)[:-1]
        length += float(np.linalg.norm(new)) + float(np.linalg.norm(old))
        error += rows.n + 8
        own = c * loss(m) + old * m
        gain -= float(own.sum())
        wrong += (rows.n + 40) * _U * float((c * loss(m) + np.abs(old * m)).sum())
        gain += entropy_below(new, c, slack)
    error = (error * _U + slack) * 1.001 * length
    size_v = np.abs(v) + error * survey(problem).column_lengths()
    pull = float(size_v @ size_v) * (1 + (problem.d + 8) * _U)
    gain -= wrong
    # t alpha is feasible too, and H(t q) >= t H(q): a poor alpha is better made smaller
    t = min(1.0, max(gain, 0.0) / pull) if pull > 0 else 1.0
    low = t * gain - 0.5 * t * t * pull * (1 + 8 * _U)
    low -= 8 * _U * (abs(low) + t * abs(gain))
    return low if np.isfinite(low) else -np.inf


def _entropies(read: LogisticReading, weight: Array, C: float) -> tuple[float, float]:
    """Sum of c H(alpha / c) for the alpha of the pass, and how wrong it may be.

    Fenchel's equality holds for sigma(-m) itself. An alpha off by a relative 16 u loses at most
    c (16 u)^2 p / (1 - p), p = sigma(-m) (Kullback-Leibler against chi squared), which is nothing
    down to m = -30; there c (exp(m) + 16 u |m|) is all that can be claimed too much.
    """
    size = read.loss + abs(read.dual_product) + 2 * read.loss  # alpha |m| <= c loss where m < 0
    wrong = (read.terms + 64) * _U * size + len(weight) * max(1e-300, C * 1e-323)
    wrong += 1e-15 * _U * C * float(weight.sum())
    if float(read.m.min()) < -_STEEP:
        wrong += 1e-13 * C * float(weight[read.m < -_STEEP].sum())
    return read.loss + read.dual_product, wrong


def _balanced(read: LogisticReading, sign: Array, old: Array, new: Array) -> tuple[Array, float]:
    """The sample's rows of the heavier class scaled until sum alpha_i y_i = 0; the relative
    error of that."""
    balance = float(read.v[-1]) + float((sign * (new - old)).sum())
    heavy = sign > 0 if balance > 0 else sign < 0
    mass = float(new[heavy].sum())
    if not abs(balance) <= 0.5 * mass:
        return new, np.inf
    out = np.where(heavy, new * (1.0 - abs(balance) / mass), new) if balance else new
    sums = read.dual_sum + float(old.sum()) + float(new.sum())
    return out, 1.01 * (read.terms + len(old) + 8) * _U * sums / mass + 6 * _U
