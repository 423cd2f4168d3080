"""How far a logistic model is from the maximum of the conditional likelihood, with no penalty.

P(a) = sum s_i log(1 + exp(-z_i.a)) over the reflected rows z_i = y_i [x_i, 1]. Its dual is
D(alpha) = sum s_i H(alpha_i / s_i), a lower bound of P for all 0 <= alpha <= s with
sum alpha_i z_i = 0. Floating point meets this equation only nearly, and no penalty forgives the
rest; but a feasible point is close, and that is enough:

1. alpha_0 = s sigma(-m) at the model, W = diag of its curvature s sigma(m) sigma(-m),
   M = Z'WZ. The Newton step of the dual, alpha_1 = alpha_0 - W Z M^-1 Z' alpha_0, leaves a
   residual r = Z' alpha_1 that is rounding only.
2. delta = -W Z M^-1 r would make it exact: Z'(alpha_1 + delta) = 0. Since W_i z_i z_i' <= M,
   W_i z_i' M^-1 z_i <= 1 and so |delta_i| <= sqrt(W_i) rho for rho^2 = r' M^-1 r; and
   sum delta_i^2 / W_i = rho^2.
3. With the columns scaled to a unit diagonal of M, rho^2 <= |r|^2 / lambda, where lambda is the
   smallest eigenvalue of M less all errors of its computation.
4. If every |delta_i| is at most half the distance of alpha_1 to its box, then
   D(alpha_1 + delta) >= D(alpha_1) - sum |delta_i| (|log odds| + 2)
                       >= D(alpha_1) - rho sqrt(sum W_i (|log odds_i| + 2)^2).

Such an alpha is strictly positive, so it proves as well that a maximum exists: were there a
direction u with z_i.u >= 0 for all rows and > 0 for one, sum alpha_i z_i.u would not be 0
(Albert and Anderson 1984). On separable and quasi-separable data the proof fails.

There the rows that the plane leaves strictly on their own side are left out: their losses are
never negative, so a bound for the other rows is a bound for all. The best likelihood of the
rows on the plane is the supremum for all rows, and weights that go far enough along the plane's
direction come as close to it as one likes. Which rows are left out needs no proof.

Columns that depend on others exactly (all dummies of a factor and an intercept) are left out of
Z: what is zero in the others is zero in them. That they depend is checked in integers. Where there
are more columns than rows most of them do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.certify.centred import centred
from linsep.certify.dependent import dependent_columns
from linsep.certify.gap import Gap
from linsep.certify.logistic_gap import entropy_below, facts, loss_above
from linsep.certify.passes import one_pass
from linsep.core.lanes import Lanes, one_blas_thread
from linsep.core.parts import columns_of, rows_of
from linsep.core.problem import Problem
from linsep.losses.logistic import curvature, loss, probability

__all__ = ["dependent_columns", "likelihood_bounds", "likelihood_gap", "lower_bound"]

Array = NDArray[np.float64]

_U = 2.0**-53
_SUM = 64 * _U  # of a sum by numpy, which adds by halves
_WIDE = 3000  # columns beyond which no matrix of all pairs is made
_FAR, _TRIES = 2.0, 8  # margins from which rows may be left out, at the largest ratios


@dataclass(frozen=True)
class _Gram:
    """Z'WZ on some columns, scaled to a unit diagonal, and what is known of it."""

    columns: NDArray[np.int64]
    scale: Array
    vectors: Array
    values: Array
    error: float

    @property
    def least(self) -> float:
        """A lower bound of the smallest eigenvalue."""
        return float(self.values[0]) - self.error

    def solve(self, r: Array) -> Array:
        """M^-1 r, nearly."""
        V = self.vectors
        inner = (V.T @ (self.scale * r[self.columns])) / np.maximum(self.values, self.error)
        out = np.zeros_like(r)
        out[self.columns] = self.scale * (V @ inner)
        return out


def likelihood_gap(problem: Problem, a: Array) -> Gap:
    """Objective and lower bound of minus the log likelihood; 0 where nothing can be proved."""
    return likelihood_bounds(problem, a)[0]


def likelihood_bounds(problem: Problem, a: Array, *, part: bool = True) -> tuple[Gap, bool]:
    """The same, and whether it is proved that the likelihood has a maximum.

    part says whether to try bounds of some rows where there is none of all.
    """
    a = np.asarray(a, dtype=np.float64)
    with one_blas_thread(), np.errstate(all="ignore"):
        values = problem.values(a)
        totals = one_pass(problem, a, problem.weight * probability(values))
        high = loss_above(totals.values, problem.weight, a, totals.columns)
        low = lower_bound(problem, values)
        exists = low > 0.0
        if part and not exists:
            low = _partial_bound(problem, values, high)
    free = "with an intercept" if problem.fit_intercept else "no intercept"
    words = f"minus the log likelihood (no penalty); {free}"
    return facts(totals.values, a, high, max(low, 0.0), words), exists


def _partial_bound(problem: Problem, values: Array, high: float) -> float:
    """The best bound of those for the rows nearer to the plane than some margin."""
    losses = problem.weight * loss(values)
    far = np.unique(values[values > _FAR])
    ratio = far / np.append(_FAR, far[:-1])
    best = 0.0
    tries = _TRIES if problem.n * problem.d <= 100_000 else 2
    for at in np.argsort(-ratio, kind="stable")[:tries]:
        near = np.flatnonzero(values < far[at])
        rest = float(losses[near].sum())
        if len(near) and rest > best:
            best = max(best, lower_bound(rows_of(problem, near), values[near]))
        if best > 0.0 and high - best <= 1.1 * (high - rest):
            break
    return best


