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
in the scaled coordinates. Columns that depend on others exactly are left out.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.certify.likelihood_gap import dependent_columns
from linsep.core.parts import against_rest
from linsep.core.problem import Problem
from linsep.losses.softmax import Shares, shares

__all__ = ["likelihood_bound"]

Array = NDArray[np.float64]

_U = 2.0**-53
_WIDE = 1500  # weights up to which the matrix of second derivatives is looked at
_WORK = 1 << 34  # and multiplications for it


def likelihood_bound(
    problem: Problem,
    S: Array,
    cost: Array,
    reference: int | None,
    off: float,
    given: Problem | None = None,
) -> float:
    """A bound of F - min F at scores S of shape (K, n), right to ``off``; inf if there is none.

    ``given`` are the rows before they were centred: there columns depend on each other exactly.
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
    now = shares(S, problem.label)
    last = K - 1 if reference is None else reference
    bound = _bound(problem, X[:, columns], now, cost, last, off)
    if np.isinf(bound):
        dropped = dependent_columns(against_rest(given or problem, 0))
        if dropped is not None and np.isin(columns, dropped).any():
            kept = np.setdiff1d(columns, dropped)
            bound = _bound(problem, X[:, kept], now, cost, last, off)
    return bound


def _bound(problem: Problem, X: Array, now: Shares, cost: Array, last: int, off: float) -> float:
    K, (n, D) = problem.K, X.shape
    free = np.delete(np.arange(K), last)
    size = len(free) * D
    if not size or n < 2:
        return np.inf
    p, at = now.rivals.copy(), np.arange(n)
    p[problem.label, at] = now.own
    H = second_derivatives(X, p, cost)[np.ix_(free, free)]
    H = H.transpose(0, 2, 1, 3).reshape(size, size)
    diagonal = H.diagonal()
    if not (np.isfinite(H).all() and (diagonal > 0).all()):
        return np.inf
    scale = 1.0 / np.sqrt(diagonal)
    # entries of the scaled matrix are sums of terms whose sizes add up to 1 at most; shares are
    # right to 4 off and a few roundings each
    error = (n + 2 * K + 32) * _U + 10 * off
    values = scipy.linalg.eigvalsh(H * scale[:, None] * scale, check_finite=False)
    least = float(values[0]) - size * error - 10 * size * size * _U
    if not least > 0:
        return np.inf
    alpha = now.rivals * cost
    alpha[problem.label, at] = -cost * now.rivals.sum(axis=0)
    alpha = alpha[free]
    g = np.abs(alpha @ X) + error * (np.abs(alpha) @ np.abs(X)) * (1 + 1e-9)
    scales = scale.reshape(len(free), D)
    nu = float(np.linalg.norm(g * scales)) / np.sqrt(least) * (1 + 1e-9)
    longest = float(np.sqrt((X * X @ (scales * scales).T).max())) * (1 + 1e-9)
    c = np.sqrt(2.0 / least) * longest * (1 + 1e-9)
    return 0.5 * nu * nu * (1 + c * nu) if c * nu < 1 else np.inf


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
