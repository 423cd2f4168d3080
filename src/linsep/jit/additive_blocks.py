"""Inner loops for blocks of an additive kernel matrix.

Some rows are held by entries, the others as the columns of a matrix Z of features, so that
machine code takes several of them at once. Rows with few entries are met column by column.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import routine

__all__ = [
    "assemble", "block_bytes", "block_harmonic", "block_minimum", "block_sparse", "block_table",
    "gather", "lay",
]  # fmt: skip

_FULL = 256  # bytes that may be added up in 16 bits


@routine
def lay(indptr, column, entry, rows, Z):
    """Columns of Z are rows of the data; Z is zero before."""
    for j in range(len(rows)):
        i = rows[j]
        for p in range(indptr[i], indptr[i + 1]):
            Z[column[p], j] = entry[p]


@routine
def gather(K, rows, columns, out):
    """out[r, c] = K[rows[r], columns[c]]."""
    for r in range(len(rows)):
        line = K[rows[r]]
        own = out[r]
        for c in range(len(columns)):
            own[c] = line[columns[c]]


@routine
def assemble(old, kept, fresh, lo, hi, out):
    """Rows lo ... hi of a symmetric matrix: rows and columns ``kept`` of the old one, then fresh.

    fresh holds the rows after these; what is beyond is zero.
    """
    k, q = len(kept), len(kept) + len(fresh)
    for at in range(lo, hi, 16):  # stripes of the transpose that stay in the cache
        end = min(hi, at + 16)
        for r in range(at, min(end, k)):
            line, own = old[kept[r]], out[r]
            for c in range(k):
                own[c] = line[kept[c]]
        for c in range(k, q):
            line = fresh[c - k]
            for r in range(at, min(end, k)):
                out[r, c] = line[r]
        for r in range(max(at, k), min(end, q)):
            line, own = fresh[r - k], out[r]
            for c in range(q):
                own[c] = line[c]
        for r in range(at, end):
            own = out[r]
            for c in range(q if r < q else 0, out.shape[1]):
                own[c] = 0.0


@routine
def block_bytes(indptr, column, entry, new, Z, total, out):
    """Sums of minima of whole numbers below 256; total has 16 bits for each column of Z."""
    q = Z.shape[1]
    for r in range(len(new)):
        p, last = indptr[new[r]], indptr[new[r] + 1]
        line = out[r]
        for j in range(q):
            line[j] = 0.0
        while p < last:
            end = min(p + _FULL, last)
            for j in range(q):
                total[j] = 0
            while p + 4 <= end:  # four at a time: totals are read and written less often
                x0, x1, x2, x3 = entry[p], entry[p + 1], entry[p + 2], entry[p + 3]
                z0, z1 = Z[column[p]], Z[column[p + 1]]
                z2, z3 = Z[column[p + 2]], Z[column[p + 3]]
                for j in range(q):
                    m0 = z0[j] if z0[j] < x0 else x0
                    m1 = z1[j] if z1[j] < x1 else x1
                    m2 = z2[j] if z2[j] < x2 else x2
                    m3 = z3[j] if z3[j] < x3 else x3
                    first = np.uint16(np.uint16(m0) + np.uint16(m1))
                    second = np.uint16(np.uint16(m2) + np.uint16(m3))
                    total[j] = np.uint16(np.uint16(total[j] + first) + second)
                p += 4
            while p < end:
                x, z = entry[p], Z[column[p]]
                for j in range(q):
                    m = z[j] if z[j] < x else x
                    total[j] = np.uint16(total[j] + np.uint16(m))
                p += 1
            for j in range(q):
                line[j] += total[j]


@routine
def block_minimum(indptr, column, entry, new, Z, out):
    """Sums of minima."""
    q = Z.shape[1]
    for r in range(len(new)):
        p, last = indptr[new[r]], indptr[new[r] + 1]
        line = out[r]
        for j in range(q):
            line[j] = 0.0
        while p + 4 <= last:
            x0, x1, x2, x3 = entry[p], entry[p + 1], entry[p + 2], entry[p + 3]
            z0, z1, z2, z3 = Z[column[p]], Z[column[p + 1]], Z[column[p + 2]], Z[column[p + 3]]
            for j in range(q):
                m0 = z0[j] if z0[j] < x0 else x0
                m1 = z1[j] if z1[j] < x1 else x1
                m2 = z2[j] if z2[j] < x2 else x2
                m3 = z3[j] if z3[j] < x3 else x3
                line[j] = line[j] + m0 + m1 + m2 + m3
            p += 4
        while p < last:
            x, z = entry[p], Z[column[p]]
            for j in range(q):
                line[j] += z[j] if z[j] < x else x
            p += 1


@routine
def block_harmonic(indptr, column, entry, new, Z, out):
    """Sums of harmonic means."""
    q = Z.shape[1]
    for r in range(len(new)):
        line = out[r]
        for j in range(q):
            line[j] = 0.0
        for p in range(indptr[new[r]], indptr[new[r] + 1]):
            x, z = entry[p], Z[column[p]]
            for j in range(q):  # the operator / would look for zeros one by one
                line[j] += x * np.divide(z[j], x + z[j])
        for j in range(q):
            line[j] += line[j]


@routine
def block_sparse(indptr, column, entry, new, of_column, place, other, harmonic, out):
    """The same for rows with few entries; of_column, place, other hold the others by column."""
    for r in range(len(new)):
        i = new[r]
        line = out[r]
        for j in range(len(line)):
            line[j] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x = entry[p]
            k = column[p]
            for g in range(of_column[k], of_column[k + 1]):
                z = other[g]
                if harmonic:
                    line[place[g]] += (x + x) * (z / (x + z))
                else:
                    line[place[g]] += x if x < z else z


@routine
def block_table(indptr, column, slot, node, root, new, of_column, place, other, table, out):
    """The same for other means of few distinct values: other holds the slots of the others."""
    for r in range(len(new)):
        i = new[r]
        line = out[r]
        for j in range(len(line)):
            line[j] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            s = slot[p]
            means = table[node[s]]
            k = column[p]
            for g in range(of_column[k], of_column[k + 1]):
                t = other[g]
                line[place[g]] += root[s] * root[t] * means[node[t]]
