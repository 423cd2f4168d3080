"""How far a logistic model of two classes is from the best one.

Penalised   P(w, b) = |w|^2 / 2 + sum c_i log(1 + exp(-m_i)),  m = y (w.x + b),  c = C s.
            For every 0 <= alpha <= c with sum alpha_i y_i = 0 (where b is free)
            D(alpha) = sum c_i H(alpha_i / c_i) - |sum alpha_i y_i x_i|^2 / 2 <= min P, H the
            entropy. alpha_i = c_i sigma(-m_i) at the best b makes P - D half the squared
            length of the gradient; what is left of sum alpha_i y_i is removed by scaling the
            heavier class down.
Likelihood  C = inf: P = sum s_i log(1 + exp(-m_i)), minus the log likelihood. See
            ``likelihood_bounds`` below.

Where rounding makes D useless, because C or the numbers in X are huge, C times the bound of the
likelihood takes its place. All rounding errors are bounded and taken off, with functions of
numpy trusted to 8 ulp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.costs import ANOTHER_BOUND
from linsep.core.lanes import one_blas_thread
from linsep.core.problem import Problem, columns_of, moved, rows_of
from linsep.losses.logistic import (
    LAST_DIGIT_ROWS,
    best_shift,
    curvature,
    entropy,
    loss,
    probability,
)
from linsep.numerics.cholesky import solved
from linsep.numerics.rounding import SUM, U, rounded_once
from linsep.proofs import plain
from linsep.proofs.gap import Gap, balanced, intercept_words
from linsep.proofs.sharp import sharp_sums
from linsep.rows.exact import dependent_columns
from linsep.rows.levels import sample_matrix, sample_sizes
from linsep.rows.logistic import LogisticRows
from linsep.rows.reader import survey

Array = NDArray[np.float64]

_POOR = 1e-6  # relative gap from which another bound is tried
_FAIR = 1e-2  # relative gap of one pass from which another way is tried


def logistic_gap(
    problem: Problem,
    a: Array,
    C: float,
    intercept: str,
    constant: float = 1.0,
    alpha: Array | None = None,
    goal: float = 0.0,
) -> Gap:
    """Bounds for a binary logistic model; intercept as in ``Objective``.

    Any alpha will do, it is made feasible; without one the margins of the model give it. goal is
    a relative gap that is small enough, so that no better bound is looked for.
    """
    if np.isinf(C):
        return likelihood_gap(problem, a)
    a = np.asarray(a, dtype=np.float64)
    words = f"|w|^2 / 2 + {C:.6g} x sum of logistic losses; {intercept_words(intercept, constant)}"
    bounds = None
    with np.errstate(all="ignore"):  # what overflows proves nothing
        if alpha is None and intercept != "penalised" and sample_sizes(problem):
            bounds = large_bounds(problem, a, C, goal, free=intercept == "free")
        if bounds is None or not bounds.high - bounds.low <= _FAIR * bounds.high:
            bounds = _plain_bounds(problem, a, C, intercept, constant, alpha, goal)
    low = bounds.low if bounds.low > 0 else 0.0
    return Gap.of(
        bounds.values, float(np.linalg.norm(a[:-1])), bounds.high, low, words, float(a[-1])
    )


@dataclass(frozen=True)
class Bounds:
    """Upper bound of the objective, lower bound of the best one, margins."""

    high: float
    low: float
    values: Array


def _plain_bounds(
    problem: Problem,
    a: Array,
    C: float,
    intercept: str,
    constant: float,
    alpha: Array | None,
    goal: float,
) -> Bounds:
    """Bounds from one dual point, better sums and the likelihood where these are poor."""
    cost, d = C * problem.weight, problem.d
    alpha, slack = _dual_point(problem, a, cost, intercept, alpha)
    totals = plain.one_pass(problem, a, alpha)
    extra = (float(a[-1]) / constant) ** 2 if intercept == "penalised" else 0.0
    squared = float(a[:-1] @ a[:-1]) + extra
    losses = loss_above(totals.values, cost, a, totals.columns)
    high = (0.5 * squared * (1 + (d + 8) * U) + losses) * (1 + 8 * U)
    error = (totals.terms * U + slack) * float(np.linalg.norm(alpha)) * 1.001 * totals.columns
    size = np.abs(totals.v) + error
    pull = float(size @ size) * (1 + (d + 8) * U)
    if intercept == "penalised":
        balance = abs(float(alpha @ plain.signs(problem))) + problem.n * U * float(alpha.sum())
        pull += (balance * constant) ** 2
    # alpha is off by a share of slack at most: H falls by no more than alpha |logit| slack
    low = best_multiple(entropy_below(alpha, cost, slack), pull)
    blurred = float(error @ (2 * np.abs(totals.v) + error)) > 0.2 * max(high - low, goal * high)
    if high - low > max(goal, _POOR) * high and blurred and intercept != "penalised":
        low = max(low, _sharp(problem, alpha, cost, free=intercept == "free"))
    if high - low > max(goal, _POOR) * high and problem.n * d * d <= ANOTHER_BOUND:
        low = max(low, _without_penalty(problem, totals.values, C))
    return Bounds(high, low, totals.values)


def _dual_point(
    problem: Problem, a: Array, cost: Array, intercept: str, alpha: Array | None
) -> tuple[Array, float]:
    """alpha, or that of the model, in its box and balanced; the relative error of its entries."""
    sign = plain.signs(problem)
    if alpha is None:
        values = plain.values(problem, a)
        if intercept == "free":
            values = values + sign * best_shift(values, sign, cost)
        alpha = cost * plain.sigma(values)
    alpha = np.clip(np.nan_to_num(alpha, nan=0.0), 0.0, cost * (1 - 4 * U))  # C s is rounded
    if intercept != "free":
        return alpha, 0.0
    few = problem.n <= LAST_DIGIT_ROWS  # then sums are rounded once
    return balanced(alpha, sign > 0, rounded_once if few else np.sum)


def best_multiple(gain: float, squared: float) -> float:
    """The bound of t alpha for the best t in [0, 1], rounded down.

    gain is the sum of entropies, squared is |sum alpha_i y_i x_i|^2. t alpha is feasible too, and
    H(t q) >= t H(q): a poor alpha is better made smaller.
    """
    t = min(1.0, max(gain, 0.0) / squared) if squared > 0 else 1.0
    low = t * gain - 0.5 * t * t * squared * (1 + 8 * U)
    return low - 8 * U * (abs(low) + t * abs(gain))


def _sharp(problem: Problem, alpha: Array, cost: Array, *, free: bool) -> float:
    """The same bound from sums that are rounded once: beside columns of 1e8 and a large C errors
    of plain sums are most of the gap. 0 where there are too many rows for that."""
    sums = sharp_sums(problem, alpha, free=free)
    if sums is None or sums.share > 1e-3:
        return 0.0
    # entries of alpha that count less are rounded once more, and their factor is
    gain = entropy_below(np.where(sums.heavy, alpha * (1.0 - sums.share), alpha), cost, 16 * U)
    return best_multiple(gain, sums.squared)


def _without_penalty(problem: Problem, values: Array, C: float) -> float:
    """C times the least sum of losses is a bound as well, the penalty being no less than 0.

    It is the better one where the penalty hardly matters, and rounding spoils the other: a huge
    C, or huge numbers in X.
    """

    with np.errstate(all="ignore"):
        return C * lower_bound(problem, values) * (1 - 8 * U)


# -- Bounds for a logistic model of two classes on a large table, in one pass over the rows -------
#
# The pass gives margins m, losses and v = sum alpha_i y_i x_i for alpha_i = c_i sigma(-m_i).
# Since c H(sigma(-m)) = c log(1 + exp(-m)) + c sigma(-m) m, the entropies come with them: no
# logarithm more. Then alpha is moved on a sample of rows (``correction``), and v with it,
# so that D is close to the best and sum alpha_i y_i = 0; what rounding leaves of that sum is
# taken off the sample's rows of the heavier class.


_FAR = 0.02  # relative gap from which alpha as it is will not do
_AIM = 0.9  # of the goal, as far as it can be estimated
_STEEP = 30.0  # beyond this margin on the wrong side the entropy counts as 0


def large_bounds(problem: Problem, a: Array, C: float, goal: float, *, free: bool) -> Bounds:
    """Bounds for weights a; free says that b is, else there is none.

    goal is a relative gap that is small enough: then no larger sample is tried.
    """
    with one_blas_thread(), np.errstate(all="ignore"):
        read = _read(problem, a, C)
        high = _above(problem, a, read, C)
        g = np.append(a[:-1] - read.v[:-1], -read.v[-1])
        low, tries = -np.inf, sample_sizes(problem)
        if not free and 0.5 * float(g[:-1] @ g[:-1]) <= _FAR * high:
            tries = [0, *tries]  # alpha as it is
        for size in tries:
            new = _below(problem, a, read, C, g, size, _AIM * goal * high)
            better = new > low + 0.3 * (high - max(low, 0.0))
            low = max(low, new)
            if high - low <= goal * high or not (better or size < 1):
                break
    return Bounds(high, low, read.m)


@dataclass(frozen=True)
class Reading:
    """What one pass found at (w, b), the losses being C times as large as the weights say."""

    m: Array
    """Margins y f(x)."""
    v: Array
    """sum of alpha y [x, 1], alpha = cost sigma(-m)."""
    loss: float
    dual_sum: float
    """sum of alpha."""
    dual_product: float
    """sum of alpha m."""
    dual_length: float
    """Length of alpha."""
    terms: int
    """Most roundings in a row of any of these sums."""


def _read(problem: Problem, a: Array, C: float) -> Reading:
    """The pass in float64, and by no reader of a solver: what is wrong there is not wrong here."""
    m = plain.values(problem, a)
    sign, weight = plain.signs(problem), problem.weight
    alpha = weight * plain.sigma(m)
    pull = alpha * sign
    v, terms = plain.combination(problem, pull)

    def sums(m: Array, weight: Array, alpha: Array, pull: Array) -> Array:
        losses = weight @ plain.log_loss(m)
        return np.array([losses, alpha.sum(), pull.sum(), alpha @ m, alpha @ alpha])

    losses, mass, balance, product, squares = plain.added(sums, m, weight, alpha, pull).tolist()
    return Reading(
        m,
        np.append(C * v, C * balance if problem.fit_intercept else 0.0),
        C * losses,
        C * mass,
        C * product,
        C * math.sqrt(squares),
        terms + 5,
    )


def _above(problem: Problem, a: Array, read: Reading, C: float) -> float:
    """Upper bound of the objective."""
    columns = survey(problem).column_lengths()
    off = margin_errors(a, columns, read.dual_sum, read.dual_length, problem.weight, C)
    losses = read.loss * (1 + (read.terms + 32) * U) + off + problem.n * max(1.0, C) * 5e-324
    squared = float(a[:-1] @ a[:-1]) * (1 + (problem.d + 8) * U)
    return (0.5 * squared + losses) * (1 + 8 * U)


def _below(
    problem: Problem, a: Array, read: Reading, C: float, g: Array, size: int, goal: float
) -> float:
    """Lower bound with alpha moved on a sample of the size; 0 leaves alpha as it is."""
    v, length, slack = read.v[:-1], read.dual_length, 0.0
    gain, wrong = _entropies(read, problem.weight, C)
    error = float(read.terms)
    if size:
        rows, _, new = correction(problem, read.m, C, g, float(a[-1]), size, goal)
        index = rows.index  # nothing but the rows and their new variables is believed
        if index is None or len(np.unique(index)) < len(index):
            return -np.inf
        sign, c, m = plain.signs(problem)[index], C * problem.weight[index], read.m[index]
        old = c * plain.sigma(m)
        if problem.fit_intercept:
            new, slack = _balanced_rows(read, sign, old, new)
            if not slack < 1e-6:
                return -np.inf
        new = np.clip(new, 0.0, c * (1 - 4 * U))
        own_rows = problem.matrix[index]  # not the copy that the correction has worked on
        v = v + np.asarray(own_rows.T @ ((new - old) * sign), dtype=np.float64)
        length += float(np.linalg.norm(new)) + float(np.linalg.norm(old))
        error += len(index) + 8
        own = c * plain.log_loss(m) + old * m
        gain -= float(own.sum())
        wrong += (len(index) + 40) * U * float((c * plain.log_loss(m) + np.abs(old * m)).sum())
        gain += entropy_below(new, c, slack)
    error = (error * U + slack) * 1.001 * length
    size_v = np.abs(v) + error * survey(problem).column_lengths()
    pull = float(size_v @ size_v) * (1 + (problem.d + 8) * U)
    low = best_multiple(gain - wrong, pull)
    return low if np.isfinite(low) else -np.inf


def _entropies(read: Reading, weight: Array, C: float) -> tuple[float, float]:
    """Sum of c H(alpha / c) for the alpha of the pass, and how wrong it may be.

    Fenchel's equality holds for sigma(-m) itself. An alpha off by a relative 16 u loses at most
    c (16 u)^2 p / (1 - p), p = sigma(-m) (Kullback-Leibler against chi squared), which is nothing
    down to m = -30; there c (exp(m) + 16 u |m|) is all that can be claimed too much.
    """
    size = read.loss + abs(read.dual_product) + 2 * read.loss  # alpha |m| <= c loss where m < 0
    wrong = (read.terms + 64) * U * size + len(weight) * max(1e-300, C * 1e-323)
    wrong += 1e-15 * U * C * float(weight.sum())
    if float(read.m.min()) < -_STEEP:
        wrong += 1e-13 * C * float(weight[read.m < -_STEEP].sum())
    return read.loss + read.dual_product, wrong


def _balanced_rows(read: Reading, sign: Array, old: Array, new: Array) -> tuple[Array, float]:
    """The sample's rows of the heavier class scaled until sum alpha_i y_i = 0; the relative
    error of that."""
    balance = float(read.v[-1]) + float((sign * (new - old)).sum())
    heavy = sign > 0 if balance > 0 else sign < 0
    mass = float(new[heavy].sum())
    if not abs(balance) <= 0.5 * mass:
        return new, np.inf
    out = np.where(heavy, new * (1.0 - abs(balance) / mass), new) if balance else new
    sums = read.dual_sum + float(old.sum()) + float(new.sum())
    return out, 1.01 * (read.terms + len(old) + 8) * U * sums / mass + 6 * U


# -- A better dual point for a logistic model: dual variables moved on some of the rows -----------
#
# With alpha_i = c_i sigma(-m_i), m the margins of a model (w, b), the gap P - D is half the
# squared length of r = w - sum alpha_i y_i x_i, and sum alpha_i y_i need not vanish. Where the
# curvature is large that is far more than P - min P. The best alpha, with those outside a sample
# of rows left as they are, is c sigma(-(m - z.q)) on the sample, z = y [x, 1], q_w what is left
# of r and q_b such that sum alpha_i y_i = 0. Guarded Newton steps on the sample find q: no pass
# over all rows is needed.


_TURNS = 8  # Newton steps, at most
_HALVINGS = 4  # of one step, at most


def correction(
    problem: Problem, m: Array, C: float, g: Array, b: float, size: int, goal: float
) -> tuple[LogisticRows, Array, Array]:
    """The sample, its old and its new dual variables.

    g is r, and minus sum alpha_i y_i. Stops once the gap is estimated to be at most ``goal``,
    or hardly shrinks.
    """
    index, _, part = sample_matrix(problem, size)
    cost = C * problem.weight[index]
    rows = LogisticRows(part, problem.sign[index], cost, double=True, index=index)
    work = _Correction(problem, rows, m[index], g, b)
    for _ in range(_TURNS):
        if work.gap <= goal or not work.turn():
            break
    return rows, work.old, work.alpha


class _Correction:
    """q and what follows from it: dual variables, what is left of g, the gap."""

    def __init__(self, problem: Problem, rows: LogisticRows, m: Array, g: Array, b: float) -> None:
        self.problem, self.rows, self.m, self.g, self.b = problem, rows, m, g, b
        self.old = self.alpha = rows.cost * probability(m)
        self.slope = self.bend = rows.cost * curvature(m)
        self.own = float(rows.cost @ loss(m))
        self.q, self.t = np.zeros_like(g), np.zeros_like(m)
        self.left = g
        self.gap = self._gap(self.alpha, g)

    def turn(self) -> bool:
        """A Newton step, halved until the gap shrinks; whether it did so by enough."""
        width, offset = self.problem.width, self.problem.fit_intercept
        H = self.rows.gram(self.bend, None, offset=offset)[:width, :width]
        H.flat[: self.problem.d * (width + 1) : width + 1] += 1.0
        aim = self.left - self.q
        aim[-1] = self.left[-1]
        step = np.append(solved(H, aim[:width]), np.zeros(len(aim) - width))
        change, before = self.rows.margins(step), self.gap
        for k in range(_HALVINGS):
            t = self.t + 0.5**k * change
            alpha, bend = self._moved(t)
            left = self.g - self.rows.combine(alpha - self.old, None, offset=offset)
            gap = self._gap(alpha, left)
            if gap < before:
                self.q, self.t = self.q + 0.5**k * step, t
                self.alpha, self.bend, self.left, self.gap = alpha, bend, left, gap
                if gap < 0.5 * before:
                    break
            elif self.gap < before:
                break
        return self.gap < 0.7 * before

    def _gap(self, alpha: Array, left: Array) -> float:
        cost = self.rows.cost
        excess = self.own - float(cost @ entropy(alpha / cost)) + float(alpha @ self.m)
        lost = abs(float(left[-1])) * (1 + abs(self.b))
        return excess + 0.5 * float(left[:-1] @ left[:-1]) + lost

    def _moved(self, t: Array) -> tuple[Array, Array]:
        """Dual variables moved by t, and their derivatives.

        Upwards along the tangent as long as there is room, else along the curve, which stays
        inside the box whatever t is.
        """
        m, cost = self.m, self.rows.cost
        along = (t >= 0) & (self.slope * t <= 0.5 * (cost - self.old))
        e = np.exp(-np.abs(m - t))
        share = 1.0 / (1.0 + e)
        curve = cost * share * np.where(m > t, e, 1.0)
        moved = np.where(along, self.old + self.slope * t, curve)
        return moved, np.where(along, self.slope, cost * e * share * share)


# -- Sums of losses and of entropies with all rounding errors taken off ---------------------------
#
# Functions of numpy are trusted to 8 ulp.


def loss_above(values: Array, cost: Array, a: Array, columns: Array) -> float:
    """Upper bound of the sum of cost log(1 + exp(-m)); m_i is off by at most
    e_i = (d + 4) u (sum_j |x_ij w_j| + |b|), the loss by e_i sigma(-m_i) exp(e_i), and
    sum c_i |x_ij| <= |c| |column j|."""
    total, slopes, squares = plain.added(_losses, values, cost).tolist()
    off = margin_errors(a, columns, slopes, float(np.sqrt(squares)), cost)
    return float(total * (1 + SUM + 32 * U) + off + len(values) * 5e-324)


def margin_errors(
    a: Array, columns: Array, total: float, length: float, weight: Array, C: float = 1.0
) -> float:
    """What errors of the margins may add to the losses; total and length are the sum and the
    length of cost sigma(-m), cost = C weight."""
    step = (len(a) + 3) * U
    reach, offset = float(np.abs(a[:-1]) @ columns), abs(float(a[-1]))
    worst = step * (reach + offset)
    if worst < 0.5:
        return 1.7 * step * (length * reach + total * offset)
    sizes = float(np.linalg.norm(weight)) * reach + float(weight.sum()) * offset
    return 1.001 * step * C * sizes


def _losses(values: Array, cost: Array) -> Array:
    slope = cost * plain.sigma(values)
    return np.array([(cost * plain.log_loss(values)).sum(), slope.sum(), slope @ slope])


def entropy_below(alpha: Array, cost: Array, slack: float) -> float:
    """Lower bound of the sum of cost H(alpha / cost) where each alpha has a relative error of
    ``slack`` and alpha / cost was rounded. An error e of q changes H by no more than
    e (|log q| + |log(1 - q)| + 1) as long as it is small against 1 - q; rows nearer to 1 than
    that count as 0."""
    total, size = plain.added(partial(_entropy_values, slack), alpha, cost)
    return float(total - (32 * U + SUM + 2 * slack) * size)


def _entropy_values(slack: float, alpha: Array, cost: Array) -> Array:
    q = alpha / cost
    q[~(q < 1.0 - 1e3 * (slack + 4 * U))] = 0.0
    q[q < 1e-290] = 0.0
    r = 1.0 - q
    log_q, log_r = np.log(np.where(q > 0, q, 1.0)), np.log1p(-q)  # not log(r): r was rounded
    left, right = -q * log_q, -r * log_r
    size = left + right + q * (2.0 - log_r)
    return np.array([(cost * (left + right)).sum(), (cost * size).sum()])


# -- How far a logistic model is from the maximum of the conditional likelihood, with no penalty
#
# P(a) = sum s_i log(1 + exp(-z_i.a)) over the reflected rows z_i = y_i [x_i, 1]. Its dual is
# D(alpha) = sum s_i H(alpha_i / s_i), a lower bound of P for all 0 <= alpha <= s with
# sum alpha_i z_i = 0. Floating point meets this equation only nearly, and no penalty forgives the
# rest; but a feasible point is close, and that is enough:
#
# 1. alpha_0 = s sigma(-m) at the model, W = diag of its curvature s sigma(m) sigma(-m),
#    M = Z'WZ. The Newton step of the dual, alpha_1 = alpha_0 - W Z M^-1 Z' alpha_0, leaves a
#    residual r = Z' alpha_1 that is rounding only.
# 2. delta = -W Z M^-1 r would make it exact: Z'(alpha_1 + delta) = 0. Since W_i z_i z_i' <= M,
#    W_i z_i' M^-1 z_i <= 1 and so |delta_i| <= sqrt(W_i) rho for rho^2 = r' M^-1 r; and
#    sum delta_i^2 / W_i = rho^2.
# 3. With the columns scaled to a unit diagonal of M, rho^2 <= |r|^2 / lambda, where lambda is the
#    smallest eigenvalue of M less all errors of its computation.
# 4. If every |delta_i| is at most half the distance of alpha_1 to its box, then
#    D(alpha_1 + delta) >= D(alpha_1) - sum |delta_i| (|log odds| + 2)
#                        >= D(alpha_1) - rho sqrt(sum W_i (|log odds_i| + 2)^2).
#
# Such an alpha is strictly positive, so it proves as well that a maximum exists: were there a
# direction u with z_i.u >= 0 for all rows and > 0 for one, sum alpha_i z_i.u would not be 0
# (Albert and Anderson 1984). On separable and quasi-separable data the proof fails.
#
# There the rows that the plane leaves strictly on their own side are left out: their losses are
# never negative, so a bound for the other rows is a bound for all. The best likelihood of the
# rows on the plane is the supremum for all rows, and weights that go far enough along the plane's
# direction come as close to it as one likes. Which rows are left out needs no proof.
#
# Columns that depend on others exactly (all dummies of a factor and an intercept) are left out of
# Z: what is zero in the others is zero in them. That they depend is checked in integers. Where
# there are more columns than rows most of them do.


_COLUMNS = 3000  # columns beyond which no matrix of all pairs is made
_FAR_SCORE, _TRIES = 2.0, 8  # margins from which rows may be left out, at the largest ratios


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


_STEADY = 1e-4  # share of the sum of its terms that a slope may have near a maximum


def steady(problem: Problem, a: Array) -> bool:
    """Whether the slopes of the likelihood cancel, so that weights may be near its maximum."""
    S = plain.scores(problem, a)
    if problem.binary:
        y = plain.signs(problem)
        left = (y * plain.sigma(y * S))[:, None]
    else:
        share = np.exp(S - S.max(axis=1, keepdims=True))
        left = (problem.label[:, None] == np.arange(problem.K)) - share / share.sum(
            axis=1, keepdims=True
        )
    left *= problem.weight[:, None]
    slope, size = plain.combination(problem, left)[0], abs(problem.matrix).T @ np.abs(left)
    flat = bool((np.abs(slope) <= _STEADY * size).all())
    if not problem.fit_intercept:
        return flat
    return flat and bool((np.abs(left.sum(axis=0)) <= _STEADY * np.abs(left).sum(axis=0)).all())


def likelihood_gap(problem: Problem, a: Array) -> Gap:
    """Objective and lower bound of minus the log likelihood; 0 where nothing can be proved."""
    return likelihood_bounds(problem, a)[0]


def likelihood_bounds(problem: Problem, a: Array, *, part: bool = True) -> tuple[Gap, bool]:
    """The same, and whether it is proved that the likelihood has a maximum.

    part says whether to try bounds of some rows where there is none of all.
    """
    a = np.asarray(a, dtype=np.float64)
    with one_blas_thread(), np.errstate(all="ignore"):
        values = plain.values(problem, a)
        totals = plain.one_pass(problem, a, problem.weight * plain.sigma(values))
        high = loss_above(totals.values, problem.weight, a, totals.columns)
        low = lower_bound(problem, values)
        exists = low > 0.0
        if part and not exists:
            low = _partial_bound(problem, values, high)
    offset = "with an intercept" if problem.fit_intercept else "no intercept"
    words = f"minus the log likelihood (no penalty); {offset}"
    length = float(np.linalg.norm(a[:-1]))
    gap = Gap.of(totals.values, length, high, max(low, 0.0), words, float(a[-1]))
    return gap, exists


def _partial_bound(problem: Problem, values: Array, high: float) -> float:
    """The best bound of those for the rows nearer to the plane than some margin."""
    losses = problem.weight * plain.log_loss(values)
    far = np.unique(values[values > _FAR_SCORE])
    ratio = far / np.append(_FAR_SCORE, far[:-1])
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
    s, sign = problem.weight, plain.signs(problem)
    alpha = s * plain.sigma(values)
    W = s * plain.sigma(values) * plain.sigma(-values)
    if problem.d > _COLUMNS or not (np.isfinite(alpha).all() and alpha.min() > 0):
        return 0.0
    gram = _gram(problem, W, given)
    if gram is None:
        return 0.0
    for _ in range(2):
        r, _ = _residual(problem, alpha)
        step = gram.solve(r)
        t = sign * (plain.product(problem, step[:-1]) + step[-1])
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
    if problem.n >= problem.width or problem.n > _COLUMNS:
        return problem
    dropped = dependent_columns(problem)
    if dropped is None:
        return problem
    return columns_of(problem, np.setdiff1d(np.arange(problem.d), dropped))


def _residual(problem: Problem, alpha: Array) -> tuple[Array, Array]:
    """sum alpha_i z_i, and a bound of its rounding errors."""
    totals = plain.one_pass(problem, np.zeros(problem.d + 1), alpha)
    length = float(np.linalg.norm(alpha)) * 1.001
    error = (totals.terms + 2) * U * length * totals.columns  # entries may be rounded, centred
    if not problem.fit_intercept:
        return np.append(totals.v, 0.0), np.append(error, 0.0)
    positive = plain.signs(problem) > 0
    plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
    return np.append(totals.v, plus - minus), np.append(error, SUM * (plus + minus))


def _gram(problem: Problem, W: Array, given: Problem) -> _Gram | None:
    """The matrix on independent columns; None if they cannot be told."""
    full, unit, terms = _products(problem, W)
    if not np.isfinite(full).all():
        return None
    columns = np.flatnonzero(unit)
    gram = _scaled_shares(full, unit, columns, terms)
    if gram is not None and gram.least > 0:
        return gram
    dropped = dependent_columns(given)
    if dropped is None:
        return None
    return _scaled_shares(full, unit, np.setdiff1d(columns, dropped), terms)


def _scaled_shares(
    full: Array, unit: Array, columns: NDArray[np.int64], terms: int
) -> _Gram | None:
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
    error = (terms + 10 * width) * U * width
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
    root = np.sqrt(W)

    def work(lo: int, hi: int, block: Array) -> Array:
        B = np.empty((hi - lo, d + 1))
        np.multiply(block, unit[:d], out=B[:, :d])
        B[:, d] = unit[d]
        B *= root[lo:hi, None]
        return B.T @ B

    total, terms = plain.blockwise(problem, (d + 1, d + 1), work)
    return total, unit, terms + 8


# -- The same rows with columns of mean nearly 0, where an intercept makes up for it --------------


_LARGE = 20_000_000  # entries beyond which no copy is made


def centred(problem: Problem) -> tuple[Problem, NDArray[np.float64]]:
    """A twin of the problem, and what was taken off its columns; itself where none is made.

    The columns of [X, 1] span the same space. An entry less the mean is rounded once, so columns
    far from 0 keep all their digits.
    """
    nothing = np.zeros(problem.d)
    if problem.sparse or not problem.fit_intercept or problem.n * problem.d > _LARGE:
        return problem, nothing
    means = problem.matrix.mean(axis=0, dtype=np.float64)
    twin = moved(problem, means)
    return (twin, means) if np.isfinite(twin.matrix).all() else (problem, nothing)
