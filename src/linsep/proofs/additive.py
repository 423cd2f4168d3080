"""The duality gap of a machine with an additive kernel, from its function and alpha alone.

The function f(x) = sum_k h_k(x_k) + b of a model is a list of coefficients c_s of slots (a
feature and a value), so |w|^2 = sum_s c_s h_k(v_s) and the scores are computed from the list,
not from a kernel matrix and not from what the solver kept. The lower bound is

    D(alpha) = sum alpha_i - |v|^2 / 2,   v = sum alpha_i y_i phi(x_i),

for alpha put into its box and balanced. Rounding, and the error of interpolated tables, are a
small share of the same sums with absolute values; they are added to the objective and taken
off the bound.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import run_all
from linsep.core.problem import Problem, each_against_rest
from linsep.kernels.additive import AdditiveFunction, Levels, levels_of
from linsep.losses.hinge import HINGE
from linsep.numerics.rounding import SUM, U
from linsep.proofs.gap import Gap
from linsep.proofs.hinge import Objective, feasible
from linsep.proofs.plain import signs

Array = NDArray[np.float64]

_SAME = 1e-9


def additive_gap(
    problem: Problem,
    function: AdditiveFunction,
    offsets: Array,
    alpha: Array,
    C: float,
    kernel: str,
) -> Gap:
    """Bounds for a machine of two classes, or for K machines of one class against the rest.

    Parameters
    ----------
    problem : Problem
        The rows trained on.
    function : AdditiveFunction
        One column for each machine.
    offsets : array of shape (1,) or (K,)
    alpha : array of shape (1 or K, n)
        Any dual variables; poor ones give a poor bound.
    C : float
    kernel : str
        Name of the kernel, for the words.
    """
    scores, off = scores_and_errors(problem, function, offsets)
    levels = levels_of(problem, function.power)
    squared = squared_lengths(function)
    objective = Objective(HINGE, C, "free")
    words = f"{objective.words()}; {kernel} kernel"
    cost = C * problem.weight
    machines = [problem] if problem.binary else each_against_rest(problem)
    bounds = run_all(
        [partial(_bound, m, objective, levels, cost, a.copy()) for m, a in zip(machines, alpha)]
    )
    parts = []
    for k, (part, low) in enumerate(zip(machines, bounds, strict=True)):
        values = signs(part) * scores[:, k]
        loss = np.maximum(0.0, 1.0 - values + off[:, k])
        high = (0.5 * squared[k] + float((cost * loss).sum())) * (1 + SUM + 16 * U)
        length = float(np.sqrt(squared[k]))
        parts.append(Gap.of(values, length, high, low, words))
    if problem.binary:
        return parts[0]
    at = np.arange(problem.n)
    own = scores[at, problem.label]
    scores[at, problem.label] = -np.inf
    errors = int((own <= scores.max(axis=1)).sum())
    return Gap.together(parts, errors, "one class against the rest")


def scores_and_errors(
    problem: Problem, function: AdditiveFunction, offsets: Array
) -> tuple[Array, Array]:
    """Scores of all rows, one column for each machine, and bounds of their errors."""
    longest = int(_counts(problem).max(initial=0))
    scores, reach = function.scores_and_reach(problem.matrix)
    scores = scores + offsets
    levels = levels_of(problem, function.power)
    off = function.error(longest, levels.values) * 1.01 * reach
    off += 8 * U * (np.abs(scores) + np.abs(offsets) + 1.0)
    return scores, off


def belong(problem: Problem, function: AdditiveFunction, dual: Array) -> bool:
    """Whether y alpha, one line for each machine, is of these rows and gives this function.

    The Hellinger machine is found by its weights; there only the signs are looked at.
    """
    machines = [problem] if problem.binary else each_against_rest(problem)
    if any((signs(part) * line < 0).any() for part, line in zip(machines, dual, strict=True)):
        return False
    if function.power == 0.0:
        return True
    levels = levels_of(problem, function.power)
    rows = np.flatnonzero(dual.any(axis=0))
    own = np.ascontiguousarray(dual[:, rows].T)
    both = levels.function(rows, np.hstack([own, np.abs(own)]))
    m = len(machines)
    shared, at = _places(function, both)
    off = np.abs(both.coef[:, :m])  # slots that the function does not have
    off[shared] = np.abs(both.coef[shared, :m] - function.coef[at])
    missing = np.ones(len(function.values), dtype=bool)
    missing[at] = False
    return bool((off <= _SAME * both.coef[:, m:]).all() and not function.coef[missing].any())


def _places(function: AdditiveFunction, other: AdditiveFunction) -> tuple[Array, Array]:
    """Which slots of the other are slots of the function too, and where."""
    values = np.unique(np.concatenate([function.values, other.values]))
    own, asked = _numbers(function, values), _numbers(other, values)
    at = np.searchsorted(own, asked)
    shared = np.append(own, -1)[at] == asked
    return shared, at[shared]


def _numbers(function: AdditiveFunction, values: Array) -> Array:
    """One number for each slot, rising: by feature, then by value."""
    feature = np.repeat(np.arange(function.d), np.diff(function.start))
    return np.asarray(feature * len(values) + np.searchsorted(values, function.values))


def squared_lengths(function: AdditiveFunction) -> Array:
    """|w|^2 of every column, rounded up."""
    if not len(function.values):
        return np.zeros(function.coef.shape[1])
    # rows of contiguous numbers are added by halves, with few roundings in a row
    value = np.ascontiguousarray((function.coef * function.at_slots()).T).sum(axis=1)
    size = (np.abs(function.coef) * function.reach_at_slots()).sum(axis=0)
    share = function.error(1, function.values) + 2 * SUM
    return np.asarray(np.maximum(value, 0.0) + share * size * 1.01)


def _bound(
    problem: Problem, objective: Objective, levels: Levels, cost: Array, alpha: Array
) -> float:
    """Lower bound of D(alpha), at least the value 0 of alpha = 0."""
    alpha, slack = feasible(signs(problem) > 0, objective, cost, alpha)
    rows = np.flatnonzero(alpha)
    if not rows.size:
        return 0.0
    signed = (alpha * signs(problem))[rows]
    both = levels.function(rows, np.column_stack([signed, np.abs(signed)]))
    own = AdditiveFunction(both.power, both.start, both.values, both.coef[:, :1].copy())
    size = AdditiveFunction(both.power, both.start, both.values, both.coef[:, 1:].copy())
    value = float((own.coef[:, 0] * own.at_slots()[:, 0]).sum())
    reach = float((size.coef * size.reach_at_slots()).sum())
    # the coefficient of a slot is a sum of as many terms as rows have its value
    most = float(levels.collect(rows, np.ones(len(rows))).max(initial=0.0))
    share = own.error(1, own.values) + 3 * most * U + 2 * SUM + 2.1 * slack
    squared = max(value, 0.0) + share * reach * 1.01
    linear = float(alpha.sum()) * (1 - slack - SUM)
    bound = linear - 0.5 * squared * (1 + 8 * U)
    return max(bound - 8 * U * abs(bound), 0.0)


def _counts(problem: Problem) -> NDArray[np.int64]:
    """Entries of every row."""
    if problem.sparse:
        return np.asarray(np.diff(problem.matrix.indptr))
    return np.full(1, problem.d)
