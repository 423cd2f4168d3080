"""The smallest ball that holds all rows, with bounds of its radius from both sides.

Find     the centre c with the least max_i |x_i - c|
Proof    shares a >= 0 of sum 1: R^2 >= sum a_i |x_i|^2 - |sum a_i x_i|^2, with equality at the end
Walk     c keeps one distance to the rows of a set T and moves to the nearest point that has one
         distance to them and lies in their plane; the first row that it meets on the surface
         joins T; arrived, a row with a negative share leaves T; without one the ball is the best

Fischer, Gärtner, Kutz, Fast smallest-enclosing-ball computation in high dimensions, ESA 2003.
Small data are finished in rational arithmetic: then R^2 is a Fraction, not a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.ball import exact_radius_bounds, radius_bounds, squared_distances
from linsep.core.validate import as_matrix, require_finite

__all__ = ["EnclosingBall", "enclosing_ball"]

Array = NDArray[np.float64]
_EXACT = 20_000  # entries of X up to which the answer is proved in rational numbers
_SUPPORT = 40  # rows on the surface up to which it is


@dataclass(frozen=True, eq=False)
class EnclosingBall:
    """The smallest enclosing ball.

    Attributes
    ----------
    centre : array of shape (d,)
    radius : float
        The upper bound: a ball of this radius around the centre holds all rows.
    bounds : (float, float)
        The smallest radius lies between them.
    squared : Fraction or None
        The square of the smallest radius, where it was found exactly.
    rows, shares : arrays
        Rows on the surface and their shares, which prove the lower bound; the centre is
        their mean.
    """

    centre: Array
    radius: float
    bounds: tuple[float, float]
    squared: Fraction | None
    rows: NDArray[np.int64]
    shares: Array

    def __str__(self) -> str:
        low, high = self.bounds
        held = "1 row" if len(self.rows) == 1 else f"{len(self.rows)} rows"
        if low == high or self.squared is not None:
            return f"radius {high:.6g}, held by {held}"
        return f"radius between {low:.6g} and {high:.6g}, held by {held}"


def enclosing_ball(X: Any) -> EnclosingBall:
    """The smallest ball that holds all rows of X.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)

    Examples
    --------
    >>> from linsep.risk import enclosing_ball
    >>> ball = enclosing_ball([[0, 0], [2, 0], [1, 1], [1, 0.5]])
    >>> print(ball)
    radius 1, held by 2 rows
    >>> ball.centre, ball.squared
    (array([1., 0.]), Fraction(1, 1))
    """
    matrix = as_matrix(X)
    require_finite(matrix, None)
    small = matrix.shape[0] * matrix.shape[1] <= _EXACT
    if small and not isinstance(matrix, np.ndarray):
        matrix = matrix.toarray()
    work, scale, origin = _near_zero(matrix)
    centre, rows, shares = _walk(work)
    if small and len(rows) <= _SUPPORT:
        for some in _candidates(matrix, rows, shares):
            exact = _exactly(matrix, some)
            if exact is not None:
                return exact
    centre = centre + origin
    if scale != 1.0:
        matrix = matrix.astype(np.float64) / scale
    low, high = (r * scale for r in radius_bounds(matrix, centre, rows, shares))
    return EnclosingBall(centre * scale, high, (low, high), None, rows, shares)


def _near_zero(matrix: Any) -> tuple[Any, float, Any]:
    """The rows divided by a power of two near the largest number, so that squares neither
    over- nor underflow, and moved to the origin where that keeps digits; scale and origin."""
    sparse = not isinstance(matrix, np.ndarray)
    flat = matrix.data if sparse else matrix
    size = float(np.abs(flat).max()) if flat.size else 0.0
    scale = 2.0 ** (int(np.frexp(size)[1]) - 1) if size > 0 else 1.0
    work = matrix.astype(np.float64) / scale
    if sparse:
        return work, scale, 0.0
    origin = work.mean(axis=0)
    return work - origin, scale, origin


def _walk(X: Any) -> tuple[Array, NDArray[np.int64], Array]:
    """Centre, rows on the surface and their shares."""
    d = X.shape[1]
    centre = _row(X, 0)
    distance = squared_distances(X, centre)
    support = [int(distance.argmax())]
    tiny = 1e-15 * float(np.sqrt(distance.max()))
    for _ in range(50 * (d + 10)):
        goal, shares = _nearest(X, support, centre)
        move = goal - centre
        if float(np.abs(move).max()) <= tiny:
            if shares.min() >= -1e-14 or len(support) == 1:
                break
            support.pop(int(shares.argmin()))
            continue
        step, hit = _first_hit(X, support, centre, move)
        centre = centre + step * move
        if hit is None:
            if shares.min() >= -1e-14:
                break
            support.pop(int(shares.argmin()))
        else:
            support.append(hit)
    shares = np.maximum(_nearest(X, support, centre)[1], 0.0)
    return centre, np.array(support, dtype=np.int64), shares / shares.sum()


def _row(X: Any, i: int) -> Array:
    row = X[[i]]
    return np.ravel(row if isinstance(row, np.ndarray) else row.toarray()).astype(np.float64)


def _nearest(X: Any, support: list[int], centre: Array) -> tuple[Array, Array]:
    """The point in the plane of the support nearest to the centre, and its shares."""
    first = _row(X, support[0])
    if len(support) == 1:
        return first, np.ones(1)
    edges = np.array([_row(X, i) for i in support[1:]]) - first
    weights = np.linalg.lstsq(edges.T, centre - first, rcond=None)[0]
    return first + weights @ edges, np.r_[1 - weights.sum(), weights]


def _first_hit(X: Any, support: list[int], centre: Array, move: Array) -> tuple[float, int | None]:
    """How far the centre can go before a row outside the support reaches the surface.

    At centre + s move the squared distance of x less that of a row t of the support is
    D(x) - D(t) - 2 s move.(x - t), which reaches 0 from below where move.(x - t) < 0.
    """
    distance = squared_distances(X, centre)
    base = support[0]
    along = np.asarray(X @ move).ravel()
    slope = along[base] - along
    room = np.maximum(distance[base] - distance, 0.0)
    open_ = slope > 1e-14 * max(1e-300, float(np.abs(along).max()))
    open_[support] = False
    places = np.flatnonzero(open_)
    if not len(places):
        return 1.0, None
    steps = room[places] / (2 * slope[places])
    best = int(steps.argmin())
    return (float(steps[best]), int(places[best])) if steps[best] < 1 else (1.0, None)


# -- rational arithmetic --------------------------------------------------------------------------


def _candidates(X: Array, rows: NDArray[np.int64], shares: Array) -> Iterator[NDArray[np.int64]]:
    """The rows found on the surface, without repetitions; then only those with a share."""
    for least in (-1.0, 1e-9):
        some = rows[shares > least]
        first = np.unique(X[some], axis=0, return_index=True)[1]
        yield some[np.sort(first)]


def _exactly(X: Array, rows: NDArray[np.int64]) -> EnclosingBall | None:
    """The ball through these rows in rational numbers, if it is the smallest; else None."""
    from linsep.certify.margins import sqrt_down, sqrt_up

    points = [[Fraction(v) for v in row] for row in X[rows].tolist()]
    shares = _centre_shares(points)
    if shares is None or min(shares) < 0:
        return None
    centre = [sum(a * p[j] for a, p in zip(shares, points)) for j in range(X.shape[1])]
    low, high = exact_radius_bounds(X, [Fraction(c) for c in centre], rows, shares)
    if low != high:
        return None
    bounds = sqrt_down(low), sqrt_up(high)
    return EnclosingBall(
        np.array([float(c) for c in centre]),
        bounds[1],
        bounds,
        low,
        rows,
        np.array([float(a) for a in shares]),
    )


def _centre_shares(points: list[list[Fraction]]) -> list[Fraction] | None:
    """Shares of the point at one distance to all, in their plane; None where they depend."""
    import flint

    first, rest = points[0], points[1:]
    if not rest:
        return [Fraction(1)]
    edges = [[a - b for a, b in zip(p, first)] for p in rest]
    gram = [[sum(a * b for a, b in zip(u, v)) for v in edges] for u in edges]
    k = len(edges)
    left = flint.fmpq_mat(k, k, [_fmpq(2 * v) for row in gram for v in row])
    right = flint.fmpq_mat(k, 1, [_fmpq(gram[i][i]) for i in range(k)])
    try:
        solved = left.solve(right)
    except ZeroDivisionError:
        return None
    weights = [Fraction(int(v.p), int(v.q)) for v in solved.entries()]
    return [1 - sum(weights, Fraction(0)), *weights]


def _fmpq(value: Any) -> Any:
    import flint

    number = Fraction(value)
    return flint.fmpq(number.numerator, number.denominator)
