"""Least squares in numbers: residuals, gradient and the matrix of the normal equations.

With augmented rows x~_i = [x_i, 1], weights s_i and targets t_i (y_i b_i for two classes, one
column +-b_i a class for more) the criterion is

    J(A) = sum_i s_i |x~_i A - t_i|^2,   half its gradient  X~' S (X~ A - T),   X~' S X~ the Gram

Signs of rows cancel in the Gram matrix, so it is the same for the reflected rows. Sums are
taken in float64, in an order that depends on the shape alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.linalg.blas
from numpy.typing import NDArray

from linsep.core.costs import GRAM_COLUMNS, ONE_BLOCK
from linsep.core.lanes import Lanes, one_blas_thread
from linsep.core.layouts import CSR
from linsep.core.limits import tick
from linsep.core.problem import Problem, reads
from linsep.numerics.rounding import U
from linsep.rows import loops
from linsep.rows.loops import scatter
from linsep.rows.reader import survey

Array = NDArray[np.float64]

_WORK = 1e11  # operations for one
REACH = 1000.0


def aims(problem: Problem) -> Array:
    """Targets T of shape (n, 1) for two classes, (n, K) for more; kept with the problem."""
    return problem.once(_aims)


@reads("label", "classes", "targets")
def _aims(problem: Problem) -> Array:
    b = np.ones(problem.n) if problem.targets is None else problem.targets
    if problem.binary:
        return (problem.sign * b)[:, None]
    out = np.repeat(-b[:, None], problem.K, axis=1)
    out[np.arange(problem.n), problem.label] = b
    return out


def columns_of(problem: Problem, a: Array) -> Array:
    """Weights as a matrix A of shape (width, columns); without an offset its row is left out."""
    return np.ascontiguousarray(a.reshape(-1, problem.d + 1)[:, : problem.width].T)


def flat(problem: Problem, A: Array) -> Array:
    """The same weights as one vector, in the order of ``problem.split``."""
    out = np.zeros((A.shape[1], problem.d + 1))
    out[:, : problem.width] = A.T
    return out.ravel()


@dataclass(frozen=True)
class Totals:
    """Sums of one pass: residuals X~ A - T, half the gradient, and how often in a row an entry
    of the gradient was rounded."""

    residual: Array
    gradient: Array
    terms: int

    def cost(self, problem: Problem) -> Array:
        """J of each column."""
        return np.asarray((problem.weight[:, None] * self.residual**2).sum(axis=0))


def totals(problem: Problem, A: Array, T: Array) -> Totals:
    """Residuals and gradient at A; T may differ from the problem's own targets."""
    R = np.empty(T.shape)
    if problem.sparse:
        g, terms = _sparse_totals(problem, A, T, R)
    elif problem.n * problem.d <= ONE_BLOCK:
        X = problem.matrix.astype(np.float64, copy=False)
        _block_residual(problem, X, A, T, R)
        SR = problem.weight[:, None] * R
        g, terms = _with_offset(problem, X.T @ SR, SR.sum(axis=0)), problem.n + 4
    else:
        g, terms = _dense_totals(problem, A, T, R)
    return Totals(R, g, terms)


def _block_residual(problem: Problem, X: Array, A: Array, T: Array, out: Array) -> None:
    np.matmul(X, A[: problem.d], out=out)
    if problem.fit_intercept:
        out += A[-1]
    out -= T


def _with_offset(problem: Problem, top: Array, last: Array) -> Array:
    return np.vstack([top, last[None, :]]) if problem.fit_intercept else top


