"""The model file of linsep: versioned JSON that a person can read and that runs no code.

    format       "linsep-model"
    version      1
    linsep       version of the library that wrote it
    estimator    name of the class, one of a fixed list
    ...          what the class's ``to_model`` gives, see models/model_file.py

An estimator takes part with two hooks: ``to_model() -> dict`` of plain values and arrays, and the
class method ``from_model(dict)``.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import importlib
import json
import math
import os
import warnings
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from linsep import PUBLIC
from linsep._version import __version__
from linsep.core.boundary import boundary
from linsep.core.protocol import is_pipeline
from linsep.core.schema import Refused, from_json, listed, ratio, ratio_text, shown, whole
from linsep.core.sources import fetch
from linsep.errors import DataError, LinsepError, ModelError
from linsep.formats.sklearn_model import (
    PIPELINE,
    foreign_fields,
    foreign_is_known,
    foreign_made,
    foreign_name,
    is_foreign,
    pipeline_from_model,
    pipeline_to_model,
    takes_columns,
)
from linsep.kernels.base import Kernel
from linsep.kernels.spec import from_dict

FORMAT, VERSION = "linsep-model", 1
_WAY = "it is damaged or forged: save the model again"
_WIDE = 1_000_000  # features up to which a model is tried out

# Only these names are ever looked up, whatever a file asks for; name -> module.
_STORED = (*PUBLIC.kinds["Estimators"], "Lift", "Linear")
_OTHERS = {"Untrained": "linsep.multiclass.machines"} | dict.fromkeys(
    ("Columns", "Tabular"), "linsep.tables"
)
CLASSES = _OTHERS | dict.fromkeys(_STORED, "linsep")


class Own(Protocol):
    """An estimator of linsep, with its hook."""

    def to_model(self) -> dict[str, Any]: ...


def save_json(model: object, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; the file appears only when it is complete."""
    from linsep.core.files import atomic_write_bytes

    content = {"format": FORMAT, "version": VERSION, "linsep": __version__, **_fields(model)}
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    try:
        atomic_write_bytes(path, text.encode("utf-8", "surrogatepass") + b"\n")
    except OSError as error:
        raise ModelError(f"{path} cannot be written: {error.strerror or error}.") from error


def load_json(path: str | os.PathLike[str]) -> Any:
    """Read a model file; every error names the file and the field."""
    try:
        data = fetch(path)
    except DataError as error:
        raise ModelError(str(error)) from error
    with boundary(path, ModelError, "this is not JSON", _WAY):
        content = from_json(data)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelError(f"{path}: this is not a linsep model; field 'format' is not {FORMAT!r}.")
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise ModelError(f"{path}: field 'version' is {version!r:.40}; a number from 1 is needed.")
    if version > VERSION:
        raise ModelError(
            f"{path}: field 'version' is {version}, but linsep {__version__} reads up to "
            f"{VERSION}; install linsep {content.get('linsep')!s:.40}, which wrote the file."
        )
    with boundary(path, ModelError, "no model can be made of this", _WAY):
        try:
            model = _revive(content, f"{path}")
            _try_out(model)
        except LinsepError as error:  # of a kernel or a setting, which know no file
            if str(path) in str(error):
                raise
            raise ModelError(f"{path}: {str(error).rstrip('.')}; {_WAY}.") from error
    return model


