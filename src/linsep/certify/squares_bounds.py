"""Lower bounds of the least sum of squared errors, rounding included.

With W = S^(1/2) X~, v = S^(1/2) (t - X~ a) and g = W'v every other plane has

    J(a + d) = |v|^2 - 2 d.g + |W d|^2  >=  |v|^2 - g'(W'W)^-1 g  >=  |v|^2 - |C^-1 g|^2 / lambda

where C are the lengths of the columns of W and lambda is a lower bound of the smallest
eigenvalue of C^-1 W'W C^-1. That bound is proved by a Cholesky factorisation of the matrix minus
lambda and all rounding errors (Rump 2006). Columns that depend on others exactly are left out
first; the dependency is proved in integers. For nearly dependent columns any matrix P whose
columns make W P nearly orthogonal serves instead of C^-1. Where nothing of that can be had,

    J(a + d) >= |v|^2 - 2 sum_j |d_j| |g_j|

holds for all weights up to ``reach`` times as large (as a, or as weights that make scores of the
size of the targets; measured by sum_j |a_j| c_j). Small tables are solved in fractions: then
the least cost is known exactly.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.certify.independent import independent
from linsep.certify.normal import Gram, Totals, gram, gram_fits, totals
from linsep.certify.survey import survey
from linsep.core.problem import Problem

__all__ = ["column_lengths", "cost_bounds", "small_slope", "weighted_squares"]

Array = NDArray[np.float64]

_U = 2.0**-53
_SUM = 64 * _U  # of a sum by numpy, which adds by halves
_REACH = 1000.0
_CHUNK = 1 << 20
_UNDERFLOW = 1e-300  # squared lengths from which products lose no more than rounding
_PLAIN = 1e5  # length, in units of 1 / |column|, of weights that are not called large


def small_slope(problem: Problem, A: Array, gradient: Array, T: Array, tol: float) -> bool:
    """Whether no weights up to ``reach`` times as large as A can be better by tol J(0).

    For solvers that have no better measure; rounding is left to the certificate.
    """
    lengths = column_lengths(problem)
    slope = (np.abs(gradient) / lengths[:, None]).max(axis=0)
    squares = weighted_squares(problem, T)
    size = np.maximum(np.abs(A).T @ lengths, np.sqrt(squares))
    return bool(2 * (_REACH + 1) * float((slope * size).sum()) <= tol * float(squares.sum()))


def column_lengths(problem: Problem) -> Array:
    """At least the lengths of the weighted columns; never zero."""
    return _lengths(problem, gram(problem) if gram_fits(problem) else None)


def cost_bounds(
    problem: Problem, A: Array, T: Array, now: Totals, basis: Array | None
) -> tuple[float, float, float]:
    """J from above, the least J from below, and how far that reaches."""
    known = gram(problem) if gram_fits(problem) else None
    lengths = _lengths(problem, known)
    spread, high, low, error = _sizes(problem, A, T, now, lengths)
    slope = np.abs(now.gradient) / lengths[:, None] * (1 + 8 * _U) + error
    size = np.maximum(spread, np.sqrt(weighted_squares(problem, T)))
    least = low**2 - 2 * (_REACH + 1) * size * slope.max(axis=0)
    reach = _REACH
    better = _by_eigenvalue(problem, known, lengths, slope)
    if better is not None:
        least, reach = low**2 - better, np.inf
    elif basis is not None and basis.shape == (problem.width, problem.width):
        better = _by_basis(problem, basis, T, lengths)
        if better is not None:
            least, reach = better, np.inf
    least = np.maximum(least * (1 - 8 * _U), 0.0)
    if not least.any():
        reach = np.inf  # nothing is below zero
    return float((high**2).sum() * (1 + _SUM)), float(least.sum() * (1 - _SUM)), reach


def _sizes(
    problem: Problem, A: Array, T: Array, now: Totals, lengths: Array
) -> tuple[Array, Array, Array, Array]:
    """For each column: sum |a_j| c_j, |v| from above and below, and the error of g_j / c_j."""
    size = np.sqrt(weighted_squares(problem, now.residual)) * (1 + _SUM)
    spread = np.abs(A).T @ lengths
    # a residual is off by (d + 6) u (sum |x_ij a_j| + |t_i|); taken together, column by column
    off = (problem.d + 6) * _U * 1.01 * (spread + np.sqrt(weighted_squares(problem, T)))
    high, low = size + off, np.maximum(size * (1 - 4 * _SUM) - off, 0.0)
    return spread, high, low, (now.terms + 8) * _U * 1.01 * high + off


def weighted_squares(problem: Problem, M: Array) -> Array:
    """Weighted sums of squares of columns, added by halves."""
    return np.asarray((M * M * problem.weight[:, None]).sum(axis=0))


def _by_eigenvalue(
    problem: Problem, known: Gram | None, lengths: Array, slope: Array
) -> Array | None:
    """|C^-1 g|^2 / lambda, for each column; None where lambda cannot be bounded."""
    if known is None:
        return None
    squares = known.matrix.diagonal()
    if ((squares > 0) & (squares < _UNDERFLOW)).any():
        return None
    M = known.matrix / lengths / lengths[:, None]
    if not np.isfinite(M).all():
        return None
    least = _eigenvalue_below(M, known.terms)
    if least > 0:
        return np.asarray((slope**2).sum(axis=0) / least)
    columns = independent(problem, known)
    if columns is None:
        return None
    least = _eigenvalue_below(M[np.ix_(columns, columns)], known.terms)
    return np.asarray((slope[columns] ** 2).sum(axis=0) / least) if least > 0 else None


def _by_basis(problem: Problem, P: Array, T: Array, lengths: Array) -> Array | None:
    """|v|^2 - |P'g|^2 / lambda, with lambda of (W P)'(W P), if W P has as many columns as W.

    It holds for any weights; taken are some that leave out the directions in which W is small,
    so that they are small and their residuals have little rounding.
    """
    if not np.isfinite(P).all():
        return None
    least = _basis_eigenvalue(problem, P, lengths)
    if not least > 0:
        return None
    plain = P[:, np.abs(P).T @ lengths <= _PLAIN]
    A = np.zeros((problem.width, T.shape[1]))
    for _ in range(3):
        A -= plain @ (plain.T @ totals(problem, A, T).gradient)
    now = totals(problem, A, T)
    _, _, low, error = _sizes(problem, A, T, now, lengths)
    along = np.abs(P.T @ now.gradient)
    rounding = (problem.width + 4) * _U * 1.01 * np.abs(now.gradient)
    along += np.abs(P).T @ (np.outer(lengths, error) + rounding)
    return np.asarray(low**2 - (along**2).sum(axis=0) / least)


def _basis_eigenvalue(problem: Problem, P: Array, lengths: Array) -> float:
    """A proved lower bound of the smallest eigenvalue of (W P)'(W P)."""
    D = problem.width
    G, root = np.zeros((D, D)), np.sqrt(problem.weight)
    step = max(1, _CHUNK // D)
    for lo in range(0, problem.n, step):
        block = problem.matrix[lo : lo + step]
        block = np.asarray(block.toarray() if problem.sparse else block, dtype=np.float64)
        rows = block @ P[: problem.d]
        if problem.fit_intercept:
            rows += P[-1]
        rows *= root[lo : lo + step, None]
        G += rows.T @ rows
    # an entry of W P is off by (D + 6) u (|W| |P|): a matrix E with |E|_F <= e, so that the
    # product is off by at most 2 |W P| e + e^2
    e = (D + 6) * _U * 1.01 * float(np.linalg.norm(np.abs(P).T @ lengths))
    terms = min(step, problem.n) + -(-problem.n // step) + 8
    slack = 2 * np.sqrt(float(np.trace(G))) * e + e * e + terms * _U * 1.01 * float(np.trace(G))
    return _eigenvalue_below(G, 8, 1.01 * slack)


def _eigenvalue_below(M: Array, terms: int, slack: float = 0.0) -> float:
    """A proved lower bound of the smallest eigenvalue of the matrix that M was rounded from."""
    D = len(M)
    if not np.isfinite(M).all():
        return 0.0
    rounding = 1.05 * D * (terms + 16) * _U + 1.1 * (D + 2) * _U * float(np.trace(M))
    rounding += slack
    for shift in (0.99, 0.5, *10.0 ** -np.arange(1.0, 14.0)):
        if shift <= 2 * rounding:
            return 0.0
        try:
            scipy.linalg.cholesky(M - shift * np.eye(D), lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            continue
        return float(shift - rounding)
    return 0.0


def _lengths(problem: Problem, known: Gram | None) -> Array:
    """At least the lengths of the weighted columns; never zero."""
    if known is not None:
        found = known.lengths * (1 + known.terms * _U)
    else:
        columns = survey(problem).column_lengths()
        if problem.fit_intercept:
            columns = np.append(columns, np.sqrt(problem.n))
        found = columns * np.sqrt(problem.weight.max()) * (1 + 8 * _U)
    return np.where(found > 0, found, 1.0)
