"""Kernels are values: their parameters, as scikit-learn sees them, as text, as plain numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from linsep.errors import SettingError

__all__ = ["Value", "fraction", "is_number", "number", "plain"]


@dataclass(frozen=True, repr=False)
class Value:
    """Parameters that are fixed by ``==``, shown by ``repr`` and changed by ``set_params`` only."""

    def __post_init__(self) -> None:
        self._check_settings()

    def _check_settings(self) -> None:
        """Raise SettingError for a parameter that is not allowed."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; those of parts as ``part__name``."""
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            found[field.name] = value
            if deep and isinstance(value, Value):
                found |= {f"{field.name}__{key}": v for key, v in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Change parameters in place, as scikit-learn's searches do, and give the kernel back."""
        own = {field.name for field in fields(self)}
        before = {name: getattr(self, name) for name in own}
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in own or (rest and not isinstance(params.get(name, before[name]), Value)):
                raise SettingError(
                    f"Invalid parameter {key!r} for kernel {self!r}. Valid parameters are: "
                    f"{sorted(self.get_params())!r}."
                )
            if rest:
                nested.setdefault(name, {})[rest] = value
            else:
                object.__setattr__(self, name, value)
        try:
            self._after_set({key for key in params if "__" not in key})
            self._check_settings()
        except SettingError:
            for name, value in before.items():
                object.__setattr__(self, name, value)
            raise
        for name, inner in nested.items():  # a copy: the part may belong to other kernels too
            object.__setattr__(self, name, getattr(self, name).clone().set_params(**inner))
        return self

    def _after_set(self, names: set[str]) -> None:
        """Settle parameters that exclude each other after some were set."""

    def clone(self) -> Self:
        """Give a kernel with the same parameters that shares no part with this one."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self)(
            **{k: v.clone() if isinstance(v, Value) else v for k, v in values.items()}
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a model file; ``linsep.kernels.from_dict`` reads them."""
        out: dict[str, Any] = {"type": type(self).__name__}
        for field in fields(self):
            value = getattr(self, field.name)
            out[field.name] = value.to_dict() if isinstance(value, Value) else plain(value)
        return out

    def __repr__(self) -> str:
        shown = [
            f"{field.name}={plain(getattr(self, field.name))!r}"
            for field in fields(self)
            if not _same(getattr(self, field.name), field.default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def number(
    kernel: Value, name: str, *, low: float = -math.inf, above: bool = False, whole: bool = False
) -> None:
    """Raise SettingError unless a parameter is a finite number >= low (above it, whole)."""
    value = getattr(kernel, name)
    good = is_number(value) and (not whole or isinstance(value, Integral))
    if good:
        at = float(value)
        good = math.isfinite(at) and (at > low if above else at >= low)
    if not good:
        bound = "" if low == -math.inf else f" {'>' if above else '>='} {low:g}"
        kind = "a whole number" if whole else "a finite number"
        raise SettingError(
            f"The {name!r} parameter of {type(kernel).__name__} must be {kind}{bound}. "
            f"Got {value!r} instead."
        )


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def is_number(value: Any) -> bool:
    """Whether a value is a real number, numpy's too, and not True or False."""
    return isinstance(value, Real) and not isinstance(value, bool)


def fraction(value: Any) -> Any:
    """A number as a flint ``fmpq``; every float is a fraction."""
    from flint import fmpq

    return fmpq(*float(value).as_integer_ratio())


def plain(value: Any) -> Any:
    """A number of numpy as one of Python, with its short repr."""
    return value.item() if isinstance(value, np.generic) else value
