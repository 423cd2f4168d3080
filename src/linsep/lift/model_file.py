"""What a lift puts into a model file, and how it comes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linsep.errors import ModelError

__all__ = ["lift_to_model", "restore", "text_of_model"]


def lift_to_model(lift: Any) -> dict[str, Any]:
    """Fields of a fitted lift; functions are refused."""
    items = lift.phi if isinstance(lift.phi, list | tuple) else [lift.phi]
    if not all(isinstance(item, str) for item in items):
        raise ModelError(
            "a lift made of functions cannot be saved, for a model file holds no code; write "
            "it as a text such as 'x1, x2, (x1 - x2)**2'."
        )
    names = getattr(lift, "feature_names_in_", None)
    return {
        "phi": ", ".join(items),
        "n_features": int(lift.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "data_low": lift.data_low_,
        "data_high": lift.data_high_,
    }


def text_of_model(fields: Mapping[str, Any]) -> str:
    """The text of the lift."""
    if not isinstance(fields["phi"], str):
        raise ModelError("phi is not a text")
    return fields["phi"]


def restore(lift: Any, fields: Mapping[str, Any]) -> None:
    """Set what fit learned."""
    n, names = fields["n_features"], fields["feature_names"]
    if type(n) is not int or n < 1 or (names is not None and len(names) != n):
        raise ModelError(f"n_features is {n!r}, which does not fit the feature names")
    lift.n_features_in_ = n
    if names is not None:
        lift.feature_names_in_ = np.array(names, dtype=object)
    lift.data_low_ = np.asarray(fields["data_low"], dtype=np.float64)
    lift.data_high_ = np.asarray(fields["data_high"], dtype=np.float64)
    if lift.data_low_.shape != (n,) or lift.data_high_.shape != (n,):
        raise ModelError(f"data_low and data_high are not ranges of {n} features")
