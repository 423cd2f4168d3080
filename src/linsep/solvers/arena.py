"""Memory for large matrices that the next fit finds again.

Fresh memory is slow: the system clears it page by page, which takes longer than filling it. What
a fit has used is marked as free, so that the system takes it as soon as anybody needs it, and the
next fit takes it as it is if nobody did.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["large_array"]

_LEAST = 32 << 20  # bytes below which memory is soon cleared
_MOST = 2 << 30  # bytes that may wait for the next fit

_lock = threading.Lock()
_waiting: list[mmap.mmap] = []


def large_array(size: int, dtype: Any) -> NDArray[Any]:
    """A vector with anything in it; its memory may have served before."""
    need = size * np.dtype(dtype).itemsize
    if need < _LEAST or not hasattr(mmap, "MADV_FREE"):
        return np.empty(size, dtype)
    with _lock:
        pages = _waiting.pop() if _waiting else None
    if pages is None or len(pages) < need:
        try:
            pages = mmap.mmap(-1, need, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise MemoryError(f"no {need} bytes for a matrix: {error}") from None
        if hasattr(mmap, "MADV_HUGEPAGE"):
            pages.madvise(mmap.MADV_HUGEPAGE)
    found = np.frombuffer(pages, np.uint8, need)
    # views keep the bytes alive, so nobody reads them any more when this is called
    weakref.finalize(found, _give_back, pages).atexit = False
    out: NDArray[Any] = found.view(dtype)
    return out


def _give_back(pages: mmap.mmap) -> None:
    """Let the system have the pages, and keep where they are."""
    if len(pages) <= _MOST:
        pages.madvise(mmap.MADV_FREE)
        with _lock:
            _waiting[:] = sorted([*_waiting, pages], key=len)[-1:]
