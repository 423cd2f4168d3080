"""How far a softmax model is from the best one, recomputed from its weights alone.

P(W, b) = |W|^2 / 2 + sum_i c_i (log sum_k exp f_k(x_i) - f_y(x_i)), c_i = C s_i. For shares
q_ik >= 0 of the rivals k of row i with Q_i = sum_k q_ik <= 1 put alpha_ik = -c_i q_ik and
alpha_iy = c_i Q_i. Then for all (W, b), since the loss is the conjugate of the entropy H,

    P(W, b) >= sum_i c_i H(q_i, 1 - Q_i) - |V|^2 / 2 - r.b,   V = sum alpha_i x_i', r = sum alpha_i.

The shares are those of the model once its intercepts are best for its weights, so r is zero but
for rounding. What is left of it costs at most |r|_1 (max b* - min b*): every row of class y has
a loss of at most P* / c_i, so b*_y - b*_k >= -P* / c_i - (w*_y - w*_k).x_i, and W* is at most
sqrt(2 P*) long and sqrt(2 (P - P*)) away from W since P is strongly convex in it. With t q in
place of q, 0 <= t <= 1, the bound is no worse than t A - t^2 |V|^2 / 2, A the sum of entropies:
a poor model still gets a bound that is not negative. The q are taken as they are stored, 1 - Q is
never rounded into them, and all errors of sums are bounded: the numbers hold for real arithmetic.

Of rows that are read part by part the shares are those of a point (W', b'), the generator. Each
block adds up, for every class y and rival k, the flow F_yk = sum c_i q_ik over the rows of the
class, and the same sum of c_i q_ik x_i. Some flows are made smaller at the end, by factors t_yk,
none above 1, until they balance (losses/softmax.circulation). t q are shares as well, and since
entropies are concave and not negative, H(t q) >= min_k t_yk H(q): with those of a class times that,

    P(W, b) >= P* >= sum_y min_k t_yk G_y - |V|^2 / 2,   V_k = sum_l t_kl V_kl - sum_y t_yk V_yk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from linsep.core.costs import ANOTHER_BOUND, PRODUCT, SHARP_SCORES, SOFTMAX_PASS
from linsep.core.lanes import one_blas_thread
from linsep.core.problem import Problem, against_rest, rows_of
from linsep.errors import ProofError
from linsep.losses.softmax import best_intercepts, circulation, flows, shares
from linsep.numerics.rounding import (
    LOST,
    SPLITTABLE,
    SUM,
    U,
    rounded_once,
    split_product,
    sum_of_pairs,
)
from linsep.proofs import plain
from linsep.proofs.gap import Gap
from linsep.proofs.logistic import centred
from linsep.proofs.parts import RowSums, Source, StreamGap, in_rows, judged
from linsep.rows.exact import dependent_columns
from linsep.rows.parts import PartsProblem
from linsep.rows.reader import survey

Array = NDArray[np.float64]

_POOR = 1e-6  # relative gap from which another bound is tried
_PASSES, _OFFSETS = 12, 6  # over the scores for a bound, and steps to its offsets


def softmax_gap(
    problem: Problem,
    a: Array,
    C: float,
    reference: int | None = None,
    alpha: Array | None = None,
    *,
    part: bool = True,
    goal: float = _POOR,
    bounded: bool = True,
) -> Gap:
    """Bounds for the weights a, K blocks of d + 1 numbers (two blocks for two classes).

    Parameters
    ----------
    problem : Problem
    a : array of K (d + 1) numbers
        With a reference class the blocks count relative to its own.
    C : float
        inf means no penalty: the likelihood alone.
    reference : int, optional
        Number of the class whose weights are zero and not among the unknowns.
    alpha : array of shape (n, K), optional
        A dual point; that of the model without it. Any numbers will do, poor ones give a poor
        bound.
    part : bool, default=True
        Without a penalty, where there is no bound of all losses: try those of some rivals alone.
        A bound of all proves as well that a maximum of the likelihood exists.
    goal : float
        Relative gap for which no better bound is looked for, if it is larger than 1e-6.
    bounded : bool, default=True
        Without it the bound of all models is 0, which losses are never below, and takes no time.
    """
    goal = max(goal, _POOR)
    blocks = np.array(a, dtype=np.float64).reshape(problem.K, problem.d + 1)
    if reference is not None:
        blocks -= blocks[reference]
    W, b = blocks[:, :-1], blocks[:, -1]
    with one_blas_thread(), np.errstate(all="ignore"):
        S = np.ascontiguousarray(plain.product(problem, W.T).T)
        S += b[:, None]
        cost = (1.0 if np.isinf(C) else C) * problem.weight
        if not np.isfinite(S).all():
            problem.check_finite()
            return _facts(problem, S, blocks, np.inf, 0.0, softmax_words(problem, C, reference))
        high, doubt, off = objective_above(problem, W, b, S, cost, penalty=not np.isinf(C))

        if not bounded:
            return _facts(problem, S, blocks, high, 0.0, softmax_words(problem, C, reference))

        def below(rows: Problem, offsets: Array) -> float:
            if np.isinf(C):
                return high - doubt - likelihood_bound(rows, S, cost, reference, off, problem)
            moved = rows is not problem
            enough = (1.0 - goal) * high
            return dual_bound(
                rows, S, W, offsets, off, cost, high, reference, alpha, moved=moved, enough=enough
            )

        low = below(problem, b)
        if not high - low <= goal * high and _far_away(problem):
            twin, means = centred(problem)
            low = float(np.fmax(low, below(twin, b + W @ means)))
        if np.isfinite(C) and not high - low <= goal * high:
            low = float(np.fmax(low, _without_penalty(problem, blocks, C, reference)))
        if np.isinf(C) and part and not low > 0:
            low = face_bound(problem, blocks, S, cost, reference)
        low = min(low, high) if low > 0 else 0.0
        return _facts(problem, S, blocks, high, low, softmax_words(problem, C, reference))


def bound_seconds(problem: Problem) -> float:
    """About what a bound of all models takes: passes over the scores, and Newton's offsets."""
    scores = float(problem.n * problem.K)
    return scores * (_PASSES * SOFTMAX_PASS + _OFFSETS * PRODUCT * 3 * problem.K)


