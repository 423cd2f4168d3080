"""Whether Gaussian parameters are the most likely ones, recomputed from the data.

Objective    -sum_i s_i ln N(x_i; mu_k, C_k) + sum_k n_k tr(C_k^-1 R) / 2      k = class of row i
             s_i row weights, n_k their sum in class k, R = diag(ridge), zero if not asked for
With S(mu)   the second moments of class k about mu, and m the mean of x - mu, it is
             sum_k n_k (ln|C_k| + tr C_k^-1 (S_k(mu_k) + R) + d ln 2 pi) / 2
Bound        its minimum over all mu and C of the same structure, at the means and at
             C_k = S_k + R: sum_k n_k (ln|S_k(mu_k) - m m' + R| + d + d ln 2 pi) / 2;
             one C for all classes is the weighted mean of these, a diagonal one its diagonal
So the gap is known from one pass over the rows, whoever estimated the parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.certify.certificate import Certificate
from linsep.core.moments import moments_about
from linsep.core.problem import Problem
from linsep.core.status import Status

__all__ = ["GaussianCertificate", "Whitener", "judge_gaussian", "whitener"]

Array = NDArray[np.float64]
_ULP = 2.0**-53
_LOG_2PI = float(np.log(2 * np.pi))
_CLOSE = 1e-6  # gap, in nats for a row of weight 1, that counts as none


@dataclass(frozen=True)
class GaussianCertificate:
    """Facts about a Gaussian classifier, recomputed from its parameters and the data."""

    log_likelihood: float
    """sum of s_i ln p(x_i | y_i) at the parameters."""
    objective: float
    """Minus the log-likelihood, plus the term of the ridge where there is one."""
    lower_bound: float
    """No parameters of this structure have a smaller objective."""
    stationarity: float
    """Largest entry of the gradient for a row, in units in which C_k is the identity."""
    total_weight: float
    errors: int = 0
    """Rows whose decision is not their class; a tie is an error, a rejected row is not one."""
    rejected: int = 0
    """Rows for which a reject option was chosen."""
    wrong_rows: tuple[int, ...] = ()
    """Numbers of the errors, at most the first thousand."""
    plane: Certificate | None = None
    """Linear rules: the facts about their plane."""

    @property
    def gap(self) -> float:
        """How much more likely other parameters could be at most, in nats."""
        return self.objective - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """The gap for a row of weight 1."""
        return self.gap / self.total_weight

    @property
    def separable(self) -> bool | None:
        """True if the rule is a plane that separates the classes; None where this is open."""
        return None if self.plane is None else self.plane.separable

    @property
    def margin(self) -> float:
        """Margin of the plane; NaN for a rule that is not linear."""
        return float("nan") if self.plane is None else self.plane.margin

    @property
    def margin_low(self) -> float:
        """Lower bound of the best margin of any plane."""
        return 0.0 if self.plane is None else self.plane.margin_low

    @property
    def margin_high(self) -> float:
        """Upper bound of the best margin: not looked for here."""
        return float("inf")

    def settle(self) -> Status:
        """The status that the facts support."""
        return Status.CERTIFIED if self.relative_gap <= _CLOSE else Status.STALLED

    def with_errors(self, wrong: NDArray[np.intp], rejected: int) -> Self:
        """The same with the rows that are decided wrongly."""
        return replace(
            self, errors=len(wrong), rejected=rejected, wrong_rows=tuple(wrong[:1000].tolist())
        )

    def __str__(self) -> str:
        lines = [
            f"log-likelihood {self.log_likelihood:.6g}; no parameters of this structure are "
            f"better by more than {max(self.gap, 0.0):.2g} nats",
            f"{_rows(self.errors)} not given their own class",
        ]
        if self.rejected:
            lines.append(f"{_rows(self.rejected)} rejected")
        if self.separable:
            lines.append(f"the plane separates the classes with margin {self.margin:.6g}")
        return "; ".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All facts as plain numbers, lists and strings."""
        out = {field.name: getattr(self, field.name) for field in fields(self)}
        out["wrong_rows"] = list(self.wrong_rows)
        out["plane"] = None if self.plane is None else self.plane.to_dict()
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The certificate behind ``to_dict``."""
        known = {field.name: data[field.name] for field in fields(cls)}
        known["wrong_rows"] = tuple(known["wrong_rows"])
        if known["plane"] is not None:
            known["plane"] = Certificate.from_dict(known["plane"])
        return cls(**known)


@dataclass(frozen=True, eq=False)
class Whitener:
    """T with T C T' = 1, the log determinant of C, and how ill-conditioned it is."""

    T: Array
    """Lower triangular (d, d), or (d,) for a diagonal C."""
    log_det: float
    spread: float
    """Sum of the squares of T in units in which the variances are 1."""

    def apply(self, residual: Array) -> Array:
        """Rows x - mu in coordinates in which C is the identity."""
        return residual * self.T if self.T.ndim == 1 else residual @ self.T.T

    def of_matrix(self, S: Array) -> Array:
        """T S T', or the vector of it for a diagonal structure."""
        return S * self.T**2 if self.T.ndim == 1 else self.T @ S @ self.T.T


