"""Inner loops of additive kernels K(x, z) = sum_k kappa(x_k, z_k).

The data are held by levels: every pair of a feature and a value of it that occurs is a slot,
slots are sorted by feature and value, and an entry of X is the number of its slot. Zeros have
no slot, for kappa(0, z) = 0. A combination of kernel functions is one coefficient a slot.
"""

# mypy: ignore-errors

from __future__ import annotations

from linsep.jit.compile import inner, routine

__all__ = [
    "add_columns",
    "add_entries",
    "collect",
    "count_positive",
    "intersection_columns",
    "intersection_slots",
    "look_up",
    "sum_entries",
    "take_positive",
]


# -- values that occur ------------------------------------------------------------------------


@inner
def _home(bits, mask):
    """Where the search for a number of 64 bits begins."""
    return (bits ^ (bits >> 17) ^ (bits >> 35) ^ (bits >> 49)) & mask


@routine
def collect(bits, keys, used, most):
    """Put numbers into an open hash table; gives back how many it holds, -1 if above most."""
    mask = len(keys) - 1
    for p in range(len(bits)):
        b = bits[p]
        at = _home(b, mask)
        while keys[at] != b and keys[at] != -1:
            at = (at + 1) & mask
        if keys[at] == -1:
            if used == most:
                return -1
            keys[at] = b
            used += 1
    return used


@routine
def look_up(bits, keys, rank, out):
    """The rank of every number of a table made by ``collect``."""
    mask = len(keys) - 1
    for p in range(len(bits)):
        b = bits[p]
        at = _home(b, mask)
        while keys[at] != b:
            at = (at + 1) & mask
        out[p] = rank[at]


@routine
def count_positive(X, indptr):
    """indptr of the compressed rows of a dense matrix, zeros left out."""
    for i in range(X.shape[0]):
        found = 0
        for k in range(X.shape[1]):
            if X[i, k] > 0:
                found += 1
        indptr[i + 1] = indptr[i] + found


@routine
def take_positive(X, indptr, indices, data):
    """The entries of these rows, in float64."""
    for i in range(X.shape[0]):
        at = indptr[i]
        for k in range(X.shape[1]):
            if X[i, k] > 0:
                indices[at] = k
                data[at] = X[i, k]
                at += 1


# -- rows and slots ---------------------------------------------------------------------------


@routine
def add_entries(indptr, slot, rows, coef, out):
    """out[slot] += coef of a row, over all entries of the rows."""
    for r in range(len(rows)):
        i, c = rows[r], coef[r]
        for p in range(indptr[i], indptr[i + 1]):
            out[slot[p]] += c


@routine
def add_columns(indptr, slot, H, lo, hi, f):
    """f[i] += sum of H over the slots of row i, for the rows lo ... hi."""
    for i in range(lo, hi):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += H[slot[p]]
        f[i] += total


@routine
def sum_entries(indptr, slot, H, rows, out):
    """out[r] = sum of H over the slots of row rows[r]."""
    for r in range(len(rows)):
        i = rows[r]
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += H[slot[p]]
        out[r] = total


# -- the intersection kernel: two running sums ------------------------------------------------


@inner
def _carry(total, term, new):
    """What rounding took from new = total + term."""
    back = new - total
    return (total - (new - back)) + (term - back)


@routine
def intersection_slots(start, values, c, H):
    """H[s] = sum over the slots t of the same feature of c[t] min(v_s, v_t).

    What rounding takes from the running sums is kept beside them, so that the error does not
    grow with the number of slots.
    """
    for k in range(len(start) - 1):
        above = lost = 0.0
        for s in range(start[k + 1] - 1, start[k] - 1, -1):
            H[s] = (above + lost) * values[s]
            new = above + c[s]
            lost += _carry(above, c[s], new)
            above = new
        below = lost = 0.0
        for s in range(start[k], start[k + 1]):
            term = c[s] * values[s]
            new = below + term
            lost += _carry(below, term, new)
            below = new
            H[s] += below + lost


@inner
def _running_sums(values, coef, below, above, total, lost):
    """below[s] = sum of c v over the slots before s, above[s] = sum of c over the others."""
    size, m = coef.shape
    for j in range(m):
        below[0, j] = above[size, j] = total[j] = lost[j] = 0.0
    for s in range(size):
        for j in range(m):
            term = coef[s, j] * values[s]
            new = total[j] + term
            lost[j] += _carry(total[j], term, new)
            total[j] = new
            below[s + 1, j] = new + lost[j]
    for j in range(m):
        total[j] = lost[j] = 0.0
    for s in range(size - 1, -1, -1):
        for j in range(m):
            new = total[j] + coef[s, j]
            lost[j] += _carry(total[j], coef[s, j], new)
            total[j] = new
            above[s, j] = new + lost[j]


@routine
def intersection_columns(indptr, rows, data, start, values, coef, scratch, lo, hi, out):
    """out[row] += h_k(x) for all entries x of the columns lo ... hi, several functions at once.

    h_k(x) = sum_{v <= x} c v + x sum_{v > x} c: exact for every x, in and out of the range.
    """
    m = coef.shape[1]
    below, above = scratch[0], scratch[1]
    for k in range(lo, hi):
        first, last = start[k], start[k + 1]
        if first == last:
            continue
        size = last - first
        own = values[first:last]
        _running_sums(own, coef[first:last], below, above, scratch[2, 0], scratch[2, 1])
        for p in range(indptr[k], indptr[k + 1]):
            x = data[p]
            a, b = 0, size
            while a < b:
                middle = (a + b) >> 1
                if own[middle] <= x:
                    a = middle + 1
                else:
                    b = middle
            i = rows[p]
            for j in range(m):
                out[i, j] += below[a, j] + x * above[a, j]