def _without_penalty(problem: Problem, blocks: Array, C: float, reference: int | None) -> float:
    """C times the least sum of losses, the penalty being no less than 0: the better bound where
    C is so large that rounding spoils the other."""
    if problem.n * problem.dim**2 > ANOTHER_BOUND:
        return 0.0
    plain = softmax_gap(problem, blocks.ravel(), np.inf, reference, part=False)
    return C * plain.lower_bound * (1 - 8 * U)


def _far_away(problem: Problem) -> bool:
    """Whether a column is so far from 0 that most of its digits are those of its mean."""
    if problem.sparse:
        return False
    means = problem.matrix.mean(axis=0, dtype=np.float64)
    return bool((problem.n * means * means > 0.9 * survey(problem).columns).any())


def softmax_words(problem: Any, C: float, reference: int | None) -> str:
    losses = f"sum of log-losses of {problem.K} classes"
    terms = losses if np.isinf(C) else f"|W|^2 / 2 + {C:.6g} x {losses}"
    if reference is not None:
        terms += f", the weights of class {problem.classes[reference]} being 0"
    offsets = "the intercepts are not penalised" if problem.fit_intercept else "no intercept"
    return f"{terms}; {offsets}"


def _facts(problem: Problem, S: Array, blocks: Array, high: float, low: float, words: str) -> Gap:
    at = np.arange(problem.n)
    own = S[problem.label, at].copy()
    S[problem.label, at] = -np.inf
    values = own - S.max(axis=0)
    length, offset = (float(np.linalg.norm(part)) for part in (blocks[:, :-1], blocks[:, -1]))
    return Gap.of(values, length, high, low, words, offset)


# -- The objective of a softmax model from above, with all errors of its computation --------------


_FUNCTION = 16 * U  # of exp, log and log1p, generously


def objective_above(
    problem: Problem, W: Array, b: Array, S: Array, cost: Array, *, penalty: bool
) -> tuple[float, float, float]:
    """Upper bound of P(W, b), how far it can be too high, and how far off a score can be."""
    losses, wrong = plain.softmax_losses(S, problem.label)
    # scores are off by e_i <= (d + 4) u (sum_j |x_ij| max_k |w_kj| + |b|), and the loss by
    # 2 e_i times the largest share of the rivals on the way, at most exp(2 e_i) times the present
    step = (problem.d + 4) * U
    reach = float(np.abs(W).max(axis=0) @ survey(problem).column_lengths())
    offset = float(np.abs(b).max())
    worst = step * (reach + offset)
    slope = cost * np.minimum(wrong * np.exp(min(2 * worst, 700.0)), 1.0)
    off = 2 * step * (float(np.linalg.norm(slope)) * reach + float(slope.sum()) * offset)
    total = float((cost * losses).sum())
    half = 0.5 * float(np.vdot(W, W)) if penalty else 0.0
    doubt = total * (SUM + problem.K * U + _FUNCTION) + half * (W.size + 8) * U + off * 1.001
    doubt += 16 * U * (half + total)
    return half + total + doubt, 2 * doubt, worst


# -- The lower bound of a penalised softmax model from its shares, with all rounding errors -------
#
# See the head of the file for the bound itself. Sums are rounded as numpy does it, and their errors
# bounded; where these bounds are much of the gap the sums are taken again, each rounded once.


_TURNS = 4  # of making a dual point better, at most
_BLURRED = 0.1  # share of a gap owed to rounding from which sums are taken more exactly


