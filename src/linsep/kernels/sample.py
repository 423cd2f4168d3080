"""The rows that a verdict about a kernel looks at: all, or some drawn by a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import DataError, SettingError
from linsep.kernels.rows import Rows
from linsep.kernels.tiles import fill

if TYPE_CHECKING:
    from linsep.kernels.base import Kernel

__all__ = ["look"]


def look(
    kernel: Kernel, X: Any, sample: int, random_state: int
) -> tuple[Kernel, Rows, Rows, NDArray[Any]]:
    """The resolved kernel, all rows, those looked at, and their Gram matrix."""
    if not isinstance(sample, int | np.integer) or isinstance(sample, bool) or sample < 2:
        raise SettingError(f"sample is {sample!r}; give a whole number of rows >= 2.")
    rows = kernel.rows(X)
    if kernel.given and rows.n != rows.d:
        raise DataError(f"a precomputed Gram matrix is square; X has shape {rows.n} x {rows.d}.")
    kernel = kernel.resolve(rows.matrix)
    part = rows
    if rows.n > sample:
        drawn = np.random.default_rng(random_state).choice(rows.n, int(sample), replace=False)
        part = rows.take(np.sort(drawn))
    return kernel, rows, part, fill(kernel, part, None)
