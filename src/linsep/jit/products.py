"""Products of a matrix, dense or sparse, with a vector, over a run of rows."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import inner, routine
from linsep.jit.lengths import length2
from linsep.jit.rows import sample_add, sample_add_squares, sample_dot, sample_norm2


@routine
def scores(X, w, lo, hi, out):
    """out[i] = x_i . w for lo <= i < hi."""
    d = w.shape[0]
    for i in range(lo, hi):
        out[i] = sample_dot(X, i, w, 0, d)


@routine
def squares(X, lo, hi, rows, columns):
    """rows[i] = |x_i|^2 for lo <= i < hi, and columns += their squared entries by columns."""
    d = columns.shape[0]
    for i in range(lo, hi):
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


@inner
def add_squares(X, lo, hi, rows, columns):
    """rows[i] = |x_i|^2 for lo <= i < hi, and columns += squared entries; a dense matrix."""
    four = hi - (hi - lo) % 4
    for i in range(lo, four, 4):  # columns are read and written once for four rows
        x, y, z, t = X[i], X[i + 1], X[i + 2], X[i + 3]
        for j in range(columns.shape[0]):
            p, q = np.float64(x[j]), np.float64(y[j])
            r, s = np.float64(z[j]), np.float64(t[j])
            columns[j] += (p * p + q * q) + (r * r + s * s)
    for i in range(four, hi):
        x = X[i]
        for j in range(columns.shape[0]):
            columns[j] += np.float64(x[j]) * np.float64(x[j])
    for i in range(lo, hi):
        rows[i] = length2(X[i])


@routine
def dense_squares(X, lo, hi, step, rows, columns):
    """The same in blocks of ``step`` rows, which stay near while they are read twice."""
    for start in range(lo, hi, step):
        add_squares(X, start, min(hi, start + step), rows, columns)
