"""Kernels of the inner product: linear, polynomial, sigmoid."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, factorial, prod, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.errors import CapabilityError
from linsep.kernels.base import (
    LARGEST_MAP,
    WORDS,
    Kernel,
    dot_products,
    fraction,
    number,
    own_products,
    require_scale,
    scale_of,
)
from linsep.kernels.rows import Rows, inner_products
from linsep.numerics.rounding import U

Array = NDArray[Any]


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    """K(x, z) = x . z, whose feature map is the row itself.

    Examples
    --------
    >>> from linsep.kernels import Linear
    >>> Linear().gram([[1, 2], [3, 4]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    linear: ClassVar[bool] = True
    cheaper: ClassVar[str] = "LinearSVM, which is the same machine at linear cost"
    scikit_learn: ClassVar[str | None] = "linear"

    def block(self, A: Rows, B: Rows) -> Array:
        """Inner products."""
        return inner_products(A.matrix, B.matrix)

    def definition(self, X: Any, Z: Any) -> Array:
        """x . z."""
        return dot_products(X, Z)

    def own_values(self, X: Any) -> Array:
        """x . x."""
        return own_products(X)

    def _diagonal(self, rows: Rows) -> Array:
        return row_squares(rows.matrix)

    def ball(self, x: list[float], z: list[float]) -> Any:
        """The exact sum."""
        return ball_product(x, z)

    def exact(self, x: list[Any], z: list[Any]) -> Any:
        """The sum of products."""
        return exact_product(x, z)

    def in_graph(self, graph: Any, x: str, z: Array) -> str:
        """One product of matrices."""
        return str(graph.op("MatMul", x, graph.constant(z.T)))

    def _features(self, X: Any, like: Any) -> Any:
        return X


_FACTORS = 8  # degree up to which a power is made of single products, at a tenth of its price


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    """K(x, z) = (gamma x . z + coef0) ** degree.

    Positive semidefinite for coef0 >= 0. Its feature map are the monomials up to the degree, those
    of exactly the degree for coef0 = 0.

    Parameters
    ----------
    degree : int >= 1, default=3
    coef0 : float, default=1.0
        0 gives the homogeneous kernel. Below zero the kernel is not positive semidefinite.
    gamma : float > 0 or {"scale", "auto"}, default=1.0
        "scale" means 1 / (d var(X)) and "auto" 1 / d, of the training rows.

    Examples
    --------
    >>> from linsep.kernels import Polynomial
    >>> Polynomial(degree=2).gram([[1, -1], [1, 1]])
    array([[9., 1.],
           [1., 9.]])
    """

    degree: int = 3
    coef0: float = 1.0
    gamma: float | str = 1.0

    scikit_learn: ClassVar[str | None] = "poly"

    def _check_settings(self) -> None:
        number(self, "degree", low=1, whole=True)
        number(self, "coef0")
        require_scale(self, "gamma")

    @property
    def positive(self) -> bool | None:
        """True for coef0 >= 0."""
        return self.coef0 >= 0

    @property
    def resolved(self) -> bool:
        """Whether gamma is a number."""
        return self.gamma not in WORDS

    def resolve(self, X: Any) -> Kernel:
        """Give the kernel with gamma as a number."""
        if self.resolved:
            return self
        return Polynomial(self.degree, self.coef0, scale_of(self.gamma, X))

    def error_bound(self, rows: Rows) -> float:
        """A power passes on the error of its base so many times."""
        return float(8 * (rows.d + 16) * (1 + float(self.degree)) * U)

    def block(self, A: Rows, B: Rows) -> Array:
        """Powers of the inner products."""
        return self._power(inner_products(A.matrix, B.matrix))

    def definition(self, X: Any, Z: Any) -> Array:
        """(gamma x . z + coef0) ** degree."""
        return self._defined_power(dot_products(X, Z))

    def own_values(self, X: Any) -> Array:
        """(gamma x . x + coef0) ** degree."""
        return self._defined_power(own_products(X))

    def _defined_power(self, base: Array) -> Array:
        base *= float(self.gamma)
        base += float(self.coef0)
        if self.degree > _FACTORS:
            return np.asarray(base ** int(self.degree))
        power = base.copy()
        for _ in range(int(self.degree) - 1):
            power *= base
        return power

    def _power(self, values: Array) -> Array:
        values *= values.dtype.type(self.gamma)
        values += values.dtype.type(self.coef0)
        return whole_power(values, int(self.degree))

    def _diagonal(self, rows: Rows) -> Array:
        return self._power(row_squares(rows.matrix))

    def ball(self, x: list[float], z: list[float]) -> Any:
        """The exact sum and power."""
        return (ball_product(x, z) * float(self.gamma) + float(self.coef0)) ** int(self.degree)

    def exact(self, x: list[Any], z: list[Any]) -> Any:
        """The power of the exact sum."""
        inside = exact_product(x, z) * fraction(self.gamma) + fraction(self.coef0)
        return inside ** int(self.degree)

    def in_graph(self, graph: Any, x: str, z: Array) -> str:
        """The power of the product."""
        product = graph.op("MatMul", x, graph.constant(float(self.gamma) * z.T))
        base = graph.op("Add", product, graph.constant(float(self.coef0)))
        return str(graph.op("Pow", base, graph.constant(float(self.degree))))

    def _features(self, X: Any, like: Any) -> Any:
        return monomials(X, int(self.degree), float(self.coef0), float(self.gamma))


@dataclass(frozen=True, repr=False)
class Sigmoid(Kernel):
    """K(x, z) = tanh(k x . z + c), which is not positive semidefinite in general.

    Estimators accept it with a warning; ``check`` finds rows that show the negative eigenvalue.

    Parameters
    ----------
    k : float or {"scale", "auto"}, default=1.0
        "scale" means 1 / (d var(X)) and "auto" 1 / d, of the training rows.
    c : float, default=0.0

    Examples
    --------
    >>> from linsep.kernels import Sigmoid
    >>> Sigmoid(1, 0).gram([[1, 0], [2, 0]]).round(4)
    array([[0.7616, 0.964 ],
           [0.964 , 0.9993]])
    """

    k: float | str = 1.0
    c: float = 0.0

    scikit_learn: ClassVar[str | None] = "sigmoid"
    renamed: ClassVar[dict[str, str]] = {"gamma": "k", "coef0": "c"}

    def _check_settings(self) -> None:
        require_scale(self, "k", any_sign=True)
        number(self, "c")

    @property
    def positive(self) -> bool | None:
        """False; only the constants tanh(c) with c >= 0 (k = 0) are kernels."""
        return bool(self.k == 0 and self.c >= 0)

    @property
    def resolved(self) -> bool:
        """Whether k is a number."""
        return self.k not in WORDS

    def resolve(self, X: Any) -> Kernel:
        """Give the kernel with k as a number."""
        return self if self.resolved else Sigmoid(scale_of(self.k, X), self.c)

    @property
    def largest(self) -> float | None:
        """1."""
        return 1.0

    def error_bound(self, rows: Rows) -> float:
        """With that of k x.z + c, which tanh passes on; no more than 2, between -1 and 1."""
        largest = float(rows.squares.max(initial=0.0))
        if rows.origin is not None:
            largest = 2 * (largest + float(rows.origin @ rows.origin))
        error = 2 * (rows.d + 8) * U * (abs(float(self.k)) * largest + abs(float(self.c)))
        return super().error_bound(rows) + (min(error, 2.0) if error == error else 2.0)

    def block(self, A: Rows, B: Rows) -> Array:
        """Tanh of the inner products."""
        return self._tanh(inner_products(A.matrix, B.matrix))

    def definition(self, X: Any, Z: Any) -> Array:
        """tanh(k x . z + c)."""
        return np.asarray(np.tanh(float(self.k) * dot_products(X, Z) + float(self.c)))

    def _tanh(self, values: Array) -> Array:
        values *= values.dtype.type(self.k)
        values += values.dtype.type(self.c)
        return np.asarray(np.tanh(values, out=values))

    def _diagonal(self, rows: Rows) -> Array:
        return self._tanh(row_squares(rows.matrix))

    def ball(self, x: list[float], z: list[float]) -> Any:
        """Tanh of the exact sum."""
        return (ball_product(x, z) * float(self.k) + float(self.c)).tanh()

    def in_graph(self, graph: Any, x: str, z: Array) -> str:
        """Tanh of the product."""
        product = graph.op("MatMul", x, graph.constant(float(self.k) * z.T))
        return str(graph.op("Tanh", graph.op("Add", product, graph.constant(float(self.c)))))


def row_squares(matrix: Any) -> Array:
    """Squared norms of rows, dense or sparse."""
    if isinstance(matrix, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", matrix, matrix))
    return np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel().astype(matrix.dtype)


def whole_power(values: Array, degree: int) -> Array:
    """Powers by repeated squaring, in place: a general power costs ten times as much."""
    if degree == 1:
        return values
    if degree % 2:
        return np.multiply(whole_power(values.copy(), degree - 1), values, out=values)
    return whole_power(np.multiply(values, values, out=values), degree // 2)


def ball_product(x: list[float], z: list[float]) -> Any:
    """x . z as a flint ``arb``."""
    from flint import arb

    return sum((arb(a) * arb(b) for a, b in zip(x, z, strict=True)), arb(0))


def exact_product(x: list[Any], z: list[Any]) -> Any:
    """x . z of fractions."""
    from flint import fmpq

    return sum((a * b for a, b in zip(x, z, strict=True)), fmpq(0))


# -- The explicit feature map of a polynomial kernel: its monomials with their weights ------------


def monomials(X: Any, degree: int, coef0: float, gamma: float) -> Array:
    """Rows phi(x) with phi(x) . phi(z) = (gamma x . z + coef0) ** degree.

    The monomial of the columns c_1 .. c_m has the weight sqrt(coef0^(degree - m) gamma^m times
    the number of ways to write it). With coef0 = 0 they stand in the order x1^2, x1 x2, x2^2;
    otherwise by degree, those of more different columns first: 1, x1, x2, x1 x2, x1^2, x2^2.
    """
    n, d = X.shape
    if coef0 < 0:
        raise CapabilityError(
            f"coef0 is {coef0:g}: below zero the kernel is not positive semidefinite, so it has "
            "no feature map."
        )
    width = comb(d + degree - 1, degree) if coef0 == 0 else comb(d + degree, degree)
    if width * n > LARGEST_MAP:
        raise CapabilityError(
            f"the feature map of degree {degree} of {d} columns has {width} coordinates for each "
            f"of {n} rows; use the kernel itself, or sklearn.kernel_approximation."
        )
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    out = np.empty((n, width), dtype=np.float64)
    for at, columns in enumerate(exponents(d, degree, homogeneous=coef0 == 0)):
        m = len(columns)
        counts = Counter(columns)
        ways = factorial(degree) // prod(map(factorial, counts.values())) // factorial(degree - m)
        out[:, at] = sqrt(ways) * sqrt(coef0) ** (degree - m) * sqrt(gamma) ** m
        for column in columns:
            out[:, at] *= dense[:, column]
    return out


def exponents(d: int, degree: int, *, homogeneous: bool) -> list[tuple[int, ...]]:
    """The columns of each monomial, in the order of the feature map."""
    if homogeneous:
        return list(combinations_with_replacement(range(d), degree))
    found: list[tuple[int, ...]] = []
    for m in range(degree + 1):
        own = combinations_with_replacement(range(d), m)
        found += sorted(own, key=lambda columns: (-len(set(columns)), columns))
    return found
