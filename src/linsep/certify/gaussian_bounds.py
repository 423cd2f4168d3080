"""Log determinants and traces of covariances with bounds of all rounding errors.

T is any triangular matrix that nearly whitens a covariance C: T C T' = 1 + E. Then

    ln|C| = -2 ln|T| + ln|1 + E|    and    tr C^-1 S = tr (1 + E)^-1 T S T'

hold exactly, E is computed with bounds of its own errors, and with e >= |E| (Frobenius), e < 1,

    tr E - e^2 / (2 (1 - e))  <=  ln|1 + E|  <=  tr E,    tr (1 + E)^-1 M <= tr M / (1 - e).

Second moments S come with errors of at most ``off`` z_u z_v in entry (u, v). A diagonal structure
has vectors in the place of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scatter", "Whitener", "log_det_below", "objective_above", "whitener"]

Array = NDArray[np.float64]

_U = 2.0**-53
_NEAR = 0.5  # |E| beyond which a matrix is factored by itself


@dataclass(frozen=True, eq=False)
class Whitener:
    """T with T C T' = 1, nearly, and the log determinant of C."""

    T: Array
    """Lower triangular (d, d), or (d,) for a diagonal C."""
    log_det: float

    def apply(self, residual: Array) -> Array:
        """Rows x - mu in coordinates in which C is the identity."""
        return residual * self.T if self.T.ndim == 1 else residual @ self.T.T

    def of_matrix(self, S: Array) -> Array:
        """T S T', or the vector of it for a diagonal structure."""
        return S * self.T**2 if self.T.ndim == 1 else self.T @ S @ self.T.T


@dataclass(frozen=True, eq=False)
class Scatter:
    """Second moments, (d, d) or (d,), each off by no more than ``off`` times two sizes."""

    matrix: Array
    size: Array
    off: float

    def plus(self, ridge: Array) -> Scatter:
        """With a diagonal added; sums are rounded once more."""
        R = ridge if self.matrix.ndim == 1 else np.diag(ridge)
        size = np.sqrt(self.size**2 + ridge) * (1 + 4 * _U)
        return Scatter(self.matrix + R, size, self.off + 4 * _U)


def whitener(C: Array) -> Whitener:
    """Factor a covariance in units in which its variances are 1, so that scales do not matter."""
    if C.ndim == 1:
        return Whitener(1.0 / np.sqrt(C), float(np.log(C).sum()))
    if not len(C):
        return Whitener(C, 0.0)
    scale = np.sqrt(np.diag(C))
    L = np.linalg.cholesky(C / scale / scale[:, None])
    inverse = np.tril(np.linalg.solve(L, np.eye(len(L))))
    log_det = 2.0 * float(np.log(np.diag(L)).sum() + np.log(scale).sum())
    return Whitener(inverse / scale, log_det)


def objective_above(weight: float, factor: Whitener, C: Array, found: Scatter) -> float:
    """weight / 2 (ln|C| + tr C^-1 S + d ln 2 pi), rounded up; inf where T is no use."""
    d = len(factor.T)
    exact = Scatter(C, np.sqrt(C if C.ndim == 1 else np.diag(C)), 0.0)
    E, e, shift = _residue(factor, exact)
    M, lost = _whitened(factor, found)
    constant = d * float(np.log(2 * np.pi))
    trace = (_trace(M) + lost) * (1 + (d + 8) * _U)
    if not e < 1:
        return np.inf
    log_det = -2 * _log_t(factor) + _trace(E) + shift
    sizes = 2 * _log_t_size(factor) + abs(log_det) + trace + constant
    value = log_det + trace / (1 - e) + constant + (d + 100) * _U * sizes
    return float(0.5 * weight * value + 80 * _U * weight * abs(value))


def log_det_below(found: Scatter, factor: Whitener) -> float:
    """A lower bound of ln|S| for the true second moments; -inf where there is none."""
    E, e, shift = _residue(factor, found)
    if not e < _NEAR:
        try:
            with np.errstate(all="ignore"):
                factor = whitener(found.matrix)
        except np.linalg.LinAlgError:
            return float("-inf")
        E, e, shift = _residue(factor, found)
    if not e < 1:
        return float("-inf")
    low = -2 * _log_t(factor) + _trace(E) - shift - 0.5 * e * e / (1 - e)
    sizes = 2 * _log_t_size(factor) + abs(low) + len(factor.T)
    return float(low - (len(factor.T) + 100) * _U * sizes)


def _residue(factor: Whitener, found: Scatter) -> tuple[Array, float, float]:
    """E = T S T' - 1, a bound of the length of the true E, and of the error of its trace."""
    M, off = _whitened(factor, found)
    E = M - 1.0 if M.ndim == 1 else M - np.eye(len(M))
    length = float(np.sqrt((E * E).sum()))
    rounding = len(M) * _U * (1 + float(np.abs(M).max(initial=0.0)))
    return E, (length + off) * (1 + 1e-9), off + rounding


def _whitened(factor: Whitener, found: Scatter) -> tuple[Array, float]:
    """T S T', and how far all its entries together, or its trace, can be off.

    |T| |S| |T'| is at most r r' with r = |T| z, z at least the roots of the diagonal of S.
    """
    T = factor.T
    z = np.maximum(found.size, np.sqrt(_diagonal(found.matrix))) * (1 + 4 * _U)
    r = np.abs(T) * z if T.ndim == 1 else np.abs(T) @ z
    off = (found.off + (2 * len(T) + 8) * _U) * float(r @ r) * (1 + 1e-9)
    return factor.of_matrix(found.matrix), off


def _diagonal(S: Array) -> Array:
    return np.maximum(S if S.ndim == 1 else np.diag(S), 0.0)


def _trace(S: Array) -> float:
    return float(S.sum() if S.ndim == 1 else np.trace(S))


def _log_t(factor: Whitener) -> float:
    T = factor.T
    return float(np.log(T if T.ndim == 1 else np.diag(T)).sum())


def _log_t_size(factor: Whitener) -> float:
    T = factor.T
    return float(np.abs(np.log(T if T.ndim == 1 else np.diag(T))).sum())
