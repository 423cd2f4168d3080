"""Writing a file so that it is either the old one or the complete new one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def atomic_write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes to a temporary file beside ``path``, flush it to disk, then rename it.

    Parameters
    ----------
    path : str or path
        The file. After a crash or a full disk it holds what it held before.
    data : bytes
        What it shall hold.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "note.txt"
    >>> atomic_write_bytes(file, b"done")
    >>> file.read_bytes()
    b'done'
    """
    place = Path(os.path.realpath(Path(path).expanduser()))  # a link stays a link
    try:
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=".part")
    except OSError as error:  # name the file that was asked for, not the temporary one
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(place))
        os.replace(name, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(place.parent)


def _mode(place: Path) -> int:
    """Rights of the old file, or those that an ordinary new file would get."""
    try:
        return place.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut, where the system can do that."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
