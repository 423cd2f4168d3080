"""Rows of a sparse matrix written out densely, a block at a time."""

# mypy: ignore-errors

from __future__ import annotations

from linsep.jit.compile import routine


@routine
def _scatter(data, indices, indptr, lo, hi, out):
    out[:] = 0.0
    for i in range(lo, hi):
        for p in range(indptr[i], indptr[i + 1]):
            out[i - lo, indices[p]] = data[p]


def scatter(matrix, lo, hi, out):
    """out[i - lo] = row i of a CSR matrix, for lo <= i < hi."""
    work = int(matrix.indptr[hi] - matrix.indptr[lo])
    _scatter(matrix.data, matrix.indices, matrix.indptr, lo, hi, out, size=matrix.nnz, work=work)
