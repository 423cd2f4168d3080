"""What is proved about a plane of least squares: its cost, the least possible one, its sides.

J(a) = sum s_i |t_i - a.x_i|^2 is a parabola, so the gradient g at any weights says how far they
are from the best: J(a) - min J <= g' M^-1 g / 4 with M the weighted products of the columns. The
smallest eigenvalue of M is bounded from below by a Cholesky factor, with all rounding errors; on
small tables the minimum is known as a fraction. With a penalty on the weights the penalty bounds
that eigenvalue: ``ridge_gap``. The sides of the rows are judged as those of any plane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.costs import ENTRY_WEIGHED, EXACT_ENTRIES, PRODUCT, ROW_DRAWN, SQUARES
from linsep.core.limits import TimeUpError, given_up_after, tick
from linsep.core.problem import Problem, reads, rows_of
from linsep.core.protocol import Status, Witness
from linsep.core.schema import facts, ratio_text
from linsep.errors import ProofError
from linsep.numerics.integers import (
    flint_matrix,
    integer_products,
    scaled_integers,
    to_integers,
)
from linsep.numerics.rounding import SUM, U
from linsep.proofs import plain
from linsep.proofs.again import Checkable
from linsep.proofs.certificate import Certificate, judge
from linsep.proofs.gap import OTHER_CLAIMS, Gap, intercept_words
from linsep.proofs.separable import Proof
from linsep.rows.levels import sample
from linsep.rows.normal import (
    REACH,
    Gram,
    Totals,
    flat,
    gram_fits,
    weighted_lengths,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Squares(Checkable):
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
    def functional_margin(self) -> float:
        """Smallest y f(x) over the rows."""
        return self.plane.functional_margin

    @property
    def margin_aug(self) -> float:
        """Smallest y (w.x + b) / |[w, b]|: the margin in the augmented space."""
        return self.plane.margin_aug

    @property
    def width(self) -> float:
        """Width of the free street around the plane: twice the margin, 0 if a row is not right."""
        return self.plane.width

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
        if status in (Status.CERTIFIED, *OTHER_CLAIMS) and not self.relative_gap <= tol:
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
        out["minimum"] = None if self.minimum is None else ratio_text(self.minimum)
        out["weights"] = [[ratio_text(v) for v in column] for column in self.weights]
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The facts behind ``to_dict``."""
        return cls(**facts(cls)(data))


def _short(value: Fraction) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{float(value):.10g} (a fraction)"


def measure_squares(
    problem: Problem,
    witness: Witness,
    *,
    known: RationalSquares | None = None,
    basis: Array | None = None,
    seconds: float = np.inf,
) -> Squares:
    """Recompute everything from the data and the weights.

    known is the exact answer of ``rational_squares``, where there is one. basis is a matrix P
    that may make W P nearly orthogonal; a bad one makes a bad bound, never a wrong one. Where the
    products of the columns cannot be had in so few seconds, or before Ctrl-C, the bound does
    without them.
    """
    A = plain.columns(problem, witness.a)
    T = plain.aims(problem)
    with np.errstate(all="ignore"):
        now = totals(problem, A, T)
        values = plain.signs(problem) * (now.residual + T)[:, 0] if problem.binary else None
        plane = judge(problem, Witness(a=witness.a), values=values)
        try:
            with given_up_after(seconds):
                tick(products_seconds(problem))
                high, low, reach = cost_bounds(problem, A, T, now, basis)
        except TimeUpError:
            high, low, reach = _cost_bounds(problem, A, T, now, None, None)
        total = float(plain.weighted_squares(problem, T).sum())
    if known is not None:
        _hold(problem, known, T)
        low, reach = _below(known.minimum), np.inf
        high = max(high, low)
    minimum, weights = (None, ()) if known is None else (known.minimum, known.weights)
    return Squares(high, max(min(low, high), 0.0), total, plane, reach, minimum, weights)


_ROUNDING = 1e-9  # share of the sizes of what is added up: nothing that is wrong is smaller


