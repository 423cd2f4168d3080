"""What the dual methods share: products by rows, the value of a dual point, the best offset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import SPARSE, second_thread
from linsep.core.lanes import run_all
from linsep.core.layouts import Matrix
from linsep.core.problem import Problem
from linsep.losses.hinge import HINGE, QuadraticLoss, best_stretch
from linsep.rows import loops
from linsep.rows.loops import matrix_of
from linsep.rows.reader import survey

Array = NDArray[np.float64]

_SERIAL = second_thread(SPARSE)  # entries up to which one product does, and one thread


def row_lengths(problem: Problem) -> Array:
    """|x_i|^2 of all rows, kept with the problem."""
    return survey(problem).rows


def row_scores(
    problem: Problem, w: Array, threads: int | None = None, X: Matrix | None = None
) -> Array:
    """w.x of all rows; X are the same rows in other types."""
    if not problem.sparse:
        return problem.product(w)
    X, out = matrix_of(problem) if X is None else X, np.empty(problem.n)
    size = _size(problem)
    jobs = [
        partial(loops.scores, X, w, lo, hi, out, size=size, work=size) for lo, hi in halves(problem)
    ]
    _run(jobs, size, threads)
    return out


def row_sum(
    problem: Problem, c: Array, threads: int | None = None, X: Matrix | None = None
) -> Array:
    """sum of c_i x_i; X are the same rows in other types."""
    if X is None and not problem.sparse and _size(problem) < _SERIAL:
        return np.asarray(c @ np.asarray(problem.matrix, dtype=np.float64))
    X, size, spans = matrix_of(problem) if X is None else X, _size(problem), halves(problem)
    out = np.zeros((len(spans), problem.d))
    jobs = [
        partial(loops.combine, X, c, lo, hi, v, size=size, work=size)
        for (lo, hi), v in zip(spans, out)
    ]
    _run(jobs, size, threads)
    return np.asarray(out.sum(axis=0))


def signed_sums(problem: Problem, alpha: Array, threads: int | None = None) -> tuple[Array, Array]:
    """sum of alpha_i x_i over the positive class, and over the negative one."""
    X, size, spans = matrix_of(problem), _size(problem), halves(problem)
    positive = problem.sign > 0
    out = np.zeros((2, len(spans), problem.d))
    c = (np.where(positive, alpha, 0.0), np.where(positive, 0.0, alpha))

    def lane(k: int) -> None:
        lo, hi = spans[k]
        for side in (0, 1):
            loops.combine(X, c[side], lo, hi, out[side, k], size=size, work=size)

    _run([partial(lane, k) for k in range(len(spans))], size, threads)
    return np.asarray(out[0].sum(axis=0)), np.asarray(out[1].sum(axis=0))


def halves(problem: Problem) -> list[tuple[int, int]]:
    """Two runs of rows with about as many entries; one if there is little to do."""
    n, size = problem.n, _size(problem)
    if size < _SERIAL:
        return [(0, n)]
    cut = int(np.searchsorted(problem.matrix.indptr, size // 2)) if problem.sparse else n // 2
    return [(0, cut), (cut, n)]


def _size(problem: Problem) -> int:
    return int(problem.matrix.nnz) if problem.sparse else problem.n * problem.d


def _run(jobs: Sequence[Callable[[], Any]], size: int, threads: int | None) -> None:
    run_all(jobs, 1 if size < 300_000 else threads)


def dual_value(
    problem: Problem, loss: QuadraticLoss, C: float, alpha: Array, a: Array, *, fresh: bool = False
) -> tuple[Array, float, Array]:
    """Scores of w, the dual value of alpha once it is balanced, and w = sum alpha y x.

    w is taken from a unless it is to be computed afresh. With an intercept the heavier class
    is scaled down until sum alpha_i y_i = 0.
    """
    sign = problem.sign
    w = row_sum(problem, alpha * sign) if fresh else a[:-1]
    v, scaled = w, alpha
    if problem.fit_intercept:
        positive = sign > 0
        plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
        if min(plus, minus) <= 0.0:
            return row_scores(problem, w), 0.0, w
        heavier = positive if plus > minus else ~positive
        factor = min(plus, minus) / max(plus, minus)
        if factor < 1.0:
            scaled = np.where(heavier, alpha * factor, alpha)
            v = w - row_sum(problem, np.where(heavier, alpha * (1.0 - factor) * sign, 0.0))
    value = float(scaled.sum()) - 0.5 * float(v @ v)
    value -= loss.dual_cost(scaled, C * problem.weight)
    return row_scores(problem, w), value, w


def best_offset(
    problem: Problem, loss: QuadraticLoss, scores: Array, b: float
) -> tuple[float, float]:
    """The offset of least loss for given scores w.x, and that loss, sum s_i L(1 - y f)."""
    sign, s = problem.sign, problem.weight
    if not problem.fit_intercept:
        return 0.0, float(s @ loss.value(1.0 - sign * scores))
    b = loss.best_offset(scores, sign, s, b)
    return b, float(s @ loss.value(1.0 - sign * (scores + b)))


def stretched(
    problem: Problem, C: float, half: float, values: Array, primal: float
) -> tuple[float, float]:
    """The factor t >= 1 of the best length of weights w, half being |w|^2 / 2, and the objective.

    The losses are hinges; values are y_i f(x_i), primal the objective at t = 1.
    """
    cost = C * problem.weight
    t = best_stretch(2.0 * half, cost, values)
    total = half * t * t + float(cost @ HINGE.value(1.0 - t * values))
    return (t, total) if total < primal else (1.0, primal)
