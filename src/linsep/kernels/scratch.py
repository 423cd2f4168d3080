"""Memory for tiles that are not kept: one piece for each thread, used again and again.

Fresh memory costs more than the arithmetic that fills it.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["scratch"]

_MOST = 1 << 23  # bytes that a thread may keep

_kept = threading.local()


def scratch(rows: int, columns: int, dtype: Any) -> NDArray[Any]:
    """An array with anything in it, valid until the thread asks for the next one."""
    size = rows * columns * np.dtype(dtype).itemsize
    if size > _MOST:
        return np.empty((rows, columns), dtype)
    memory = getattr(_kept, "memory", None)
    if memory is None or memory.nbytes < size:
        memory = _kept.memory = np.empty(size, np.uint8)
    found: NDArray[Any] = memory[:size].view(dtype).reshape(rows, columns)
    return found
