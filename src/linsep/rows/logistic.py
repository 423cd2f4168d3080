"""One pass over the rows for logistic losses: loss, dual variables, gradient, curvature.

Small sets of rows go block by block through numpy, so that nothing is compiled for them; large
ones in one compiled call a lane. Which of the two is a function of shape and layout alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import in_machine_code, inner, routine
from linsep.core.costs import LOGISTIC_PASS, MANY_CALLS, MANY_LANES, second_thread
from linsep.core.problem import Problem
from linsep.losses.logistic import loss
from linsep.rows.loops import sample_block
from linsep.rows.reader import Reader, added, in_order, products

Array = NDArray[np.float64]

_SERIAL = second_thread(LOGISTIC_PASS)


@dataclass(frozen=True)
class LogisticReading:
    """What one pass found at (w, b)."""

    m: Array
    """Margins y f(x)."""
    v: Array
    """sum of cost sigma(-m) y x, and of cost sigma(-m) y: minus the gradient of the losses."""
    loss: float
    dual_sum: float
    """sum of alpha = cost sigma(-m)."""
    dual_product: float
    """sum of alpha m."""
    dual_length: float
    """Length of alpha."""
    terms: int
    """Most roundings in a row of any of these sums."""
    curvature: Array | None
    """sum of cost sigma(m) sigma(-m) [x, 1] [x, 1]', or None if not asked for."""


class _Workspace(NamedTuple):
    """Memory for a block of a lane: the block, times roots, and what belongs to its rows."""

    scratch: NDArray[Any]
    rooted: NDArray[Any]
    memory: Array
    narrow: NDArray[Any]


