"""What is proved about a plane of least squares: how near its cost is to the least possible.

With W = S^(1/2) X~, v = S^(1/2) (t - X~ a) and g = W'v every other plane has

    J(a + d) = |v|^2 - 2 d.g + |W d|^2  >=  |v|^2 - g'(W'W)^-1 g  >=  |v|^2 - |C^-1 g|^2 / lambda

where C are the lengths of the columns of W and lambda is a lower bound of the smallest
eigenvalue of C^-1 W'W C^-1. That bound is proved by a Cholesky factorisation of the matrix minus
lambda and all rounding errors (Rump 2006). Columns that depend on others exactly are left out
first; the dependency is proved in integers. For nearly dependent columns any matrix P whose
columns make W P nearly orthogonal serves instead of C^-1. Where nothing of that can be had,

    J(a + d) >= |v|^2 - 2 sum_j |d_j| |g_j|

holds for all weights up to ``reach`` times as large (as a, or as weights that make scores of the
size of the targets; measured by sum_j |a_j| c_j). Small tables are solved in fractions: then
the least cost is known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.certify.certificate import Certificate, judge
from linsep.certify.independent import independent
from linsep.certify.normal import Gram, Totals, aims, columns_of, flat, gram, gram_fits, totals
from linsep.certify.proof import Proof
from linsep.certify.rational import RationalSquares
from linsep.certify.survey import survey
from linsep.core.problem import Problem
from linsep.core.protocol import Witness
from linsep.core.status import Status

__all__ = ["Squares", "measure_squares", "rounded", "small_slope"]

Array = NDArray[np.float64]

_U = 2.0**-53
_SUM = 64 * _U  # of a sum by numpy, which adds by halves
_REACH = 1000.0
_CHUNK = 1 << 20
_PLAIN = 1e5  # length, in units of 1 / |column|, of weights that are not called large


@dataclass(frozen=True)
class Squares:
    """What is proved about the sum of squared errors, and about the plane."""

    objective: float
    """J(a) = sum of s (y f(x) - b)^2, rounded up."""
    lower_bound: float
    """No weights have a smaller J; rounded down."""
    total: float
    """J of a = 0: the weighted sum of the squared targets."""
    plane: Certificate
    """Errors, margin, and whether the plane separates."""
    reach: float = np.inf
    """The lower bound holds for weights up to so many times as large; inf means all."""
    minimum: Fraction | None = None
    """The least possible J as a fraction, on small tables."""
    weights: tuple[tuple[Fraction, ...], ...] = ()
    """The exact minimiser on small tables: coefficients, then the offset; one tuple a column."""

    @property
    def exact(self) -> bool:
        """Whether the minimum is known as a fraction."""
        return self.minimum is not None

    @property
    def gap(self) -> float:
        """objective - lower_bound."""
        gap = self.objective - self.lower_bound
        return max(gap, 0.0) if np.isfinite(gap) else np.inf

    @property
    def relative_gap(self) -> float:
        """gap / total: the share of the squared targets that could still be explained."""
        return self.gap / self.total if self.gap > 0 else 0.0

    @property
    def separable(self) -> bool | None:
        """True: this plane separates. False: no plane does. None: not decided."""
        return self.plane.separable

    @property
    def errors(self) -> int:
        """Rows not strictly on their own side; a score of zero is an error."""
        return self.plane.errors

    @property
    def wrong_rows(self) -> tuple[int, ...]:
        """Their numbers, at most the first thousand."""
        return self.plane.wrong_rows

    @property
    def margin(self) -> float:
        """Smallest y (w.x + b) / |w| over the rows; negative if a row is on the wrong side."""
        return self.plane.margin

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows that prove that no plane separates, where that is known."""
        return self.plane.rows

    @property
    def multipliers(self) -> tuple[Fraction, ...]:
        """Their multipliers."""
        return self.plane.multipliers

    @property
    def finite(self) -> bool:
        """Whether all numbers are finite."""
        return bool(self.plane.finite and np.isfinite(self.objective))

    def settle(self, status: Status, tol: float) -> Status:
        """The status that the facts support."""
        if status in (Status.CERTIFIED, Status.SEPARATED) and not self.relative_gap <= tol:
            return Status.STALLED
        if status is Status.DIVERGED or not self.relative_gap <= tol:
            return status
        return Status.SEPARATED if self.separable else Status.CERTIFIED

    def refuted_by(self, proof: Proof) -> Self:
        """The same facts with a proof that nothing separates the classes."""
        return replace(self, plane=self.plane.refuted_by(proof))

    def __str__(self) -> str:
        least = f"no weights have less than {self.lower_bound:.6g}"
        if np.isfinite(self.reach):
            least = f"no weights up to {self.reach:g} times as large have less than " + (
                f"{self.lower_bound:.6g}"
            )
        if self.minimum is not None:
            least = f"the least possible is {_short(self.minimum)}"
        sides = (
            f"every row is on its own side, margin {self.margin:.4g}"
            if self.separable
            else f"{self.errors} of the rows not on their own side"
        )
        return f"squared error {self.objective:.6g}, {least}; {sides}"

    def to_dict(self) -> dict[str, Any]:
        """All facts as plain numbers, lists and strings."""
        out = {field.name: getattr(self, field.name) for field in fields(self)}
        out["plane"] = self.plane.to_dict()
        out["minimum"] = None if self.minimum is None else str(self.minimum)
        out["weights"] = [[str(v) for v in column] for column in self.weights]
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The facts behind ``to_dict``."""
        known = {field.name: data[field.name] for field in fields(cls)}
        known["plane"] = Certificate.from_dict(known["plane"])
        minimum = known["minimum"]
        known["minimum"] = None if minimum is None else Fraction(minimum)
        known["weights"] = tuple(tuple(map(Fraction, column)) for column in known["weights"])
        return cls(**known)


def _short(value: Fraction) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{float(value):.10g} (a fraction)"


def measure_squares(
    problem: Problem,
    witness: Witness,
    *,
    known: RationalSquares | None = None,
    basis: Array | None = None,
) -> Squares:
    """Recompute everything from the data and the weights.

    known is the exact answer of ``rational_squares``, where there is one. basis is a matrix P
    that may make W P nearly orthogonal; a bad one makes a bad bound, never a wrong one.
    """
    A = columns_of(problem, np.asarray(witness.a, dtype=np.float64))
    T = aims(problem)
    with np.errstate(all="ignore"):
        now = totals(problem, A, T)
        values = problem.sign * (now.residual + T)[:, 0] if problem.binary else None
        plane = judge(problem, Witness(a=witness.a), values=values)
        high, low, reach = _bounds(problem, A, T, now, basis)
        total = float(_squares(problem, T).sum())
    if known is not None:
        low, reach = _below(known.minimum), np.inf
        high = max(high, low)
    minimum, weights = (None, ()) if known is None else (known.minimum, known.weights)
    return Squares(high, max(min(low, high), 0.0), total, plane, reach, minimum, weights)


def small_slope(problem: Problem, A: Array, gradient: Array, T: Array, tol: float) -> bool:
    """Whether no weights up to ``reach`` times as large as A can be better by tol J(0).

    For solvers that have no better measure; rounding is left to the certificate.
    """
    lengths = column_lengths(problem)
    slope = (np.abs(gradient) / lengths[:, None]).max(axis=0)
    squares = _squares(problem, T)
    size = np.maximum(np.abs(A).T @ lengths, np.sqrt(squares))
    return bool(2 * (_REACH + 1) * float((slope * size).sum()) <= tol * float(squares.sum()))


def column_lengths(problem: Problem) -> Array:
    """At least the lengths of the weighted columns; never zero."""
    return _lengths(problem, gram(problem) if gram_fits(problem) else None)


def rounded(problem: Problem, known: RationalSquares | Squares) -> Array:
    """The exact weights as the nearest floats; inf where they are too large for one."""
    A = np.array([[_float(v) for v in column] for column in known.weights]).T
    return flat(problem, A)


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _below(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) <= value else float(np.nextafter(near, -np.inf))


# -- bounds ---------------------------------------------------------------------------------------


def _bounds(
    problem: Problem, A: Array, T: Array, now: Totals, basis: Array | None
) -> tuple[float, float, float]:
    """J from above, the least J from below, and how far that reaches."""
    known = gram(problem) if gram_fits(problem) else None
    lengths = _lengths(problem, known)
    spread, high, low, error = _sizes(problem, A, T, now, lengths)
    slope = np.abs(now.gradient) / lengths[:, None] * (1 + 8 * _U) + error
    size = np.maximum(spread, np.sqrt(_squares(problem, T)))
    least = low**2 - 2 * (_REACH + 1) * size * slope.max(axis=0)
    reach = _REACH
    better = _by_eigenvalue(problem, known, slope)
    if better is not None:
        least, reach = low**2 - better, np.inf
    elif basis is not None and basis.shape == (problem.width, problem.width):
        better = _by_basis(problem, basis, T, lengths)
        if better is not None:
            least, reach = better, np.inf
    least = np.maximum(least * (1 - 8 * _U), 0.0)
    if not least.any():
        reach = np.inf  # nothing is below zero
    return float((high**2).sum() * (1 + _SUM)), float(least.sum() * (1 - _SUM)), reach


def _sizes(
    problem: Problem, A: Array, T: Array, now: Totals, lengths: Array
) -> tuple[Array, Array, Array, Array]:
    """For each column: sum |a_j| c_j, |v| from above and below, and the error of g_j / c_j."""
    size = np.sqrt(_squares(problem, now.residual)) * (1 + _SUM)
    spread = np.abs(A).T @ lengths
    # a residual is off by (d + 6) u (sum |x_ij a_j| + |t_i|); taken together, column by column
    off = (problem.d + 6) * _U * 1.01 * (spread + np.sqrt(_squares(problem, T)))
    high, low = size + off, np.maximum(size * (1 - 4 * _SUM) - off, 0.0)
    return spread, high, low, (now.terms + 8) * _U * 1.01 * high + off


def _squares(problem: Problem, M: Array) -> Array:
    """Weighted sums of squares of columns, added by halves."""
    return np.asarray((M * M * problem.weight[:, None]).sum(axis=0))


def _by_eigenvalue(problem: Problem, known: Gram | None, slope: Array) -> Array | None:
    """|C^-1 g|^2 / lambda, for each column; None where lambda cannot be bounded."""
    if known is None:
        return None
    lengths = np.where(known.lengths > 0, known.lengths, 1.0)
    M = known.matrix / lengths / lengths[:, None]
    if not np.isfinite(M).all():
        return None
    least = _eigenvalue_below(M, known.terms)
    if least > 0:
        return np.asarray((slope**2).sum(axis=0) / least)
    columns = independent(problem, known)
    if columns is None:
        return None
    least = _eigenvalue_below(M[np.ix_(columns, columns)], known.terms)
    return np.asarray((slope[columns] ** 2).sum(axis=0) / least) if least > 0 else None


def _by_basis(problem: Problem, P: Array, T: Array, lengths: Array) -> Array | None:
    """|v|^2 - |P'g|^2 / lambda, with lambda of (W P)'(W P), if W P has as many columns as W.

    It holds for any weights; taken are some that leave out the directions in which W is small,
    so that they are small and their residuals have little rounding.
    """
    if not np.isfinite(P).all():
        return None
    least = _basis_eigenvalue(problem, P, lengths)
    if not least > 0:
        return None
    plain = P[:, np.abs(P).T @ lengths <= _PLAIN]
    A = np.zeros((problem.width, T.shape[1]))
    for _ in range(3):
        A -= plain @ (plain.T @ totals(problem, A, T).gradient)
    now = totals(problem, A, T)
    _, _, low, error = _sizes(problem, A, T, now, lengths)
    along = np.abs(P.T @ now.gradient)
    rounding = (problem.width + 4) * _U * 1.01 * np.abs(now.gradient)
    along += np.abs(P).T @ (np.outer(lengths, error) + rounding)
    return np.asarray(low**2 - (along**2).sum(axis=0) / least)


def _basis_eigenvalue(problem: Problem, P: Array, lengths: Array) -> float:
    """A proved lower bound of the smallest eigenvalue of (W P)'(W P)."""
    D = problem.width
    G, root = np.zeros((D, D)), np.sqrt(problem.weight)
    step = max(1, _CHUNK // D)
    for lo in range(0, problem.n, step):
        block = problem.matrix[lo : lo + step]
        block = np.asarray(block.toarray() if problem.sparse else block, dtype=np.float64)
        rows = block @ P[: problem.d]
        if problem.fit_intercept:
            rows += P[-1]
        rows *= root[lo : lo + step, None]
        G += rows.T @ rows
    # an entry of W P is off by (D + 6) u (|W| |P|): a matrix E with |E|_F <= e, so that the
    # product is off by at most 2 |W P| e + e^2
    e = (D + 6) * _U * 1.01 * float(np.linalg.norm(np.abs(P).T @ lengths))
    terms = min(step, problem.n) + -(-problem.n // step) + 8
    slack = 2 * np.sqrt(float(np.trace(G))) * e + e * e + terms * _U * 1.01 * float(np.trace(G))
    return _eigenvalue_below(G, 8, 1.01 * slack)


def _eigenvalue_below(M: Array, terms: int, slack: float = 0.0) -> float:
    """A proved lower bound of the smallest eigenvalue of the matrix that M was rounded from."""
    D = len(M)
    if not np.isfinite(M).all():
        return 0.0
    rounding = 1.05 * D * (terms + 16) * _U + 1.1 * (D + 2) * _U * float(np.trace(M))
    rounding += slack
    for shift in (0.99, 0.5, *10.0 ** -np.arange(1.0, 14.0)):
        if shift <= 2 * rounding:
            return 0.0
        try:
            scipy.linalg.cholesky(M - shift * np.eye(D), lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            continue
        return float(shift - rounding)
    return 0.0


def _lengths(problem: Problem, known: Gram | None) -> Array:
    """At least the lengths of the weighted columns; never zero."""
    if known is not None:
        found = known.lengths * (1 + known.terms * _U)
    else:
        columns = survey(problem).column_lengths()
        if problem.fit_intercept:
            columns = np.append(columns, np.sqrt(problem.n))
        found = columns * np.sqrt(problem.weight.max()) * (1 + 8 * _U)
    return np.where(found > 0, found, 1.0)
