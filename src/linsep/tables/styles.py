"""How a column of text writes its numbers: its decimal mark, its groups, its signs.

    3.5   3,5   1,200.50   1.200,50   1 200   1'200   $3,000   12 %   (45.00)   3.5 km   USD 20

A column is read as numbers only if all cells are of one style and in one unit. Where
two styles fit and give different numbers ("1,200" alone) it is an error that names the setting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from linsep.data.columns import is_number
from linsep.errors import DataError

_BLANKS = " \u00a0\u2009\u202f'\u2019"  # between groups of three digits, beside point and comma
_CURRENCY = "$€£¥₹₽₩₺₪₫₴₦฿"
_AROUND = re.compile(
    rf"^([-+\u2212]?)\s*[{_CURRENCY}]?\s*([-+\u2212]?)\s*([0-9.,].*?)\s*[%{_CURRENCY}]?$"
)
_CODES = (
    "USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|AUD|CAD|NZD|BRL|MXN|ZAR|TRY|RUB|KRW|SGD|"
    r"HKD|ILS|Rs\.?|kr\.?|Fr\.?|US\$|R\$|C\$|A\$"
)
_LAKHS = r"[1-9][0-9]?(?:,[0-9]{2})*,[0-9]{3}"  # 12,34,567
_BEFORE = re.compile(rf"({_CODES})\s*(?=[-+\u2212(]?[0-9.,])")
_BEHIND = re.compile(r"(?<=[0-9.])\s*([^\W\d_°][^\d,;:()\[\]]{0,11}|°[^\d,;:()\[\]]{0,3})$")


_TIMES = {
    ":": re.compile(r"-?[0-9]+:[0-5][0-9]"),
    "::": re.compile(r"-?[0-9]+:[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?"),
}  # as the unit of a style: the parts of a clock time, counted in the last of them


@dataclass(frozen=True)
class Style:
    """How numbers are written; ``read`` gives the number of a cell."""

    decimal: str = "."
    groups: str = ""
    """Marks between groups of three digits."""
    unit: str = ""
    """What stands beside the digits of every cell, such as km or USD."""

    def read(self, cell: str) -> float:
        """The number, NaN for what is none of this style."""
        if self.unit in _TIMES:
            return _counted(cell) if _TIMES[self.unit].fullmatch(cell) else float("nan")
        unit, cell = _apart(cell) if self.unit else ("", cell)
        found = _bare(cell) if unit == self.unit else None
        if found is None:
            return float("nan")
        sign, digits = found
        for mark in self.groups:
            digits = digits.replace(mark, "")
        digits = digits.replace(self.decimal, ".")
        return sign * float(digits) if is_number(digits) else float("nan")

    def __str__(self) -> str:
        words = [] if self.decimal == "." else ["decimal comma"]
        named = {",": "commas", ".": "points", "'": "apostrophes", "’": "apostrophes"}
        words += sorted({f"{named.get(mark, 'blanks')} between thousands" for mark in self.groups})
        if self.unit in _TIMES:
            words.append("clock times counted in their last part")
        elif self.unit:
            words.append(f"{self.unit!r} beside the digits")
        return " and ".join(words)


PLAIN = Style()


def find_style(cells: Iterable[str], column: str, decimal: str | None = None) -> Style | None:
    """The style in which all cells are numbers; None if some are none."""
    cells = list(cells)
    for unit, form in _TIMES.items():
        if cells and all(map(form.fullmatch, cells)):
            return Style(unit=unit)
    units = {_apart(cell)[0] for cell in cells}
    unit = units.pop() if len(units) == 1 else ""
    if unit:
        cells = [_apart(cell)[1] for cell in cells]
    style = _find_style(cells, column, decimal)
    return None if style is None else replace(style, unit=unit)


def _find_style(cells: list[str], column: str, decimal: str | None) -> Style | None:
    found = [_bare(cell) for cell in cells]
    bare = [one[1] for one in found if one is not None]
    if not bare or len(bare) < len(found):
        return None
    if decimal != "," and all(is_number(cell.strip()) for cell in cells):
        return PLAIN
    styles = [style for mark in (decimal or ".,") if (style := _style(bare, mark)) is not None]
    if not styles:
        return None
    if len(styles) == 2 and any(mark in cell for cell in cells for mark in _CURRENCY):
        styles = sorted(styles, key=lambda style: not style.groups)  # no sum has three decimals
    elif len(styles) == 2:
        other = next((c for c in bare if styles[0].read(c) != styles[1].read(c)), None)
        if other is not None:
            one, two = (f"{style.read(other):.10g}" for style in styles)
            raise DataError(
                f"column {column!r}: {other!r} may mean {one} or {two}, and no other cell tells; "
                "say decimal='.' or decimal=','.",
                options={"decimal='.' or decimal=','": "--decimal . or --decimal ,"},
            )
    return styles[0]


def _counted(cell: str) -> float:
    """A clock time in its last unit, which is the smallest: 1:30 is 90."""
    total = 0.0
    for part in cell.lstrip("-").split(":"):
        total = 60.0 * total + float(part)
    return -total if cell.startswith("-") else total


def looks_like_number(cell: str) -> bool:
    """Whether a cell is a number in some style."""
    bare = _bare(cell)
    return bare is not None and any(_style([bare[1]], mark) is not None for mark in ".,")


def unit_of(cell: str) -> str:
    """What stands beside the number of a cell; nothing if it is no number with a unit."""
    unit, rest = _apart(cell)
    return unit if unit and looks_like_number(rest) else ""


def _apart(cell: str) -> tuple[str, str]:
    """The unit of a cell and what is left of it."""
    text = cell.strip()
    before = _BEFORE.match(text)
    if before is not None:
        return before[1], text[before.end() :]
    behind = None if is_number(text) else _BEHIND.search(text)
    return ("", text) if behind is None else (behind[1], text[: behind.start()])


def _bare(cell: str) -> tuple[int, str] | None:
    """Sign and digits of a cell, without currency, percent and brackets; None if it has letters."""
    text = cell.strip()
    sign = 1
    if text.startswith("(") and text.endswith(")"):  # as bookkeepers write what is owed
        text, sign = text[1:-1].strip(), -1
    if is_number(text):
        return (-sign, text[1:]) if text.startswith("-") else (sign, text.removeprefix("+"))
    found = _AROUND.match(text)
    if found is None or (found[1] and found[2]):
        return None
    if (found[1] or found[2]) in ("-", "−") and (found[1] or found[2]):
        sign = -sign
    return sign, found[3]


def _style(bare: list[str], decimal: str) -> Style | None:
    """The style of this decimal mark in which all cells are numbers."""
    marks = {c for cell in bare for c in cell if not (c.isdigit() and c.isascii())} - {decimal}
    grouped = "".join(sorted(marks & {",", ".", *_BLANKS} - {decimal}))
    mark, between = re.escape(decimal), f"[{re.escape(grouped)}]" if grouped else "(?!)"
    shape = re.compile(
        rf"[0-9]+(?:{mark}[0-9]*)?|{mark}[0-9]+|[1-9][0-9]{{0,2}}(?:{between}[0-9]{{3}})+(?:{mark}[0-9]+)?"
        + (rf"|{_LAKHS}(?:{mark}[0-9]+)?" if "," in grouped else "")
    )
    for cell in bare:
        plain = decimal == "." and is_number(cell)
        if not plain and shape.fullmatch(cell) is None:
            return None
    return Style(decimal, grouped)