class LogisticRows(Reader):
    """Rows with their costs: all rows of a problem, or a sample of them."""

    def __init__(
        self,
        matrix: Any,
        sign: Array,
        cost: Array,
        *,
        double: bool = False,
        index: NDArray[np.int64] | None = None,
    ) -> None:
        size = matrix.shape[0] * matrix.shape[1]
        lanes = 32 if size >= MANY_LANES else 4
        super().__init__(matrix, sign, cost, double=double, widens=True, most=lanes, serial=_SERIAL)
        self.lanes.serial = size < _SERIAL  # sparse rows are written out, so zeros count
        self.index = index  # which rows of the problem, None for all
        self._memory: dict[int, _Workspace] = {}
        self.step = max(64, self.lanes.rows // 4)  # rows that are worked on while they are near

    def read(self, a: Array, *, offset: bool, curved: bool, threads: int | None) -> LogisticReading:
        """Pass over the rows at a = [w, b]; curved asks for the curvature."""
        m, root = np.empty(self.n), np.empty(self.n if curved else 0)
        w, b = a[:-1].astype(self.lanes.dtype), float(a[-1])
        work = self._lane if self.X is None else self._compiled_lane

        def lane_sums(lane: int) -> tuple[Array, Array, Array]:
            v, sums, curvature = np.zeros(self.d), np.zeros(N_SUMS), np.zeros((0, 0))
            work(lane, w, b, m, root, v, sums, curved=curved)
            if curved:
                curvature = self._lane_gram(lane, root, offset=offset)
            return v, sums, curvature

        parts = self.lanes.each(lane_sums, threads)
        v, sums, curvature = added(parts)
        balance = float(sums[BALANCE]) if offset else 0.0
        return LogisticReading(
            m,
            np.append(v, balance),
            float(sums[LOSS]),
            float(sums[TOTAL]),
            float(sums[PRODUCT]),
            float(np.sqrt(sums[SQUARES])),
            min(self.n, self.lanes.rows) + -(-self.n // self.step) + len(parts) + 4,
            curvature if curved else None,
        )

    def gram(self, weight: Array, threads: int | None, *, offset: bool) -> Array:
        """sum of weight [x, 1] [x, 1]'."""
        root = np.sqrt(weight)
        parts = self.lanes.each(lambda lane: self._lane_gram(lane, root, offset=offset), threads)
        return np.asarray(np.sum(parts, axis=0))

    def _lane_gram(self, lane: int, root: Array, *, offset: bool) -> Array:
        """sum of root^2 [x, 1] [x, 1]' over a lane; numpy makes A'A at half the cost of A'B."""
        total = np.zeros((self.d + 1, self.d + 1))
        own = self._workspace(lane)
        if self.X is not None and (self.lanes.sparse or not self.widened):
            start, stop = self.lanes.spans[lane]
            for lo in range(start, stop, self.lanes.rows):
                hi = min(stop, lo + self.lanes.rows)
                curve(
                    self.X, root, lo, hi, own.scratch, own.rooted, offset,
                    size=self.size, work=(hi - lo) * self.d,
                )  # fmt: skip
                B = own.rooted[: hi - lo]
                total += B.T @ B
            return total
        for lo, hi, block in self.lanes.blocks(lane):
            B = own.rooted[: hi - lo]
            times_roots(block, root[lo:hi], B, offset)
            total += B.T @ B
        return total

    def combine(self, alpha: Array, threads: int | None, *, offset: bool) -> Array:
        """sum of alpha y [x, 1]."""
        c = alpha * self.sign

        def lane_sum(lane: int) -> Array:
            total = np.zeros(self.d)
            for lo, hi, block in self.lanes.blocks(lane):
                total += c[lo:hi].astype(block.dtype, copy=False) @ block
            return total

        v = np.asarray(sum(self.lanes.each(lane_sum, threads)))
        return np.append(v, c.sum() if offset else 0.0)

    def margins(self, a: Array) -> Array:
        """y (w.x + b)."""
        w, out = a[:-1].astype(self.lanes.dtype), np.empty(self.n)

        def fill(lane: int) -> None:
            lo, hi = self.lanes.spans[lane]
            out[lo:hi] = self.lanes.matrix[lo:hi] @ w

        self.lanes.each(fill)
        out += a[-1]
        out *= self.sign
        return out

    def _lane(
        self, lane: int, w: NDArray[Any], b: float, m: Array, root: Array, v: Array, sums: Array, *,
        curved: bool,
    ) -> None:  # fmt: skip
        for lo, hi, block in self.lanes.blocks(lane):
            sign, cost = self.sign[lo:hi], self.cost[lo:hi]
            values = sign * ((block @ w).astype(np.float64, copy=False) + b)
            m[lo:hi] = values
            e = np.exp(-np.abs(values))
            q = 1.0 / (1.0 + e)
            z = cost * np.where(values > 0, e, 1.0) * q
            sums[LOSS] += float(cost @ loss(values))
            sums[TOTAL] += float(z.sum())
            sums[BALANCE] += float(z @ sign)
            sums[PRODUCT] += float(z @ values)
            sums[SQUARES] += float(z @ z)
            v += (z * sign).astype(block.dtype, copy=False) @ block
            if curved:
                root[lo:hi] = np.sqrt(cost * e) * q

    def _compiled_lane(
        self, lane: int, w: NDArray[Any], b: float, m: Array, root: Array, v: Array, sums: Array, *,
        curved: bool,
    ) -> None:  # fmt: skip
        own = self._workspace(lane)
        lo, hi = self.lanes.spans[lane]
        work = wide_lane if self.widened and not self.lanes.sparse else fused
        work(
            self.X, self.sign, self.cost, w, b, lo, hi, self.step, m, root, own.scratch,
            own.memory, own.narrow, v, sums, curved, size=MANY_CALLS * self.size, work=self.size,
        )  # fmt: skip

    def _workspace(self, lane: int) -> _Workspace:
        """Memory of a lane, kept: fresh memory is slow at first touch."""
        if lane not in self._memory:
            rows, d, dtype = min(self.lanes.rows, self.n), self.d, self.lanes.dtype
            high = rows if self.X is not None and (self.lanes.sparse or self.widened) else 0
            self._memory[lane] = _Workspace(
                np.empty((high, d), dtype), np.empty((rows, d + 1), dtype),
                np.empty((3, rows)), np.empty(rows, dtype),
            )  # fmt: skip
        return self._memory[lane]


def all_rows(problem: Problem, *, double: bool) -> LogisticRows:
    """All rows; their costs are the weights."""
    return LogisticRows(problem.matrix, problem.sign, problem.weight, double=double)


def read_all(
    problem: Problem, rows: LogisticRows, a: Array, threads: int | None
) -> LogisticReading:
    """A pass over all rows without curvature; the last one is kept.

    A certificate that is not enough leaves its pass to the solver that goes on from there.
    """
    key = a.tobytes(), rows.lanes.dtype
    if not problem.knows(_last_reading, key):
        problem.forget(_last_reading)
    return problem.once(_last_reading, key, rows=rows, a=a, threads=threads)


def _last_reading(
    problem: Problem, key: object, rows: LogisticRows, a: Array, threads: int | None
) -> LogisticReading:
    reading = rows.read(a, offset=problem.fit_intercept, curved=False, threads=threads)
    reading.m.flags.writeable = reading.v.flags.writeable = False  # others rely on it
    return reading


# -- A whole lane of rows in one compiled call: the pass of Newton's method for logistic losses
#
# exp and log1p are written out as polynomials, and loops touch few arrays each: compiled, they
# then run on several rows at a time. Errors are a few units in the last place.


# Places in the array of sums: losses, dual variables, dual variables with their signs, dual
# variables times margins, squared dual variables.
LOSS, TOTAL, BALANCE, PRODUCT, SQUARES = range(5)
N_SUMS = 5

_LOG2E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10


# What is done row by row is there twice: with arrays for rows that do not repay a compilation, and
# where numba is missing; in loops for machine code. Sums are taken in the order of the rows, so
# both have the same bits.


@inner
def power(t):
    """exp(t) for -708 <= t <= 0, a number or an array."""
    k = np.floor(t * _LOG2E + 0.5)
    f = (t - k * _LN2_HIGH) - k * _LN2_LOW
    g = f * f
    h = g * g
    p = (1.0 + f) + g * (0.5 + f * (1.0 / 6))
    q = (1.0 / 24 + f * (1.0 / 120)) + g * (1.0 / 720 + f * (1.0 / 5040))
    r = (1.0 / 40320 + f * (1.0 / 362880)) + g * (1.0 / 3628800 + f * (1.0 / 39916800))
    p = p + h * (q + h * (r + h * (1.0 / 479001600)))
    return p * np.int64((np.int64(k) + np.int64(1023)) << np.int64(52)).view(np.float64)


@inner
def exponential(m):
    """exp(-|m|); at least exp(-708)."""
    return power(max(-abs(m), -708.0))


@inner
def artanh2(s):
    """2 artanh(s) for 0 <= s <= 1/3, a number or an array."""
    t = s * s
    u = t * t
    v = u * u
    p = (1.0 + t * (1.0 / 3)) + u * (1.0 / 5 + t * (1.0 / 7))
    q = (1.0 / 9 + t * (1.0 / 11)) + u * (1.0 / 13 + t * (1.0 / 15))
    r = (1.0 / 17 + t * (1.0 / 19)) + u * (1.0 / 21 + t * (1.0 / 23))
    w = (1.0 / 25 + t * (1.0 / 27)) + u * (1.0 / 29 + t * (1.0 / 31))
    return 2.0 * s * ((p + v * q) + (v * v) * (r + v * w))


def add_block(
    scores: NDArray[Any], sign: Array, cost: Array, b: float, m: Array, e: Array, z: Array,
    log: Array, signed: NDArray[Any], sums: Array,
) -> None:  # fmt: skip
    """Margins of a block, dual variables with their signs, and the sums.

    The loss is cost (log1p(e) + max(-m, 0)), the logarithm 2 artanh(e / (2 + e)).
    """
    m[:] = sign * (scores.astype(np.float64, copy=False) + b)
    e[:] = power(np.maximum(-np.abs(m), -708.0))
    z[:] = cost * np.where(m > 0.0, e, 1.0) / (1.0 + e)
    log[:] = cost * (artanh2(e / (2.0 + e)) + np.maximum(-m, 0.0))
    signed[:] = z * sign
    sums[LOSS] += in_order(log)
    sums[TOTAL] += in_order(z)
    sums[BALANCE] += in_order(z * sign)
    sums[PRODUCT] += in_order(z * m)
    sums[SQUARES] += in_order(z * z)


@inner
def _machine_add_block(scores, sign, cost, b, m, e, z, log, signed, sums):
    for i in range(m.shape[0]):
        m[i] = sign[i] * (np.float64(scores[i]) + b)
    for i in range(m.shape[0]):
        e[i] = exponential(m[i])
    for i in range(m.shape[0]):
        x = e[i]
        z[i] = cost[i] * (x if m[i] > 0.0 else 1.0) / (1.0 + x)
    for i in range(m.shape[0]):  # by itself: with the next loop it would not run on several rows
        log[i] = e[i] / (2.0 + e[i])
    for i in range(m.shape[0]):
        log[i] = cost[i] * (artanh2(log[i]) + max(-m[i], 0.0))
    for i in range(m.shape[0]):
        signed[i] = z[i] * sign[i]
    loss = 0.0
    total = 0.0
    balance = 0.0
    product = 0.0
    squares = 0.0
    for i in range(m.shape[0]):
        loss += log[i]
        total += z[i]
        balance += z[i] * sign[i]
        product += z[i] * m[i]
        squares += z[i] * z[i]
    sums[LOSS] += loss
    sums[TOTAL] += total
    sums[BALANCE] += balance
    sums[PRODUCT] += product
    sums[SQUARES] += squares


in_machine_code(add_block, lambda layouts: _machine_add_block)


def roots(e: Array, cost: Array, root: Array) -> None:
    """Square roots of cost sigma(m) sigma(-m)."""
    root[:] = np.sqrt(cost * e) / (1.0 + e)


@inner
def _machine_roots(e, cost, root):
    for i in range(e.shape[0]):
        x = e[i]
        root[i] = np.sqrt(cost[i] * x) / (1.0 + x)


in_machine_code(roots, lambda layouts: _machine_roots)


def times_roots(block: NDArray[Any], root: Array, rooted: NDArray[Any], offset: bool) -> None:  # noqa: FBT001
    """rooted = root [x, 1] for the rows of a block."""
    n = len(block)
    np.multiply(block, root[:, None], out=rooted[:n, :-1], casting="same_kind")
    rooted[:n, -1] = root if offset else 0.0


@inner
def _machine_times_roots(block, root, rooted, offset):
    d = rooted.shape[1] - 1
    for i in range(block.shape[0]):
        r = root[i]
        for j in range(d):
            rooted[i, j] = block[i, j] * r
        rooted[i, d] = r if offset else 0.0


in_machine_code(times_roots, lambda layouts: _machine_times_roots)


@inner
def read_block(block, sign, cost, w, b, m, root, memory, narrow, v, sums, curved):
    """Margins, sums, gradient and, if curved, roots of the curvature of the rows of a block."""
    n = block.shape[0]
    e, z, log = memory[0, :n], memory[1, :n], memory[2, :n]
    signed = narrow[:n]
    add_block(products(block, w), sign, cost, b, m, e, z, log, signed, sums)
    part = np.dot(signed, block)
    for j in range(w.shape[0]):
        v[j] += part[j]
    if curved:
        roots(e, cost, root)


@routine
def fused(X, sign, cost, w, b, lo, hi, rows, m, root, scratch, memory, narrow, v, sums, curved):
    """Rows lo..hi in blocks."""
    for start in range(lo, hi, rows):
        stop = min(hi, start + rows)
        block = sample_block(X, start, stop, scratch)
        read_block(
            block, sign[start:stop], cost[start:stop], w, b, m[start:stop],
            root[start:stop] if curved else root, memory, narrow, v, sums, curved,
        )  # fmt: skip


@routine
def wide_lane(X, sign, cost, w, b, lo, hi, rows, m, root, scratch, memory, narrow, v, sums, curved):
    """The same for a dense matrix of float32 that is read as float64."""
    d = w.shape[0]
    for start in range(lo, hi, rows):
        stop = min(hi, start + rows)
        for i in range(start, stop):
            for j in range(d):
                scratch[i - start, j] = X[i, j]
        read_block(
            scratch[: stop - start], sign[start:stop], cost[start:stop], w, b, m[start:stop],
            root[start:stop] if curved else root, memory, narrow, v, sums, curved,
        )  # fmt: skip


@routine
def curve(X, root, lo, hi, scratch, rooted, offset):
    """rooted = root [x, 1] for the rows lo..hi."""
    times_roots(sample_block(X, lo, hi, scratch), root[lo:hi], rooted, offset)
