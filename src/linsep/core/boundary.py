"""Whose an error is: of a file that is damaged, of linsep itself, of the caller's own code.

Each is told as what it is. Only what the caller's code raises goes through as it stands.
"""

from __future__ import annotations

import contextlib
import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from linsep.errors import LinsepError


@contextlib.contextmanager
def boundary(
    path: str | os.PathLike[str], error: type[LinsepError], what: str, way: str
) -> Iterator[None]:
    """Whatever goes wrong inside is an ``error`` that names the file and a way out.

    Schemas find what is wrong with a file and say where. This is the net below them: no file may
    raise an error of numpy, zlib or pyarrow, which have no base in common.
    """
    try:
        yield
    except (LinsepError, Warning):  # a warning that was made an error is no news of the file
        raise
    except MemoryError as cause:
        raise error(f"{path}: it takes more memory than there is; {way}.") from cause
    except RecursionError as cause:
        raise error(f"{path}: values are nested too deeply; {way}.") from cause
    except Exception as cause:
        if getattr(cause, _MARK, False):
            raise
        raise error(f"{path}: {what} ({_told(cause)}); {way}.") from cause


_MARK = "_raised_by_the_caller"


def mark_as_the_callers(error: Exception) -> None:
    """What a callback or a kernel of the caller's raises is theirs: no boundary renames it."""
    with contextlib.suppress(AttributeError):
        setattr(error, _MARK, True)


@contextlib.contextmanager
def own_bugs(
    what: str,
    error: type[LinsepError] = LinsepError,
    whose: str = "This is a bug of linsep, please report it.",
) -> Iterator[None]:
    """An error that nobody raised on purpose is a bug of linsep and is told as one, unless code of
    the caller's has a part in it, or files and memory."""
    try:
        yield
    except (LinsepError, Warning, OSError, MemoryError, ImportError):
        raise
    except Exception as cause:
        if getattr(cause, _MARK, False) or not all(map(_known, _files_of(cause))):
            raise
        kind = type(cause).__name__
        raise error(
            f"{what} broke down ({kind}: {_told(cause).rstrip('.')}), so nothing is known of these "
            f"rows. {whose}"
        ) from cause


def _files_of(error: BaseException) -> list[str]:
    """Files of the functions that an error has come through."""
    trace, files = error.__traceback__, []
    while trace is not None:
        files.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    return files


_LIBRARIES = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {str(Path(__file__).parents[1])}
)


def _known(file: str) -> bool:
    """Whether it is one of linsep or of a library; "<...>" is none at all, and of what Cython has
    made only the name is left."""
    known = file.startswith((*_LIBRARIES, "<")) or "site-packages" in file
    return known or file.endswith((".pyx", ".pxd", ".pxi"))


def _told(cause: BaseException) -> str:
    text = " ".join(str(cause).split())
    return text if len(text) <= 200 else text[:197] + "..."
