"""Numbers that stand for rows: equal for equal values in any layout and float type."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.compile import routine
from linsep.core.costs import AT_ONCE, HASHED_AT_ONCE, HASHED_BY_NUMPY
from linsep.core.lanes import run_all

Hashes = NDArray[np.uint64]


def row_hashes(matrix: Any, d: int) -> Hashes:
    """Sum of mixed non-zero entries modulo 2^64, one sum a row.

    An entry is mixed with a key of its column; zero always gives zero, so a sparse and a
    dense matrix of the same values agree, and so do float32 and float64.
    """
    keys = _keys(d)
    if isinstance(matrix, np.ndarray):
        out = np.empty(len(matrix), dtype=np.uint64)
        if not _compiled(matrix, keys, out):
            _in_blocks(matrix, keys, out)
        return out
    total = np.zeros(matrix.data.size + 1, dtype=np.uint64)
    np.cumsum(_mixed(matrix.data, keys[matrix.indices]), out=total[1:])
    return np.asarray(total[matrix.indptr[1:]] - total[matrix.indptr[:-1]])


@lru_cache(maxsize=8)
def _keys(d: int) -> Hashes:
    """splitmix64 of the column numbers: well spread odd keys without a table."""
    keys = np.arange(1, d + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) | np.uint64(1)
    keys.flags.writeable = False
    return keys


def _mixed(values: NDArray[Any], key: Hashes) -> Hashes:
    plain: NDArray[np.float64] = np.add(values, 0.0, dtype=np.float64)  # -0.0 becomes 0.0
    bits = plain.view(np.uint64)
    bits ^= bits >> np.uint64(32)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(29)
    bits *= key
    return bits


def _in_blocks(matrix: NDArray[Any], keys: Hashes, out: Hashes) -> None:
    step = max(1, HASHED_AT_ONCE // len(keys))
    for at in range(0, len(matrix), step):
        block = np.ascontiguousarray(matrix[at : at + step])
        out[at : at + step] = _mixed(block, keys).sum(axis=1, dtype=np.uint64)


def _compiled(matrix: NDArray[Any], keys: Hashes, out: Hashes) -> bool:
    """The same by machine code, some five times faster; False as long as it does not pay.

    The loops are not run as Python: numbers of 64 bits do not wrap around there.
    """

    by_rows = matrix.flags.c_contiguous
    if matrix.dtype != np.float64 or not (by_rows or matrix.flags.f_contiguous):
        return False
    bits = (matrix if by_rows else matrix.T).view(np.uint64)
    work = sum_mixed if by_rows else add_mixed
    run = work.choose(bits, keys, out, size=0, work=bits.size // HASHED_BY_NUMPY)
    if run is work.python:
        return False
    if not by_rows or bits.size < 2 * AT_ONCE:
        run(bits, keys, out)
        return True
    step = -(-AT_ONCE // len(keys))
    places = range(0, len(bits), step)
    run_all([partial(run, bits[at : at + step], keys, out[at : at + step]) for at in places])
    return True


# -- Numbers that stand for rows, in one pass over the bits of a matrix ---------------------------


@routine
def sum_mixed(bits, keys, out):
    """out[i] becomes the sum of the mixed entries of row i, modulo 2^64.

    bits are float64 numbers as uint64, keys one odd number a column. Zero gives zero.
    """
    first = np.uint64(32)
    second = np.uint64(29)
    factor = np.uint64(0x94D049BB133111EB)
    minus = np.uint64(1 << 63)  # -0.0, which counts as 0.0
    for i in range(len(bits)):
        row = bits[i]
        total = np.uint64(0)
        for j in range(len(row)):
            b = row[j] if row[j] != minus else np.uint64(0)
            b = (b ^ (b >> first)) * factor
            total += (b ^ (b >> second)) * keys[j]
        out[i] = total


@routine
def add_mixed(bits, keys, out):
    """The same for a matrix given by its columns, row j of bits being column j."""
    first = np.uint64(32)
    second = np.uint64(29)
    factor = np.uint64(0x94D049BB133111EB)
    minus = np.uint64(1 << 63)
    out[:] = np.uint64(0)
    for j in range(len(bits)):
        column = bits[j]
        key = keys[j]
        for i in range(len(column)):
            b = column[i] if column[i] != minus else np.uint64(0)
            b = (b ^ (b >> first)) * factor
            out[i] += (b ^ (b >> second)) * key
