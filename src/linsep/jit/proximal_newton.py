"""Inner loops of the proximal Newton method in the dual."""

# mypy: ignore-errors

from __future__ import annotations

from linsep.jit.compile import routine
from linsep.jit.rows import sample_add, sample_add_squares, sample_dot


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
def squares(X, rows, sigma, out):
    """out += sum of sigma_i x_i^2, entry by entry, over the given rows."""
    for k in range(rows.shape[0]):
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
