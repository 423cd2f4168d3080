"""Whether Gaussian parameters are the most likely ones, recomputed from the data.

Objective    -sum_i s_i ln N(x_i; mu_k, C_k) + sum_k n_k tr(C_k^-1 R) / 2      k = class of row i
             s_i row weights, n_k their sum in class k, R = diag(ridge), zero if not asked for
With S(mu)   the second moments of class k about mu, and m the mean of x - mu, it is
             sum_k n_k (ln|C_k| + tr C_k^-1 (S_k(mu_k) + R) + d ln 2 pi) / 2
Bound        its minimum over all mu and C of the same structure, at the means and at
             C_k = S_k + R: sum_k n_k (ln|S_k(mu_k) - m m' + R| + d + d ln 2 pi) / 2;
             one C for all classes is the weighted mean of these, a diagonal one its diagonal
So the gap is known from one pass over the rows, whoever estimated the parameters. All errors of
rounding are bounded (see the second half): the two bounds hold for real arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.core.schema import facts
from linsep.numerics.rounding import U
from linsep.proofs.certificate import Certificate
from linsep.rows.moments import Moments

Array = NDArray[np.float64]
_CHUNK = 1 << 18  # entries that are looked at together
_LOG_2PI = float(np.log(2 * np.pi))
_CLOSE = 3e-6  # gap, in nats for an entry of a row of weight 1, that counts as none


@dataclass(frozen=True)
class GaussianCertificate:
    """Facts about a Gaussian classifier, recomputed from its parameters and the data."""

    log_likelihood: float
    """sum of s_i ln p(x_i | y_i) at the parameters."""
    objective: float
    """Minus the log-likelihood, plus the term of the ridge where there is one; rounded up."""
    lower_bound: float
    """No parameters of this structure have a smaller objective; rounded down."""
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
    def functional_margin(self) -> float:
        """Smallest y f(x) of the plane; NaN for a rule that is not linear."""
        return float("nan") if self.plane is None else self.plane.functional_margin

    @property
    def margin_aug(self) -> float:
        """Margin of the plane in the augmented space; NaN for a rule that is not linear."""
        return float("nan") if self.plane is None else self.plane.margin_aug

    @property
    def width(self) -> float:
        """Twice the margin of a plane that separates; NaN for a rule that is not linear."""
        return float("nan") if self.plane is None else self.plane.width

    @property
    def margin_low(self) -> float:
        """Lower bound of the best margin of any plane."""
        return 0.0 if self.plane is None else self.plane.margin_low

    @property
    def margin_high(self) -> float:
        """Upper bound of the best margin: not looked for here."""
        return float("inf")

    def settle(self, columns: int = 1) -> Status:
        """The status that the facts support, for densities of so many columns."""
        close = self.relative_gap <= _CLOSE * max(1, columns)
        return Status.CERTIFIED if close else Status.STALLED

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
        return cls(**facts(cls)(data))


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
    every = [moments_of(problem, k, means[k], products=not diagonal) for k in range(problem.K)]
    found = judge_moments(every, covariance, shared=shared, ridge=ridge, used=used)
    same = np.array_equal(*column_ends(problem, ~used))
    return found if same else replace(found, objective=np.inf)


def judge_moments(
    every: list[Moments],
    covariance: Array,
    *,
    shared: bool,
    ridge: Array,
    used: NDArray[np.bool_],
) -> GaussianCertificate:
    """The same from the moments of every class about its mean."""
    diagonal = covariance.ndim == (1 if shared else 2)
    d = int(used.sum())
    cut: Any = used if diagonal else np.ix_(used, used)
    covariances = [C[cut] for C in ([covariance] if shared else covariance)]
    factors = [whitener(C) for C in covariances]
    weights, found, best, gradient = [], [], [], 0.0
    for k, moments in enumerate(every):
        first, second = moments.first[used], moments.second[cut]
        drift = first**2 if diagonal else np.outer(first, first)
        off, size = moments.terms * U, moments.size[used]
        weights.append(moments.weight)
        found.append(Scatter(second, size, off))
        best.append(Scatter(second - drift, size, 4 * off))
        shift = factors[0 if shared else k].apply(first[None, :])
        gradient = max(gradient, float(np.abs(shift).max(initial=0.0)))
    share = np.array(weights)
    if shared:
        found, best = [_mean(share, found)], [_mean(share, best)]
        share = np.array([share.sum()])
    plain, objective, bound = 0.0, 0.0, 0.0
    constant = d * _LOG_2PI
    for weight, factor, C, S, B in zip(share.tolist(), factors, covariances, found, best):
        scatter, extra = factor.of_matrix(S.matrix), S.plus(ridge[used])
        plain += weight / 2 * (factor.log_det + _trace(scatter) + constant)
        objective += objective_above(weight, factor, C, extra)
        low = log_det_below(B.plus(ridge[used]), factor) + d + constant
        bound += 0.5 * weight * low - 80 * U * weight * (abs(low) + d + constant)
        slope = factor.of_matrix(extra.matrix) - (1.0 if diagonal else np.eye(d))
        gradient = max(gradient, float(np.abs(slope).max(initial=0.0)) / 2)
    return GaussianCertificate(
        log_likelihood=-float(plain),
        objective=float(objective),
        lower_bound=float(min(bound, objective)),
        stationarity=gradient,
        total_weight=float(np.sum(weights)),
    )


def moments_of(problem: Problem, k: int, centre: Array, *, products: bool) -> Moments:
    """Weighted means of x - c over the rows of a class, and of its squares or products."""
    rows = np.flatnonzero(problem.label == k)
    X, s = problem.matrix[rows], problem.weight[rows]
    total = float(s.sum())
    if problem.sparse and not products:  # about 0, and moved: each sum is as large as size says
        wide = X.astype(np.float64)
        mean, squares = wide.T @ s / total, wide.multiply(wide).T @ s / total
        second = squares - 2 * centre * mean + centre * centre
        size = np.sqrt(np.maximum(second, 0.0)) + 2 * np.abs(centre)
        return Moments(total, mean - centre, second, len(rows) + 16, size * (1 + 1e-9))
    first, second = np.zeros(problem.d), np.zeros((problem.d,) * (2 if products else 1))
    step = max(_CHUNK // problem.d, problem.d if products else 1)
    for lo in range(0, len(rows), step):
        block, weight = X[lo : lo + step], s[lo : lo + step]
        block = (block.toarray() if problem.sparse else block).astype(np.float64) - centre
        first += weight @ block
        root = block * np.sqrt(weight)[:, None]
        second += root.T @ root if products else np.square(root).sum(axis=0)
    terms = min(step, len(rows)) + -(-len(rows) // step) + 16
    second /= total
    size = np.sqrt(np.diag(second) if products else second) * (1 + 1e-9)
    return Moments(total, first / total, second, terms, size)


def column_ends(problem: Problem, ignored: NDArray[np.bool_]) -> Array:
    """Least and largest value of columns that take no part, a row each."""
    if not ignored.any():
        return np.zeros((2, 0))
    cut = problem.matrix[:, np.flatnonzero(ignored)]
    ends = [getattr(cut, end)(axis=0) for end in ("min", "max")]
    return np.stack([x.toarray().ravel() if hasattr(x, "toarray") else x for x in ends])


def _mean(share: Array, parts: list[Scatter]) -> Scatter:
    """The weighted mean; a size is no less than that of the mean of the squares."""
    total = share.sum()
    matrix = sum(w * part.matrix for w, part in zip(share / total, parts))
    square = sum(w * part.size**2 for w, part in zip(share / total, parts))
    off = max(part.off for part in parts) + 160 * U
    return Scatter(np.asarray(matrix), np.sqrt(square) * (1 + 1e-9), off)


def _rows(count: int) -> str:
    return "1 row is" if count == 1 else f"{count} rows are"


def _trace(S: Array) -> float:
    return float(S.sum() if S.ndim == 1 else np.trace(S))


# -- Log determinants and traces of covariances with bounds of all rounding errors ----------------
#
# T is any triangular matrix that nearly whitens a covariance C: T C T' = 1 + E. Then
#
#     ln|C| = -2 ln|T| + ln|1 + E|    and    tr C^-1 S = tr (1 + E)^-1 T S T'
#
# hold exactly, E is computed with bounds of its own errors, and with e >= |E| (Frobenius), e < 1,
#
#     tr E - e^2 / (2 (1 - e))  <=  ln|1 + E|  <=  tr E,    tr (1 + E)^-1 M <= tr M / (1 - e).
#
# Second moments S come with errors of at most ``off`` z_u z_v in entry (u, v). A diagonal
# structure has vectors in the place of matrices.


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
        size = np.sqrt(self.size**2 + ridge) * (1 + 4 * U)
        return Scatter(self.matrix + R, size, self.off + 4 * U)


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
    if not np.allclose(C, C.T, rtol=0.0, atol=1e-12 * float(np.abs(C).max(initial=0.0))):
        return np.inf  # no covariance
    E, e, shift = _residue(factor, exact)
    M, lost = _whitened(factor, found)
    constant = d * float(np.log(2 * np.pi))
    trace = (_trace_bounds(M) + lost) * (1 + (d + 8) * U)
    if not e < 1:
        return np.inf
    log_det = -2 * _log_t(factor) + _trace_bounds(E) + shift
    sizes = 2 * _log_t_size(factor) + abs(log_det) + trace + constant
    value = log_det + trace / (1 - e) + constant + (d + 100) * U * sizes
    return float(0.5 * weight * value + 80 * U * weight * abs(value))


def log_det_below(found: Scatter, factor: Whitener) -> float:
    """A lower bound of ln|S| for the true second moments; -inf where there is none."""
    E, e, shift = _residue(factor, found)
    if not e < _NEAR:
        with np.errstate(all="ignore"):  # a variance of 0 has no bound
            try:
                factor = whitener(found.matrix)
            except np.linalg.LinAlgError:
                return float("-inf")
            E, e, shift = _residue(factor, found)
    if not e < 1:
        return float("-inf")
    low = -2 * _log_t(factor) + _trace_bounds(E) - shift - 0.5 * e * e / (1 - e)
    sizes = 2 * _log_t_size(factor) + abs(low) + len(factor.T)
    return float(low - (len(factor.T) + 100) * U * sizes)


def _residue(factor: Whitener, found: Scatter) -> tuple[Array, float, float]:
    """E = T S T' - 1, a bound of the length of the true E, and of the error of its trace."""
    M, off = _whitened(factor, found)
    E = M - 1.0 if M.ndim == 1 else M - np.eye(len(M))
    length = float(np.sqrt((E * E).sum()))
    rounding = len(M) * U * (1 + float(np.abs(M).max(initial=0.0)))
    return E, (length + off) * (1 + 1e-9), off + rounding


def _whitened(factor: Whitener, found: Scatter) -> tuple[Array, float]:
    """T S T', and how far all its entries together, or its trace, can be off.

    |T| |S| |T'| is at most r r' with r = |T| z, z at least the roots of the diagonal of S.
    """
    T = factor.T
    z = np.maximum(found.size, np.sqrt(_diagonal(found.matrix))) * (1 + 4 * U)
    r = np.abs(T) * z if T.ndim == 1 else np.abs(T) @ z
    off = (found.off + (2 * len(T) + 8) * U) * float(r @ r) * (1 + 1e-9)
    return factor.of_matrix(found.matrix), off


def _diagonal(S: Array) -> Array:
    return np.maximum(S if S.ndim == 1 else np.diag(S), 0.0)


def _trace_bounds(S: Array) -> float:
    return float(S.sum() if S.ndim == 1 else np.trace(S))


def _log_t(factor: Whitener) -> float:
    T = factor.T
    return float(np.log(T if T.ndim == 1 else np.diag(T)).sum())


def _log_t_size(factor: Whitener) -> float:
    T = factor.T
    return float(np.abs(np.log(T if T.ndim == 1 else np.diag(T))).sum())
