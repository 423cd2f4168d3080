"""The weak separator of classes that no plane separates, if there is one.

The rows z_v with z_v . a = 0 for every a that has no row on its wrong side are the face. Rows
of the face with positive multipliers sum to zero and span it (Stiemke); the other rows are all
strictly on the right side of one weak separator. When the face holds all rows there is none.

Floats guess the face; rational arithmetic proves it. Where the guess is wrong, the search is
done again in rational numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.exact import (
    Tick,
    independent_columns,
    positive_combination,
    reflected,
    scaled_integers,
    solve_seconds,
    to_integers,
)
from linsep.certify.signs import exact_values, row_signs
from linsep.certify.span import spans
from linsep.core.lanes import run_all
from linsep.core.problem import Problem
from linsep.core.status import Status
from linsep.separating.peel import Peeled, all_but, peel
from linsep.separating.planes import split_weights
from linsep.separating.weak import weak_separator
from linsep.solvers.cloud import Cloud, cone_of
from linsep.solvers.exact_hulls import ExactHulls
from linsep.solvers.nearest_cone import NearestCone

__all__ = ["Face", "find_face"]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
_TWO_THREADS = 100_000  # entries from which two threads are worth their start
_PROBES = 16  # directions outside a span that are tried at once

Run = Callable[..., Any]
"""Drives a solver within the time that is left: run(problem, solver, start=None)."""


@dataclass(frozen=True)
class Face:
    """Rows with multipliers > 0 that sum to zero and span the face, and the weak separator.

    weights belong to ``certify.exact.reflected``; None when the face holds all rows.
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

    def whiten() -> Cloud:
        with np.errstate(all="ignore"):
            return cone_of(problem)

    jobs: list[Callable[[], Any]] = [partial(peel, problem), whiten]
    peeled, _ = run_all(jobs, None if problem.n * problem.d >= _TWO_THREADS else 1)
    assert isinstance(peeled, Peeled)
    return peeled


# -- in floats ------------------------------------------------------------------------------------


def _guess_face(problem: Problem, active: Rows, run: Run) -> tuple[Rows, Rows, Rows, Rows] | None:
    """Face, base, shares and support; None where rounding leaves a doubt.

    active are the rows that may belong to the face.
    """
    cloud = cone_of(problem)
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
        signs = _active_signs(problem, weights, active)
        tick()
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
    free = all_but(problem.n_rows, active)
    block = reflected(problem, free)
    old, new = exact_values(block, total), exact_values(block, more)
    factor = max((-n / o for o, n in zip(old, new) if n < 0), default=Fraction(0))
    power = Fraction(1)
    while power <= factor:
        power *= 2
    return [power * t + m for t, m in zip(total, more)]
