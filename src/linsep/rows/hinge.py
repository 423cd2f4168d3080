"""One pass over the rows for the Newton method: losses, dual point, gradient, curvature.

Each block of rows is read while it sits in the cache: scores, derivatives of the loss, their
combination with the rows, and the product of the rows on the curved part of the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import in_machine_code, inner, routine
from linsep.core.costs import HINGE_PASS, MANY_CALLS, second_thread
from linsep.losses.hinge import HINGE, QuadraticLoss
from linsep.rows.loops import sample_block
from linsep.rows.reader import Reader, added, in_order, products

Array = NDArray[np.float64]

_SERIAL = second_thread(HINGE_PASS)


@dataclass(frozen=True)
class Reading:
    """What one pass found at (w, b) for a rounding of width h."""

    u: Array
    """Violations 1 - y f(x)."""
    v: Array
    """sum of cost z y x over all rows, and over the rows of the positive class."""
    v_plus: Array
    sums: Array
    """Sums over the rows, at the places LOSS, ROUNDED, ... below."""
    curvature: Array
    """sum of cost [x, 1] [x, 1]' over the curved part, shape (d + 1, d + 1)."""


class RowSet(Reader):
    """Rows with their costs, for losses whose conjugate is quadratic."""

    def __init__(
        self,
        matrix: Any,
        sign: Array,
        cost: Array,
        loss: QuadraticLoss = HINGE,
        *,
        double: bool = False,
    ) -> None:
        super().__init__(matrix, sign, cost, double=double, widens=False, serial=_SERIAL)
        self.loss = loss
        self.even = bool((cost == cost[0]).all())
        self._scratch: dict[int, tuple[NDArray[Any], NDArray[np.int64], NDArray[Any]]] = {}
        self._memory: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}

    def read(
        self,
        a: Array,
        h: float,
        center: Array,
        *,
        offset: bool,
        threads: int | None,
        curve: bool = True,
    ) -> Reading:
        """Pass over the rows at a = [w, b]; h > 0 rounds a corner off, h = 0 nothing.

        center is empty or has a number in [0, 1] for each row: the slope of the loss at u = 0.
        Without curve the curvature is left at zero.
        """
        u = np.empty(self.n)
        w, b = a[:-1].astype(self.lanes.dtype), float(a[-1])
        work = self._lane if self.X is None else self._compiled_lane
        parts = self.lanes.each(
            lambda k: work(k, w, b, h, center, u, offset=offset, curve=curve), threads
        )
        v, sums, curvature = added(parts)
        return Reading(u, v[0], v[1], sums, curvature)

    def _lane(
        self, lane: int, w: NDArray[Any], b: float, h: float, center: Array, u: Array, *, offset:
        bool, curve: bool,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        d, rows, dtype = self.d, self.lanes.rows, self.lanes.dtype
        v, sums, curvature = np.zeros((2, d)), np.zeros(N_SUMS), np.zeros((d + 1, d + 1))
        if lane not in self._scratch:  # fresh memory is slow at first touch
            self._scratch[lane] = (
                np.empty((2, rows), dtype), np.empty(rows + 1, np.int64), np.empty((rows, d), dtype)
            )  # fmt: skip
        z, band, curved = self._scratch[lane]
        for lo, hi, block in self.lanes.blocks(lane):
            zy, zp = z[0, : hi - lo], z[1, : hi - lo]
            k = bend_block(
                block @ w, self.sign[lo:hi], self.cost[lo:hi], center[lo:hi], b, h, self.loss.form,
                u[lo:hi], zy, zp, band, sums,
            )  # fmt: skip
            v[0] += zy @ block
            if offset:
                v[1] += zp @ block
            if curve and k:
                B = np.take(block, band[:k], axis=0, out=curved[:k], mode="clip")
                self._curve(B, self.cost[lo:hi], band[:k], curvature, offset=offset)
        return v, sums, curvature

    def _compiled_lane(
        self, lane: int, w: NDArray[Any], b: float, h: float, center: Array, u: Array, *, offset:
        bool, curve: bool,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        d, rows, dtype = self.d, self.lanes.rows, self.lanes.dtype
        v, sums, curvature = np.zeros((2, d)), np.zeros(N_SUMS), np.zeros((d + 1, d + 1))
        if lane not in self._scratch:  # fresh memory is slow at first touch
            high = rows if self.lanes.sparse else 0
            self._memory[lane] = np.empty((high, d), dtype), np.empty(rows, dtype)
            self._scratch[lane] = (
                np.empty((2, rows), dtype), np.empty(rows + 1, np.int64), np.empty((rows, d), dtype)
            )  # fmt: skip
        z, band, curved = self._scratch[lane]
        scratch, root = self._memory[lane]
        lo, hi = self.lanes.spans[lane]
        fused(
            self.X, (self.sign, self.cost, center, self.even), (w, b, h, self.loss.form),
            (lo, hi, rows), (scratch, curved, root, z, band), (u, v, sums, curvature),
            offset, curve, size=MANY_CALLS * self.size, work=self.size,
        )  # fmt: skip
        return v, sums, curvature

    def _curve(
        self, B: NDArray[Any], cost: Array, band: NDArray[np.int64], out: Array, *, offset: bool
    ) -> None:
        """Add cost [x, 1] [x, 1]' of the rows B."""
        d = self.d
        if self.even:
            root: NDArray[Any] = np.full(len(B), np.sqrt(cost[0]), B.dtype)
            total = float(cost[0]) * len(B)
            factor = float(cost[0])
        else:
            own = cost[band]
            root = np.sqrt(own).astype(B.dtype)
            B *= root[:, None]
            total, factor = float(own.sum()), 1.0
        product = B.T @ B
        out[:d, :d] += product if factor == 1.0 else factor * product
        if offset:
            out[:d, d] += (root @ B) * (np.sqrt(factor) if factor != 1.0 else 1.0)
            out[d, d] += total


# -- A whole lane of rows in one compiled call, for data that are always large --------------------
#
# The same arithmetic as above block by block, without going back to Python
# between two products: with two threads that is what takes the time. Sums may differ in their
# last bits, so a set of rows uses one of the two for good.


def gram(B: NDArray[Any]) -> NDArray[Any]:
    """B' B; numpy would take another way for a matrix with itself than numba, so it has a copy."""
    product: NDArray[Any] = np.dot(B.T, B.copy())
    return product


def _machine_gram(B: NDArray[Any]) -> NDArray[Any]:
    product: NDArray[Any] = np.dot(B.T, B)
    return product


in_machine_code(gram, lambda layouts: _machine_gram)


def add_curvature(
    block: NDArray[Any], cost: Array, even: bool, band: NDArray[np.int64], k: int,  # noqa: FBT001
    curved: NDArray[Any], root: NDArray[Any], out: Array, offset: bool,  # noqa: FBT001
) -> None:  # fmt: skip
    """out += cost [x, 1] [x, 1]' over the rows of the block that band names."""
    d = block.shape[1]
    B = np.take(block, band[:k], axis=0, out=curved[:k], mode="clip")
    root[:k] = np.sqrt(cost[band[:k]])
    if not even:
        B *= root[:k, None]
    out[:d, :d] += (cost[0] if even else 1.0) * gram(B).astype(np.float64, copy=False)
    if offset:
        line = np.dot(root[:k], B).astype(np.float64, copy=False)
        out[:d, d] += (np.sqrt(cost[0]) if even else 1.0) * line
        out[d, d] += in_order(cost[band[:k]])


@inner
def _machine_curvature(block, cost, even, band, k, curved, root, out, offset):
    d = block.shape[1]
    total = 0.0
    for r in range(k):
        i = band[r]
        c = np.sqrt(cost[i])
        root[r] = c
        total += cost[i]
        if even:
            for j in range(d):
                curved[r, j] = block[i, j]
        else:
            for j in range(d):
                curved[r, j] = block[i, j] * root[r]
    B = curved[:k]
    product = gram(B)
    factor = cost[0] if even else 1.0
    for j in range(d):
        for m in range(d):
            out[j, m] += factor * product[j, m]
    if offset:
        line = np.dot(root[:k], B)
        side = np.sqrt(cost[0]) if even else 1.0
        for j in range(d):
            out[j, d] += side * line[j]
        out[d, d] += total


in_machine_code(add_curvature, lambda layouts: _machine_curvature)


@routine
def fused(X, given, point, span, memory, found, offset, curve):
    """Rows lo..hi in blocks: violations, sums, gradient parts and, if asked for, curvature.

    given     sign, cost and centre of all rows, and whether all costs are the same
    point     w, b, the width h and the form of the loss
    span      lo, hi, and how many rows a block has
    memory    for a block: its rows, the curved ones, roots of costs, slopes, numbers of rows
    found     u of all rows, v, sums and curvature, which are added to
    """
    sign, cost, center, even = given
    w, b, h, form = point
    lo, hi, rows = span
    scratch, curved, root, z, band = memory
    u, v, sums, curvature = found
    d = w.shape[0]
    for start in range(lo, hi, rows):
        stop = min(hi, start + rows)
        n = stop - start
        block = sample_block(X, start, stop, scratch)
        scores = products(block, w)
        k = bend_block(
            scores, sign[start:stop], cost[start:stop], center[start:stop], b, h, form,
            u[start:stop], z[0, :n], z[1, :n], band, sums,
        )  # fmt: skip
        part = np.dot(z[0, :n], block)
        for j in range(d):
            v[0, j] += part[j]
        if offset:
            part = np.dot(z[1, :n], block)
            for j in range(d):
                v[1, j] += part[j]
        if curve and k > 0:
            add_curvature(block, cost[start:stop], even, band, k, curved, root, curvature, offset)


# -- Elementwise work of the Newton method for the hinge losses -----------------------------------
#
# Twice: numpy for rows that do not repay a compilation, and where numba is missing; one loop for
# machine code. Sums are taken in the order of the rows, so both have the same bits.


# Places in the array of sums.
LOSS, ROUNDED, LEFTOVER, PLUS, MINUS, SQUARE_PLUS, SQUARE_MINUS = range(7)
N_SUMS = 7


def bend_block(
    scores: NDArray[Any], sign: Array, cost: Array, center: Array, b: float, h: float,
    form: tuple[float, float], u: Array, zy: NDArray[Any], zp: NDArray[Any],
    band: NDArray[np.int64], sums: Array,
) -> int:  # fmt: skip
    """Violations of a block of rows, derivatives of the loss, and the rows of its curved part.

    h > 0: hinge rounded off, z = clip(center + u / (2 h), 0, 1), an empty center meaning 1/2;
    h = 0: a loss without a corner, z = clip(u / (2 q), 0, top), form being (q, top). zy receives
    cost * z * sign, zp the same for the positive class alone and zero elsewhere. Gives back how
    many row numbers were written to band.
    """
    q, top = form
    v = 1.0 - sign * (scores.astype(np.float64, copy=False) + b)
    u[:] = v
    p = np.maximum(v, 0.0)
    if h > 0.0:
        middle = center if len(center) else 0.5
        z = np.minimum(np.maximum(v * (0.5 / h) + middle, 0.0), 1.0)
        curved = (z > 0.0) & (z < 1.0)
        sums[LOSS] += in_order(cost * p)
        sums[ROUNDED] += in_order(cost * (z * v - h * (z - middle) * (z - middle)))
        sums[LEFTOVER] += in_order(cost * (p - z * v))
    else:
        scale, end = 0.5 / q, 2.0 * q * top
        z = np.minimum(p * scale, top)
        curved = (v > 0.0) & (v < end)
        loss = cost * p * p * (0.5 * scale)
        far = p >= end
        loss[far] = cost[far] * (top * (p[far] - 0.5 * end))
        total = in_order(loss)
        sums[LOSS] += total
        sums[ROUNDED] += total
    k = int(np.count_nonzero(curved))
    band[:k] = np.flatnonzero(curved)
    cz = cost * z
    zy[:] = cz * sign
    positive = sign > 0.0
    plus, minus = np.where(positive, cz, 0.0), np.where(positive, 0.0, cz)
    zp[:] = plus
    sums[PLUS] += in_order(plus)
    sums[MINUS] += in_order(minus)
    sums[SQUARE_PLUS] += in_order(plus * z)
    sums[SQUARE_MINUS] += in_order(minus * z)
    return k


@inner
def _machine_bend(scores, sign, cost, center, b, h, form, u, zy, zp, band, sums):
    loss = 0.0
    rounded = 0.0
    leftover = 0.0
    plus = 0.0
    minus = 0.0
    square_plus = 0.0
    square_minus = 0.0
    k = 0
    q, top = form
    scale = 0.5 / h if h > 0.0 else 0.5 / q
    end = 2.0 * q * top
    centred = center.shape[0] > 0
    middle = 0.5
    for i in range(u.shape[0]):
        y = sign[i]
        c = cost[i]
        v = 1.0 - y * (np.float64(scores[i]) + b)
        u[i] = v
        p = max(v, 0.0)
        if h > 0.0:
            if centred:
                middle = center[i]
            z = min(max(v * scale + middle, 0.0), 1.0)
            loss += c * p
            rounded += c * (z * v - h * (z - middle) * (z - middle))
            leftover += c * (p - z * v)
            curved = 0.0 < z < 1.0
        else:
            z = min(p * scale, top)
            loss += c * p * p * (0.5 * scale) if p < end else c * (top * (p - 0.5 * end))
            curved = 0.0 < v < end
        band[k] = i
        k += 1 if curved else 0
        cz = c * z
        zy[i] = cz * y
        if y > 0.0:
            zp[i] = cz
            plus += cz
            square_plus += cz * z
        else:
            zp[i] = 0.0
            minus += cz
            square_minus += cz * z
    sums[LOSS] += loss
    sums[ROUNDED] += rounded if h > 0.0 else loss
    sums[LEFTOVER] += leftover
    sums[PLUS] += plus
    sums[MINUS] += minus
    sums[SQUARE_PLUS] += square_plus
    sums[SQUARE_MINUS] += square_minus
    return k


in_machine_code(bend_block, lambda layouts: _machine_bend)
