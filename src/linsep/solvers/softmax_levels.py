"""Rows that Newton's method for softmax regression works on: a sample, then all of them."""

from __future__ import annotations

import copy
import threading

from linsep.core.problem import Problem
from linsep.solvers import softmax_system as system
from linsep.solvers.precision import want_double
from linsep.solvers.softmax_pass import SoftmaxRows
from linsep.solvers.softmax_rows import all_rows, n_columns, some_rows

__all__ = ["in_double", "is_small", "level_rows", "sample_size"]

_kept = threading.local()


def is_small(problem: Problem) -> bool:
    """Whether every step has all second derivatives of all rows: then digits cost little."""
    n, d, K = problem.n, n_columns(problem), problem.K
    return system.kind_of(n, d, K) == "blocks" and system.rows_for_blocks(n, d, K) == n


def in_double(problem: Problem, C: float, tol: float, threads: int | None) -> bool:
    """Whether to calculate in float64: where accuracy is asked for or costs little."""
    small = system.kind_of(problem.n, n_columns(problem), problem.K) == "blocks"
    if small or problem.n * problem.d < 1 << 20:
        return True
    return want_double(problem, C, tol, threads)


def sample_size(problem: Problem) -> int:
    """Rows of the sample that comes before all rows; 0 for none."""
    size = max(6144, 8 * problem.d)
    return size if 4 * size <= problem.n else 0


def level_rows(
    problem: Problem, level: int, share: float, *, C: float, tol: float, seed: int,
    threads: int | None,
) -> SoftmaxRows:  # fmt: skip
    """The rows of a level, 0 the sample and 1 all, at a share of their costs.

    A function of the arguments alone; the last ones are kept.
    """
    held, key = getattr(_kept, "value", None), (level, C, tol, seed, threads)
    if held is None or held[0] is not problem or held[1] != key:
        wide = in_double(problem, C, tol, threads)
        if level == 1:
            made = all_rows(problem, C, wide=wide, threads=threads)
        else:
            size = sample_size(problem)
            made = some_rows(problem, C, size, seed, wide=wide, threads=threads)
        held = _kept.value = (problem, key, made)
    rows: SoftmaxRows = held[2]
    if share < 1.0:
        rows = copy.copy(rows)
        rows.cost = share * rows.cost
    return rows
