"""The weak separator of classes that no plane separates, if there is one.

The rows z_v with z_v . a = 0 for every a that has no row on its wrong side are the face. Rows
of the face with positive multipliers sum to zero and span it (Stiemke); the other rows are all
strictly on the right side of one weak separator. When the face holds all rows there is none.

Floats guess the face; rational arithmetic proves it. Where the guess is wrong, the search is
done again in rational numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.costs import SPARSE, second_thread
from linsep.core.lanes import run_all
from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.errors import ProofError
from linsep.numerics.integers import (
    independent_columns,
    integer_products,
    null_space,
    scaled_integers,
    solve_seconds,
    to_integers,
)
from linsep.rows.exact import Tick, orthogonal, positive_combination, reflected, small_values, spans
from linsep.rows.signs import exact_values, row_signs
from linsep.separating.planes import split_weights
from linsep.solvers.hulls.cloud import Cloud, cone_of
from linsep.solvers.hulls.exact import ExactHulls
from linsep.solvers.hulls.nearest import NearestCone, NearestHulls

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
_TWO_THREADS = second_thread(SPARSE)  # entries from which two threads are worth their start
_PROBES = 16  # directions outside a span that are tried at once

Run = Callable[..., Any]
"""Drives a solver within the time that is left: run(problem, solver, start=None)."""


@dataclass(frozen=True)
class Face:
    """Rows with multipliers > 0 that sum to zero and span the face, and the weak separator.

    weights belong to ``rows.exact.reflected``; None when the face holds all rows.
    """

    rows: Rows
    multipliers: tuple[Fraction, ...]
    weights: list[int] | None


def find_face(problem: Problem, run: Run, tick: Tick) -> Face:
    """The face, proved exactly."""
    peeled = _prepare(problem)
    tick()
    left = peeled.left if problem.binary else np.arange(problem.n_rows)
    guess = _guess_face(problem, left, run)
    if guess is not None:
        face = _prove(problem, peeled, *guess, run=run, tick=tick)
        if face is not None:
            return face
    return _exact_face(problem, run, tick)


def _prepare(problem: Problem) -> Peeled:
    """What needs a few passes over the data, by two threads if these are large."""

    lent = problem.lent  # the searches look for them there

    def whiten() -> Cloud:
        with np.errstate(all="ignore"):
            return cone_of(lent)

    jobs: list[Callable[[], Any]] = [partial(peel, problem), whiten]
    peeled, _ = run_all(jobs, None if problem.n * problem.d >= _TWO_THREADS else 1)
    assert isinstance(peeled, Peeled)
    return peeled


# -- in floats ------------------------------------------------------------------------------------


def _guess_face(problem: Problem, active: Rows, run: Run) -> tuple[Rows, Rows, Rows, Rows] | None:
    """Face, base, shares and support; None where rounding leaves a doubt.

    active are the rows that may belong to the face.
    """
    cloud = cone_of(problem.lent)
    random = np.random.default_rng(0)
    base = start = active[:0]
    while len(active):
        if not cloud.m:
            return None
        base = _basis(cloud, active, base, random)
        if not len(base):
            return None
        shares = random.integers(8, 16, len(base))  # not equal, so that no row is superfluous
        outcome = run(problem, NearestCone(active, base, shares), start=start)
        state = outcome.state
        if outcome.status is Status.CONVERGED:
            return active, base, shares, state.rows.copy()
        if outcome.status is not Status.BOUNDARY:
            return None
        kept = ~(cloud.values(-state.rest) > 1e-8 * float(np.sqrt(state.rest @ state.rest)))
        if kept[active].all():
            return None
        # rows that the search ended with lie on its plane, so the next one may start with them
        active, base, start = (rows[kept[rows]] for rows in (active, base, state.rows))
    return None


def _basis(cloud: Cloud, active: Rows, known: Rows, random: np.random.Generator) -> Rows:
    """Rows that seem to span the active ones: those known, and what they miss."""
    base, count = known, 2  # rows known before mostly span all that is left
    if not len(base):
        count = _PROBES
        base = _first_basis(cloud, active, random)
    while len(base) < min(cloud.m, len(active)):
        span = np.linalg.qr(cloud.take(base).T)[0] if len(base) else np.zeros((cloud.m, 0))
        probes = _beside(span, random.standard_normal((cloud.m, count)))
        values = _along(cloud, probes)[active].T
        size = np.sqrt((probes * probes).sum(axis=0)).max()
        more = _independent(values, 1e-9 * float(size))
        base = np.concatenate([base, active[more]])
        if len(more) < count:
            break
        count = _PROBES
    return np.asarray(base)


def _first_basis(cloud: Cloud, active: Rows, random: np.random.Generator) -> Rows:
    """Independent rows among some that are chosen together."""
    count = min(len(active), 2 * cloud.m)
    some = np.sort(random.choice(active, count, replace=False))
    block = cloud.take(some).T
    return np.asarray(some[_independent(block, 1e-9 * float(np.abs(block).max(initial=0.0)))])


def _independent(columns: Array, tiny: float) -> Rows:
    """Columns that seem independent, by QR with pivoting."""
    from scipy.linalg import lapack

    triangle, order, *_ = lapack.dgeqp3(np.asfortranarray(columns))
    rank = int((np.abs(np.diagonal(triangle)) > tiny).sum())
    return np.asarray(order[:rank] - 1, dtype=np.int64)


def _along(cloud: Cloud, vectors: Array) -> Array:
    """Values of all rows along each of the columns of vectors, up to the signs of the rows."""
    if cloud.blocks == 1:
        return cloud.samples.dot(vectors)
    return np.column_stack([cloud.values(vector) for vector in vectors.T])


def _beside(span: Array, vector: Array) -> Array:
    """The part of a vector orthogonal to the columns of span; twice, against rounding."""
    vector = vector - span @ (span.T @ vector)
    return np.asarray(vector - span @ (span.T @ vector))


# -- exact proof of the guess ---------------------------------------------------------------------


def _prove(
    problem: Problem,
    peeled: Peeled,
    active: Rows,
    base: Rows,
    shares: Rows,
    support: Rows,
    *,
    run: Run,
    tick: Tick,
) -> Face | None:
    found = positive_combination(
        reflected(problem, base), shares.tolist(), reflected(problem, support), tick=tick
    )
    tick()
    if found is None:
        return None
    rows, multipliers = _merged(base, [Fraction(int(s)) for s in shares], support, found)
    if len(active) == problem.n_rows or (peeled.levels and len(active) == len(peeled.left)):
        if not spans(problem, base, active, tick=tick):
            return None
        return Face(rows, multipliers, peeled.weights(problem) if peeled.levels else None)
    weights = weak_separator(problem, base, active, run, tick)
    return None if weights is None else Face(rows, multipliers, weights)


def _merged(
    base: Rows, shares: list[Fraction], support: Rows, found: list[Fraction]
) -> tuple[Rows, tuple[Fraction, ...]]:
    """One multiplier a row, in the order of the rows."""
    total: dict[int, Fraction] = {}
    for row, share in [*zip(base.tolist(), shares), *zip(support.tolist(), found)]:
        total[row] = total.get(row, Fraction(0)) + share
    rows = sorted(total)
    return np.array(rows, dtype=np.int64), tuple(total[r] for r in rows)


# -- exact search ---------------------------------------------------------------------------------


def _exact_face(problem: Problem, run: Run, tick: Tick) -> Face:
    """The same search in rational numbers throughout."""
    active = np.arange(problem.n_rows)
    total: list[Fraction] | None = None
    multipliers: tuple[Fraction, ...]
    while True:
        base = _exact_basis(problem, active, tick)
        if not base:  # only rows that are zero are left
            rows, multipliers = active[:1], (Fraction(1),)
            break
        solver = ExactHulls("cone", 0.0, tuple(base), (1,) * len(base), active)
        state = run(problem, solver, start=(base[:1], [1.0])).state
        if state.status is Status.CONVERGED:
            ones = [Fraction(1)] * len(base)
            rows, multipliers = _merged(
                np.array(base), ones, np.array(state.rows), state.multipliers
            )
            break
        weights = state.normal
        signs = _active_signs(problem, weights, active) if any(weights) else np.zeros(1)
        tick()
        if not (signs > 0).any() or (signs < 0).any():
            raise ProofError(
                "the search for a weak separator gives none; this is a bug of linsep, please "
                "report it."
            )
        total = weights if total is None else _sum(problem, total, weights, active)
        active = active[signs == 0]
    if total is None:
        return Face(rows, multipliers, None)
    return Face(rows, multipliers, scaled_integers(total)[0])


def _exact_basis(problem: Problem, active: Rows, tick: Tick) -> list[int]:
    """Rows that span the active ones."""
    base: list[int] = []
    step = 256
    for at in range(0, len(active), step):
        tick()
        some = [*base, *active[at : at + step].tolist()]
        table = to_integers(reflected(problem, some)).table
        tick(solve_seconds(table))
        base = [some[i] for i in independent_columns(np.ascontiguousarray(table.T))]
        if len(base) == table.shape[1]:
            break
    return base


def _active_signs(problem: Problem, weights: list[Fraction], active: Rows) -> NDArray[np.int8]:
    coef, intercept = split_weights(problem, weights)
    return row_signs(problem, coef, intercept)[active]


def _sum(
    problem: Problem, total: list[Fraction], more: list[Fraction], active: Rows
) -> list[Fraction]:
    """total times a power of two plus more, with no row on the wrong side.

    Rows that total has on its right side must stay there.
    """
    outside = all_but(problem.n_rows, active)
    block = reflected(problem, outside)
    old, new = exact_values(block, total), exact_values(block, more)
    factor = max((-n / o for o, n in zip(old, new) if n < 0), default=Fraction(0))
    power = Fraction(1)
    while power <= factor:
        power *= 2
    return [power * t + m for t, m in zip(total, more)]


# -- Single columns that separate weakly: cheap to find, and the best reading there is ------------
#
# A column that ends in one class where it begins in the other has no row on its wrong side, and
# every row off that value is strictly on its right side. Without these rows other columns may do
# the same, and so on, level by level. A level is weighted enough to outdo all later ones.


Level = list[Fraction]
"""Multiples of directions."""

_LEVELS = 20


@dataclass(frozen=True)
class Peeled:
    """Rows that are left, and for each level the columns, their signs and where they touch."""

    left: Rows
    levels: list[list[tuple[int, int, float]]]

    def weights(self, problem: Problem) -> list[int]:
        """Integer weights that vanish on the rows left and are positive on all others."""
        flat = [item for level in self.levels for item in level]
        directions = [_direction(problem, *item) for item in flat]
        outside = all_but(problem.n, self.left)
        values = integer_products(reflected(problem, outside), directions)[0]
        parts, at, open_rows = [], 0, np.ones(len(outside), dtype=bool)
        for level in self.levels:
            mine = range(at, at + len(level))
            at += len(level)
            reached = open_rows & (values[:, mine] > 0).any(axis=1)
            parts.append(([Fraction(int(j in mine)) for j in range(len(flat))], reached))
            open_rows &= ~reached
        total, _ = scaled_integers(stack(values, parts))
        weights = [sum(t * v for t, v in zip(total, column)) for column in zip(*directions)]
        divisor = gcd(*weights)
        return [w // divisor for w in weights]


def all_but(n: int, rows: Rows) -> Rows:
    """The numbers below n that are not among the rows."""
    left = np.ones(n, dtype=bool)
    left[rows] = False
    return np.flatnonzero(left)


def peel(problem: Problem) -> Peeled:
    """Take off the rows that single columns separate, as long as there are any."""
    if not problem.binary:
        return Peeled(np.arange(problem.n), [])
    left = [np.flatnonzero(problem.label == k) for k in (0, 1)]
    parts = [problem.matrix[rows] for rows in left]
    levels: list[list[tuple[int, int, float]]] = []
    while len(levels) < _LEVELS and len(left[0]) and len(left[1]):
        found = _touching(parts, fit_intercept=problem.fit_intercept)
        if not found:
            break
        level, reached = _cover(parts, found)
        if all(r.all() for r in reached):
            break
        levels.append(level)
        left = [rows[~r] for rows, r in zip(left, reached)]
        parts = [part[~r] for part, r in zip(parts, reached)]
    return Peeled(np.sort(np.concatenate(left)), levels)


def _touching(parts: list[Any], *, fit_intercept: bool) -> list[tuple[int, int, float]]:
    """Columns with no row on the wrong side: number, sign, and the value where classes touch."""
    low = [_dense(part.min(axis=0)) for part in parts]
    high = [_dense(part.max(axis=0)) for part in parts]
    if fit_intercept:
        up = (low[1] == high[0]) & (low[0] < high[1])
        down = (low[0] == high[1]) & (low[1] < high[0])
        at = np.where(up, low[1], low[0])
    else:
        up = (low[1] >= 0) & (high[0] <= 0) & ((high[1] > 0) | (low[0] < 0))
        down = (low[0] >= 0) & (high[1] <= 0) & ((high[0] > 0) | (low[1] < 0))
        at = np.zeros(len(up))
    return [(int(j), 1 if up[j] else -1, float(at[j])) for j in np.flatnonzero(up | down).tolist()]


def _dense(row: Any) -> NDArray[Any]:
    return np.ravel(row if isinstance(row, np.ndarray) else row.toarray())


def _cover(
    parts: list[Any], found: list[tuple[int, int, float]]
) -> tuple[list[tuple[int, int, float]], list[NDArray[np.bool_]]]:
    """Few of the columns that reach all rows that the columns reach together, and which rows."""
    index, touch = [j for j, _, _ in found], np.array([t for _, _, t in found])
    off = np.concatenate([_columns(part, index) != touch for part in parts])
    reached = off.any(axis=1)
    open_rows, level = off[reached], []
    while len(open_rows):
        best = int(open_rows.sum(axis=0).argmax())
        level.append(found[best])
        open_rows = open_rows[~open_rows[:, best]]
    return level, np.split(reached, [parts[0].shape[0]])


def _columns(part: Any, index: list[int]) -> NDArray[Any]:
    if isinstance(part, np.ndarray):
        return part.take(index, axis=1)
    return np.asarray(part[:, index].toarray())


def _direction(problem: Problem, column: int, sign: int, touch: float) -> list[int]:
    """sign (x_column - touch) as integer weights."""
    scale = Fraction(touch)
    out = [0] * problem.width
    out[column] = sign * scale.denominator
    if problem.fit_intercept:
        out[-1] = -sign * scale.numerator
    return out


def stack(values: NDArray[Any], levels: list[tuple[Level, NDArray[np.bool_]]]) -> Level:
    """One combination that is positive on all rows: earlier levels outweigh later ones.

    values holds the value of each row along each direction, int64 or Python integers; each
    level has the rows that it is positive on.
    """
    total = levels[-1][0]
    for level, rows in reversed(levels[:-1]):
        gain, one = along(values, level)
        loss, other = along(values, total)
        behind = np.flatnonzero(rows & (loss < 0))
        worst = max(
            (Fraction(-b, a) for a, b in zip(gain[behind].tolist(), loss[behind].tolist())),
            default=Fraction(0),
        )
        worst *= other / one
        factor = 1
        while factor <= worst:
            factor *= 2
        total = [factor * a + b for a, b in zip(level, total)]
    return total


def along(values: NDArray[Any], level: Level) -> tuple[NDArray[Any], Fraction]:
    """Values of the rows along a combination of directions: integers, and their scale > 0."""
    used = [j for j, t in enumerate(level) if t]
    numbers, scale = scaled_integers([level[j] for j in used])
    part = values[:, used]
    if part.dtype != object:
        largest = max(int(part.max(initial=0)), -int(part.min(initial=0)))
        if largest * sum(map(abs, numbers)) < 2**62:
            return part @ np.array(numbers, dtype=np.int64), scale
    return part.astype(object) @ np.array(numbers, dtype=object), scale


# -- A weak separator in integers, with few columns, once the face is known -----------------------
#
# The weights that vanish on the face are combinations of a few integer directions, the null
# space of the face. Most directions are sparse. So they are peeled: first those that have no
# row on their wrong side, then those that have none among the rows still left, and so on. Each
# level is weighted enough to outdo all later ones.


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
    inside, outside = reflected(problem, span), all_but(problem.n_rows, face)
    D = inside.shape[1]
    columns = _enough_columns(problem, inside, outside)
    if len(columns) < D and not spans(problem, span, face, tick=tick):
        return None
    directions = null_space(inside[:, columns])
    tick()
    every = small_values(problem, directions) if len(columns) == D else None
    if every is not None:
        if every[face].any():
            return None
        values = every[outside]
    else:
        if len(columns) == D and not orthogonal(problem, face, directions, tick=tick):
            return None
        values = integer_products(reflected(problem, outside)[:, columns], directions)[0]
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


def _enough_columns(problem: Problem, inside: NDArray[np.float64], outside: Rows) -> list[int]:
    """All columns; of very many only so many as tell the rows apart."""
    D = inside.shape[1]
    if D - len(inside) <= _DIRECTIONS:
        return list(range(D))
    return independent_columns(to_integers(np.vstack([inside, reflected(problem, outside)])).table)


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
            level = _covering(reach, sign, sizes)
        else:
            found = _search(values, left, run)
            if found is None:
                return None
            level = found
        gain, _ = along(values, level)
        reached = left & (gain > 0)
        if not reached.any():
            return None
        levels.append((level, reached))
        left &= ~reached
    return levels


def _covering(reach: NDArray[np.bool_], sign: NDArray[Any], sizes: NDArray[np.int64]) -> Level:
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
