"""Wolfe's corral: rows with multipliers, and the Cholesky factor of their products.

R is upper triangular with R'R = products of the rows (plus 1 for two rows of the same group).
Rows join at the end of R and leave by Givens rotations, both in O(k^2).
"""

from __future__ import annotations

import numpy as np

from linsep.jit.compile import routine

__all__ = ["exchange"]

# Written out where it is used more than once: a routine may not call another function.
#   forward   R't = v:  t[i] = v[i] / R[i, i];  v[i + 1:] -= t[i] R[i, i + 1:]
#   backward  R t = v:  t[i] = (v[i] - R[i, i + 1:] . t[i + 1:]) / R[i, i]


@routine
def exchange(R, Z, rows, group, multipliers, toward, k, groups, cross, inner, joining, old, worst):
    """Let rows join a corral of k rows, then go to the best point; gives back the new k.

    Z[k:k + b] and the same places of rows, group and toward hold the b rows that want to join.
    cross holds their products with the rows inside, inner those among themselves. old is the
    number of rows before. Rows that depend on others are not taken. Then the multipliers go to
    their target; rows that turn negative leave. worst is the row that is the last to be sent
    away among those that came together: alone it is sure to help.
    """
    dependent = 1e-12
    zero = 1e-13
    # -- join ----------------------------------------------------------------------------------
    place = np.empty(joining, dtype=np.int64)
    for j in range(joining):
        t = np.zeros(k)
        t[:old] = cross[j, :old]
        for i in range(j):
            if place[i] >= 0:
                t[place[i]] = inner[j, i]
        if groups > 0:
            for i in range(k):
                if group[i] == group[old + j]:
                    t[i] += 1.0
        for i in range(k):
            t[i] /= R[i, i]
            for q in range(i + 1, k):
                t[q] -= t[i] * R[i, q]
        own = inner[j, j] + (1.0 if groups > 0 else 0.0)
        rest = own
        for i in range(k):
            rest -= t[i] * t[i]
        if not rest > dependent * own:
            place[j] = -1
            continue
        for i in range(k):
            R[i, k] = t[i]
        R[k, k] = np.sqrt(rest)
        place[j] = k
        if old + j > k:
            Z[k] = Z[old + j]
            rows[k] = rows[old + j]
            group[k] = group[old + j]
            toward[k] = toward[old + j]
        multipliers[k] = 0.0
        k += 1
    # -- settle --------------------------------------------------------------------------------
    while k > 0:
        target = np.zeros(k)
        if groups == 0:
            target[:] = toward[:k]
            for i in range(k):
                target[i] /= R[i, i]
                for q in range(i + 1, k):
                    target[q] -= target[i] * R[i, q]
            for i in range(k - 1, -1, -1):
                rest = target[i]
                for q in range(i + 1, k):
                    rest -= R[i, q] * target[q]
                target[i] = rest / R[i, i]
        else:
            total = np.zeros((2, 2))
            t0 = np.zeros(k)  # both groups in one loop: the sums do not wait for each other
            t1 = np.zeros(k)
            for i in range(k):
                if group[i] == 0:
                    t0[i] = 1.0
                else:
                    t1[i] = 1.0
            for i in range(k):
                t0[i] /= R[i, i]
                t1[i] /= R[i, i]
                for q in range(i + 1, k):
                    t0[q] -= t0[i] * R[i, q]
                    t1[q] -= t1[i] * R[i, q]
            for i in range(k - 1, -1, -1):
                rest0 = t0[i]
                rest1 = t1[i]
                for q in range(i + 1, k):
                    rest0 -= R[i, q] * t0[q]
                    rest1 -= R[i, q] * t1[q]
                t0[i] = rest0 / R[i, i]
                t1[i] = rest1 / R[i, i]
            for i in range(k):
                total[group[i], 0] += t0[i]
                total[group[i], 1] += t1[i]
            if groups == 1:
                target[:] = t0 / total[0, 0]
            else:
                det = total[0, 0] * total[1, 1] - total[0, 1] * total[1, 0]
                if det == 0.0:
                    return -k
                c0 = (total[1, 1] - total[0, 1]) / det
                c1 = (total[0, 0] - total[1, 0]) / det
                target[:] = c0 * t0 + c1 * t1
        bound = zero * np.abs(target).max()
        step = 1.0
        clean = True
        for i in range(k):
            if not target[i] > bound:
                clean = False
                if multipliers[i] - target[i] > 0.0:
                    step = min(step, multipliers[i] / (multipliers[i] - target[i]))
        if clean:
            multipliers[:k] = target
            break
        least = -1
        leaving = 0
        gone = np.zeros(k, dtype=np.bool_)
        for i in range(k):
            multipliers[i] = max(multipliers[i] + step * (target[i] - multipliers[i]), 0.0)
            if not target[i] > bound:
                if multipliers[i] <= bound:
                    gone[i] = True
                    leaving += 1
                if least < 0 or multipliers[i] < multipliers[least]:
                    least = i
        if leaving == 0:
            gone[least] = True
        elif leaving > 1:
            for i in range(k):
                if rows[i] == worst:
                    gone[i] = False
        # -- leave -----------------------------------------------------------------------------
        for j in range(k - 1, -1, -1):
            if not gone[j]:
                continue
            for i in range(j + 1):
                for q in range(j, k - 1):
                    R[i, q] = R[i, q + 1]
            for i in range(j + 1, k):
                # row i of R now starts one place left of its diagonal: rotate it into row i - 1
                above = R[i - 1, i - 1]
                below = R[i, i]
                size = np.sqrt(above * above + below * below)
                c = above / size
                s = below / size
                R[i - 1, i - 1] = size
                for q in range(i, k - 1):
                    upper = R[i - 1, q]
                    lower = R[i, q + 1]
                    R[i - 1, q] = c * upper + s * lower
                    R[i, q] = c * lower - s * upper
            for i in range(j, k - 1):
                Z[i] = Z[i + 1]
                rows[i] = rows[i + 1]
                group[i] = group[i + 1]
                multipliers[i] = multipliers[i + 1]
                toward[i] = toward[i + 1]
            k -= 1
        for g in range(groups):
            total_g = 0.0
            for i in range(k):
                if group[i] == g:
                    total_g += multipliers[i]
            if total_g > 0.0:
                for i in range(k):
                    if group[i] == g:
                        multipliers[i] /= total_g
    return k
