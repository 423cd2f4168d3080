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
Runs = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Pair:
    """Two classes: the places of their rows in the sorted order, signs and costs."""

    classes: tuple[int, int]
    ids: Index
    y: Array
    weight: Array
    root: Array
    """sqrt(K_ii)."""
    runs: Runs
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
    """The pairs of a problem, made once; rows are sorted by class, those of a Gram matrix not."""
    stored = problem.__dict__.get("_kernel_pairs")
    if stored is not None and stored[0] is kernel:
        pairs: Pairs = stored[1]
        return pairs
    given = kernel is None and problem.binary  # a Gram matrix is used where it is
    order = np.arange(problem.n) if given else np.argsort(problem.label, kind="stable")
    order = order.astype(np.int64)
    label = problem.label[order]
    values, weight = KernelValues(problem, kernel, order), problem.weight[order]
    root = np.sqrt(np.maximum(values.diagonal(), 0.0))
    out = Pairs(values, order, [])
    if given:
        y = np.where(label > 0, 1.0, -1.0)
        runs: Runs = ((0, problem.n, 0),)
        out.pairs = [Pair((0, 1), order, y, weight, root, runs)]
        out.G = values.given()
    else:
        edges = np.searchsorted(label, np.arange(problem.K + 1))
        out.pairs = [
            _pair(first, second, edges, weight, root)
            for first, second in combinations(range(problem.K), 2)
        ]
        out.edges = edges if problem.K > 2 else None
    problem.__dict__["_kernel_pairs"] = (kernel, out)
    return out


def _pair(first: int, second: int, edges: Index, weight: Array, root: Array) -> Pair:
    """Two classes of rows that are sorted by class."""
    a, b, c, d = (int(edges[k]) for k in (first, first + 1, second, second + 1))
    ids = np.concatenate([np.arange(a, b), np.arange(c, d)]).astype(np.int64)
    y = np.where(np.arange(len(ids)) < b - a, -1.0, 1.0)
    runs = ((0, b - a, a), (b - a, len(ids), c))
    return Pair((first, second), ids, y, weight[ids], root[ids], runs)