def _try_out(model: object) -> None:
    """A model of a file tells what it is and answers one row before anybody asks it to.

    Every field has been checked by now; what fails here was forged with care.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for tell in ("summary", "__repr__"):
            if hasattr(model, tell):
                getattr(model, tell)()
        str(getattr(model, "certificate_", ""))
        d = getattr(model, "n_features_in_", 0)
        if hasattr(model, "predict") and 0 < d <= _WIDE and not takes_columns(model):
            with contextlib.suppress(LinsepError):  # a row of zeros may be none of its rows
                model.predict(np.zeros((1, d)))


def _fields(model: object) -> dict[str, Any]:
    name = type(model).__name__
    if name == PIPELINE and is_pipeline(model):
        content = pipeline_to_model(model, _can_be_saved)
    elif is_foreign(model):
        content, name = foreign_fields(model), str(foreign_name(model))
    elif _has_fields(model):
        content = model.to_model()
    else:
        raise ModelError(
            f"{name} cannot be saved as JSON; linsep's own fitted estimators can, and linear "
            "classifiers, scalers and encoders of scikit-learn. For others there is joblib.dump, "
            "whose files run code when they are loaded."
        )
    return {"estimator": name, **{key: pack(v, key, _fields) for key, v in content.items()}}


def _can_be_saved(model: object) -> bool:
    return _has_fields(model) or is_foreign(model)


def _has_fields(model: object) -> TypeGuard[Own]:
    return type(model).__name__ in CLASSES and hasattr(model, "to_model")


def _revive(content: Any, where: str) -> Any:
    name = content.get("estimator") if isinstance(content, dict) else None
    if name == PIPELINE:
        make = pipeline_from_model
    elif isinstance(name, str) and foreign_is_known(name):
        make = partial(foreign_made, name)
    else:
        make = _find_class(name, where).from_model
    head = ("format", "version", "linsep", "estimator")
    fields = {
        key: unpack(value, f"{where}: {key}", _revive)
        for key, value in content.items()
        if key not in head
    }
    try:
        return make(fields)
    except KeyError as error:
        raise ModelError(f"{where}: field {error} is missing; {_WAY}.") from error
    except ModelError as error:
        told = str(error).rstrip(".")
        raise ModelError(f"{where}: {told}; {_WAY}.") from error
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        told = f"a {name} cannot be made of this ({error!s:.200})"
        raise ModelError(f"{where}: {told}; {_WAY}.") from error


def _find_class(name: Any, where: str) -> Any:

    if not isinstance(name, str) or name not in CLASSES:
        raise ModelError(f"{where}: field 'estimator' is {name!r:.60}, which linsep does not have.")
    try:
        return getattr(importlib.import_module(CLASSES[name]), name)
    except (ImportError, AttributeError) as error:
        raise ModelError(
            f"{where}: field 'estimator' is {name!r}, which linsep {__version__} does not have."
        ) from error


# -- Python values as JSON and back, exactly, with no code run on the way -------------------------
#
# Plain JSON stays plain. What JSON lacks is an object with one key that starts with ``$``:
# ``$float`` (inf, nan), ``$fraction``, ``$tuple``, ``$array``, ``$dict`` (keys that are no text),
# ``$kernel`` (a kernel and its parameters) and ``$model`` (an estimator inside another one).


_LARGEST = 1 << 40  # entries of an array on one axis
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
        return {"$fraction": ratio_text(value)}
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
        raise ModelError(f"{where}: {special[0]!r} stands beside other keys; {_WAY}.")
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
    if kind == "$fraction":
        try:
            return ratio(content, where)
        except Refused as error:
            raise ModelError(f"{error}; {_WAY}.") from error
    raise ModelError(f"{where}: {kind!r} with {content!r:.60} is not known; {_WAY}.")


def _unpack_pairs(content: list[Any], where: str, nested: Callable[[Any, str], Any]) -> Any:
    pairs = unpack(content, where, nested)
    try:
        return dict(pairs)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{where}: '$dict' is not a list of pairs; {_WAY}.") from error


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
    if not isinstance(name, str) or name not in _DTYPES:
        raise ModelError(f"{where}: the array type {shown(name)} is not known; {_WAY}.")
    try:
        shape = listed(whole(0, _LARGEST))(shape, "its shape")
        if "base64" in content:
            raw = base64.b64decode(content["base64"], validate=True)
            flat: NDArray[Any] = np.frombuffer(raw, dtype=np.dtype(name))
        else:
            flat = _from_list(content["values"], str(name))
        if flat.size != math.prod(shape):
            raise ValueError(f"{flat.size} entries for shape {tuple(shape)}")
    except (KeyError, TypeError, ValueError, OverflowError, binascii.Error) as error:
        told = f"the array cannot be read ({error!s:.100})"
        raise ModelError(f"{where}: {told}; {_WAY}.") from error
    kind = np.str_ if name == "str" else np.dtype(name).newbyteorder("=")
    return flat.astype(kind).reshape(shape)


def _from_list(values: Any, name: str) -> NDArray[Any]:
    wanted = {"str": str, "|b1": bool}.get(name, (int, float) if name[1] == "f" else int)
    for item in values:
        if not isinstance(item, wanted) or (isinstance(item, bool) and wanted is not bool):
            raise ValueError(f"{item!r:.40} among values of type {name}")
    return np.array(values, dtype=np.str_ if name == "str" else np.dtype(name))
