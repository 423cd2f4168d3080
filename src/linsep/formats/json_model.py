"""The model file of linsep: versioned JSON that a person can read and that runs no code.

    format       "linsep-model"
    version      1
    linsep       version of the library that wrote it
    estimator    name of the class, one of a fixed list
    ...          what the class's ``to_model`` gives, see ``linear.py`` for linear models

An estimator takes part with two hooks: ``to_model() -> dict`` of plain values and arrays, and the
class method ``from_model(dict)``.
"""

from __future__ import annotations

import json
import os
from functools import partial
from typing import Any

from linsep._version import __version__
from linsep.errors import DataError, ModelError
from linsep.formats.foreign import (
    foreign_from_model,
    foreign_is_known,
    foreign_name,
    foreign_to_model,
)
from linsep.formats.pipeline import pipeline_from_model, pipeline_to_model
from linsep.formats.values import pack, unpack

__all__ = ["CLASSES", "load_json", "save_json"]

FORMAT, VERSION = "linsep-model", 1
PIPELINE = "Pipeline"  # of scikit-learn, with steps from the list below

# Only these names are ever looked up, whatever a file asks for; name -> module.
CLASSES = {"Untrained": "linsep.multiclass.machines"} | dict.fromkeys(
    (
        "AdditiveSVM",
        "GaussianClassifier",
        "HoKashyap",
        "KernelPerceptron",
        "KernelSVM",
        "Kesler",
        "Kozinec",
        "LeastSquares",
        "Lift",
        "Linear",
        "LinearSVM",
        "LogisticRegression",
        "OneVsOne",
        "OneVsRest",
        "Perceptron",
    ),
    "linsep",
)


def save_json(model: Any, path: str | os.PathLike[str]) -> None:
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
    from linsep.data.files import fetch

    try:
        content = json.loads(fetch(path), parse_constant=_refuse, object_pairs_hook=_once)
    except DataError as error:
        raise ModelError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: this is not JSON ({error}).") from error
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
    try:
        return _revive(content, f"{path}")
    except RecursionError as error:
        raise ModelError(f"{path}: values are nested too deeply; the file is damaged.") from error


def _fields(model: Any) -> dict[str, Any]:
    name = type(model).__name__
    if name == PIPELINE and hasattr(model, "steps"):
        content = pipeline_to_model(model, _can_be_saved)
    elif foreign_name(model) is not None:
        content, name = foreign_to_model(model), str(foreign_name(model))
    elif _can_be_saved(model):
        content = model.to_model()
    else:
        raise ModelError(
            f"{name} cannot be saved as JSON; linsep's own fitted estimators can, and linear "
            "classifiers and scalers of scikit-learn. For others there is joblib.dump, whose "
            "files run code when they are loaded."
        )
    return {"estimator": name, **{key: pack(v, key, _fields) for key, v in content.items()}}


def _can_be_saved(model: Any) -> bool:
    own = type(model).__name__ in CLASSES and hasattr(model, "to_model")
    return own or foreign_name(model) is not None


def _revive(content: Any, where: str) -> Any:
    name = content.get("estimator") if isinstance(content, dict) else None
    if name == PIPELINE:
        make = pipeline_from_model
    elif isinstance(name, str) and foreign_is_known(name):
        make = partial(foreign_from_model, name)
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
        raise ModelError(f"{where}: field {error} is missing.") from error
    except ModelError as error:
        raise ModelError(f"{where}: {error}.") from error
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise ModelError(f"{where}: a {name} cannot be made of this ({error!s:.200}).") from error


def _find_class(name: Any, where: str) -> Any:
    import importlib

    if not isinstance(name, str) or name not in CLASSES:
        raise ModelError(f"{where}: field 'estimator' is {name!r:.60}, which linsep does not have.")
    try:
        return getattr(importlib.import_module(CLASSES[name]), name)
    except (ImportError, AttributeError) as error:
        raise ModelError(
            f"{where}: field 'estimator' is {name!r}, which linsep {__version__} does not have."
        ) from error


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a field is given twice")
    return out
