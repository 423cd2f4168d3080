"""Checking of constructor parameters: one table for each estimator, one sentence for errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from sklearn.utils import check_random_state

from linsep.errors import SettingError


@dataclass(frozen=True)
class Check:
    """A test and the words for what passes it."""

    test: Callable[[Any], bool]
    words: str


def one_of(*values: str) -> Check:
    """One of the given words."""
    return Check(
        lambda v: isinstance(v, str) and v in values, "one of " + ", ".join(map(repr, values))
    )


def number(low: float | None = None, *, above: bool = False, whole: bool = False) -> Check:
    """A number, at least ``low`` (or above it), perhaps a whole one."""

    def test(v: Any) -> bool:
        if isinstance(v, bool) or not isinstance(v, Integral if whole else Real):
            return False
        value = float(v)
        if value != value:
            return False
        return low is None or (value > low if above else value >= low)

    kind = "a whole number" if whole else "a number"
    bound = "" if low is None else f" {'>' if above else '>='} {low:g}"
    return Check(test, kind + bound)


none = Check(lambda v: v is None, "None")
boolean = Check(lambda v: isinstance(v, bool) or type(v).__name__ == "bool_", "True or False")
function = Check(callable, "a function")
jobs = Check(
    lambda v: v is None or (number(-1, whole=True).test(v) and v != 0),
    "None, -1 for all cores, or a whole number of threads >= 1",
)


def either(*checks: Check) -> Check:
    """Whatever passes one of the tests."""
    return Check(
        lambda v: any(check.test(v) for check in checks), " or ".join(c.words for c in checks)
    )


def check_params(estimator: Any, table: dict[str, Check]) -> None:
    """Raise SettingError for the first parameter that fails its test."""
    for name, check in table.items():
        check_value(type(estimator).__name__, name, getattr(estimator, name), check)


def check_value(owner: str, name: str, value: Any, check: Check) -> None:
    """Raise SettingError when the value fails its test."""
    if not check.test(value):
        raise SettingError(
            f"The {name!r} parameter of {owner} must be {check.words}. Got {value!r} instead."
        )


def seed_of(random_state: Any) -> int:
    """One seed a fit: an integer is the seed itself, and None is 0, so that a fit gives the same
    bits every time and can be resumed."""
    state = 0 if random_state is None else random_state
    if isinstance(state, Integral):
        return int(state)
    return int(check_random_state(state).randint(2**31 - 1))
