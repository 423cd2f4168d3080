"""Numbers that stand for rows, in one pass over the bits of a matrix."""

from __future__ import annotations

import numpy as np

from linsep.jit.compile import routine

__all__ = ["add_mixed", "sum_mixed"]


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
