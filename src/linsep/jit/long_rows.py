"""Inner loops of the scaling by long rows: their products."""

# mypy: ignore-errors

from __future__ import annotations

from linsep.jit.compile import routine


@routine
def gram(T, diagonal, lo, hi, G):
    """G += sum of diagonal_j t_j t_j' over the columns lo..hi, on and below the diagonal;
    t_j holds the entries of column j, by rising number of row."""
    for j in range(lo, hi):
        scale = diagonal[j]
        start = T.indptr[j]
        stop = T.indptr[j + 1]
        for p in range(start, stop):
            t = scale * T.data[p]
            line = G[T.indices[p]]
            for q in range(start, p + 1):
                line[T.indices[q]] += t * T.data[q]
