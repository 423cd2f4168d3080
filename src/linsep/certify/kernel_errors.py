"""How far a kernel value in float64 may be from the truth.

Errors are given as a share of root_i root_j, with |K_ij| <= root_i root_j: the square roots of
K_ii and K_jj where the kernel is positive semidefinite, else nothing less than the largest value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.certify.kernel_values import KernelValues

__all__ = ["entry_error", "roots"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_U = 2.0**-53
_STEP = 256  # rows whose values are looked at together


def roots(values: KernelValues, ids: Index, used: Index, convex: bool) -> Array:
    """One number for each of the rows ids, for values with the rows used."""
    root = np.sqrt(np.maximum(values.diagonal(ids), 0.0))
    if convex or not len(ids):
        return np.asarray(root)
    if type(values.kernel).__name__ == "Sigmoid":
        return np.ones(len(ids))
    parts = (ids[at : at + _STEP] for at in range(0, len(ids), _STEP))
    largest = max(float(np.abs(values.block(part, used)).max(initial=0.0)) for part in parts)
    return np.maximum(root, np.sqrt(largest))


def entry_error(values: KernelValues) -> float:
    """Rounding of one kernel value in float64, as a share of root_i root_j."""
    kernel = values.kernel
    if kernel is None:
        return 0.0  # the numbers given are the kernel
    d = values.matrix.shape[1]
    params = kernel.get_params()
    power = sum(abs(float(v)) for k, v in params.items() if k.endswith("degree"))
    error = 8 * (d + 16) * (1 + power) * _U
    return float(error + sum(_argument_error(part, values, d) for part in _leaves(kernel)))


def _leaves(kernel: Any) -> list[Any]:
    parts = [v for v in kernel.get_params(deep=False).values() if hasattr(v, "gram")]
    return [leaf for part in parts for leaf in _leaves(part)] if parts else [kernel]


def _argument_error(kernel: Any, values: KernelValues, d: int) -> float:
    """Of gamma |x - z|^2 by |x|^2 + |z|^2 - 2 x.z, where beyond 1e6 differences are taken instead;
    and of k x.z + c, which tanh passes on."""
    name = type(kernel).__name__
    if name not in ("RBF", "Sigmoid"):
        return 0.0
    rows = values.prepared(np.float64)
    largest = float(rows.squares.max(initial=0.0))
    if name == "RBF":
        largest *= float(kernel.rate)
        return 4 * (d + 8) * _U * min(largest, 1e6) if np.isfinite(largest) else 8 * (d + 8) * _U
    if rows.origin is not None:
        largest = 2 * (largest + float(rows.origin @ rows.origin))
    error = 2 * (d + 8) * _U * (abs(float(kernel.k)) * largest + abs(float(kernel.c)))
    return min(error, 2.0) if error == error else 2.0  # of values between -1 and 1
