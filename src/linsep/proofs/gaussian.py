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

The moments of parts add up, so of rows that are read part by part one pass proves it too, and the
parameters are all that it needs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.cluster import as_stream
from linsep.core.problem import Problem
from linsep.core.protocol import Status, Witness
from linsep.core.schema import facts
from linsep.errors import ProofError
from linsep.numerics.rounding import U
from linsep.proofs.again import Checkable
from linsep.proofs.certificate import Certificate, judge
from linsep.proofs.parts import Source, hold, in_rows, judged, parts_of, require_sources
from linsep.proofs.parts_planes import SideSums, in_places
from linsep.rows.moments import Moments
from linsep.rows.parts import PartsProblem

Array = NDArray[np.float64]
_CHUNK = 1 << 18  # entries that are looked at together
_LOG_2PI = float(np.log(2 * np.pi))
_CLOSE = 3e-6  # gap, in nats for an entry of a row of weight 1, that counts as none


@dataclass(frozen=True)
class GaussianCertificate(Checkable):
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
            f"{_rows(self.errors)} not given their own class"
            if self.errors
            else "every row is given its own class",
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


# -- of rows that are read part by part -------------------------------------------------------

_NAMED = 1000  # rows of a wrong decision that a certificate names
_AGREES = 1e-9  # nats for a row: how far bounds of another pass may be off by its own rounding
_SLOPE = 1e-6  # how far a slope for a row may be off


@dataclass(frozen=True, eq=False)
class Parameters:
    """Densities, priors, the losses of decisions, and the plane where the rule has one."""

    means: Array
    covariance: Array
    shared: bool
    ridge: Array
    used: NDArray[np.bool_]
    priors: Array
    loss: Array
    """(decisions, classes)."""
    plane: Array
    """Weights of a linear rule; none of a curved one."""

    @property
    def diagonal(self) -> bool:
        """Whether features are independent."""
        return self.covariance.ndim == (1 if self.shared else 2)

    def whiteners(self) -> list[Whitener]:
        """One for each class."""
        cut: Any = self.used if self.diagonal else np.ix_(self.used, self.used)
        parts = [self.covariance] if self.shared else list(self.covariance)
        made = [whitener(C[cut]) for C in parts]
        return made * len(self.means) if self.shared else made


@dataclass(frozen=True)
class DensitySums:
    """Sums over some rows: moments about the means, and decisions."""

    weight: Array
    first: Array
    second: Array
    squares: Array
    """At least the sums of the squares of x - mu."""
    terms: int
    blocks: int
    errors: int
    rejected: int
    wrong: tuple[int, ...]
    sides: SideSums | None
    ends: Array
    """Least and largest value of each column that takes no part."""

    def plus(self, other: Self) -> Self:
        """Both."""
        more: dict[str, Any] = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)
            if field.name not in ("terms", "sides", "ends")
        }
        more["ends"] = np.stack(
            [np.minimum(self.ends[0], other.ends[0]), np.maximum(self.ends[1], other.ends[1])]
        )
        sides = None
        if self.sides is not None and other.sides is not None:
            sides = self.sides.plus(other.sides)
        more["wrong"] = more["wrong"][:_NAMED]
        return replace(self, **more, terms=max(self.terms, other.terms), sides=sides)


def _sums(problem: Problem, *, at: Parameters) -> DensitySums:
    K, d = at.means.shape
    products = not at.diagonal
    weight, first = np.zeros(K), np.zeros((K, d))
    second, squares = np.zeros((K, d, d) if products else (K, d)), np.zeros((K, d))
    terms = 0
    for k in np.unique(problem.label).tolist():
        found = moments_of(problem, k, at.means[k], products=products)
        weight[k], terms = found.weight, max(terms, found.terms)
        first[k], second[k] = found.weight * found.first, found.weight * found.second
        squares[k] = found.weight * found.size**2
    chosen, tied = _decided(problem, at)
    wrong = np.flatnonzero(((chosen != problem.label) | tied) & (chosen < K))
    named = wrong[:_NAMED] if problem.row_index is None else problem.row_index[wrong[:_NAMED]]
    sides = SideSums(judge(problem, Witness(at.plane))) if at.plane.size else None
    return DensitySums(
        weight, first, second, squares, terms, 1, len(wrong), int((chosen >= K).sum()),
        tuple(named.tolist()), sides, column_ends(problem, ~at.used),
    )  # fmt: skip


