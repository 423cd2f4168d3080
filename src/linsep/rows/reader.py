"""Passes over the rows: lanes, machine code or numpy, sums in fixed order.

Reader      the frame of a pass for a loss. It reads each block of rows while it sits in the cache:
            scores, slopes of the loss, their combination with the rows, and what the curvature
            needs; the loops differ from loss to loss (rows/hinge.py, rows/logistic.py)
survey      lengths of rows and columns, and whether every number can be worked with

Proofs read by themselves (proofs/plain.py).

Small sets of rows go block by block through numpy, so that nothing is compiled for them; large
ones in one compiled call a lane. The lanes are added in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import inner
from linsep.core.costs import COMPILED, SQUARES, SURVEY_COMPILED, second_thread
from linsep.core.lanes import Lanes, one_blas_thread, run_all
from linsep.core.layouts import CSR
from linsep.core.problem import Problem, reads
from linsep.rows import loops
from linsep.rows.loops import scatter

Array = NDArray[np.float64]

_SURVEY_THREADS = second_thread(SQUARES)
_HUGE = 1e200  # squared lengths from which products of two numbers may overflow


class Reader:
    """Rows with their signs and costs: all rows of a problem, or a sample of them.

    Parameters
    ----------
    matrix : array or CSR matrix of shape (n, d)
    sign, cost : array of length n
    double : bool
        Calculate in float64 whatever the matrix is.
    widens : bool
        Whether compiled lanes can read float32 as float64.
    most : int
        Lanes, at most.
    serial : int
        Entries below which threads cost more than they bring.
    """

    def __init__(
        self, matrix: Any, sign: Array, cost: Array, *,
        double: bool, widens: bool, most: int = 8, serial: int,
    ) -> None:  # fmt: skip
        self.lanes = Lanes(
            matrix, double=double, scatter=scatter, least=3, most=most, serial=serial
        )
        self.sign, self.cost = sign, cost
        self.n, self.d = matrix.shape
        self.size = self.n * self.d
        self.widened = self.lanes.dtype != matrix.dtype
        self.X = self._for_machine_code(matrix, widens=widens)

    def _for_machine_code(self, matrix: Any, *, widens: bool) -> Any:
        """The rows for the compiled lane, or None if they go block by block through Python.

        A function of shape and layout alone, since the two differ in their last bits.
        """
        if self.size < COMPILED or (self.widened and not widens):
            return None
        if self.lanes.sparse:
            return CSR(matrix.data, matrix.indices, matrix.indptr)
        return matrix if matrix.flags.c_contiguous else None


def added(parts: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    """The sums of all lanes, in their order, so that the number of threads does not matter.

    >>> [total.tolist() for total in added([(np.ones(2), np.zeros(1)), (np.ones(2), np.ones(1))])]
    [[2.0, 2.0], [1.0]]
    """
    totals = parts[0]
    for part in parts[1:]:
        for total, more in zip(totals, part):
            total += more
    return totals


def in_order(values: Array) -> float:
    """The sum of numbers, added one after the other as a loop does; numpy's has another order.

    >>> in_order(np.array([1.0, 1e-16, 1e-16])), in_order(np.zeros(0))
    (1.0, 0.0)
    """
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0


# -- The survey ------------------------------------------------------------------------------------
#
# A sum of squares is finite only if its terms are, so the pass that solvers and certificates
# need anyway also finds NaN, infinity and numbers whose squares overflow.


@dataclass(frozen=True)
class Survey:
    """Squared lengths of the rows and the columns of X, off by a factor of 1 + slack at most."""

    rows: Array
    columns: Array
    slack: float

    @property
    def usable(self) -> bool:
        """False if a number is NaN, infinite, or so large that its square may overflow."""
        with np.errstate(over="ignore"):
            finite = np.isfinite(self.rows.sum()) or np.isfinite(self.rows).all()
        return bool(finite and (self.columns < _HUGE).all())

    def row_lengths(self) -> Array:
        """At least the lengths of the rows; squares of float32 underflow early."""
        lost = 1e-150 if self.slack < 1e-6 else 1e-18
        longest: Array = np.sqrt(self.rows * (1 + self.slack)) * (1 + 1e-9) + lost
        return longest

    def column_lengths(self) -> Array:
        """At least the lengths of the columns."""
        longest: Array = np.sqrt(self.columns) * (1 + self.slack) + 1e-150
        return longest


def survey(problem: Problem, threads: int | None = None) -> Survey:
    """The survey of a problem, made once and kept with it."""
    return problem.once(_survey, threads=threads)


@reads("matrix")
def _survey(problem: Problem, threads: int | None) -> Survey:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return _sparse(problem, threads) if problem.sparse else _dense(problem, threads)


def _dense(problem: Problem, threads: int | None) -> Survey:
    """Large tables by compiled code in float64; else in the type of the matrix, block by block,
    in float64 once squares leave float32."""
    if problem.n * problem.d >= SURVEY_COMPILED and problem.matrix.flags.c_contiguous:
        return _compiled(problem, threads)
    narrow = problem.matrix.dtype != np.float64
    found = _blocks(problem, Lanes(problem.matrix), threads, 1e-3 if narrow else 1e-9)
    small = narrow and bool((found.columns < 1e-20).any())
    if narrow and (small or not found.usable):
        return _blocks(problem, Lanes(problem.matrix, double=True), threads, 1e-9)
    return found


def _compiled(problem: Problem, threads: int | None) -> Survey:
    lanes = Lanes(problem.matrix, most=32)
    rows, size = np.empty(problem.n), problem.n * problem.d

    def lane_sums(lane: int) -> Array:
        total = np.zeros(problem.d)
        lo, hi = lanes.spans[lane]
        loops.dense_squares(problem.matrix, lo, hi, 32, rows, total, size=size, work=size)
        return total

    columns = np.sum(lanes.each(lane_sums, threads), axis=0)
    return Survey(rows, columns, 1e-9)


def _blocks(problem: Problem, lanes: Lanes, threads: int | None, slack: float) -> Survey:
    rows = np.empty(problem.n)
    step = max(1, lanes.rows // 2)  # a block and its squares share the cache

    def lane_sums(lane: int) -> tuple[Array]:
        total = np.zeros(problem.d)
        ones = np.ones(max(problem.d, step), lanes.dtype)
        squares = np.empty((step, problem.d), lanes.dtype)
        for lo, hi, block in lanes.blocks(lane):
            for at in range(0, hi - lo, step):
                piece = block[at : at + step]
                k = len(piece)
                np.multiply(piece, piece, out=squares[:k])
                rows[lo + at : lo + at + k] = squares[:k] @ ones[: problem.d]
                total += ones[:k] @ squares[:k]
        return (total,)

    with one_blas_thread():
        parts = lanes.each(lane_sums, threads)
    (columns,) = added(parts)
    return Survey(rows, columns, slack)


def _sparse(problem: Problem, threads: int | None) -> Survey:
    M = problem.matrix
    X, n, size = CSR(M.data, M.indices, M.indptr), problem.n, int(M.nnz)
    lanes = 1 if size < _SURVEY_THREADS or problem.d > size // 8 else 2
    edges = [int(np.searchsorted(M.indptr, size * k // lanes)) for k in range(lanes)] + [n]
    rows, columns = np.empty(n), np.zeros((lanes, problem.d))
    jobs = [
        partial(loops.squares, X, lo, hi, rows, own, size=size, work=2 * size)
        for (lo, hi), own in zip(pairwise(edges), columns)
    ]
    run_all(jobs, threads)
    return Survey(rows, columns.sum(axis=0), 1e-9)


# -- Products of a block ------------------------------------------------------------------------


@inner
def products(block, w):
    """block w; of one row in the order of its entries, which numpy and numba sum otherwise."""
    if block.shape[0] != 1:
        return np.dot(block, w)
    total = block[0, 0] * w[0]
    for j in range(1, w.shape[0]):
        total += block[0, j] * w[j]
    out = np.empty(1, block.dtype)
    out[0] = total
    return out
