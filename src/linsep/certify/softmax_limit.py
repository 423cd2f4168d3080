"""How far a softmax model is from the greatest likelihood, with no penalty.

F(W) = sum_i s_i (log sum_k exp f_k(x_i) - f_y(x_i)), the last class that carries no weights of
its own being any class: only differences of scores count. Along a direction U the third
derivative of F is at most rho times the second, rho the largest range of the scores U x_i over
the classes of one row (a third central moment is no more than the range times the variance).
So with g and H at W, nu^2 = g' H^-1 g, r^2 = U' H U and rho <= c r (Bach 2010, Self-concordant
analysis for logistic regression, lemma 1, with this rho)

    F(W + U) >= F(W) - nu r + (exp(-c r) + c r - 1) / c^2  for all U,

and if c nu < 1 the least value of the right-hand side over r lies below F(W) by no more than
nu^2 / 2 (1 + c nu). A finite bound proves as well that a maximum of the likelihood exists.

H is scaled to a unit diagonal, its smallest eigenvalue lambda is bounded from below with all
errors of its computation; then nu <= |g| / sqrt(lambda) and c <= sqrt(2) max |x_i| / sqrt(lambda)
in the scaled coordinates. Weights on which others depend exactly are left out: columns that
depend on each other, and where rivals are left out whatever only those tell apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.certify.dependent import dependent_columns
from linsep.core.parts import against_rest
from linsep.core.problem import Problem
from linsep.losses.softmax import shares

__all__ = ["likelihood_bound"]

Array = NDArray[np.float64]

_U = 2.0**-53
_WIDE = 1500  # weights up to which the matrix of second derivatives is looked at
_WORK = 1 << 34  # and multiplications for it
_EXACT = 4_000_000  # entries of a table of rivals whose columns are looked at


def likelihood_bound(
    problem: Problem,
    S: Array,
    cost: Array,
    reference: int | None,
    off: float,
    given: Problem | None = None,
) -> float:
    """A bound of F - min F at scores S of shape (K, n), right to ``off``; inf if there is none.

    A score of -inf leaves that rival out of the loss of its row. ``given`` are the rows before
    they were centred: there columns depend on each other exactly.
    """
    K, n, d = problem.K, problem.n, problem.d
    columns = np.arange(d + 1 if problem.fit_intercept else d)
    weights = (K - 1) * len(columns)
    if weights > _WIDE or n * weights**2 > _WORK or not off < 1e-3:
        return np.inf
    matrix = problem.matrix.toarray() if problem.sparse else problem.matrix
    X = np.ones((n, d + 1))
    X[:, :d] = matrix
    # powers of two bring the columns to the size of 1 without rounding
    most = np.abs(X).max(axis=0)
    X *= np.where(most > 0, np.ldexp(1.0, -np.frexp(most)[1].clip(-1000, 1000)), 0.0)
    columns = columns[most[columns] > 0]
    last = K - 1 if reference is None else reference
    free = np.delete(np.arange(K), last)
    terms = _terms(problem, X, S, cost, free, columns)
    bound = _bound(terms, np.arange(terms.H.shape[0]), off)
    if np.isinf(bound):
        kept = _independent(given or problem, S, free, columns)
        bound = np.inf if kept is None else _bound(terms, kept, off)
    return bound


class _Terms(NamedTuple):
    """Sums over the rows, by the weights of the free classes: class by class, column by column."""

    H: Array
    g: Array
    size: Array
    """Sums of the sizes of what adds up to g."""
    longest: Array
    """X * X, to bound how far scores change."""
    classes: int
    roundings: int
    """How often a sum is rounded, at most."""


def _terms(
    problem: Problem,
    X: Array,
    S: Array,
    cost: Array,
    free: NDArray[np.int64],
    columns: NDArray[np.int64],
) -> _Terms:
    now, at = shares(S, problem.label), np.arange(problem.n)
    X, size = X[:, columns], len(free) * len(columns)
    p = now.rivals.copy()
    p[problem.label, at] = now.own
    H = second_derivatives(X, p, cost)[np.ix_(free, free)]
    H = H.transpose(0, 2, 1, 3).reshape(size, size)
    alpha = now.rivals * cost
    alpha[problem.label, at] = -cost * now.rivals.sum(axis=0)
    alpha = alpha[free]
    g, sizes = (alpha @ X).ravel(), (np.abs(alpha) @ np.abs(X)).ravel()
    return _Terms(H, g, sizes, X * X, len(free), problem.n + 2 * problem.K)


def _bound(terms: _Terms, kept: NDArray[np.int64], off: float) -> float:
    """The bound from the kept weights alone, the others being 0."""
    size = len(kept)
    if not size:
        return 0.0  # no weights change the losses that count
    H = terms.H[np.ix_(kept, kept)]
    diagonal = H.diagonal()
    if not (np.isfinite(H).all() and (diagonal > 0).all()):
        return np.inf
    scale = 1.0 / np.sqrt(diagonal)
    # entries of the scaled matrix are sums of terms whose sizes add up to 1 at most; shares are
    # right to 4 off and a few roundings each
    error = (terms.roundings + 32) * _U + 10 * off
    values = scipy.linalg.eigvalsh(H * scale[:, None] * scale, check_finite=False)
    least = float(values[0]) - size * error - 10 * size * size * _U
    if not least > 0:
        return np.inf
    g = np.abs(terms.g[kept]) + error * terms.size[kept] * (1 + 1e-9)
    nu = float(np.linalg.norm(g * scale)) / np.sqrt(least) * (1 + 1e-9)
    scales = np.zeros(len(terms.g))
    scales[kept] = scale
    squares = (scales * scales).reshape(terms.classes, -1)
    longest = float(np.sqrt((terms.longest @ squares.T).max())) * (1 + 1e-9)
    c = np.sqrt(2.0 / least) * longest * (1 + 1e-9)
    return 0.5 * nu * nu * (1 + c * nu) if c * nu < 1 else np.inf


def _independent(
    problem: Problem, S: Array, free: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Weights on which all scores that count depend, the others adding nothing; None if unknown.

    Intercepts are kept before others, so that rows may be centred.
    """
    if np.isfinite(S).all():
        dropped = dependent_columns(against_rest(problem, 0))
        if dropped is None:
            return None
        kept = np.flatnonzero(~np.isin(columns, dropped))
        return np.asarray(np.arange(len(free))[:, None] * len(columns) + kept).ravel()
    rival = np.isfinite(S)
    rival[problem.label, np.arange(problem.n)] = False
    if rival.sum() < 2 or int(rival.sum()) * len(free) * len(columns) > _EXACT:
        return None
    order = columns[::-1]  # the intercepts come first
    differences = _differences(problem, rival, free, order)
    half = np.arange(len(differences)) % 2
    dropped = dependent_columns(Problem(differences, half, fit_intercept=False))
    if dropped is None:
        return None
    kept = np.setdiff1d(np.arange(differences.shape[1]), dropped)
    place, k = np.divmod(kept, len(free))
    return np.sort(k * len(columns) + (len(columns) - 1 - place))


