"""Parameters that wait for the data: "scale" and "auto", as in scikit-learn's SVC."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.core.validate import as_matrix
from linsep.errors import SettingError
from linsep.kernels.base import Kernel
from linsep.kernels.values import number

__all__ = ["WORDS", "require_scale", "scale_of"]

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
            variance = float(matrix.var(dtype=np.float64))
        else:
            size = matrix.shape[0] * d
            data = matrix.data.astype(np.float64, copy=False)
            mean = float(data.sum()) / size
            # The two-pass formula: zeros that are not stored differ from the mean as well.
            variance = (float(((data - mean) ** 2).sum()) + (size - data.size) * mean * mean) / size
    gamma = 1.0 / (d * variance) if variance > 0 and np.isfinite(variance) else 1.0
    return gamma if np.isfinite(gamma) and gamma > 0 else 1.0
