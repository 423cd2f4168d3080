"""Compiled expressions: a list of instructions for a machine with a stack.

The machine knows nothing of what it computes with. Columns of floats give numbers, polynomials
give polynomials, so an expression is written down once and never handed to the Python compiler.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

__all__ = ["CONSTANTS", "FUNCTIONS", "Expression", "Powers", "arity", "run"]

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
