"""What a Gaussian classifier puts into a model file, and how it comes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linsep.certify.gaussian import GaussianCertificate
from linsep.core.status import Status
from linsep.errors import ModelError
from linsep.formats.linear import _classes_in, _classes_out

__all__ = ["gaussian_from_model", "gaussian_to_model"]

_EXTRA = ("n_iter_", "n_updates_", "solver_used_", "preprocessing_")


def gaussian_to_model(model: Any) -> dict[str, Any]:
    """Fields of a fitted classifier."""
    if not hasattr(model, "means_"):
        raise ModelError("GaussianClassifier is not fitted; call fit before saving it.")
    names = getattr(model, "feature_names_in_", None)
    return {
        "params": model.get_params(deep=False),
        "classes": _classes_out(np.asarray(model.classes_)),
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "priors": model.priors_,
        "means": model.means_,
        "covariance": model.covariance_,
        "ridge": model.ridge_,
        "ignored": model.ignored_.astype(np.int64),
        "degenerate": model.degenerate_,
        "status": {"name": model.status_.name, "sentence": model.status_.value},
        "certificate": model.certificate_.to_dict(),
        "extra": {key: getattr(model, key) for key in _EXTRA if hasattr(model, key)},
    }


def gaussian_from_model(cls: Any, fields: Mapping[str, Any]) -> Any:
    """Give a fitted classifier of class ``cls``."""
    model = cls(**fields["params"])
    model.classes_ = _classes_in(fields["classes"])
    K, d = len(model.classes_), fields["n_features"]
    if type(d) is not int or K < 2:
        raise ModelError(f"n_features is {d!r} and there are {K} classes")
    shapes = {"full": (K, d, d), "shared": (d, d), "diagonal": (K, d), "shared-diagonal": (d,)}
    if model.covariance not in shapes:
        raise ModelError(f"covariance is {model.covariance!r}, which is no structure")
    shape = shapes[model.covariance]
    model.n_features_in_ = d
    for name, wanted in (
        ("priors", (K,)),
        ("means", (K, d)),
        ("covariance", shape),
        ("ridge", (d,)),
    ):
        array = np.asarray(fields[name], dtype=np.float64)
        if array.shape != wanted:
            raise ModelError(f"{name} has shape {array.shape} where {wanted} is needed")
        if not np.isfinite(array).all():
            raise ModelError(f"{name} holds a number that is not finite")
        setattr(model, f"{name}_", array)
    ignored = np.asarray(fields["ignored"])
    if ignored.ndim != 1 or (ignored.size and not (0 <= ignored.min() <= ignored.max() < d)):
        raise ModelError(f"ignored names columns outside 0 ... {d - 1}")
    model.ignored_ = ignored.astype(np.intp)
    model.degenerate_ = str(fields["degenerate"])
    if not (model.priors_ > 0).all():
        raise ModelError("priors are not all above 0")
    try:
        model._set_rule()
    except np.linalg.LinAlgError as error:
        raise ModelError("covariance is not positive definite") from error
    if fields.get("feature_names") is not None:
        if len(fields["feature_names"]) != d:
            raise ModelError(f"feature_names has {len(fields['feature_names'])} names, not {d}")
        model.feature_names_in_ = np.array(fields["feature_names"], dtype=object)
    _restore_words(model, fields)
    return model


def _restore_words(model: Any, fields: Mapping[str, Any]) -> None:
    for key, value in (fields.get("extra") or {}).items():
        if key not in _EXTRA:
            raise ModelError(f"extra has the unknown entry {key!r}")
        setattr(model, key, value)
    try:
        model.status_ = Status[fields["status"]["name"]]
    except KeyError as error:
        raise ModelError(f"status {error} is not known") from error
    model.certificate_ = GaussianCertificate.from_dict(fields["certificate"])
