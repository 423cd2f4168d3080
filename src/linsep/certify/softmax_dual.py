"""The lower bound of a penalised softmax model from its shares, with all rounding errors.

See ``softmax_gap.py`` for the bound itself. Sums are rounded as numpy does it, and their errors
bounded; where these bounds are much of the gap the sums are taken again, each rounded once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from linsep.certify.sharp_softmax import nearer, nearer_is_cheap, on_grid, sharp_softmax
from linsep.certify.survey import survey
from linsep.core.lanes import Lanes
from linsep.core.problem import Problem
from linsep.losses.softmax import best_intercepts, shares

__all__ = ["combination", "dual_bound", "entropy_below"]

Array = NDArray[np.float64]

_U = 2.0**-53
_SUM = 64 * _U  # of a sum by numpy, which adds by halves
_FUNCTION = 16 * _U  # of exp, log and log1p, generously
_POOR = 1e-6  # relative gap from which another bound is tried
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
) -> float:
    """A lower bound of the least P. Scores S are right to ``off``; moved: the rows were rounded."""
    q = _shares(problem, S, cost, reference, alpha)
    Q = q.sum(axis=0)
    gain, slack = _entropy(problem, q, Q, cost)
    full = q * -cost
    full[problem.label, np.arange(problem.n)] = cost * Q
    V, terms = combination(problem, full)
    lengths = np.sqrt(np.einsum("kn,kn->k", full, full)) * (1 + 1e-9)
    error = (
        (terms + problem.K + 6) * _U * 1.001 * np.outer(lengths, survey(problem).column_lengths())
    )
    size = np.abs(V) + error
    if reference is not None:
        size[reference] = error[reference] = 0.0
    square = float(np.vdot(size, size)) * (1 + (V.size + 8) * _U)
    left = np.abs(full.sum(axis=1))
    rest = left + (_SUM + problem.K * _U) * np.abs(full).sum(axis=1)

    def value(gain: float, square: float, rest: float) -> float:
        if not problem.fit_intercept:
            return _value(gain, square)
        return _with_rest(problem, S, b, off, cost, high, gain, square, rest)

    low = value(gain - slack, square, float(rest.sum()))
    if high - low <= _POOR * high:
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
    gain, slack = _entropy(problem, q, q.sum(axis=0), cost)
    return gain - slack


def _value(gain: float, square: float) -> float:
    """t gain - t^2 square / 2 for the best t in [0, 1], rounded down."""
    if not gain > 0:
        return 0.0
    t = min(1.0, gain / square) if square > 0 else 1.0
    return (t * gain - 0.5 * t * t * square) * (1 - 16 * _U)


def _with_rest(
    problem: Problem,
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
    sqrt(2 gap): a bound once found makes the next one better.
    """
    lengths = survey(problem).row_lengths()
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
        better = _value(gain - rest * reach, square)
        if not better > low * (1 + 1e-12):
            break
        low = min(better, high)
    return low


def _shares(
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
    most = 1.0 - 4 * problem.K * _U
    total = q.sum(axis=0)
    over = total > most
    q[:, over] *= most / total[over]
    return np.asarray(q)


def _entropy(problem: Problem, q: Array, Q: Array, cost: Array) -> tuple[float, float]:
    """sum of c H and a bound of its error, relative to what each row adds."""
    rivals = -np.where(q > 0, q * np.log(np.maximum(q, 1e-320)), 0.0).sum(axis=0)
    rest = np.log1p(-np.minimum(Q, 1.0 - _U))
    own = -(1.0 - Q) * rest
    gain = float((cost * (rivals + own)).sum())
    # Q is off by K u Q; the entropy of the own class then by that times 1 + |log(1 - Q)|
    doubt = float(cost @ (rivals + own + Q * (1.0 - rest)))
    return gain, (_SUM + _FUNCTION + 4 * problem.K * _U) * doubt


def combination(problem: Problem, alpha: Array) -> tuple[Array, int]:
    """sum_i alpha_ki x_i, shape (K, d), and how often an entry was rounded in a row at most."""
    if problem.sparse:
        V = np.asarray(problem.matrix.T @ np.ascontiguousarray(alpha.T), dtype=np.float64).T
        return np.ascontiguousarray(V), problem.n + 4
    lanes = Lanes(problem.matrix, wide=True)

    def lane_sums(lane: int) -> Array:
        V = np.zeros((problem.K, problem.d))
        for lo, hi, block in lanes.blocks(lane):
            V += alpha[:, lo:hi] @ block
        return V

    parts = lanes.each(lane_sums)
    return sum(parts[1:], parts[0]), lanes.rows + -(-problem.n // lanes.rows) + len(parts) + 4
