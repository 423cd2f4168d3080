"""Kernels of histograms: sums over the columns of a mean of two numbers >= 0."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linsep.core.compile import routine
from linsep.core.costs import REFEREE_VALUES
from linsep.errors import CapabilityError, SettingError
from linsep.kernels.base import LARGEST_MAP, Kernel, is_number
from linsep.kernels.rows import Rows, dense_pair, inner_products

Array = NDArray[Any]


@dataclass(frozen=True, repr=False)
class Additive(Kernel):
    """A sum over columns of a mean of x_k and z_k, the power mean of exponent ``power``."""

    cheaper: ClassVar[str] = "AdditiveSVM, which is the same rule at linear cost"

    @property
    def power(self) -> float:
        """Exponent of the power mean: -inf is the minimum, -1 harmonic, 0 geometric."""
        raise NotImplementedError

    @property
    def nonnegative(self) -> bool:
        """True: histograms have no negative entry."""
        return True

    def block(self, A: Rows, B: Rows) -> Array:
        """Sums of means."""
        a, b = dense_pair(A.matrix, B.matrix)
        return power_means(a, b, self.power)

    def definition(self, X: Any, Z: Any) -> Array:
        """Sums of means, column by column; a zero on either side adds nothing."""
        out = np.zeros((X.shape[0], Z.shape[0]))
        for (rows, x), (used, z) in zip(_columns(X), _columns(Z), strict=True):
            out[np.ix_(rows, used)] += defined_mean(x[:, None], z, self.power)
        return out

    def sums_by_definition(self, X: Any, Z: Any, coef: Array, size: Array) -> tuple[Array, Array]:
        """The same as functions of single columns, which need no value of a pair of rows."""
        coef, size = coef.astype(X.dtype), size[:, None].astype(X.dtype)
        out, sizes = np.zeros((X.shape[0], coef.shape[1])), np.zeros((X.shape[0], 1))
        for (rows, x), (used, z) in zip(_columns(X), _columns(Z), strict=True):
            sums, more = sums_of_means(x, z, coef[used], size[used], self.power)
            out[rows] += sums
            sizes[rows] += more
        return out, sizes[:, 0]

    def own_values(self, X: Any) -> Array:
        """Every mean of a number with itself is the number."""
        return np.asarray(X.sum(axis=1), dtype=np.float64).ravel()

    def price(self, entries: float, dtype: Any = np.float64) -> float:
        """That of a mean for each entry, but where sums need none."""
        if self.power in (-math.inf, 0.0):
            return 0.1
        each = 1.2 if self.power == -1.0 else 30.0
        return each * entries * (1.0 if np.dtype(dtype) == np.float64 else 0.5)

    def _diagonal(self, rows: Rows) -> Array:
        # Every mean of a number with itself is the number.
        return np.asarray(rows.matrix.sum(axis=1)).ravel().astype(rows.dtype, copy=False)

    def ball(self, x: list[float], z: list[float]) -> Any:
        """The sum of means, each as an interval."""
        from flint import arb

        means = (ball_mean(a, b, self.power) for a, b in zip(x, z, strict=True))
        return sum(means, arb(0))

    def exact(self, x: list[Any], z: list[Any]) -> Any:
        """The sum of minima or of harmonic means; other means are no fractions."""
        from flint import fmpq

        if self.power == -math.inf:
            return sum((min(a, b) for a, b in zip(x, z, strict=True)), fmpq(0))
        if self.power == -1.0:
            means = (2 * a * b / (a + b) for a, b in zip(x, z, strict=True) if a > 0 and b > 0)
            return sum(means, fmpq(0))
        return super().exact(x, z)

    def _features(self, X: Any, like: Any) -> Any:
        raise CapabilityError(
            f"{self!r} has no exact feature map of finite size; AdditiveSVM needs none, and "
            "sklearn.kernel_approximation.AdditiveChi2Sampler approximates it."
        )


@dataclass(frozen=True, repr=False)
class Intersection(Additive):
    """K(x, z) = sum over k of min(x_k, z_k), for x, z >= 0 (histogram intersection).

    Its feature map on whole numbers is the unary code: 3 of 5 is 1 1 1 0 0.

    Examples
    --------
    >>> from linsep.kernels import Intersection
    >>> Intersection().gram([[3, 0], [1, 2]])
    array([[3., 1.],
           [1., 3.]])
    >>> Intersection().features([[3, 0], [1, 2]])
    array([[1., 1., 1., 0., 0.],
           [1., 0., 0., 1., 1.]])
    """

    @property
    def power(self) -> float:
        """The power mean of exponent -inf."""
        return -math.inf

    def _features(self, X: Any, like: Any) -> Any:
        return unary(X, X if like is None else like)


@dataclass(frozen=True, repr=False)
class ChiSquared(Additive):
    """K(x, z) = sum over k of 2 x_k z_k / (x_k + z_k), with 0 / 0 = 0, for x, z >= 0.

    scikit-learn's ``additive_chi2_kernel`` is -sum (x - z)^2 / (x + z) = 2 K - sum (x + z).

    Examples
    --------
    >>> from linsep.kernels import ChiSquared
    >>> ChiSquared().gram([[3, 0], [1, 2]])
    array([[3. , 1.5],
           [1.5, 3. ]])
    """

    @property
    def power(self) -> float:
        """The power mean of exponent -1."""
        return -1.0


@dataclass(frozen=True, repr=False)
class Hellinger(Additive):
    """K(x, z) = sum over k of sqrt(x_k z_k), for x, z >= 0; phi(x) = sqrt(x).

    Examples
    --------
    >>> from linsep.kernels import Hellinger
    >>> Hellinger().gram([[4, 0], [1, 9]])
    array([[ 4.,  2.],
           [ 2., 10.]])
    """

    @property
    def power(self) -> float:
        """The power mean of exponent 0."""
        return 0.0

    def block(self, A: Rows, B: Rows) -> Array:
        """Inner products of square roots."""
        return inner_products(np.sqrt(A.matrix), np.sqrt(B.matrix))

    def _features(self, X: Any, like: Any) -> Any:
        return np.sqrt(X)


@dataclass(frozen=True, repr=False)
class PowerMean(Additive):
    """K(x, z) = sum over k of ((x_k^p + z_k^p) / 2)^(1/p), for x, z >= 0 and p <= 0.

    p = -inf is Intersection, p = -1 ChiSquared, p = 0 (the limit) Hellinger. A zero on either
    side adds nothing. For p > 0 the function is not positive semidefinite.

    Parameters
    ----------
    p : float <= 0, default=-1.0

    Examples
    --------
    >>> from linsep.kernels import PowerMean
    >>> PowerMean(-2).gram([[1, 1], [7, 0]]).round(4)
    array([[2.  , 1.4],
           [1.4, 7.  ]])
    """

    p: float = -1.0

    def _check_settings(self) -> None:
        if not is_number(self.p) or not float(self.p) <= 0:
            raise SettingError(
                f"The 'p' parameter of PowerMean must be a number <= 0 (-inf too): for p > 0 the "
                f"power mean is not positive semidefinite. Got {self.p!r} instead."
            )

    @classmethod
    def from_plain(cls, values: dict[str, Any]) -> Self:
        """Give the kernel; -inf may be text."""
        return cls(**values | {"p": -math.inf}) if values.get("p") == "-inf" else cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; -inf as text, which JSON can hold."""
        return {"type": "PowerMean", "p": "-inf" if self.p == -math.inf else float(self.p)}

    def __repr__(self) -> str:
        if self.p == -math.inf:
            return "PowerMean(p=float('-inf'))"
        return super().__repr__()

    @property
    def power(self) -> float:
        """The exponent p."""
        return float(self.p)

    def _features(self, X: Any, like: Any) -> Any:
        same = {-math.inf: Intersection(), 0.0: Hellinger()}.get(self.power)
        return super()._features(X, like) if same is None else same._features(X, like)


