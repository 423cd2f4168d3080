"""Model files, in and out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from linsep.errors import ModelError

__all__ = ["check_ending", "load", "save"]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator
        A fitted estimator of linsep.
    path : str or path
        Ends in ``.json``: versioned JSON, with the answer and its certificate; no pickle.

    Raises
    ------
    ModelError
        The model is not fitted, cannot be stored, or the file cannot be written.
    """
    from linsep.formats.json_model import save_json

    check_ending(path)
    save_json(model, path)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file; no code of the file is run.

    Parameters
    ----------
    path : str or path
        A file that ``save`` wrote.

    Returns
    -------
    estimator
        Of the class that was saved, fitted, with its status and certificate.

    Raises
    ------
    ModelError
        The file is not there, damaged, or of another kind; the message names file and field.
    """
    from linsep.formats.json_model import load_json

    check_ending(path)
    return load_json(path)


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a path whose ending names no model format."""
    ending = Path(path).suffix.lower()
    if ending != ".json":
        raise ModelError(f"{path}: the ending {ending!r} is no model format; give a .json file.")
