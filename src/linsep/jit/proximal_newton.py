"""Inner loops of the proximal Newton method in the dual."""

# mypy: ignore-errors

from __future__ import annotations

from linsep.jit.compile import routine
from linsep.jit.rows import sample_add, sample_add_products, sample_add_squares, sample_dot


@routine
def curve(X, rows, lo, hi, sigma, p, out):
    """out += sum of sigma_i [x_i, 1] ([x_i, 1] . p) over rows[lo:hi]; the last entry is b."""
    d = p.shape[0] - 1
    for k in range(lo, hi):
        i = rows[k]
        t = sigma[i] * (sample_dot(X, i, p, 0, d) + p[d])
        sample_add(X, i, t, out, 0, d)
        out[d] += t


@routine
def join(parts, ridge, hold, p, out):
    """out = sum of the parts + ridge p, hold instead of ridge for the last; gives p . out."""
    d = p.shape[0] - 1
    s0 = 0.0
    s1 = 0.0
    for j in range(0, d - 1, 2):
        out[j] = parts[0, j] + parts[1, j] + ridge * p[j]
        out[j + 1] = parts[0, j + 1] + parts[1, j + 1] + ridge * p[j + 1]
        s0 += out[j] * p[j]
        s1 += out[j + 1] * p[j + 1]
    if d % 2 == 1:
        out[d - 1] = parts[0, d - 1] + parts[1, d - 1] + ridge * p[d - 1]
        s0 += out[d - 1] * p[d - 1]
    out[d] = parts[0, d] + parts[1, d] + hold * p[d]
    return s0 + s1 + out[d] * p[d]


@routine
def go(t, p, q, inverse, x, r):
    """x += t p and r -= t q; gives back r . inverse r."""
    s0 = 0.0
    s1 = 0.0
    d = p.shape[0]
    for j in range(0, d - 1, 2):
        x[j] += t * p[j]
        x[j + 1] += t * p[j + 1]
        r[j] -= t * q[j]
        r[j + 1] -= t * q[j + 1]
        s0 += r[j] * inverse[j] * r[j]
        s1 += r[j + 1] * inverse[j + 1] * r[j + 1]
    if d % 2 == 1:
        x[d - 1] += t * p[d - 1]
        r[d - 1] -= t * q[d - 1]
        s0 += r[d - 1] * inverse[d - 1] * r[d - 1]
    return s0 + s1


@routine
def turn(beta, inverse, r, p):
    """p = inverse r + beta p."""
    for j in range(p.shape[0]):
        p[j] = inverse[j] * r[j] + beta * p[j]


@routine
def products(X, rows, lo, hi, sigma, H):
    """H += sum of sigma_i [x_i, 1] [x_i, 1]' over rows[lo:hi], on and below the diagonal."""
    d = H.shape[0] - 1
    for k in range(lo, hi):
        i = rows[k]
        sample_add_products(X, i, sigma[i], H)
        sample_add(X, i, sigma[i], H[d], 0, d)
        H[d, d] += sigma[i]


@routine
def squares(X, rows, lo, hi, sigma, out):
    """out += sum of sigma_i x_i^2, entry by entry, over rows[lo:hi]."""
    for k in range(lo, hi):
        i = rows[k]
        sample_add_squares(X, i, sigma[i], out)


@routine
def bend(scores, sign, b, center, sigma, top, alpha, free):
    """alpha = clip(center + sigma u, 0, top); gives back how many rows lie strictly between."""
    k = 0
    for i in range(scores.shape[0]):
        v = center[i] + sigma[i] * (1.0 - sign[i] * (scores[i] + b))
        if v <= 0.0:
            v = 0.0
        elif v >= top[i]:
            v = top[i]
        else:
            free[k] = i
            k += 1
        alpha[i] = v
    return k


@routine
def slope(scores, step, sign, b, db, center, sigma, top, t, out):
    """Derivatives along scores + t step, b + t db, of the sum of the penalties."""
    first = 0.0
    second = 0.0
    for i in range(scores.shape[0]):
        e = -sign[i] * (step[i] + db)
        v = center[i] + sigma[i] * (1.0 - sign[i] * (scores[i] + b) + t * e)
        if v > 0.0:
            if v >= top[i]:
                first += top[i] * e
            else:
                first += v * e
                second += sigma[i] * e * e
    out[0] = first
    out[1] = second
