"""The words of a lift's text, and messages that point into it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from linsep.errors import SettingError
from linsep.lift.program import FUNCTIONS

__all__ = ["ALLOWED", "Token", "pointed", "split"]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<quoted>`[^`]*`|'[^']*'|\"[^\"]*\")"
    r"|(?P<sign>\*\*|[-+*/^(),]))"
)
# What people write, and what they should.
_MEANT = {
    ";": "separate the outputs by commas",
    "[": "write the outputs side by side, without brackets",
    "−": "write - for minus",
    "·": "write * for a product",
    "×": "write * for a product",
    "÷": "write / for a quotient",
    "%": "there are no remainders",
    "=": "there are no names for outputs and no comparisons",
    "<": "there are no comparisons; sign(x) tells positive from negative",
    ">": "there are no comparisons; sign(x) tells positive from negative",
}
ALLOWED = (
    "Allowed are columns, numbers, + - * / ** ^ ( ) and the functions "
    + ", ".join(sorted(FUNCTIONS))
    + "."
)


@dataclass(frozen=True)
class Token:
    """A number, name, quoted name or sign, or the end; with its place."""

    kind: str
    text: str
    at: int
    end: int


def split(text: str) -> list[Token]:
    """The tokens of a text, the end of it last."""
    out, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            _refuse_character(text, at + len(text[at:]) - len(text[at:].lstrip()))
        kind = str(match.lastgroup)
        out.append(Token(kind, match[kind], match.start(kind), match.end()))
        at = match.end()
    return [*out, Token("end", "", end, end)]


def _refuse_character(text: str, at: int) -> NoReturn:
    sign = text[at]
    what, more = f"{sign!r} means nothing here", ALLOWED
    if sign in _MEANT:
        what, more = f"{what}; {_MEANT[sign]}", ""
    if sign in "`'\"":
        what, more = f"the name that begins here has no closing {sign}", ""
    elif sign == ".":
        what, more = "there are no attributes; a name with a dot goes into backticks", ""
    raise SettingError(pointed(text, at, what, more))


def pointed(text: str, at: int, what: str, help_: str) -> str:
    """The message, the text around the place, and a caret under it."""
    flat = re.sub(r"\s", " ", text)
    low, high = max(0, at - 50), min(len(flat), at + 25)
    before, after = "..." if low else "", "..." if high < len(flat) else ""
    line = f"    {before}{flat[low:high]}{after}"
    caret = " " * (4 + len(before) + at - low) + "^"
    end = f"\n{help_}" if help_ else ""
    stop = "" if what.endswith("?") else "."
    return f"the lift cannot be read at character {at + 1}: {what}{stop}\n{line}\n{caret}{end}"
