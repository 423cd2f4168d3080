"""Kernel values times coefficients, summed over rows, without keeping the values."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import inner, routine
from linsep.core.costs import KERNEL, second_thread
from linsep.core.lanes import one_blas_thread, run_all
from linsep.kernels.gaussian import add_gaussians, add_tile
from linsep.kernels.rows import DENSE_WIDTH, WORTH_GROUPING, Rows, groups_of, sum_of_groups

Array = NDArray[np.float64]

if TYPE_CHECKING:
    from linsep.kernels.base import Kernel


SHORT = 16  # terms of a sum that are added in float32, where there is one sum
STEP, STRIP = 256, 1024  # rows and columns of a block: 1 MB in float32, which stays in the cache
_NARROW_BLOCK = 512  # columns of a block whose values are added up in place
_UNIT = 64  # columns that products of rows like best: whole lines of the cache
_FEW_ROWS = 256  # rows below which the other side is cut into lanes,
_LONGEST_BLOCK = 4096  # of no more rows than this
_CODED = 4096  # rows of bits that are looked at together
_SERIAL = second_thread(KERNEL)
_BYTES = 256 << 20  # a sparse matrix is never written out beyond this


def weighted_sums(
    kernel: Kernel, A: Rows, B: Rows, coef: NDArray[np.float64]
) -> NDArray[np.float64]:
    """sum_j K(a_i, b_j) coef_jm for every row of A and column of coef.

    In the format of the rows; where there are many values float32 adds strips of STRIP terms. Of
    equal rows the values are made once.
    """
    if coef.shape[1] == 1:
        plus, minus = signed_sums(kernel, A, B, coef[:, 0])
        return np.asarray(plus - minus)[:, None]
    A, B, coef, back = _merged(kernel, A, B, coef)
    return np.asarray(_sums(kernel, A, B, coef)[back])


def signed_sums(
    kernel: Kernel, A: Rows, B: Rows, coef: NDArray[np.float64], *, merge: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums over the coef > 0, and minus those over the coef < 0.

    float32 adds up SHORT terms at a time, the rest is float64. merge=False: nobody looks for equal
    rows.
    """
    back: Any = slice(None)
    if merge:
        A, B, many, back = _merged(kernel, A, B, coef[:, None])
        coef = many[:, 0]
    if A.n * B.n < _SERIAL:
        both = _sums(kernel, A, B, np.stack([np.maximum(coef, 0), np.maximum(-coef, 0)], axis=1))
        return both[back, 0], both[back, 1]
    turned = coef[0] < 0  # the first ones come first; often each sign is one run already
    first = coef < 0 if turned else coef >= 0
    cut, size = int(np.count_nonzero(first)), np.abs(coef)
    left = B
    if not first[:cut].all():
        order = np.argsort(~first, kind="stable")
        left, size = B.take(order), size[order]
    if kernel.tabled and A.codes is not None and left.codes is not None:
        one, two = _by_tables(kernel, A, left, size, cut)
    else:
        one, two = _by_tiles(kernel, A, left, size.astype(A.dtype), cut)
    return (two[back], one[back]) if turned else (one[back], two[back])


def _by_tables(kernel: Any, A: Rows, B: Rows, size: NDArray[np.float64], cut: int) -> Any:
    """Sums over the rows of B before cut and over the others, of rows of bits."""
    one, two, strip = np.zeros(A.n), np.zeros(A.n), _even(A.n, _CODED)

    def part(at: int) -> None:
        some = slice(at, min(at + strip, A.n))
        rows = A.slice(some.start, some.stop)
        one[some] = kernel.by_table(rows, B.slice(0, cut), size[:cut])
        two[some] = kernel.by_table(rows, B.slice(cut, B.n), size[cut:])

    _all(kernel, [partial(part, at) for at in range(0, A.n, strip)], A.n * B.n)
    return one, two