def dual_bound(
    problem: Problem,
    S: Array,
    W: Array,
    b: Array,
    off: float,
    cost: Array,
    high: float,
    reference: int | None,
    alpha: Array | None,
    *,
    moved: bool,
    enough: float,
) -> float:
    """A lower bound of the least P. Scores S are right to ``off``; moved: the rows were rounded;
    enough: a bound beside which no better one is looked for."""
    q = feasible_shares(problem, S, cost, reference, alpha)
    Q = q.sum(axis=0)
    gain, slack = entropy_of(problem, q, Q, cost)
    full = q * -cost
    full[problem.label, np.arange(problem.n)] = cost * Q
    V, terms = combination(problem, full)
    lengths = np.sqrt(np.einsum("kn,kn->k", full, full)) * (1 + 1e-9)
    error = (
        (terms + problem.K + 6) * U * 1.001 * np.outer(lengths, survey(problem).column_lengths())
    )
    size = np.abs(V) + error
    if reference is not None:
        size[reference] = error[reference] = 0.0
    square = float(np.vdot(size, size)) * (1 + (V.size + 8) * U)
    left = np.abs(full.sum(axis=1))
    rest = left + (SUM + problem.K * U) * np.abs(full).sum(axis=1)

    def value(gain: float, square: float, rest: float) -> float:
        if not problem.fit_intercept:
            return best_value(gain, square)
        rows = survey(problem).row_lengths()
        return with_rest(problem, rows, S, b, off, cost, high, gain, square, rest)

    low = value(gain - slack, square, float(rest.sum()))
    if low >= enough:
        return low
    clear = size - error
    blur = value(gain, float(np.vdot(clear, clear)), float(left.sum())) - low
    if blur > _BLURRED * (high - low) or nearer_is_cheap(problem):
        low = float(np.fmax(low, _sharp(problem, full, W, cost, reference, value, moved=moved)))
    return low


def _sharp(
    problem: Problem,
    alpha: Array,
    W: Array,
    cost: Array,
    reference: int | None,
    value: Callable[[float, float, float], float],
    *,
    moved: bool,
) -> float:
    """The same bound from sums that are rounded once, and alpha made better by what they tell."""
    low = 0.0
    for _ in range(_TURNS):
        alpha = on_grid(alpha, cost, problem.label)
        sums = sharp_softmax(problem, alpha, reference, moved=moved)
        if sums is None:
            break
        new = value(entropy_below(problem, alpha, cost), sums.squared, sums.rest)
        if not new > low * (1 + _POOR):
            break
        low = new
        better = nearer(problem, alpha, sums.V, W, cost, reference)
        if better is None:
            break
        alpha = better
    return low


def entropy_below(problem: Problem, full: Array, cost: Array) -> float:
    """At least the sum of entropies of a dual point."""
    q = np.maximum(-full, 0.0) / cost
    gain, slack = entropy_of(problem, q, q.sum(axis=0), cost)
    return gain - slack


def best_value(gain: float, square: float) -> float:
    """t gain - t^2 square / 2 for the best t in [0, 1], rounded down."""
    if not gain > 0:
        return 0.0
    t = min(1.0, gain / square) if square > 0 else 1.0
    return (t * gain - 0.5 * t * t * square) * (1 - 16 * U)


def with_rest(
    problem: Problem,
    lengths: Array,
    S: Array,
    b: Array,
    off: float,
    cost: Array,
    high: float,
    gain: float,
    square: float,
    rest: float,
) -> float:
    """The bound less what an imperfect balance can cost; see the head of the file.

    The best weights are no longer than sqrt(2 P), and no farther from the present ones than
    sqrt(2 gap): a bound once found makes the next one better. lengths are those of the rows.
    """
    most = min(high, float(cost.sum()) * np.log(problem.K)) * (1 + 1e-9)
    products = S - b[:, None]
    spread = (products.max(axis=0) - products.min(axis=0)) * (1 + 1e-9)
    spread += 1e-9 * (np.abs(products).max(axis=0) + float(np.abs(b).max())) + 8 * off
    low = 0.0
    for turn in range(5):
        if turn == 0:
            far = most / cost + 2.0 * np.sqrt(most) * lengths
        else:
            far = most / cost + spread + 2.0 * np.sqrt(high - low) * lengths
        nearest = np.full(problem.K, np.inf)
        np.minimum.at(nearest, problem.label, far)
        reach = float(nearest[np.isfinite(nearest)].max(initial=0.0)) * (1 + 1e-9)
        better = best_value(gain - rest * reach, square)
        if not better > low * (1 + 1e-12):
            break
        low = min(better, high)
    return low


