"""The machine of Crammer and Singer by interior points, for small tables where others stall.

Problem   min 1/2 sum ridge_j W_kj^2 + sum c_i xi_i with xi_i >= g_ik for every class k,
          g_ik = [k != y_i] + f_k(x_i) - f_y(x_i)
Given     slacks s = xi - g > 0 and shares beta > 0 of each row, sum over k of beta_ik = c_i
Update    Newton's method for beta s = mu and ridge W_k = sum_i (c_i [k = y_i] - beta_ik) x_i,
          predictor and corrector. All but W is eliminated: with theta = beta / s, K x K blocks
          [k = l] (ridge + sum theta_ik x x') - sum theta_ik theta_il / sum_m theta_im x x'.
          By pairs of a row and a rival W is eliminated instead: x_i.x_j (e_y - e_k).(e_y - e_l)
          for the rows i and j, more on the diagonal and between the rivals of a row. Where costs
          are large and few rows matter this keeps the digits that a sum over all rows loses
Stop      the products beta s are rounding against the objective, or no step is possible
Paper     Mehrotra 1992; Crammer and Singer 2001 for the machine
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import one_blas_thread
from linsep.core.limits import time_left
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.numerics.cholesky import Factor
from linsep.numerics.interior import SHORTER, centring, reach

Array = NDArray[np.float64]

_MOST_STEPS = 120
_SHORTEST = 1e-10  # a step of this length is none
_ROUNDING = 1e-14  # share of the objective that is taken for rounding
_NO_BETTER = 10  # steps without progress after which there is none
_JITTER = (1e-15, 1e-13, 1e-11)


def interior_machine(problem: Problem, C: float, *, by_pairs: bool = False) -> Witness:
    """Nearly the best weights and dual variables; row i of class k has number k n + i.

    With intercepts, which take it back, columns are moved to their middle. By pairs the products
    of all rows stand for them, else they are scaled.
    """
    X = problem.matrix.toarray() if problem.sparse else problem.matrix
    X, (n, d), K = X.astype(np.float64), problem.matrix.shape, problem.K
    middle = X.mean(axis=0) if problem.fit_intercept else np.zeros(d)
    X -= middle
    cost = C * problem.weight
    with one_blas_thread():
        if by_pairs:
            coef, intercept, beta = pairs_minimum(
                X, problem.label, K, cost, free=problem.fit_intercept
            )
        else:
            coef, intercept, beta = _by_weights(X, problem, cost)
    intercept = intercept - coef @ middle
    own = np.arange(n), problem.label
    beta[own] = 0.0
    beta[own] = beta.sum(axis=1)
    flat = beta.T.ravel()
    rows = np.flatnonzero(flat)
    a = np.column_stack([coef, intercept]).ravel()
    return Witness(a=a, rows=rows, multipliers=flat[rows], claim="dual")


def _by_weights(X: Array, problem: Problem, cost: Array) -> tuple[Array, Array, Array]:
    (n, d), K = X.shape, problem.K
    size = np.abs(X).max(axis=0)
    size[size == 0] = 1.0
    X, ridge = X / size, size**-2.0
    if problem.fit_intercept:
        X, ridge = np.hstack([X, np.ones((n, 1))]), np.append(ridge, 0.0)
    W, beta = machine_minimum(X, problem.label, K, cost, ridge)
    return W[:, :d] / size, W[:, d] if problem.fit_intercept else np.zeros(K), beta


@np.errstate(all="ignore")  # at the end rounding puts points onto their bounds
def machine_minimum(
    X: Array, label: NDArray[np.int64], K: int, cost: Array, ridge: Array
) -> tuple[Array, Array]:
    """Weights of shape (K, d) and shares beta of shape (n, K), nearly the best.

    A column of ridge 0 is that of an intercept. Columns should have a size of about 1.
    """
    n, d = X.shape
    own = np.zeros((n, K))
    own[np.arange(n), label] = 1.0
    W, beta = np.zeros((K, d)), np.repeat(cost[:, None] / K, K, axis=1)
    g = 1.0 - own
    xi = np.full(n, 2.0)
    best, least, ahead, closest = W, np.inf, beta, np.inf
    for _ in range(_MOST_STEPS):
        s = xi[:, None] - g
        primal = 0.5 * float((ridge * W * W).sum()) + float(cost @ g.max(axis=1))
        wrong = ((own * cost[:, None] - beta).T @ X) - ridge * W
        products = float((beta * s).sum())
        if not (np.isfinite(primal) and np.isfinite(products)):
            break
        if primal < least:
            best, least = W.copy(), primal
        if products < closest:
            ahead, closest = beta.copy(), products
        if products <= _ROUNDING * primal:
            break
        found = _step(X, own, ridge, beta, s, wrong)
        if found is None or found[0] < _SHORTEST:
            break
        t, dW, dxi, dbeta = found
        W, xi, beta = W + t * dW, xi + t * dxi, beta + t * dbeta
        scores = X @ W.T
        g = 1.0 - own + scores - (own * scores).sum(axis=1)[:, None]
        g[own > 0] = 0.0
    return best, ahead


def _step(
    X: Array, own: Array, ridge: Array, beta: Array, s: Array, wrong: Array
) -> tuple[float, Array, Array, Array] | None:
    """The length of a step, and the step of W, xi and beta; None where there is none."""
    K, d = wrong.shape
    theta = beta / s
    total = theta.sum(axis=1)
    H = _system(X, theta, total, ridge)
    scale = 1.0 / np.sqrt(np.maximum(H.diagonal(), 1e-300))
    factor = Factor.of(H, scale, _JITTER, turned=True)
    if factor is None:
        return None

    def direction(aim: Array) -> tuple[Array, Array, Array, Array]:
        q = aim / s
        mean = q.sum(axis=1) / total
        right = wrong - ((q - theta * mean[:, None]).T @ X)
        dW = factor.solve(right.ravel()).reshape(K, d)
        df = X @ dW.T
        common = mean + (theta * df).sum(axis=1) / total
        dxi = common - (own * df).sum(axis=1)
        ds = common[:, None] - df
        return dW, dxi, ds, q - theta * ds

    mean = float((beta * s).mean())
    _, _, ds, dbeta = direction(-beta * s)
    t = min(1.0, _longest(beta, s, dbeta, ds))
    less = float(((beta + t * dbeta) * (s + t * ds)).mean())
    mu = centring(mean, less)
    dW, dxi, ds, dbeta = direction(mu - beta * s - dbeta * ds)
    t = min(1.0, SHORTER * _longest(beta, s, dbeta, ds))
    return (t, dW, dxi, dbeta) if np.isfinite(dW).all() else None


def _longest(beta: Array, s: Array, dbeta: Array, ds: Array) -> float:
    most = max(float((-dbeta / beta).max()), float((-ds / s).max()))
    return reach(most)


def _system(X: Array, theta: Array, total: Array, ridge: Array) -> Array:
    """The matrix of all weights, class by class."""
    K, d = theta.shape[1], X.shape[1]
    H = np.zeros((K, d, K, d))
    for k in range(K):
        for m in range(k, K):
            share = theta[:, k] * ((k == m) - theta[:, m] / total)
            H[k, :, m, :] = (X * share[:, None]).T @ X
            H[m, :, k, :] = H[k, :, m, :]
        H[k, :, k, :] += np.diag(ridge)
    free = np.flatnonzero(ridge == 0.0)
    for j in free:  # the same added to all intercepts changes nothing: it is held still
        H[:, j, :, j] += H[:, j, :, j].diagonal().max() / K
    return H.reshape(K * d, K * d)


# -- By pairs of a row and a rival ----------------------------------------------------------------


class Pairs(NamedTuple):
    """The products that are to vanish: shares of rivals, and what is left for the own class."""

    beta: Array
    s: Array
    left: Array
    """Of the cost of a row."""
    xi: Array

    def product(self) -> float:
        """Their sum."""
        return float(self.beta @ self.s + self.left @ self.xi)

    def moved(self, t: float, way: Pairs) -> Pairs:
        """The point a step of length t ahead."""
        return Pairs(*(here + t * there for here, there in zip(self, way)))

    def room(self, way: Pairs) -> float:
        """How far it is to the nearest bound."""
        return reach(max(float((-there / here).max()) for here, there in zip(self, way)))


@np.errstate(all="ignore")  # at the end rounding puts points onto their bounds
def pairs_minimum(
    X: Array, label: NDArray[np.int64], K: int, cost: Array, *, free: bool
) -> tuple[Array, Array, Array]:
    """Weights of shape (K, d), intercepts, and shares of rivals of shape (n, K), nearly the best.

    free says that there are intercepts; then every class has rows.
    """
    n = len(X)
    row, rival = np.nonzero(np.arange(K) != label[:, None])
    toward = np.zeros((len(row), K))
    toward[np.arange(len(row)), label[row]] = 1.0
    toward[np.arange(len(row)), rival] = -1.0
    G = X @ X.T
    size = float(G.diagonal().max()) or 1.0
    Q = (toward @ toward.T) * (G / size)[np.ix_(row, row)]
    top = size * cost
    beta = np.minimum(top / K, 1.0)[row]
    left = top - np.bincount(row, beta, n)
    at = Pairs(beta, np.ones(len(row)), left, beta[:: K - 1] / left)
    b = np.zeros(K)
    best, least, since = (beta, b), np.inf, 0
    for _ in range(_MOST_STEPS):
        pull = Q @ at.beta
        wrong = at.xi[row] + pull + toward @ b - 1.0 - at.s
        off = toward.T @ at.beta if free else np.zeros(K)
        dual = abs(float(at.beta.sum()) - 0.5 * float(at.beta @ pull))
        rest = at.product() + float(at.beta @ np.abs(wrong)) + float(np.abs(off).sum())
        if not np.isfinite(rest / dual) or since > _NO_BETTER or time_left() <= 0:
            break
        since += 1
        if rest / dual < least:
            best, least, since = (at.beta, b), rest / dual, 0
        if least <= _ROUNDING:
            break
        found = _pairs_step(Q, row, toward[:, 1:] if free else toward[:, :0], at, wrong, off[1:])
        if found is None or found[0] < _SHORTEST:
            break
        t, way, db = found
        at = at.moved(t, way)
        b = b + t * np.pad(db, (1, K - 1 - len(db)))
    shares = best[0] / size
    full = np.zeros((n, K))
    full[row, rival] = shares
    return (toward * shares[:, None]).T @ X[row], best[1], full


def _pairs_step(
    Q: Array, row: NDArray[Any], toward: Array, at: Pairs, wrong: Array, off: Array
) -> tuple[float, Pairs, Array] | None:
    """The length of a step, the step, and that of the intercepts but the first, if any."""
    H = Q + (row[:, None] == row) * (at.xi / at.left)[row]
    H[np.diag_indices_from(H)] += at.s / at.beta
    factor = Factor.of(H, 1.0 / np.sqrt(H.diagonal()), _JITTER, turned=True)
    if factor is None:
        return None
    answers = np.column_stack([factor.solve(column) for column in toward.T] or [toward])
    between = toward.T @ answers

    def direction(aim: Array, own: Array) -> tuple[Pairs, Array]:
        z = factor.solve(aim / at.beta - (own / at.left)[row] - wrong)
        right = toward.T @ z + off[: len(between)]
        db = np.asarray(np.linalg.lstsq(between, right)[0], dtype=np.float64)
        z = z - answers @ db
        gone: Array = -np.bincount(row, weights=z, minlength=len(at.left)).astype(np.float64)
        slacks = (aim - at.s * z) / at.beta, (own - at.xi * gone) / at.left
        return Pairs(z, slacks[0], gone, slacks[1]), db

    way, _ = direction(-at.beta * at.s, -at.left * at.xi)
    count = len(at.beta) + len(at.left)
    ahead = at.moved(min(1.0, at.room(way)), way).product() / count
    mu = centring(at.product() / count, ahead)
    way, db = direction(
        mu - at.beta * at.s - way.beta * way.s, mu - at.left * at.xi - way.left * way.xi
    )
    t = min(1.0, SHORTER * at.room(way))
    return (t, way, db) if np.isfinite(way.beta).all() else None
