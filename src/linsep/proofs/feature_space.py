"""Whether sums over kernel values separate classes, from the sums and the kernel alone.

Two classes have one sum f(x) = sum_j c_j K(x_j, x) + b, more have one for each, and a row belongs
to the largest. Of two of the sums the difference is again one: it separates the rows of the two
classes, with the margin min y f(x) / |w|, |w|^2 = sum c_i c_j K(x_i, x_j).

Kernels say how far their values may be off; all rounding is bounded with |K_ij|^2 <= K_ii K_jj.
Rows for which float64 leaves it open are looked at in balls (Arb, through python-flint).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.errors import CapabilityError
from linsep.kernels.base import Kernel
from linsep.kernels.blocks import KernelValues
from linsep.numerics.rounding import SUM, U
from linsep.proofs.definite import definite
from linsep.proofs.kernel import (
    BALL_BITS,
    BALL_PRODUCTS,
    Definite,
    entry_error,
    roots,
    street_above,
)
from linsep.proofs.plain import signs
from linsep.proofs.referee import agreed, defined, wider

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class Sums:
    """Sums over kernel values: rows that they go over, coefficients, offsets."""

    support: Index
    coef: Array
    """One row for two classes, else one for each class."""
    intercept: Array


@dataclass(frozen=True)
class Side:
    """Rows of two classes and what a sum says of them."""

    pair: tuple[int, int]
    rows: Index
    values: Array
    """y f(x), where the second class is positive."""
    sure: NDArray[np.bool_]
    """Whether they are above 0, whatever the rounding."""
    lowest: float
    """No value is below."""
    least: float
    """No value over |w| is below; 0 where that is not known."""
    margin: float
    """The least of these, as float64 tells it."""


class FeatureSpace:
    """The rows of a problem under a kernel, and what is known of its values."""

    def __init__(self, problem: Problem, kernel: Kernel) -> None:
        asked = None if kernel.given else kernel
        self.problem, self.kernel = problem, kernel
        self.values = KernelValues(problem, asked)
        self.known: Definite = definite(problem, asked)

    def separated(self, sums: Sums) -> float | None:
        """A lower bound of the margin, perhaps 0, if all rows are on their own side, else None."""
        found = self.sides(sums)
        return min(one.least for one in found) if all(one.sure.all() for one in found) else None

    def sides(self, sums: Sums) -> list[Side]:
        """Where the rows of each two classes are."""
        return [self._side(sums, pair) for pair in combinations(range(self.problem.K), 2)]

    def bound(self, rows: Index, weights: Array) -> float:
        """No margin is larger: shares of rows of two classes, or without an offset of any."""
        label = self.problem.label[rows]
        y = np.where(label == label.max(initial=0), 1.0, -1.0)
        if not self.problem.fit_intercept and self.problem.binary:
            y = signs(self.problem)[rows]
        free = self.problem.fit_intercept
        return street_above(self.values, rows, y, weights, free=free, known=self.known)

    def lengths(self, sums: Sums) -> float:
        """sum |w_k|^2 of all sums, rounded up; inf where there is no feature space."""
        if not self.known.convex:
            return np.inf
        none = np.zeros(0, np.int64)
        every = (
            self._measured(sums.support, c, np.abs(c), 0.0, 0.0, none, np.zeros(0))[2]
            for c in sums.coef
        )
        return float(sum(length * length for length in every)) * (1 + SUM)

    def roots(self) -> Array:
        """sqrt(K_ii) of all rows, of the matrix with its shift."""
        every = np.arange(self.problem.n)
        return roots(self.values, every, every, self.known.shift, convex=self.known.convex)

    def scores(self, sums: Sums) -> tuple[Array, Array, float]:
        """f_k(x_i) of all rows and sums, how far each may be off, and sum |w_k|^2, rounded up."""
        support, coef, shift = sums.support, sums.coef, self.known.shift
        root = self.roots()
        share = entry_error(self.values) + (len(support) + 12) * U + self.known.uneven
        mass = np.abs(coef) @ root[support]
        every, columns = np.arange(self.problem.n), np.ascontiguousarray(coef.T)
        s = self.values.combine_many(support, columns, every)
        s, apart = agreed(self.values, every, support, columns, s)
        rest = 8 * U * (np.abs(s) + np.abs(sums.intercept))
        share = wider(share, np.outer(root, mass), apart, rest)
        if shift > 0:
            s[support] += shift * coef.T
        off = share * np.outer(root, mass) + 8 * U * (np.abs(s) + np.abs(sums.intercept))
        squares = np.einsum("ks,sk->k", coef, s[support]) + (share + SUM) * mass * mass
        squared = float(np.maximum(squares, 0.0).sum()) * (1 + (len(coef) + 4) * U)
        return s + sums.intercept, off, squared

    def reach(self, dual: Array, slack: float = 0.0) -> float:
        """At least sum_k |sum_i dual_ik phi(x_i)|^2, each entry being right to a share of slack."""
        support = np.flatnonzero(dual.any(axis=1))
        given = Sums(support, np.ascontiguousarray(dual[support].T), np.zeros(dual.shape[1]))
        length = float(np.sqrt(self.scores(given)[2]))
        mass = np.abs(dual).T @ self.roots()
        more = slack * float(np.linalg.norm(mass)) * (1 + SUM)
        return (length + more) ** 2 * (1 + 8 * U)

    # -- inside ---------------------------------------------------------------------------

    def _side(self, sums: Sums, pair: tuple[int, int]) -> Side:
        """The rows of the second class have values above 0, those of the first below."""
        problem, (first, second) = self.problem, pair
        ids = np.flatnonzero(np.isin(problem.label, pair))
        y = np.where(problem.label[ids] == second, 1.0, -1.0)
        if problem.binary:
            coef, b = sums.coef[0], float(sums.intercept[0])
            size, offset = np.abs(coef), abs(b)
        else:
            coef = sums.coef[second] - sums.coef[first]
            b = float(sums.intercept[second] - sums.intercept[first])
            size = np.abs(sums.coef[second]) + np.abs(sums.coef[first])
            offset = float(np.abs(sums.intercept[[first, second]]).sum())
        score, off, length = self._measured(sums.support, coef, size, b, offset, ids, y)
        low = score - off
        sure = low > 0
        unclear = np.flatnonzero(~sure & (score > -off))
        if len(unclear) and np.isfinite(score).all() and sure.sum() + len(unclear) == len(sure):
            sure[unclear] = self._in_balls(sums, pair, ids[unclear], y[unclear])
        least = float(low.min(initial=np.inf))
        usable = self.known.convex and 0 < length < np.inf
        return Side(
            pair,
            ids,
            score,
            sure,
            least,
            float(least / length) * (1 - 8 * U) if usable and least > 0 else 0.0,
            float(score.min(initial=np.inf)) / length if usable else -np.inf,
        )

    def _measured(
        self, support: Index, coef: Array, size: Array, b: float, offset: float, ids: Index,
        y: Array,
    ) -> tuple[Array, Array, float]:  # fmt: skip
        """Values y f(x), how far they may be off, and |w|, rounded up.

        size and offset are those of numbers whose difference coef and b are.
        """
        values, known, every = self.values, self.known, np.arange(self.problem.n)
        root = roots(values, every, support, known.shift, convex=known.convex)
        share = entry_error(values) + (len(support) + 12) * U + known.uneven
        mass = float(size @ root[support])
        made = defined(values, np.union1d(ids, support), support, coef)
        told = values.combine(support, coef, ids)
        s, apart = agreed(values, ids, support, coef, told, 0.0, made)
        share = wider(share, mass * root[ids], apart, 8 * U * (np.abs(s) + offset))
        off = share * mass * root[ids] + 8 * U * (np.abs(s) + offset)
        own = np.zeros(self.problem.n)
        own[support] = coef
        off += known.shift * np.maximum(-own[ids] * y, 0.0) * (1 + 8 * U)
        inner = values.combine(support, coef, support)
        inner, apart = agreed(values, support, support, coef, inner, 0.0, made)
        share = wider(share, mass * root[support], apart, 8 * U * np.abs(inner))
        quad = float(coef @ inner)
        quad += known.shift * float(coef @ coef) * (1 + (len(coef) + 4) * U)
        length = float(np.sqrt(max(quad + (share + SUM) * mass * mass, 0.0))) * (1 + 4 * U)
        return y * (s + b), off, length

    def _in_balls(self, sums: Sums, pair: tuple[int, int], ids: Index, y: Array) -> bool:
        """Whether these rows are on their own side, where float64 does not tell."""
        d = 1 if self.kernel.given else self.problem.d
        if len(ids) * len(sums.support) * (d + 8) > BALL_PRODUCTS:
            return False
        from flint import arb, ctx

        before, ctx.prec = ctx.prec, BALL_BITS
        try:
            if self.problem.binary:
                coef = [arb(c) for c in sums.coef[0].tolist()]
                b = arb(float(sums.intercept[0]))
            else:
                two = zip(sums.coef[pair[1]].tolist(), sums.coef[pair[0]].tolist())
                coef = [arb(p) - arb(q) for p, q in two]
                b = arb(float(sums.intercept[pair[1]])) - arb(float(sums.intercept[pair[0]]))
            for row, sign in zip(self._balls(ids, sums.support), y.tolist()):
                if not (sum((k * c for k, c in zip(row, coef)), b) * int(sign)) > 0:
                    return False
        except CapabilityError:
            return False
        finally:
            ctx.prec = before
        return True

    def _balls(self, ids: Index, support: Index) -> list[list[Any]]:
        from flint import arb

        if self.kernel.given:
            return [[arb(float(k)) for k in row] for row in self.values.block(ids, support)]
        return [[self.kernel.ball(x, z) for z in self._plain(support)] for x in self._plain(ids)]

    def _plain(self, rows: Index) -> list[list[float]]:
        some = self.problem.matrix[rows]
        some = some if isinstance(some, np.ndarray) else some.toarray()
        return [[float(x) for x in row] for row in some]
