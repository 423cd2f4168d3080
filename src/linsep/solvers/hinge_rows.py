"""The rows that the Newton method for the hinge works on: samples first, then all of them.

A level is a sample, the last one is all rows. Sets of rows are rebuilt at need, as a function
of the problem, the settings and the level alone, and kept while they are in use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from linsep.certify.leverage import gather, sample
from linsep.core.lanes import run_all
from linsep.core.problem import Problem
from linsep.jit.scatter import scatter
from linsep.solvers.hinge_near import NearRows
from linsep.solvers.hinge_pass import RowSet
from linsep.solvers.hinge_state import NewtonState
from linsep.solvers.packed import fits_float32

__all__ = ["UNPACKED", "Rows", "rows_of_level", "sizes", "workable"]

Array = NDArray[np.float64]

UNPACKED = 8_000_000  # entries up to which sparse rows are written out
_PIECES = 8  # of a matrix that is written out

_kept = threading.local()

Rows = RowSet | NearRows
T = TypeVar("T", RowSet, NearRows)


def sizes(problem: Problem) -> list[int]:
    """Sizes of the samples that come before all rows."""
    first = max(6144, 24 * problem.d)
    return [size for size in (first, 8 * first) if 4 * size <= problem.n]


def rows_of_level(
    problem: Problem,
    state: NewtonState,
    seed: int,
    threads: int | None,
    *,
    wide: bool,
    narrow: bool,
) -> Rows:
    """The rows of a level; wide asks for float64 arithmetic, narrow allows rounded entries.

    state.near are the rows of the last level to be read, if not all of them.
    """
    many, level = sizes(problem), state.level
    matrix = workable(problem, narrow)

    def make() -> RowSet:
        if level == len(many):
            problem.__dict__.pop("_leverage", None)  # no more samples
            return RowSet(matrix, problem.sign, problem.weight, wide=wide)
        index, cost = sample(problem, many[level], seed, threads)
        part = gather(matrix, index, threads)
        return RowSet(part, problem.sign[index], cost, wide=wide)

    rows = _held("rows", (problem, seed, wide, narrow, level), make)
    if state.near.size:
        key = (rows, state.near)
        return _held("near", key, lambda: NearRows(rows, state, threads, wide=wide))
    _kept.near = None
    return rows


def _held(name: str, key: tuple[Any, ...], make: Callable[[], T]) -> T:
    """The set made last, if it was made for the same."""
    held = getattr(_kept, name, None)
    if held is not None and all(a is b or _equal(a, b) for a, b in zip(held[0], key)):
        found: T = held[1]
        return found
    setattr(_kept, name, None)  # its memory, before more is asked for
    made = make()
    setattr(_kept, name, (key, made))
    return made


def _equal(a: Any, b: Any) -> bool:
    return isinstance(a, int) and a == b


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
