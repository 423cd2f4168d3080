"""Kernel values times coefficients, summed over rows, without keeping the values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.lanes import one_blas_thread, run_all
from linsep.kernels.equal import groups_of, sum_of_groups
from linsep.kernels.rows import Rows

if TYPE_CHECKING:
    from linsep.kernels.base import Kernel

__all__ = ["STRIP", "short_rows", "weighted_sums"]

_STEP, STRIP = 256, 1024  # rows and columns of a block: 1 MB in float32, which stays in the cache
_MANY = 4_000_000  # values from which a look for equal rows pays
_SERIAL = 300_000  # values below which threads cost more than they bring
_FILLED = 32  # entries for each one stored up to which dense products of sparse rows are faster
_BYTES = 256 << 20  # a sparse matrix is never written out beyond this


def weighted_sums(
    kernel: Kernel, A: Rows, B: Rows, coef: NDArray[np.float64], *, wide: bool = False
) -> NDArray[np.float64]:
    """sum_j K(a_i, b_j) coef_jm for every row of A and column of coef.

    In the format of the rows; float32 adds strips of STRIP terms, ``wide`` in float64. Of equal
    rows the values are made once.
    """
    if A.n * B.n >= _MANY and kernel.symmetric:
        groups = groups_of(B.matrix)
        if groups is not None:
            B, coef = B.take(groups[0]), sum_of_groups(coef, groups)
        groups = groups_of(A.matrix)
        if groups is not None:
            A = A.take(groups[0])
            return _sums(kernel, A, B, coef, wide)[groups[1]]
    return _sums(kernel, A, B, coef, wide)


def _sums(
    kernel: Kernel, A: Rows, B: Rows, coef: NDArray[np.float64], wide: bool
) -> NDArray[np.float64]:
    out = np.zeros((A.n, coef.shape[1]))
    short = coef.astype(np.float64 if wide else A.dtype)
    short = short[:, 0] if coef.shape[1] == 1 else short

    def part(at: int) -> None:
        left = A.slice(at, min(at + _STEP, A.n))
        total = np.zeros((left.n, coef.shape[1]))
        for r in range(0, B.n, STRIP):
            values = kernel.block(left, B.slice(r, min(r + STRIP, B.n)))
            values = values.astype(short.dtype, copy=False)
            total += (values @ short[r : r + STRIP]).reshape(total.shape)
        out[at : at + _STEP] = total

    jobs = [partial(part, at) for at in range(0, A.n, _STEP)]
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore", under="ignore"):
        run_all(jobs, 1 if A.n * B.n < _SERIAL or not kernel.symmetric else None)
    return out


def short_rows(kernel: Any, matrix: Any, kind: np.dtype[Any]) -> Any:
    """The matrix; dense where it is short and the kernel takes products of rows."""
    if isinstance(matrix, np.ndarray) or not getattr(kernel, "products", False):
        return matrix
    n, d = matrix.shape
    if n * d <= _FILLED * matrix.nnz and n * d * kind.itemsize <= _BYTES:
        return matrix.astype(kind).toarray()
    return matrix
