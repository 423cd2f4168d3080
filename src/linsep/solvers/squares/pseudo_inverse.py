"""The pseudo-inverse of the weighted augmented rows, never written out.

W = S^(1/2) X~ has many rows or many columns, and one side that is short. With C the lengths of
the columns of W (so that no unit of measurement matters):

tall, well conditioned     Cholesky factors of C^-1 W'W C^-1
tall, dependent columns    eigenvectors of the same; those of eigenvalue 0 are confirmed by W v = 0
tall, nearly dependent     W C^-1 = Q R by blocks of rows, then the singular values of R
wide                       eigenvectors of W W', or the singular values of W

Each gives the correction of least length that makes the gradient vanish as far as rounding
allows; repeated, that is iterative refinement. Where columns depend on each other, null vectors
are taken out in the units of the weights, so that a has the least length of all minimisers, the
offset counted: a = W^+ t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.costs import GRAM_COLUMNS, PRODUCT, PRODUCTS_WORK, WIDE_COPIED
from linsep.core.lanes import one_blas_thread
from linsep.core.limits import tick
from linsep.core.order import generator
from linsep.core.problem import Problem, reads
from linsep.core.words import count
from linsep.rows.normal import Totals, gram

Array = NDArray[np.float64]

_EPS = 2.0**-52
_EIGENVALUES = 12  # multiplications, times the cube of the columns, of all eigenvectors
_WELL = 1e-9  # smallest eigenvalue of C^-1 W'W C^-1 that refinement can work with
_ILL = 1e6  # condition beyond which gradients are too coarse to refine with


@dataclass(frozen=True)
class PseudoInverse:
    """One of the forms above; ``half`` is H with W^+ W^+' = H H' in the units of ``scale``."""

    words: str
    rank: int
    condition: float
    """Of the columns at equal lengths (of the rows, where they are fewer)."""
    scale: Array
    half: Array
    by_rows: bool = False
    null: Array | None = None
    """Orthonormal vectors n with W n = 0."""

    def step(self, gradient: Array) -> Array:
        """What to subtract from A, where half the gradient is this; for tall rows."""
        step = self.half @ (self.half.T @ (gradient / self.scale[:, None]))
        step /= self.scale[:, None]
        return self.shortest(step)

    def correction(self, problem: Problem, now: Totals) -> Array:
        """What to subtract from A; ``now`` are the sums at A."""
        if np.isinf(self.condition):
            return np.full_like(now.gradient, np.nan)
        if self.by_rows:
            root = np.sqrt(problem.weight)[:, None]
            u = self.half @ (self.half.T @ (root * now.residual))
            return _transposed(problem, root * u)
        if self.condition <= _ILL:
            return self.step(now.gradient)
        step = self._orthogonal_step(problem, now.residual)
        step /= self.scale[:, None]
        return self.shortest(step)

    def _orthogonal_step(self, problem: Problem, residual: Array) -> Array:
        """The same from the residuals, reflected with the rows: the condition is not squared."""
        D = len(self.scale)
        R = _triangle(problem, self.scale, residual)
        left, values, right = scipy.linalg.svd(R[:D, :D], check_finite=False)
        parts = (left.T @ R[:D, D:])[: self.rank] / values[: self.rank, None]
        return np.asarray(right[: self.rank].T @ parts)

    def shortest(self, A: Array) -> Array:
        """A without its part along the null vectors."""
        return A if self.null is None else A - self.null @ (self.null.T @ A)


def fits(problem: Problem) -> bool:
    """Whether the short side is short enough; otherwise iterations are needed."""
    n, D = problem.n, problem.width
    short = min(n, D) <= GRAM_COLUMNS
    return short and (not problem.sparse or float(n) * D * min(n, D) <= PRODUCTS_WORK)


def pseudo_inverse(problem: Problem) -> PseudoInverse:
    """Of the rows of the problem; computed once and kept with it."""
    return problem.once(_made)


@reads("matrix", "weight", "fit_intercept")
def _made(problem: Problem) -> PseudoInverse:
    short, entries = min(problem.n, problem.width), float(problem.n * problem.width)
    tick(PRODUCT * (entries * short + _EIGENVALUES * float(short) ** 3))  # LAPACK asks for no time
    with one_blas_thread():
        return _by_columns(problem) if problem.n >= problem.width else _by_rows(problem)


# -- tall -----------------------------------------------------------------------------------------


def _by_columns(problem: Problem) -> PseudoInverse:
    found, null = _of_products(gram(problem).matrix)
    if null is None or _vanish(problem, null, found.scale):
        return found
    return _orthogonal(problem, found.scale)


def of_products(G: Array) -> PseudoInverse:
    """From X~'S X~ alone: what is small there counts as dependent."""
    return _of_products(G)[0]


def _of_products(G: Array) -> tuple[PseudoInverse, Array | None]:
    """The same, and vectors that may be null."""
    lengths = np.sqrt(np.diagonal(G))
    scale = np.where(lengths > 0, lengths, 1.0)
    scaled = G / scale / scale[:, None]
    if not np.isfinite(scaled).all():  # LAPACK need not come back from such a matrix
        return _overflowed(scale), None
    tick()
    values, vectors = scipy.linalg.eigh(scaled, check_finite=False)
    top = float(values[-1])
    good = values > _WELL * top
    if good.all():
        words = "normal equations with refinement"
        return _of(words, scale, vectors, values), None
    null = vectors[:, ~good] / scale[:, None]
    columns = count((~good).sum(), "column depends", "columns depend")
    words = f"normal equations with refinement, least length ({columns} on others)"
    return _of(words, scale, vectors[:, good], values[good], null), null


