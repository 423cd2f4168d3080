"""The dual value of a softmax model from sums that are rounded once.

As ``sharp_dual.py`` for two classes: beside columns of 1e8 at a large C the usual bound of rounding
errors, |alpha| times the lengths of columns, is most of the gap. The alpha are first put on a
grid, one for each row, on which the sum over its rivals is exact; so nothing is rounded but the
shares alpha / c, whose entropies are as good as those of the shares given.

Scores have errors as well, and alpha with them: then V = sum alpha_i x_i' is far from W in the
columns of 1e8, though no model in floats is better. ``nearer`` moves alpha by a Newton step so
that V meets W and the classes balance. Any alpha gives a bound; this one a good one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linsep.certify.sharp_dual import LARGEST, TINY, split_product
from linsep.certify.softmax_limit import second_derivatives
from linsep.core.problem import Problem

__all__ = ["SharpSoftmax", "nearer", "nearer_is_cheap", "on_grid", "sharp_softmax"]

Array = NDArray[np.float64]

_U = 2.0**-53
_MOST = 4_000_000  # entries of X times classes that are worth it
_STEP = 200_000_000  # multiplications for a Newton step that are
_WIDE = 600  # and its unknowns


class SharpSoftmax(NamedTuple):
    """Sums of a dual point of shape (K, n) whose columns sum to 0 exactly."""

    V: Array
    """V_k = sum_i alpha_ki x_i, rounded once; the last column is sum_i alpha_ki."""
    squared: float
    """At least |V|^2 without its last column and without the reference class."""
    rest: float
    """At least the sum over k of |sum_i alpha_ki|."""


def on_grid(alpha: Array, cost: Array, label: NDArray[np.int64]) -> Array:
    """alpha of shape (K, n) made feasible: rivals <= 0, no larger in size than those given, of a
    sum less than the cost, and the own class such that every column sums to 0 exactly."""
    at = np.arange(alpha.shape[1])
    beta = np.maximum(-alpha, 0.0)
    beta[label, at] = 0.0
    total, most = beta.sum(axis=0), cost * (1.0 - 4 * len(alpha) * _U)
    over = total > most
    beta[:, over] *= most[over] / total[over] * (1.0 - 4 * len(alpha) * _U)
    # multiples of 2^(e - 51), their sum less than 2^e: they add up to less than 2^52 of them
    step = np.ldexp(1.0, np.maximum(np.frexp(beta.sum(axis=0))[1] - 51, -1000))
    beta = np.floor(beta / step) * step
    total = beta.sum(axis=0)
    beta = 0.0 - beta
    beta[label, at] = total
    return np.asarray(beta)


def sharp_softmax(
    problem: Problem, alpha: Array, reference: int | None, *, moved: bool
) -> SharpSoftmax | None:
    """Sums for alpha as ``on_grid`` gives it; None where they are not tried.

    moved: the entries of X are themselves rounded once, as those of centred rows are.
    """
    if alpha.size * problem.d > _MOST:
        return None
    X = _dense(problem)
    most = max(float(np.abs(X).max(initial=0.0)), float(np.abs(alpha).max(initial=0.0)))
    if not most < LARGEST:
        return None
    V, size = np.zeros((problem.K, problem.d + 1)), np.zeros((problem.K, problem.d))
    for k in range(problem.K):
        rows = np.flatnonzero(alpha[k])
        c = alpha[k, rows]
        V[k, -1] = math.fsum(c.tolist())
        for j in range(problem.d):
            first, second = split_product(c, X[rows, j])
            V[k, j] = math.fsum([*first.tolist(), *second.tolist()])
            size[k, j] = 2 * _U * float(np.abs(first).sum()) if moved else 0.0
        size[k] += np.abs(V[k, :-1]) * (1 + 4 * _U) + len(rows) * TINY
    if reference is not None:
        size[reference] = 0.0
    squared = float(np.vdot(size, size)) * (1 + (size.size + 16) * _U)
    return SharpSoftmax(V, squared, float(np.abs(V[:, -1]).sum()) * (1 + (problem.K + 4) * _U))


def nearer_is_cheap(problem: Problem) -> bool:
    """Whether a Newton step is worth its work."""
    unknowns = problem.dim
    return unknowns <= _WIDE and problem.n * unknowns**2 <= _STEP


def nearer(
    problem: Problem, alpha: Array, V: Array, W: Array, cost: Array, reference: int | None
) -> Array | None:
    """alpha moved so that V comes nearer to W and its last column, if it counts, to 0.

    alpha + c (diag p - p p') U x on every row, (H + 1) U = W - V, H the second derivatives of the
    losses at the shares p that belong to alpha. None where that is too much work.
    """
    width = problem.d + problem.fit_intercept
    free = np.delete(np.arange(problem.K), [] if reference is None else [reference])
    unknowns = len(free) * width
    if not nearer_is_cheap(problem):
        return None
    X = np.column_stack([_dense(problem), np.ones(problem.n)])[:, :width]
    own = problem.label, np.arange(problem.n)
    p = np.maximum(-alpha / cost, 0.0)
    p[own] = 0.0
    p[own] = 1.0 - p.sum(axis=0)
    H = second_derivatives(X, p, cost)[np.ix_(free, free)]
    H = H.transpose(0, 2, 1, 3).reshape(unknowns, unknowns)
    ridge = np.tile(np.arange(width) < problem.d, len(free)).astype(np.float64)
    aim = (np.column_stack([W, np.zeros(problem.K)]) - V)[free][:, :width]
    diagonal = H.diagonal() + ridge
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    A = (H + np.diag(ridge)) * scale[:, None] * scale
    if not (np.isfinite(A).all() and np.isfinite(aim).all()):
        return None
    U = np.zeros((problem.K, width))
    found = np.linalg.lstsq(A, aim.ravel() * scale, rcond=1e-14)[0]
    U[free] = (found * scale).reshape(len(free), width)
    F = U @ X.T
    return np.asarray(alpha + cost * p * (F - (p * F).sum(axis=0)))


def _dense(problem: Problem) -> Array:
    return np.asarray(problem.matrix.toarray() if problem.sparse else problem.matrix, np.float64)
