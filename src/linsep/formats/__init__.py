"""Model files, in and out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from linsep.errors import DataError, ModelError, SettingError

__all__ = ["check_ending", "is_text_model", "load", "save"]


FORMATS = ("json", "liblinear", "libsvm", "svmlight", "onnx")


def save(model: object, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator
        A fitted estimator of linsep.
    path : str or path
        Ends in ``.json``: versioned JSON, with the answer and its certificate; no pickle.
        Ends in ``.model``: the text of LIBLINEAR for linear models, of LIBSVM for machines of
        support vectors; both know integer labels only. Ends in ``.onnx``: what many systems run
        without Python (``pip install 'linsep[onnx]'``); such a file is not read back.
    format : {"json", "liblinear", "libsvm", "svmlight", "onnx"}, optional
        Whose file it becomes, whatever its name; "svmlight" is for two classes -1 and +1.

    Raises
    ------
    ModelError
        The model is not fitted, cannot be stored, or the file cannot be written.
    """
    from linsep.formats.json_model import save_json
    from linsep.formats.liblinear import write_liblinear
    from linsep.formats.libsvm import has_vectors, write_libsvm
    from linsep.formats.onnx import write_onnx
    from linsep.formats.svmlight_model import write_svmlight_model

    if format is None:
        check_ending(path)
        text = "libsvm" if has_vectors(model) else "liblinear"
        ending = Path(path).suffix.lower()
        format = {".model": text, ".onnx": "onnx"}.get(ending, "json")
    if format not in FORMATS:
        raise SettingError(f"format is {format!r}; allowed: {', '.join(map(repr, FORMATS))}, None.")
    writers = {
        "json": save_json, "liblinear": write_liblinear, "libsvm": write_libsvm,
        "svmlight": write_svmlight_model, "onnx": write_onnx,
    }  # fmt: skip
    writers[format](model, path)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file; no code of the file is run.

    Parameters
    ----------
    path : str or path
        A file that ``save`` wrote, or a model file of LIBLINEAR, LIBSVM or SVMlight of any name.

    Returns
    -------
    estimator
        Of the class that was saved, fitted, with its status and certificate. A model of
        LIBLINEAR, LIBSVM or SVMlight predicts, and ``linsep.certify`` proves how good it is.

    Raises
    ------
    ModelError
        The file is not there, damaged, or of another kind; the message names file and field.
    """
    from linsep.formats.json_model import load_json
    from linsep.formats.text_model import load_text

    if is_text_model(path):
        return load_text(path)
    check_ending(path)
    if Path(path).suffix.lower() == ".onnx":
        raise ModelError(
            f"{path}: ONNX files are written and not read; onnxruntime runs them, and a .json file "
            "of the same model can be loaded."
        )
    if Path(path).suffix.lower() == ".model":
        from linsep.core.sources import fetch

        try:
            fetch(path)
        except DataError as error:
            raise ModelError(str(error)) from error
        raise ModelError(
            f"{path}: the first line is neither solver_type (LIBLINEAR), svm_type (LIBSVM) nor "
            "SVM-light Version."
        )
    return load_json(path)


def is_text_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one of LIBLINEAR, LIBSVM or SVMlight, by its first word."""
    from linsep.core.sources import first_bytes
    from linsep.formats.text_model import looks_like_text_model

    return looks_like_text_model(first_bytes(path, 64))


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a path whose ending names no model format."""
    ending = Path(path).suffix.lower()
    if ending not in (".json", ".model", ".onnx"):
        raise ModelError(
            f"{path}: the ending {ending!r} is no model format; give a .json file, a .model file "
            "of LIBLINEAR or LIBSVM, or an .onnx file."
        )