def _of(
    words: str, scale: Array, vectors: Array, values: Array, null: Array | None = None
) -> PseudoInverse:
    condition = float(np.sqrt(values.max(initial=1.0) / values.min(initial=1.0)))
    basis = None if null is None or not null.shape[1] else np.linalg.qr(null)[0]
    return PseudoInverse(
        words, len(values), condition, scale, vectors / np.sqrt(values), null=basis
    )


def _vanish(problem: Problem, null: Array, scale: Array) -> bool:
    """Whether W n is zero for all null vectors up to the rounding of its products.

    One random combination of them tells: it is zero by chance with probability zero.
    """
    mixed = null @ generator(0, 7).standard_normal(null.shape[1])
    values = problem.product(np.ascontiguousarray(mixed[: problem.d]))
    if problem.fit_intercept:
        values += mixed[-1]
    size = float(np.linalg.norm(values * np.sqrt(problem.weight)))
    return bool(size <= 8 * len(scale) * _EPS * np.sqrt(null.shape[1]))


def _orthogonal(problem: Problem, scale: Array) -> PseudoInverse:
    """By Householder reflections, block after block; the condition is not squared."""
    D = problem.width
    R = _triangle(problem, scale)
    _, values, vectors = scipy.linalg.svd(R, check_finite=False)
    good = values > 8 * D * _EPS * values[0]
    words = "orthogonal factors with refinement"
    if not good.all():
        words += (
            f", least length ({count((~good).sum(), 'column depends', 'columns depend')} on others)"
        )
    kept = vectors[: len(values)][good].T
    null = vectors[: len(values)][~good].T / scale[:, None]
    return _of(words, scale, kept, values[good] ** 2, null)


def _triangle(problem: Problem, scale: Array, more: Array | None = None) -> Array:
    """R of W C^-1 = Q R; with further columns S^(1/2) M also Q' S^(1/2) M beside it."""
    size = problem.width + (0 if more is None else more.shape[1])
    R = np.zeros((0, size))
    step = max(4 * size, 2048)
    for lo in range(0, problem.n, step):
        hi = min(problem.n, lo + step)
        rows = _written_out(problem, lo, hi) / scale
        if more is not None:
            rows = np.column_stack([rows, np.sqrt(problem.weight[lo:hi])[:, None] * more[lo:hi]])
        R = scipy.linalg.qr(np.vstack([R, rows]), mode="r", check_finite=False)[0][:size]
    return R


def _written_out(problem: Problem, lo: int, hi: int) -> Array:
    block = problem.matrix[lo:hi]
    block = np.asarray(block.toarray() if problem.sparse else block, dtype=np.float64)
    if problem.fit_intercept:
        block = np.column_stack([block, np.ones(hi - lo)])
    return np.asarray(block * np.sqrt(problem.weight[lo:hi])[:, None])


# -- wide -----------------------------------------------------------------------------------------


def _by_rows(problem: Problem) -> PseudoInverse:
    n, D = problem.n, problem.width
    ones = np.ones(D)
    if n * D <= WIDE_COPIED:
        W = _written_out(problem, 0, n)
        if not np.isfinite(W).all():
            return _overflowed(ones)
        left, values, _ = scipy.linalg.svd(W, full_matrices=False, check_finite=False)
        good = values > max(n, D) * _EPS * values[0]
        vectors, squares = left[:, good], values[good] ** 2
    else:
        K = _row_products(problem)
        if not np.isfinite(K).all():
            return _overflowed(ones)
        squares, vectors = scipy.linalg.eigh(K, check_finite=False)
        good = squares > n * _EPS * squares[-1]
        vectors, squares = vectors[:, good], squares[good]
    words = "fewer rows than weights: the weights of least length, by products of rows"
    condition = float(np.sqrt(squares.max(initial=1.0) / squares.min(initial=1.0)))
    half = vectors / np.sqrt(squares)
    return PseudoInverse(words, len(squares), condition, ones, half, by_rows=True)


def _row_products(problem: Problem) -> Array:
    """W W'."""
    n = problem.n
    if problem.sparse:
        K = np.asarray((problem.matrix @ problem.matrix.T).toarray(), dtype=np.float64)
    else:
        K = np.zeros((n, n))
        step = max(1, WIDE_COPIED // n)
        for lo in range(0, problem.d, step):
            part = problem.matrix[:, lo : lo + step].astype(np.float64, copy=False)
            K += part @ part.T
    root = np.sqrt(problem.weight)
    return np.asarray((K + (1.0 if problem.fit_intercept else 0.0)) * root * root[:, None])


def _transposed(problem: Problem, U: Array) -> Array:
    """X~' U."""
    top = np.asarray(problem.matrix.T @ U, dtype=np.float64)
    return np.vstack([top, U.sum(axis=0)[None, :]]) if problem.fit_intercept else top


def _overflowed(scale: Array) -> PseudoInverse:
    return PseudoInverse("overflow", 0, np.inf, scale, np.full((len(scale), 1), np.nan))
