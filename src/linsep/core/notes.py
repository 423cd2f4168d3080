"""What linsep says beside its answers: warnings, and notes to whoever waits at a terminal."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
        print(f"linsep: {words}", file=sys.stderr, flush=True)
