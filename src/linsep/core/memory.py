"""Memory that is not there: told in one sentence, with what was wanted and the way out."""

from __future__ import annotations

import errno
import mmap
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from linsep.core.words import count
from linsep.errors import OutOfMemoryError


@contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """Memory that runs out within is an error of linsep that names what was at work.

    Arrays of the work are let go: they would hang on the traceback of the first error as long as
    anybody keeps the second.
    """
    try:
        yield
    except OutOfMemoryError:
        raise
    except (MemoryError, OSError) as cause:
        if isinstance(cause, OSError) and cause.errno != errno.ENOMEM:
            raise
        words = f"{what} ran out of memory: {_wanted(cause)}, and {_there_is()}."
        traceback.clear_frames(cause.__traceback__)
        raise OutOfMemoryError(
            f"{words} Fewer rows or columns, float32 instead of float64, or a larger machine help. "
            "A checkpoint that was written before is whole."
        ) from cause


def _wanted(cause: BaseException) -> str:
    """What could not be had, as far as the error knows: that of numpy does."""
    shape, dtype = getattr(cause, "shape", None), getattr(cause, "dtype", None)
    if not isinstance(shape, tuple) or not isinstance(dtype, np.dtype):
        return str(cause).rstrip(".") or "more was wanted than could be had"
    size = dtype.itemsize
    for length in shape:
        size *= int(length)
    sides = " x ".join(map(str, shape)) or "1"
    return f"{in_words(size)} were wanted for {sides} numbers of type {dtype}"


def _there_is() -> str:
    held, total = held_memory(), in_words(total_memory())
    if held is None:
        return f"there are {total} in all"
    return f"this process holds {in_words(held)} of the {total} that there are for it"


def in_words(size: int) -> str:
    """Bytes in a unit that people read.

    >>> in_words(1_234_567), in_words(1)
    ('1.2 MB', '1 byte')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return count(size, "byte")


def require_memory(size: int, what: str) -> None:
    """Raise MemoryError now if there is no room, where a library would end the process."""
    try:
        mmap.mmap(-1, size).close()
    except OSError as error:
        raise MemoryError(f"{in_words(size)} were wanted for {what}") from error


def total_memory() -> int:
    """Bytes of memory of this computer, or those that this process may have; else a terabyte."""
    try:
        import resource

        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (AttributeError, ImportError, OSError, ValueError):
        return 1 << 40
    return most if limit == resource.RLIM_INFINITY else min(most, limit)


def held_memory() -> int | None:
    """Bytes that this process has, where the system tells."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = file.read().split()
        return os.sysconf("SC_PAGE_SIZE") * int(pages[1])
    except (AttributeError, OSError, ValueError, IndexError):
        return None
