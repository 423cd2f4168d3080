"""The Gaussian kernel, by one matrix product for each tile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import frexp, isfinite, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from linsep.core.compile import in_machine_code, inner, routine
from linsep.core.costs import (
    DIFFERENCES_COLUMNS,
    DIFFERENCES_ROWS,
    EXPONENTS_COMPILED,
    EXPONENTS_WITH_PRODUCTS,
)
from linsep.errors import CapabilityError, SettingError
from linsep.kernels.base import WORDS, Kernel, dot_products, number, require_scale, scale_of
from linsep.kernels.rows import Rows, dense_pair, inner_products
from linsep.numerics.rounding import U32, U

Array = NDArray[Any]

# Largest gamma |x|^2 for which |x|^2 + |z|^2 - 2 x . z is used: the exponent is then right to about
# 1e-9 in float64 and 1e-3 in float32. Beyond it differences of the entries are taken.
_SAFE = {np.dtype(np.float64): 1e6, np.dtype(np.float32): 2e3}
# Values below exp of this are 0 in large tiles: denormal numbers are slow.
_LEAST_ARGUMENT = {np.dtype(np.float64): -np.inf, np.dtype(np.float32): -87.0}
_FAR_RATE = 1e30  # rates beyond this, or below its inverse, may leave float32 with the squares
_RESOLVED = 1e3  # largest gamma |x|^2 for which products in float32 resolve the distances


def _defined_exponents(X: Any, Z: Any, rate: float) -> Callable[[slice], Array]:
    """-rate |x - z|^2 for the definition, of some rows at a time: by differences; of many columns,
    and in float32, -rate (|x|^2 + |z|^2 - 2 x . z), with rows moved so that squares are small."""
    dense = isinstance(X, np.ndarray)
    if dense and X.shape[1] <= DIFFERENCES_COLUMNS and X.dtype != np.float32:
        return lambda some: np.asarray(-rate * cdist(X[some], Z, "sqeuclidean"))
    if dense:
        middle = Z.mean(axis=0)
        X, Z = X - middle, Z - middle
    squared = (rows * rows if dense else rows.multiply(rows) for rows in (X, Z))
    x, z = (np.asarray(one.sum(axis=1)).reshape(-1, 1) for one in squared)
    if dense:  # all in one product, of two columns more: every pass over it costs as much
        left = -rate * np.hstack([-2.0 * X, x, np.ones_like(x)])
        right = np.hstack([Z, np.ones_like(z), z]).T

    def block(some: slice) -> Array:
        if dense:
            found = left[some] @ right
        else:
            found = dot_products(2.0 * rate * X[some], Z)
            found -= rate * x[some]
            found -= rate * z.T
        return np.asarray(np.minimum(found, 0.0, out=found))

    return block


@dataclass(frozen=True, repr=False)
class RBF(Kernel):
    """K(x, z) = exp(-|x - z|^2 / (2 sigma^2)) = exp(-gamma |x - z|^2).

    Parameters
    ----------
    sigma : float > 0, optional
        Width in the units of X; gamma = 1 / (2 sigma^2). Give sigma or gamma, not both.
    gamma : float > 0 or {"scale", "auto"}, default="scale"
        "scale" means 1 / (d var(X)) and "auto" 1 / d, of the training rows.

    Examples
    --------
    >>> from linsep.kernels import RBF
    >>> RBF(sigma=1).gram([[0, 0], [1, 1]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    >>> RBF(gamma=0.5) == RBF(gamma=0.5)
    True
    """

    sigma: float | None = None
    gamma: float | str = "scale"

    products: ClassVar[bool] = True
    finite: ClassVar[bool] = True
    tabled: ClassVar[bool] = True
    single: ClassVar[bool] = True
    scikit_learn: ClassVar[str | None] = "rbf"

    def _check_settings(self) -> None:
        require_scale(self, "gamma")
        if self.sigma is None:
            return
        number(self, "sigma", low=0, above=True)
        if self.gamma != "scale":
            raise SettingError(
                f"RBF has both sigma={self.sigma!r} and gamma={self.gamma!r}; give one of them: "
                "gamma = 1 / (2 sigma^2)."
            )

    def _after_set(self, names: set[str]) -> None:
        # A search over one of the two replaces the other.
        if "gamma" in names and "sigma" not in names and self.gamma != "scale":
            object.__setattr__(self, "sigma", None)
        if "sigma" in names and "gamma" not in names and self.sigma is not None:
            object.__setattr__(self, "gamma", "scale")

    @property
    def resolved(self) -> bool:
        """Whether the width is a number."""
        return self.sigma is not None or self.gamma not in WORDS

    def resolve(self, X: Any) -> Kernel:
        """Give the kernel with gamma as a number."""
        return self if self.resolved else RBF(gamma=scale_of(self.gamma, X))

    @property
    def rate(self) -> float:
        """The number gamma, from sigma too."""
        if not self.resolved:
            raise SettingError(f"{self!r} takes gamma from the data; call resolve(X) first.")
        return float(self.gamma) if self.sigma is None else 0.5 / self.sigma / self.sigma

    @property
    def width(self) -> float:
        """The number sigma, from gamma too."""
        return float(self.sigma) if self.sigma is not None else sqrt(0.5 / self.rate)

    @property
    def strict(self) -> bool:
        """True, for every width."""
        return True

    @property
    def largest(self) -> float | None:
        """1."""
        return 1.0

    def in_sklearn(self) -> dict[str, Any] | None:
        """There it has gamma only."""
        return {"kernel": self.scikit_learn, "gamma": self.rate}

    def sampler(self, n_components: int, seed: int) -> Any:
        """Cosines at random frequencies (Rahimi and Recht 2007)."""
        from sklearn.kernel_approximation import RBFSampler

        return RBFSampler(gamma=self.rate, n_components=n_components, random_state=seed)

    def error_bound(self, rows: Rows) -> float:
        """With that of gamma |x - z|^2 by |x|^2 + |z|^2 - 2 x.z; beyond _SAFE by differences."""
        largest = float(rows.squares.max(initial=0.0)) * self.rate
        share = min(largest, _SAFE[np.dtype(np.float64)]) if isfinite(largest) else 2.0
        return super().error_bound(rows) + float(4 * (rows.d + 8) * U * share)

    def single_error(self, A: Rows, B: Rows) -> float | None:
        """Of rows that were not moved; with u = 2^-24 and R = gamma max |x|^2.

        Exponent: entries rounded (8 u R), products (2 (d + 1) u R), squares (2 (d + 3) u R),
        scaling and sums (20 u R). Where it is one product of rows with two more columns
        (``Rows.lift``): a row s x is off by three roundings, so the distance of two by 24 u R at
        most; squares are rounded once (2 u R); the product adds d + 2 terms whose sizes sum up to
        4 R (4 (d + 2) u R). Either is less than (4 d + 48) u R, and what is below 2^-125 counts as
        that. The exponential, and a coefficient that it is multiplied with: 10 u.
        """
        # A rate within the range keeps squares that underflow from mattering.
        if not B.d or B.origin is not None or not 1 / _FAR_RATE <= self.rate <= _FAR_RATE:
            return None
        squares = max(float(A.squares.max()), float(B.squares.max()))
        largest = squares * self.rate * (1 + 4 * (A.d + 4) * U32)
        if not largest <= _RESOLVED:
            return None
        return float(np.expm1((4 * A.d + 48) * U32 * largest)) + 10 * U32

    def prepare(self, rows: Rows) -> None:
        """Squared norms, bits where there are two values only, and columns for the exponents."""
        _ = rows.squares
        rate = self.rate
        if rows.codes is None and isinstance(rows.centred, np.ndarray):
            single = (
                rows.dtype == np.float32
                and rows.d <= EXPONENTS_WITH_PRODUCTS
                and rows.n * rows.d > 0
            )
            if single and 1e-30 <= rate <= 1e30 and rows.largest * rate <= _SAFE[rows.dtype]:
                rows.lift(rate)

    def block(self, A: Rows, B: Rows) -> Array:
        """Exponentials of distances, from one matrix product where that is accurate."""
        return self.tile(A, B, None)

    def definition(self, X: Any, Z: Any) -> Array:
        """exp(-gamma |x - z|^2)."""
        return self._definition_by_blocks(X, Z)(slice(None))

    def own_values(self, X: Any) -> Array:
        """exp(0)."""
        return np.ones(X.shape[0])

    def _definition_by_blocks(self, X: Any, Z: Any) -> Callable[[slice], Array]:
        rate = float(self.gamma) if self.sigma is None else 0.5 / float(self.sigma) ** 2
        exponents = _defined_exponents(X, Z, rate)

        def block(some: slice) -> Array:
            exponent = exponents(some)
            return np.asarray(np.exp(exponent, out=exponent))

        return block

    def tile(self, A: Rows, B: Rows, out: Array | None) -> Array:
        """By bits, by powers of two, or by products of rows, whichever these rows allow."""
        large = A.n * B.n >= EXPONENTS_COMPILED
        if large and A.codes is not None and B.codes is not None:
            out = np.empty((A.n, B.n), A.dtype) if out is None else out
            bits = A.codes.words, B.codes.columns, self._table(A), out, np.empty(B.n, np.uint64)
            distances(*bits, size=100 * EXPONENTS_COMPILED, work=out.size)
            return out
        values = self.powers(A, B, out) if large else None
        if values is not None:
            gaussians(values, size=100 * EXPONENTS_COMPILED, work=values.size)
            return values
        largest, rate = max(A.largest, B.largest), self.rate
        if not (largest * rate <= _SAFE[A.dtype] and isfinite(largest)) or rate == 0:
            return self._by_differences(A, B)
        kind = A.dtype.type
        values = inner_products(A.centred, B.centred, out)
        left, right = kind(rate) * A.squares, kind(rate) * B.squares
        if large and values.flags.c_contiguous:
            args = (values, left, right, kind(2 * rate), kind(_LEAST_ARGUMENT[A.dtype]), kind(0))
            exponents(*args, size=100 * EXPONENTS_COMPILED, work=values.size)  # compiled at once
        else:
            values *= kind(2 * rate)
            values -= left[:, None]
            values -= right
            np.minimum(values, 0, out=values)
        return np.asarray(np.exp(values, out=values))

    def powers(self, A: Rows, B: Rows, out: Array | None = None) -> Array | None:
        """Base-2 logarithms of the values in float32, where both rows are lifted, else None."""
        left, right = A.lifted(self.rate), B.lifted(self.rate)
        if left is None or right is None:
            return None
        return inner_products(left.left, right.right, out)

    def _table(self, rows: Rows) -> Array:
        """Its value at 0, 1, 2, ... columns that differ, of rows of two values."""
        codes = rows.codes
        far = 0.0 if codes is None else (codes.high - codes.low) ** 2
        with np.errstate(under="ignore", over="ignore"):
            table = np.exp(-self.rate * (far * np.arange(rows.d + 1.0)))
            return np.asarray(table, dtype=rows.dtype)

    def by_table(self, A: Rows, B: Rows, coef: Array) -> Array | None:
        """Values of rows of two values times coef, summed over B; None for other rows."""
        if A.codes is None or B.codes is None:
            return None
        total, table = np.zeros(A.n), self._table(A).astype(np.float64)
        args = B.codes.words, A.codes.columns, table, coef, total, np.empty(A.n, np.uint64)
        look_up(*args, size=100 * EXPONENTS_COMPILED, work=A.n * B.n)
        return total

    def _by_differences(self, A: Rows, B: Rows) -> Array:
        """The same from differences of entries."""
        out = np.empty((A.n, B.n), A.dtype)
        step = DIFFERENCES_ROWS if A.sparse or B.sparse else max(A.n, B.n)
        for lo in range(0, A.n, step):
            for at in range(0, B.n, step):
                a, b = dense_pair(A.matrix[lo : lo + step], B.matrix[at : at + step])
                out[lo : lo + step, at : at + step] = self._far(a, b)
        return out

    def _far(self, a: Array, b: Array) -> Array:
        """Exponentials of distances of dense rows, in units of the width so that none overflows."""
        from scipy.spatial.distance import cdist

        if a.shape[1] == 0:  # sparse rows without any entry
            return np.ones((a.shape[0], b.shape[0]))
        a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
        top = max(float(np.abs(a).max()), float(np.abs(b).max()))
        # The width is a number in [1/2, 1) times a power of two, and that is divided out exactly.
        rest, power = frexp(self.width)
        if isfinite(float(np.ldexp(top, -power))):
            far = cdist(np.ldexp(a, -power), np.ldexp(b, -power), "sqeuclidean")
        else:
            far = np.zeros((a.shape[0], b.shape[0]))
            for k in range(a.shape[1]):
                far += np.ldexp(a[:, k, None] - b[None, :, k], -power) ** 2
        return np.asarray(np.exp(-0.5 / rest / rest * far))

    def _diagonal(self, rows: Rows) -> Array:
        return np.ones(rows.n, rows.dtype)

    def ball(self, x: list[float], z: list[float]) -> Any:
        """The exponential of the exact distance."""
        from flint import arb

        far = sum(((arb(a) - arb(b)) ** 2 for a, b in zip(x, z, strict=True)), arb(0))
        if self.sigma is None:
            return (-far * self.rate).exp()
        return (-far / (2 * arb(float(self.sigma)) ** 2)).exp()

    def in_graph(self, graph: Any, x: str, z: Array) -> str:
        """exp(gamma (2 x.z - |x|^2 - |z|^2)) of rows that are moved to the middle of all z."""
        middle = z.mean(axis=0)
        x, z = graph.op("Sub", x, graph.constant(middle)), z - middle
        squares = graph.op(
            "ReduceSum", graph.op("Mul", x, x), graph.constant([1], np.int64), keepdims=1
        )
        near = graph.op("MatMul", x, graph.constant(2.0 * z.T))
        near = graph.op("Sub", near, graph.op("Add", squares, graph.constant((z * z).sum(axis=1))))
        below = graph.op("Min", near, graph.constant(0.0))  # a distance is no less than 0
        return str(graph.op("Exp", graph.op("Mul", below, graph.constant(self.rate))))

    def _features(self, X: Any, like: Any) -> Any:
        raise CapabilityError(
            f"the feature space of {self!r} has infinitely many dimensions; approximate it with "
            "sklearn.kernel_approximation.Nystroem or RBFSampler."
        )


# -- Tiles of a Gaussian kernel: one pass over each where numpy would take several ----------------
#
# Rows of two values only, as tables of categories have them, are held as bits: their squared
# distance is the number of bits that differ, and a table has the kernel at every such number.


# 2^f for |f| <= 1/2 with f(0) = 1: relative error below 3.2 x 2^-24, its evaluation included
_1, _2, _3, _4, _5 = (
    np.float32(x) for x in (0.693147, 0.24022248, 0.05550732, 0.009671513, 0.0013264727)
)
_ZERO, _ONE, _LEAST_EXPONENT = np.float32(0), np.float32(1), np.float32(-125)  # no denormal numbers
_ROUND = np.float32(1.5 * 2**23)  # added and taken away again it leaves whole numbers
_BIAS, _PLACE = np.float32(127), np.float32(2**23)  # of the exponent in the bits of a float32


@inner
def _power(z: Any) -> Any:
    """2^z in float32, with z put between -125 and 0; a few operations, all of them in lanes."""
    z = z if z < _ZERO else _ZERO
    z = z if z > _LEAST_EXPONENT else _LEAST_EXPONENT
    n = (z + _ROUND) - _ROUND
    f = z - n
    p = ((((_5 * f + _4) * f + _3) * f + _2) * f + _1) * f + _ONE
    return p * np.int32((n + _BIAS) * _PLACE).view(np.float32)


@routine
def gaussians(T: Any) -> Any:
    """T_ij <- 2^T_ij for T_ij <= 0; what is above 0 is taken for rounding."""
    for i in range(len(T)):
        row = T[i]
        for j in range(len(row)):
            row[j] = _power(row[j])


@gaussians.in_numpy
def _gaussians(T: Any) -> None:
    np.clip(T, _LEAST_EXPONENT, _ZERO, out=T)
    n = (T + _ROUND) - _ROUND
    T -= n
    p = _5 * T
    for c in (_4, _3, _2, _1):
        p += c
        p *= T
    p += _ONE
    np.multiply(p, ((n + _BIAS) * _PLACE).astype(np.int32).view(np.float32), out=T)


@routine
def add_gaussians(T: Any, coef: Any, part: Any, first: Any, second: Any, cut: int) -> Any:
    """``add_tile`` of the values that ``gaussians`` would make of T, which are not kept."""
    at = 0
    while at < len(T):
        end = min(at + 16, cut if at < cut else len(T))
        for j in range(len(part)):
            part[j] = _ZERO
        for i in range(at, end):
            row, c = T[i], coef[i]
            for j in range(len(part)):
                part[j] += c * _power(row[j])
        total = first if at < cut else second
        for j in range(len(part)):
            total[j] += part[j]
        at = end


@routine
def exponents(T: Any, left: Any, right: Any, scale: Any, low: Any, top: Any) -> Any:
    """T_ij <- min(scale T_ij - left_i - right_j, top) in its format; twice low below low."""
    nothing = low + low
    for i in range(len(T)):
        row, own = T[i], left[i]
        for j in range(len(row)):
            t = scale * row[j] - own - right[j]
            t = t if t < top else top
            row[j] = t if t > low else nothing


@exponents.in_numpy
def _exponents(T: Any, left: Any, right: Any, scale: Any, low: Any, top: Any) -> None:
    T *= scale
    T -= left[:, None]
    T -= right
    np.minimum(T, top, out=T)
    if low > -np.inf:
        np.copyto(T, low + low, where=low >= T)


@routine
def add_tile(T: Any, coef: Any, part: Any, first: Any, second: Any, cut: int) -> Any:
    """Sums over the rows of T times coef: of the rows before cut, and of the others.

    They are added to first and second, which are float64; 16 rows at a time are summed up in the
    format of T and ``part``.
    """
    at = 0
    while at < len(T):
        end = min(at + 16, cut if at < cut else len(T))
        row, c = T[at], coef[at]
        for j in range(len(part)):
            part[j] = c * row[j]
        for i in range(at + 1, end):
            row, c = T[i], coef[i]
            for j in range(len(part)):
                part[j] += c * row[j]
        total = first if at < cut else second
        for j in range(len(part)):
            total[j] += part[j]
        at = end


@add_tile.in_numpy
def _add_tile(T: Any, coef: Any, part: Any, first: Any, second: Any, cut: int) -> None:
    cut = min(cut, len(T))
    for total, lo, hi in ((first, 0, cut), (second, cut, len(T))):
        whole = hi - (hi - lo) % 16
        rows = T[lo:whole].reshape(-1, 16, T.shape[1])
        sizes = coef[lo:whole].reshape(-1, 16, 1)
        sums = (sizes[:, 0] * rows[:, 0]).astype(part.dtype, copy=False)
        for i in range(1, 16):
            sums += sizes[:, i] * rows[:, i]
        for one in sums:
            total += one
        if whole < hi:
            part[:] = coef[whole] * T[whole]
            for i in range(whole + 1, hi):
                part += coef[i] * T[i]
            total += part


@add_gaussians.in_numpy
def _add_gaussians(T: Any, coef: Any, part: Any, first: Any, second: Any, cut: int) -> None:
    _gaussians(T)
    _add_tile(T, coef, part, first, second, cut)


@routine
def mirror(T: Any, G: Any, lo: int, at: int) -> Any:
    """G[lo:, at:] <- T and G[at:, lo:] <- T', by squares that stay in the cache."""
    m, n = T.shape
    for i in range(m):
        row, own = G[lo + i, at : at + n], T[i]
        for j in range(n):
            row[j] = own[j]
    for b in range(0, n, 16):
        end = min(b + 16, n)
        for a in range(0, m, 16):
            stop = min(a + 16, m)
            for j in range(b, end):
                row = G[at + j, lo + a : lo + stop]
                for i in range(a, stop):
                    row[i - a] = T[i, j]


@mirror.in_numpy
def _mirror(T: Any, G: Any, lo: int, at: int) -> None:
    m, n = T.shape
    G[lo : lo + m, at : at + n] = T
    G[at : at + n, lo : lo + m] = T.T


def _ones(x: Any) -> Any:
    """How many bits of a uint64 are set."""
    return np.bitwise_count(x)


def _by_halves(x: Any) -> Any:
    """The same for numba, which makes one instruction of it; in Python the product would warn."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


in_machine_code(_ones, lambda layouts: _by_halves)


@inner
def _apart(own: Any, other: Any, count: Any) -> None:
    """count_j <- in how many bits a row differs from row j; ``other`` has a row for each word."""
    word = other[0]
    for j in range(len(count)):
        count[j] = _ones(own[0] ^ word[j])
    for w in range(1, len(own)):
        word, x = other[w], own[w]
        for j in range(len(count)):
            count[j] += _ones(x ^ word[j])


@routine
def distances(A: Any, B: Any, table: Any, out: Any, count: Any) -> Any:
    """out_ij <- table at the number of bits in which row i of A and column j of B differ."""
    for i in range(len(A)):
        _apart(A[i], B, count)
        row = out[i]
        for j in range(len(row)):
            row[j] = table[count[j]]


@routine
def look_up(A: Any, B: Any, table: Any, coef: Any, total: Any, count: Any) -> Any:
    """total_j += sum over i of coef_i times the same value, in float64."""
    for i in range(len(A)):
        _apart(A[i], B, count)
        c = coef[i]
        for j in range(len(total)):
            total[j] += c * table[count[j]]
