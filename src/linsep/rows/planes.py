"""One pass over the data for a certificate: values of a plane and a combination of rows.

float64 throughout, blocks in a fixed order, with what is needed to bound the rounding errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import inner, routine
from linsep.core.costs import PLANE, second_thread
from linsep.core.lanes import Lanes, one_blas_thread, run_all
from linsep.core.layouts import CSR
from linsep.core.problem import Problem
from linsep.rows import loops
from linsep.rows.survey import survey

Array = NDArray[np.float64]

_COMPILED = second_thread(PLANE)  # entries from which a lane is one compiled call
_ROWS = 1 << 14  # rows of a sparse matrix in one lane, at least


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
    lanes = Lanes(problem.matrix, wide=True)
    size = problem.n * problem.d
    w = np.ascontiguousarray(w)
    compiled = size >= _COMPILED and problem.matrix.flags.c_contiguous

    def lane_sums(lane: int) -> Array:
        v = np.zeros(problem.d)
        if compiled:
            lo, hi = lanes.spans[lane]
            run = plane_lane if problem.matrix.dtype == np.float64 else widened_lane
            run(problem.matrix, w, c, lo, hi, lanes.rows, out, v, size=size, work=size)
            return v
        for lo, hi, block in lanes.blocks(lane):
            np.matmul(block, w, out=out[lo:hi])
            v += c[lo:hi] @ block
        return v

    with one_blas_thread():
        parts = lanes.each(lane_sums)
    v = parts[0]
    for other in parts[1:]:
        v += other
    return v, min(problem.n, lanes.rows) + -(-problem.n // lanes.rows) + len(parts) + 4


def _sparse_pass(problem: Problem, w: Array, c: Array, out: Array) -> tuple[Array, int]:
    M = problem.matrix
    X = CSR(M.data, M.indices, M.indptr)
    n, size = problem.n, int(M.nnz)
    count = max(1, min(4, n // _ROWS))
    edges = [n * k // count for k in range(count + 1)]

    def lane_sums(k: int) -> Array:
        lo, hi = edges[k], edges[k + 1]
        v = np.zeros(problem.d)
        work = int(M.indptr[hi] - M.indptr[lo])
        loops.scores(X, w, lo, hi, out, size=size, work=work)
        loops.combine(X, c, lo, hi, v, size=size, work=work)
        return v

    parts = run_all([partial(lane_sums, k) for k in range(count)])
    v = parts[0]
    for other in parts[1:]:
        v += other
    return v, n + count + 4


# -- Values of a plane and a combination of rows, a lane of a large dense table in one call -------


@inner
def plane_block(block, w, c, out, v):
    """out = block w and v += c block."""
    out[:] = np.dot(block, w)
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
    wide = np.empty((rows, v.shape[0]))
    for start in range(lo, hi, rows):
        stop = min(hi, start + rows)
        block = wide[: stop - start]
        block[:] = X[start:stop]
        plane_block(block, w, c[start:stop], out[start:stop], v)
