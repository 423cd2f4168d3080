"""Inner loops of dual coordinate descent for the machine of Crammer and Singer."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from linsep.jit.compile import inner, routine
from linsep.jit.dual_cd import AHEAD, shuffle
from linsep.jit.rows import sample_fetch, sample_locate, sample_scores, sample_spread

# Places in the array of numbers.
RUNNING, ASIDE = range(2)
N_NUMBERS = 2


@inner
def best_alpha(A, cost, own, B, order, out):
    """Least A |alpha|^2 / 2 + B . alpha with sum alpha = 0, alpha_m <= cost for m = own else 0.

    alpha_m = min(top_m, (beta - B_m) / A), and beta from the largest B_m + A top_m.
    """
    K = B.shape[0]
    for k in range(K):
        out[k] = B[k] + (A * cost if k == own else 0.0)
        order[k] = k
    for k in range(1, K):  # insertion sort, largest first
        t = order[k]
        j = k
        while j > 0 and out[order[j - 1]] < out[t]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = t
    beta = out[order[0]] - A * cost
    r = 1
    while r < K and beta < r * out[order[r]]:
        beta += out[order[r]]
        r += 1
    beta /= r
    for k in range(K):
        top = cost if k == own else 0.0
        out[k] = min(top, (beta - B[k]) / A)


@routine
def sweep(X, label, cost, lengths, rho, W, alpha, order, active, seed, numbers):
    """One visit of every active row; gives back how many stay active.

    W has one column a class and the offsets in its last row. The dual variables of a row sum
    to zero; that of its own class is at most its cost, the others are at most zero.
    """
    d = W.shape[0] - 1
    K = W.shape[1]
    shuffle(order, active, seed)
    scores = np.empty(K)
    B = np.empty(K)
    new = np.empty(K)
    place = np.empty(K, np.int64)
    gap = 0.0
    k = 0
    while k < active:
        if k + 2 * AHEAD < active:
            sample_locate(X, order[k + 2 * AHEAD])
        if k + AHEAD < active:
            sample_fetch(X, order[k + AHEAD])
        i = order[k]
        own = label[i]
        c = cost[i]
        A = lengths[i] + rho
        for m in range(K):
            scores[m] = W[d, m]
        sample_scores(X, i, W, scores)
        worst = 0.0
        rest = 0.0
        for m in range(K):
            g = scores[m] - scores[own] + (0.0 if m == own else 1.0)
            worst = max(worst, g)
            rest += alpha[i, m] * (scores[m] + (0.0 if m == own else 1.0))
        part = c * worst + rest
        gap += part
        if worst == 0.0 and alpha[i, own] == 0.0:
            margin = np.inf
            for m in range(K):
                if m != own:
                    margin = min(margin, scores[own] - scores[m] - 1.0)
            if margin > numbers[ASIDE]:
                active -= 1
                order[k] = order[active]
                order[active] = i
                continue
        A = max(A, 1e-12)
        for m in range(K):
            B[m] = scores[m] + (0.0 if m == own else 1.0) - A * alpha[i, m]
        best_alpha(A, c, own, B, place, new)
        moved = 0.0
        for m in range(K):
            t = new[m] - alpha[i, m]
            alpha[i, m] = new[m]
            new[m] = t
            moved = max(moved, abs(t))
        if moved > 1e-14 * c:
            sample_spread(X, i, new, W)
            for m in range(K):
                W[d, m] += rho * new[m]
        k += 1
    numbers[RUNNING] = gap
    return active


@routine
def look(X, label, cost, W, out):
    """Sum of the losses, and the scores of all rows."""
    d = W.shape[0] - 1
    K = W.shape[1]
    total = 0.0
    for i in range(label.shape[0]):
        for m in range(K):
            out[i, m] = W[d, m]
        sample_scores(X, i, W, out[i])
        worst = 0.0
        own = out[i, label[i]]
        for m in range(K):
            if m != label[i]:
                worst = max(worst, 1.0 + out[i, m] - own)
        total += cost[i] * worst
    return total


@routine
def combine(X, alpha, W):
    """W[:d] += X' alpha."""
    for i in range(alpha.shape[0]):
        sample_spread(X, i, alpha[i], W)
