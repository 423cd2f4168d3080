"""Files that are either the old one or the complete new one, and folders that are our own."""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import os
import platform
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_LONGEST = 150  # bytes of a name up to which temporary files are called after it


def atomic_write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes to a temporary file beside ``path``, flush it to disk, then rename it.

    Parameters
    ----------
    path : str or path
        The file. After a crash or a full disk it holds what it held before. A pipe or a device,
        such as /dev/stdout, is written into as it stands, and never replaced by a file.
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
    if _is_special(path):
        _pour(path, data)
        return
    with written_in_parts(path) as file:
        file.write(data)


@contextlib.contextmanager
def written_in_parts(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """The same for what is too much to be held: a file that takes the place at the end."""
    if _is_special(path):
        with open(Path(path).expanduser(), "wb") as file:
            yield file
        return
    place, handle, name = _begin(path)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(place))
        os.replace(name, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(place.parent)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError now if a file could not be written there after hours of work."""
    if _is_special(path):
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return
    place, handle, name = _begin(path)
    os.close(handle)
    os.unlink(name)
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))


def _is_special(path: str | os.PathLike[str]) -> bool:
    """Whether something is there that is neither a file nor a folder: a pipe, a device."""
    try:
        mode = os.stat(Path(path).expanduser()).st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise
        return False  # nothing yet; or what is wrong there is found on the way
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _pour(path: str | os.PathLike[str], data: bytes) -> None:
    """Write into what is there; nobody waits for a pipe that no one reads."""
    try:
        handle = os.open(Path(path).expanduser(), os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        words = "nobody reads this pipe" if error.errno == errno.ENXIO else error.strerror
        raise OSError(error.errno, words, str(path)) from None
    with os.fdopen(handle, "wb") as file:
        os.set_blocking(handle, True)
        file.write(data)


def _begin(path: str | os.PathLike[str]) -> tuple[Path, int, str]:
    """The place behind a path, and a new temporary file beside it; old ones are swept away."""
    place = Path(os.path.realpath(Path(path).expanduser()))  # a link stays a link
    ours = f"{_node()}-{os.getpid()}"
    stem = place.name
    if len(os.fsencode(stem)) > _LONGEST:  # there is room for the name, but not for more than it
        stem = hashlib.sha256(os.fsencode(stem)).hexdigest()[:32]
    try:
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{stem}.{ours}-", suffix=".part")
    except OSError as error:  # name the file that was asked for, not the temporary one
        raise OSError(error.errno, error.strerror, str(path)) from None
    with contextlib.suppress(OSError):
        for other in place.parent.glob(f".{glob.escape(stem)}.{_node()}-*-*.part"):
            if not _lives(other.name.removesuffix(".part").split("-")[-2]):
                other.unlink()
    return place, handle, name


def _node() -> str:
    """This machine in a name of a file, where several may share a folder."""
    return "".join(c for c in platform.node() if c.isalnum())[:32] or "here"


def _lives(process: str) -> bool:
    """Whether the process that was writing a file is still there, as far as can be known."""
    if os.name != "posix" or not process.isdigit():
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


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


# -- Folders that nobody else can write to --------------------------------------------------------


def make_private(folder: Path) -> None:
    """Make a folder, and those on the way to it that are missing, for the user alone.

    Raises
    ------
    OSError
        It cannot be made.
    """
    for place in (*reversed(folder.parents), folder):
        with contextlib.suppress(FileExistsError):
            if not place.is_dir():
                place.mkdir(mode=0o700)
    if not folder.is_dir():
        raise NotADirectoryError(folder)


def open_to_others(folder: Path) -> Path | None:
    """What on the way to a folder, or in it, others could have put there or replaced; or None.

    Root may be trusted, and in a folder with the sticky bit nobody touches what is another's. All
    parts of the way count, links and where they lead.
    """
    if not hasattr(os, "getuid"):
        return None  # rights are no numbers there; folders of a user are their own
    ways = {Path(os.path.abspath(folder)), Path(os.path.realpath(folder))}
    parts = {part for way in ways for part in (way, *way.parents)}
    for part in sorted(parts, key=lambda part: len(part.parts)):
        if _others_may_change(part, sticky=part not in ways):
            return part
    inside = (Path(at) / name for at, _, files in os.walk(folder) for name in files)
    return next((file for file in inside if _others_own(file)), None)


def _others_may_change(folder: Path, *, sticky: bool) -> bool:
    try:
        found = os.stat(folder)
    except OSError:
        return False  # nothing there
    open_mode = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    kept = sticky and found.st_mode & stat.S_ISVTX
    return found.st_uid not in (0, os.getuid()) or bool(open_mode and not kept)


def _others_own(file: Path) -> bool:
    try:
        return file.lstat().st_uid not in (0, os.getuid())
    except OSError:
        return False  # gone meanwhile
