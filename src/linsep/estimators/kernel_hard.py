"""Hard margins that do not exist, and the proof of it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from linsep.certify.kernel_overlap import Overlap
from linsep.core import Problem
from linsep.solvers.hull_overlap import find_overlap
from linsep.solvers.smo_parts import pairs_of

__all__ = ["equal_rows", "overlap_of", "widest"]


def equal_rows(problem: Problem, kernel: Any) -> Overlap | None:
    """Two equal rows of different classes, which no kernel tells apart."""
    found = _conflict(problem)
    if found is None:
        return None
    return Overlap(found, (Fraction(1), Fraction(1)), kernel, bool(problem.fit_intercept))


def overlap_of(problem: Problem, solver: Any, state: Any, kernel: Any) -> Overlap | None:
    """Rows of two classes whose hulls meet, of the first pair without a street that has them."""
    pairs = pairs_of(problem, solver.kernel)
    for pair, part in zip(pairs.pairs, state.parts):
        if np.isfinite(part.facts[0]):
            continue
        free = bool(problem.fit_intercept)
        found = find_overlap(pairs.values, pair.ids, pair.y, part.alpha, free)
        if found is not None:
            places = pairs.order[pair.ids[found[0]]].tolist()
            by_row = sorted((problem.sample_of_index(int(i)), a) for i, a in zip(places, found[1]))
            rows, shares = zip(*by_row)
            return Overlap(rows, shares, kernel, free)
    return None


def widest(gap: Any) -> float:
    """What is proved of the street of machines without one: none is wider."""
    parts = [part for part in gap.parts or (gap,) if not np.isfinite(part.objective)]
    low = max((part.lower_bound for part in parts), default=0.0)
    return float(np.sqrt(2.0 / low) * (1 + 1e-15)) if low > 0 else np.inf


def _conflict(problem: Problem) -> tuple[int, int] | None:
    """Two equal rows of different classes, in the caller's numbers; None if there are none."""
    hashes, label = problem.row_hashes, problem.label
    order = np.argsort(hashes, kind="stable")
    run = np.flatnonzero(np.diff(hashes[order].astype(np.uint64)) == 0)
    for at in run.tolist():
        i = int(order[at])
        later = at + 1
        while later < len(order) and hashes[order[later]] == hashes[i]:
            j = int(order[later])
            if label[i] != label[j] and _equal(problem.matrix, i, j):
                a, b = problem.sample_of_index(i), problem.sample_of_index(j)
                return min(a, b), max(a, b)
            later += 1
            if later > at + 64:  # the others are compared with rows nearer to them
                break
    return None


def _equal(matrix: Any, i: int, j: int) -> bool:
    a, b = matrix[[i]], matrix[[j]]
    if isinstance(matrix, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(np.array_equal(a.toarray(), b.toarray()))
