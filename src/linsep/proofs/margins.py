"""Bounds of the best margin that are true in spite of rounding.

From below   the plane itself: min y (w . x + b) / |w|, rounded down
From above   a point of each hull: no plane can keep a larger distance from both classes than
             half the distance of two points of their hulls; without an intercept, than the
             length of a point of the hull of the rows y x; rounded up

With K > 2 classes the margin of a linear machine is the least over all rows and rivals of
(g_own - g_rival) / |w_own - w_rival|. Each pair of classes bounds it from above.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from math import inf, isqrt, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import WHOLE_PASS
from linsep.core.problem import Problem
from linsep.numerics.integers import scaled_integers, to_integers
from linsep.numerics.rounding import U
from linsep.rows.exact import Tick, no_tick, reflected
from linsep.rows.signs import bounded_weights, exact_values, flat_weights, float_bounds

Array = NDArray[np.float64]

_SHARP = 1e-10  # relative error up to which a floating bound is good enough
_ROUGH = 1e-6  # and where so many rows are about as near that fractions would take minutes
_CLOSE = 1e-8  # the same where a sharper one would need a pass over the data
_TINY = 256  # entries up to which everything is exact: such problems are read by people
_LARGEST = sys.float_info.max


def margin_below(
    problem: Problem,
    coef: Any,
    intercept: Any,
    *,
    exact: bool = False,
    scores: Array | None = None,
    tick: Tick = no_tick,
) -> float:
    """A lower bound of the margin of a plane, or of a linear machine.

    exact gives the margin itself, rounded down. scores are for ``float_bounds``.

    Examples
    --------
    >>> import numpy as np
    >>> from linsep.core import Problem
    >>> from linsep.proofs.margins import margin_below
    >>> margin_below(Problem([[0.0], [2.0]], [-1, 1]), np.array([3.0]), -3.0)
    1.0
    """
    w, b = bounded_weights(coef, intercept)
    values, error = float_bounds(problem, w, b, scores)
    size = _plane_sizes(problem, w)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if not exact and (values + error < 0).any():  # fractions would tell the same, in seconds
            return 0.0
        least = (values - error) / size
        sharp = bool(size.min() > 1e-100 and size.max() < 1e100)
        at = int(least.argmin())
        large = problem.n_rows * problem.d > _TINY
        if not exact and large and sharp and least[at] > 0 and error[at] <= _SHARP * values[at]:
            return float(least[at] * (1 - (problem.d + 16) * 2.0**-52))
        ceiling = np.nanmin((values + error) / size) if sharp else inf
        close = np.flatnonzero(~(least > ceiling * (1 + 1e-12)))
        dear = sharp and not exact and len(close) * problem.d > WHOLE_PASS
        if dear and least[at] > 0 and error[at] <= _ROUGH * values[at]:
            return float(least[at] * (1 - (problem.d + 16) * 2.0**-52))
    return _exact_below(problem, coef, intercept, close, tick)


def loosen(problem: Problem, bound: float, by: float) -> float:
    """A bound that another order of summation will confirm; as it stands where all is exact."""
    return bound if problem.n_rows * problem.d <= _TINY else bound * (1.0 + by)


def _plane_sizes(problem: Problem, w: Array) -> Array:
    """|w|, or |w_own - w_rival| for each Kesler row, in floats."""
    with np.errstate(over="ignore", invalid="ignore"):
        if problem.binary:
            flat = w.ravel()
            return np.asarray(np.sqrt(flat @ flat))
        between = np.sqrt(((w[:, None, :] - w[None, :, :]) ** 2).sum(axis=2))
        others = ~np.eye(problem.K, dtype=bool)
        return np.asarray(between[problem.label][others[problem.label]])


def _exact_below(
    problem: Problem, coef: Any, intercept: Any, rows: NDArray[np.int64], tick: Tick
) -> float:
    weights = flat_weights(problem, coef, intercept)
    sizes = _exact_sizes(problem, coef)
    best: Fraction | None = None
    for at in range(0, len(rows), 1024):
        tick()
        some = rows[at : at + 1024]
        values = exact_values(reflected(problem, some), weights)
        for row, value in zip(some.tolist(), values):
            pair = (0, 0)
            if not problem.binary:
                own = int(problem.label[row // (problem.K - 1)])
                pair = own, int(problem.rival_of(row) or 0)
            squared = sizes(pair)
            if value <= 0 or squared == 0:
                return 0.0
            ratio = value * value / squared
            best = ratio if best is None or ratio < best else best
    return 0.0 if best is None else sqrt_down(best)


def _exact_sizes(problem: Problem, coef: Any) -> Any:
    """Function that gives the exact |w_own - w_rival|^2 of a pair of classes."""
    blocks = np.asarray(coef).reshape(-1, problem.d).tolist()
    known: dict[tuple[int, int], Fraction] = {}

    def size(pair: tuple[int, int]) -> Fraction:
        if pair not in known:
            own, rival = pair
            if problem.binary:
                difference = blocks[0]
            else:
                difference = [Fraction(p) - Fraction(q) for p, q in zip(blocks[own], blocks[rival])]
            numbers, scale = scaled_integers(difference)
            known[pair] = sum(n * n for n in numbers) * scale * scale
        return known[pair]

    return size


def margin_above(
    problem: Problem,
    rows: NDArray[np.int64],
    weights: NDArray[Any],
    *,
    exact: bool = False,
    sharp: float = _SHARP,
) -> float:
    """An upper bound of the margin from points of the hulls of two classes.

    rows are samples of two classes and weights their shares, not negative; the shares of each
    class are divided by their sum (without an intercept: by the sum of all). Hulls that almost
    touch need shares that are Fractions. exact gives the bound itself, rounded up; sharp is how
    much a bound in floats may be too large, relative to it, before fractions are taken. Weights
    that are no numbers, or none at all, bound nothing.
    """
    weights = np.asarray(weights)
    if not len(weights) or not (weights.dtype == object or np.isfinite(weights).all()):
        return inf
    sign, share = _shares(problem, rows, weights)
    factor = 0.5 if problem.fit_intercept else 1.0
    rounded = weights.dtype != object and not exact
    if rounded and len(rows) * problem.d > _TINY:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            whole = 1.001 * float(np.sqrt(problem.squared_lengths[rows]) @ share)
            point = _combined(problem, rows, sign * share)
            length = float(np.sqrt(point @ point))
            # the errors of the columns together are no longer than the rows that they come from
            wrong = (2 * len(rows) + 16) * U * whole + 1e-300 * problem.d
            if 1e-100 < length < 1e100 and wrong <= sharp * length:
                return float(factor * (length + wrong) * (1 + (problem.d + 16) * 2.0**-52))
    return _exact_above(problem, rows, weights, sign, factor)


def _combined(problem: Problem, rows: NDArray[np.int64], shares: Array) -> Array:
    """The combination of samples; of a small matrix all take part, which spares a copy."""
    matrix = problem.matrix
    if not problem.sparse and matrix.dtype == np.float64 and matrix.size < WHOLE_PASS:
        return np.asarray(np.bincount(rows, shares, minlength=problem.n) @ matrix)
    return np.asarray(matrix[rows].astype(np.float64, copy=False).T @ shares)


def _shares(
    problem: Problem, rows: NDArray[np.int64], weights: NDArray[Any]
) -> tuple[Array, Array]:
    """+1 or -1 of each row, the later class being positive, and its share in its group."""
    label = problem.label[rows]
    later = label == label.max()
    share = weights.astype(np.float64)
    if problem.fit_intercept:
        share /= np.where(later, share[later].sum(), share[~later].sum())
    else:
        share /= share.sum()
    return np.where(later, 1.0, -1.0), share


def _exact_above(
    problem: Problem, rows: NDArray[np.int64], weights: NDArray[Any], sign: Array, factor: float
) -> float:
    block = problem.matrix[rows]
    block = np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), np.float64)
    exact = [Fraction(w) for w in weights.tolist()]
    sides = [sign == 1, sign == -1] if problem.fit_intercept else [np.ones(len(rows), bool)]
    totals = [sum((w for w, s in zip(exact, side) if s), Fraction(0)) for side in sides]
    share = [
        w * int(s) / totals[0 if len(totals) == 1 or s > 0 else 1] for w, s in zip(exact, sign)
    ]
    numbers, scale = scaled_integers(share)
    table, shift = to_integers(block)
    squared = Fraction(0)
    for j in range(table.shape[1]):
        value = sum(n * int(t) for n, t in zip(numbers, table[:, j]))
        squared += Fraction(2) ** (2 * int(shift[j])) * value * value
    return sqrt_up(squared * scale * scale * Fraction(factor) ** 2)


def sqrt_down(value: Fraction) -> float:
    """The largest float not above the square root.

    >>> from fractions import Fraction
    >>> sqrt_down(Fraction(9, 4))
    1.5
    """
    root = _root(value)
    try:
        near = float(root)
    except OverflowError:
        return _LARGEST
    return nextafter(near, 0.0) if Fraction(near) ** 2 > value else near


def sqrt_up(value: Fraction) -> float:
    """The smallest float not below the square root.

    >>> from fractions import Fraction
    >>> sqrt_up(Fraction(9, 4))
    1.5
    """
    root = _root(value)
    try:
        near = float(root)
    except OverflowError:
        return inf
    return nextafter(near, inf) if Fraction(near) ** 2 < value else near


def _root(value: Fraction) -> Fraction:
    """The square root to about 100 bits."""
    if value == 0:
        return Fraction(0)
    up = max(0, 200 - value.numerator.bit_length() + value.denominator.bit_length())
    up += up % 2
    return Fraction(isqrt((value.numerator << up) // value.denominator), 1 << (up // 2))
