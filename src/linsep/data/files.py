"""Names and text of data files: what an ending tells, and where a text stops being one."""

from __future__ import annotations

import os
from pathlib import Path

from linsep.errors import FormatError, SettingError

_PACKED_ENDINGS = (".gz", ".bz2", ".xz")


def unpacked(path: str | os.PathLike[str]) -> Path:
    """The file as it is called where nothing has packed it: its suffix may tell the format."""
    place = Path(path)
    return place.with_suffix("") if place.suffix.lower() in _PACKED_ENDINGS else place


def ending_of(path: str | os.PathLike[str]) -> str:
    """The ending that may tell the format.

    >>> ending_of("rows.CSV.gz")
    '.csv'
    """
    return unpacked(path).suffix.lower()


def utf8(
    path: str | os.PathLike[str], data: bytes, encoding: str | None = None
) -> tuple[bytes, list[str]]:
    """Text of any encoding as UTF-8, and what was found out about it."""
    found, notes = encoding, list[str]()
    if encoding is None and data.startswith((b"\xff\xfe", b"\xfe\xff")):
        found = "utf-16"
    elif encoding is None and not data.isascii() and b"\x00" not in data[: 1 << 16]:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            found = "cp1252"
            notes.append(
                "the text is not UTF-8 and was read as Windows-1252; if letters look wrong, "
                "give its encoding"
            )
    if found is not None:
        try:
            data = data.decode(found).encode("utf-8")
        except LookupError:
            raise SettingError(f"there is no encoding {encoding!r}; utf-8 or latin-1?") from None
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise FormatError(
                f"{path}:{line}:1: byte 0x{data[error.start]:02x} is not {found}; say which "
                "encoding the text has, such as encoding='latin-1'.",
                options={"encoding='latin-1'": "--encoding latin-1"},
            ) from None
    return check_text(path, data), notes


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