def lower_bound(problem: Problem, values: Array) -> float:
    """D of a feasible point near the margins; 0 if none can be shown to be near."""
    given = _narrow(problem)
    problem = centred(given)[0]
    s, sign = problem.weight, problem.sign
    alpha = s * probability(values)
    W = s * curvature(values)
    if problem.d > _WIDE or not (np.isfinite(alpha).all() and alpha.min() > 0):
        return 0.0
    gram = _gram(problem, W, given)
    if gram is None:
        return 0.0
    for _ in range(2):
        r, _ = _residual(problem, alpha)
        step = gram.solve(r)
        t = sign * (problem.product(step[:-1]) + step[-1])
        if not np.isfinite(t).all():
            return 0.0
        alpha -= W * np.clip(t, -0.9, 0.9)
        if not ((alpha > 0).all() and (alpha < s).all()):
            return 0.0
    r, error = _residual(problem, alpha)
    size = (np.abs(r) + error)[gram.columns] * gram.scale
    rho = float(np.linalg.norm(size)) / np.sqrt(gram.least) * (1 + 1e-9)
    room = np.minimum(alpha, s - alpha)
    tight = np.sqrt(W) * rho > 0.5 * room
    if tight.any():
        # rows in tight places stay where they are: the others have to make up for them
        W = np.where(tight, 0.0, W)
        gram = _gram(problem, W, given)
        if gram is None:
            return 0.0
        size = (np.abs(r) + error)[gram.columns] * gram.scale
        rho = float(np.linalg.norm(size)) / np.sqrt(gram.least) * (1 + 1e-9)
        if (np.sqrt(W) * rho > 0.5 * room).any():
            return 0.0
    odds = np.abs(np.log(s - alpha) - np.log(alpha)) + 2.0
    lost = 1.001 * rho * float(np.sqrt((W * odds * odds).sum()))
    return float(entropy_below(alpha, s, 0.0) - lost)


def _narrow(problem: Problem) -> Problem:
    """Where rows are fewer than columns: the columns that all others are combinations of."""
    if problem.n >= problem.width or problem.n > _WIDE:
        return problem
    dropped = dependent_columns(problem)
    if dropped is None:
        return problem
    return columns_of(problem, np.setdiff1d(np.arange(problem.d), dropped))


def _residual(problem: Problem, alpha: Array) -> tuple[Array, Array]:
    """sum alpha_i z_i, and a bound of its rounding errors."""
    totals = one_pass(problem, np.zeros(problem.d + 1), alpha)
    length = float(np.linalg.norm(alpha)) * 1.001
    error = (totals.terms + 2) * _U * length * totals.columns  # entries may be rounded, centred
    if not problem.fit_intercept:
        return np.append(totals.v, 0.0), np.append(error, 0.0)
    positive = problem.sign > 0
    plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
    return np.append(totals.v, plus - minus), np.append(error, _SUM * (plus + minus))


def _gram(problem: Problem, W: Array, given: Problem) -> _Gram | None:
    """The matrix on independent columns; None if they cannot be told."""
    full, unit, terms = _products(problem, W)
    if not np.isfinite(full).all():
        return None
    columns = np.flatnonzero(unit)
    gram = _scaled(full, unit, columns, terms)
    if gram is not None and gram.least > 0:
        return gram
    dropped = dependent_columns(given)
    if dropped is None:
        return None
    return _scaled(full, unit, np.setdiff1d(columns, dropped), terms)


def _scaled(full: Array, unit: Array, columns: NDArray[np.int64], terms: int) -> _Gram | None:
    """None where the smallest eigenvalue is not surely positive."""
    width = len(columns)
    if not width:  # nothing to be zero in
        return _Gram(columns, np.zeros(0), np.zeros((0, 0)), np.ones(1), 0.0)
    part = full[np.ix_(columns, columns)]
    if not (part.diagonal() > 0).all():
        return None
    scale = 1.0 / np.sqrt(part.diagonal())
    values, vectors = scipy.linalg.eigh(part * scale[:, None] * scale, check_finite=False)
    # each entry of the scaled matrix is a sum of products whose sizes sum to 1 at most; the
    # eigenvalues of a symmetric matrix of norm width are found to a few units times width
    error = (terms + 10 * width) * _U * width
    if not values[0] > error:
        return None
    return _Gram(columns, scale * unit[columns], vectors, values, error)


def _products(problem: Problem, W: Array) -> tuple[Array, Array, int]:
    """sum W_i [x_i, 1] [x_i, 1]' with columns brought to the size of 1 by powers of two.

    Also these powers, 0 for a column of zeros, and how often an entry was rounded in a row.
    """
    d, M = problem.d, problem.matrix
    most = abs(M).max(axis=0)
    most = np.append(np.ravel(most.toarray() if problem.sparse else most), problem.fit_intercept)
    most = most.astype(np.float64)
    unit = np.where(most > 0, np.ldexp(1.0, -np.frexp(most)[1].clip(-1000, 1000)), 0.0)
    lanes = Lanes(M, wide=True)
    root = np.sqrt(W)

    def lane_sum(lane: int) -> Array:
        total = np.zeros((d + 1, d + 1))
        for lo, hi, block in lanes.blocks(lane):
            B = np.empty((hi - lo, d + 1))
            np.multiply(block, unit[:d], out=B[:, :d])
            B[:, d] = unit[d]
            B *= root[lo:hi, None]
            total += B.T @ B
        return total

    parts = lanes.each(lane_sum)
    out = parts[0]
    for other in parts[1:]:
        out += other
    return out, unit, min(problem.n, lanes.rows) + -(-problem.n // lanes.rows) + len(parts) + 12
