"""Kernels that the user brings: a function, or the Gram matrix itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from linsep.core.boundary import mark_as_the_callers
from linsep.errors import CapabilityError, DataError, ModelError, SettingError
from linsep.kernels.base import Kernel
from linsep.kernels.rows import Rows

Array = NDArray[Any]


@dataclass(frozen=True, repr=False)
class Function(Kernel):
    """K(x, z) by a function of the user's.

    Parameters
    ----------
    function : callable
        Of two rows (arrays of one axis), giving a number, or of two matrices, giving the matrix of
        all pairs. A function of rows compiled by ``numba.njit`` runs in a compiled loop.
    of : {"rows", "matrices"}, optional
        What it takes. Without it the function is tried on a few rows.

    Examples
    --------
    >>> from linsep.kernels import Function
    >>> Function(lambda x, z: (x @ z + 1) ** 2).gram([[1, -1], [1, 1]])
    array([[9., 1.],
           [1., 9.]])
    """

    function: Callable[..., Any]
    of: str | None = None

    def _check_settings(self) -> None:
        if not callable(self.function):
            raise SettingError(
                f"The 'function' parameter of Function must be a function. "
                f"Got {self.function!r} instead."
            )
        if self.of not in (None, "rows", "matrices"):
            raise SettingError(
                f"The 'of' parameter of Function must be 'rows', 'matrices' or None. "
                f"Got {self.of!r} instead."
            )

    @property
    def positive(self) -> bool | None:
        """None: nothing is known of a function."""
        return None

    @property
    def resolved(self) -> bool:
        """Whether it is known what the function takes."""
        return self.of is not None

    @property
    def symmetric(self) -> bool:
        """False: nothing is known of a function, so all pairs are asked for."""
        return False

    def resolve(self, X: Any) -> Kernel:
        """Give the function with what it takes, tried on a few rows."""
        return self if self.resolved else Function(self.function, _takes(self.function, X))

    def _require_resolved(self, what: str) -> None:
        """Never refuse: ``block`` tries the function where need be."""

    def block(self, A: Rows, B: Rows) -> Array:
        """Values of the function, checked to be numbers."""
        try:
            return self._values(A, B)
        except Exception as error:
            mark_as_the_callers(error)
            raise

    def _values(self, A: Rows, B: Rows) -> Array:
        of = self.of or _takes(self.function, A.matrix)
        if of == "matrices":
            values = np.asarray(self.function(A.matrix, B.matrix))
            if values.shape != (A.n, B.n):
                raise DataError(
                    f"the kernel function gave shape {values.shape} for {A.n} and {B.n} rows; a "
                    f"function of matrices gives ({A.n}, {B.n})."
                )
            return np.array(values, dtype=A.dtype)
        a, b = _plain(A.matrix), _plain(B.matrix)
        out = np.empty((A.n, B.n), A.dtype)
        if hasattr(self.function, "py_func"):  # compiled by numba
            _compiled_loop(self.function)(a, b, out)
            return out
        for i in range(A.n):
            for j in range(B.n):
                out[i, j] = _one(self.function, a[i], b[j])
        return out

    def definition(self, X: Any, Z: Any) -> Array:
        """The function itself, pair by pair, or of both matrices."""
        if (self.of or _takes(self.function, X)) == "matrices":
            return np.array(self.function(X, Z), dtype=np.float64)
        left, right = (M if isinstance(M, np.ndarray) else M.toarray() for M in (X, Z))
        return np.array([[float(self.function(x, z)) for z in right] for x in left])

    def price(self, entries: float, dtype: Any = np.float64) -> float:
        """What a function of Python takes."""
        del entries, dtype
        return 500.0

    def _diagonal(self, rows: Rows) -> Array:
        try:
            of = self.of or _takes(self.function, rows.matrix)
            if of == "matrices":
                return np.array([self.block(p, p)[0, 0] for p in _single(rows)], dtype=rows.dtype)
            a = _plain(rows.matrix)
            return np.array([_one(self.function, x, x) for x in a], dtype=rows.dtype)
        except Exception as error:
            mark_as_the_callers(error)
            raise

    def ball(self, x: list[float], z: list[float]) -> Any:
        """What the function gives is taken as the exact value."""
        from flint import arb

        one = Rows(np.array([x])), Rows(np.array([z]))
        return arb(float(self.block(*one)[0, 0]))

    def unusable(self, value: Any, i: int, j: int) -> str:
        """What to say of a value that is not finite: nan is the function's own doing."""
        if np.isnan(value):
            return f"{self!r} of rows {i} and {j} is nan; a kernel gives a finite number."
        return super().unusable(value, i, j)

    def to_dict(self) -> dict[str, Any]:
        """Refuse: a model file holds no code."""
        raise ModelError(
            f"{self!r} is a function, and a model file holds no code; use one of the kernels of "
            "linsep.kernels, or kernel='precomputed'."
        )

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"Function({name})" if self.of is None else f"Function({name}, of={self.of!r})"


