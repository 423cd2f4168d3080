"""One pass over the data for a certificate: values of a plane and a combination of rows.

float64 throughout, blocks in a fixed order, with what is needed to bound the rounding errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import Lanes, one_blas_thread, run_all
from linsep.core.problem import Problem
from linsep.core.rows import CSR
from linsep.jit import products

__all__ = ["Totals", "combination", "one_pass"]

Array = NDArray[np.float64]

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
    if problem.sparse:
        v, terms, squares = _sparse_pass(problem, a[:-1], c, values)
    else:
        v, terms, squares = _dense_pass(problem, a[:-1], c, values)
    values += a[-1]
    values *= problem.sign
    return Totals(values, v, terms, np.sqrt(squares) * (1 + 1e-9) + 1e-150)


def combination(problem: Problem, alpha: Array) -> Array:
    """sum of alpha_i y_i x_i."""
    return one_pass(problem, np.zeros(problem.d + 1), alpha).v


def _dense_pass(problem: Problem, w: Array, c: Array, out: Array) -> tuple[Array, int, Array]:
    lanes = Lanes(problem.matrix, wide=True)
    known = _known_columns(problem)

    def lane_sums(lane: int) -> tuple[Array, Array]:
        v, squares = np.zeros(problem.d), np.zeros(problem.d)
        for lo, hi, block in lanes.blocks(lane):
            out[lo:hi] = block @ w
            v += c[lo:hi] @ block
            if known is None:
                squares += np.einsum("ij,ij->j", block, block)
        return v, squares

    with one_blas_thread():
        parts = lanes.each(lane_sums)
    v, squares = parts[0]
    for other, more in parts[1:]:
        v += other
        squares += more
    squares = _keep_columns(problem, squares) if known is None else known
    return v, lanes.rows + -(-problem.n // lanes.rows) + len(parts) + 4, squares


def _sparse_pass(problem: Problem, w: Array, c: Array, out: Array) -> tuple[Array, int, Array]:
    M = problem.matrix
    X = CSR(M.data, M.indices, M.indptr)
    n, size = problem.n, int(M.nnz)
    count = max(1, min(4, n // _ROWS))
    edges = [n * k // count for k in range(count + 1)]

    def lane_sums(k: int) -> Array:
        lo, hi = edges[k], edges[k + 1]
        v = np.zeros(problem.d)
        work = int(M.indptr[hi] - M.indptr[lo])
        products.scores(X, w, lo, hi, out, size=size, work=work)
        products.combine(X, c, lo, hi, v, size=size, work=work)
        return v

    parts = run_all([partial(lane_sums, k) for k in range(count)])
    v = parts[0]
    for other in parts[1:]:
        v += other
    squares = _known_columns(problem)
    if squares is None:
        squares = np.zeros(problem.d)
        products.columns(X, n, squares, size=size, work=size)
        _keep_columns(problem, squares)
    return v, n + count + 4, squares


# Sums of squares of the columns are kept with the problem: one against the rest asks K times.


def _known_columns(problem: Problem) -> Array | None:
    found: Array | None = problem.__dict__.get("_column_squares")
    return found


def _keep_columns(problem: Problem, squares: Array) -> Array:
    problem.__dict__["_column_squares"] = squares
    return squares