def _hold(problem: Problem, known: RationalSquares, T: Array) -> None:
    """ProofError unless the weights in fractions have the minimum, and slopes that cancel."""
    A = np.array([[_float(v) for v in column] for column in known.weights]).T
    X = problem.matrix.toarray() if problem.sparse else np.asarray(problem.matrix, np.float64)
    X = np.column_stack([X, np.ones(problem.n)])[:, : problem.width]
    s = problem.weight[:, None]
    with np.errstate(all="ignore"):
        off, size = X @ A - T, np.abs(X) @ np.abs(A) + np.abs(T)
        slope, room = np.abs(X.T @ (s * off)), _ROUNDING * (np.abs(X).T @ (s * size))
        apart = abs(float((s * off * off).sum()) - _float(known.minimum))
        whole = _ROUNDING * float((s * size * size).sum())
    if (slope > room).any() or apart > whole:
        raise ProofError(
            "the exact weights of least squares have slopes that do not cancel, or not the minimum "
            "that is said; this is a bug of linsep, please report it."
        )


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


# -- Lower bounds of the least sum of squared errors, rounding included ---------------------------
#
# With W = S^(1/2) X~, v = S^(1/2) (t - X~ a) and g = W'v every other plane has
#
#     J(a + d) = |v|^2 - 2 d.g + |W d|^2  >=  |v|^2 - g'(W'W)^-1 g  >=  |v|^2 - |C^-1 g|^2 / lambda
#
# where C are the lengths of the columns of W and lambda is a lower bound of the smallest
# eigenvalue of C^-1 W'W C^-1. That bound is proved by a Cholesky factorisation of the matrix
# minus lambda and all rounding errors (Rump 2006). Columns that depend on others exactly are left
# out first; the dependency is proved in integers. For nearly dependent columns any matrix P whose
# columns make W P nearly orthogonal serves instead of C^-1. Where nothing of that can be had,
#
#     J(a + d) >= |v|^2 - 2 sum_j |d_j| |g_j|
#
# holds for all weights up to ``reach`` times as large (as a, or as weights that make scores of
# the size of the targets; measured by sum_j |a_j| c_j). Small tables are solved in fractions:
# then the least cost is known exactly.


_CHUNK = 1 << 20
_PRODUCTS = 4  # times what the products of all columns take: all that is done with them
_SHARE = 16  # one of so many rows is taken for the least eigenvalue, where
_ROWS = 8  # that leaves so many a column, and if it proves a gap of
_ENOUGH = 1e-6
_UNDERFLOW = 1e-300  # squared lengths from which products lose no more than rounding
_ROUNDING = 1e-9  # relative gap of a ridge below which it is not looked for what rounding takes
_PLAIN = 1e5  # length, in units of 1 / |column|, of weights that are not called large


def totals(problem: Problem, A: Array, T: Array) -> Totals:
    """Residuals X~ A - T and half the gradient."""
    R = plain.product(problem, A[: problem.d])
    R -= T
    if problem.fit_intercept:
        R += A[-1]
    SR = problem.weight[:, None] * R
    g, terms = plain.combination(problem, SR)
    if problem.fit_intercept:
        g = np.vstack([g, SR.sum(axis=0)])
    return Totals(R, g, terms)


def products_seconds(problem: Problem) -> float:
    """About what the products of all columns take, and all that is done with them."""
    return PRODUCT * _PRODUCTS * float(problem.n) * problem.width**2 if gram_fits(problem) else 0.0


@reads("matrix", "weight", "fit_intercept")
def products(problem: Problem) -> Gram:
    """X~' S X~, with what bounds its errors."""
    D, d, root = problem.width, problem.d, np.sqrt(problem.weight)

    def work(lo: int, hi: int, block: Array) -> Array:
        rows = np.empty((hi - lo, D))
        np.multiply(block, root[lo:hi, None], out=rows[:, :d])
        rows[:, d:] = root[lo:hi, None]
        return rows.T @ rows

    G, terms = plain.blockwise(problem, (D, D), work)
    return Gram(G, terms + 4, problem.n)


