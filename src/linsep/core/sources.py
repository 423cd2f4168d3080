"""Bytes of a file, read whole and unpacked within a budget.

Every error that they cause on the way to an object is one of linsep's with the name of the file
(core/boundary.py). Formats say what they hold in core/schema.py.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import io
import os
import select
import stat
import sys
from pathlib import Path
from typing import Any

from linsep.core.boundary import boundary
from linsep.core.limits import total_memory
from linsep.errors import DataError, FormatError, SettingError

_PACKED = ((b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\xfd7zXZ\x00", "lzma"))
_UNPACKED_AT_ONCE = 1 << 20  # bytes unpacked at a time

# What a packed file may become: so many bytes in any case, and so many times its size. Text of
# numbers shrinks to a third or a tenth; a file that is all zeros to a thousandth.
_LEAST_BUDGET, _RATIO = 1 << 28, 100
_PIPE_BUDGET = 1 << 30  # bytes of a pipe, whose size nobody knows
_BINARY = getattr(os, "O_BINARY", 0)  # of Windows
_FIRST_BYTE = 2000  # milliseconds for the first byte of a pipe
BUDGET_VARIABLE = "LINSEP_UNPACK_MB"
STDIN = "-"
"""Names standard input; a file of that name is ./-"""


def budget(packed: int) -> int:
    """How many bytes may come out of so many packed ones."""
    asked = os.environ.get(BUDGET_VARIABLE)
    if not asked:
        return max(_LEAST_BUDGET, _RATIO * packed)
    if not asked.isascii() or not asked.isdigit() or len(asked) > 9:
        raise SettingError(f"{BUDGET_VARIABLE} is {asked!r}; give a whole number of megabytes.")
    return int(asked) * 1_000_000


def too_large(path: str | os.PathLike[str], packed: int, most: int) -> str:
    """What to say of a file that would become larger than its budget."""
    return (
        f"{path}: {packed:,} bytes unpack to more than {most:,}. If the file is meant to be so "
        f"large, unpack it first, or set the environment variable {BUDGET_VARIABLE} to the "
        "megabytes that it may take."
    )


def fetch(path: str | os.PathLike[str]) -> bytes:
    """Read a file and unpack gzip, bzip2 or xz, whatever its name ends in."""
    place = Path(path).expanduser()
    try:
        data = _standard_input() if os.fspath(path) == STDIN else _bytes_of(place)
    except FileNotFoundError:
        raise DataError(f"{place}: there is no such file{_guess(place)}") from None
    except IsADirectoryError:
        raise DataError(f"{place} is a folder; name a file in it{_inside(place)}.") from None
    except MemoryError as error:
        raise DataError(f"{place} takes more memory than there is; give a part of it.") from error
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        if os.path.isdir(place):  # Windows reports a folder as a lack of permission
            raise DataError(f"{place} is a folder; name a file in it{_inside(place)}.") from None
        raise DataError(f"{place} cannot be read: {_reason(error)}.") from error
    for magic, module in _PACKED:
        if data.startswith(magic):
            data = _unpack(place, data, module)
            break
    if not data:
        raise FormatError(f"{place}:1:1: the file is empty; a row a line is needed.")
    return data


def first_bytes(path: str | os.PathLike[str], count: int) -> bytes:
    """The first bytes of a plain file; none of anything that cannot be read."""
    try:
        place = Path(path).expanduser()
        if not place.is_file():
            return b""
        with place.open("rb") as file:
            return file.read(count)
    except (OSError, ValueError):
        return b""


def _bytes_of(place: Path) -> bytes:
    """All bytes of a file or a pipe; nobody waits for a pipe into which nothing is written."""
    found = place.stat()
    mode = found.st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError
    if stat.S_ISREG(mode):
        if found.st_size > total_memory():
            raise MemoryError  # before all of it is filled
        # a file of the system may have no end, and wait for what comes
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
        with open(handle, "rb", buffering=0) as file:
            return (file.read() or b"") if found.st_size else _within_budget(place, file)
    if not stat.S_ISFIFO(mode):
        raise OSError("it is neither a file nor a pipe; give the name of a file")
    handle = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(handle, "rb", buffering=0) as pipe:
        waiting = select.poll()
        waiting.register(pipe, select.POLLIN)
        if not waiting.poll(_FIRST_BYTE):
            raise OSError("nothing is written into this pipe; give the name of a file")
        os.set_blocking(handle, True)
        return _within_budget(place, pipe)


def _within_budget(place: Path, file: io.RawIOBase) -> bytes:
    """All bytes of what does not tell its size."""
    most = budget(_PIPE_BUDGET // _RATIO)
    parts, size = [], 0
    while part := file.read(_UNPACKED_AT_ONCE):
        parts.append(part)
        size += len(part)
        if size > most:
            raise DataError(too_large(place, size, most))
    return b"".join(parts)


@functools.cache
def _standard_input() -> bytes:
    """All that is written to this process; kept, for readers look at a file more than once."""
    if sys.stdin is None or sys.stdin.isatty():
        raise OSError("nothing is written to it; say: cat FILE | linsep ... -")
    most, parts, size = budget(_PIPE_BUDGET // _RATIO), list[bytes](), 0
    while part := sys.stdin.buffer.read(_UNPACKED_AT_ONCE):
        parts.append(part)
        size += len(part)
        if size > most:
            raise DataError(too_large("standard input", size, most))
    return b"".join(parts)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _unpack(place: Path, data: bytes, module: str) -> bytes:
    """Unpacked in pieces, so that a small file cannot fill the memory before it is refused."""
    most = budget(len(data))
    parts, size = [], 0
    way = "fetch the file again"
    with boundary(place, FormatError, f"the {module} data are damaged or cut off", way):
        opened: Any = importlib.import_module(module)
        with opened.open(io.BytesIO(data), "rb") as packed:
            while part := packed.read(_UNPACKED_AT_ONCE):
                parts.append(part)
                size += len(part)
                if size > most:
                    raise FormatError(too_large(place, len(data), most))
        return b"".join(parts)


def _guess(place: Path) -> str:
    try:
        near = difflib.get_close_matches(place.name, os.listdir(place.parent or "."), n=1)
    except OSError:
        return f"; there is no folder {place.parent} either."
    return f"; did you mean {place.parent / near[0]}?" if near else "."


def _inside(place: Path) -> str:
    try:
        names = sorted(entry.name for entry in place.iterdir() if entry.is_file())
    except OSError:
        return ""
    if not names:
        return ""
    shown = ", ".join(names[:5])
    return f": {shown}" + (" ..." if len(names) > 5 else "")