def _decided(problem: Problem, at: Parameters) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The decision of least expected loss for each row, and whether it is one of several."""
    n, K = problem.n, len(at.means)
    scores = np.empty((n, K))
    rows, factors = problem.matrix, at.whiteners()
    step = max(1, (1 << 16) // max(1, problem.d))
    for lo in range(0, n, step):
        block = rows[lo : lo + step]
        block = block.toarray() if problem.sparse else block
        block = np.asarray(block, dtype=np.float64)[:, at.used]
        for k, factor in enumerate(factors):
            z = factor.apply(block - at.means[k, at.used])
            scores[lo : lo + step, k] = -0.5 * ((z * z).sum(axis=1) + factor.log_det)
    scores += np.log(at.priors)
    if np.array_equal(at.loss, 1.0 - np.eye(K)):
        cost = -scores
    else:
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        cost = shares @ at.loss.T
    least = cost.min(axis=1, keepdims=True)
    return cost.argmin(axis=1), (cost == least).sum(axis=1) > 1


@dataclass(frozen=True)
class StreamGaussian(GaussianCertificate):
    """What is proved about Gaussian classes of a stream, with all that a proof of it needs.

    ``check(stream)`` proves it again, in one pass and without what estimated the parameters.
    """

    means: tuple[float, ...] = ()
    covariance: tuple[float, ...] = ()
    shared: bool = False
    diagonal: bool = False
    ridge: tuple[float, ...] = ()
    ignored: tuple[int, ...] = ()
    """Columns that take no part."""
    priors: tuple[float, ...] = ()
    loss: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    """w and b of a linear rule, one after the other for each plane."""
    classes: tuple[Any, ...] = ()
    factors: tuple[float, ...] = ()
    """Of the weights of the rows of each class."""
    sources: tuple[Source, ...] = ()
    """The parts that were read."""

    @property
    def parameters(self) -> Parameters:
        """The numbers as arrays."""
        K, d = len(self.classes), len(self.ridge)
        K = max(1, K)
        parts, entries = 1 if self.shared else K, d if self.diagonal else d * d
        covariance = in_rows("covariance", self.covariance, parts, entries)
        shape = (() if self.shared else (K,)) + ((d,) if self.diagonal else (d, d))
        if any(not 0 <= column < d for column in self.ignored):
            raise ProofError(f"ignored: {self.ignored!r:.60} are not numbers of columns.")
        used = np.ones(d, dtype=bool)
        used[list(self.ignored)] = False
        planes = in_rows("weights", self.weights, 1) if self.weights else np.zeros((1, 0))
        if planes.size not in (0, (d + 1) * (1 if K == 2 else K)):
            raise ProofError(f"weights: {planes.size} are not those of planes of {d} columns.")
        ridge, priors = in_rows("ridge", self.ridge, 1)[0], in_rows("priors", self.priors, 1, K)[0]
        if not (ridge >= 0).all() or not (priors > 0).all():
            raise ProofError("ridge, priors: they are not numbers >= 0, and above 0.")
        return Parameters(
            in_rows("means", self.means, K, d), covariance.reshape(shape), self.shared, ridge,
            used, priors, in_rows("loss", self.loss, max(1, len(self.loss) // K), K), planes[0],
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """All facts as plain numbers, lists and strings."""
        return {**super().to_dict(), "sources": [asdict(one) for one in self.sources]}

    def check(self, X: Any, y: Any = None, sample_weight: Any = None) -> bool:
        """Prove it again from the rows of a stream; True, or ProofError says what is not so."""
        stream = as_stream(X, y, sample_weight)
        at = self.parameters
        problem = parts_of(
            stream, classes=self.classes, factors=self.factors, columns=len(self.ridge),
            sources=self.sources, weights=at.plane[None, :],
        )  # fmt: skip
        found = stream_gaussian(problem, at)
        require_sources(self.sources, stream)
        room = _AGREES * found.total_weight * max(1, len(self.ridge))
        room += _AGREES * abs(found.objective)
        hold(self, found, lambda name: _SLOPE if name == "stationarity" else room)
        return True


def stream_gaussian(problem: PartsProblem, at: Parameters) -> StreamGaussian:
    """The likelihood of the parameters, the best of their structure, and decisions: one pass."""
    with np.errstate(all="ignore"):
        found = judged(problem, partial(_sums, at=at))
        terms = found.terms + found.blocks + 16
        every = [
            Moments(
                float(weight), first / weight, second / weight, terms,
                np.sqrt(squares / weight) * (1 + 1e-9),
            )
            for weight, first, second, squares in zip(
                found.weight, found.first, found.second, found.squares
            )
        ]  # fmt: skip
        facts = judge_moments(every, at.covariance, shared=at.shared, ridge=at.ridge, used=at.used)
    told = {field.name: getattr(facts, field.name) for field in fields(GaussianCertificate)}
    if not np.array_equal(*found.ends):  # a column that is left out takes part in the likelihood
        told["objective"] = np.inf
    plane: Certificate | None = None
    if found.sides is not None:
        plane = in_places(problem, found.sides.facts)
    wrong = problem.places(np.array(found.wrong, dtype=np.int64))
    told |= {
        "errors": found.errors, "rejected": found.rejected, "plane": plane,
        "wrong_rows": tuple(wrong.tolist()),
    }  # fmt: skip
    return StreamGaussian(
        **told,
        means=tuple(at.means.ravel().tolist()),
        covariance=tuple(at.covariance.ravel().tolist()),
        shared=at.shared,
        diagonal=at.diagonal,
        ridge=tuple(at.ridge.tolist()),
        ignored=tuple(np.flatnonzero(~at.used).tolist()),
        priors=tuple(at.priors.tolist()),
        loss=tuple(at.loss.ravel().tolist()),
        weights=tuple(at.plane.tolist()),
        classes=tuple(problem.classes.tolist()),
        factors=tuple(problem.factors.tolist()),
        sources=tuple(Source(*one) for one in problem.stream.marks),
    )