def cost_bounds(
    problem: Problem, A: Array, T: Array, now: Totals, basis: Array | None
) -> tuple[float, float, float]:
    """J from above, the least J from below, and how far that reaches.

    The products of all rows are those of some plus something positive semidefinite, so the least
    eigenvalue of some rows bounds that of all: it is smaller by their share, which is nothing
    beside what a slope of rounding errors leaves. All rows are taken where that says too little.
    """
    if not gram_fits(problem):
        return _cost_bounds(problem, A, T, now, basis, None)
    if problem.n >= 2 * _SHARE * _ROWS * problem.width and _sample_pays(problem):
        chosen = np.unique(sample(problem, problem.n // _SHARE)[0] % problem.n)  # long rows more
        some = rows_of(problem, chosen)  # often, none of them twice
        few = products(some)
        high, least, reach = _cost_bounds(problem, A, T, now, basis, few)
        # where every column has its share of the sample, columns that depend there do so in all
        share = 0.25 / _SHARE * weighted_lengths(problem, None) ** 2
        told = np.isinf(reach) or bool((few.matrix.diagonal() >= share).all())
        if told and high - least <= _ENOUGH * high:
            return high, least, reach
    return _cost_bounds(problem, A, T, now, basis, problem.once(products))


def _sample_pays(problem: Problem) -> bool:
    """Whether to draw rows and to multiply these is less work than to multiply all."""
    width = float(problem.width)
    draw = ROW_DRAWN + width * SQUARES
    return draw < (1.0 - 1.0 / _SHARE) * width * (ENTRY_WEIGHED + width * PRODUCT)


def _cost_bounds(
    problem: Problem, A: Array, T: Array, now: Totals, basis: Array | None, known: Gram | None
) -> tuple[float, float, float]:
    """The same with the products of some rows, of all, or of none."""
    whole = known is not None and known.n == problem.n
    lengths = weighted_lengths(problem, known if whole else None)
    spread, high, low, error = _sizes(problem, A, T, now, lengths)
    slope = np.abs(now.gradient) / lengths[:, None] * (1 + 8 * U) + error
    size = np.maximum(spread, np.sqrt(plain.weighted_squares(problem, T)))
    better, gain = None, _by_eigenvalue(problem, known, lengths, slope)
    if gain is not None:
        better = low**2 - gain
    elif basis is not None and basis.shape == (problem.width, problem.width):
        better = _by_basis(problem, basis, T, lengths)
    return _bounds(high, low, size, slope, better)


def _bounds(
    high: Array, low: Array, size: Array, slope: Array, better: Array | None
) -> tuple[float, float, float]:
    """The cost from above and below, and for how long weights that holds; ``better`` is a lower
    bound that holds for all."""
    least, reach = low**2 - 2 * (REACH + 1) * size * slope.max(axis=0), REACH
    if better is not None:
        least, reach = better, np.inf
    least = np.maximum(least * (1 - 8 * U), 0.0)
    if not least.any():
        reach = np.inf  # nothing is below zero
    return float((high**2).sum() * (1 + SUM)), float(least.sum() * (1 - SUM)), reach


def _sizes(
    problem: Problem, A: Array, T: Array, now: Totals, lengths: Array
) -> tuple[Array, Array, Array, Array]:
    """For each column: sum |a_j| c_j, |v| from above and below, and the error of g_j / c_j."""
    squares, aimed = (
        plain.weighted_squares(problem, now.residual),
        plain.weighted_squares(problem, T),
    )
    return sizes(problem.d, A, squares, aimed, now.terms, lengths)


def sizes(
    d: int, A: Array, squares: Array, aimed: Array, terms: int, lengths: Array, more: float = 0.0
) -> tuple[Array, Array, Array, Array]:
    """The same from sums of squares of residuals and targets; ``more`` is what adding them up from
    parts may have cost, relative to each."""
    size = np.sqrt(squares) * (1 + SUM + more)
    spread = np.abs(A).T @ lengths
    # a residual is off by (d + 6) u (sum |x_ij a_j| + |t_i|); taken together, column by column
    off = (d + 6) * U * 1.01 * (spread + np.sqrt(aimed) * (1 + more))
    high, low = size + off, np.maximum(size * (1 - 4 * (SUM + more)) - off, 0.0)
    return spread, high, low, (terms + 8) * U * 1.01 * high + off


def _by_eigenvalue(
    problem: Problem, known: Gram | None, lengths: Array, slope: Array
) -> Array | None:
    """|C^-1 g|^2 / lambda, for each column; None where lambda cannot be bounded."""
    if known is None:
        return None
    M = scaled_products(known, lengths)
    if M is None:
        return None
    least = _eigenvalue_below(M, known.terms)
    if least > 0:
        return np.asarray((slope**2).sum(axis=0) / least)
    columns = independent(problem, known)
    if columns is None:
        return None
    least = _eigenvalue_below(M[np.ix_(columns, columns)], known.terms)
    return np.asarray((slope[columns] ** 2).sum(axis=0) / least) if least > 0 else None


def scaled_products(known: Gram, lengths: Array) -> Array | None:
    """C^-1 X~'S X~ C^-1; None where its numbers cannot be trusted."""
    squares = known.matrix.diagonal()
    if ((squares > 0) & (squares < _UNDERFLOW)).any():
        return None
    M = known.matrix / lengths / lengths[:, None]
    return M if np.isfinite(M).all() else None


def bounds_of_sums(
    d: int, A: Array, squares: Array, aimed: Array, gradient: Array, terms: int, known: Gram,
    more: float,
) -> tuple[float, float, float]:  # fmt: skip
    """``cost_bounds`` from sums that parts of the rows were added up to."""
    found = known.lengths * (1 + known.terms * U)
    lengths = np.where(found > 0, found, 1.0)
    spread, high, low, error = sizes(d, A, squares, aimed, terms, lengths, more)
    slope = np.abs(gradient) / lengths[:, None] * (1 + 8 * U) + error
    size = np.maximum(spread, np.sqrt(aimed) * (1 + more))
    M = scaled_products(known, lengths)
    floor = 0.0 if M is None else _eigenvalue_below(M, known.terms)
    better = low**2 - (slope**2).sum(axis=0) / floor if floor > 0 else None
    return _bounds(high, low, size, slope, better)


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
    rounding = (problem.width + 4) * U * 1.01 * np.abs(now.gradient)
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
    e = (D + 6) * U * 1.01 * float(np.linalg.norm(np.abs(P).T @ lengths))
    terms = min(step, problem.n) + -(-problem.n // step) + 8
    slack = 2 * np.sqrt(float(np.trace(G))) * e + e * e + terms * U * 1.01 * float(np.trace(G))
    return _eigenvalue_below(G, 8, 1.01 * slack)


def _eigenvalue_below(M: Array, terms: int, slack: float = 0.0) -> float:
    """A proved lower bound of the smallest eigenvalue of the matrix that M was rounded from."""
    D = len(M)
    if not np.isfinite(M).all():
        return 0.0
    rounding = 1.05 * D * (terms + 16) * U + 1.1 * (D + 2) * U * float(np.trace(M))
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


# -- A ridge: the same with a penalty -------------------------------------------------------------
#
# J = sum s_i r_i^2 + lam |w|^2 with r = t - X w - b. For any other weights w + p and any offset,
# with g = lam w - X'S r, h = sum s_i r_i, n = sum s_i and m the weighted mean of the rows,
#
#     J(w + p, .) >= J(w, b) - h^2 / n - |g + h m|^2 / lam,
#
# since the residuals' change has a weighted mean of its own. The bound is taken at the best b.


def ridge_gap(problem: Problem, a: Array, lam: float, *, offset: bool) -> Gap:
    """Bounds for a binary ridge model with targets -1 and +1.

    An intercept takes back what columns are moved by: where they lie far from 0, so that rounding
    takes a share of the bounds, both are found again with the columns moved to their means.
    """
    gap = _ridge_gap(problem, np.asarray(a, dtype=np.float64), lam, offset=offset)
    if not offset or problem.sparse or gap.relative_gap <= _ROUNDING:
        return gap
    again = _ridge_gap(*_moved(problem, a), lam, more=4, offset=offset)
    high, low = min(gap.objective, again.objective), max(gap.lower_bound, again.lower_bound)
    return replace(gap, objective=high, lower_bound=min(low, high))


def _moved(problem: Problem, a: Array) -> tuple[Problem, Array]:
    """Columns less their means, and the weights with the intercept that belongs to them.

    Each entry is rounded once, relative to what is left of it, and so is the intercept.
    """
    X = problem.matrix.astype(np.float64)
    means = X.mean(axis=0)
    terms = zip(a[:-1].tolist(), means.tolist())
    if not (np.isfinite(a).all() and np.isfinite(means).all()):
        return problem, np.asarray(a, dtype=np.float64)
    exact = sum((Fraction(w) * Fraction(m) for w, m in terms), Fraction(float(a[-1])))
    return problem.changed(matrix=X - means), np.append(a[:-1], float(exact))


def _ridge_gap(problem: Problem, a: Array, lam: float, more: int = 0, *, offset: bool) -> Gap:
    """The bounds; entries of the rows have ``more`` roundings behind them."""
    w, b, s = a[:-1], float(a[-1]), problem.weight
    with np.errstate(all="ignore"):  # what overflows proves nothing
        now = plain.one_pass(problem, a, np.zeros(problem.n))
        whole = float(s.sum())
        lengths = np.sqrt(float(s.max())) * now.columns * (1 + 4 * U)  # of columns of S^(1/2) X
        residual = plain.signs(problem) * (1.0 - now.values)
        # a residual is off by (d + 6) u (sum |x_ij w_j| + |b| + 1); taken together by columns
        reach = float(np.abs(w) @ lengths) + (abs(b) + 1.0) * np.sqrt(whole)
        off = (problem.d + 6 + more) * U * 1.01 * reach
        penalty, rounding = lam * float(w @ w), (problem.d + 16) * U
        size = np.sqrt(float((s * residual * residual).sum())) * (1 + SUM) + off
        high = (size * size + penalty) * (1 + rounding)
        shift = float((s * residual).sum()) / whole if offset else -b
        low = _ridge_below(problem, w, lam, residual - shift, off, lengths, more, offset=offset)
        low = low + penalty * (1 - rounding) if lam > 0 else 0.0
        low -= 8 * U * (abs(low) + 2 * penalty)
    high = float(high) if high == high else np.inf
    low = max(low, 0.0) if np.isfinite(low) else 0.0
    words = f"sum of squared distances to the targets -1, +1 + {lam:.6g} |w|^2; "
    words += intercept_words("free" if offset else "none")
    return Gap.of(now.values, float(np.linalg.norm(w)), high, low, words, b)


def _ridge_below(
    problem: Problem, w: Array, lam: float, r: Array, off: float, lengths: Array, more: int, *,
    offset: bool,
) -> float:  # fmt: skip
    """The least J less lam |w|^2, from below; residuals r are off by ``off`` taken together."""
    s = problem.weight
    whole = float(s.sum()) * (1 - SUM)
    size = float(np.sqrt((s * r * r).sum()))
    off += 2 * U * size  # for the shift of the residuals
    least = max(size * (1 - SUM) - off, 0.0)
    now = plain.one_pass(problem, np.zeros(problem.d + 1), s * r * plain.signs(problem))
    length = float(np.linalg.norm(s * r)) * 1.01
    slope = np.abs(lam * w - now.v) + 4 * U * (lam * np.abs(w) + np.abs(now.v))
    slope += lengths * off + (now.terms + 4 + more) * U * length * now.columns
    left = 0.0
    if offset:
        left = abs(float((s * r).sum())) + 2 * SUM * float((s * np.abs(r)).sum())
        left += np.sqrt(whole) * off * 1.01
        slope += left / np.sqrt(whole) * lengths * 1.01
    lost = left * left / whole + float(slope @ slope) / lam * (1 + (problem.d + 8) * U)
    return least * least - lost - 8 * U * (least * least + lost)


# -- Least squares in rational arithmetic: the minimiser itself, not a number near it -------------
#
# Floats are fractions, so the normal equations X~' S X~ A = X~' S T have coefficients that are
# fractions, and so has their solution of least length: a particular solution minus its part along
# the null vectors N, which is N (N'N)^-1 N' A.


_COLUMNS = 20


@dataclass(frozen=True)
class RationalSquares:
    """The weights of least length among the minimisers, and the minimum."""

    weights: tuple[tuple[Fraction, ...], ...]
    """One tuple for two classes, K for more: coefficients, then the offset if there is one."""
    minimum: Fraction


def rational_squares(problem: Problem) -> RationalSquares | None:
    """The exact answer, or None where the table is too large for it."""
    if problem.width > _COLUMNS or problem.n * problem.width > EXACT_ENTRIES:
        return None
    T = plain.aims(problem)
    if T.shape[1] > _COLUMNS:
        return None
    X = problem.matrix.toarray() if problem.sparse else np.asarray(problem.matrix)
    if problem.fit_intercept:
        X = np.column_stack([X, np.ones(problem.n)])
    # X~ = W diag(2^shift), T = Q diag(2^t), S = diag(s) 2^r with W, Q and s of integers
    W, shift = _integers(X)
    Q, t = _integers(T)
    S, (r,) = _integers(problem.weight[:, None])
    across = (W if (problem.weight == 1.0).all() else _times(S, W)).transpose()
    left, right = list(map(_power, shift)), list(map(_power, t))
    N, H = _scaled(across * W, left, left, r), _scaled(across * Q, left, right, r)
    A = _least_length(N, H)
    columns = [[_fraction(v) for v in row] for row in A.transpose().tolist()]
    squares = _scaled(_times(S, Q).transpose() * Q, right, right, r)
    minimum = sum((_fraction(v) for v in _diagonal(squares - H.transpose() * A)), Fraction(0))
    return RationalSquares(tuple(map(tuple, columns)), minimum)


def _least_length(N: Any, H: Any) -> Any:
    """The solution of N A = H of least length; H is in the range of N, which is symmetric."""
    D = N.nrows()
    reduced, rank = N.rref()
    if rank == D:
        return N.solve(H)
    if rank == 0:
        return H  # which is zero as well
    lines = reduced.tolist()[:rank]
    pivots = [next(j for j, v in enumerate(line) if v != 0) for line in lines]
    free = sorted(set(range(D)) - set(pivots))
    every = N.tolist()
    part = _of([[every[i][j] for j in pivots] for i in pivots])
    right = H.tolist()
    solved = part.solve(_of([right[i] for i in pivots])).tolist()
    import flint

    zero = flint.fmpq(0)
    A = [[zero] * H.ncols() for _ in range(D)]
    for at, values in zip(pivots, solved):
        A[at] = values
    null = [[zero] * len(free) for _ in range(D)]
    for k, j in enumerate(free):
        null[j][k] = flint.fmpq(1)
        for at, line in zip(pivots, lines):
            null[at][k] = -line[j]
    particular, basis = _of(A), _of(null)
    across = basis.transpose()
    return particular - basis * (across * basis).solve(across * particular)


def _integers(block: NDArray[Any]) -> tuple[Any, list[int]]:
    """A matrix of integers, and the powers of two that its columns are multiplied by."""
    table, shift = to_integers(block)
    return flint_matrix(table), shift.tolist()


def _times(column: Any, table: Any) -> Any:
    """The rows of a matrix of integers, each times its number in the column."""
    import flint

    factors, k = column.entries(), table.ncols()
    products = [factors[i // k] * v for i, v in enumerate(table.entries())]
    return flint.fmpz_mat(table.nrows(), k, products)


def _power(shift: int) -> Any:
    """2^shift, which need not be a whole number."""
    import flint

    return flint.fmpq(2) ** shift


def _scaled(M: Any, left: list[Any], right: list[Any], shift: int) -> Any:
    """Integers with their rows and columns and all of them multiplied."""
    import flint

    one = _power(shift)
    factors = [f * c * one for f in left for c in right]
    entries = [v * f for v, f in zip(M.entries(), factors)]
    return flint.fmpq_mat(M.nrows(), M.ncols(), entries)


def _of(rows: Sequence[Sequence[Any]]) -> Any:
    import flint

    return flint.fmpq_mat(len(rows), len(rows[0]), [v for row in rows for v in row])


def _fraction(v: Any) -> Fraction:
    return Fraction(int(v.p), int(v.q))


def _diagonal(M: Any) -> list[Any]:
    return [M[i, i] for i in range(M.nrows())]


# -- Columns that depend on others, proved in integers --------------------------------------------


_ALIKE = 1e-6  # what is left of a column that may depend on others, relative to its length
_DENOMINATOR = 1000
_SLOW = 200_000  # entries beyond which only small integers are multiplied


def independent(problem: Problem, known: Gram) -> list[int] | None:
    """Columns that all others are combinations of; None unless each combination is proved.

    Floats suggest the combinations; their coefficients are read as fractions, and X~ times
    each of them must be exactly zero in every row.
    """
    lengths = np.where(known.lengths > 0, known.lengths, 1.0)
    M = known.matrix / lengths / lengths[:, None]
    kept, rest = _pivots(M)
    if not rest:
        return kept
    part = known.matrix[np.ix_(kept, kept)] / np.outer(lengths[kept], lengths[kept])
    right = known.matrix[np.ix_(kept, rest)] / lengths[kept][:, None]
    try:
        combined = scipy.linalg.solve(part, right, assume_a="pos") / lengths[kept][:, None]
    except (scipy.linalg.LinAlgError, ValueError):
        return None
    vectors = []
    for k, j in enumerate(rest):
        vector = [Fraction(0)] * problem.width
        told = combined[:, k]
        for at in np.flatnonzero(np.abs(told) > 0.25 / _DENOMINATOR):  # others are read as 0
            vector[kept[at]] = Fraction(float(told[at])).limit_denominator(_DENOMINATOR)
        vector[j] = Fraction(-1)
        vectors.append(scaled_integers(vector)[0])
    return kept if _all_vanish(problem, vectors) else None


def _pivots(M: Array) -> tuple[list[int], list[int]]:
    """The columns by Cholesky with pivoting: the independent ones, and the rest."""
    _, order, rank, _ = scipy.linalg.lapack.dpstrf(M, tol=_ALIKE**2)
    places = (order - 1).tolist()
    return sorted(places[:rank]), sorted(places[rank:])


def _all_vanish(problem: Problem, vectors: list[list[int]]) -> bool:
    """Whether X~ times every vector is exactly zero."""
    used = [j for j in range(problem.width) if any(vector[j] for vector in vectors)]
    small = [[vector[j] for j in used] for vector in vectors]
    if max(abs(v) for vector in small for v in vector) > 2**40:
        return False
    step = max(1, _CHUNK // problem.width)
    for lo in range(0, problem.n, step):
        block = problem.matrix[lo : lo + step]
        block = np.asarray(block.toarray() if problem.sparse else block, dtype=np.float64)
        if problem.fit_intercept:
            block = np.column_stack([block, np.ones(len(block))])
        block = np.ascontiguousarray(block[:, used])
        if problem.n * len(used) > _SLOW and not (np.rint(block) == block).all():
            return False
        if integer_products(block, small)[0].any():
            return False
    return True