@dataclass(frozen=True, repr=False)
class Precomputed(Kernel):
    """The rows given are rows of a Gram matrix: X[i, j] = K(x_i, training row j).

    Examples
    --------
    >>> from linsep.kernels import Precomputed
    >>> Precomputed().gram([[2.0, 1.0], [1.0, 2.0]])
    array([[2., 1.],
           [1., 2.]])
    """

    @property
    def positive(self) -> bool | None:
        """None: ``check`` tells."""
        return None

    @property
    def given(self) -> bool:
        """True."""
        return True

    @property
    def symmetric(self) -> bool:
        """False: the matrix is taken as it is."""
        return False

    def gram(self, X: Any, Z: Any = None, dtype: DTypeLike | None = None) -> Array:
        """Give X itself, checked; square when it is compared with itself.

        Parameters
        ----------
        X : array of shape (n, m)
            Kernel values of n rows with the m training rows.
        Z : array of shape (m, m), optional
            The Gram matrix of the training rows; only its number of rows is used.
        dtype : {float64, float32}, optional

        Returns
        -------
        array of shape (n, m)
        """
        A = self.rows(X, dtype)
        m = A.n if Z is None else Z.shape[0] if hasattr(Z, "shape") else len(Z)
        if A.d != m:
            raise DataError(
                f"a precomputed kernel needs one column for each training row: X has shape "
                f"{A.n} x {A.d}, but there are {m} training rows."
            )
        return _plain(A.matrix)

    def block(self, A: Rows, B: Rows) -> Array:
        """Columns of A's rows, by the numbers of B's rows."""
        if B.index is None:
            return np.array(_plain(A.matrix)[:, : B.n])
        return np.array(_plain(A.matrix)[:, B.index])

    def _diagonal(self, rows: Rows) -> Array:
        index = np.arange(rows.n) if rows.index is None else rows.index
        return np.array(_plain(rows.matrix)[np.arange(rows.n), index])

    def ball(self, x: list[float], z: list[float]) -> Any:
        """Refuse: a Gram matrix has entries, not rows (``check`` takes them as exact)."""
        raise CapabilityError("a precomputed kernel has no formula.")


def _takes(function: Callable[..., Any], X: Any) -> str:
    """Whether a function takes matrices: it gives 2 x m numbers for 2 and m rows.

    m differs from the number of columns, so that x @ z of rows cannot look like that.
    """
    d = X.shape[1]
    few = _plain(X[:1])
    p = 3 if d == 2 else 2
    m = next(k for k in (4, 5, 6) if k not in (d, p))
    A, B = np.repeat(few, p, axis=0), np.repeat(few, m, axis=0)
    try:
        values = np.asarray(function(A, B))
    except Exception:  # whatever a function of rows does with matrices
        return "rows"
    return "matrices" if values.shape == (p, m) else "rows"


def _one(function: Callable[..., Any], x: Array, z: Array) -> float:
    value = function(x, z)
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"the kernel function gave {value!r:.60} for two rows; it must give one number "
            "(or, as Function(f, of='matrices'), the matrix of all pairs)."
        ) from error


@lru_cache(maxsize=32)
def _compiled_loop(function: Any) -> Any:
    import numba

    @numba.njit(nogil=True)
    def loop(a: Any, b: Any, out: Any) -> None:
        for i in range(a.shape[0]):
            for j in range(b.shape[0]):
                out[i, j] = function(a[i], b[j])

    return loop


def _plain(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def _single(rows: Rows) -> list[Rows]:
    return [rows.slice(i, i + 1) for i in range(rows.n)]