def _differences(
    problem: Problem, rival: NDArray[np.bool_], free: NDArray[np.int64], order: NDArray[np.int64]
) -> Array:
    """The reflected rows of the rivals that count: column by column, the free classes of each."""
    row, k = np.nonzero(rival.T)
    X = np.ones((problem.n, problem.d + 1))
    X[:, :-1] = problem.matrix.toarray() if problem.sparse else problem.matrix
    X = X[row][:, order]
    out = np.zeros((len(row), len(order), len(free)))
    for a, own in enumerate(free.tolist()):
        sign = (problem.label[row] == own).astype(np.float64) - (k == own)
        out[:, :, a] = X * sign[:, None]
    return out.reshape(len(row), -1)


def second_derivatives(X: Array, p: Array, cost: Array) -> Array:
    """H of shape (K, K, D, D): sum cost p_k p_l (e_k - e_l)(e_k - e_l)' x x', no term cancels."""
    K, D = len(p), X.shape[1]
    H = np.zeros((K, K, D, D))
    for k in range(K):
        for m in range(k + 1, K):
            part = (X * (cost * p[k] * p[m])[:, None]).T @ X
            part = 0.5 * (part + part.T)
            H[k, m] = H[m, k] = -part
            H[k, k] += part
            H[m, m] += part
    return H
