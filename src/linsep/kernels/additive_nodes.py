"""The power mean of two numbers as a sum over nodes, with a proved error.

For p <= 0 and x, z > 0 the power mean ((x^p + z^p) / 2)^(1/p) is homogeneous, so with
s = log x and t = log z

    M_p(x, z) = sqrt(x) sqrt(z) S(s - t),   S(u) = cosh(p u / 2)^(1/p)  in (0, 1].

Few distinct values: every logarithm is a node of its own. Many: the axis of logarithms is cut
into cells and S is replaced by its polynomial through Chebyshev points, in both arguments.

The error. S is analytic for |Im u| < pi / |p|. On the Bernstein ellipse of a cell of
half-width h with parameter rho, |p Im u / 2| <= |p| h (rho - 1/rho) / 4 = b, and
|cosh(a + ib)| >= cos b, so |S| <= M = cos(b)^(-1/|p|) there. The polynomial of degree m - 1
differs from S by at most 4 M rho^(1-m) / (rho - 1) (Trefethen, Approximation Theory and
Approximation Practice, theorem 8.2), which is 1.2e-14 here; interpolating in the second
argument as well adds the same times the Lebesgue constant 2.8. Rounding of weights and tables
costs about 1e-13, that of a logarithm s at most 4 |s| 2^-53 in each argument, times |S'| <= S / 2
and twice the Lebesgue constant. ``table_error`` bounds the sum: a kernel value is off by at most
table_error sqrt(x z).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.jit import additive as loops

__all__ = [
    "POINTS", "Nodes", "Places", "distinct", "mean_table", "nodes_of", "ranks_in", "similarity",
    "table_error", "table_of",
]  # fmt: skip

Array = NDArray[np.float64]

POINTS = 16
_RHO_WIDTH = 8.4  # rho - 1 / rho of the cells
_MANY = 512  # distinct values from which cells are used
_HASH = 1 << 13
_LARGEST = 4096


@dataclass(frozen=True)
class Nodes:
    """Nodes on the axis of logarithms: single values, or the Chebyshev points of cells."""

    power: float
    position: Array
    cells: NDArray[np.int64] | None = None
    """Numbers of the occupied cells; None where every value is a node."""
    levels: Array | None = None
    """The values, where every one is a node."""

    @property
    def points(self) -> Array:
        """Chebyshev points of a cell, in [-1, 1]; one point for single values."""
        return _POINTS if self.cells is not None else _ONE

    @property
    def signs(self) -> Array:
        """Their barycentric weights."""
        return _SIGNS if self.cells is not None else _ONE

    @property
    def too_many(self) -> bool:
        """Whether a table of all pairs of nodes would be too large: |p| in the hundreds."""
        return len(self.position) > _LARGEST

    def places(self, values: Array) -> Places:
        """Where values lie on these nodes; they must be among those the nodes were made for."""
        root = np.sqrt(values)
        if self.cells is None:
            levels: Any = self.levels
            keys: Any = table_of(levels, len(levels))
            return Places(ranks_in(values, keys)[1], np.zeros(1), root)
        s = np.log(values)
        width = 2.0 * half_width(self.power)
        cell = np.floor(s / width)
        base = (np.searchsorted(self.cells, cell.astype(np.int64)) * POINTS).astype(np.int32)
        t = np.clip((s - cell * width) / (0.5 * width) - 1.0, -1.0, 1.0)
        return Places(base, t, root)


@dataclass(frozen=True)
class Places:
    """First node, local coordinate and square root of each of many values."""

    base: NDArray[np.int32]
    t: Array
    root: Array


_POINTS = np.cos((2 * np.arange(POINTS) + 1) * np.pi / (2 * POINTS))
_SIGNS = np.sin((2 * np.arange(POINTS) + 1) * np.pi / (2 * POINTS)) * (-1.0) ** np.arange(POINTS)
_ONE = np.ones(1)


def half_width(power: float) -> float:
    """Half-width of a cell for which the error bound holds."""
    size = max(abs(power), 1e-250)  # below it the mean is the geometric one
    b = min(np.pi / 3, np.sqrt(size))
    return float(4.0 * b / (size * _RHO_WIDTH))


def nodes_of(values: Array, power: float) -> Nodes:
    """Nodes for given positive values."""
    few = distinct(values, _MANY)
    if few is not None:
        return Nodes(power, np.log(few), levels=few)
    width = 2.0 * half_width(power)
    cells = np.unique(np.floor(np.log(values) / width).astype(np.int64))
    middle = (cells + 0.5) * width
    position = (middle[:, None] + 0.5 * width * _POINTS).ravel()
    return Nodes(power, position, cells)


def mean_table(power: float, left: Array, right: Array) -> Array:
    """S(s - t) for all pairs of logarithms."""
    u = np.abs(left[:, None] - right[None, :])
    if power == 0.0:
        return np.ones_like(u)
    return similarity(power, u)


def similarity(power: float, u: Any) -> Array:
    """S(u) = cosh(p u / 2)^(1/p) for p < 0 and u >= 0.

    log cosh a is a + log(1 + exp(-2a)) - log 2, which loses all digits of a small a; there it is
    log(1 + 2 sinh(a/2)^2). Either has an error of a few units in the last place of a.
    """
    a = np.asarray(u) * (abs(power) / 2)
    small = 2.0 * np.sinh(0.5 * np.minimum(a, 1.0)) ** 2
    log_cosh = np.where(a < 1.0, np.log1p(small), a + np.log1p(np.exp(-2.0 * a)) - np.log(2.0))
    return np.asarray(np.exp(-log_cosh / abs(power)))


def table_error(*values: Array) -> float:
    """Share of sqrt(x z) that bounds the error of a tabled mean of some of the values."""
    ends = [v for part in values if len(part) for v in (part.min(), part.max())]
    extent = max((abs(float(np.log(v))) for v in ends), default=0.0)
    return 2.5e-13 + 5e-15 * extent


def distinct(values: Array, most: int) -> Array | None:
    """The distinct values, sorted; None if there are more than ``most``."""
    keys = table_of(values, most)
    return None if keys is None else np.sort(keys[keys != -1].view(np.float64))


def table_of(values: Array, most: int) -> NDArray[np.int64] | None:
    """A hash table of the distinct values, as 64-bit numbers."""
    keys = np.full(max(_HASH, 1 << int(4 * most - 1).bit_length()), -1, dtype=np.int64)
    used, step = 0, 1 << 18
    for at in range(0, len(values), step):
        bits = np.ascontiguousarray(values[at : at + step], dtype=np.float64).view(np.int64)
        used = loops.collect(bits, keys, used, most, size=len(values), work=2 * len(bits))
        if used < 0:
            return None
    return keys


def ranks_in(values: Array, keys: NDArray[np.int64]) -> tuple[Array, NDArray[np.int32]]:
    """The sorted values of a table, and the rank of each of the values given."""
    held = np.flatnonzero(keys != -1)
    order = np.argsort(keys[held].view(np.float64))
    rank: Any = np.zeros(len(keys), dtype=np.int32)
    rank[held[order]] = np.arange(len(held), dtype=np.int32)
    out = np.empty(len(values), dtype=np.int32)
    step = 1 << 18
    for at in range(0, len(values), step):
        bits = np.ascontiguousarray(values[at : at + step], dtype=np.float64).view(np.int64)
        loops.look_up(bits, keys, rank, out[at : at + step], size=len(values), work=2 * len(bits))
    return keys[held][order].view(np.float64), out
