"""Exponents of the Gaussian kernel: one pass over a tile where numpy would take four."""

from __future__ import annotations

from typing import Any

from linsep.jit.compile import routine

__all__ = ["exponents"]


@routine
def exponents(T: Any, left: Any, right: Any, scale: Any, top: Any) -> Any:
    """T_ij <- min(scale T_ij - left_i - right_j, top), in the format of T."""
    for i in range(len(T)):
        row, own = T[i], left[i]
        for j in range(len(row)):
            t = scale * row[j] - own - right[j]
            row[j] = t if t < top else top
