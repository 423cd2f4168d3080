"""Numbers as people read them."""

from __future__ import annotations

from typing import Any


def percent(share: float, digits: int = 2) -> str:
    """A share as per cent, rounded, and without an exponent where plain digits can be read.

    >>> percent(1.0), percent(0.00123), percent(7.3), percent(3e-11)
    ('100 %', '0.12 %', '730 %', '3e-09 %')
    """
    value = 100.0 * share
    whole = 10.0**digits - 0.5 <= value < 1e6
    return f"{value:.0f} %" if whole else f"{value:.{digits}g} %"


def count(number: Any, noun: str, plural: str | None = None, *, spec: str = "") -> str:
    """A number of things; spec is the format of the number.

    >>> count(1, "row"), count(2, "row"), count(1.0, "pass", spec=".4g"), count(0, "class")
    ('1 row', '2 rows', '1 pass', '0 classes')
    >>> count(1, "row is", "rows are")
    '1 row is'
    """
    if plural is None:
        plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    shown = format(number, spec)
    return f"{shown} {noun if shown == '1' else plural}"


def on_a_line(name: str, width: int = 36) -> str:
    """A name as one short word of a line: a cell of a table may hold line breaks and be long.

    >>> on_a_line("said: \\n\\tyes"), on_a_line("abcdefgh", 6)
    ('said: yes', 'ab...h')
    """
    words = " ".join(name.split())
    half = (width - 3) // 2
    return words if len(words) <= width else f"{words[: width - 3 - half]}...{words[-half:]}"


def misplaced(errors: int, *, sentence: bool = False) -> str:
    """Rows on the wrong side, as a phrase or as a sentence.

    >>> misplaced(1), misplaced(2, sentence=True)
    ('1 row not on its own side', '2 rows are not on their own side')
    """
    verb = ("is ", "are ") if sentence else ("", "")
    return count(
        errors, f"row {verb[0]}not on its own side", f"rows {verb[1]}not on their own side"
    )
