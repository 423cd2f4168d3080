"""A dense table without its zeros."""

# mypy: ignore-errors

from __future__ import annotations

from linsep.jit.compile import routine


@routine
def count(X, lo, hi, counts):
    """counts[i] = entries of row i that are not zero."""
    for i in range(lo, hi):
        x = X[i]
        k = 0
        for j in range(x.shape[0]):
            k += 1 if x[j] != 0.0 else 0
        counts[i] = k


@routine
def fill(X, lo, hi, starts, indices, data):
    """Columns and values of the entries that are not zero, row after row."""
    for i in range(lo, hi):
        x = X[i]
        p = starts[i]
        end = starts[i + 1]
        for j in range(x.shape[0]):
            if p == end:
                break
            if x[j] != 0.0:
                indices[p] = j
                data[p] = x[j]
                p += 1