def _dense_totals(problem: Problem, A: Array, T: Array, R: Array) -> tuple[Array, int]:
    lanes = Lanes(problem.matrix, double=True)

    def lane_sums(lane: int) -> tuple[Array, Array]:
        g, last = np.zeros((problem.d, T.shape[1])), np.zeros(T.shape[1])
        for lo, hi, block in lanes.blocks(lane):
            _block_residual(problem, block, A, T[lo:hi], R[lo:hi])
            part = problem.weight[lo:hi, None] * R[lo:hi]
            g += block.T @ part
            last += part.sum(axis=0)
        return g, last

    with one_blas_thread():
        parts = lanes.each(lane_sums)
    g = sum((p[0] for p in parts[1:]), start=parts[0][0])
    last = sum((p[1] for p in parts[1:]), start=parts[0][1])
    terms = lanes.rows + -(-problem.n // lanes.rows) + len(parts) + 4
    return _with_offset(problem, g, last), terms


def _sparse_totals(problem: Problem, A: Array, T: Array, R: Array) -> tuple[Array, int]:
    M = problem.matrix
    X, n, size = CSR(M.data, M.indices, M.indptr), problem.n, int(M.nnz)
    g = np.zeros((problem.d, T.shape[1]))
    for k in range(T.shape[1]):
        scores, v = np.empty(n), np.zeros(problem.d)
        loops.scores(X, np.ascontiguousarray(A[: problem.d, k]), 0, n, scores,
                        size=size, work=size)  # fmt: skip
        R[:, k] = scores + (A[-1, k] if problem.fit_intercept else 0.0) - T[:, k]
        loops.combine(X, problem.weight * R[:, k], 0, n, v, size=size, work=size)
        g[:, k] = v
    return _with_offset(problem, g, problem.weight @ R), n + 4


@dataclass(frozen=True)
class Gram:
    """X~' S X~ as computed, with what bounds its errors.

    An entry is off by at most ``terms`` 2^-53 times the lengths of its two columns.
    """

    matrix: Array
    terms: int
    n: int
    """Rows that were added up."""

    @property
    def lengths(self) -> Array:
        """Lengths of the weighted columns."""
        return np.sqrt(np.diagonal(self.matrix))


def gram(problem: Problem) -> Gram:
    """The Gram matrix of the weighted augmented rows; computed once a problem and kept."""
    return problem.once(_gram)


def gram_fits(problem: Problem) -> bool:
    """Whether the Gram matrix is there already, or cheap, and worth it: no wider than tall."""
    n, D = problem.n, problem.width
    return problem.knows(_gram) or (min(n, GRAM_COLUMNS) >= D and float(n) * D * D <= _WORK)


def _add_products(G: Array, rows: Array) -> None:
    """G += rows' rows in place; the upper triangle alone is kept."""
    if rows.flags.c_contiguous:
        scipy.linalg.blas.dsyrk(1.0, rows.T, beta=1.0, c=G, overwrite_c=True)
    else:
        G += rows.T @ rows


def right_side(problem: Problem) -> Array:
    """X~' S T; it falls off the Gram matrix, and is kept like that."""
    return problem.once(_right_side)


def _right_side(problem: Problem) -> Array:
    zero = np.zeros((problem.width, aims(problem).shape[1]))
    return -totals(problem, zero, aims(problem)).gradient


@reads("matrix", "weight", "fit_intercept")
def _gram(problem: Problem) -> Gram:
    root = None if (problem.weight == 1).all() else np.sqrt(problem.weight)
    lanes = Lanes(problem.matrix, double=True, scatter=scatter)
    d = problem.d
    aim = problem.weight[:, None] * aims(problem)

    def lane_sums(lane: int) -> tuple[Array, Array, Array]:
        G = np.zeros((d, d), order="F")
        sums, right = np.zeros(d), np.zeros((d, aim.shape[1]))
        for lo, hi, block in lanes.blocks(lane):
            tick()
            rows = block if root is None else block * root[lo:hi, None]
            _add_products(G, rows)
            sums += (np.ones(hi - lo) if root is None else root[lo:hi]) @ rows
            right += block.T @ aim[lo:hi]
        return G, sums, right

    with one_blas_thread():
        parts = lanes.each(lane_sums)
    out = np.zeros((problem.width, problem.width))
    upper = sum((p[0] for p in parts[1:]), start=parts[0][0])
    out[:d, :d] = np.triu(upper) + np.triu(upper, 1).T
    if problem.fit_intercept:
        out[:d, -1] = out[-1, :d] = sum((p[1] for p in parts[1:]), start=parts[0][1])
        out[-1, -1] = problem.weight.sum()
    right = sum((p[2] for p in parts[1:]), start=parts[0][2])
    problem.keep(_right_side, _with_offset(problem, right, aim.sum(axis=0)))
    terms = lanes.rows + -(-problem.n // lanes.rows) + len(parts) + 8
    return Gram(out, terms, problem.n)


@dataclass(frozen=True)
class NormalSums:
    """X~'S X~ and X~'S T of some rows; a sum over parts adds both."""

    gram: Array
    right: Array

    def plus(self, other: Self) -> Self:
        """Both."""
        return replace(self, gram=self.gram + other.gram, right=self.right + other.right)


def normal_sums(problem: Problem) -> NormalSums:
    """Of all rows of a problem, once."""
    return NormalSums(gram(problem).matrix, right_side(problem))


@dataclass(frozen=True)
class Slope:
    """Half a gradient of some rows."""

    gradient: Array

    def plus(self, other: Self) -> Self:
        """Both."""
        return replace(self, gradient=self.gradient + other.gradient)


def slope_of(problem: Problem, *, A: Array) -> Slope:
    """Half the gradient of J at A."""
    return Slope(totals(problem, A, aims(problem)).gradient)


def small_slope(problem: Problem, A: Array, gradient: Array, T: Array, tol: float) -> bool:
    """Whether no weights up to ``reach`` times as large as A can be better by tol J(0).

    For solvers that have no better measure; rounding is left to the certificate.
    """
    lengths = column_lengths(problem)
    slope = (np.abs(gradient) / lengths[:, None]).max(axis=0)
    squares = weighted_squares(problem, T)
    size = np.maximum(np.abs(A).T @ lengths, np.sqrt(squares))
    return bool(2 * (REACH + 1) * float((slope * size).sum()) <= tol * float(squares.sum()))


def column_lengths(problem: Problem) -> Array:
    """At least the lengths of the weighted columns; never zero."""
    return weighted_lengths(problem, gram(problem) if gram_fits(problem) else None)


def weighted_squares(problem: Problem, M: Array) -> Array:
    """Weighted sums of squares of columns, added by halves."""
    return np.asarray((M * M * problem.weight[:, None]).sum(axis=0))


def weighted_lengths(problem: Problem, known: Gram | None) -> Array:
    """At least the lengths of the weighted columns; never zero."""
    if known is not None:
        found = known.lengths * (1 + known.terms * U)
    else:
        columns = survey(problem).column_lengths()
        if problem.fit_intercept:
            columns = np.append(columns, np.sqrt(problem.n))
        found = columns * np.sqrt(problem.weight.max()) * (1 + 8 * U)
    return np.where(found > 0, found, 1.0)