def whitener(C: Array) -> Whitener:
    """Factor a covariance in units in which its variances are 1, so that scales do not matter."""
    if C.ndim == 1:
        return Whitener(1.0 / np.sqrt(C), float(np.log(C).sum()), float(len(C)))
    if not len(C):
        return Whitener(C, 0.0, 0.0)
    scale = np.sqrt(np.diag(C))
    L = np.linalg.cholesky(C / scale / scale[:, None])
    inverse = np.linalg.solve(L, np.eye(len(L)))
    inverse = np.tril(inverse)
    log_det = 2.0 * float(np.log(np.diag(L)).sum() + np.log(scale).sum())
    return Whitener(inverse / scale, log_det, float((inverse**2).sum()))


def judge_gaussian(
    problem: Problem,
    means: Array,
    covariance: Array,
    *,
    shared: bool,
    ridge: Array,
    used: NDArray[np.bool_],
) -> GaussianCertificate:
    """Recompute the likelihood of the parameters and the best one of their structure."""
    diagonal = covariance.ndim == (1 if shared else 2)
    d, keep = int(used.sum()), np.ix_(used, used)
    weights, found, best, gradient = [], [], [], 0.0
    factors = [whitener(C[used] if diagonal else C[keep]) for C in _each(covariance, shared)]
    for k in range(problem.K):
        moments = moments_about(problem, k, means[k], products=not diagonal)
        first = moments.first[used]
        if diagonal:
            second, drift = moments.second[used], first**2
        else:
            second, drift = moments.second[keep], np.outer(first, first)
        weights.append(moments.weight)
        found.append(second)
        best.append(second - drift)
        shift = factors[0 if shared else k].apply(first[None, :])
        gradient = max(gradient, float(np.abs(shift).max(initial=0.0)))
    share = np.array(weights)
    if shared:
        total = share.sum()
        found = [sum(w * S for w, S in zip(share / total, found))]
        best = [sum(w * S for w, S in zip(share / total, best))]
        share = np.array([total])
    R = ridge[used] if diagonal else np.diag(ridge[used])
    plain, objective, bound = 0.0, 0.0, 0.0
    for weight, factor, S, B in zip(share, factors, found, best):
        scatter, extra = factor.of_matrix(S), factor.of_matrix(R)
        constant = d * _LOG_2PI
        plain += weight / 2 * (factor.log_det + _trace(scatter) + constant)
        objective += weight / 2 * (factor.log_det + _trace(scatter + extra) + constant)
        slack = 8 * _ULP * (d + 1) * (factor.spread + abs(factor.log_det) + abs(constant) + d)
        bound += weight / 2 * (_log_det(B + R) + d + constant - slack)
        off = scatter + extra - (1.0 if diagonal else np.eye(d))
        gradient = max(gradient, float(np.abs(off).max(initial=0.0)) / 2)
    return GaussianCertificate(
        log_likelihood=-float(plain),
        objective=float(objective),
        lower_bound=float(min(bound, objective)),
        stationarity=gradient,
        total_weight=float(np.sum(weights)),
    )


def _rows(count: int) -> str:
    return "1 row is" if count == 1 else f"{count} rows are"


def _each(covariance: Array, shared: bool) -> list[Array]:
    return [covariance] if shared else list(covariance)


def _trace(S: Array) -> float:
    return float(S.sum() if S.ndim == 1 else np.trace(S))


def _log_det(C: Array) -> float:
    """ln|C|, -inf for a C that is not positive definite."""
    try:
        with np.errstate(all="ignore"):
            value = whitener(C).log_det
    except np.linalg.LinAlgError:
        return float("-inf")
    return value if np.isfinite(value) else float("-inf")
