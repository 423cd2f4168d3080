"""Products by rows and Newton systems for the machine of Crammer and Singer."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.solvers.machine_state import MachineState

__all__ = ["combined", "direction", "scores"]

Array = NDArray[np.float64]


def direction(
    problem: Problem, C: float, state: MachineState, gradient: Array
) -> tuple[Array, float]:
    """Newton direction and the decrease it predicts, by Cholesky on scaled columns."""
    K, width = gradient.shape
    H = _curvature(problem, C, state)
    keep = np.ones((K, width), dtype=bool)
    keep[:, -1] = problem.fit_intercept
    at = np.flatnonzero(keep.ravel())
    H = H[np.ix_(at, at)]
    g = gradient.ravel()[at]
    diagonal = H.diagonal().copy()
    while True:
        size = diagonal * (1.0 + state.kappa)
        scale = 1.0 / np.sqrt(np.maximum(size, 1e-12 * max(float(size.max()), 1e-300)))
        scaled = H * scale[:, None] * scale
        np.fill_diagonal(scaled, 1.0 + 1e-13)
        try:
            factor = scipy.linalg.cho_factor(scaled, overwrite_a=True, check_finite=False)
            break
        except scipy.linalg.LinAlgError:
            state.kappa = max(10 * state.kappa, 1e-12)
            if state.kappa > 1e6:
                return np.zeros_like(gradient), np.inf
    q = np.zeros(K * width)
    q[at] = -scale * scipy.linalg.cho_solve(factor, scale * g, check_finite=False)
    return q.reshape(K, width), -0.5 * float(g @ q[at])


def _curvature(problem: Problem, C: float, state: MachineState) -> Array:
    """The blocks H_kl, from the rows whose loss is curved."""
    K, width = state.W.shape
    active = state.shares > 0.0
    count = active.sum(axis=1)
    rows = np.flatnonzero(count > 1)
    X = _with_ones(problem, rows)
    active, count = active[rows], count[rows]
    bend = C * problem.weight[rows] * (0.5 / state.h)
    H = np.zeros((K, width, K, width))
    for k in range(K):
        for m in range(k, K):
            both = active[:, k] if k == m else active[:, k] & active[:, m]
            own = np.flatnonzero(both)
            if not own.size:
                continue
            factor = bend[own] * ((1.0 if k == m else 0.0) - 1.0 / count[own])
            B = X[own]
            block = (B * factor[:, None]).T @ B
            H[k, :, m, :] = block
            H[m, :, k, :] = block
        H[k, range(width - 1), k, range(width - 1)] += 1.0
    return H.reshape(K * width, K * width)


def scores(problem: Problem, W: Array) -> Array:
    """One column for each class."""
    return problem.product(np.ascontiguousarray(W[:, :-1].T)) + W[:, -1]


def combined(problem: Problem, alpha: Array) -> Array:
    """sum of alpha_ik x_i, one row a class."""
    return np.asarray((problem.matrix.T @ alpha).T, dtype=np.float64)


def _with_ones(problem: Problem, rows: NDArray[np.int64]) -> Array:
    """Some rows as a dense array, with the constant 1 as their last column."""
    block = problem.matrix[rows]
    block = block.toarray() if problem.sparse else block
    return np.column_stack([block.astype(np.float64), np.ones(len(rows))])
