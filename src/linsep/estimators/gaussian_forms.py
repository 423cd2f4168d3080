"""Gaussian densities as functions: their logarithms, their quadratic and their linear form."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linsep.certify.gaussian import Whitener, whitener
from linsep.risk.linear_rules import LogisticRule, gaussian_weights, rule_of_scores

__all__ = ["Densities", "Quadratic"]

Array = NDArray[np.float64]
_CHUNK = 1 << 16  # elements looked at together: they stay in the cache
_EQUAL = 1e-10  # covariances that differ by less, in their own units, are the same
_LOG_2PI = float(np.log(2 * np.pi))


class Quadratic(NamedTuple):
    """ln p(k) p(x | k) = x'A[k] x + b[k].x + c[k]."""

    A: Array
    """(K, d, d)."""
    b: Array
    """(K, d)."""
    c: Array
    """(K,)."""


class Densities:
    """The densities of all classes, without the columns that take no part."""

    def __init__(
        self,
        means: Array,
        covariance: Array,
        shared: bool,
        ignored: NDArray[np.intp],
        priors: Array,
    ) -> None:
        self.K, self.d = means.shape
        self.used = np.ones(self.d, dtype=bool)
        self.used[ignored] = False
        self.shared, self.priors = shared, priors
        self.diagonal = covariance.ndim == (1 if shared else 2)
        self.means = means[:, self.used]
        parts = [covariance] if shared else list(covariance)
        keep = np.ix_(self.used, self.used)
        self.parts = [C[self.used] if self.diagonal else C[keep] for C in parts]

    @cached_property
    def factors(self) -> list[Whitener]:
        """One for each class."""
        made = [whitener(C) for C in self.parts]
        return made * self.K if self.shared else made

    def log_density(self, X: Any) -> Array:
        """ln p(x | k), shape (n, K), in pieces."""
        if self.diagonal and hasattr(X, "indptr"):
            return self._of_sparse_rows(X)
        n = X.shape[0]
        out = np.empty((n, self.K))
        step = max(1, _CHUNK // max(1, self.d))
        for at in range(0, n, step):
            block = X[at : at + step]
            block = np.asarray(block.toarray() if hasattr(block, "toarray") else block, np.float64)
            block = block[:, self.used]
            for k, factor in enumerate(self.factors):
                with np.errstate(over="ignore"):
                    squares = np.square(factor.apply(block - self.means[k])).sum(axis=1)
                out[at : at + step, k] = -0.5 * (squares + factor.log_det)
        # a row so far out that all squares overflow is -inf for all: no class is preferred
        return out - 0.5 * _LOG_2PI * int(self.used.sum())

    def _of_sparse_rows(self, X: Any) -> Array:
        """The same for independent features, from the stored entries alone.

        sum_j (x_j - m_j)^2 / v_j = sum_j m_j^2 / v_j + sum over x_j != 0 of
        x_j (x_j - 2 m_j) / v_j
        """
        out = np.empty((X.shape[0], self.K))
        mean, precision = np.zeros(self.d), np.zeros(self.d)
        entries = X.data.astype(np.float64)
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        for k, factor in enumerate(self.factors):
            mean[self.used], precision[self.used] = self.means[k], factor.T**2
            at_zero = float(np.sum(mean**2 * precision))
            with np.errstate(over="ignore", invalid="ignore"):
                part = entries * (entries - 2 * mean[X.indices]) * precision[X.indices]
            squares = np.bincount(row, part, minlength=X.shape[0]) + at_zero
            out[:, k] = -0.5 * (np.maximum(squares, 0.0) + factor.log_det)
        return out - 0.5 * _LOG_2PI * int(self.used.sum())

    def linear_rule(self, priors: Array, classes: NDArray[Any]) -> LogisticRule | None:
        """Weights of the log odds, or None where these are quadratic in x."""
        if not self.used.any():
            flat = np.zeros((self.K, self.d))
            return rule_of_scores(flat, np.log(priors), classes)
        if not (self.shared or self._equal()):
            return None
        rule = gaussian_weights(self.means, sum(self.parts) / len(self.parts), priors, classes)
        coef = np.zeros((len(rule.coef_), self.d))
        coef[:, self.used] = rule.coef_
        return LogisticRule(coef, rule.intercept_, classes)

    def _equal(self) -> bool:
        """Whether the covariances of all classes are the same, up to rounding."""
        one = self.factors[0]
        unit = np.ones(len(one.T)) if self.diagonal else np.eye(len(one.T))
        return all(bool((np.abs(one.of_matrix(C) - unit) <= _EQUAL).all()) for C in self.parts[1:])

    def quadratic(self) -> Quadratic:
        """Coefficients of ln p(k) p(x | k)."""
        A, b = np.zeros((self.K, self.d, self.d)), np.zeros((self.K, self.d))
        c = np.log(self.priors) - 0.5 * _LOG_2PI * int(self.used.sum())
        keep = np.ix_(self.used, self.used)
        for k, factor in enumerate(self.factors):
            precision = np.diag(factor.T**2) if self.diagonal else factor.T.T @ factor.T
            A[k][keep] = -0.5 * precision
            b[k, self.used] = precision @ self.means[k]
            squares = np.square(factor.apply(self.means[k][None, :])).sum()
            c[k] -= 0.5 * (float(squares) + factor.log_det)
        return Quadratic(A, b, c)
