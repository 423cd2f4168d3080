"""How much single rows pull a plane of least squares.

With the hat matrix H = W W^+ of the weighted rows, p its rank and e the errors y f(x) - b:

leverage           h_i = H_ii in [0, 1]: how much of its own target a row makes true
standardised       r_i = e_i sqrt(s_i) / sqrt(J / (n - p) (1 - h_i))
Cook's distance    r_i^2 h_i / (p (1 - h_i)): how far all scores move when the row is left out
left out           b_i + e_i / (1 - h_i): y f(x) of the row under the plane of all others

A row is called an outlier when |r| > 3 or Cook's distance > 1. One whose value when left out is
above its target needs no attention at all and yet bends the plane: squares punish being too
right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.normal import aims, columns_of, totals
from linsep.core.lanes import Lanes, one_blas_thread
from linsep.core.problem import Problem
from linsep.jit.scatter import scatter
from linsep.solvers.pseudo_inverse import PseudoInverse, pseudo_inverse

__all__ = ["COOK", "STANDARDISED", "RowReport", "row_report"]

Array = NDArray[np.float64]

STANDARDISED = 3.0
COOK = 1.0
_ONE = 1e-9  # 1 - h below this is a row that alone fixes a weight


@dataclass(frozen=True)
class RowReport:
    """What each row has to do with the plane; one entry a row of positive weight."""

    row: NDArray[np.int64]
    """Number in the caller's X."""
    value: Array
    """y f(x); with several classes the lead over the best rival."""
    target: Array
    residual: Array
    """value - target; with several classes the length of the errors of all columns."""
    leverage: Array
    standardised: Array
    cook: Array
    left_out: Array
    """Value when the row is left out; NaN with several classes."""
    outlier: NDArray[np.bool_]
    rank: int

    @property
    def wrong(self) -> NDArray[np.int64]:
        """Rows that are not on their own side."""
        return self.row[self.value <= 0]

    @property
    def outliers(self) -> NDArray[np.int64]:
        """Rows called outliers, the most influential first."""
        found = np.flatnonzero(self.outlier)
        return self.row[found[np.argsort(-self.cook[found], kind="stable")]]

    def kind(self, place: int) -> str:
        """What is remarkable about an entry, in words; empty for most."""
        if not self.outlier[place]:
            return "" if self.value[place] > 0 else "wrong side"
        if self.value[place] <= 0:
            return "outlier on the wrong side"
        if self.left_out[place] > self.target[place]:
            return "outlier, too right: it bends the plane although it needs no help"
        return "outlier"

    def frame(self) -> Any:
        """All entries as a pandas DataFrame."""
        from linsep.errors import require

        pandas = require("pandas", extra="all")
        columns = ("value", "target", "residual", "leverage", "standardised", "cook", "left_out")
        data = {name: getattr(self, name) for name in columns}
        data |= {"outlier": self.outlier, "kind": [self.kind(i) for i in range(len(self.row))]}
        return pandas.DataFrame(data, index=pandas.Index(self.row, name="row"))

    def __len__(self) -> int:
        return len(self.row)

    def lines(self, most: int = 50) -> Iterator[str]:
        """A table, remarkable rows first where there are too many."""
        order = np.arange(len(self.row))
        if len(order) > most:
            order = np.lexsort((-self.cook, ~self.outlier))[:most]
        yield (
            f"{'row':>6} {'value':>11} {'target':>9} {'leverage':>9} {'residual/sd':>11} "
            f"{'Cook':>9} {'left out':>11}"
        )
        for i in order:
            yield (
                f"{self.row[i]:>6} {self.value[i]:>11.5g} {self.target[i]:>9.4g} "
                f"{self.leverage[i]:>9.4f} {self.standardised[i]:>11.4g} {self.cook[i]:>9.3g} "
                f"{self.left_out[i]:>11.5g}  {self.kind(int(i))}"
            ).rstrip()
        if len(self.row) > most:
            yield f"... {len(self.row) - most} more rows"

    def __str__(self) -> str:
        return "\n".join(self.lines())


def row_report(problem: Problem, a: Array) -> RowReport:
    """Leverage, residuals and influence of all rows at the weights a."""
    inverse = pseudo_inverse(problem)
    A, T = columns_of(problem, a), aims(problem)
    errors = totals(problem, A, T).residual
    h = np.clip(_leverage(problem, inverse), 0.0, 1.0)
    rest = 1.0 - h
    p, K = inverse.rank, T.shape[1]
    target = np.abs(T[:, 0])
    with np.errstate(all="ignore"):
        freedom = problem.n - p
        squares = problem.weight * (errors**2).sum(axis=1) / K
        variance = squares.sum() / freedom if freedom > 0 else 0.0
        meant = rest > _ONE
        noise = 1e-24 * float((problem.weight * target**2).sum())
        known = meant & (variance * max(freedom, 1) > noise)
        r = np.where(known, np.sqrt(squares / (variance * rest)), 0.0)
        cook = np.where(known, r**2 * h / (max(p, 1) * rest), 0.0)
        if problem.binary:
            residual = problem.sign * errors[:, 0]
            r, value = np.copysign(r, residual), target + residual
            left_out = np.where(meant, target + residual / rest, np.nan)
        else:
            residual = np.sqrt((errors**2).sum(axis=1))
            value = problem.values(a).reshape(problem.n, -1).min(axis=1)
            left_out = np.full(problem.n, np.nan)
    outlier = (np.abs(r) > STANDARDISED) | (cook > COOK)
    index = np.arange(problem.n) if problem.row_index is None else problem.row_index
    return RowReport(index, value, target, residual, h, r, cook, left_out, outlier, p)


def _leverage(problem: Problem, inverse: PseudoInverse) -> Array:
    if inverse.by_rows:
        vectors = inverse.half / np.linalg.norm(inverse.half, axis=0)
        return np.asarray((vectors**2).sum(axis=1))
    P = np.asarray(inverse.half / inverse.scale[:, None])
    out = np.empty(problem.n)
    lanes = Lanes(problem.matrix, wide=True, scatter=scatter)

    def lane(k: int) -> None:
        for lo, hi, block in lanes.blocks(k):
            rows = block @ P[: problem.d]
            if problem.fit_intercept:
                rows += P[-1]
            out[lo:hi] = np.einsum("ij,ij->i", rows, rows)

    with one_blas_thread():
        lanes.each(lane)
    return np.asarray(out * problem.weight)
