"""The rows that the Newton method for the hinge works on: samples first, then all of them.

A level is a sample, the last one is all rows. Sets of rows are rebuilt at need, as a function
of the problem, the settings and the level alone, and kept while they are in use.
"""

from __future__ import annotations

import threading
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import run_all
from linsep.core.order import generator
from linsep.core.problem import Problem
from linsep.jit.scatter import scatter
from linsep.solvers.hinge_pass import RowSet
from linsep.solvers.packed import fits_float32

__all__ = ["UNPACKED", "rows_of_level", "sample_rows", "sizes", "workable"]

Array = NDArray[np.float64]

UNPACKED = 8_000_000  # entries up to which sparse rows are written out
_PIECES = 8  # of a matrix that is written out

_kept = threading.local()


def sizes(problem: Problem) -> list[int]:
    """Sizes of the samples that come before all rows."""
    first = max(6144, 24 * problem.d)
    return [size for size in (first, 8 * first) if 4 * size <= problem.n]


def rows_of_level(
    problem: Problem, level: int, lengths: Array, seed: int, *, wide: bool, narrow: bool
) -> RowSet:
    """The rows of a level; wide asks for float64 arithmetic, narrow allows rounded entries."""
    held = getattr(_kept, "value", None)
    key = (seed, wide, narrow, level)
    if held is not None and held[0] is problem and held[1] == key:
        found: RowSet = held[2]
        return found
    many = sizes(problem)
    matrix = workable(problem, narrow)
    if level == len(many):
        made = RowSet(matrix, problem.sign, problem.weight, wide=wide)
    else:
        index, cost = sample_rows(problem, lengths, many[level], seed, level)
        made = RowSet(matrix[index], problem.sign[index], cost, wide=wide)
    _kept.value = (problem, key, made)
    return made


def workable(problem: Problem, narrow: bool) -> Any:
    """The matrix, or sparse rows that take little room written out, once for a problem.

    In float32 if ``narrow`` allows it: the weights found are judged on the rows as given.
    """
    M, n, d = problem.matrix, problem.n, problem.d
    if not problem.sparse or n * d > UNPACKED:
        return M
    held: dict[bool, Any] = problem.__dict__.setdefault("_written_out", {})
    if narrow not in held:
        short = M.dtype == np.float32 or (narrow and fits_float32(problem))
        out = np.empty((n, d), np.float32 if short else np.float64)
        edges = [n * k // _PIECES for k in range(_PIECES + 1)]
        jobs = [partial(scatter, M, lo, hi, out[lo:hi]) for lo, hi in pairwise(edges)]
        run_all(jobs, 1 if n * d < 300_000 else None)
        held[narrow] = out
    return held[narrow]


def sample_rows(
    problem: Problem, lengths: Array, size: int, seed: int, level: int
) -> tuple[NDArray[np.int64], Array]:
    """About ``size`` rows, long ones more often, with the costs that make sums unbiased.

    Row i is taken with probability min(1, size (1 / (2 n) + |x_i|^2 / (2 sum |x|^2))), so rows
    with rare features are always in; a row of weight s counts as s rows.
    """
    s = problem.weight
    total, mass = float(s @ lengths), float(s.sum())
    share = 0.5 * size if total > 0 else float(size)
    chance = lengths * (share / total if total > 0 else 0.0)
    chance += share / mass
    if s.min() != s.max() or s[0] != 1.0:
        chance *= s
    index = np.flatnonzero(generator(seed, level).random(problem.n) < chance)
    return index, s[index] / np.minimum(1.0, chance[index])