def feasible_shares(
    problem: Problem, S: Array, cost: Array, reference: int | None, alpha: Array | None
) -> Array:
    """Shares of the rivals with sums at most 1."""
    at = np.arange(problem.n)
    if alpha is not None:
        q = np.maximum(-np.nan_to_num(np.asarray(alpha, dtype=np.float64).T) / cost, 0.0)
        q[problem.label, at] = 0.0
    elif problem.fit_intercept:
        q = best_intercepts(S, problem.label, cost, reference=reference)[1].rivals
    else:
        q = shares(S, problem.label).rivals
    if problem.fit_intercept:  # a class without rows has no intercept to balance
        q[np.bincount(problem.label, minlength=problem.K) == 0] = 0.0
    return _capped(q)


def capped_shares(S: Array, label: NDArray[np.int64]) -> Array:
    """The same at given scores, of the rows of some part."""
    return _capped(shares(S, label).rivals)


def _capped(q: Array) -> Array:
    most = 1.0 - 4 * len(q) * U
    total = q.sum(axis=0)
    over = total > most
    q[:, over] *= most / total[over]
    return np.asarray(q)


def entropy_of(problem: Problem, q: Array, Q: Array, cost: Array) -> tuple[float, float]:
    """sum of c H and a bound of its error, relative to what each row adds."""
    rivals = -np.where(q > 0, q * np.log(np.maximum(q, 1e-320)), 0.0).sum(axis=0)
    rest = np.log1p(-np.minimum(Q, 1.0 - U))
    own = -(1.0 - Q) * rest
    gain = float((cost * (rivals + own)).sum())
    # Q is off by K u Q; the entropy of the own class then by that times 1 + |log(1 - Q)|
    doubt = float(cost @ (rivals + own + Q * (1.0 - rest)))
    return gain, (SUM + _FUNCTION + 4 * problem.K * U) * doubt


def combination(problem: Problem, alpha: Array) -> tuple[Array, int]:
    """sum_i alpha_ki x_i, shape (K, d), and how often an entry was rounded in a row at most."""
    V, terms = plain.combination(problem, np.ascontiguousarray(alpha.T))
    return np.ascontiguousarray(V.T), terms


# -- The dual value of a softmax model from sums that are rounded once ----------------------------
#
# As ``sharp_sums`` for two classes: beside columns of 1e8 at a large C the usual bound of
# rounding errors, |alpha| times the lengths of columns, is most of the gap. The alpha are first
# put on a grid, one for each row, on which the sum over its rivals is exact; so nothing is
# rounded but the shares alpha / c, whose entropies are as good as those of the shares given.
#
# Scores have errors as well, and alpha with them: then V = sum alpha_i x_i' is far from W in the
# columns of 1e8, though no model in floats is better. ``nearer`` moves alpha by a Newton step so
# that V meets W and the classes balance. Any alpha gives a bound; this one a good one.


_STEP = 200_000_000  # multiplications for a Newton step that are
_UNKNOWNS = 600  # and its unknowns


class SharpSoftmax(NamedTuple):
    """Sums of a dual point of shape (K, n) whose columns sum to 0 exactly."""

    V: Array
    """V_k = sum_i alpha_ki x_i, rounded once; the last column is sum_i alpha_ki."""
    squared: float
    """At least |V|^2 without its last column and without the reference class."""
    rest: float
    """At least the sum over k of |sum_i alpha_ki|."""


def on_grid(alpha: Array, cost: Array, label: NDArray[np.int64]) -> Array:
    """alpha of shape (K, n) made feasible: rivals <= 0, no larger in size than those given, of a
    sum less than the cost, and the own class such that every column sums to 0 exactly."""
    at = np.arange(alpha.shape[1])
    beta = np.maximum(-alpha, 0.0)
    beta[label, at] = 0.0
    total, most = beta.sum(axis=0), cost * (1.0 - 4 * len(alpha) * U)
    over = total > most
    beta[:, over] *= most[over] / total[over] * (1.0 - 4 * len(alpha) * U)
    # multiples of 2^(e - 51), their sum less than 2^e: they add up to less than 2^52 of them
    step = np.ldexp(1.0, np.maximum(np.frexp(beta.sum(axis=0))[1] - 51, -1000))
    beta = np.floor(beta / step) * step
    total = beta.sum(axis=0)
    beta = 0.0 - beta
    beta[label, at] = total
    return np.asarray(beta)


