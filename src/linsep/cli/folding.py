"""Long lines for people: folded between words on a terminal, left alone in a pipe."""

from __future__ import annotations

import shutil
import textwrap
from typing import TextIO

__all__ = ["fold", "folded"]

_NARROWEST, _WIDEST = 40, 100  # columns that a line is folded to


def folded(text: str, stream: TextIO) -> str:
    """The text as it should be printed there: a program reads one sentence a line."""
    if not stream.isatty():
        return text
    columns = shutil.get_terminal_size().columns
    return fold(text, min(max(columns, _NARROWEST), _WIDEST))


def fold(text: str, width: int) -> str:
    """Lines of at most so many columns; what follows in a paragraph is indented.

    >>> print(fold("  a line of several words", 16))
      a line of
        several words
    """
    return "\n".join(_line(line, width) for line in text.split("\n"))


def _line(line: str, width: int) -> str:
    if len(line) <= width or ": linsep " in line:  # a command to be copied stays whole
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(
        line,
        width,
        subsequent_indent=indent,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
