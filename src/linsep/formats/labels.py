"""Labels of classes in model files, of the type that they had."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import ModelError

_CLASS_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}
_CLASS_TYPES = {"bool": "?", "int": "i8", "float": "f8", "str": "U"}  # where nothing else is said
_CLASS_DTYPES = {
    "int": ("i1", "i2", "i4", "u1", "u2", "u4", "u8"), "float": ("f2", "f4"), "str": ("O",),
}  # fmt: skip


def classes_out(classes: NDArray[Any]) -> dict[str, Any]:
    """Labels by their type and values; ModelError for types that JSON cannot tell."""
    objects = classes.dtype == object and all(isinstance(c, str) for c in classes)
    kind = "str" if objects else _CLASS_KINDS.get(classes.dtype.kind)
    if kind is None:
        raise ModelError(f"classes of type {classes.dtype} cannot be stored; use text or numbers.")
    if kind == "float" and classes.dtype.itemsize > 8:
        if not np.array_equal(classes.astype(float), classes):
            raise ModelError(f"classes of type {classes.dtype} are no float64; use text.")
        classes = classes.astype(float)
    stored: dict[str, Any] = {"type": kind, "values": classes.tolist()}
    if objects:
        stored["values"] = [str(c) for c in classes]  # numpy's own text among them
    exact = "O" if objects else classes.dtype.str[1:]
    if exact in _CLASS_DTYPES.get(kind, ()):
        stored["dtype"] = exact
    return stored


def classes_in(stored: Any) -> NDArray[Any]:
    """The labels behind ``classes_out``."""
    kinds = {"bool": bool, "int": int, "float": float, "str": str}
    try:
        name = stored["type"]
        kind, values, exact = kinds[name], stored["values"], stored.get("dtype", _CLASS_TYPES[name])
    except (AttributeError, KeyError, TypeError) as error:
        raise ModelError("classes has no known type and values") from error
    if not isinstance(values, list) or not all(type(value) is kind for value in values):
        raise ModelError(f"classes are not a list of {name}")
    if exact not in (_CLASS_TYPES[name], *_CLASS_DTYPES.get(name, ())):
        raise ModelError(f"classes of type {name} cannot have the dtype {exact!r:.20}")
    try:
        return np.array(values, dtype=exact)
    except OverflowError as error:
        raise ModelError(f"classes do not fit in the dtype {exact!r}") from error
