"""Rows that Newton's method for logistic regression works on: samples, then all of them."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linsep.certify.leverage import sample_matrix
from linsep.certify.logistic_bounds import sample_sizes
from linsep.certify.logistic_rows import LogisticReading, LogisticRows, all_rows, read_all
from linsep.core.problem import Problem

__all__ = ["level_rows", "read_level", "sample_sizes"]

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
        sizes = sample_sizes(problem)
        if level == len(sizes):
            known[level] = all_rows(problem, wide=wide)
        else:
            index, cost, part = sample_matrix(problem, sizes[level], seed, threads)
            known[level] = LogisticRows(part, problem.sign[index], cost, wide=wide, index=index)
    return known[level]


def read_level(
    problem: Problem,
    level: int,
    a: NDArray[np.float64],
    *,
    bent: bool,
    own: bool,
    seed: int,
    threads: int | None,
    wide: bool,
) -> LogisticReading:
    """A pass over the rows of a level; bent asks for curvature.

    Larger samples take it from the first one unless they shall use their own: as a rule that is
    good to a few per cent, costs a fraction, and steps by the gradient of the larger sample
    correct it.
    """
    last, offset = len(sample_sizes(problem)), problem.fit_intercept
    rows = level_rows(problem, level, seed=seed, threads=threads, wide=wide)
    if level == last and not bent:
        return read_all(problem, rows, a, threads)
    if not bent or own or level in (0, last):
        return rows.read(a, offset=offset, bent=bent, threads=threads)
    reading = rows.read(a, offset=offset, bent=False, threads=threads)
    first = level_rows(problem, 0, seed=seed, threads=threads, wide=wide)
    bend = first.read(a, offset=offset, bent=True, threads=threads).curvature
    return replace(reading, curvature=bend)
