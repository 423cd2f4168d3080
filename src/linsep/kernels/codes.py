"""Rows of two values as bits: one for each column.

Tables of categories, one-hot columns, words that occur or do not: all entries are lo or hi, so
|x - z|^2 = (hi - lo)^2 times the number of columns in which x and z differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "codes_of"]

_WIDEST = 4096  # columns beyond which bits are not worth it
_FIRST = 64  # rows that are looked at before all of them


@dataclass(frozen=True)
class Codes:
    """``words`` has a row for each row, ``columns`` a column: the same 64 bits at a time."""

    words: NDArray[np.uint64]
    columns: NDArray[np.uint64]
    low: float
    high: float

    def part(self, which: Any) -> Self:
        """Some of the rows."""
        words = np.ascontiguousarray(self.words[which])
        return type(self)(words, np.ascontiguousarray(words.T), self.low, self.high)


def codes_of(matrix: Any, like: Codes | None = None) -> Codes | None:
    """The bits of a dense matrix; None where it has more than two values, or others than like."""
    if not isinstance(matrix, np.ndarray) or not matrix.size or matrix.shape[1] > _WIDEST:
        return None
    if like is None:
        low, high = float(matrix[:_FIRST].min()), float(matrix[:_FIRST].max())
    else:
        low, high = like.low, like.high
    for part in (matrix[:_FIRST], matrix[_FIRST:]):
        mask = part == high
        if not low < high or not (mask | (part == low)).all():
            return None
    packed = np.packbits(matrix == high, axis=1)
    words = np.zeros((len(matrix), -(-packed.shape[1] // 8) * 8), np.uint8)
    words[:, : packed.shape[1]] = packed
    bits = words.view(np.uint64)
    return Codes(bits, np.ascontiguousarray(bits.T), low, high)
