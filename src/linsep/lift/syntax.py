"""From the text of a lift to programs, without ``eval``.

    outputs   output ("," output)*
    output    sum | "poly" "(" whole number ("," column)* ")"
    sum       product (("+" | "-") product)*
    product   signed (("*" | "/") signed)*
    signed    ("+" | "-") signed | power
    power     atom (("**" | "^") signed)?
    atom      number | column | constant | function "(" sum ("," sum)* ")" | "(" sum ")"

A column is a name such as x1, or any text between backticks or quotes. Nothing else exists: no
attributes, no indices, no names of Python. Every error shows the place.
"""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from linsep.errors import SettingError

MOST_CHARACTERS = 20_000
MOST_NESTING = 60
MOST_EXPONENT = 1000.0
MOST_OUTPUTS = 100_000

Find = Callable[[str], int | None]


def parse(text: str, find: Find, names: Sequence[str], n_columns: int) -> list[Expression | Powers]:
    """The outputs that a text asks for.

    Parameters
    ----------
    text : str
        The lift.
    find : function
        Number of the column of a name, or None.
    names : sequence of str
        The names that ``find`` knows, for messages.
    n_columns : int
        How many columns there are, for poly(degree).
    """
    if len(text) > MOST_CHARACTERS:
        raise SettingError(
            f"the lift has {len(text)} characters; {MOST_CHARACTERS} are allowed. Give a function."
        )
    return _Parser(text, find, names, n_columns).outputs()


