"""The duality gap of a machine with an additive kernel, from its function and alpha alone.

The function f(x) = sum_k h_k(x_k) + b of a model is a list of coefficients c_s of slots (a
feature and a value), so |w|^2 = sum_s c_s h_k(v_s) and the scores are computed from the list,
not from a kernel matrix and not from what the solver kept. The lower bound is

    D(alpha) = sum alpha_i - |v|^2 / 2,   v = sum alpha_i y_i phi(x_i),

for alpha put into its box and balanced. Rounding, and the error of interpolated tables, are a
small share of the same sums with absolute values; they are added to the objective and taken
off the bound.

Slots are collected here, column by column. The functions h_k come from ``kernels/additive.py``,
which is fast, and again by their definition: of all entries and slots, or of large tables for a
sample. Where the two differ by more than rounding, those of the definition count, as in
``referee.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linsep.core.lanes import run_all
from linsep.core.notes import note
from linsep.core.problem import Problem
from linsep.errors import ProofError
from linsep.kernels.additive import AdditiveFunction
from linsep.kernels.histograms import positive_columns, sums_of_means
from linsep.losses.hinge import HINGE
from linsep.numerics.rounding import SUM, U
from linsep.proofs.gap import Gap
from linsep.proofs.hinge import Objective, feasible
from linsep.proofs.plain import not_ahead, signs, spread

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_SAME = 1e-9
_ALL = 200_000  # means of two numbers that are made again, at least: about a millisecond
_EACH = 10  # means for each entry of the table, which takes a fit as long as some hundred of them
_SEARCH = 10  # as many means a search in a sorted list takes


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
    _require_whole(problem, function, _machines(problem))
    scores, off = scores_and_errors(problem, function, offsets)
    squared = squared_lengths(function, _means(problem))
    objective = Objective(HINGE, C, "free")
    words = f"{objective.words()}; {kernel} kernel"
    cost = C * problem.weight
    power, machines = function.power, _machines(problem)
    bounds = np.full(len(machines), -np.inf)  # as long as one is not there, nothing is proved

    def bound(k: int) -> None:
        bounds[k] = _bound(problem, machines[k], power, objective, cost, alpha[k].copy())

    run_all([partial(bound, k) for k in range(len(machines))])
    parts = []
    for k, (y, low) in enumerate(zip(machines, bounds.tolist(), strict=True)):
        values = y * scores[:, k]
        loss = np.maximum(0.0, 1.0 - values + off[:, k])
        high = (0.5 * squared[k] + float((cost * loss).sum())) * (1 + SUM + 16 * U)
        length = float(np.sqrt(squared[k]))
        parts.append(Gap.of(values, length, high, low, words))
    if problem.binary:
        return parts[0]
    errors = not_ahead(scores, problem.label)
    return Gap.together(parts, errors, "one class against the rest")


def _require_whole(problem: Problem, function: AdditiveFunction, machines: list[Array]) -> None:
    """Machine code reads the slots, and does not look where they end."""
    slots, start = len(function.values), function.start
    edges = start.ndim == 1 and len(start) == problem.d + 1 and (np.diff(start) >= 0).all()
    if not edges or start[0] != 0 or start[-1] != slots:
        raise ProofError("the slots of its features are not where they should be.")
    values, first = function.values, np.zeros(slots, dtype=bool)
    first[start[:-1][start[:-1] < slots]] = True
    if not ((values > 0).all() and (first[1:] | (np.diff(values) > 0)).all()):
        raise ProofError("the slots of a feature are not positive values in their order.")
    if function.coef.shape != (slots, len(machines)):
        raise ProofError(
            f"it has {slots} slots for {len(machines)} machines, and coefficients of the shape "
            f"{function.coef.shape}."
        )


def scores_and_errors(
    problem: Problem, function: AdditiveFunction, offsets: Array
) -> tuple[Array, Array]:
    """Scores of all rows, one column for each machine, and bounds of their errors."""
    if not len(function.values):  # the offsets alone
        return np.tile(offsets, (problem.n, 1)), np.tile(
            8 * U * (np.abs(offsets) + 1.0), (problem.n, 1)
        )
    longest = int(_counts(problem).max(initial=0))
    told, reach = function.scores_and_reach(problem.matrix)
    told, reach = _agreed(
        told, reach, _cost_of_rows(problem, function), _means(problem),
        lambda rows: _defined(function, _by_columns(problem.matrix, rows)),
    )  # fmt: skip
    scores = told + offsets
    every = problem.matrix.data if problem.sparse else problem.matrix
    ends = np.array([every.min(initial=np.inf, where=every > 0), every.max(initial=0.0)], float)
    off = function.error(longest, ends if ends[1] > 0 else np.zeros(0)) * 1.01 * reach
    off += 8 * U * (np.abs(scores) + np.abs(offsets) + 1.0)
    return scores, off


def belong(problem: Problem, function: AdditiveFunction, dual: Array) -> bool:
    """Whether y alpha, one line for each machine, is of these rows and gives this function.

    The Hellinger machine is found by its weights; there only the signs are looked at.
    """
    machines = _machines(problem)
    if any((y * line < 0).any() for y, line in zip(machines, dual, strict=True)):
        return False
    if function.power == 0.0:
        return True
    rows = np.flatnonzero(dual.any(axis=0))
    own = np.ascontiguousarray(dual[:, rows].T)
    both, _ = _collected(problem, function.power, rows, np.hstack([own, np.abs(own)]))
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


def squared_lengths(function: AdditiveFunction, means: int = _ALL) -> Array:
    """|w|^2 of every column, rounded up; so many means are made again by definition."""
    if not len(function.values):
        return np.zeros(function.coef.shape[1])
    at, reach = _at_slots(function, means)
    # rows of contiguous numbers are added by halves, with few roundings in a row
    value = np.ascontiguousarray((function.coef * at).T).sum(axis=1)
    size = (np.abs(function.coef) * reach).sum(axis=0)
    share = function.error(1, function.values) + 2 * SUM
    return np.asarray(np.maximum(value, 0.0) + share * size * 1.01)


def _bound(
    problem: Problem, y: Array, power: float, objective: Objective, cost: Array, alpha: Array
) -> float:
    """Lower bound of D(alpha), at least the value 0 of alpha = 0."""
    alpha, slack = feasible(y > 0, objective, cost, alpha)
    rows = np.flatnonzero(alpha)
    if not rows.size:
        return 0.0
    signed = (alpha * y)[rows]
    both, most = _collected(problem, power, rows, np.column_stack([signed, np.abs(signed)]))
    own = AdditiveFunction(power, both.start, both.values, both.coef[:, :1].copy())
    size = AdditiveFunction(power, both.start, both.values, both.coef[:, 1:].copy())
    means = _means(problem)
    value = float((own.coef[:, 0] * _at_slots(own, means)[0][:, 0]).sum())
    reach = float((size.coef * _at_slots(size, means)[1]).sum())
    # the coefficient of a slot is a sum of as many terms as rows have its value
    share = own.error(1, own.values) + 3 * most * U + 2 * SUM + 2.1 * slack
    squared = max(value, 0.0) + share * reach * 1.01
    linear = float(alpha.sum()) * (1 - slack - SUM)
    bound = linear - 0.5 * squared * (1 + 8 * U)
    return max(bound - 8 * U * abs(bound), 0.0)


def _machines(problem: Problem) -> list[Array]:
    """The signs of the rows for each machine."""
    if problem.binary:
        return [signs(problem)]
    return [np.where(problem.label == k, 1.0, -1.0) for k in range(problem.K)]


def _counts(problem: Problem) -> NDArray[np.int64]:
    """Entries of every row."""
    if problem.sparse:
        return np.asarray(np.diff(problem.matrix.indptr))
    return np.full(1, problem.d)


# -- Functions by their definition ----------------------------------------------------------------


def _by_columns(matrix: Any, rows: Index) -> Any:
    """The positive entries of some rows, column by column, in float64."""
    return positive_columns(matrix[rows].astype(np.float64, copy=False))


def _collected(
    problem: Problem, power: float, rows: Index, coef: Array
) -> tuple[AdditiveFunction, int]:
    """sum_r coef_r K(x_r, .) as slots with coefficients, and the most rows that share a slot."""
    columns = _by_columns(problem.matrix, rows)
    values: list[Array] = [np.zeros(0)]
    sums: list[Any] = [np.zeros((0, coef.shape[1]))]
    start, most = [0], 0
    for k in range(problem.d):
        own = slice(*columns.indptr[k : k + 2])
        v, place, count = np.unique(columns.data[own], return_inverse=True, return_counts=True)
        terms = coef[columns.indices[own]]
        c = np.column_stack([np.bincount(place, t, minlength=len(v)) for t in terms.T])
        used = c.any(axis=1)
        values.append(v[used])
        sums.append(c[used])
        start.append(start[-1] + int(used.sum()))
        most = max(most, int(count.max(initial=0)))
    found = AdditiveFunction(power, np.array(start), np.concatenate(values), np.vstack(sums))
    return found, most


def _defined(function: AdditiveFunction, columns: Any) -> tuple[Array, Array]:
    """Values at rows, given column by column, and the same sums of sizes."""
    m = function.coef.shape[1]
    out = np.zeros((columns.shape[0], 2 * m))
    for k in range(function.d):
        entries = slice(*columns.indptr[k : k + 2])
        out[columns.indices[entries]] += _feature(function, k, columns.data[entries])
    return out[:, :m], out[:, m:]


def _feature(function: AdditiveFunction, k: int, x: Array) -> Array:
    """h_k(x) = sum_s c_s M_p(x, v_s) and, beside it, the sum of sizes, no less than of |c_s| M_p:
    with the geometric mean, but for the minimum."""
    own = slice(*function.start[k : k + 2])
    v, c = function.values[own], function.coef[own]
    return np.hstack(sums_of_means(x, v, c, np.abs(c), function.power))


def _means(problem: Problem) -> int:
    """How many means are made again of sums over the rows of a table."""
    return max(_ALL, _EACH * int(problem.matrix.nnz if problem.sparse else problem.matrix.size))


def _at_slots(function: AdditiveFunction, means: int) -> tuple[Array, Array]:
    """h_k(v) of every slot, and the sums of sizes."""
    sizes = np.diff(function.start)

    def defined(slots: Index) -> tuple[Array, Array]:
        m, edges = function.coef.shape[1], np.searchsorted(slots, function.start)
        both = [
            _feature(function, k, function.values[slots[slice(*edges[k : k + 2])]])
            for k in range(function.d)
        ]
        found = np.concatenate([np.zeros((0, 2 * m)), *both])
        return found[:, :m], found[:, m:]

    work = np.repeat(np.where(_quick(function), _SEARCH, sizes), sizes)
    return _agreed(function.at_slots(), function.reach_at_slots(), work, means, defined)


def _quick(function: AdditiveFunction) -> bool:
    return function.power in (-np.inf, 0.0)


def _cost_of_rows(problem: Problem, function: AdditiveFunction) -> Array:
    """About how many means the values of a row take."""
    sizes = np.diff(function.start)
    each = np.minimum(sizes, _SEARCH) if _quick(function) else sizes
    if problem.sparse:
        pattern = scipy.sparse.csr_array(
            (each[problem.matrix.indices], problem.matrix.indices, problem.matrix.indptr),
            shape=problem.matrix.shape,
        )
        return np.asarray(pattern.sum(axis=1)).ravel()
    return np.full(problem.n, float(each.sum()))


def _agreed(
    told: Array, reach: Array, work: Array, means: int,
    defined: Callable[[Index], tuple[Array, Array]],
) -> tuple[Array, Array]:  # fmt: skip
    """What was told of rows or slots, or what the definition says of all of them.

    Of many it is looked at some (``plain.spread``) that take about so many means.
    Values that are not finite are taken as they are: they prove nothing.
    """
    n = len(told)
    some, total = np.arange(n), float(work.sum())
    if total > means:
        some = spread(n, max(1, int(n * means / total)))
    own, size = defined(some)
    wrong = (np.abs(told[some] - own) > _SAME * size) | (reach[some] < (1 - _SAME) * size)
    if not wrong.any():  # NaN is not
        return told, reach
    note(
        "functions of single features are not those of the definition of the kernel, by which the "
        "proof goes. This is a bug of linsep, or memory that fails: please report it."
    )
    return (own, size) if len(some) == n else defined(np.arange(n))