def _by_tiles(kernel: Kernel, A: Rows, B: Rows, size: NDArray[Any], cut: int) -> Any:
    """The same from tiles of values; few rows of A meet long runs of B, which threads share."""
    few = A.n < _FEW_ROWS
    strip = A.n if few else -(-_even(A.n, _NARROW_BLOCK) // _UNIT) * _UNIT
    step = min(_LONGEST_BLOCK, STEP * _NARROW_BLOCK // strip // _UNIT * _UNIT) if few else STEP
    pieces = [(r, B.slice(r, min(r + step, B.n)), size[r : r + step]) for r in range(0, B.n, step)]
    lanes = min(4, len(pieces)) if few else 1
    sums = np.zeros((lanes, 2, A.n))

    def part(lane: int, at: int) -> None:
        end = min(at + strip, A.n)
        right, some = A.slice(at, end), np.empty(end - at, A.dtype)
        own = sums[lane, :, at:end]
        for r, rows, sizes in pieces[lane::lanes]:
            add = add_gaussians
            values = kernel.powers(rows, right, scratch(rows.n, right.n, A.dtype))
            if values is None:
                values, add = tile_of(kernel, rows, right), add_tile
            args = values, sizes, some, own[0], own[1], max(0, cut - r)
            add(*args, size=A.n * B.n, work=values.size)

    jobs = [partial(part, lane, at) for at in range(0, A.n, strip) for lane in range(lanes)]
    _all(kernel, jobs, A.n * B.n)
    return sums.sum(axis=0)


def _even(n: int, most: int) -> int:
    """Rows of a strip, so that all strips are about as long and threads end together."""
    strips = -(-n // most)
    strips = max(4, strips + strips % 2)
    return max(1, min(most, -(-n // strips)))


def tile_of(kernel: Kernel, A: Rows, B: Rows) -> NDArray[Any]:
    """Kernel values, in memory of the thread that is used again for the next tile."""
    values = kernel.tile(A, B, scratch(A.n, B.n, A.dtype))
    return values if values.flags.c_contiguous else np.ascontiguousarray(values)


def _merged(kernel: Kernel, A: Rows, B: Rows, coef: NDArray[np.float64]) -> Any:
    """Both sides without equal rows, and which row of the result each row of A has."""
    back: Any = slice(None)
    if A.n * B.n >= WORTH_GROUPING and kernel.symmetric:
        with one_blas_thread():
            of_A, of_B = run_all([partial(groups_of, A.matrix), partial(groups_of, B.matrix)])
        if of_B is not None:
            B, coef = B.take(of_B[0]), sum_of_groups(coef, of_B)
        if of_A is not None:
            A, back = A.take(of_A[0]), of_A[1]
    return A, B, coef, back


def _sums(kernel: Kernel, A: Rows, B: Rows, coef: NDArray[np.float64]) -> NDArray[np.float64]:
    out = np.zeros((A.n, coef.shape[1]))
    short = coef.astype(A.dtype) if A.n * B.n >= _SERIAL else coef

    def part(at: int) -> None:
        left = A.slice(at, min(at + STEP, A.n))
        total = np.zeros((left.n, coef.shape[1]))
        for r in range(0, B.n, STRIP):
            total += tile_of(kernel, left, B.slice(r, min(r + STRIP, B.n))) @ short[r : r + STRIP]
        out[at : at + STEP] = total

    _all(kernel, [partial(part, at) for at in range(0, A.n, STEP)], A.n * B.n)
    return out


def _all(kernel: Kernel, jobs: list[Any], size: int) -> None:
    """Run all parts; a user's function may not bear two threads."""
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore", under="ignore"):
        run_all(jobs, 1 if size < _SERIAL or not kernel.symmetric else None)


def short_rows(kernel: Any, matrix: Any, kind: np.dtype[Any]) -> Any:
    """The matrix; dense where it is short and the kernel takes products of rows."""
    if isinstance(matrix, np.ndarray) or not kernel.products:
        return matrix
    n, d = matrix.shape
    if n * d <= DENSE_WIDTH * matrix.nnz and n * d * kind.itemsize <= _BYTES:
        return matrix.astype(kind).toarray()
    return matrix


# -- Memory for tiles that are not kept: one piece for each thread, used again and again ----------
#
# Fresh memory costs more than the arithmetic that fills it.


_KEPT_BYTES = 1 << 23  # bytes that a thread may keep

_kept = threading.local()


def scratch(rows: int, columns: int, dtype: Any) -> NDArray[Any]:
    """An array with anything in it, valid until the thread asks for the next one."""
    size = rows * columns * np.dtype(dtype).itemsize
    if size > _KEPT_BYTES:
        return np.empty((rows, columns), dtype)
    memory = getattr(_kept, "memory", None)
    if memory is None or memory.nbytes < size:
        memory = _kept.memory = np.empty(size, np.uint8)
    found: NDArray[Any] = memory[:size].view(dtype).reshape(rows, columns)
    return found


@inner
def add_some_rows(f: Any, G: Any, rows: Any, coef: Any, lo: int, hi: int) -> None:
    """f += sum of coef times rows of G, of which the columns lo ... hi are taken.

    Pieces of 2048 columns stay in the cache while the rows run over them, eight at a time: their
    sum is taken in the format of G and coef, and only it is added in float64.
    """
    m = len(rows)
    for at in range(lo, hi, 2048):
        end = min(hi, at + 2048)
        part = f[at - lo : end - lo]
        r = 0
        while r + 8 <= m:
            k0, k1 = G[rows[r], at:end], G[rows[r + 1], at:end]
            k2, k3 = G[rows[r + 2], at:end], G[rows[r + 3], at:end]
            k4, k5 = G[rows[r + 4], at:end], G[rows[r + 5], at:end]
            k6, k7 = G[rows[r + 6], at:end], G[rows[r + 7], at:end]
            c0, c1, c2, c3 = coef[r], coef[r + 1], coef[r + 2], coef[r + 3]
            c4, c5, c6, c7 = coef[r + 4], coef[r + 5], coef[r + 6], coef[r + 7]
            for t in range(end - at):
                first = (c0 * k0[t] + c1 * k1[t]) + (c2 * k2[t] + c3 * k3[t])
                part[t] += first + ((c4 * k4[t] + c5 * k5[t]) + (c6 * k6[t] + c7 * k7[t]))
            r += 8
        while r < m:
            k0, c0 = G[rows[r], at:end], coef[r]
            for t in range(end - at):
                part[t] += c0 * k0[t]
            r += 1


@routine
def add_rows(f: Array, G: Any, rows: NDArray[np.int64], coef: Any, lo: int, hi: int) -> Any:
    """The same by itself."""
    add_some_rows(f, G, rows, coef, lo, hi)


@add_rows.in_numpy
def sum_some_rows(f: Array, G: Any, rows: NDArray[np.int64], coef: Any, lo: int, hi: int) -> None:
    """``add_some_rows`` in operations on arrays."""
    whole = len(rows) - len(rows) % 8
    for r in range(0, whole, 8):
        k, c = G[rows[r : r + 8], lo:hi], coef[r : r + 8, None]
        two = c[::2] * k[::2] + c[1::2] * k[1::2]
        four = two[::2] + two[1::2]
        f += four[0] + four[1]
    for r in range(whole, len(rows)):
        f += coef[r] * G[rows[r], lo:hi]