def power_means(a: Array, b: Array, power: float) -> Array:
    """Sums over columns of the power means of two dense matrices."""
    if power == 0:
        return inner_products(np.sqrt(a), np.sqrt(b))
    out = np.zeros((a.shape[0], b.shape[0]), a.dtype)
    if power in (-1.0, -math.inf):
        size = a.size * b.shape[0]
        a, columns = np.ascontiguousarray(a), np.ascontiguousarray(b.T)
        if power == -1.0:
            tiny = np.finfo(a.dtype).smallest_subnormal
            harmonic_means(a, columns, tiny, out, size=size, work=size)
        else:
            intersections(a, columns, out, size=size, work=size)
        return out
    for k in np.flatnonzero(a.any(axis=0) & b.any(axis=0)):
        out += _one_power_mean(a[:, k, None], b[None, :, k], -power)
    return out


def _one_power_mean(x: Array, z: Array, q: float) -> Array:
    """The mean of exponent -q < 0: m ((1 + (m / M)^q) / 2)^(-1/q), m the smaller, M the larger.

    Written with logarithms near one, it is right for q near 0 as for large q, to a few units in
    the last place for any two numbers. ``additive.similarity`` is the same mean written as
    sqrt(x z) S(log x - log z), as tables of nodes need it; its error grows with the logarithms,
    which ``table_error`` counts. Neither form can serve for the other: this one is no function
    of the difference times a product, and that one would cost kernel values digits.
    """
    small, large = np.minimum(x, z), np.maximum(x, z)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
        log = np.log(small) - np.log(large)
        mean = small * np.exp(-np.log1p(np.expm1(q * log) / 2) / q)
    return np.asarray(np.where(small > 0, np.minimum(mean, large), x.dtype.type(0)))


