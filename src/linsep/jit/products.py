"""Products of a matrix, dense or sparse, with a vector, over a run of rows."""

# mypy: ignore-errors

from __future__ import annotations

from linsep.jit.compile import routine
from linsep.jit.rows import sample_add, sample_add_squares, sample_dot, sample_norm2


@routine
def scores(X, w, lo, hi, out):
    """out[i] = x_i . w for lo <= i < hi."""
    d = w.shape[0]
    for i in range(lo, hi):
        out[i] = sample_dot(X, i, w, 0, d)


@routine
def squares(X, rows, columns):
    """rows[i] = |x_i|^2, and columns += squared entries, column by column."""
    d = columns.shape[0]
    for i in range(rows.shape[0]):
        rows[i] = sample_norm2(X, i, d)
        sample_add_squares(X, i, 1.0, columns)


@routine
def weighted_squares(X, s, out):
    """out += s_i times the squared entries of row i, column by column."""
    for i in range(s.shape[0]):
        sample_add_squares(X, i, s[i], out)


@routine
def combine(X, c, lo, hi, out):
    """out += sum of c_i x_i for lo <= i < hi."""
    d = out.shape[0]
    for i in range(lo, hi):
        if c[i] != 0.0:
            sample_add(X, i, c[i], out, 0, d)
