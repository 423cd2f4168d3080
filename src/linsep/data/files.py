"""Bytes of a data file: find it, unpack it, say plainly why it cannot be read."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from linsep.errors import DataError, FormatError

_PACKED = ((b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\xfd7zXZ\x00", "lzma"))
_ENDINGS = (
    ".csv", ".tsv", ".txt", ".data", ".svm", ".libsvm", ".svmlight", ".parquet", ".arrow",
    ".feather", ".npz",
)  # fmt: skip
_PACKED_ENDINGS = (".gz", ".bz2", ".xz")


def fetch(path: str | os.PathLike[str]) -> bytes:
    """Read a file and unpack gzip, bzip2 or xz, whatever its name ends in."""
    place = Path(path).expanduser()
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{place}: there is no such file{_guess(place)}") from None
    except IsADirectoryError:
        raise DataError(f"{place} is a folder; name a file in it{_inside(place)}.") from None
    except OSError as error:
        if place.is_dir():  # Windows reports a folder as a lack of permission
            raise DataError(f"{place} is a folder; name a file in it{_inside(place)}.") from None
        raise DataError(f"{place} cannot be read: {error.strerror or error}.") from error
    for magic, module in _PACKED:
        if data.startswith(magic):
            data = _unpack(place, data, module)
            break
    if not data:
        raise FormatError(f"{place}:1:1: the file is empty; a row a line is needed.")
    return data


def plain_name(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Name of a file without its endings, and the ending that tells the format."""
    place = Path(path)
    if place.suffix.lower() in _PACKED_ENDINGS:
        place = place.with_suffix("")
    ending = place.suffix.lower()
    return (place.stem if ending in _ENDINGS else place.name), ending


def check_text(path: str | os.PathLike[str], data: bytes) -> bytes:
    """Give text without its byte order mark, or say where it stops being UTF-8 text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FormatError(f"{path}:1:1: the text is UTF-16; save it as UTF-8.")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    if b"\x00" in data[: 1 << 16]:
        raise FormatError(
            f"{path}:1:1: this is not text and not a format that linsep knows; give .csv, .tsv, "
            ".svm, .parquet, .arrow or .npz, plain or packed with gzip or bzip2."
        )
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            before = data[: error.start]
            line = before.count(b"\n") + 1
            column = error.start - (before.rfind(b"\n") + 1) + 1
            raise FormatError(
                f"{path}:{line}:{column}: byte 0x{data[error.start]:02x} is not UTF-8; "
                "save the file as UTF-8 (iconv -f latin1 -t utf-8)."
            ) from None
    if not data[:4096].strip() and not data.strip():
        raise FormatError(f"{path}:1:1: the file has only blank lines; a row a line is needed.")
    return data


def _unpack(place: Path, data: bytes, module: str) -> bytes:
    import importlib
    import zlib
    from lzma import LZMAError

    try:
        unpacked: bytes = importlib.import_module(module).decompress(data)
    except (EOFError, OSError, ValueError, zlib.error, LZMAError) as error:
        raise FormatError(
            f"{place}: the {module} data are damaged or cut off ({error}); fetch the file again."
        ) from error
    return unpacked


def _guess(place: Path) -> str:
    try:
        near = difflib.get_close_matches(place.name, os.listdir(place.parent or "."), n=1)
    except OSError:
        return f"; there is no folder {place.parent} either."
    return f"; did you mean {place.parent / near[0]}?" if near else "."


def _inside(place: Path) -> str:
    names = sorted(entry.name for entry in place.iterdir() if entry.is_file())
    if not names:
        return ""
    shown = ", ".join(names[:5])
    return f": {shown}" + (" ..." if len(names) > 5 else "")
