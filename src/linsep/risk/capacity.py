"""How rich a class of linear rules is: its VC dimension, and what a margin does to it.

Planes in R^n                      h = n + 1 with an offset, n without
Planes that keep a margin m from   h <= min(ceil(R^2 / m^2), n) + 1 with an offset,
rows in a ball of radius R         h <= min(floor(R^2 / m^2), n) without, R around the origin

Vapnik (1995), theorem 5.1; Burges (1998), theorem 6, who rounds up. Rounding down would be wrong:
the corners of an equilateral triangle with R = 1 are labelled in all eight ways with the margin
3/4, and R^2 / m^2 = 16/9 would give h <= 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, floor, inf
from operator import index
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.core.problem import Problem
from linsep.core.protocol import is_pipeline, last_step
from linsep.core.validate import as_matrix, require_finite
from linsep.core.words import count
from linsep.errors import CapabilityError, DataError, ModelError, SettingError
from linsep.proofs.margins import margin_below
from linsep.proofs.risk import exact_radius_bounds, radius_bounds, squared_distances
from linsep.rows.signs import row_signs

_NEAR_INTEGER = 1e-9  # by which R^2/m^2 of rounded weights may miss an integer


class VCDimension(int):
    """A VC dimension, or a bound of one, as an int with its ingredients.

    Attributes
    ----------
    n_features : int
        Dimension of the space of the plane, after any lifting.
    fit_intercept : bool
    of_class : int
        n + 1 or n: the VC dimension of all planes, known before any data.
    radius, margin : float or None
        Of the smallest ball that holds the rows (around the origin without an offset), and of
        the model; None without data, margin <= 0 where the model does not separate them.
    ratio : float or None
        R^2 / m^2.
    margin_bound : float or None
        min(R^2 / m^2, n) + 1 before rounding (without an offset: no + 1).
    words : str
        All that in a sentence.
    """

    n_features: int
    fit_intercept: bool
    of_class: int
    radius: float | None
    margin: float | None
    ratio: float | None
    margin_bound: float | None
    words: str

    @property
    def h(self) -> int:
        """The number itself."""
        return int(self)

    @classmethod
    def make(cls, n: int, offset: bool, radius: float | None, margin: float | None) -> Self:  # noqa: FBT001
        """The number with its ingredients."""
        extra = int(offset)
        h, ratio, bound = n + extra, None, None
        if radius is not None and margin is not None and margin > 0:
            ratio = (radius / margin) ** 2
            bound = min(ratio, n) + extra
            near = round(ratio) if ratio < 1e15 else 0
            if abs(ratio - near) <= _NEAR_INTEGER * near:
                whole: float = near
            else:
                whole = inf if ratio > 1e15 else (ceil(ratio) if offset else floor(ratio))
            h = int(min(whole, n)) + extra
        out = cls(h)
        out.n_features, out.fit_intercept, out.of_class = n, offset, n + extra
        out.radius, out.margin, out.ratio, out.margin_bound = radius, margin, ratio, bound
        out.words = out._sentence()
        return out

    def _sentence(self) -> str:
        kind = "with an offset" if self.fit_intercept else "through the origin"
        known = f"planes {kind} in R^{self.n_features} have VC dimension {self.of_class}"
        if self.margin is None:
            return known
        if self.ratio is None:
            return f"{known}; the model does not separate the rows, so it has no margin"
        return (
            f"R = {self.radius:.6g}, margin {self.margin:.6g}, R^2/m^2 = {self.ratio:.6g}: planes "
            f"with that margin on rows in that ball have VC dimension at most {int(self)} "
            f"(all {known})"
        )

    def __str__(self) -> str:
        return str(int(self))


def vc_dimension(
    model: object, X: Any = None, y: Any = None, *, fit_intercept: bool | None = None
) -> VCDimension:
    """VC dimension of the class of a linear model, or its bound by the margin on data.

    Parameters
    ----------
    model : fitted linear classifier, pipeline that ends in one, or int
        Of any library, with coef_ and intercept_. After a lifting the dimension of the lifted
        space counts. An int is the number of features.
    X, y : data, optional
        With them the bound of those planes that keep the margin of the model from rows in the
        smallest ball that holds X. It is never above the number without data. Since it
        depends on the data, structural_bound is not true for it.
    fit_intercept : bool, optional
        Whether the plane may have an offset; default: what the model says.

    Returns
    -------
    VCDimension
        An int with R, m and a sentence.

    Examples
    --------
    >>> import linsep
    >>> from linsep.risk import vc_dimension
    >>> vc_dimension(2) + 0, vc_dimension(2, fit_intercept=False) + 0
    (3, 2)
    >>> X, y = [[0, 0, 0], [2, 0, 0], [0, 1, 0], [2, 1, 1]], [0, 1, 0, 1]
    >>> model = linsep.LinearSVM(C=float("inf")).fit(X, y)
    >>> print(vc_dimension(model, X, y).words)
    R = 1.22474, margin 1, R^2/m^2 = 1.5: planes with that margin on rows in that ball have VC
    dimension at most 3 (all planes with an offset in R^3 have VC dimension 4)
    """
    if hasattr(model, "__index__"):
        number = index(model)
        if isinstance(model, bool) or number < 1:
            raise SettingError(f"the number of features must be at least 1. Got {model!r}.")
        return VCDimension.make(number, fit_intercept is not False, None, None)
    lift, last = in_steps(model)
    coef, intercept, offset = plane_of_model(last, fit_intercept=fit_intercept)
    if X is None and y is None:
        return VCDimension.make(len(coef), offset, None, None)
    if X is None or y is None:
        raise DataError("give both X and y for the bound by the margin, or neither.")
    if lift is not None:
        X = lift.transform(X)
    problem = Problem(X, y, fit_intercept=offset)
    match(last, problem, coef)
    with np.errstate(all="ignore"):
        margin = 0.0
        if (row_signs(problem, coef, intercept) > 0).all():
            margin = margin_below(problem, coef, intercept)
        if offset:
            radius = enclosing_ball(problem.matrix).radius
        else:
            radius = float(np.sqrt(problem.squared_lengths.max()))
    return VCDimension.make(problem.d, offset, radius, margin)


def in_steps(model: object) -> tuple[Any, Any]:
    """What comes before the classifier (None for nothing), and the classifier."""
    model = getattr(model, "best_estimator_", model)
    if not is_pipeline(model):
        return None, model
    return (model[:-1] if len(model.steps) > 1 else None), last_step(model)


def plane_of_model(
    model: object, *, fit_intercept: bool | None
) -> tuple[NDArray[Any], float, bool]:
    """Weights, offset, and whether the class has offsets."""
    name = type(model).__name__
    coef = getattr(model, "coef_", None)
    if coef is None:
        if hasattr(model, "fit") and not any(k.endswith("_") for k in vars(model)):
            raise ModelError(f"{name} is not fitted; call fit first.")
        raise CapabilityError(
            f"{name} has no coef_, so it is not a linear rule of its inputs; its VC dimension is "
            "not known here (with an RBF kernel it has no limit). Give h to structural_bound "
            "yourself, or fit a linear model after a lifting."
        )
    rows = np.atleast_2d(coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef))
    if len(rows) != 1:
        raise CapabilityError(
            f"{name} has {len(rows)} weight vectors; the VC dimension belongs to rules of two "
            "classes. Take one class against the rest."
        )
    intercept = float(np.ravel(getattr(model, "intercept_", 0.0))[0])
    if not (np.isfinite(rows).all() and np.isfinite(intercept)):
        raise ModelError(f"{name} has weights that are not finite: {rows[0]}, {intercept}.")
    if fit_intercept is None:
        fit_intercept = bool(getattr(model, "fit_intercept", True)) or intercept != 0
    if not fit_intercept and intercept != 0:
        raise SettingError(f"fit_intercept is False, but {name} has the intercept {intercept:g}.")
    return np.asarray(rows[0], dtype=np.float64), intercept, fit_intercept


def match(model: object, problem: Problem, coef: NDArray[Any]) -> None:
    """ModelError unless the model belongs to data of this width and these classes."""
    if problem.d != len(coef):
        raise ModelError(
            f"the model has {len(coef)} weights, X has "
            f"{count(problem.d, 'column')}; give the data it was "
            "fitted to."
        )
    if problem.K != 2:
        raise DataError(f"y has {problem.K} classes; the VC dimension belongs to two.")
    known = None if getattr(model, "any_labels_", False) else getattr(model, "classes_", None)
    if known is not None and list(np.asarray(known).tolist()) != problem.classes.tolist():
        raise ModelError(
            f"the model knows the classes {np.asarray(known).tolist()}, "
            f"y has {problem.classes.tolist()}."
        )


# -- The smallest ball that holds all rows, with bounds of its radius from both sides -------------
#
# Find     the centre c with the least max_i |x_i - c|
# Proof    shares a >= 0 of sum 1: R^2 >= sum a_i |x_i|^2 - |sum a_i x_i|^2, with equality at the
#          end
# Walk     c keeps one distance to the rows of a set T and moves to the nearest point that has one
#          distance to them and lies in their plane; the first row that it meets on the surface
#          joins T; arrived, a row with a negative share leaves T; without one the ball is the best
#
# Fischer, Gärtner, Kutz, Fast smallest-enclosing-ball computation in high dimensions, ESA 2003.
# Small data are finished in rational arithmetic: then R^2 is a Fraction, not a bound.


Array = NDArray[np.float64]
_PROVED_ENTRIES = 20_000  # entries of X up to which the answer is proved in rational numbers
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
    small = matrix.shape[0] * matrix.shape[1] <= _PROVED_ENTRIES
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
    from linsep.proofs.margins import sqrt_down, sqrt_up

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


# -- How many labellings a hyperplane can give (Cover, IEEE Trans. Electronic Computers 14, 1965)
#
# C(N, d) = 2 sum_{k < d} binom(N - 1, k)     planes through the origin, N rows in general position
# P(N, d) = C(N, d) / 2^N                     that a random labelling is one of them
#
# A plane with an offset in R^n is one through the origin of R^(n+1): d = n + 1.


def cover_count(N: int, d: int, *, fit_intercept: bool = False) -> int:
    """Number of labellings of N rows that a hyperplane separates.

    Parameters
    ----------
    N : int
        Rows in general position.
    d : int
        Columns.
    fit_intercept : bool, default=False
        Whether the plane may keep away from the origin, which counts as one more column.

    Examples
    --------
    Of the 16 labellings of four points of the plane two are XOR:

    >>> from linsep.risk import cover_count
    >>> cover_count(4, 2, fit_intercept=True)
    14
    """
    for value, name, least in ((N, "N", 1), (d, "d", 0)):
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
            raise SettingError(f"{name} must be an integer >= {least}. Got {value!r} instead.")
    width = int(d) + bool(fit_intercept)
    return 2 * sum(comb(int(N) - 1, k) for k in range(min(width, int(N))))


def cover_probability(N: int, d: int, *, fit_intercept: bool = False) -> Fraction:
    """Probability that random labels of N rows in general position are separable.

    It is 1 while N <= d, and 1/2 at N = 2 d, the capacity of the class.

    Examples
    --------
    >>> from linsep.risk import cover_probability
    >>> cover_probability(20, 10), cover_probability(4, 2, fit_intercept=True)
    (Fraction(1, 2), Fraction(7, 8))
    """
    return Fraction(cover_count(N, d, fit_intercept=fit_intercept), 2 ** int(N))


# -- The soft margin that counts rows instead of adding up their slack ----------------------------
#
#     |w|^2 / 2 + beta sum_i [xi_i > 0],     xi_i = max(0, 1 - y_i f(x_i))
#
# It says what a support vector machine would minimise if it could: the hinge loss stands in for
# the count, which is hard to minimise. This is for reports.


class CountedMargin(float):
    """The objective, as a float with its parts.

    Attributes
    ----------
    penalty : float
        |w|^2 / 2.
    rows : array of int
        Rows with y f(x) < 1 - tol: inside the margin or wrong.
    errors : int
        Rows with y f(x) <= 0.
    """

    penalty: float
    rows: NDArray[np.int64]
    errors: int

    @classmethod
    def make(cls, beta: float, penalty: float, rows: NDArray[np.int64], errors: int) -> Self:
        """The number with its parts."""
        out = cls(penalty + beta * len(rows))
        out.penalty, out.rows, out.errors = penalty, rows, errors
        return out

    def __str__(self) -> str:
        return (
            f"{float(self):.6g} = {self.penalty:.6g} + beta x "
            f"{count(len(self.rows), 'row')} inside the "
            f"margin, {self.errors} of them wrong"
        )


def counted_margin(
    model: object, X: Any, y: Any, *, beta: float = 1.0, tol: float = 1e-6
) -> CountedMargin:
    """|w|^2 / 2 plus beta times the number of rows with y f(x) < 1.

    Parameters
    ----------
    model : fitted linear classifier of two classes, or pipeline that ends in one
    X, y : data
    beta : float, default=1.0
        What a row inside the margin costs.
    tol : float, default=1e-6
        A row counts as inside when y f(x) < 1 - tol: support vectors lie on the margin up to
        rounding, and rounding must not decide.

    Examples
    --------
    >>> import linsep
    >>> from linsep.risk import counted_margin
    >>> X, y = linsep.data.load("mse-1")
    >>> print(counted_margin(linsep.Linear([2, -1], -2), X, y, beta=10))
    2.5 = 2.5 + beta x 0 rows inside the margin, 0 of them wrong
    """
    if not beta >= 0 or not np.isfinite(beta):
        raise SettingError(f"beta must be a number >= 0. Got {beta!r} instead.")
    lift, last = in_steps(model)
    coef, intercept, offset = plane_of_model(last, fit_intercept=None)
    problem = Problem(X if lift is None else lift.transform(X), y, fit_intercept=offset)
    match(last, problem, coef)
    with np.errstate(all="ignore"):
        values = problem.values(problem.join(coef, intercept))
        wrong = row_signs(problem, coef, intercept) <= 0
    inside = values < 1 - tol
    return CountedMargin.make(
        float(beta), float(coef @ coef) / 2, np.flatnonzero(inside), int(wrong.sum())
    )
