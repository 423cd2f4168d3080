"""Python values as JSON and back, exactly, with no code run on the way.

Plain JSON stays plain. What JSON lacks is an object with one key that starts with ``$``:
``$float`` (inf, nan), ``$fraction``, ``$tuple``, ``$array``, ``$dict`` (keys that are no text),
``$kernel`` (a kernel and its parameters) and ``$model`` (an estimator inside another one).
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.errors import ModelError
from linsep.kernels import Kernel, from_dict

__all__ = ["pack", "unpack"]

_LIST = 4096  # entries up to which an array is written as a list that a person can read
_DTYPES = {"<f8", "<f4", "<i8", "<i4", "|b1", "str"}

Nested = Callable[[Any], dict[str, Any]]


def pack(value: Any, where: str, nested: Nested) -> Any:
    """Give a value that ``json`` writes; ``where`` names the field in an error."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return pack(value.item(), where, nested)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, Fraction):
        return {"$fraction": str(value)}
    if isinstance(value, np.ndarray):
        return {"$array": _pack_array(value, where)}
    if isinstance(value, list | tuple):
        items = [pack(item, f"{where}[{k}]", nested) for k, item in enumerate(value)]
        return items if isinstance(value, list) else {"$tuple": items}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: pack(item, f"{where}.{key}", nested) for key, item in value.items()}
        pairs = [
            [pack(key, where, nested), pack(item, f"{where}[{key!r}]", nested)]
            for key, item in value.items()
        ]
        return {"$dict": pairs}
    if isinstance(value, Kernel):
        return {"$kernel": value.to_dict()}
    can = hasattr(value, "to_model") or hasattr(value, "get_params")
    if can and not isinstance(value, type):
        return {"$model": nested(value)}
    what = "a function" if callable(value) else f"of type {type(value).__name__}"
    raise ModelError(
        f"{where} is {what} ({value!r:.60}), which a model file cannot hold; set it to a number, "
        "a text or None before saving."
    )


def unpack(value: Any, where: str, nested: Callable[[Any, str], Any]) -> Any:
    """Give the value behind ``pack``; ``where`` names file and field in an error."""
    if isinstance(value, list):
        return [unpack(item, f"{where}[{k}]", nested) for k, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    special = [key for key in value if key.startswith("$")]
    if not special:
        return {key: unpack(item, f"{where}.{key}", nested) for key, item in value.items()}
    if len(value) != 1:
        raise ModelError(f"{where}: {special[0]!r} stands beside other keys; the file is damaged.")
    kind, content = next(iter(value.items()))
    if kind == "$model":
        return nested(content, where)
    if kind == "$tuple" and isinstance(content, list):
        return tuple(unpack(content, where, nested))
    if kind == "$dict" and isinstance(content, list):
        return _unpack_pairs(content, where, nested)
    if kind == "$kernel":
        return from_dict(content)
    if kind == "$array" and isinstance(content, dict):
        return _unpack_array(content, where)
    if kind == "$float" and content in ("inf", "-inf", "nan"):
        return float(content)
    if kind == "$fraction" and isinstance(content, str):
        try:
            return Fraction(content)
        except (ValueError, ZeroDivisionError):
            pass
    raise ModelError(f"{where}: {kind!r} with {content!r:.60} is not known; the file is damaged.")


def _unpack_pairs(content: list[Any], where: str, nested: Callable[[Any, str], Any]) -> Any:
    pairs = unpack(content, where, nested)
    try:
        return dict(pairs)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{where}: '$dict' is not a list of pairs.") from error


def _pack_array(array: NDArray[Any], where: str) -> dict[str, Any]:
    kind = array.dtype.kind
    if kind == "O" and all(isinstance(item, str) for item in array.flat):
        array, kind = array.astype(np.str_), "U"
    if kind == "U":
        return {"dtype": "str", "shape": list(array.shape), "values": array.ravel().tolist()}
    if kind not in "fiub":
        raise ModelError(f"{where} is an array of {array.dtype}, which a model file cannot hold.")
    if kind == "b":
        name = "|b1"
    elif kind == "f":
        name = "<f4" if array.dtype.itemsize <= 4 else "<f8"
    else:
        name = "<i4" if array.dtype == np.int32 else "<i8"
    plain = np.ascontiguousarray(array, dtype=np.dtype(name))
    out: dict[str, Any] = {"dtype": name, "shape": list(array.shape)}
    if plain.size <= _LIST and (kind != "f" or np.isfinite(plain).all()):
        out["values"] = plain.ravel().tolist()
    else:
        out["base64"] = base64.b64encode(plain.tobytes()).decode("ascii")
    return out


def _unpack_array(content: dict[str, Any], where: str) -> NDArray[Any]:
    name, shape = content.get("dtype"), content.get("shape")
    if name not in _DTYPES:
        raise ModelError(f"{where}: the array type {name!r} is not known; the file is damaged.")
    if not isinstance(shape, list) or not all(type(k) is int and k >= 0 for k in shape):
        raise ModelError(f"{where}: the array shape {shape!r:.60} is wrong; the file is damaged.")
    try:
        if "base64" in content:
            raw = base64.b64decode(content["base64"], validate=True)
            flat: NDArray[Any] = np.frombuffer(raw, dtype=np.dtype(name))
        else:
            flat = _from_list(content["values"], str(name))
        if flat.size != math.prod(shape):
            raise ValueError(f"{flat.size} entries for shape {tuple(shape)}")
    except (KeyError, TypeError, ValueError, OverflowError, binascii.Error) as error:
        raise ModelError(f"{where}: the array cannot be read ({error!s:.100}).") from error
    kind = np.str_ if name == "str" else np.dtype(name).newbyteorder("=")
    return flat.astype(kind).reshape(shape)


def _from_list(values: Any, name: str) -> NDArray[Any]:
    wanted = {"str": str, "|b1": bool}.get(name, (int, float) if name[1] == "f" else int)
    for item in values:
        if not isinstance(item, wanted) or (isinstance(item, bool) and wanted is not bool):
            raise ValueError(f"{item!r:.40} among values of type {name}")
    return np.array(values, dtype=np.str_ if name == "str" else np.dtype(name))
