"""What linsep says beside its answers: warnings, and notes to whoever waits at a terminal."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TextIO, cast

# a thread begins in the last two, the end of a block in the one before
_INSIDE = ("linsep", "sklearn", "joblib", "contextlib", "threading", "concurrent")
_unsaid = ContextVar("unsaid", default=False)


@contextmanager
def unsaid() -> Iterator[None]:
    """What linsep would warn of within is not said: somebody else will say it, or nobody need.

    The filters of Python belong to all threads; two that put theirs in place and back by turns
    would leave a program without warnings for good.
    """
    before = _unsaid.set(True)
    try:
        yield
    finally:
        _unsaid.reset(before)


def warn(words: str, kind: type[Warning]) -> None:
    """Warn at the line that called linsep, however deep in it the reason was found."""
    if _unsaid.get():
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(words, kind, stacklevel=level)


def note(words: str) -> None:
    """Say why it takes a moment: on a terminal, and to the logger ``linsep`` in any case.

    It is no warning, nothing being wrong, and never goes to stdout.
    """
    logging.getLogger("linsep").info(words)
    if sys.stderr is not None and sys.stderr.isatty():
        say(f"linsep: {words}")


def say(words: str) -> None:
    """A line on stderr, if there is one."""
    if sys.stderr is not None:
        print(words, file=heedless(sys.stderr), flush=True)


def heedless(stream: TextIO) -> TextIO:
    """The same stream for what is said on the way; where it cannot be written, the work goes on.

    A terminal that was closed, a log on a full disk, a reader that went away: none of them is a
    reason to lose what is being computed.
    """
    return stream if isinstance(stream, _Heedless) else cast(TextIO, _Heedless(stream))


class _Heedless:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):  # ValueError: it is closed
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
