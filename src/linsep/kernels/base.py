"""What all kernels share: parameters, algebra, Gram matrices, words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from linsep.core.costs import AT_ONCE, REFEREE_VALUES
from linsep.core.lanes import run_all
from linsep.core.validate import as_matrix
from linsep.errors import CapabilityError, DataError, SettingError
from linsep.kernels.rows import PlainRows, Rows, as_rows
from linsep.kernels.tiles import fill, require_nonnegative
from linsep.numerics.rounding import U

if TYPE_CHECKING:
    from linsep.kernels.check import Mercer
    from linsep.kernels.diagnose import Diagnosis


Array = NDArray[Any]

LARGEST_MAP = 50_000_000  # numbers of an explicit feature map


@dataclass(frozen=True, repr=False)
class Kernel:
    """A function K(x, z) of two rows: the inner product of their images in a feature space.

    Kernels are values: two with the same parameters are equal, ``get_params`` and
    ``set_params`` work as in scikit-learn, so a grid search reaches into sums and products
    (``kernel__left__gamma``). Sums, products and multiples by a number >= 0 are kernels again.

    A kernel says itself what it can do and how far its values may be off; nobody asks for its
    class. A new one defines ``block``, ``_diagonal`` and, where the values below do not fit,
    what it knows better; a line in ``spec.py`` gives it a name and lets model files hold it.
    """

    __array_ufunc__ = None  # numpy's numbers leave a * K to the kernel

    # -- what a kernel defines ------------------------------------------------------------

    @property
    def positive(self) -> bool | None:
        """True: positive semidefinite on all rows. False: it is not. None: not known."""
        return True

    @property
    def strict(self) -> bool:
        """Whether images of distinct rows are independent (strictly positive definite, as
        universal kernels are): then a plane of the feature space has them on any sides."""
        return False

    @property
    def nonnegative(self) -> bool:
        """Whether rows must have no negative entry (kernels of histograms)."""
        return False

    @property
    def resolved(self) -> bool:
        """Whether every parameter is a number, or some wait for the data (``resolve``)."""
        return True

    @property
    def given(self) -> bool:
        """Whether rows are rows of a Gram matrix (Precomputed)."""
        return False

    @property
    def symmetric(self) -> bool:
        """Whether K(x, z) = K(z, x) by its formula."""
        return True

    def resolve(self, X: Any) -> Kernel:
        """Give the kernel with numbers in place of parameters that depend on the data."""
        del X
        return self

    def prepare(self, rows: Rows) -> None:
        """Compute what ``block`` will need of rows, before threads share them."""

    def block(self, A: Rows, B: Rows) -> Array:
        """K of all rows of A with all rows of B, as a new array; nothing is checked."""
        raise NotImplementedError

    def _diagonal(self, rows: Rows) -> Array:
        raise NotImplementedError

    def tile(self, A: Rows, B: Rows, out: Array | None) -> Array:
        """The same in ``out``, where the kernel can do that, or in a new array."""
        del out
        return self.block(A, B)

    def powers(self, A: Rows, B: Rows, out: Array | None = None) -> Array | None:
        """Base-2 logarithms of the values, not above 0, where these are cheaper; else None."""
        del A, B, out
        return None

    def by_table(self, A: Rows, B: Rows, coef: Array) -> Array | None:
        """Values of rows of two numbers times coef, summed over B; None where there is no table."""
        del A, B, coef
        return None

    def ball(self, x: list[float], z: list[float]) -> Any:
        """K(x, z) as a flint ``arb``: an interval that holds the true value."""
        raise CapabilityError(f"{self!r} has no interval arithmetic.")

    def definition(self, X: Any, Z: Any) -> Array:
        """K of all rows of X with all rows of Z by its formula and numpy alone: a new array.

        Nobody calls it but proofs and tests: sums of kernel values that a proof rests on are made
        again with it, so it shares nothing with ``block``. A kernel without one is asked for a
        block of plain rows, which owe nothing to those that fast values are made of: a formula
        that is wrong is then believed, and nothing else.
        """
        rows = PlainRows(Z)
        return np.array(self.block(PlainRows(X, like=rows), rows), dtype=np.float64)

    def sums_by_definition(self, X: Any, Z: Any, coef: Array, size: Array) -> tuple[Array, Array]:
        """sum_j K(x_i, z_j) coef_jm and sum_j |K(x_i, z_j)| size_j for all rows of X.

        In the format of the rows: what a proof holds its sums against.
        """
        out, sizes = np.zeros((X.shape[0], coef.shape[1])), np.zeros(X.shape[0])
        coef, size = coef.astype(X.dtype), size.astype(X.dtype)
        block = self._definition_by_blocks(X, Z)
        step = max(16, REFEREE_VALUES // max(1, Z.shape[0]))
        for lo in range(0, X.shape[0], step):
            K = block(slice(lo, lo + step))
            out[lo : lo + step] = K @ coef
            sizes[lo : lo + step] = np.abs(K, out=K) @ size
        return out, sizes

    def own_values(self, X: Any) -> Array:
        """K(x, x) of every row by the definition; a formula of its own is quicker."""
        parts = (X[lo : lo + 32] for lo in range(0, X.shape[0], 32))
        found = [np.diagonal(self.definition(part, part)) for part in parts]
        return np.concatenate([np.zeros(0), *found])

    def _definition_by_blocks(self, X: Any, Z: Any) -> Callable[[slice], Array]:
        """The definition of some rows of X at a time."""
        return lambda some: self.definition(X[some], Z)

    def price(self, entries: float, dtype: DTypeLike = np.float64) -> float:
        """About how many nanoseconds one of these values takes, for rows of so many entries."""
        return (1.5 + 0.05 * entries) * (1.0 if np.dtype(dtype) == np.float64 else 0.5)

    def exact(self, x: list[Any], z: list[Any]) -> Any:
        """K(x, z) as a flint ``fmpq``, where fractions give a fraction."""
        raise CapabilityError(f"{self!r} of fractions is no fraction.")

    def in_graph(self, graph: Any, x: str, z: Array) -> str:
        """K(x, z) of all rows x of a tensor and all z, by operators of ONNX (formats/onnx.py)."""
        raise CapabilityError(f"{self!r} has no form in ONNX.")

    def _features(self, X: Any, like: Any) -> Any:
        del X, like
        raise CapabilityError(f"{self!r} has no explicit feature map of finite size.")

    # -- what a kernel can do --------------------------------------------------------------

    linear: ClassVar[bool] = False
    """Whether the feature map is the row itself, so that a machine has weights."""
    products: ClassVar[bool] = False
    """Whether its cost is that of products of rows, which dense rows make cheaper."""
    finite: ClassVar[bool] = False
    """Whether values of rows of finite numbers are finite, so that nobody need look."""
    tabled: ClassVar[bool] = False
    """Whether values of rows of two numbers are read from a table (``by_table``)."""
    single: ClassVar[bool] = False
    """Whether the errors of values in float32 are known (``single_error``)."""
    cheaper: ClassVar[str] = "sklearn.kernel_approximation.Nystroem in a pipeline with LinearSVM"
    """What to use instead where there are many rows, in words."""
    scikit_learn: ClassVar[str | None] = None
    """Its name in scikit-learn's SVC and pairwise kernels, if it is there."""
    renamed: ClassVar[dict[str, str]] = {}
    """Parameters that scikit-learn calls otherwise: its names with ours."""

    @property
    def largest(self) -> float | None:
        """A bound of |K(x, z)| for all rows, where there is one."""
        return None

    @property
    def width(self) -> float | None:
        """The distance over which values fall, in the units of X, where there is one."""
        return None

    def in_sklearn(self) -> dict[str, Any] | None:
        """Name and parameters in the words of scikit-learn; None where it has no such kernel."""
        if self.scikit_learn is None:
            return None
        theirs = {ours: name for name, ours in self.renamed.items()}
        return {
            "kernel": self.scikit_learn,
            **{theirs.get(name, name): value for name, value in self.get_params().items()},
        }

    def sampler(self, n_components: int, seed: int) -> Any:
        """Random features of scikit-learn whose products are about K; None where there are none."""
        del n_components, seed

    # -- how far its values may be off -----------------------------------------------------

    def error_bound(self, rows: Rows) -> float:
        """Rounding of ``block`` in float64, as a share of root_i root_j.

        |K_ij| <= root_i root_j: the roots of K_ii and K_jj of a kernel that is positive
        semidefinite. This one holds for sums of d terms and a few operations that lose nothing.
        """
        return float(8 * (rows.d + 16) * U)

    def single_error(self, A: Rows, B: Rows) -> float | None:
        """Relative error of ``block`` in float32, but for values below 1e-37; None: not known."""
        del A, B
        return None

    # -- values ---------------------------------------------------------------------------

    def gram(self, X: Any, Z: Any = None, dtype: DTypeLike | None = None) -> Array:
        """Give the Gram (kernel) matrix: K(x_i, z_j) for all rows of X and Z.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        Z : array or sparse matrix of shape (m, d), optional
            X itself without it; the result is then exactly symmetric.
        dtype : {float64, float32}, optional
            In which arithmetic; float64 without it, also for float32 rows. float32 is about
            twice as fast; entries are then right to about 1e-6 of the largest one (RBF: 1e-3
            at worst, and where products of rows would lose more, differences are used).

        Returns
        -------
        array of shape (n, m)
        """
        A = self.rows(X, dtype)
        if Z is None:
            kernel = self if self.resolved else self.resolve(A.matrix)
            return fill(kernel, A, None)
        self._require_resolved("gram(X, Z)")
        try:
            B = self.rows(Z, dtype, like=A)
        except DataError as error:
            raise DataError(f"in Z, the second matrix: {error}") from None
        return fill(self, A, B)

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """Give the Gram matrix, as ``gram``."""
        return self.gram(X, Z)

    def diagonal(self, X: Any, dtype: DTypeLike | None = None) -> Array:
        """K(x_i, x_i) for every row."""
        rows = self.rows(X, dtype)
        kernel = self if self.resolved else self.resolve(rows.matrix)
        with np.errstate(over="ignore", invalid="ignore"):
            values = kernel._diagonal(rows)
        if not np.isfinite(values).all():
            at = int(np.flatnonzero(~np.isfinite(values))[0])
            raise DataError(
                f"{self!r} of row {at} with itself is too large for {values.dtype}; scale X."
            )
        return values

    def rows(self, X: Any, dtype: DTypeLike | None = None, *, like: Rows | None = None) -> Rows:
        """Rows checked against the domain of the kernel, ready for ``block``."""
        rows = as_rows(X, dtype, like=like)
        if self.nonnegative and rows is not X:
            require_nonnegative(self, rows.matrix, X)
        return rows

    def features(self, X: Any, like: Any = None) -> Any:
        """Give the explicit feature map, phi with K(x, z) = phi(x) . phi(z), where there is one.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        like : array or sparse matrix, optional
            Rows whose values fix the map where it depends on data (Intersection): the
            training rows when X are new ones.

        Returns
        -------
        array or sparse matrix of shape (n, D)
        """
        rows = self.rows(X)
        other = None if like is None else self.rows(like).matrix
        kernel = self if self.resolved else self.resolve(rows.matrix if like is None else other)
        return kernel._features(rows.matrix, other)

    def unusable(self, value: Any, i: int, j: int) -> str:
        """What to say of a value that is not finite."""
        return (
            f"{self!r} of rows {i} and {j} is too large for {np.asarray(value).dtype}; scale X, "
            "for example with sklearn.preprocessing.MaxAbsScaler."
        )

    # -- verdicts -------------------------------------------------------------------------

    def check(self, X: Any, *, sample: int = 1000, random_state: int = 0) -> Mercer:
        """Mercer's condition on rows: is their Gram matrix symmetric, without negative eigenvalue?

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        sample : int, default=1000
            Most rows to look at; of more, so many are drawn, and the answer says so.
        random_state : int, default=0
            Seed of the draw.

        Returns
        -------
        Mercer
            With ``psd``, ``smallest`` (eigenvalue), ``witness`` (v with v'Kv < 0) and words.
        """
        from linsep.kernels.check import mercer

        return mercer(self, X, sample=sample, random_state=random_state)

    def diagnose(self, X: Any, *, sample: int = 1000, random_state: int = 0) -> Diagnosis:
        """Say whether the Gram matrix of these rows can teach anything, and what to change.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        sample : int, default=1000
            Most rows to look at.
        random_state : int, default=0
            Seed of the draw.

        Returns
        -------
        Diagnosis
        """
        from linsep.kernels.diagnose import diagnose

        return diagnose(self, X, sample=sample, random_state=random_state)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Kernel:
        """Give the kernel behind ``to_dict``."""
        from linsep.kernels.spec import from_dict

        return from_dict(values)

    # -- parameters: as scikit-learn sees them, as text, as plain numbers -----------------------

    def __post_init__(self) -> None:
        self._check_settings()

    def _check_settings(self) -> None:
        """Raise SettingError for a parameter that is not allowed."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Parameters by name; those of parts as ``part__name``."""
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            found[field.name] = value
            if deep and isinstance(value, Kernel):
                found |= {f"{field.name}__{key}": v for key, v in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Change parameters in place, as scikit-learn's searches do, and give the kernel back."""
        own = {field.name for field in fields(self)}
        before = {name: getattr(self, name) for name in own}
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in own or (rest and not isinstance(params.get(name, before[name]), Kernel)):
                raise SettingError(
                    f"Invalid parameter {key!r} for kernel {self!r}. Valid parameters are: "
                    f"{sorted(self.get_params())!r}."
                )
            if rest:
                nested.setdefault(name, {})[rest] = value
            else:
                object.__setattr__(self, name, value)
        try:
            self._after_set({key for key in params if "__" not in key})
            self._check_settings()
        except SettingError:
            for name, value in before.items():
                object.__setattr__(self, name, value)
            raise
        for name, inner in nested.items():  # a copy: the part may belong to other kernels too
            object.__setattr__(self, name, getattr(self, name).clone().set_params(**inner))
        return self

    def _after_set(self, names: set[str]) -> None:
        """Settle parameters that exclude each other after some were set."""

    def clone(self) -> Self:
        """Give a kernel with the same parameters that shares no part with this one."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self)(
            **{k: v.clone() if isinstance(v, Kernel) else v for k, v in values.items()}
        )

    @classmethod
    def from_plain(cls, values: dict[str, Any]) -> Self:
        """Give the value behind the numbers of ``to_dict``, whose parts are made already."""
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a model file; ``linsep.kernels.from_dict`` reads them."""
        out: dict[str, Any] = {"type": type(self).__name__}
        for field in fields(self):
            value = getattr(self, field.name)
            out[field.name] = value.to_dict() if isinstance(value, Kernel) else plain(value)
        return out

    def __repr__(self) -> str:
        shown = [
            f"{field.name}={plain(getattr(self, field.name))!r}"
            for field in fields(self)
            if not _same(getattr(self, field.name), field.default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    # -- algebra --------------------------------------------------------------------------

    def normalised(self) -> Kernel:
        """K(x, z) / root(K(x, x) K(z, z)), in whose feature space all rows have length 1."""
        from linsep.kernels import algebra

        return algebra.Normalised(self)

    def __add__(self, other: Any) -> Kernel:
        from linsep.kernels import algebra

        return algebra.add(self, other)

    def __radd__(self, other: Any) -> Kernel:
        from linsep.kernels import algebra

        return algebra.add(other, self)

    def __mul__(self, other: Any) -> Kernel:
        from linsep.kernels import algebra

        return algebra.multiply(self, other)

    def __rmul__(self, other: Any) -> Kernel:
        from linsep.kernels import algebra

        return algebra.multiply(other, self)

    def __sub__(self, other: Any) -> Kernel:
        raise SettingError(
            f"{self!r} minus {other!r} is not a kernel in general: a difference can have negative "
            "eigenvalues. Sums, products and multiples by numbers >= 0 stay kernels."
        )

    def __neg__(self) -> Kernel:
        return self * -1.0

    def __truediv__(self, other: Any) -> Kernel:
        from linsep.kernels import algebra

        return algebra.divide(self, other)

    def __pow__(self, other: Any) -> Kernel:
        from linsep.kernels import algebra

        return algebra.power(self, other)

    def _require_resolved(self, what: str) -> None:
        if not self.resolved:
            raise SettingError(
                f"{self!r} takes a parameter from the data and {what} has two matrices; fix it "
                "first with kernel.resolve(X_train)."
            )


# -- Checks of parameters -------------------------------------------------------------------------


def number(
    kernel: Kernel, name: str, *, low: float = -math.inf, above: bool = False, whole: bool = False
) -> None:
    """Raise SettingError unless a parameter is a finite number >= low (above it, whole)."""
    value = getattr(kernel, name)
    good = is_number(value) and (not whole or isinstance(value, Integral))
    if good:
        at = float(value)
        good = math.isfinite(at) and (at > low if above else at >= low)
    if not good:
        bound = "" if low == -math.inf else f" {'>' if above else '>='} {low:g}"
        kind = "a whole number" if whole else "a finite number"
        raise SettingError(
            f"The {name!r} parameter of {type(kernel).__name__} must be {kind}{bound}. "
            f"Got {value!r} instead."
        )


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def is_number(value: Any) -> bool:
    """Whether a value is a real number, numpy's too, and not True or False."""
    return isinstance(value, Real) and not isinstance(value, bool)


def fraction(value: Any) -> Any:
    """A number as a flint ``fmpq``; every float is a fraction."""
    from flint import fmpq

    return fmpq(*float(value).as_integer_ratio())


def plain(value: Any) -> Any:
    """A number of numpy as one of Python, with its short repr."""
    return value.item() if isinstance(value, np.generic) else value


# -- Parameters that wait for the data: "scale" and "auto", as in scikit-learn's SVC --------------


WORDS = ("scale", "auto")


def require_scale(kernel: Kernel, name: str, *, any_sign: bool = False) -> None:
    """Raise SettingError unless a parameter is one of the words or a number (> 0)."""
    value = getattr(kernel, name)
    if isinstance(value, str):
        if value not in WORDS:
            raise SettingError(
                f"The {name!r} parameter of {type(kernel).__name__} must be a number, 'scale' or "
                f"'auto'. Got {value!r} instead."
            )
    elif any_sign:
        number(kernel, name)
    else:
        number(kernel, name, low=0, above=True)


def scale_of(word: Any, X: Any) -> float:
    """1 / (d var(X)) or 1 / d; 1 where X is constant."""
    matrix = as_matrix(X)
    d = matrix.shape[1]
    if word == "auto":
        return 1.0 / float(d)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if isinstance(matrix, np.ndarray):
            variance = _variance(matrix)
        else:
            size = matrix.shape[0] * d
            data = matrix.data.astype(np.float64, copy=False)
            mean = float(data.sum()) / size
            # The two-pass formula: zeros that are not stored differ from the mean as well.
            variance = (float(((data - mean) ** 2).sum()) + (size - data.size) * mean * mean) / size
    gamma = 1.0 / (d * variance) if variance > 0 and np.isfinite(variance) else 1.0
    return gamma if np.isfinite(gamma) and gamma > 0 else 1.0


def _variance(matrix: NDArray[Any]) -> float:
    """Of all entries, in two passes; of a large matrix block by block, without a copy of it."""
    n, step = len(matrix), max(1, AT_ONCE // max(1, matrix.shape[1]))
    if n <= step:
        return float(matrix.var(dtype=np.float64))
    blocks = [matrix[at : at + step] for at in range(0, n, step)]

    def total(block: NDArray[Any]) -> float:
        return float(block.sum(dtype=np.float64))

    def squares(block: NDArray[Any]) -> float:
        off = np.subtract(block, mean, dtype=np.float64)
        return float(np.multiply(off, off, out=off).sum())

    mean = sum(run_all([partial(total, block) for block in blocks])) / matrix.size
    return sum(run_all([partial(squares, block) for block in blocks])) / matrix.size


def exact_gram(kernel: Kernel, rows: list[tuple[float, ...]]) -> list[list[Any]]:
    """Fractions K(x_i, x_j); CapabilityError where the kernel gives none."""
    exact = [[fraction(x) for x in row] for row in rows]
    if not exact:
        return []
    K: list[list[Any]] = [[None] * len(exact) for _ in exact]
    for i, x in enumerate(exact):
        for j in range(i + 1):
            K[i][j] = K[j][i] = kernel.exact(x, exact[j])
    return K


def has_fractions(kernel: Kernel, row: tuple[float, ...]) -> bool:
    """Whether the kernel of fractions is a fraction."""
    try:
        exact_gram(kernel, [row])
    except CapabilityError:
        return False
    return True


# -- What definitions of kernels are written in ---------------------------------------------------


def dot_products(X: Any, Z: Any) -> Array:
    """x . z of all rows of two matrices, dense or sparse, in float64 or the float32 of both."""
    found = X @ Z.T
    found = found if isinstance(found, np.ndarray) else found.toarray()
    return np.asarray(found, dtype=np.result_type(found, np.float32))


def own_products(X: Any) -> Array:
    """x . x of every row, dense or sparse, as ``dot_products``."""
    squares = X * X if isinstance(X, np.ndarray) else X.multiply(X)
    found = np.asarray(squares.sum(axis=1)).ravel()
    return np.asarray(found, dtype=np.result_type(found, np.float32))
