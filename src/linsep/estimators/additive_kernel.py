"""What the parameter ``kernel`` of AdditiveSVM may be, and what its rows must be."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from linsep.errors import DataError
from linsep.estimators.params import Check
from linsep.kernels import Additive
from linsep.kernels.domain import negative_entry

__all__ = ["kernel_name", "kernel_of", "plain_kernel", "power_of", "require_nonnegative"]

_POWERS = {"intersection": -math.inf, "chi2": -1.0, "hellinger": 0.0}
_NAMES = {power: name for name, power in _POWERS.items()}


def _is_kernel(value: Any) -> bool:
    if isinstance(value, str):
        return value in _POWERS
    if isinstance(value, Additive):
        return value.power <= 0
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return float(value) <= 0


kernel_of = Check(
    _is_kernel,
    "'intersection', 'chi2', 'hellinger', a power p <= 0, or one of the kernels Intersection(), "
    "ChiSquared(), Hellinger() and PowerMean(p) with p <= 0; others have no functions of single "
    "features, so use KernelSVM",
)


def power_of(kernel: Any) -> float:
    """The exponent of the power mean."""
    if isinstance(kernel, str):
        return _POWERS[kernel]
    return float(kernel.power if isinstance(kernel, Additive) else kernel)


def plain_kernel(kernel: Any) -> str | float:
    """The kernel as a name or a number."""
    power = power_of(kernel)
    return _NAMES.get(power, power)


def kernel_name(kernel: Any) -> str:
    """The kernel in words."""
    plain = plain_kernel(kernel)
    return plain if isinstance(plain, str) else f"power mean (p = {plain:g})"


def require_nonnegative(matrix: Any, kernel: Any, names: Any, who: str) -> None:
    """Raise DataError at the first negative entry, with its place."""
    found = negative_entry(matrix, names)
    if found is not None:
        raise DataError(
            f"Negative values in data passed to {who}: {found}. The {kernel_name(kernel)} kernel "
            "compares histograms, whose entries are >= 0; shift the column, split it into a "
            "positive and a negative part, or use KernelSVM with RBF."
        )
