"""Inner loops of smooth additive kernels: values are weights on the nodes of a cell."""

# mypy: ignore-errors

from __future__ import annotations

from linsep.jit.compile import inner, routine

__all__ = ["add_nodes", "moments", "spread"]


@inner
def _lagrange(t, points, signs, weight):
    """Weights of the values at Chebyshev points that give the polynomial's value at t."""
    m = len(points)
    total = 0.0
    for a in range(m):
        off = t - points[a]
        if off == 0.0:
            for b in range(m):
                weight[b] = 0.0
            weight[a] = 1.0
            return
        weight[a] = signs[a] / off
        total += weight[a]
    for a in range(m):
        weight[a] = weight[a] / total


@routine
def moments(start, lo, hi, base, t, root, coef, points, signs, weight, out):
    """out[k - lo, node] = sum of coef root weight over the slots of feature k."""
    m = len(points)
    K = coef.shape[1]
    for k in range(lo, hi):
        part = out[k - lo]
        for s in range(start[k], start[k + 1]):
            at = base[s]
            if m == 1:
                for j in range(K):
                    part[at, j] += coef[s, j] * root[s]
                continue
            used = False  # most slots belong to rows that take no part
            for j in range(K):
                used = used or coef[s, j] != 0.0
            if not used:
                continue
            _lagrange(t[s], points, signs, weight)
            for a in range(m):
                w = weight[a] * root[s]
                for j in range(K):
                    part[at + a, j] += w * coef[s, j]


@routine
def spread(start, lo, hi, base, t, root, table, points, signs, weight, H):
    """H[s] = root times the values at the nodes, weighed, for the slots of features lo ... hi."""
    m = len(points)
    for k in range(lo, hi):
        part = table[k - lo]
        for s in range(start[k], start[k + 1]):
            at = base[s]
            if m == 1:
                H[s] = root[s] * part[at, 0]
                continue
            _lagrange(t[s], points, signs, weight)
            total = 0.0
            for a in range(m):
                total += weight[a] * part[at + a, 0]
            H[s] = root[s] * total


@routine
def add_nodes(indptr, rows, base, t, root, table, points, signs, weight, lo, hi, out):
    """out[row] += root times the values at the nodes, for the entries of columns lo ... hi."""
    m = len(points)
    K = out.shape[1]
    for k in range(lo, hi):
        part = table[k - lo]
        for p in range(indptr[k], indptr[k + 1]):
            at, i = base[p], rows[p]
            if m == 1:
                for j in range(K):
                    out[i, j] += root[p] * part[at, j]
                continue
            _lagrange(t[p], points, signs, weight)
            for a in range(m):
                w = weight[a] * root[p]
                for j in range(K):
                    out[i, j] += w * part[at + a, j]