def sharp_softmax(
    problem: Problem, alpha: Array, reference: int | None, *, moved: bool
) -> SharpSoftmax | None:
    """Sums for alpha as ``on_grid`` gives it; None where they are not tried.

    moved: the entries of X are themselves rounded once, as those of centred rows are.
    """
    if alpha.size * problem.d > SHARP_SCORES:
        return None
    X = _dense(problem)
    most = max(float(np.abs(X).max(initial=0.0)), float(np.abs(alpha).max(initial=0.0)))
    if not most < SPLITTABLE:
        return None
    V, size = np.zeros((problem.K, problem.d + 1)), np.zeros((problem.K, problem.d))
    for k in range(problem.K):
        rows = np.flatnonzero(alpha[k])
        c = alpha[k, rows]
        V[k, -1] = rounded_once(c)
        for j in range(problem.d):
            first, second = split_product(c, X[rows, j])
            V[k, j] = sum_of_pairs(first, second)
            size[k, j] = 2 * U * float(np.abs(first).sum()) if moved else 0.0
        size[k] += np.abs(V[k, :-1]) * (1 + 4 * U) + len(rows) * LOST
    if reference is not None:
        size[reference] = 0.0
    squared = float(np.vdot(size, size)) * (1 + (size.size + 16) * U)
    return SharpSoftmax(V, squared, float(np.abs(V[:, -1]).sum()) * (1 + (problem.K + 4) * U))


def nearer_is_cheap(problem: Problem) -> bool:
    """Whether a Newton step is worth its work."""
    unknowns = problem.dim
    return unknowns <= _UNKNOWNS and problem.n * unknowns**2 <= _STEP


def nearer(
    problem: Problem, alpha: Array, V: Array, W: Array, cost: Array, reference: int | None
) -> Array | None:
    """alpha moved so that V comes nearer to W and its last column, if it counts, to 0.

    alpha + c (diag p - p p') U x on every row, (H + 1) U = W - V, H the second derivatives of the
    losses at the shares p that belong to alpha. None where that is too much work.
    """
    width = problem.d + problem.fit_intercept
    carrying = np.delete(np.arange(problem.K), [] if reference is None else [reference])
    unknowns = len(carrying) * width
    if not nearer_is_cheap(problem):
        return None
    X = np.column_stack([_dense(problem), np.ones(problem.n)])[:, :width]
    own = problem.label, np.arange(problem.n)
    p = np.maximum(-alpha / cost, 0.0)
    p[own] = 0.0
    p[own] = 1.0 - p.sum(axis=0)
    H = second_derivatives(X, p, cost)[np.ix_(carrying, carrying)]
    H = H.transpose(0, 2, 1, 3).reshape(unknowns, unknowns)
    ridge = np.tile(np.arange(width) < problem.d, len(carrying)).astype(np.float64)
    aim = (np.column_stack([W, np.zeros(problem.K)]) - V)[carrying][:, :width]
    diagonal = H.diagonal() + ridge
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    A = (H + np.diag(ridge)) * scale[:, None] * scale
    if not (np.isfinite(A).all() and np.isfinite(aim).all()):
        return None
    turn = np.zeros((problem.K, width))
    found = np.linalg.lstsq(A, aim.ravel() * scale, rcond=1e-14)[0]
    turn[carrying] = (found * scale).reshape(len(carrying), width)
    F = turn @ X.T
    return np.asarray(alpha + cost * p * (F - (p * F).sum(axis=0)))


def _dense(problem: Problem) -> Array:
    return np.asarray(problem.matrix.toarray() if problem.sparse else problem.matrix, np.float64)


# -- How far a softmax model is from the greatest likelihood, with no penalty ---------------------
#
# F(W) = sum_i s_i (log sum_k exp f_k(x_i) - f_y(x_i)), the last class that carries no weights of
# its own being any class: only differences of scores count. Along a direction U the third
# derivative of F is at most rho times the second, rho the largest range of the scores U x_i over
# the classes of one row (a third central moment is no more than the range times the variance).
# So with g and H at W, nu^2 = g' H^-1 g, r^2 = U' H U and rho <= c r (Bach 2010, Self-concordant
# analysis for logistic regression, lemma 1, with this rho)
#
#     F(W + U) >= F(W) - nu r + (exp(-c r) + c r - 1) / c^2  for all U,
#
# and if c nu < 1 the least value of the right-hand side over r lies below F(W) by no more than
# nu^2 / 2 (1 + c nu). A finite bound proves as well that a maximum of the likelihood exists.
#
# H is scaled to a unit diagonal, its smallest eigenvalue lambda is bounded from below with all
# errors of its computation; then nu <= |g| / sqrt(lambda) and c <= sqrt(2) max |x_i| /
# sqrt(lambda) in the scaled coordinates. Weights on which others depend exactly are left out:
# columns that depend on each other, and where rivals are left out whatever only those tell apart.


_WEIGHTS = 1500  # weights up to which the matrix of second derivatives is looked at
_WORK = 1 << 34  # and multiplications for it
_EXACT = 4_000_000  # entries of a table of rivals whose columns are looked at


