"""The two things that a round of a kernel machine does with a Gram matrix, however it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.kernel_values import KernelValues
from linsep.core.lanes import run_all
from linsep.jit.smo import add_rows, square_of
from linsep.kernels.scratch import scratch
from linsep.kernels.sums import signed_sums
from linsep.solvers.smo_rows import LazyRows

__all__ = ["Desk", "PassingDesk", "passing"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Runs = tuple[tuple[int, int, int], ...]

_SMALL = 100_000  # entries of rows up to which a product by numpy is fast
_HALVES = 500_000  # entries of rows from which two threads share them
_LARGE = 4_000_000  # entries of a Gram matrix beyond the cache, where machine code reads faster


def passing(values: KernelValues, dtype: Any) -> bool:
    """Whether kernel values are cheaper to make than to read: those of rows of bits."""
    known = values.kernel is not None and type(values.kernel).__name__ == "RBF"
    return bool(known and values.prepared(dtype).codes is not None)


@dataclass
class Desk:
    """A Gram matrix of some rows of a pair, and where they are in it.

    Of a large one a row is computed when it first enters a working set.
    """

    G: NDArray[Any]
    place: Index
    runs: Runs
    lazy: LazyRows | None = None
    blocks: tuple[int, ...] = (0,)
    """Those of its columns."""

    def square(self, some: Index, urgent: Any = None) -> Array:
        """The matrix of a working set; urgent() is how much each row asks to be in one soon.

        It is valid until the thread makes the next one, or a tile of values.
        """
        at = rows = self.place[some]
        if self.lazy is not None:
            none = partial(np.zeros, len(self.place))
            self.lazy.need(self.place, some, self.blocks, urgent or none)
            rows = self.lazy.slot[at]
        if self.G.size < _LARGE:
            return np.asarray(self.G[rows[:, None], at[None, :]], dtype=np.float64)
        out = scratch(len(at), len(at), np.float64)
        square_of(self.G, rows, at, out, size=self.G.size, work=out.size)
        return out

    def whole(self, out: Array) -> None:
        """The matrix of all rows, by runs of it, not by single entries."""
        m = len(self.place)
        if self.lazy is not None:
            self.lazy.need(self.place, np.arange(m), self.blocks, partial(np.zeros, m))
        for lo, hi, place in self.runs:
            rows: Any = slice(place, place + hi - lo)
            if self.lazy is not None:
                rows = self.lazy.slot[rows]
            for left, right, at in self.runs:
                out[lo:hi, left:right] = self.G[rows, at : at + right - left]

    def add(self, f: Array, some: Index, coef: Array) -> None:
        """f += K[:, some] coef, over all rows of the desk; they have been in the last square."""
        at = self.place[some]
        at = at if self.lazy is None else self.lazy.slot[at]
        size = len(at) * len(f)
        if size < _SMALL:
            for lo, hi, place in self.runs:
                f[lo:hi] += coef @ self.G[at, place : place + hi - lo]
            return
        short, jobs = coef.astype(self.G.dtype), []
        for lo, hi, place in self.runs:
            half = lo + (hi - lo + 1) // 2 if size >= _HALVES else hi
            for a, b in ((lo, half), (half, hi)):
                if b > a:
                    args = (f[a:b], self.G, at, short, a + place - lo, b + place - lo)
                    jobs.append(partial(add_rows.choose(*args, size=size, work=size), *args))
        run_all(jobs, 1 if size < _HALVES else None)


@dataclass
class PassingDesk:
    """The same without a matrix: values are made each time and forgotten."""

    values: KernelValues
    ids: Index
    runs: Runs
    dtype: Any

    def square(self, some: Index, urgent: Any = None) -> Array:
        """The matrix of a working set."""
        del urgent
        return self.values.block(self.ids[some], self.ids[some], self.dtype).astype(np.float64)

    def whole(self, out: Array) -> None:
        """The matrix of all rows."""
        m = len(self.ids)
        out[:m, :m] = self.square(np.arange(m))

    def add(self, f: Array, some: Index, coef: Array) -> None:
        """f += K[:, some] coef, over all rows of the desk."""
        rows = self.values.picked(self.ids[some], self.dtype)
        for lo, hi, _ in self.runs:
            columns = self.values.picked(self.ids[lo:hi], self.dtype)
            plus, minus = signed_sums(self.values.kernel, columns, rows, coef, merge=False)
            f[lo:hi] += plus - minus
