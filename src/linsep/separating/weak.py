"""A weak separator in integers, with few columns, once the face is known.

The weights that vanish on the face are combinations of a few integer directions, the null
space of the face. Most directions are sparse. So they are peeled: first those that have no
row on their wrong side, then those that have none among the rows still left, and so on. Each
level is weighted enough to outdo all later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.exact import (
    Tick,
    independent_columns,
    integer_products,
    null_space,
    reflected,
    scaled_integers,
    to_integers,
)
from linsep.certify.span import orthogonal, small_values, spans
from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.separating.peel import Level, all_but, along, stack
from linsep.solvers.nearest_hulls import NearestHulls

__all__ = ["weak_separator"]

Rows = NDArray[np.int64]

_DIRECTIONS = 200  # up to which the null space of the face is computed in all columns


def weak_separator(
    problem: Problem,
    span: Rows,
    face: Rows,
    run: Callable[..., Any],
    tick: Tick,
) -> list[int] | None:
    """Integer weights that vanish on the face and are positive on all other rows.

    span are rows that are meant to span the face. None when they do not, or when floats fail
    to find the weights.
    """
    inside, free = reflected(problem, span), all_but(problem.n_rows, face)
    D = inside.shape[1]
    columns = _enough_columns(problem, inside, free)
    if len(columns) < D and not spans(problem, span, face, tick=tick):
        return None
    directions = null_space(inside[:, columns])
    tick()
    every = small_values(problem, directions) if len(columns) == D else None
    if every is not None:
        if every[face].any():
            return None
        values = every[free]
    else:
        if len(columns) == D and not orthogonal(problem, face, directions, tick=tick):
            return None
        values = integer_products(reflected(problem, free)[:, columns], directions)[0]
    tick()
    levels = _peel(values, (directions != 0).sum(axis=1), run)
    if levels is None:
        return None
    total = stack(values, levels)
    weights = [0] * D
    for t, direction in zip(scaled_integers(total)[0], directions):
        if t:
            for j in np.flatnonzero(direction).tolist():
                weights[columns[j]] += t * int(direction[j])
    divisor = gcd(*weights)
    return [w // divisor for w in weights]


def _enough_columns(problem: Problem, inside: NDArray[np.float64], free: Rows) -> list[int]:
    """All columns; of very many only so many as tell the rows apart."""
    D = inside.shape[1]
    if D - len(inside) <= _DIRECTIONS:
        return list(range(D))
    return independent_columns(to_integers(np.vstack([inside, reflected(problem, free)])).table)


def _peel(
    values: NDArray[Any], sizes: NDArray[np.int64], run: Callable[..., Any]
) -> list[tuple[Level, NDArray[np.bool_]]] | None:
    """Levels of directions, each with the rows that it reaches."""
    positive, negative = values > 0, values < 0
    left = np.ones(len(values), dtype=bool)
    levels = []
    while left.any():
        up, down = positive[left].any(axis=0), negative[left].any(axis=0)
        sign = np.where(down, np.where(up, 0, -1), 1)
        reach = (positive | negative) & (sign != 0) & left[:, None]
        if reach.any():
            level = _cover(reach, sign, sizes)
        else:
            found = _search(values, left, run)
            if found is None:
                return None
            level = found
        gain, _ = along(values, level)
        reached = left & (gain > 0)
        levels.append((level, reached))
        left &= ~reached
    return levels


def _cover(reach: NDArray[np.bool_], sign: NDArray[Any], sizes: NDArray[np.int64]) -> Level:
    """Few directions, sparse ones first, that reach all rows that can be reached."""
    level = [Fraction(0)] * reach.shape[1]
    weight = 1.0 / sizes
    reach = reach[reach.any(axis=1)]
    while len(reach):
        j = int((reach.sum(axis=0) * weight).argmax())
        level[j] = Fraction(int(sign[j]))
        reach = reach[~reach[:, j]]
    return level


def _search(values: NDArray[Any], left: NDArray[np.bool_], run: Callable[..., Any]) -> Level | None:
    """A combination that is positive on all rows that are left."""
    part = values[left].astype(object)
    moving = [j for j in range(part.shape[1]) if part[:, j].any()]
    if not moving:
        return None
    largest = [max(map(abs, part[:, j])) for j in moving]
    floats = np.array([[int(v) / top for v, top in zip(row, largest)] for row in part[:, moving]])
    both = np.vstack([floats, -floats])
    label = np.repeat([1, -1], len(floats))
    outcome = run(Problem(both, label, fit_intercept=False), NearestHulls("scaled", tol=0.5))
    if outcome.status is not Status.CERTIFIED:
        return None
    c = outcome.witness.a[:-1] / np.abs(outcome.witness.a[:-1]).max()
    for level in _rounded(c, moving, largest, values.shape[1]):
        if any(level) and (along(values, level)[0][left] > 0).all():
            return level
    return None


def _rounded(
    c: NDArray[np.float64], moving: list[int], largest: list[int], count: int
) -> Iterator[Level]:
    """Ever finer roundings of the multiples, small ones left out."""
    for bits in (1, 2, 3, 5, 8, 13, 21, 34, 52):
        level = [Fraction(0)] * count
        for j, v, top in zip(moving, c.tolist(), largest):
            level[j] = Fraction(round(v * 2**bits), top)
        yield level
