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


@routine
def combine_dense(X, R, lo, hi, out):
    """out[k, j] += sum of R[k, i] x_ij for lo <= i < hi, eight rows in one go over the columns.

    For few classes this beats the product of matrices of BLAS, which rearranges X first.
    """
    K, d = out.shape
    i = lo
    while i + 8 <= hi:
        x0, x1, x2, x3 = X[i], X[i + 1], X[i + 2], X[i + 3]
        x4, x5, x6, x7 = X[i + 4], X[i + 5], X[i + 6], X[i + 7]
        for k in range(K):
            r, total = R[k], out[k]
            r0, r1, r2, r3 = r[i], r[i + 1], r[i + 2], r[i + 3]
            r4, r5, r6, r7 = r[i + 4], r[i + 5], r[i + 6], r[i + 7]
            for j in range(d):
                total[j] += ((r0 * x0[j] + r1 * x1[j]) + (r2 * x2[j] + r3 * x3[j])) + (
                    (r4 * x4[j] + r5 * x5[j]) + (r6 * x6[j] + r7 * x7[j])
                )
        i += 8
    while i < hi:
        x0 = X[i]
        for k in range(K):
            r0, total = R[k, i], out[k]
            for j in range(d):
                total[j] += r0 * x0[j]
        i += 1