class _Parser:
    def __init__(self, text: str, find: Find, names: Sequence[str], n_columns: int) -> None:
        self.text, self.find, self.names, self.n_columns = text, find, names, n_columns
        self.tokens = split(text)
        self.at = 0
        self.depth = 0
        self.program: list[Instruction] = []

    # -- tokens -----------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def follows(self, *signs: str) -> bool:
        return self.token.kind == "sign" and self.token.text in signs

    def close(self, why: str) -> None:
        if not self.follows(")"):
            self._unexpected(f"')' is missing here, {why}")
        self.take()

    def fail(self, at: int, what: str, help_: str = "") -> NoReturn:
        raise SettingError(pointed(self.text, at, what, help_))

    def _unexpected(self, what: str) -> NoReturn:
        token, before = self.token, self.tokens[max(0, self.at - 1)]
        joined = token.kind in ("name", "quoted") or token.text == "("
        if joined and self.at and (before.kind in ("number", "name", "quoted")):
            if token.text == "(" and before.kind == "name":
                what = f"{before.text!r} is not a function; write * for a product"
            else:
                what = f"an operator is missing before {token.text!r}; write * for a product"
        self.fail(token.at, what, ALLOWED)

    # -- grammar ----------------------------------------------------------------------------

    def outputs(self) -> list[Expression | Powers]:
        if self.token.kind == "end":
            raise SettingError("the lift is empty; give outputs such as 'x1, x2, (x1 - x2)**2'.")
        out: list[Expression | Powers] = []
        while True:
            out.append(self.output())
            if self.token.kind == "end":
                return out
            if not self.follows(","):
                self._unexpected(f"{self.token.text!r} is not expected here")
            self.take()

    def output(self) -> Expression | Powers:
        first = self.token
        if first.kind == "end" or first.text == ",":
            self.fail(first.at, "an output is missing beside the comma")
        if first.text == "poly" and self.tokens[self.at + 1].text == "(":
            return self.powers()
        self.program = []
        self.sum()
        text = self.text[first.at : self.tokens[self.at - 1].end]
        return Expression(tuple(self.program), " ".join(text.split()))

    def powers(self) -> Powers:
        start = self.take()
        self.take()
        degree = self.token
        whole = degree.kind == "number" and degree.text.isdigit()
        if not (whole and 1 <= float(degree.text) <= 99):
            self.fail(degree.at, "poly needs a degree, a whole number from 1 to 99")
        self.take()
        columns: list[int] = []
        while self.follows(","):
            self.take()
            if self.token.kind not in ("name", "quoted"):
                self.fail(self.token.at, "poly takes names of columns after the degree")
            columns.append(self.column(self.take()))
        self.close("after poly(")
        chosen = tuple(dict.fromkeys(columns)) or tuple(range(self.n_columns))
        many = math.comb(len(chosen) + int(degree.text), len(chosen)) - 1
        if many > MOST_OUTPUTS:
            self.fail(
                start.at,
                f"degree {degree.text} of {len(chosen)} columns makes {many} outputs; "
                f"{MOST_OUTPUTS} are allowed",
            )
        return Powers(int(degree.text), chosen)

    def sum(self) -> None:
        self.product()
        while self.follows("+", "-"):
            sign = self.take()
            self.product()
            self.emit(sign)

    def product(self) -> None:
        self.signed()
        while self.follows("*", "/"):
            sign = self.take()
            self.signed()
            if sign.text == "/" and self.program[-1] == ("number", 0.0):
                self.fail(sign.at, "this divides by zero")
            self.emit(sign)

    def signed(self) -> None:
        self.deeper()
        if self.follows("+", "-"):
            sign = self.take()
            self.signed()
            if sign.text == "-":
                self.emit(sign, "negative")
        else:
            self.power()
        self.depth -= 1

    def power(self) -> None:
        self.atom()
        if self.follows("**", "^"):
            sign = self.take()
            exponent = self.token
            self.signed()
            kind, value = self.program[-1]
            if kind == "number" and abs(value) > MOST_EXPONENT:
                self.fail(
                    exponent.at, f"the exponent is {value:g}; up to {MOST_EXPONENT:g} is allowed"
                )
            self.emit(sign, "**")

    def atom(self) -> None:
        token = self.token
        if token.kind == "number":
            self.take()
            self.number(token, float(token.text))
        elif token.kind == "name" and self.tokens[self.at + 1].text == "(":
            self.call()
        elif token.kind in ("name", "quoted"):
            self.name(self.take())
        elif token.text == "(":
            self.take()
            self.sum()
            if self.follows(","):
                self.fail(
                    self.token.at,
                    "a comma within parentheses; write the outputs side by side, without them",
                )
            self.close("to close the parenthesis")
        elif token.kind == "end":
            self.fail(token.at, "the text ends where a value should stand")
        else:
            self._unexpected(f"{token.text!r} stands where a value should stand")

    def call(self) -> None:
        name = self.take()
        if name.text == "poly":
            self.fail(name.at, "poly(...) makes many outputs; it stands alone between commas")
        if self.find(name.text) is not None and name.text not in FUNCTIONS:
            self.fail(name.at, f"{name.text!r} is a column, not a function; write * for a product")
        if name.text not in FUNCTIONS:
            close = difflib.get_close_matches(name.text, FUNCTIONS, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            self.fail(name.at, f"there is no function {name.text!r}{hint}", ALLOWED)
        self.take()
        count = 0
        while not (count == 0 and self.follows(")")):
            self.sum()
            count += 1
            if not self.follows(","):
                break
            self.take()
        self.close(f"after the arguments of {name.text}")
        wanted = FUNCTIONS[name.text][1]
        if count < 2 if wanted is None else count != wanted:
            self.fail(name.at, f"{name.text} takes {arity(name.text)}, not {count}")
        self.emit(name, "call", (name.text, count))

    def name(self, token: Token) -> None:
        known = token.kind == "name" and token.text in CONSTANTS
        if known and self.find(token.text) is None:  # a column may be called e
            self.program.append(("number", CONSTANTS[token.text]))
        else:
            self.program.append(("column", self.column(token)))

    def column(self, token: Token) -> int:
        name = token.text[1:-1] if token.kind == "quoted" else token.text
        found = self.find(name)
        return self._no_column(token, name) if found is None else found

    def _no_column(self, token: Token, name: str) -> NoReturn:
        close = difflib.get_close_matches(name, self.names, 3, 0.5)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        shown = ", ".join(self.names[:12]) + (", ..." if len(self.names) > 12 else "")
        functions = f" {name} is a function: {name}(...)." if name in FUNCTIONS else ""
        self.fail(token.at, f"there is no column {name!r}{hint}", f"Columns: {shown}.{functions}")

    # -- instructions -----------------------------------------------------------------------

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MOST_NESTING:
            self.fail(self.token.at, f"the nesting is deeper than {MOST_NESTING}; simplify")

    def number(self, token: Token, value: float) -> None:
        if not math.isfinite(value):
            self.fail(token.at, f"this number is {value}, beyond the range of floats")
        self.program.append(("number", value))

    def emit(self, token: Token, kind: str = "", what: object = None) -> None:
        """Add an instruction; operations on numbers alone are carried out at once."""
        kind = kind or token.text
        count = {"negative": 1, "call": what[1] if isinstance(what, tuple) else 0}.get(kind, 2)
        self.program.append((kind, what))
        if any(instruction[0] != "number" for instruction in self.program[-1 - count : -1]):
            return
        tail = [(k, np.float64(v) if k == "number" else v) for k, v in self.program[-1 - count :]]
        del self.program[-1 - count :]
        with np.errstate(all="ignore"):
            value = run(tail, [], {name: f for name, (f, _) in FUNCTIONS.items()})
        self.number(token, float(value))


# -- Compiled expressions: a list of instructions for a machine with a stack ----------------------
#
# The machine knows nothing of what it computes with. Columns of floats give numbers, polynomials
# give polynomials, so an expression is written down once and never handed to the Python compiler.


CONSTANTS = {"pi": float(np.pi), "e": float(np.e)}

# Name -> (function of arrays, number of arguments; None for two or more).
FUNCTIONS: dict[str, tuple[Callable[..., Any], int | None]] = {
    "abs": (np.abs, 1),
    "acos": (np.arccos, 1),
    "asin": (np.arcsin, 1),
    "atan": (np.arctan, 1),
    "cbrt": (np.cbrt, 1),
    "ceil": (np.ceil, 1),
    "cos": (np.cos, 1),
    "cosh": (np.cosh, 1),
    "exp": (np.exp, 1),
    "expm1": (np.expm1, 1),
    "floor": (np.floor, 1),
    "hypot": (np.hypot, 2),
    "log": (np.log, 1),
    "log10": (np.log10, 1),
    "log1p": (np.log1p, 1),
    "log2": (np.log2, 1),
    "max": (lambda *values: reduce(np.maximum, values), None),
    "min": (lambda *values: reduce(np.minimum, values), None),
    "sign": (np.sign, 1),
    "sin": (np.sin, 1),
    "sinh": (np.sinh, 1),
    "sqrt": (np.sqrt, 1),
    "tan": (np.tan, 1),
    "tanh": (np.tanh, 1),
}

_BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}

Instruction = tuple[str, Any]


@dataclass(frozen=True)
class Expression:
    """One output: its instructions, and its text as it was written."""

    program: tuple[Instruction, ...]
    text: str


@dataclass(frozen=True)
class Powers:
    """All monomials of some columns up to a degree, without the constant."""

    degree: int
    columns: tuple[int, ...]


def arity(name: str) -> str:
    """How many arguments a function takes, in words."""
    count = FUNCTIONS[name][1]
    return "two or more arguments" if count is None else f"{count} argument{'s'[: count > 1]}"


def run(
    program: Sequence[Instruction],
    columns: Sequence[Any],
    functions: Mapping[str, Callable[..., Any]],
) -> Any:
    """The value of a program on these columns."""
    stack: list[Any] = []
    for kind, what in program:
        if kind == "number":
            stack.append(what)
        elif kind == "column":
            stack.append(columns[what])
        elif kind == "negative":
            stack.append(-stack.pop())
        elif kind == "call":
            name, count = what
            values = stack[-count:]
            del stack[-count:]
            stack.append(functions[name](*values))
        else:
            right = stack.pop()
            stack.append(_BINARY[kind](stack.pop(), right))
    return stack.pop()


# -- The words of a lift's text, and messages that point into it ----------------------------------


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
