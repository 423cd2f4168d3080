"""Products of a matrix, dense or sparse, with a vector, over a run of rows."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import routine
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


@routine
def dense_squares(X, lo, hi, rows, columns):
    """rows[i] = |x_i|^2 for lo <= i < hi, and columns += squared entries; a dense matrix.

    Eight sums side by side: one alone would wait for each of its additions.
    """
    d = columns.shape[0]
    whole = d - d % 8
    square = np.empty(d)
    for i in range(lo, hi):
        x = X[i]
        for j in range(d):
            square[j] = np.float64(x[j]) * np.float64(x[j])
        for j in range(d):
            columns[j] += square[j]
        a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
        for j in range(0, whole, 8):
            a0 += square[j]
            a1 += square[j + 1]
            a2 += square[j + 2]
            a3 += square[j + 3]
            a4 += square[j + 4]
            a5 += square[j + 5]
            a6 += square[j + 6]
            a7 += square[j + 7]
        total = ((a0 + a4) + (a2 + a6)) + ((a1 + a5) + (a3 + a7))
        for j in range(whole, d):
            total += square[j]
        rows[i] = total
