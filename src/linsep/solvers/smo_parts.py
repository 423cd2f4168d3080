"""The binary problems of a kernel machine, and the Gram matrices they are solved on.

Rows are sorted by class, so a pair of classes is two runs of rows. One Gram matrix serves all
pairs if it fits into the memory allowed; otherwise each pair has that of its active rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.kernel_values import KernelValues
from linsep.core.problem import Problem
from linsep.solvers.smo_rows import LazyRows

__all__ = ["Pair", "Pairs", "pairs_of"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class Pair:
    """Two classes: the places of their rows in the sorted order, signs and costs."""

    classes: tuple[int, int]
    ids: Index
    y: Array
    weight: Array
    root: Array
    """sqrt(K_ii)."""
    runs: tuple[tuple[int, int, int], ...]
    """(first, end, place): rows first ... end of the pair stand from ``place`` on."""


@dataclass
class Pairs:
    """All pairs of a problem with their kernel values; kept with the problem."""

    values: KernelValues
    order: Index
    pairs: list[Pair]
    G: NDArray[Any] | None = None
    """The Gram matrix of all rows, once it is made."""
    lazy: LazyRows | None = None
    """The same row by row, where it is large."""
    edges: Index | None = None
    """Where the classes begin, if there are more than two."""
    kept: dict[str, Any] = field(default_factory=dict)
    """The last desk that was made for one pair alone."""


def pairs_of(problem: Problem, kernel: Any) -> Pairs:
    """Sort the rows by class, once."""
    stored = problem.__dict__.get("_kernel_pairs")
    if stored is not None and stored[0] is kernel:
        pairs: Pairs = stored[1]
        return pairs
    order = np.argsort(problem.label, kind="stable").astype(np.int64)
    label = problem.label[order]
    edges = np.searchsorted(label, np.arange(problem.K + 1))
    values, weight = KernelValues(problem, kernel, order), problem.weight[order]
    root = np.sqrt(np.maximum(values.diagonal(), 0.0))
    made = []
    for first, second in combinations(range(problem.K), 2):
        a, b, c, d = edges[first], edges[first + 1], edges[second], edges[second + 1]
        ids = np.concatenate([np.arange(a, b), np.arange(c, d)]).astype(np.int64)
        y = np.where(np.arange(len(ids)) < b - a, -1.0, 1.0)
        n = int(b - a)
        runs = ((0, n, int(a)), (n, len(ids), int(c)))
        made.append(Pair((first, second), ids, y, weight[ids], root[ids], runs))
    out = Pairs(values, order, made, edges=edges if problem.K > 2 else None)
    problem.__dict__["_kernel_pairs"] = (kernel, out)
    return out
