"""Newton systems of softmax regression, whole where they are small, nearly so where not.

blocks     all second derivatives by the weights and intercepts of all classes, by Cholesky
product    A x G: classes times columns, A the average of diag(p) - p p' over the rows and G the
           weighted products of the columns, about their weighted mean since intercepts follow;
           two small eigenvalue problems, that of the columns relative to G + ridge: whatever
           their units, no column drowns in the rounding of a larger one
classes    the second derivatives by the weights of each class alone, once the rows in doubt
           are known; what couples the classes is left to the corrections
diagonal   for very many columns
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.lanes import run_all
from linsep.core.order import generator
from linsep.losses.softmax import Shares
from linsep.solvers.softmax_pass import SoftmaxRows

__all__ = [
    "Blocks",
    "factor_blocks",
    "factor_classes",
    "factor_diagonal",
    "factor_product",
    "kind_of",
    "room_for_classes",
    "rows_for_blocks",
    "solve_classes",
    "solve_product",
]

Array = NDArray[np.float64]

_SMALL = 1500  # weights up to which all second derivatives are computed
_COLUMNS = 2500  # columns up to which their products are
_WORK = 4.0e9  # multiplications of one matrix of second derivatives, at most


def kind_of(n: int, d: int, K: int) -> str:
    """Which of the three: a function of the shape alone."""
    if K * (d + 1) <= _SMALL:
        return "blocks"
    return "product" if d <= _COLUMNS else "diagonal"


def rows_for_blocks(n: int, d: int, K: int) -> int:
    """How many rows the matrix of second derivatives may be made of."""
    each = 0.5 * K * (K - 1) * (d + 1) ** 2
    return int(min(n, max(_WORK / each, 2 * K * (d + 1))))


# -- blocks -----------------------------------------------------------------------------------


def factor_blocks(
    rows: SoftmaxRows,
    now: Shares,
    ridge: float,
    offset: bool,
    reference: int | None,
    seed: int,
) -> tuple[Array, Array]:
    """Cholesky factor of the scaled matrix and the scales, 0 for what does not move."""
    K, D = rows.K, rows.d + 1
    p = rows.probabilities(now)
    most = rows_for_blocks(rows.n, rows.d, K)
    index, scale = None, rows.cost
    if most < rows.n:
        h = rows.cost * (p * (1.0 - p)).sum(axis=0)
        index, scale = _picked(h * (0.5 + 0.5 * rows.influence), rows.cost, most, seed)
    H = rows.second_derivatives(p, index, scale)
    inner = np.arange(D - 1)
    for k in range(K):
        H[k, k, inner, inner] += ridge
    if reference is None:  # what is common to all classes changes no probability and stays 0
        each = np.arange(D)
        H[:, :, each, each] += np.einsum("kkjj->j", H) / K**2
    H = H.transpose(0, 2, 1, 3).reshape(K * D, K * D)
    moving = np.ones((K, D), dtype=bool)
    moving[:, -1] = offset
    if reference is not None:
        moving[reference] = False
    # without a penalty columns that depend on others leave directions with no curvature at all
    return _cholesky(H, moving.ravel(), 1e-15 * K * D if ridge else 1e-11)


def _cholesky(H: Array, moving: NDArray[np.bool_], jitter: float) -> tuple[Array, Array]:
    diagonal = H.diagonal().copy()
    moving = moving & (diagonal > 0) & np.isfinite(diagonal)
    scale = np.where(moving, 1.0 / np.sqrt(np.where(moving, diagonal, 1.0)), 0.0)
    H *= scale[:, None]
    H *= scale
    while True:
        np.fill_diagonal(H, 1.0 + jitter)
        try:
            factor = scipy.linalg.cholesky(H, lower=True, check_finite=False)
            return np.asarray(factor), scale
        except scipy.linalg.LinAlgError:
            jitter *= 10
            if jitter > 1e3:
                return np.eye(len(H)), scale


class Blocks:
    """Solves with a factor of all second derivatives."""

    def __init__(self, factor: Array, scale: Array, K: int) -> None:
        self.factor, self.scale, self.K = factor, scale, K

    def solve(self, G: Array) -> Array:
        """H^-1 (G, g) for derivatives G of shape (K, d) or, with intercepts, (K, d + 1)."""
        K, D = self.K, len(self.scale) // self.K
        right = np.zeros((K, D))
        right[:, : G.shape[1]] = G
        flat = self.scale * right.ravel()
        flat = scipy.linalg.cho_solve((self.factor, True), flat, check_finite=False)
        out: Array = (self.scale * flat).reshape(K, D)
        return out


# -- product ----------------------------------------------------------------------------------


def factor_product(
    rows: SoftmaxRows, now: Shares, ridge: float, offset: bool, reference: int | None, seed: int
) -> tuple[Array, Array, Array, Array]:
    """Vectors U with U'(G + R)U = 1, U'R U = diag(kept), and those of the classes.

    R is the ridge, or what rounding leaves of G where that is more.
    """
    p, K = rows.probabilities(now), rows.K
    cost = rows.cost.astype(p.dtype, copy=False)
    h = rows.cost * (p * (1.0 - p)).sum(axis=0) / K
    doubt = h * (0.5 + 0.5 * rows.influence)
    index, scale = _picked(doubt, h, max(4096, 6 * rows.d), seed)
    weight = scale[index]
    G, sums = rows.weighted_gram(index, weight)
    if offset and weight.sum() > 0:
        G -= np.outer(sums, sums / weight.sum())
    A = -((p * cost) @ p.T).astype(np.float64)
    np.fill_diagonal(A, 0.0)
    np.fill_diagonal(A, -A.sum(axis=1))
    if reference is not None:
        A[reference] = A[:, reference] = 0.0
    A *= K / max(float(np.trace(A)), 1e-300)
    small, V = scipy.linalg.eigh(A, check_finite=False)
    kept, U = _against_ridge(G, ridge, _blur(rows))
    return U, kept, V, np.maximum(small, 1e-3)


def _blur(rows: SoftmaxRows) -> float:
    """What rounding leaves of the products of a column with itself."""
    return 1e-7 if rows.dtype == np.float32 else 1e-13


def _against_ridge(G: Array, ridge: float, blur: float) -> tuple[Array, Array]:
    while True:
        R = np.maximum(ridge, np.maximum(blur * G.diagonal(), 1e-300))
        scale = 1.0 / np.sqrt(G.diagonal() + R)
        scaled = G * scale[:, None] * scale
        np.fill_diagonal(scaled, 1.0)
        try:
            kept, U = scipy.linalg.eigh(np.diag(R * scale * scale), scaled, check_finite=False)
            return np.clip(kept, 0.0, 1.0), scale[:, None] * U
        except scipy.linalg.LinAlgError:  # columns that depend on each other
            blur *= 10


def solve_product(parts: tuple[Array, Array, Array, Array], G: Array) -> Array:
    """(A x G + ridge)^-1 applied to derivatives of shape (K, d)."""
    U, kept, V, small = parts
    inner = (V.T @ G).astype(U.dtype) @ U
    inner /= np.outer(small, 1.0 - kept) + kept
    out: Array = V @ (inner @ U.T)
    return out


# -- diagonal ---------------------------------------------------------------------------------


def factor_diagonal(rows: SoftmaxRows, now: Shares, ridge: float) -> Array:
    """Second derivatives by single weights, averaged over the classes, shape (d,)."""
    p = rows.probabilities(now)
    h = rows.cost * (p * (1.0 - p)).sum(axis=0) / rows.K
    if rows.lanes.sparse:
        M = rows.matrix
        each = np.repeat(h, np.diff(M.indptr)) * np.square(M.data, dtype=np.float64)
        sums = np.bincount(M.indices, weights=each, minlength=rows.d)
    else:
        sums = np.zeros(rows.d)
        for lo in range(0, rows.n, rows.step):
            X: Any = rows.matrix[lo : lo + rows.step].astype(np.float64, copy=False)
            sums += h[lo : lo + rows.step] @ (X * X)
    total = sums + ridge
    return np.asarray(np.where(total > 0, total, 1.0))


def _picked(
    importance: Array, value: Array, size: int, seed: int
) -> tuple[NDArray[np.int64], Array]:
    """About ``size`` rows, important ones more often, and values that keep sums unbiased."""
    total = float(importance.sum())
    if not total > 0 or len(importance) <= size:
        return np.arange(len(importance)), value
    chance = np.minimum(1.0, size * (0.9 * importance / total + 0.1 / len(importance)))
    index = np.flatnonzero(generator(seed, 1).random(len(importance)) < chance)
    return index, value / chance


# -- classes ----------------------------------------------------------------------------------


def room_for_classes(n: int, d: int, K: int) -> bool:
    """Whether a matrix for each class is small beside the rows."""
    return 2 * K * d <= n


def factor_classes(
    rows: SoftmaxRows, now: Shares, ridge: float, offset: bool, seed: int
) -> NDArray[Any]:
    """For each class the Cholesky factor of its own second derivatives, shape (K, d, d).

    Each class has a sample of its own, of the rows where it is in doubt. Factors are those of the
    matrix scaled to a unit diagonal, their rows then scaled back: L L' is the matrix itself.
    """
    p, K, d = rows.probabilities(now), rows.K, rows.d
    out = np.empty((K, d, d), rows.dtype)

    def one(k: int) -> None:
        h = rows.cost * (p[k] * (1.0 - p[k]))
        doubt = h * (0.5 + 0.5 * rows.influence)
        index, scale = _picked(doubt, h, max(4096, 5 * d), seed + k)
        weight = scale[index]
        G, sums = rows.weighted_gram(index, weight)
        if offset and weight.sum() > 0:
            G -= np.outer(sums, sums / weight.sum())
        G.flat[:: d + 1] = np.maximum(G.diagonal(), 1e-300) + ridge
        size = np.sqrt(G.diagonal())
        G /= size[:, None]
        G /= size
        jitter = 10 * _blur(rows)
        while True:
            np.fill_diagonal(G, 1.0 + jitter)
            try:
                L = scipy.linalg.cholesky(G.astype(rows.dtype), lower=True, check_finite=False)
                out[k] = size[:, None] * L
                return
            except scipy.linalg.LinAlgError:
                jitter *= 10

    run_all([partial(one, k) for k in range(K)], rows.threads)
    return out


def solve_classes(factors: NDArray[Any], G: Array) -> Array:
    """H_k^-1 g_k for each class."""
    out = np.empty_like(G)
    for k, factor in enumerate(factors):
        out[k] = scipy.linalg.cho_solve(
            (factor, True), G[k].astype(factor.dtype), check_finite=False
        )
    return out
