"""Products of a sparse matrix with one column a class, all classes in one read of a row."""

# mypy: ignore-errors

from __future__ import annotations

from linsep.jit.compile import routine


@routine
def scores(data, indices, indptr, W, lo, hi, out):
    """out[i - lo, k] = x_i . W[:, k] for lo <= i < hi."""
    K = W.shape[1]
    for i in range(lo, hi):
        row = out[i - lo]
        for k in range(K):
            row[k] = 0.0
        at, end = indptr[i], indptr[i + 1]
        while at + 4 <= end:  # four at a time keep the sums in registers
            x0, x1, x2, x3 = data[at], data[at + 1], data[at + 2], data[at + 3]
            w0, w1 = W[indices[at]], W[indices[at + 1]]
            w2, w3 = W[indices[at + 2]], W[indices[at + 3]]
            for k in range(K):
                row[k] = (((row[k] + x0 * w0[k]) + x1 * w1[k]) + x2 * w2[k]) + x3 * w3[k]
            at += 4
        while at < end:
            x0, w0 = data[at], W[indices[at]]
            for k in range(K):
                row[k] += x0 * w0[k]
            at += 1


@routine
def combine(data, indices, indptr, R, lo, hi, out):
    """out[j, k] += sum of x_ij R[i, k] for lo <= i < hi."""
    K = out.shape[1]
    for i in range(lo, hi):
        r = R[i]
        for at in range(indptr[i], indptr[i + 1]):
            x, total = data[at], out[indices[at]]
            for k in range(K):
                total[k] += x * r[k]