def defined_mean(x: Array, z: Array, power: float) -> Array:
    """The power mean of numbers > 0 as it is defined, for the definition of kernels.

    Numbers are halved, or the smaller one is taken out of it, so that nothing overflows.
    """
    if power == -math.inf:
        return np.minimum(x, z)
    if power == 0:
        return np.asarray(np.sqrt(x) * np.sqrt(z))
    with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
        if power == -1.0:
            return np.asarray(_over_half_sums(x, z) * x)
        small, large = np.minimum(x, z), np.maximum(x, z)
        ratio = np.log(small) - np.log(large)  # (1 + r^-p) / 2, which is near 1 for p near 0
        return np.asarray(small * np.exp(np.log1p(np.expm1(-power * ratio) / 2) / power))


def _over_half_sums(x: Array, z: Array) -> Array:
    """2 z / (x + z): half of the smallest number is 0."""
    half = 0.5 * x + (0.5 * z + np.finfo(z.dtype).smallest_subnormal)
    return np.asarray(np.divide(z, half, out=half))


def sums_of_means(
    x: Array, z: Array, coef: Array, size: Array, power: float
) -> tuple[Array, Array]:
    """h(x) = sum_j coef_jm M_p(x, z_j) of one column, by definition, and no less than the same sum
    with size_jm: that of geometric means, but for the minimum."""
    if power == -math.inf:  # of the smaller z the numbers themselves, of the larger ones x
        coef = np.hstack([coef, size])
        order, none = np.argsort(z), np.zeros((1, coef.shape[1]))
        z, coef = z[order], coef[order].astype(np.float64)
        below = np.concatenate([none, np.cumsum(coef * z[:, None], axis=0)])
        above = np.concatenate([np.cumsum(coef[::-1], axis=0)[::-1], none])
        at = np.searchsorted(z, x, side="right")
        both = below[at] + x[:, None] * above[at]
        return both[:, : -size.shape[1]], both[:, -size.shape[1] :]
    root = np.sqrt(x)[:, None]
    sizes = root * (np.sqrt(z) @ size)
    if power == 0.0:
        return root * (np.sqrt(z) @ coef), sizes
    distinct, place = np.unique(x, return_inverse=True)
    h = np.zeros((len(distinct), coef.shape[1]))
    step = max(1, REFEREE_VALUES // max(1, len(z)))
    for lo in range(0, len(distinct), step):
        some = distinct[lo : lo + step, None]
        if power == -1.0:
            h[lo : lo + step] = some * (_over_half_sums(some, z) @ coef)
        else:
            h[lo : lo + step] = defined_mean(some, z, power) @ coef
    return h[place], sizes


def _columns(X: Any) -> Iterator[tuple[NDArray[np.int64], Array]]:
    """The rows with a positive entry in each column, and these entries."""
    if isinstance(X, np.ndarray):
        every = np.arange(len(X))
        for column in np.ascontiguousarray(X.T, dtype=np.result_type(X, np.float32)):
            some = every if column.all() else np.flatnonzero(column)
            yield some, column[some]
        return
    entries = positive_columns(X)
    for k in range(X.shape[1]):
        own = slice(*entries.indptr[k : k + 2])
        yield entries.indices[own], entries.data[own]


def positive_columns(X: Any) -> Any:
    """The positive entries of a matrix >= 0, column by column; integers as float64."""
    own = scipy.sparse.issparse(X) and X.format == "csc"  # zeros are taken out of a copy
    some = scipy.sparse.csc_array(X, copy=own)
    some = some.astype(np.result_type(some, np.float32), copy=False)
    some.eliminate_zeros()
    some.sort_indices()
    return some


def ball_mean(x: float, z: float, power: float) -> Any:
    """One power mean as a flint ``arb``."""
    from flint import arb

    if x <= 0 or z <= 0:
        return arb(0)
    if power == -math.inf:
        return arb(min(x, z))
    if power == 0:
        return (arb(x) * arb(z)).sqrt()
    p = arb(power)
    return ((arb(x) ** p + arb(z) ** p) / 2) ** (1 / p)


# -- The explicit feature map of the intersection kernel: indicators of levels --------------------
#
# min(x, z) is the length of the common part of [0, x] and [0, z], so the indicator functions of
# these intervals have it as their inner product. On whole numbers that is the unary code; on
# other numbers the line is cut at the values that occur.


def unary(X: Any, like: Any) -> NDArray[np.float64]:
    """phi(x) for rows X, by the levels that occur in ``like``."""
    X = X if isinstance(X, np.ndarray) else X.toarray()
    like = like if isinstance(like, np.ndarray) else like.toarray()
    if X.shape[1] != like.shape[1]:
        raise CapabilityError(f"X has {X.shape[1]} columns, but the map is of {like.shape[1]}.")
    parts, width = [], 0
    for k in range(X.shape[1]):
        levels = _levels(like[:, k], X[:, k], k)
        width += levels.size
        if width * X.shape[0] > LARGEST_MAP:
            raise CapabilityError(
                f"the unary code of {X.shape[0]} rows needs more than {width} coordinates; use "
                "the kernel itself, or AdditiveSVM, which needs no such map."
            )
        gaps = np.sqrt(np.diff(levels, prepend=0.0))
        parts.append((X[:, k, None] >= levels) * gaps)
    return np.hstack(parts) if parts else np.empty((X.shape[0], 0))


def _levels(values: NDArray[Any], asked: NDArray[Any], column: int) -> NDArray[np.float64]:
    """1, 2, ... up to the largest whole number, or the sorted values where some are broken."""
    top = float(values.max())
    if top <= LARGEST_MAP and _whole(values) and _whole(asked):
        return np.arange(1.0, top + 1.0)
    levels = np.unique(values[values > 0]).astype(np.float64)
    new = (asked < top) & ~np.isin(asked, levels) & (asked > 0)
    if new.any():
        row = int(np.flatnonzero(new)[0])
        raise CapabilityError(
            f"X has {asked[row]:g} at row {row}, column {column}, between the values that the map "
            "was made from; make it from all rows together, features(X, like=all_rows)."
        )
    return levels


def _whole(values: NDArray[Any]) -> bool:
    return bool((values == np.floor(values)).all())


# -- Histogram kernels of a block -----------------------------------------------------------------
#
# Columns of the second matrix lie in rows, so that the sums of different pairs run side by side
# and none is reordered.


@routine
def intersections(X, ZT, out):
    """out[i, j] += sum over k of min(X[i, k], ZT[k, j])."""
    n, d = X.shape
    m = ZT.shape[1]
    for i in range(n):
        for k in range(d):
            v = X[i, k]
            if v > 0.0:
                for j in range(m):
                    z = ZT[k, j]
                    out[i, j] += v if v < z else z


@routine
def harmonic_means(X, ZT, tiny, out):
    """out[i, j] += sum over k of 2 x z / (x + z), with x = X[i, k] and z = ZT[k, j].

    With the smaller number s and the larger one m it is computed as s (m / (m / 2 + s / 2)), whose
    ratio lies between 1 and 2: nothing overflows, and a zero adds nothing. tiny is the least
    number above zero, half of which is zero.
    """
    n, d = X.shape
    m = ZT.shape[1]
    half = X.dtype.type(0.5)
    for i in range(n):
        for k in range(d):
            v = X[i, k]
            if v > 0.0:
                for j in range(m):
                    z = ZT[k, j]
                    small = v if v < z else z
                    large = z if v < z else v
                    # Not /, whose test for zero in compiled code keeps the loop out of SIMD.
                    out[i, j] += small * np.divide(large, half * large + half * small + tiny)
