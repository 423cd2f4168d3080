"""Rows that Newton's method for logistic regression works on: samples, then all of them."""

from __future__ import annotations

import threading

from linsep.certify.leverage import sample_matrix
from linsep.certify.logistic_bounds import sample_sizes
from linsep.certify.logistic_rows import LogisticRows, all_rows
from linsep.core.problem import Problem

__all__ = ["level_rows", "sample_sizes"]

_kept = threading.local()


def level_rows(
    problem: Problem, level: int, *, seed: int, threads: int | None, wide: bool
) -> LogisticRows:
    """The rows of a level, a function of the arguments alone; kept while they are in use."""
    held = getattr(_kept, "value", None)
    if held is None or held[0] is not problem or held[1:3] != (seed, wide):
        held = _kept.value = (problem, seed, wide, {})
    known: dict[int, LogisticRows] = held[3]
    if level not in known:
        known.clear()
        sizes = sample_sizes(problem)
        if level == len(sizes):
            known[level] = all_rows(problem, wide=wide)
        else:
            index, cost, part = sample_matrix(problem, sizes[level], seed, threads)
            known[level] = LogisticRows(part, problem.sign[index], cost, wide=wide, index=index)
    return known[level]
