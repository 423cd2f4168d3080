"""Passes over the rows: lanes, machine code or numpy, sums in fixed order.

Reader      the frame of a pass for a loss. It reads each block of rows while it sits in the cache:
            scores, slopes of the loss, their combination with the rows, and what the curvature
            needs; the loops differ from loss to loss (rows/hinge.py, rows/logistic.py)
survey      lengths of rows and columns, and whether every number can be worked with
one_pass    values of a plane and a combination of rows, for a proof

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

from linsep.core.compile import inner, routine
from linsep.core.costs import COMPILED, PLANE, SQUARES, second_thread
from linsep.core.lanes import Lanes, one_blas_thread, run_all
from linsep.core.layouts import CSR
from linsep.core.problem import Problem, reads
from linsep.rows import loops
from linsep.rows.loops import scatter

Array = NDArray[np.float64]

_SURVEYED = 4_000_000  # entries from which compiled code is worth loading for a survey
_SURVEY_THREADS = second_thread(SQUARES)
_HUGE = 1e200  # squared lengths from which products of two numbers may overflow
_PLANE = second_thread(PLANE)  # entries from which a lane of a plane's pass is one compiled call
_SPARSE_LANE = 1 << 14  # rows of a sparse matrix in one lane of it, at least


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
        self.X = self._for_machine_code(matrix, widens)

    def _for_machine_code(self, matrix: Any, widens: bool) -> Any:
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
    if problem.n * problem.d >= _SURVEYED and problem.matrix.flags.c_contiguous:
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


# -- A plane: float64 throughout, with what is needed to bound the rounding errors -----------------


@dataclass(frozen=True)
class Totals:
    """Sums of one pass.

    values are y (w.x + b); v is the sum of alpha_i y_i x_i, each entry of which was rounded
    at most ``terms`` times in a row; columns are at least the lengths of the columns of X.
    """

    values: Array
    v: Array
    terms: int
    columns: Array


def one_pass(problem: Problem, a: Array, alpha: Array) -> Totals:
    """Values of the plane a and the combination of rows with alpha."""
    c = alpha * problem.sign
    values = np.empty(problem.n)
    v, terms = (_sparse_pass if problem.sparse else _dense_pass)(problem, a[:-1], c, values)
    values += a[-1]
    values *= problem.sign
    return Totals(values, v, terms, survey(problem).column_lengths())


def combination(problem: Problem, alpha: Array) -> Array:
    """sum of alpha_i y_i x_i."""
    return one_pass(problem, np.zeros(problem.d + 1), alpha).v


def _dense_pass(problem: Problem, w: Array, c: Array, out: Array) -> tuple[Array, int]:
    lanes = Lanes(problem.matrix, double=True)
    size = problem.n * problem.d
    w = np.ascontiguousarray(w)
    compiled = size >= _PLANE and problem.matrix.flags.c_contiguous

    def lane_sums(lane: int) -> tuple[Array]:
        v = np.zeros(problem.d)
        if compiled:
            lo, hi = lanes.spans[lane]
            run = plane_lane if problem.matrix.dtype == np.float64 else widened_lane
            run(problem.matrix, w, c, lo, hi, lanes.rows, out, v, size=size, work=size)
            return (v,)
        for lo, hi, block in lanes.blocks(lane):
            np.matmul(block, w, out=out[lo:hi])
            v += c[lo:hi] @ block
        return (v,)

    with one_blas_thread():
        parts = lanes.each(lane_sums)
    (v,) = added(parts)
    return v, min(problem.n, lanes.rows) + -(-problem.n // lanes.rows) + len(parts) + 4


def _sparse_pass(problem: Problem, w: Array, c: Array, out: Array) -> tuple[Array, int]:
    M = problem.matrix
    X = CSR(M.data, M.indices, M.indptr)
    n, size = problem.n, int(M.nnz)
    count = max(1, min(4, n // _SPARSE_LANE))
    edges = [n * k // count for k in range(count + 1)]

    def lane_sums(k: int) -> tuple[Array]:
        lo, hi = edges[k], edges[k + 1]
        v = np.zeros(problem.d)
        work = int(M.indptr[hi] - M.indptr[lo])
        loops.scores(X, w, lo, hi, out, size=size, work=work)
        loops.combine(X, c, lo, hi, v, size=size, work=work)
        return (v,)

    parts = run_all([partial(lane_sums, k) for k in range(count)])
    (v,) = added(parts)
    return v, n + count + 4


# -- Values of a plane and a combination of rows, a lane of a large dense table in one call -------


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


@inner
def plane_block(block, w, c, out, v):
    """out = block w and v += c block."""
    out[:] = products(block, w)
    part = np.dot(c, block)
    for j in range(v.shape[0]):
        v[j] += part[j]


@routine
def plane_lane(X, w, c, lo, hi, rows, out, v):
    """out = X w and v += c X over the rows lo..hi of a table in float64, block by block."""
    for start in range(lo, hi, rows):
        stop = min(hi, start + rows)
        plane_block(X[start:stop], w, c[start:stop], out[start:stop], v)


@routine
def widened_lane(X, w, c, lo, hi, rows, out, v):
    """The same for float32, in float64."""
    double = np.empty((rows, v.shape[0]))
    for start in range(lo, hi, rows):
        stop = min(hi, start + rows)
        block = double[: stop - start]
        block[:] = X[start:stop]
        plane_block(block, w, c[start:stop], out[start:stop], v)
