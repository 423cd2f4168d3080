"""Sums, products and multiples of kernels, which are kernels again."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import SettingError
from linsep.kernels.base import Kernel, fraction, is_number, number, plain
from linsep.kernels.rows import Rows
from linsep.numerics.rounding import U

Array = NDArray[Any]


@dataclass(frozen=True, repr=False)
class _Pair(Kernel):
    """Two kernels, ``left`` and ``right``."""

    left: Kernel
    right: Kernel

    def _check_settings(self) -> None:
        _require_part(self, "left")
        _require_part(self, "right")

    @property
    def positive(self) -> bool | None:
        """True if both are; otherwise it is not known."""
        return True if self.left.positive and self.right.positive else None

    @property
    def nonnegative(self) -> bool:
        """Whether one of them needs rows without negative entries."""
        return self.left.nonnegative or self.right.nonnegative

    @property
    def resolved(self) -> bool:
        """Whether both have numbers for all parameters."""
        return self.left.resolved and self.right.resolved

    @property
    def symmetric(self) -> bool:
        """Whether both are."""
        return self.left.symmetric and self.right.symmetric

    def resolve(self, X: Any) -> Kernel:
        """Give the same of the resolved parts."""
        return self if self.resolved else type(self)(self.left.resolve(X), self.right.resolve(X))

    def error_bound(self, rows: Rows) -> float:
        """Both, and what they do to each other; of a sum the larger one would do."""
        left, right = self.left.error_bound(rows), self.right.error_bound(rows)
        return left + right + left * right + U

    def price(self, entries: float, dtype: Any = np.float64) -> float:
        """That of both."""
        return self.left.price(entries, dtype) + self.right.price(entries, dtype)

    def prepare(self, rows: Rows) -> None:
        """Prepare both parts."""
        self.left.prepare(rows)
        self.right.prepare(rows)


@dataclass(frozen=True, repr=False)
class Sum(_Pair):
    """K(x, z) = left(x, z) + right(x, z), written ``left + right``.

    Parameters
    ----------
    left, right : Kernel

    Examples
    --------
    >>> from linsep.kernels import RBF, Linear
    >>> Linear() + 2 * RBF(gamma=0.5)
    Linear() + 2 * RBF(gamma=0.5)
    """

    @property
    def strict(self) -> bool:
        """Whether one is and neither takes anything away from it."""
        return bool(self.positive) and (self.left.strict or self.right.strict)

    @property
    def largest(self) -> float | None:
        """The sum of both bounds."""
        left, right = self.left.largest, self.right.largest
        return None if left is None or right is None else left + right

    def block(self, A: Rows, B: Rows) -> Array:
        """Sums."""
        values = self.left.block(A, B)
        values += self.right.block(A, B)
        return values

    def definition(self, X: Any, Z: Any) -> Array:
        """left + right."""
        return np.asarray(self.left.definition(X, Z) + self.right.definition(X, Z))

    def own_values(self, X: Any) -> Array:
        """left + right."""
        return np.asarray(self.left.own_values(X) + self.right.own_values(X))

    def _diagonal(self, rows: Rows) -> Array:
        return np.asarray(self.left._diagonal(rows) + self.right._diagonal(rows))

    def ball(self, x: list[float], z: list[float]) -> Any:
        """The sum of both."""
        return self.left.ball(x, z) + self.right.ball(x, z)

    def exact(self, x: list[Any], z: list[Any]) -> Any:
        """The sum of both."""
        return self.left.exact(x, z) + self.right.exact(x, z)

    def in_graph(self, graph: Any, x: str, z: Array) -> str:
        """The sum of both."""
        return str(
            graph.op("Add", self.left.in_graph(graph, x, z), self.right.in_graph(graph, x, z))
        )

    def _features(self, X: Any, like: Any) -> Any:
        parts = [k._features(X, like) for k in (self.left, self.right)]
        return np.hstack([_dense(part) for part in parts])

    def __repr__(self) -> str:
        right = f"({self.right!r})" if isinstance(self.right, Sum) else repr(self.right)
        return f"{self.left!r} + {right}"


@dataclass(frozen=True, repr=False)
class Product(_Pair):
    """K(x, z) = left(x, z) right(x, z), written ``left * right`` (Schur's product theorem).

    Parameters
    ----------
    left, right : Kernel

    Examples
    --------
    >>> from linsep.kernels import Linear
    >>> (Linear() * Linear()).gram([[1.0], [3.0]])
    array([[ 1.,  9.],
           [ 9., 81.]])
    """

    @property
    def strict(self) -> bool:
        """Whether both are (Schur's product theorem)."""
        return self.left.strict and self.right.strict

    @property
    def largest(self) -> float | None:
        """The product of both bounds."""
        left, right = self.left.largest, self.right.largest
        return None if left is None or right is None else left * right

    def block(self, A: Rows, B: Rows) -> Array:
        """Products."""
        values = self.left.block(A, B)
        values *= self.right.block(A, B)
        return values

    def definition(self, X: Any, Z: Any) -> Array:
        """left times right."""
        return np.asarray(self.left.definition(X, Z) * self.right.definition(X, Z))

    def own_values(self, X: Any) -> Array:
        """left times right."""
        return np.asarray(self.left.own_values(X) * self.right.own_values(X))

    def _diagonal(self, rows: Rows) -> Array:
        return np.asarray(self.left._diagonal(rows) * self.right._diagonal(rows))

    def ball(self, x: list[float], z: list[float]) -> Any:
        """The product of both."""
        return self.left.ball(x, z) * self.right.ball(x, z)

    def exact(self, x: list[Any], z: list[Any]) -> Any:
        """The product of both."""
        return self.left.exact(x, z) * self.right.exact(x, z)

    def in_graph(self, graph: Any, x: str, z: Array) -> str:
        """The product of both."""
        return str(
            graph.op("Mul", self.left.in_graph(graph, x, z), self.right.in_graph(graph, x, z))
        )

    def _features(self, X: Any, like: Any) -> Any:
        a, b = (_dense(k._features(X, like)) for k in (self.left, self.right))
        return (a[:, :, None] * b[:, None, :]).reshape(a.shape[0], -1)

    def __repr__(self) -> str:
        left = f"({self.left!r})" if isinstance(self.left, Sum) else repr(self.left)
        right = repr(self.right)
        return (
            f"{left} * ({right})" if isinstance(self.right, _Pair | Scaled) else f"{left} * {right}"
        )


class _Around(Kernel):
    """What is made of one kernel."""

    kernel: Kernel

    @property
    def nonnegative(self) -> bool:
        """As the kernel inside."""
        return self.kernel.nonnegative

    @property
    def resolved(self) -> bool:
        """As the kernel inside."""
        return self.kernel.resolved

    @property
    def symmetric(self) -> bool:
        """As the kernel inside."""
        return self.kernel.symmetric

    def price(self, entries: float, dtype: Any = np.float64) -> float:
        """That of the kernel inside."""
        return self.kernel.price(entries, dtype)

    def prepare(self, rows: Rows) -> None:
        """Prepare the kernel inside."""
        self.kernel.prepare(rows)

    def _inside(self) -> str:
        """The kernel inside as it is written within an expression."""
        text = repr(self.kernel)
        return f"({text})" if isinstance(self.kernel, _Pair | Scaled) else text


@dataclass(frozen=True, repr=False)
class Scaled(_Around):
    """K(x, z) = factor kernel(x, z) with factor >= 0, written ``factor * kernel``.

    Parameters
    ----------
    factor : float >= 0
    kernel : Kernel

    Examples
    --------
    >>> from linsep.kernels import Linear
    >>> (0.5 * Linear()).gram([[2.0]])
    array([[2.]])
    """

    factor: float
    kernel: Kernel

    def _check_settings(self) -> None:
        _require_part(self, "kernel")
        if is_number(self.factor) and float(self.factor) < 0:
            raise SettingError(
                f"{self.factor!r} times {self.kernel!r} is not a kernel: a negative factor makes "
                "every positive eigenvalue negative. Factors are >= 0."
            )
        number(self, "factor", low=0)

    @property
    def positive(self) -> bool | None:
        """As the kernel inside; zero times anything is positive semidefinite."""
        return True if self.factor == 0 else self.kernel.positive

    @property
    def strict(self) -> bool:
        """As the kernel inside, but for zero times it."""
        return self.factor > 0 and self.kernel.strict

    def resolve(self, X: Any) -> Kernel:
        """Give the same multiple of the resolved kernel."""
        return self if self.resolved else Scaled(self.factor, self.kernel.resolve(X))

    @property
    def largest(self) -> float | None:
        """The multiple of the bound inside."""
        inside = self.kernel.largest
        return None if inside is None else float(self.factor) * inside

    def error_bound(self, rows: Rows) -> float:
        """That of the kernel inside and of one product."""
        return self.kernel.error_bound(rows) + U

    def block(self, A: Rows, B: Rows) -> Array:
        """Multiples."""
        values = self.kernel.block(A, B)
        values *= values.dtype.type(self.factor)
        return values

    def definition(self, X: Any, Z: Any) -> Array:
        """factor times the kernel inside."""
        return np.asarray(float(self.factor) * self.kernel.definition(X, Z))

    def own_values(self, X: Any) -> Array:
        """factor times the kernel inside."""
        return np.asarray(float(self.factor) * self.kernel.own_values(X))

    def _diagonal(self, rows: Rows) -> Array:
        values = self.kernel._diagonal(rows)
        return np.asarray(values * values.dtype.type(self.factor))

    def ball(self, x: list[float], z: list[float]) -> Any:
        """The multiple."""
        return self.kernel.ball(x, z) * float(self.factor)

    def exact(self, x: list[Any], z: list[Any]) -> Any:
        """The multiple."""
        return self.kernel.exact(x, z) * fraction(self.factor)

    def in_graph(self, graph: Any, x: str, z: Array) -> str:
        """The multiple."""
        factor = graph.constant(float(self.factor))
        return str(graph.op("Mul", self.kernel.in_graph(graph, x, z), factor))

    def _features(self, X: Any, like: Any) -> Any:
        return self.kernel._features(X, like) * np.sqrt(float(self.factor))

    def __repr__(self) -> str:
        return f"{plain(self.factor)!r} * {self._inside()}"


@dataclass(frozen=True, repr=False)
class Normalised(_Around):
    """K(x, z) / root(K(x, x) K(z, z)): the cosine of the angle in feature space.

    Written ``kernel.normalised()``. All rows have length 1 in its feature space; a row that the
    kernel inside gives the length 0 has the value 0 with all others.

    Parameters
    ----------
    kernel : Kernel
        Positive semidefinite.

    Examples
    --------
    >>> from linsep.kernels import Polynomial
    >>> Polynomial(2).normalised().gram([[1.0, 0.0], [0.0, 3.0], [2.0, 0.0]]).round(3)
    array([[1.  , 0.05, 0.9 ],
           [0.05, 1.  , 0.02],
           [0.9 , 0.02, 1.  ]])
    """

    kernel: Kernel

    def _check_settings(self) -> None:
        _require_part(self, "kernel")

    @property
    def positive(self) -> bool | None:
        """As the kernel inside."""
        return self.kernel.positive

    @property
    def strict(self) -> bool:
        """As the kernel inside."""
        return self.kernel.strict

    def resolve(self, X: Any) -> Kernel:
        """Give the same of the resolved kernel."""
        return self if self.resolved else Normalised(self.kernel.resolve(X))

    @property
    def largest(self) -> float | None:
        """No cosine is larger than 1."""
        return 1.0 if self.positive else None

    def error_bound(self, rows: Rows) -> float:
        """That of the kernel inside, once for the value and half for each root, and two more."""
        return 2.5 * self.kernel.error_bound(rows) + 16 * U

    def block(self, A: Rows, B: Rows) -> Array:
        """Cosines."""
        values = self.kernel.block(A, B)
        values *= self._over(A).astype(values.dtype)[:, None]
        values *= self._over(B).astype(values.dtype)
        return np.clip(values, -1.0, 1.0, out=values) if self.positive else values

    def definition(self, X: Any, Z: Any) -> Array:
        """K(x, z) over the roots of K(x, x) and K(z, z), 0 where one of these is 0."""
        with np.errstate(divide="ignore"):
            x, z = (1.0 / np.sqrt(self.kernel.own_values(rows)) for rows in (X, Z))
        x[np.isinf(x)], z[np.isinf(z)] = 0.0, 0.0
        return np.asarray(self.kernel.definition(X, Z) * x[:, None] * z)

    def _over(self, rows: Rows) -> Array:
        """1 / root(K(x, x)), 0 where that is 0."""
        squared = np.asarray(self.kernel._diagonal(rows), dtype=np.float64)
        if (squared < 0).any():
            raise SettingError(f"{self.kernel!r} has a negative K(x, x), so it has no lengths.")
        with np.errstate(divide="ignore"):
            return np.where(squared > 0, 1.0 / np.sqrt(squared), 0.0)

    def _diagonal(self, rows: Rows) -> Array:
        values = self.kernel._diagonal(rows)
        return np.asarray((values > 0).astype(values.dtype))

    def ball(self, x: list[float], z: list[float]) -> Any:
        """The cosine."""
        own, other = self.kernel.ball(x, x), self.kernel.ball(z, z)
        if not (own > 0 and other > 0):
            return self.kernel.ball(x, z) * 0
        return self.kernel.ball(x, z) / (own * other).sqrt()

    def __repr__(self) -> str:
        return f"{self._inside()}.normalised()"


def _require_part(whole: Kernel, name: str) -> None:
    """Raise SettingError unless a part is a kernel with rows of its own."""
    part = getattr(whole, name)
    if not isinstance(part, Kernel):
        raise SettingError(
            f"The {name!r} parameter of {type(whole).__name__} must be a kernel. "
            f"Got {part!r} instead."
        )
    if part.given:
        raise SettingError("a precomputed kernel has no parts; combine the Gram matrices instead.")


def add(left: Any, right: Any) -> Kernel:
    """A sum of kernels; a number stands for a constant kernel, and zero for none (``sum``)."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Kernel) and is_number(other) and other == 0:
            return one
    return Sum(*(_as_part(part) for part in (left, right)))


def multiply(left: Any, right: Any) -> Kernel:
    """A product of kernels, or a multiple of one."""
    if isinstance(left, Kernel) and isinstance(right, Kernel):
        return Product(left, right)
    kernel, factor = (left, right) if isinstance(left, Kernel) else (right, left)
    if not is_number(factor):
        raise SettingError(f"{factor!r} is neither a kernel nor a number; kernels multiply these.")
    return Scaled(factor, kernel)


def divide(kernel: Kernel, divisor: Any) -> Kernel:
    """A multiple by 1 / divisor."""
    if not is_number(divisor) or not float(divisor) > 0:
        raise SettingError(f"{kernel!r} / {divisor!r} is not a kernel; divide by a number > 0.")
    return Scaled(1.0 / float(divisor), kernel)


def power(kernel: Kernel, exponent: Any) -> Kernel:
    """A kernel times itself, so often."""
    if not (is_number(exponent) and isinstance(exponent, Integral) and int(exponent) >= 1):
        raise SettingError(
            f"{kernel!r} ** {exponent!r} is not a kernel in general; whole powers >= 1 are."
        )
    out = kernel
    for _ in range(int(exponent) - 1):
        out = Product(out, kernel)
    return out


def _as_part(part: Any) -> Kernel:
    if isinstance(part, Kernel):
        return part
    if is_number(part):
        if float(part) < 0:
            raise SettingError(
                f"adding {part!r} to a kernel can make eigenvalues negative; constants are >= 0."
            )
        return Constant(part)
    raise SettingError(f"{part!r} is neither a kernel nor a number; kernels add to these only.")


def _dense(features: Any) -> Array:
    return np.asarray(features.toarray() if hasattr(features, "toarray") else features)


# -- The constant kernel: what adding a number to a kernel means ----------------------------------


@dataclass(frozen=True, repr=False)
class Constant(Kernel):
    """K(x, z) = value >= 0: one more coordinate of the feature map, sqrt(value).

    Parameters
    ----------
    value : float >= 0, default=1.0

    Examples
    --------
    >>> from linsep.kernels import Linear
    >>> (Linear() + 1).gram([[2.0], [3.0]])
    array([[ 5.,  7.],
           [ 7., 10.]])
    """

    value: float = 1.0

    def _check_settings(self) -> None:
        number(self, "value", low=0)

    @property
    def largest(self) -> float | None:
        """The value."""
        return float(self.value)

    def block(self, A: Rows, B: Rows) -> Array:
        """The value, everywhere."""
        return np.full((A.n, B.n), self.value, A.dtype)

    def definition(self, X: Any, Z: Any) -> Array:
        """The value, everywhere."""
        return np.full((X.shape[0], Z.shape[0]), float(self.value))

    def _diagonal(self, rows: Rows) -> Array:
        return np.full(rows.n, self.value, rows.dtype)

    def ball(self, x: list[float], z: list[float]) -> Any:
        """The value."""
        from flint import arb

        return arb(float(self.value))

    def exact(self, x: list[Any], z: list[Any]) -> Any:
        """The value."""
        return fraction(self.value)

    def in_graph(self, graph: Any, x: str, z: Array) -> str:
        """The value, as often as there are rows."""
        row = graph.op("MatMul", x, graph.constant(np.zeros(z.shape[::-1])))
        return str(graph.op("Add", row, graph.constant(float(self.value))))

    def _features(self, X: Any, like: Any) -> Any:
        return np.full((X.shape[0], 1), np.sqrt(float(self.value)))
