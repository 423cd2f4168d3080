"""The reflected rows of a problem over its samples, in the coordinates of a search."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.solvers import matrices
from linsep.solvers.samples import BUILDERS, FEW_ROWS, Samples, white_samples

__all__ = ["Cloud", "cloud_of", "cone_of"]

Array = NDArray[np.float64]

_SPARSE_COLUMNS = 3000  # rows of a sparse matrix with more are never written out


class Cloud:
    """Reflected rows over samples: signed samples, or Kesler rows for K > 2 classes.

    In one group the rows are points whose hull is compared with the origin. In two groups they
    are the classes, whose hulls are compared with each other.
    """

    def __init__(self, problem: Problem, samples: Samples, *, groups: int) -> None:
        self.samples = samples
        self.K = problem.K
        self.entries = problem.n * problem.d
        self.label = problem.label
        self.n_rows = problem.n_rows
        self.blocks = 1 if problem.binary else problem.K
        self.m = samples.m * self.blocks
        self.groups = groups  # 0: the rows span a cone
        self.sign = problem.sign if problem.binary else np.ones(0)
        # rows of a sparse matrix that is not written out stay sparse
        self.wide = not isinstance(samples.matrix, np.ndarray) and self.m > _SPARSE_COLUMNS
        self.table: tuple[Array, Array] | None = None
        if samples.bare and self.blocks == 1 and groups and problem.n <= FEW_ROWS:
            self.table = _table(samples.matrix, self.sign)
        # whether a corral holds the coordinates of its rows
        self.held = not self.wide and self.table is None
        self.side = 1 - problem.label if groups == 2 else np.zeros(self.n_rows, dtype=np.int64)

    def values(self, w: Array) -> Array:
        """Products of all rows with w."""
        if self.blocks == 1:
            values = self.samples.dot(w)
            values *= self.sign
            return values
        scores = self.samples.dot(w.reshape(self.K, -1).T)
        n = len(scores)
        own = scores[np.arange(n), self.label]
        others = np.ones(scores.shape, dtype=bool)
        others[np.arange(n), self.label] = False
        return (own[:, None] - scores)[others]

    def take(self, rows: NDArray[np.int64]) -> Array:
        """Coordinates of some rows."""
        if self.blocks == 1:
            return self.sign[rows, None] * self.samples.take(rows)
        sample, place = np.divmod(rows, self.K - 1)
        own = self.label[sample]
        rival = place + (place >= own)
        block = self.samples.take(sample)
        out = np.zeros((len(rows), self.K, self.samples.m))
        at = np.arange(len(rows))
        out[at, own] = block
        out[at, rival] = -block
        return out.reshape(len(rows), self.m)

    def combine(self, rows: NDArray[np.int64], shares: Array) -> Array:
        """The combination of rows."""
        if not self.wide:
            return np.asarray(shares @ self.take(rows))
        mixed = self._share(rows, shares)
        return np.concatenate([self.samples.combine(share) for share in mixed])

    def products(self, rows: NDArray[np.int64], others: NDArray[np.int64]) -> Array:
        """Products of rows with other rows, whose coordinates no corral holds."""
        if self.table is not None:
            return self.table[1][np.ix_(rows, others)]
        if self.blocks == 1:
            inner = self.samples.products(rows, others)
            return np.asarray(self.sign[rows, None] * inner * self.sign[others])
        (i, p), (j, q) = (np.divmod(r, self.K - 1) for r in (rows, others))
        a, b = self.label[i], self.label[j]
        p, q = p + (p >= a), q + (q >= b)  # the rivals
        signs = (
            (a[:, None] == b).astype(np.float64)
            - (a[:, None] == q)
            - (p[:, None] == b)
            + (p[:, None] == q)
        )
        return np.asarray(self.samples.products(i, j) * signs)

    def _share(self, rows: NDArray[np.int64], coefficients: Array) -> Array:
        """What each sample contributes to each block of a combination of rows."""
        if self.blocks == 1:
            signed = self.sign[rows] * coefficients
            return np.asarray(np.bincount(rows, signed, len(self.label))[None], np.float64)
        share = np.zeros((self.blocks, len(self.label)))
        sample, place = np.divmod(rows, self.K - 1)
        own = self.label[sample]
        np.add.at(share, (own, sample), coefficients)
        np.add.at(share, (place + (place >= own), sample), -coefficients)
        return share

    def weights(self, w: Array, rows: NDArray[np.int64], coefficients: Array) -> Array:
        """Blocks of d weights and a bias of w, which is that combination of rows."""
        if self.samples.gram is None:
            blocks = [np.append(*self.samples.back(u)) for u in w.reshape(self.blocks, -1)]
            return np.concatenate(blocks)
        matrix, scale = self.samples.gram
        share = self._share(rows, coefficients)
        coef = matrices.combined(matrix, share)
        coef *= scale
        out = np.zeros((self.blocks, coef.shape[1] + 1))
        if self.samples.constant:  # else the shares sum to zero, or nothing was centred
            center = matrices.mean(matrix)
            coef -= scale * share.sum(axis=1)[:, None] * center
            out[:, -1] = w.reshape(self.blocks, -1)[:, -1] * self.samples.constant
            out[:, -1] -= scale * (coef @ center)
        np.multiply(coef, scale, out=out[:, :-1])
        return out.ravel()


def _table(points: Array, sign: Array) -> tuple[Array, Array]:
    """Reflected rows as columns, and the products of all with all."""
    table = points.T * sign
    return table, np.asarray(table.T @ table)


_known: WeakKeyDictionary[Problem, dict[str, Cloud]] = WeakKeyDictionary()


def cloud_of(problem: Problem, metric: str) -> Cloud:
    """The rows of a problem as hulls, in plain, scaled or white coordinates.

    It is made of the problem alone, so no state needs to hold it: it is made once and kept as
    long as the problem is.
    """
    kept = _known.setdefault(problem, {})
    if metric not in kept:
        two = problem.binary and problem.fit_intercept
        samples = BUILDERS[metric](problem, constant=problem.fit_intercept and not two)
        kept[metric] = Cloud(problem, samples, groups=2 if two else 1)
    return kept[metric]


def cone_of(problem: Problem) -> Cloud:
    """The rows of a problem as directions, in white coordinates; kept in the same way."""
    kept = _known.setdefault(problem, {})
    if "cone" not in kept:
        samples = white_samples(problem, constant=problem.fit_intercept)
        kept["cone"] = Cloud(problem, samples, groups=0)
    return kept["cone"]