def likelihood_bound(
    problem: Problem,
    S: Array,
    cost: Array,
    reference: int | None,
    off: float,
    given: Problem | None = None,
) -> float:
    """A bound of F - min F at scores S of shape (K, n), right to ``off``; inf if there is none.

    A score of -inf leaves that rival out of the loss of its row. ``given`` are the rows before
    they were centred: there columns depend on each other exactly.
    """
    K, n, d = problem.K, problem.n, problem.d
    columns = np.arange(d + 1 if problem.fit_intercept else d)
    weights = (K - 1) * len(columns)
    if weights > _WEIGHTS or n * weights**2 > _WORK or not off < 1e-3:
        return np.inf
    matrix = problem.matrix.toarray() if problem.sparse else problem.matrix
    X = np.ones((n, d + 1))
    X[:, :d] = matrix
    # powers of two bring the columns to the size of 1 without rounding
    most = np.abs(X).max(axis=0)
    X *= np.where(most > 0, np.ldexp(1.0, -np.frexp(most)[1].clip(-1000, 1000)), 0.0)
    columns = columns[most[columns] > 0]
    last = K - 1 if reference is None else reference
    carrying = np.delete(np.arange(K), last)
    terms = _terms(problem, X, S, cost, carrying, columns)
    bound = _bound(terms, np.arange(terms.H.shape[0]), off)
    if np.isinf(bound):
        kept = _independent(given or problem, S, carrying, columns)
        bound = np.inf if kept is None else _bound(terms, kept, off)
    return bound


class _Terms(NamedTuple):
    """Sums over the rows, by class and column; of classes that carry weights."""

    H: Array
    g: Array
    size: Array
    """Sums of the sizes of what adds up to g."""
    longest: Array
    """X * X, to bound how far scores change."""
    classes: int
    roundings: int
    """How often a sum is rounded, at most."""


def _terms(
    problem: Problem,
    X: Array,
    S: Array,
    cost: Array,
    carrying: NDArray[np.int64],
    columns: NDArray[np.int64],
) -> _Terms:
    now, at = shares(S, problem.label), np.arange(problem.n)
    X, size = X[:, columns], len(carrying) * len(columns)
    p = now.rivals.copy()
    p[problem.label, at] = now.own
    H = second_derivatives(X, p, cost)[np.ix_(carrying, carrying)]
    H = H.transpose(0, 2, 1, 3).reshape(size, size)
    alpha = now.rivals * cost
    alpha[problem.label, at] = -cost * now.rivals.sum(axis=0)
    alpha = alpha[carrying]
    g, sizes = (alpha @ X).ravel(), (np.abs(alpha) @ np.abs(X)).ravel()
    return _Terms(H, g, sizes, X * X, len(carrying), problem.n + 2 * problem.K)


def _bound(terms: _Terms, kept: NDArray[np.int64], off: float) -> float:
    """The bound from the kept weights alone, the others being 0."""
    size = len(kept)
    if not size:
        return 0.0  # no weights change the losses that count
    H = terms.H[np.ix_(kept, kept)]
    diagonal = H.diagonal()
    if not (np.isfinite(H).all() and (diagonal > 0).all()):
        return np.inf
    scale = 1.0 / np.sqrt(diagonal)
    # entries of the scaled matrix are sums of terms whose sizes add up to 1 at most; shares are
    # right to 4 off and a few roundings each
    error = (terms.roundings + 32) * U + 10 * off
    values = scipy.linalg.eigvalsh(H * scale[:, None] * scale, check_finite=False)
    least = float(values[0]) - size * error - 10 * size * size * U
    if not least > 0:
        return np.inf
    g = np.abs(terms.g[kept]) + error * terms.size[kept] * (1 + 1e-9)
    nu = float(np.linalg.norm(g * scale)) / np.sqrt(least) * (1 + 1e-9)
    scales = np.zeros(len(terms.g))
    scales[kept] = scale
    squares = (scales * scales).reshape(terms.classes, -1)
    longest = float(np.sqrt((terms.longest @ squares.T).max())) * (1 + 1e-9)
    c = np.sqrt(2.0 / least) * longest * (1 + 1e-9)
    return 0.5 * nu * nu * (1 + c * nu) if c * nu < 1 else np.inf


def _independent(
    problem: Problem, S: Array, carrying: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Weights on which all scores that count depend, the others adding nothing; None if unknown.

    Intercepts are kept before others, so that rows may be centred.
    """
    if np.isfinite(S).all():
        dropped = dependent_columns(against_rest(problem, 0))
        if dropped is None:
            return None
        kept = np.flatnonzero(~np.isin(columns, dropped))
        return np.asarray(np.arange(len(carrying))[:, None] * len(columns) + kept).ravel()
    rival = np.isfinite(S)
    rival[problem.label, np.arange(problem.n)] = False
    if rival.sum() < 2 or int(rival.sum()) * len(carrying) * len(columns) > _EXACT:
        return None
    order = columns[::-1]  # the intercepts come first
    differences = _differences(problem, rival, carrying, order)
    half = np.arange(len(differences)) % 2
    dropped = dependent_columns(Problem(differences, half, fit_intercept=False))
    if dropped is None:
        return None
    kept = np.setdiff1d(np.arange(differences.shape[1]), dropped)
    place, k = np.divmod(kept, len(carrying))
    return np.sort(k * len(columns) + (len(columns) - 1 - place))


def _differences(
    problem: Problem,
    rival: NDArray[np.bool_],
    carrying: NDArray[np.int64],
    order: NDArray[np.int64],
) -> Array:
    """The reflected rows of the rivals that count: column by column, the classes of each."""
    row, k = np.nonzero(rival.T)
    X = np.ones((problem.n, problem.d + 1))
    X[:, :-1] = problem.matrix.toarray() if problem.sparse else problem.matrix
    X = X[row][:, order]
    out = np.zeros((len(row), len(order), len(carrying)))
    for a, own in enumerate(carrying.tolist()):
        sign = (problem.label[row] == own).astype(np.float64) - (k == own)
        out[:, :, a] = X * sign[:, None]
    return out.reshape(len(row), -1)


def second_derivatives(X: Array, p: Array, cost: Array) -> Array:
    """H of shape (K, K, D, D): sum cost p_k p_l (e_k - e_l)(e_k - e_l)' x x', no term cancels."""
    K, D = len(p), X.shape[1]
    H = np.zeros((K, K, D, D))
    for k in range(K):
        for m in range(k + 1, K):
            part = (X * (cost * p[k] * p[m])[:, None]).T @ X
            part = 0.5 * (part + part.T)
            H[k, m] = H[m, k] = -part
            H[k, k] += part
            H[m, m] += part
    return H


# -- A bound for the likelihood of several classes where it has no maximum ------------------------
#
# A loss log(1 + sum over rivals k of exp(f_k - f_y)) only shrinks when rivals are left out, so
# the least sum of losses of some rivals of some rows is a lower bound for all. On quasi-separable
# data the rivals that remain in doubt, however far one goes, have a maximum of their own, and the
# supremum of all is that of these alone: weights close to it and the bound close the gap. Which
# rivals are left out needs no proof; a poor choice gives a poor bound.


_FAR, _TRIES = 2.0, 8  # margins from which rivals may be left out, at the largest ratios
_LARGE = 100_000  # weights times rows from which fewer are tried


def face_bound(
    problem: Problem, blocks: Array, S: Array, cost: Array, reference: int | None
) -> float:
    """The best bound of those for the rivals nearer than some margin; 0 if there is none."""
    W, b = blocks[:, :-1], blocks[:, -1]
    margins = S[problem.label, np.arange(problem.n)] - S
    rival = np.ones(S.shape, dtype=bool)
    rival[problem.label, np.arange(problem.n)] = False
    values = margins[rival]
    far = np.unique(values[values > _FAR])
    ratio = far / np.append(_FAR, far[:-1])
    twin, _ = centred(problem)
    best, high = 0.0, np.inf
    tries = _TRIES if problem.n * problem.dim <= _LARGE else 2
    for at in np.argsort(-ratio, kind="stable")[:tries]:
        some = np.where(rival & (margins >= far[at]), -np.inf, S)
        total, doubt, off = objective_above(problem, W, b, some, cost, penalty=False)
        if not total - doubt > best:
            continue
        low = total - doubt - likelihood_bound(twin, some, cost, reference, off, problem)
        if low > best:
            best, high = low, total
        if best > 0 and high - best <= 1e-9 * high:
            break
    return best


# -- of rows that are read part by part -------------------------------------------------------


@dataclass(frozen=True)
class FlowSums(RowSums):
    """The same of softmax; v is that of c q x of class y and rival k, (K, K, d)."""

    flow: Array
    """c q of class y and rival k, (K, K)."""


def _flows(problem: Problem, *, a: Array, generator: Array, C: float) -> FlowSums:
    """The sums of a block."""
    K, d = problem.K, problem.d
    cost, label = C * problem.weight, problem.label
    S, T = (_scores(problem, at.reshape(K, d + 1)) for at in (a, generator))
    blocks = a.reshape(K, d + 1)
    losses = objective_above(problem, blocks[:, :-1], blocks[:, -1], S, cost, penalty=False)[0]
    q = capped_shares(np.nan_to_num(T, nan=0.0, posinf=1e300, neginf=-1e300), label)
    gain = np.zeros(K)
    V, error, reach = (np.zeros((K, K, d)) for _ in range(3))
    for y in np.unique(label).tolist():
        own = np.flatnonzero(label == y)
        some = rows_of(problem, own)
        share = np.ascontiguousarray(q[:, own])
        found, slack = entropy_of(some, share, share.sum(axis=0), cost[own])
        gain[y] = found - slack
        weights = np.ascontiguousarray((share * cost[own]).T)
        sums, terms = plain.combination(some, weights)
        lengths = np.sqrt(np.einsum("nk,nk->k", weights, weights)) * (1 + 1e-9)
        reach[y] = 1.001 * np.outer(lengths, survey(some).column_lengths())
        V[y], error[y] = sums.T, (terms + 6) * U * reach[y]
    at = np.arange(problem.n)
    own_scores = S[label, at].copy()
    S[label, at] = -np.inf
    values = own_scores - S.max(axis=0)
    values[np.isnan(values)] = -np.inf  # what is no number is above nothing
    return FlowSums(
        losses, gain, V, error, reach, 1, problem.n,
        int(np.count_nonzero(values > 0)), int(np.count_nonzero(values >= 1.0 - 1e-9)),
        float(values.min()), flows(q, label, cost),
    )  # fmt: skip


def _scores(problem: Problem, blocks: Array) -> Array:
    S = np.ascontiguousarray(plain.product(problem, np.ascontiguousarray(blocks[:, :-1].T)).T)
    S += blocks[:, -1][:, None]
    return S


@dataclass(frozen=True)
class StreamSoftmax(StreamGap):
    """What is proved about softmax regression of a stream; ``check(stream)`` proves it again."""

    @property
    def stated(self) -> Array:
        """The weights that it is about, a class a row."""
        return in_rows("weights", self.weights, max(1, len(self.classes)))

    def _again(self, problem: PartsProblem) -> StreamGap:
        planes = self.stated
        if self.loss != "softmax":
            raise ProofError(f"the {self.loss} loss is not that of several classes.")
        generator = in_rows("generator", self.generator, *planes.shape)
        return stream_softmax(problem, planes.ravel(), generator.ravel(), self.C)


def stream_softmax(problem: PartsProblem, a: Array, generator: Array, C: float) -> StreamSoftmax:
    """Bounds for the weights a, from one pass; any generator will do, a poor one proves little."""
    if problem.K == 2 or problem.positive is not None:
        raise ProofError("softmax is about three classes and more, none against the others.")
    a = np.asarray(a, dtype=np.float64)
    planes = a.reshape(-1, problem.d + 1)
    W, b = planes[:, :-1], planes[:, -1]
    with np.errstate(all="ignore"):  # what overflows proves nothing
        found = judged(problem, partial(_flows, a=a, generator=generator, C=C))
        half = 0.5 * float(np.vdot(W, W)) * (1 + (W.size + 8) * U)
        high = (half + found.losses * (1 + found.blocks * U)) * (1 + 8 * U)
        low = _below(found, SUM + found.blocks * U, free=problem.fit_intercept)
    high = high if high == high else np.inf
    low = low if np.isfinite(low) else 0.0
    length, size = float(np.linalg.norm(W)), float(np.hypot(np.linalg.norm(W), np.linalg.norm(b)))
    return StreamSoftmax(
        objective=high,
        lower_bound=min(max(low, 0.0), high),
        errors=found.rows - found.right,
        margin=found.least / length if length > 0 else -np.inf,
        width=2.0 / length if length > 0 else np.inf,
        inside=found.rows - found.outside,
        words=softmax_words(problem, C, None),
        functional_margin=found.least,
        margin_aug=found.least / size if size > 0 else -np.inf,
        weights=tuple(a.tolist()),
        generator=tuple(np.asarray(generator, dtype=np.float64).tolist()),
        loss="softmax",
        C=C,
        fit_intercept=problem.fit_intercept,
        classes=tuple(problem.classes.tolist()),
        factors=tuple(problem.factors.tolist()),
        sources=tuple(Source(*one) for one in problem.stream.marks),
    )


def _below(found: FlowSums, many: float, *, free: bool) -> float:
    """The lower bound, flows made smaller until the classes balance where offsets are free.

    The flows as computed are off by a share ``many`` each. So the factors that balance the true
    ones differ from these along the tree alone, by no more than all that error over the flow there.
    """
    F, K = found.flow, len(found.flow)
    factor, doubt = np.ones((K, K)), np.zeros((K, K))
    if free:
        balanced = circulation(F)
        if balanced is None:
            return 0.0
        factor = balanced.factor
        off = 4 * (many + 8 * K * U) * float(F.sum())
        doubt[balanced.tree] = off / F[balanced.tree]
        if (doubt >= factor).any():
            return 0.0
    error = factor[:, :, None] * found.error + (doubt + 4 * U)[:, :, None] * found.reach
    T = factor[:, :, None] * found.v
    V = T.sum(axis=1) - T.sum(axis=0)
    size = (
        np.abs(V) + error.sum(axis=1) + error.sum(axis=0) + 4 * K * U * np.abs(T).sum(axis=(0, 1))
    )
    square = float(np.vdot(size, size)) * (1 + (V.size + 8) * U)
    least = np.maximum((factor - doubt).min(axis=1), 0.0) * (1 - 4 * U)
    gain = float(least @ np.maximum(found.gain, 0.0)) * (1 - many - (K + 8) * U)
    return best_value(gain, square)
